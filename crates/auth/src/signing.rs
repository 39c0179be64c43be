//! Signing for the rest of the server: what is to be checked by others, long after, without the gate.

use crate::AuthService;

/// An Ed25519 signature with what is needed to check it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The key's name, as in token headers.
    pub kid: String,
    /// The key's public half.
    pub public_key: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
}

impl AuthService {
    /// Signs with the key that signs tokens, as far as this process knows which one that is. What is signed must say what it is: a token's signed part is base64 with a
    /// dot in it, so nothing that begins with a word and a line break can pass as one.
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
