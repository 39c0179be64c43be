//! The keys as this process knows them, and how it hears of new ones.
//!
//! Another process may rotate the keys at any time. Nobody tells us; but a token or a sealed string names its key, so the
//! first one that names an unknown key makes us look.

use std::sync::Arc;

use quad_core::Result;
use quad_store::Store;
use serde_json::Value;

use crate::key;
use crate::key_home::KeyHome;
use crate::keyring::Keyring;
use crate::limits;
use crate::reloaded::Reloaded;

/// The keys and where they come from.
pub struct Keys {
    pub(crate) home: KeyHome,
    store: Store,
    ring: Reloaded<Keyring>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("home", &self.home).field("ring", &self.ring).finish_non_exhaustive()
    }
}

impl Keys {
    /// Reads the keys; the first one that opens makes the first key.
    pub async fn open(home: KeyHome, store: Store) -> Result<Keys> {
        let ring = Reloaded::new(home.open(&store).await?);
        Ok(Keys { home, store, ring })
    }

    /// The keys that are known.
    pub fn known(&self) -> Arc<Keyring> {
        self.ring.get()
    }

    /// The keys as they are now: for whoever is about to sign.
    pub async fn now(&self) -> Result<Arc<Keyring>> {
        self.ring.now(self.home.read(&self.store)).await
    }

    /// The keys as they were at this moment or later, at most so often.
    pub async fn newer(&self) -> Result<Arc<Keyring>> {
        self.ring.newer(self.home.read(&self.store)).await
    }

    /// Keys among which is that one, if there is such a key at all.
    pub async fn with(&self, kid: &str) -> Result<Arc<Keyring>> {
        let known = self.known();
        if known.find(kid).is_some() { Ok(known) } else { self.newer().await }
    }

    /// The public halves, for everybody.
    pub async fn key_set(&self) -> Result<Value> {
        let ring = self.ring.recent(limits::RELOAD_INTERVAL, self.home.read(&self.store)).await?;
        Ok(ring.key_set())
    }

    /// The payload of a string that we sealed for that purpose, with whichever key.
    pub async fn unseal(&self, purpose: &str, sealed: &str) -> Result<Option<Vec<u8>>> {
        let kid = key::kid_of_sealed(sealed);
        if kid.is_empty() {
            return Ok(None);
        }
        Ok(self.with(kid).await?.find(kid).and_then(|key| key.unseal(purpose, sealed)))
    }
}
