//! Signatures for the rest of the server, for documents that are verified later without this crate.

use crate::AuthService;

/// An Ed25519 signature with the key that verifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The key id, as in token headers.
    pub kid: String,
    /// The public key.
    pub public_key: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
}

impl AuthService {
    /// Signs with the current key, as cached in this process. The message must begin with its purpose: the signed
    /// part of a token is base64 with a dot, so a message that begins with a word and a line break can never be
    /// accepted as a token.
    pub fn sign(&self, message: &[u8]) -> Signature {
        let keyring = self.keys.cached();
        let key = keyring.current();
        Signature {
            kid: key.kid().to_owned(),
            public_key: key.public_key().to_vec(),
            signature: key.sign(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, UnparsedPublicKey};

    use crate::service::tests::auth_fixtures;

    #[tokio::test(flavor = "multi_thread")]
    async fn signature_verifies_with_the_public_key() {
        for test in auth_fixtures().await {
            let signature = test.auth.sign(b"words\n{}");
            let key = UnparsedPublicKey::new(&ED25519, &signature.public_key);
            assert!(key.verify(b"words\n{}", &signature.signature).is_ok());
            assert!(key.verify(b"words\n[]", &signature.signature).is_err());
            assert!(quad_core::canonical::sha256_hex(&signature.public_key).starts_with(&signature.kid));
        }
    }
}
