//! Sealed answers that are still right.
//!
//! The cache never decides freshness on its own: it hands out what it has, and the audit commit, which reads the
//! tenant's version anyway, refuses an entry that a newer change has touched. So nothing here can serve a stale answer,
//! and a hit costs one look-up.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{Equivalent, HashMap};

use crate::{Change, Sealed, TenantId, Timestamp, limits};

/// What an answer is kept under. Two callers share an entry only when all three are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Whose data.
    pub tenant: TenantId,
    /// Which noun.
    pub canonical: Box<str>,
    /// The authorization facts that the answer depended on, as the scheme spells them; empty when the address's
    /// scope was all that mattered.
    pub facts: Box<str>,
}

impl Key {
    /// The same, borrowed.
    fn sought(&self) -> Sought<'_> {
        Sought { tenant: &self.tenant, canonical: &self.canonical, facts: &self.facts }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sought().hash(state);
    }
}

/// A key to look something up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sought<'a> {
    /// Whose data.
    pub tenant: &'a TenantId,
    /// Which noun.
    pub canonical: &'a str,
    /// The authorization facts.
    pub facts: &'a str,
}

impl Sought<'_> {
    /// A key to keep something under.
    pub fn to_key(self) -> Key {
        Key { tenant: self.tenant.clone(), canonical: self.canonical.into(), facts: self.facts.into() }
    }
}

impl Equivalent<Key> for Sought<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *self == key.sought()
    }
}

/// A bounded map from [`Key`] to [`Sealed`], least recently used out first.
#[derive(Debug)]
pub struct Cache {
    bytes_max: usize,
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    entries: HashMap<Key, Entry>,
    /// Use order: the smallest number was used longest ago.
    order: BTreeMap<u64, Key>,
    next_use: u64,
    bytes: usize,
    hits: u64,
    misses: u64,
}

#[derive(Debug)]
struct Entry {
    sealed: Arc<Sealed>,
    kept_since: Timestamp,
    last_use: u64,
    weight: usize,
}

/// Figures for `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Answers found.
    pub hits: u64,
    /// Answers not found.
    pub misses: u64,
    /// Entries held.
    pub entries: usize,
    /// Bytes held.
    pub bytes: usize,
}

impl Cache {
    /// An empty cache of at most so many bytes.
    pub fn new(bytes_max: usize) -> Cache {
        Cache { bytes_max, shelf: Mutex::default() }
    }

    /// What is kept under `key`, unless its time has run out.
    pub fn get(&self, key: Sought<'_>, now: Timestamp) -> Option<Arc<Sealed>> {
        let mut shelf = self.shelf();
        let stale = match shelf.entries.get(&key) {
            None => {
                shelf.misses += 1;
                return None;
            }
            Some(entry) => {
                let too_old =
                    now.0 - entry.kept_since.0 >= limits::CACHE_ENTRY_AGE_MS && !entry.sealed.immutable;
                too_old || entry.sealed.basis.valid_until.is_some_and(|until| until <= now)
            }
        };
        if stale {
            shelf.remove(key);
            shelf.misses += 1;
            return None;
        }
        shelf.hits += 1;
        shelf.touch(key)
    }

    /// Keeps an answer, if it may be kept.
    pub fn put(&self, key: Key, sealed: &Arc<Sealed>, now: Timestamp) {
        let weight = sealed.weight() + key.canonical.len() + key.facts.len();
        if !sealed.cacheable || weight > limits::CACHE_ENTRY_BYTES.min(self.bytes_max) {
            return;
        }
        let mut shelf = self.shelf();
        shelf.remove(key.sought());
        while shelf.bytes + weight > self.bytes_max {
            let Some((_, oldest)) = shelf.order.pop_first() else { break };
            shelf.remove(oldest.sought());
        }
        let last_use = shelf.next_use;
        shelf.next_use += 1;
        shelf.bytes += weight;
        shelf.order.insert(last_use, key.clone());
        shelf.entries.insert(key, Entry { sealed: sealed.clone(), kept_since: now, last_use, weight });
    }

    /// Drops one entry.
    pub fn remove(&self, key: Sought<'_>) {
        self.shelf().remove(key);
    }

    /// Drops what a change touched. Not needed for freshness; it gives the memory back early.
    pub fn forget(&self, tenant: &TenantId, change: &Change) {
        let mut shelf = self.shelf();
        let touched: Vec<Key> = shelf
            .entries
            .iter()
            .filter(|(key, entry)| key.tenant == *tenant && entry.sealed.basis.is_touched_by(&change.tags))
            .map(|(key, _)| key.clone())
            .collect();
        for key in touched {
            shelf.remove(key.sought());
        }
    }

    /// How it does.
    pub fn figures(&self) -> Figures {
        let shelf = self.shelf();
        Figures { hits: shelf.hits, misses: shelf.misses, entries: shelf.entries.len(), bytes: shelf.bytes }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        // A panic while the lock was held cannot leave a wrong answer behind: freshness is decided elsewhere.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    /// What is kept under a key, which is the most recently used from now on. Among the newest eighth the order is left as it
    /// is: what everybody reads is there anyway, and none of it would leave first.
    fn touch(&mut self, key: Sought<'_>) -> Option<Arc<Sealed>> {
        let newest = (self.entries.len() / 8).max(1) as u64;
        let this_use = self.next_use;
        let entry = self.entries.get_mut(&key)?;
        if this_use - entry.last_use <= newest {
            return Some(entry.sealed.clone());
        }
        self.next_use += 1;
        let key = self.order.remove(&entry.last_use)?;
        entry.last_use = this_use;
        self.order.insert(this_use, key);
        Some(entry.sealed.clone())
    }

    fn remove(&mut self, key: Sought<'_>) {
        if let Some(entry) = self.entries.remove(&key) {
            self.order.remove(&entry.last_use);
            self.bytes -= entry.weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Basis, Content, Reading, Tag, Version};

    fn key(name: &str) -> Key {
        Key { tenant: TenantId::new("t"), canonical: name.into(), facts: "".into() }
    }

    fn sealed(text: &str, tag: &str) -> Arc<Sealed> {
        let basis = Basis::at(Version(1)).on(Tag::new(tag));
        Reading::new(Content::text("text/plain", text), basis).seal().unwrap()
    }

    #[test]
    fn the_least_recently_used_leaves_first() {
        let big = "x".repeat(1_000);
        let weight = sealed(&big, "a").weight() + 1;
        let cache = Cache::new(weight * 2);
        let now = Timestamp(0);
        cache.put(key("a"), &sealed(&big, "a"), now);
        cache.put(key("b"), &sealed(&big, "b"), now);
        assert!(cache.get(key("a").sought(), now).is_some());
        cache.put(key("c"), &sealed(&big, "c"), now);
        assert!(cache.get(key("b").sought(), now).is_none());
        assert!(cache.get(key("a").sought(), now).is_some());
        assert_eq!(cache.figures().entries, 2);
        assert!(cache.figures().bytes <= weight * 2);
    }

    #[test]
    fn a_change_drops_what_it_touched_and_nothing_else() {
        let cache = Cache::new(1 << 20);
        let now = Timestamp(0);
        cache.put(key("a"), &sealed("1", "a"), now);
        cache.put(key("b"), &sealed("2", "b"), now);
        let change = Change { version: Version(2), tags: vec![Tag::new("a")] };
        cache.forget(&TenantId::new("other"), &change);
        assert!(cache.get(key("a").sought(), now).is_some());
        cache.forget(&TenantId::new("t"), &change);
        assert!(cache.get(key("a").sought(), now).is_none());
        assert!(cache.get(key("b").sought(), now).is_some());
    }

    #[test]
    fn an_entry_ends_with_its_time() {
        let cache = Cache::new(1 << 20);
        cache.put(key("a"), &sealed("1", "a"), Timestamp(0));
        assert!(cache.get(key("a").sought(), Timestamp(limits::CACHE_ENTRY_AGE_MS - 1)).is_some());
        assert!(cache.get(key("a").sought(), Timestamp(limits::CACHE_ENTRY_AGE_MS)).is_none());
    }
}
