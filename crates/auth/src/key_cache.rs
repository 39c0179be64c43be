//! The keys as this process knows them, and how it hears of new ones.
//!
//! Another process may rotate the keys at any time. Nobody tells us; but a token or a sealed string names its key, so the
//! first one that names an unknown key makes us look.

use std::sync::Arc;

use quad_core::Result;
use quad_store::Store;
use serde_json::Value;

use crate::key;
use crate::key_storage::KeyStorage;
use crate::keyring::Keyring;
use crate::limits;
use crate::reloading::Reloading;

/// The keys and where they come from.
pub struct KeyCache {
    pub(crate) storage: KeyStorage,
    store: Store,
    keyring: Reloading<Keyring>,
}

impl std::fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyCache")
            .field("storage", &self.storage)
            .field("keyring", &self.keyring)
            .finish_non_exhaustive()
    }
}

impl KeyCache {
    /// Reads the keys; the first one that opens makes the first key.
    pub async fn open(storage: KeyStorage, store: Store) -> Result<KeyCache> {
        let keyring = Reloading::new(storage.open(&store).await?);
        Ok(KeyCache { storage, store, keyring })
    }

    /// The keys that are known.
    pub fn cached(&self) -> Arc<Keyring> {
        self.keyring.get()
    }

    /// The keys as they are now: for whoever is about to sign.
    pub async fn reload(&self) -> Result<Arc<Keyring>> {
        self.keyring.reload(self.storage.read(&self.store)).await
    }

    /// The keys as they were at this moment or later, at most so often.
    pub async fn reload_throttled(&self) -> Result<Arc<Keyring>> {
        self.keyring.reload_throttled(self.storage.read(&self.store)).await
    }

    /// Keys among which is that one, if there is such a key at all.
    pub async fn containing(&self, kid: &str) -> Result<Arc<Keyring>> {
        let cached = self.cached();
        if cached.find(kid).is_some() { Ok(cached) } else { self.reload_throttled().await }
    }

    /// The public halves, for everybody.
    pub async fn key_set(&self) -> Result<Value> {
        let keyring =
            self.keyring.get_max_age(limits::RELOAD_INTERVAL, self.storage.read(&self.store)).await?;
        Ok(keyring.key_set())
    }

    /// The payload of a string that we sealed for that purpose, with whichever key.
    pub async fn verify_opaque(&self, purpose: &str, opaque: &str) -> Result<Option<Vec<u8>>> {
        let kid = key::opaque_kid(opaque);
        if kid.is_empty() {
            return Ok(None);
        }
        Ok(self.containing(kid).await?.find(kid).and_then(|key| key.verify_opaque(purpose, opaque)))
    }
}
