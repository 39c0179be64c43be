//! The cache of verified tokens of this process.
//!
//! Bounded in number and age, and keyed by the SHA-256 of the token, so that it holds no token. An entry may be
//! stale: the cached principal carries the read set of its credential, which the store validates at every audit
//! commit.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use quad_core::lock::MutexExt as _;
use quad_core::{Principal, Timestamp};
use ring::digest;

use crate::limits;

/// The SHA-256 of a token.
pub type Fingerprint = [u8; digest::SHA256_OUTPUT_LEN];

/// Computes the fingerprint of a token.
pub fn fingerprint(token: &str) -> Fingerprint {
    let mut bytes = Fingerprint::default();
    bytes.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    bytes
}

/// Accepted tokens. Refusals are not cached: a flood of bad tokens would evict the good ones.
#[derive(Debug, Default)]
pub struct TokenCache(Mutex<HashMap<Fingerprint, CachedPrincipal>>);

#[derive(Debug)]
struct CachedPrincipal {
    principal: Principal,
    expires_at: Timestamp,
    /// The version of the issuer's key set that the entry depends on.
    key_set_version: u64,
}

impl TokenCache {
    /// The principal of the token, if it was cached with the same version of the key set. A change of the issuer's
    /// keys invalidates every entry.
    pub fn get(&self, token: &Fingerprint, now: Timestamp, key_set_version: u64) -> Option<Principal> {
        let mut entries = self.lock();
        let entry = entries.get(token)?;
        if entry.expires_at <= now || entry.key_set_version != key_set_version {
            entries.remove(token);
            return None;
        }
        Some(entry.principal.clone())
    }

    /// Caches the principal of a token for a limited time, not beyond `expires_at`.
    pub fn put(
        &self,
        token: Fingerprint,
        principal: Principal,
        now: Timestamp,
        token_expires_at: Timestamp,
        key_set_version: u64,
    ) {
        let expires_at = token_expires_at.min(now.plus_ms(limits::TOKEN_CACHE_AGE_MS));
        let mut entries = self.lock();
        if entries.len() >= limits::TOKEN_CACHE_MAX && !entries.contains_key(&token) {
            entries.retain(|_, entry| entry.expires_at > now);
            // No entry has expired, so the one that expires first is evicted.
            if entries.len() >= limits::TOKEN_CACHE_MAX
                && let Some(oldest) =
                    entries.iter().min_by_key(|(_, entry)| entry.expires_at).map(|(token, _)| *token)
            {
                entries.remove(&oldest);
            }
        }
        entries.insert(token, CachedPrincipal { principal, expires_at, key_set_version });
    }

    /// Removes a token.
    pub fn remove(&self, token: &Fingerprint) {
        self.lock().remove(token);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Fingerprint, CachedPrincipal>> {
        // No operation leaves the map inconsistent, so a poisoned lock is safe to use.
        self.0.lock_unpoisoned()
    }
}

#[cfg(test)]
mod tests {
    use quad_core::TenantId;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);
    const FAR_FUTURE: Timestamp = Timestamp(i64::MAX);

    fn principal(tenant: &str) -> Principal {
        Principal::local_agent(TenantId::new(tenant), [])
    }

    fn cached_tenant(cache: &TokenCache, token: &str, now: Timestamp) -> Option<String> {
        cache.get(&fingerprint(token), now, 0).map(|principal| principal.tenant.to_string())
    }

    #[test]
    fn entry_expires_with_token_or_max_age() {
        let cache = TokenCache::default();
        cache.put(fingerprint("a"), principal("t1"), NOW, NOW.plus_ms(10), 0);
        cache.put(fingerprint("b"), principal("t2"), NOW, FAR_FUTURE, 0);
        assert_eq!(cached_tenant(&cache, "a", NOW.plus_ms(9)).as_deref(), Some("t1"));
        assert_eq!(cached_tenant(&cache, "a", NOW.plus_ms(10)), None);
        assert_eq!(
            cached_tenant(&cache, "b", NOW.plus_ms(limits::TOKEN_CACHE_AGE_MS - 1)).as_deref(),
            Some("t2")
        );
        assert_eq!(cached_tenant(&cache, "b", NOW.plus_ms(limits::TOKEN_CACHE_AGE_MS)), None);
        assert_eq!(cached_tenant(&cache, "c", NOW), None);
    }

    #[test]
    fn entry_is_dropped_when_key_set_changes() {
        let cache = TokenCache::default();
        cache.put(fingerprint("a"), principal("t1"), NOW, FAR_FUTURE, 7);
        assert!(cache.get(&fingerprint("a"), NOW, 7).is_some());
        assert!(cache.get(&fingerprint("a"), NOW, 8).is_none());
    }

    #[test]
    fn remove_evicts_only_that_token() {
        let cache = TokenCache::default();
        cache.put(fingerprint("a"), principal("t1"), NOW, FAR_FUTURE, 0);
        cache.put(fingerprint("b"), principal("t2"), NOW, FAR_FUTURE, 0);
        cache.remove(&fingerprint("a"));
        assert_eq!(cached_tenant(&cache, "a", NOW), None);
        assert_eq!(cached_tenant(&cache, "b", NOW).as_deref(), Some("t2"));
    }

    #[test]
    fn cache_is_bounded_and_evicts_the_oldest() {
        let cache = TokenCache::default();
        for index in 0..=limits::TOKEN_CACHE_MAX as i64 {
            cache.put(fingerprint(&index.to_string()), principal("t"), NOW.plus_ms(index), FAR_FUTURE, 0);
        }
        assert_eq!(cache.lock().len(), limits::TOKEN_CACHE_MAX);
        let now = NOW.plus_ms(limits::TOKEN_CACHE_MAX as i64);
        assert_eq!(cached_tenant(&cache, "0", now), None);
        assert!(cached_tenant(&cache, "1", now).is_some());
        assert!(cached_tenant(&cache, &limits::TOKEN_CACHE_MAX.to_string(), now).is_some());
    }
}
