//! Encryption of seeds that are stored in the database, with a secret that is not stored there.

use quad_core::{Error, Kind, Result, Timestamp};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::key::{self, Seed};

/// The row of a key, still encrypted.
#[derive(Clone, Debug)]
pub struct EncryptedKey {
    /// The key id.
    pub kid: String,
    /// The nonce, then the encrypted seed.
    pub ciphertext: Vec<u8>,
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key was retired.
    pub retired_at: Option<Timestamp>,
}

/// Encrypts seeds with AES-256-GCM under a key derived from a secret text. The nonce precedes the ciphertext, and the
/// key id is authenticated with it.
pub struct KeyCipher(LessSafeKey);

impl KeyCipher {
    /// Derives the cipher from the secret.
    pub fn new(secret: &str) -> Result<KeyCipher> {
        let derived = key::derive_key(secret.as_bytes(), "key encryption")?;
        let key = UnboundKey::new(&AES_256_GCM, &derived)
            .map_err(|_| Error::internal("AES-256-GCM rejected the key"))?;
        Ok(KeyCipher(LessSafeKey::new(key)))
    }

    /// Encrypts a seed for this key id.
    pub fn encrypt(&self, kid: &str, seed: &Seed) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = key::random_bytes()?;
        let mut body = seed.to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(kid.as_bytes()),
                &mut body,
            )
            .map_err(|_| Error::internal("AES-256-GCM encryption failed"))?;
        Ok([nonce.as_slice(), &body].concat())
    }

    /// Decrypts the seed of a row that was encrypted with the same secret.
    pub fn decrypt(&self, row: &EncryptedKey) -> Result<Seed> {
        self.try_decrypt(row)
            .ok_or_else(|| wrong_quad_key("QUAD_KEY_WRONG", "encrypted with another QUAD_KEY"))
    }

    fn try_decrypt(&self, row: &EncryptedKey) -> Option<Seed> {
        let (nonce, body) = row.ciphertext.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut body = body.to_vec();
        let seed = self.0.open_in_place(nonce, Aad::from(row.kid.as_bytes()), &mut body).ok()?;
        Seed::try_from(&*seed).ok()
    }
}

/// The error of a node whose `QUAD_KEY` does not decrypt the stored keys.
pub fn wrong_quad_key(code: &'static str, problem: &str) -> Error {
    Error::new(Kind::BadInput, code, format!("The signing key in the database is {problem}"))
        .hint("Set QUAD_KEY to the value of the other nodes, or to the line in the first node's quad.key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encrypted_seed_decrypts_only_with_its_secret_and_kid() {
        let cipher = KeyCipher::new("one secret").unwrap();
        let row = EncryptedKey {
            kid: "k1".into(),
            ciphertext: cipher.encrypt("k1", &[7; 32]).unwrap(),
            created_at: Timestamp(0),
            retired_at: None,
        };
        assert_eq!(cipher.decrypt(&row).unwrap(), [7; 32]);
        assert!(!row.ciphertext.windows(8).any(|window| window == [7; 8]));
        assert_ne!(cipher.encrypt("k1", &[7; 32]).unwrap(), row.ciphertext, "the nonce was reused");
        let other_name = EncryptedKey { kid: "k2".into(), ..row.clone() };
        let truncated = EncryptedKey { ciphertext: row.ciphertext[..10].to_vec(), ..row.clone() };
        for (cipher, row) in
            [(&KeyCipher::new("another").unwrap(), &row), (&cipher, &other_name), (&cipher, &truncated)]
        {
            assert_eq!(cipher.decrypt(row).unwrap_err().code(), "QUAD_KEY_WRONG");
        }
    }
}
