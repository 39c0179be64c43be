//! The cache of serialized reads.
//!
//! The cache does not decide freshness. It returns what it has, and the audit commit, which reads the
//! tenant's version anyway, rejects an entry that a newer change has invalidated. A hit therefore costs one
//! lookup, and a stale entry is never served.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};

use hashbrown::{Equivalent, HashMap};

use crate::lock::MutexExt as _;
use crate::{SerializedRead, TenantId, Timestamp, limits};

/// The key of an entry. Two callers share an entry only if all three parts are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheKey {
    /// The tenant.
    pub tenant: TenantId,
    /// The canonical address.
    pub canonical: Box<str>,
    /// The scheme's [`cache_key_part`](crate::Scheme::cache_key_part): empty if the contents depend on the
    /// tenant only.
    pub caller_part: Box<str>,
}

impl CacheKey {
    /// The key in borrowed form.
    fn as_ref_key(&self) -> CacheKeyRef<'_> {
        CacheKeyRef { tenant: &self.tenant, canonical: &self.canonical, caller_part: &self.caller_part }
    }
}

impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref_key().hash(state);
    }
}

/// A borrowed key, for lookups without an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheKeyRef<'a> {
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The canonical address.
    pub canonical: &'a str,
    /// The scheme's part of the key.
    pub caller_part: &'a str,
}

impl CacheKeyRef<'_> {
    /// The key in owned form.
    pub fn to_key(self) -> CacheKey {
        CacheKey {
            tenant: self.tenant.clone(),
            canonical: self.canonical.into(),
            caller_part: self.caller_part.into(),
        }
    }
}

impl Equivalent<CacheKey> for CacheKeyRef<'_> {
    fn equivalent(&self, key: &CacheKey) -> bool {
        *self == key.as_ref_key()
    }
}

/// A map from [`CacheKey`] to [`SerializedRead`], bounded in bytes. Evicts the least recently used entry
/// first.
#[derive(Debug)]
pub struct Cache {
    bytes_max: usize,
    state: Mutex<LruState>,
}

#[derive(Debug, Default)]
struct LruState {
    entries: HashMap<CacheKey, Entry>,
    /// The keys by time of use: the smallest number was used longest ago.
    order: BTreeMap<u64, CacheKey>,
    next_use: u64,
    bytes: usize,
    hits: u64,
    misses: u64,
}

#[derive(Debug)]
struct Entry {
    read: Arc<SerializedRead>,
    inserted_at: Timestamp,
    last_use: u64,
    bytes: usize,
}

/// Counters for `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStats {
    /// Lookups that found a valid entry.
    pub hits: u64,
    /// Lookups that found none.
    pub misses: u64,
    /// Entries in the cache.
    pub entries: usize,
    /// Estimated bytes of the entries.
    pub bytes: usize,
}

impl Cache {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Cache {
        Cache { bytes_max, state: Mutex::default() }
    }

    /// The entry of `key`, unless it has expired.
    pub fn get(&self, key: CacheKeyRef<'_>, now: Timestamp) -> Option<Arc<SerializedRead>> {
        let mut state = self.lock_state();
        let stale = match state.entries.get(&key) {
            None => {
                state.misses += 1;
                return None;
            }
            Some(entry) => {
                let too_old =
                    now.0 - entry.inserted_at.0 >= limits::CACHE_ENTRY_AGE_MS && !entry.read.immutable;
                too_old || entry.read.read_set.valid_until.is_some_and(|until| until <= now)
            }
        };
        if stale {
            state.remove(key);
            state.misses += 1;
            return None;
        }
        state.hits += 1;
        state.mark_used(key)
    }

    /// Inserts a read if it is cacheable and not too large.
    pub fn put(&self, key: CacheKey, read: &Arc<SerializedRead>, now: Timestamp) {
        let entry_bytes = read.cached_bytes() + key.canonical.len() + key.caller_part.len();
        if !read.cacheable || entry_bytes > limits::CACHE_ENTRY_BYTES.min(self.bytes_max) {
            return;
        }
        let mut state = self.lock_state();
        state.remove(key.as_ref_key());
        while state.bytes + entry_bytes > self.bytes_max {
            let Some((_, oldest)) = state.order.pop_first() else { break };
            state.remove(oldest.as_ref_key());
        }
        let last_use = state.next_use;
        state.next_use += 1;
        state.bytes += entry_bytes;
        state.order.insert(last_use, key.clone());
        state
            .entries
            .insert(key, Entry { read: read.clone(), inserted_at: now, last_use, bytes: entry_bytes });
    }

    /// Drops one entry.
    pub fn remove(&self, key: CacheKeyRef<'_>) {
        self.lock_state().remove(key);
    }

    /// The counters.
    pub fn stats(&self) -> CacheStats {
        let state = self.lock_state();
        CacheStats {
            hits: state.hits,
            misses: state.misses,
            entries: state.entries.len(),
            bytes: state.bytes,
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, LruState> {
        // A panic under the lock cannot make a wrong entry valid: the audit commit decides freshness.
        self.state.lock_unpoisoned()
    }
}

impl LruState {
    /// The entry of a key, now marked as most recently used. An entry among the eighth that was used last
    /// keeps its position: frequently read entries are all there, and none of them is the next to be evicted.
    fn mark_used(&mut self, key: CacheKeyRef<'_>) -> Option<Arc<SerializedRead>> {
        let recent_uses = (self.entries.len() / 8).max(1) as u64;
        let this_use = self.next_use;
        let entry = self.entries.get_mut(&key)?;
        if this_use - entry.last_use <= recent_uses {
            return Some(entry.read.clone());
        }
        self.next_use += 1;
        let key = self.order.remove(&entry.last_use)?;
        entry.last_use = this_use;
        self.order.insert(this_use, key);
        Some(entry.read.clone())
    }

    fn remove(&mut self, key: CacheKeyRef<'_>) {
        if let Some(entry) = self.entries.remove(&key) {
            self.order.remove(&entry.last_use);
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, ReadOutput, ReadSet, Tag, Version};

    fn key(name: &str) -> CacheKey {
        CacheKey { tenant: TenantId::new("t"), canonical: name.into(), caller_part: "".into() }
    }

    fn serialized_read(text: &str, tag: &str) -> Arc<SerializedRead> {
        let read_set = ReadSet::at_version(Version(1)).with_tag(Tag::new(tag));
        ReadOutput::new(Content::text("text/plain", text), read_set).serialize().unwrap()
    }

    #[test]
    fn evicts_least_recently_used_first() {
        let big = "x".repeat(1_000);
        let entry_bytes = serialized_read(&big, "a").cached_bytes() + 1;
        let cache = Cache::new(entry_bytes * 2);
        let now = Timestamp(0);
        cache.put(key("a"), &serialized_read(&big, "a"), now);
        cache.put(key("b"), &serialized_read(&big, "b"), now);
        assert!(cache.get(key("a").as_ref_key(), now).is_some());
        cache.put(key("c"), &serialized_read(&big, "c"), now);
        assert!(cache.get(key("b").as_ref_key(), now).is_none());
        assert!(cache.get(key("a").as_ref_key(), now).is_some());
        assert_eq!(cache.stats().entries, 2);
        assert!(cache.stats().bytes <= entry_bytes * 2);
    }

    #[test]
    fn entry_expires_after_max_age() {
        let cache = Cache::new(1 << 20);
        cache.put(key("a"), &serialized_read("1", "a"), Timestamp(0));
        assert!(cache.get(key("a").as_ref_key(), Timestamp(limits::CACHE_ENTRY_AGE_MS - 1)).is_some());
        assert!(cache.get(key("a").as_ref_key(), Timestamp(limits::CACHE_ENTRY_AGE_MS)).is_none());
    }
}
