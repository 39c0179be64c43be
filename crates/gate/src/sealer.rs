//! A seed that is kept where others can read it: encrypted under a secret that is not there.

use quad_core::{Error, Kind, Result, Timestamp};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::key::{self, Seed};

/// A key's row, still sealed.
#[derive(Clone, Debug)]
pub struct SealedRow {
    /// The key's name.
    pub kid: String,
    /// The nonce, then the encrypted seed.
    pub sealed: Vec<u8>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When another took its place.
    pub retired_at: Option<Timestamp>,
}

/// Seals a seed with AES-256-GCM under a key derived from a secret text. The nonce stands before the sealed bytes, and
/// the key's name is bound to them.
pub struct Sealer(LessSafeKey);

impl Sealer {
    /// The sealer of that secret.
    pub fn new(secret: &str) -> Result<Sealer> {
        let derived = key::derive(secret.as_bytes(), "key encryption")?;
        let key = UnboundKey::new(&AES_256_GCM, &derived)
            .map_err(|_| Error::internal("AES-256-GCM refused its key"))?;
        Ok(Sealer(LessSafeKey::new(key)))
    }

    /// Seals a seed under its key's name.
    pub fn seal(&self, kid: &str, seed: &Seed) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = key::random()?;
        let mut body = seed.to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(kid.as_bytes()),
                &mut body,
            )
            .map_err(|_| Error::internal("AES-256-GCM refused to seal"))?;
        Ok([nonce.as_slice(), &body].concat())
    }

    /// The seed of a row that was sealed under the same secret.
    pub fn open(&self, row: &SealedRow) -> Result<Seed> {
        self.try_open(row).ok_or_else(|| sealed_elsewhere("QUAD_KEY_WRONG", "sealed under another QUAD_KEY"))
    }

    fn try_open(&self, row: &SealedRow) -> Option<Seed> {
        let (nonce, body) = row.sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut body = body.to_vec();
        let seed = self.0.open_in_place(nonce, Aad::from(row.kid.as_bytes()), &mut body).ok()?;
        Seed::try_from(&*seed).ok()
    }
}

/// The error of a node that cannot open what another sealed.
pub fn sealed_elsewhere(code: &'static str, how: &str) -> Error {
    Error::new(Kind::BadInput, code, format!("The signing key in the database is {how}"))
        .hint("Set QUAD_KEY to what the other nodes have, or to the line in the first node's quad.key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_seed_opens_under_its_secret_and_name_only() {
        let sealer = Sealer::new("one secret").unwrap();
        let row = SealedRow {
            kid: "k1".into(),
            sealed: sealer.seal("k1", &[7; 32]).unwrap(),
            created_at: Timestamp(0),
            retired_at: None,
        };
        assert_eq!(sealer.open(&row).unwrap(), [7; 32]);
        assert!(!row.sealed.windows(8).any(|window| window == [7; 8]));
        assert_ne!(sealer.seal("k1", &[7; 32]).unwrap(), row.sealed, "a nonce was used twice");
        let other_name = SealedRow { kid: "k2".into(), ..row.clone() };
        let cut = SealedRow { sealed: row.sealed[..10].to_vec(), ..row.clone() };
        for (sealer, row) in
            [(&Sealer::new("another").unwrap(), &row), (&sealer, &other_name), (&sealer, &cut)]
        {
            assert_eq!(sealer.open(row).unwrap_err().code(), "QUAD_KEY_WRONG");
        }
    }
}
