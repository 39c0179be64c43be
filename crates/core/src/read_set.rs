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
    pub fn new(text: impl AsRef<str>) -> Tag {
        let text = text.as_ref();
        if text.contains(char::is_whitespace) {
            return Tag(text.split_whitespace().collect::<Vec<_>>().join("_").into());
        }
        Tag(text.into())
    }

    /// The tag of everything that `resources/list` shows of one scheme.
    pub fn resource_list(scheme: &str) -> Tag {
        Tag(format!("list:{scheme}").into())
    }

    /// Whether a change with this tag alters what `resources/list` shows.
    pub fn is_resource_list(&self) -> bool {
        self.0.starts_with("list:")
    }

    /// The spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an answer was computed from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// The tenant's version in the snapshot that was read.
    pub version: Option<Version>,
    /// A change of one of these makes the answer stale, and its subscribers hear of it.
    pub tags: BTreeSet<Tag>,
    /// A change of one of these makes the answer stale but wakes nobody: a row count inside a list of tables.
    pub silent_tags: BTreeSet<Tag>,
    /// Where the clock matters: from then on the answer is stale, whatever changed.
    pub valid_until: Option<Timestamp>,
    /// A change of one of these makes the answer stale, but it may lie in what is hidden from the caller: its subscribers hear of
    /// it only if the answer [shows](Basis::shows) something else after it.
    pub hidden_tags: BTreeSet<Tag>,
    /// A hash of what the caller sees of what the veiled tags name. It must never come back to an earlier value after it was
    /// another, or a reader who looked in between would not hear of the way back.
    pub visible_hash: Option<Arc<str>>,
}

impl ReadSet {
    /// A basis at that version, with no tags yet.
    pub fn at_version(version: Version) -> ReadSet {
        ReadSet { version: Some(version), ..ReadSet::default() }
    }

    /// Adds a tag.
    pub fn with_tag(mut self, tag: Tag) -> ReadSet {
        self.tags.insert(tag);
        self
    }

    /// How many tags there are, of every sort.
    pub fn tag_count(&self) -> usize {
        self.tags.len() + self.silent_tags.len() + self.hidden_tags.len()
    }

    /// Rests on what `other` rests on as well. Parts of an answer may come from different snapshots: at the earliest of their
    /// versions, with the tags of all, the whole is right exactly as long as no part was touched. What it shows stays as it is.
    pub fn merge(mut self, other: &ReadSet) -> ReadSet {
        self.version = earlier(self.version, other.version);
        self.valid_until = earlier(self.valid_until, other.valid_until);
        self.tags.extend(other.tags.iter().cloned());
        self.silent_tags.extend(other.silent_tags.iter().cloned());
        self.hidden_tags.extend(other.hidden_tags.iter().cloned());
        self
    }

    /// The same, and what is known to change in `other` counts only if something else is shown after it.
    pub fn merge_hidden(self, other: &ReadSet) -> ReadSet {
        let mut hidden = other.clone();
        hidden.hidden_tags.append(&mut hidden.tags);
        self.merge(&hidden)
    }

    /// Whether a change with these tags makes the answer stale.
    pub fn is_invalidated_by<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| {
            self.tags.contains(tag) || self.silent_tags.contains(tag) || self.hidden_tags.contains(tag)
        })
    }

    /// Whether a change with these tags is worth telling a subscriber.
    pub fn notifies_on<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| self.tags.contains(tag))
    }

    /// Whether a change with these tags is worth telling a subscriber if something else is shown after it.
    pub fn may_notify_on<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| self.hidden_tags.contains(tag))
    }
}

fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_tag_invalidates_without_notifying() {
        let mut read_set = ReadSet::at_version(Version(3)).with_tag(Tag::new("bkend:table:a"));
        read_set.silent_tags.insert(Tag::new("bkend:rows:a"));
        let rows = [Tag::new("bkend:rows:a")];
        assert!(read_set.is_invalidated_by(&rows));
        assert!(!read_set.notifies_on(&rows));
        assert!(read_set.notifies_on(&[Tag::new("bkend:table:a")]));
        assert!(!read_set.is_invalidated_by(&[Tag::new("bkend:table:b")]));
    }

    #[test]
    fn merge_takes_oldest_version_and_all_tags() {
        let mut newer = ReadSet::at_version(Version(7)).with_tag(Tag::new("b"));
        newer.valid_until = Some(Timestamp(5));
        newer.silent_tags.insert(Tag::new("c"));
        let merged =
            ReadSet::at_version(Version(3)).with_tag(Tag::new("a")).merge(&newer).merge(&ReadSet::default());
        assert_eq!((merged.version, merged.valid_until), (Some(Version(3)), Some(Timestamp(5))));
        for tag in ["a", "b", "c"] {
            assert!(merged.is_invalidated_by(&[Tag::new(tag)]), "{tag}");
        }
        assert_eq!(ReadSet::default().merge(&newer).version, Some(Version(7)));
    }

    #[test]
    fn hidden_tag_invalidates_and_may_notify() {
        let hidden_part = ReadSet::at_version(Version(1)).with_tag(Tag::new("b"));
        let merged = ReadSet::at_version(Version(1)).with_tag(Tag::new("a")).merge_hidden(&hidden_part);
        let b = [Tag::new("b")];
        assert!(merged.is_invalidated_by(&b) && !merged.notifies_on(&b) && merged.may_notify_on(&b));
        assert!(!merged.may_notify_on(&[Tag::new("a")]));
    }

    #[test]
    fn tag_replaces_whitespace_with_underscores() {
        assert_eq!(Tag::new("a b\nc").as_str(), "a_b_c");
    }
}
