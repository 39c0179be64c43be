//! Encryption of a backup's secrets with a passphrase.
//!
//! The key is derived with Argon2id, whose memory makes guessing expensive, and encrypts with ChaCha20-Poly1305. The
//! result is one line of JSON that names the parameters, so that they can grow later:
//!
//! ```text
//! {"format":1,"kdf":"argon2id","memory_kib":65536,"passes":3,"salt":"…","nonce":"…","ciphertext":"…"}
//! ```

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Error, Kind, Result};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};

use crate::{key, limits};

/// The version of the format.
const FORMAT: u32 = 1;

/// The key derivation.
const KDF: &str = "argon2id";

const SALT_LEN: usize = 16;

/// Authenticated with the ciphertext, so that no other ciphertext can take its place.
const PURPOSE: &[u8] = b"quadrivium backup secrets 1";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    format: u32,
    kdf: String,
    memory_kib: u32,
    passes: u32,
    salt: String,
    nonce: String,
    ciphertext: String,
}

/// Encrypts a text. A short passphrase is refused.
pub fn encrypt(passphrase: &str, text: &str) -> Result<String> {
    check_passphrase(passphrase)?;
    let (salt, nonce): ([u8; SALT_LEN], [u8; NONCE_LEN]) = (key::random_bytes()?, key::random_bytes()?);
    let (memory_kib, passes) = (limits::PASSPHRASE_MEMORY_KIB, limits::PASSPHRASE_PASSES);
    let cipher = derive_cipher(passphrase, &salt, memory_kib, passes)?;
    let mut body = text.as_bytes().to_vec();
    cipher
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(PURPOSE), &mut body)
        .map_err(|_| Error::internal("ChaCha20-Poly1305 encryption failed"))?;
    let envelope = Envelope {
        format: FORMAT,
        kdf: KDF.to_owned(),
        memory_kib,
        passes,
        salt: BASE64.encode(salt),
        nonce: BASE64.encode(nonce),
        ciphertext: BASE64.encode(body),
    };
    serde_json::to_string(&envelope).map_err(Error::internal)
}

/// Decrypts what [`encrypt`] returned.
pub fn decrypt(passphrase: &str, envelope: &str) -> Result<String> {
    let envelope: Envelope = serde_json::from_str(envelope).map_err(|_| damaged())?;
    let is_known = envelope.format == FORMAT && envelope.kdf == KDF;
    let is_bounded = envelope.memory_kib <= limits::PASSPHRASE_MEMORY_KIB_MAX
        && (1..=limits::PASSPHRASE_PASSES_MAX).contains(&envelope.passes);
    if !is_known || !is_bounded {
        return Err(damaged());
    }
    let decode = |text: &str| BASE64.decode(text).map_err(|_| damaged());
    let (salt, mut body) = (decode(&envelope.salt)?, decode(&envelope.ciphertext)?);
    let nonce = Nonce::try_assume_unique_for_key(&decode(&envelope.nonce)?).map_err(|_| damaged())?;
    let cipher = derive_cipher(passphrase, &salt, envelope.memory_kib, envelope.passes)?;
    let text = cipher.open_in_place(nonce, Aad::from(PURPOSE), &mut body).map_err(|_| {
        Error::new(
            Kind::BadInput,
            "PASSPHRASE_WRONG",
            "The passphrase does not open the secrets of this backup",
        )
        .hint(
            "Use the passphrase that the backup was made with, or restore without the secrets: --without-key",
        )
    })?;
    String::from_utf8(text.to_vec()).map_err(|_| damaged())
}

/// An error if a passphrase is too short to protect anything.
pub fn check_passphrase(passphrase: &str) -> Result<()> {
    if passphrase.chars().count() >= limits::PASSPHRASE_CHARS_MIN {
        return Ok(());
    }
    let message = format!("The passphrase has fewer than {} characters", limits::PASSPHRASE_CHARS_MIN);
    Err(Error::bad_input(message).hint("Use a longer one, such as five random words"))
}

fn derive_cipher(passphrase: &str, salt: &[u8], memory_kib: u32, passes: u32) -> Result<LessSafeKey> {
    let mut derived = [0; 32];
    let params = Params::new(memory_kib, passes, 1, Some(derived.len())).map_err(|_| damaged())?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.as_bytes(), salt, &mut derived)
        .map_err(|_| damaged())?;
    let key = UnboundKey::new(&CHACHA20_POLY1305, &derived)
        .map_err(|_| Error::internal("ChaCha20-Poly1305 rejected the key"))?;
    Ok(LessSafeKey::new(key))
}

fn damaged() -> Error {
    Error::new(Kind::BadInput, "BACKUP_DAMAGED", "The secrets of this backup cannot be read")
        .hint("Use another backup, or restore without the secrets: --without-key")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSPHRASE: &str = "correct horse battery";

    #[test]
    fn text_is_decrypted_only_with_its_passphrase() {
        let text = "signing.key: a secret\n";
        let encrypted = encrypt(PASSPHRASE, text).unwrap();
        assert_eq!(decrypt(PASSPHRASE, &encrypted).unwrap(), text);
        assert!(!encrypted.contains("secret"));
        assert_ne!(encrypt(PASSPHRASE, text).unwrap(), encrypted, "the salt was reused");
        let error = decrypt("another passphrase", &encrypted).unwrap_err();
        assert_eq!(error.code(), "PASSPHRASE_WRONG");
    }

    #[test]
    fn changed_or_expensive_envelope_is_rejected() {
        let encrypted: serde_json::Value =
            serde_json::from_str(&encrypt(PASSPHRASE, "a secret").unwrap()).unwrap();
        let check = |field: &str, value: serde_json::Value, code: &str| {
            let mut changed = encrypted.clone();
            changed[field] = value;
            assert_eq!(decrypt(PASSPHRASE, &changed.to_string()).unwrap_err().code(), code, "{changed}");
        };
        check("format", 2.into(), "BACKUP_DAMAGED");
        check("kdf", "none".into(), "BACKUP_DAMAGED");
        check("memory_kib", u32::MAX.into(), "BACKUP_DAMAGED");
        check("memory_kib", 0.into(), "BACKUP_DAMAGED");
        check("passes", 1_000_000.into(), "BACKUP_DAMAGED");
        check("passes", 0.into(), "BACKUP_DAMAGED");
        check("nonce", "AAAA".into(), "BACKUP_DAMAGED");
        check("salt", "A".into(), "BACKUP_DAMAGED");
        check("passes", 4.into(), "PASSPHRASE_WRONG");
        check("ciphertext", "AAAA".into(), "PASSPHRASE_WRONG");
        check("more", 1.into(), "BACKUP_DAMAGED");
        assert_eq!(decrypt(PASSPHRASE, "").unwrap_err().code(), "BACKUP_DAMAGED");
    }

    #[test]
    fn short_passphrase_is_refused() {
        let message = encrypt("elevenchars", "a secret").unwrap_err().message().to_owned();
        assert_eq!(message, "The passphrase has fewer than 12 characters");
    }
}
