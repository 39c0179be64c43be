//! The keys as this process knows them, and how it learns of new ones.
//!
//! Another process may rotate the keys at any time, without a notification. A token or an opaque string names its
//! key, so the first one with an unknown key causes a reload.

use std::sync::Arc;

use quad_core::Result;
use quad_store::Store;
use serde_json::Value;

use crate::key;
use crate::key_storage::KeyStorage;
use crate::keyring::Keyring;
use crate::limits;
use crate::reloading::Reloading;

/// The cached keyring and its storage.
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
    /// Reads the keys. The first process that opens the storage creates the first key.
    pub async fn open(storage: KeyStorage, store: Store) -> Result<KeyCache> {
        let keyring = Reloading::new(storage.open(&store).await?);
        Ok(KeyCache { storage, store, keyring })
    }

    /// The keyring as last read.
    pub fn cached(&self) -> Arc<Keyring> {
        self.keyring.get()
    }

    /// The keyring as it is now. Use it before signing a token.
    pub async fn reload(&self) -> Result<Arc<Keyring>> {
        self.keyring.reload(self.storage.read(&self.store)).await
    }

    /// The keyring as it was at the time of the call or later; throttled.
    pub async fn reload_throttled(&self) -> Result<Arc<Keyring>> {
        self.keyring.reload_throttled(self.storage.read(&self.store)).await
    }

    /// A keyring with this key, if the key exists at all.
    pub async fn containing(&self, kid: &str) -> Result<Arc<Keyring>> {
        let cached = self.cached();
        if cached.find(kid).is_some() { Ok(cached) } else { self.reload_throttled().await }
    }

    /// The public keys as a JSON Web Key Set.
    pub async fn key_set(&self) -> Result<Value> {
        let keyring =
            self.keyring.get_max_age(limits::RELOAD_INTERVAL, self.storage.read(&self.store)).await?;
        Ok(keyring.key_set())
    }

    /// The payload of an opaque string that any of our keys signed for this purpose.
    pub async fn verify_opaque(&self, purpose: &str, opaque: &str) -> Result<Option<Vec<u8>>> {
        let kid = key::opaque_kid(opaque);
        if kid.is_empty() {
            return Ok(None);
        }
        Ok(self.containing(kid).await?.find(kid).and_then(|key| key.verify_opaque(purpose, opaque)))
    }
}
