//! The signing key: an Ed25519 key pair and an HMAC key derived from the same seed.
//!
//! Tokens are signed, so that others can verify them with the public key. Opaque strings (session ids) are verified
//! by this server only, so an HMAC is enough. Both carry the id of their key and remain valid after it is retired.
//! Where the seeds are stored is known to [`KeyStorage`](crate::KeyStorage); which key is current, to the
//! [`keyring`](crate::keyring).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Error, Result, canonical};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use ring::{hkdf, hmac};

/// The 32 secret bytes from which all keys are derived.
pub type Seed = [u8; 32];

/// A key that signs tokens and opaque strings.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    mac: hmac::Key,
    kid: String,
}

impl SigningKey {
    /// Derives the key from a seed.
    pub fn from_seed(seed: &Seed) -> Result<SigningKey> {
        let pair =
            Ed25519KeyPair::from_seed_unchecked(seed).map_err(|error| Error::internal(error.to_string()))?;
        let mac = hmac::Key::new(hmac::HMAC_SHA256, &derive_key(seed, "sealed strings")?);
        let mut kid = canonical::sha256_hex(pair.public_key().as_ref());
        kid.truncate(16);
        Ok(SigningKey { pair, mac, kid })
    }

    /// The key id in token headers: the first 16 hexadecimal digits of the SHA-256 of the public key.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The public key.
    pub fn public_key(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }

    /// Whether this key signed the message.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.public_key()).verify(message, signature).is_ok()
    }

    /// `payload` as visible ASCII with an HMAC. The payload is authenticated, not secret. `purpose` prevents that an
    /// opaque string of one kind is accepted as another.
    pub fn sign_opaque(&self, purpose: &str, payload: &[u8]) -> String {
        let payload = BASE64.encode(payload);
        let tag = hmac::sign(&self.mac, mac_input(purpose, &payload).as_bytes());
        format!("{}.{payload}.{}", self.kid, BASE64.encode(tag))
    }

    /// The payload of an opaque string that this key signed for `purpose`. Exactly one encoding is accepted: the HMAC
    /// covers the encoded text, and the decoder rejects stray bits.
    pub fn verify_opaque(&self, purpose: &str, opaque: &str) -> Option<Vec<u8>> {
        let (kid, rest) = opaque.split_once('.')?;
        let (payload, tag) = rest.split_once('.').filter(|_| kid == self.kid)?;
        let tag = BASE64.decode(tag).ok()?;
        hmac::verify(&self.mac, mac_input(purpose, payload).as_bytes(), &tag).ok()?;
        BASE64.decode(payload).ok()
    }
}

/// The id of the key that an opaque string names.
pub fn opaque_kid(opaque: &str) -> &str {
    opaque.split_once('.').map_or("", |(kid, _)| kid)
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("kid", &self.kid).finish_non_exhaustive()
    }
}

fn mac_input(purpose: &str, payload: &str) -> String {
    format!("{purpose}.{payload}")
}

/// Derives 32 bytes for one purpose from a secret (HKDF with SHA-256).
pub fn derive_key(secret: &[u8], purpose: &str) -> Result<[u8; 32]> {
    let mut derived = [0; 32];
    hkdf::Salt::new(hkdf::HKDF_SHA256, b"quadrivium")
        .extract(secret)
        .expand(&[purpose.as_bytes()], hkdf::HKDF_SHA256)
        .and_then(|key| key.fill(&mut derived))
        .map_err(|_| Error::internal("key derivation rejected the output length"))?;
    Ok(derived)
}

/// Random bytes.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::internal("the system's random number generator failed"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_seed(&[byte; 32]).unwrap()
    }

    #[test]
    fn signature_matches_rfc_8032_vector() {
        let seed = [
            0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
            0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
        ];
        let key = SigningKey::from_seed(&seed).unwrap();
        assert!(
            canonical::hex(&key.sign(b""))
                .starts_with("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")
        );
        assert_eq!(key.kid(), "21fe31dfa154a261");
        assert!(key.verify(b"", &key.sign(b"")));
        assert!(!key.verify(b"x", &key.sign(b"")));
    }

    #[test]
    fn opaque_string_verifies_only_with_its_key_and_purpose() {
        let opaque = key(1).sign_opaque("session", b"{\"t\":\"a\"}");
        assert!(opaque.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(key(1).verify_opaque("session", &opaque).as_deref(), Some(&b"{\"t\":\"a\"}"[..]));
        assert_eq!(key(1).verify_opaque("cursor", &opaque), None);
        assert_eq!(key(2).verify_opaque("session", &opaque), None);
    }

    #[test]
    fn changed_opaque_string_is_rejected() {
        let opaque = key(1).sign_opaque("session", b"payload");
        for index in 0..opaque.len() {
            for replacement in ['A', 'B', 'Q', 'g', 'w', '.', '=', '_'] {
                let mut changed: Vec<char> = opaque.chars().collect();
                if changed[index] == replacement {
                    continue;
                }
                changed[index] = replacement;
                let changed: String = changed.into_iter().collect();
                assert_eq!(key(1).verify_opaque("session", &changed), None, "{changed}");
            }
        }
        assert_eq!(key(1).verify_opaque("session", &format!("{opaque}=")), None);
        assert_eq!(key(1).verify_opaque("session", ""), None);
    }

    #[test]
    fn debug_output_holds_no_secret() {
        let debug_text = format!("{:?}", key(7));
        assert_eq!(debug_text, format!("SigningKey {{ kid: {:?}, .. }}", key(7).kid()));
    }
}
