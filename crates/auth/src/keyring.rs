//! The keys in memory: one that signs, and older ones that still verify.
//!
//! Pure. [`KeyStorage`](crate::KeyStorage) knows where they are stored, and the [`key_cache`](crate::key_cache) when
//! to read them again.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Error, Result, Timestamp};
use serde_json::{Value, json};

use crate::key::SigningKey;

/// A key with its times.
#[derive(Debug)]
pub struct KeyEntry {
    /// The key.
    pub key: SigningKey,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was retired: another key became the one that signs.
    pub retired_at: Option<Timestamp>,
}

/// All keys of this server.
#[derive(Debug)]
pub struct Keyring {
    /// The current key first, then from newest to oldest.
    keys: Vec<KeyEntry>,
}

impl Keyring {
    /// Creates a keyring. `keys` must not be empty.
    pub fn new(mut keys: Vec<KeyEntry>) -> Result<Keyring> {
        if keys.is_empty() {
            return Err(Error::internal("there is no signing key"));
        }
        keys.sort_by(|a, b| {
            let rank = |entry: &KeyEntry| (entry.retired_at.is_some(), std::cmp::Reverse(entry.created_at));
            rank(a).cmp(&rank(b)).then_with(|| a.key.kid().cmp(b.key.kid()))
        });
        Ok(Keyring { keys })
    }

    /// The key that signs.
    pub fn current(&self) -> &SigningKey {
        &self.keys[0].key
    }

    /// The key with this id.
    pub fn find(&self, kid: &str) -> Option<&SigningKey> {
        self.keys.iter().map(|entry| &entry.key).find(|key| key.kid() == kid)
    }

    /// All keys: the current one first, then from newest to oldest.
    pub fn iter(&self) -> impl Iterator<Item = &KeyEntry> {
        self.keys.iter()
    }

    /// The id of the oldest key. It signed the tokens whose rows have no key id.
    pub fn oldest_kid(&self) -> &str {
        let oldest = self.keys.iter().min_by_key(|entry| entry.created_at);
        oldest.map_or(self.current().kid(), |entry| entry.key.kid())
    }

    /// The public keys in the format of RFC 7517.
    pub fn key_set(&self) -> Value {
        let to_jwk = |entry: &KeyEntry| {
            json!({
                "kty": "OKP",
                "crv": "Ed25519",
                "x": BASE64.encode(entry.key.public_key()),
                "kid": entry.key.kid(),
                "alg": "EdDSA",
                "use": "sig",
            })
        };
        json!({"keys": self.keys.iter().map(to_jwk).collect::<Vec<_>>()})
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A keyring of keys with these seeds, the first one current.
    pub(crate) fn keyring_from_seeds(seeds: &[u8]) -> Keyring {
        let entry = |(index, seed): (usize, &u8)| KeyEntry {
            key: SigningKey::from_seed(&[*seed; 32]).unwrap(),
            created_at: Timestamp(100 - index as i64),
            retired_at: (index > 0).then_some(Timestamp(101 - index as i64)),
        };
        Keyring::new(seeds.iter().enumerate().map(entry).collect()).unwrap()
    }

    #[test]
    fn current_key_is_newest_unretired_and_all_are_found() {
        let keyring = keyring_from_seeds(&[3, 2, 1]);
        let kid = |seed: u8| SigningKey::from_seed(&[seed; 32]).unwrap().kid().to_owned();
        assert_eq!(keyring.current().kid(), kid(3));
        assert_eq!(keyring.oldest_kid(), kid(1));
        for seed in [1, 2, 3] {
            assert_eq!(keyring.find(&kid(seed)).unwrap().kid(), kid(seed));
        }
        assert!(keyring.find(&kid(4)).is_none() && keyring.find("").is_none());
        assert!(Keyring::new(Vec::new()).is_err());
    }

    /// The key of RFC 8037, appendix A.
    #[test]
    fn key_set_matches_rfc_8037_key() {
        let seed = BASE64.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        let key = SigningKey::from_seed(&seed.try_into().unwrap()).unwrap();
        let kid = key.kid().to_owned();
        let keyring =
            Keyring::new(vec![KeyEntry { key, created_at: Timestamp(0), retired_at: None }]).unwrap();
        let expect = json!({"keys": [{
            "kty": "OKP",
            "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "kid": kid,
            "alg": "EdDSA",
            "use": "sig",
        }]});
        assert_eq!(keyring.key_set(), expect);
    }
}
