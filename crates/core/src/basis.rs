//! What an answer rests on: a version and the tags that were read under it.
//!
//! An entry computed at version `v` is still right at version `V` if no change in `(v, V]` carries one of its tags.
//! That is the whole of cache validity here: a write drops what it touched and nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::Timestamp;

/// A tenant's commit number. Each mutation takes the next one; commit order is version order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub i64);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Something that an answer depended on and that a change can touch: an entity, a list, a counter.
///
/// Spelt `scheme:kind:id`, without white space, since the change log stores a commit's tags as one line of words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(Arc<str>);

impl Tag {
    /// A tag of that spelling; white space becomes `_`, so that a tag can never split into two.
    pub fn new(spelling: impl AsRef<str>) -> Tag {
        let spelling = spelling.as_ref();
        if spelling.contains(char::is_whitespace) {
            return Tag(spelling.split_whitespace().collect::<Vec<_>>().join("_").into());
        }
        Tag(spelling.into())
    }

    /// The tag of everything that `resources/list` shows of one scheme.
    pub fn listing(scheme: &str) -> Tag {
        Tag(format!("list:{scheme}").into())
    }

    /// Whether a change with this tag alters what `resources/list` shows.
    pub fn is_listing(&self) -> bool {
        self.0.starts_with("list:")
    }

    /// The spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an answer was computed from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    /// The tenant's version in the snapshot that was read.
    pub version: Option<Version>,
    /// A change of one of these makes the answer stale, and its subscribers hear of it.
    pub tags: BTreeSet<Tag>,
    /// A change of one of these makes the answer stale but wakes nobody: a row count inside a list of tables.
    pub incidental: BTreeSet<Tag>,
    /// Where the clock matters: from then on the answer is stale, whatever changed.
    pub valid_until: Option<Timestamp>,
    /// A change of one of these makes the answer stale, but it may lie in what is hidden from the caller: its subscribers hear of
    /// it only if the answer [shows](Basis::shows) something else after it.
    pub veiled: BTreeSet<Tag>,
    /// A hash of what the caller sees of what the veiled tags name. It must never come back to an earlier value after it was
    /// another, or a reader who looked in between would not hear of the way back.
    pub shows: Option<Arc<str>>,
}

impl Basis {
    /// A basis at that version, with no tags yet.
    pub fn at(version: Version) -> Basis {
        Basis { version: Some(version), ..Basis::default() }
    }

    /// Adds a tag.
    pub fn on(mut self, tag: Tag) -> Basis {
        self.tags.insert(tag);
        self
    }

    /// How many tags there are, of every sort.
    pub fn tag_count(&self) -> usize {
        self.tags.len() + self.incidental.len() + self.veiled.len()
    }

    /// Rests on what `other` rests on as well. Parts of an answer may come from different snapshots: at the earliest of their
    /// versions, with the tags of all, the whole is right exactly as long as no part was touched. What it shows stays as it is.
    pub fn and(mut self, other: &Basis) -> Basis {
        self.version = earlier(self.version, other.version);
        self.valid_until = earlier(self.valid_until, other.valid_until);
        self.tags.extend(other.tags.iter().cloned());
        self.incidental.extend(other.incidental.iter().cloned());
        self.veiled.extend(other.veiled.iter().cloned());
        self
    }

    /// The same, and what is known to change in `other` counts only if something else is shown after it.
    pub fn and_veiled(self, other: &Basis) -> Basis {
        let mut veiled = other.clone();
        veiled.veiled.append(&mut veiled.tags);
        self.and(&veiled)
    }

    /// Whether a change with these tags makes the answer stale.
    pub fn is_touched_by<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter()
            .any(|tag| self.tags.contains(tag) || self.incidental.contains(tag) || self.veiled.contains(tag))
    }

    /// Whether a change with these tags is worth telling a subscriber.
    pub fn is_announced_by<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| self.tags.contains(tag))
    }

    /// Whether a change with these tags is worth telling a subscriber if something else is shown after it.
    pub fn is_perhaps_announced_by<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| self.veiled.contains(tag))
    }
}

fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incidental_tag_makes_stale_without_waking() {
        let mut basis = Basis::at(Version(3)).on(Tag::new("bkend:table:a"));
        basis.incidental.insert(Tag::new("bkend:rows:a"));
        let rows = [Tag::new("bkend:rows:a")];
        assert!(basis.is_touched_by(&rows));
        assert!(!basis.is_announced_by(&rows));
        assert!(basis.is_announced_by(&[Tag::new("bkend:table:a")]));
        assert!(!basis.is_touched_by(&[Tag::new("bkend:table:b")]));
    }

    #[test]
    fn the_whole_is_as_old_as_its_oldest_part() {
        let mut late = Basis::at(Version(7)).on(Tag::new("b"));
        late.valid_until = Some(Timestamp(5));
        late.incidental.insert(Tag::new("c"));
        let whole = Basis::at(Version(3)).on(Tag::new("a")).and(&late).and(&Basis::default());
        assert_eq!((whole.version, whole.valid_until), (Some(Version(3)), Some(Timestamp(5))));
        for tag in ["a", "b", "c"] {
            assert!(whole.is_touched_by(&[Tag::new(tag)]), "{tag}");
        }
        assert_eq!(Basis::default().and(&late).version, Some(Version(7)));
    }

    #[test]
    fn a_veiled_tag_makes_stale_and_wakes_perhaps() {
        let part = Basis::at(Version(1)).on(Tag::new("b"));
        let whole = Basis::at(Version(1)).on(Tag::new("a")).and_veiled(&part);
        let b = [Tag::new("b")];
        assert!(whole.is_touched_by(&b) && !whole.is_announced_by(&b) && whole.is_perhaps_announced_by(&b));
        assert!(!whole.is_perhaps_announced_by(&[Tag::new("a")]));
    }

    #[test]
    fn a_tag_is_one_word() {
        assert_eq!(Tag::new("a b\nc").as_str(), "a_b_c");
    }
}
