//! The read set of an answer: the version of its snapshot and the tags that were read.
//!
//! An answer computed at version `v` is current at version `V` if no change in `(v, V]` has one of its tags,
//! and its `valid_until` has not passed. A write thus invalidates what depends on its tags and nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::Timestamp;

/// A tenant's commit number. Each write takes the next one, so commit order is version order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub i64);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// An invalidation key: an entity, a list or a counter that an answer depends on and a change can touch.
///
/// Its form is `scheme:kind:id`, without white space: the change log stores the tags of a commit as words of
/// one line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(Arc<str>);

impl Tag {
    /// A tag. White space becomes `_`, so that a tag cannot split into two.
    pub fn new(text: impl AsRef<str>) -> Tag {
        let text = text.as_ref();
        if text.contains(char::is_whitespace) {
            return Tag(text.split_whitespace().collect::<Vec<_>>().join("_").into());
        }
        Tag(text.into())
    }

    /// The tag of a scheme's entries in `resources/list`.
    pub fn resource_list(scheme: &str) -> Tag {
        Tag(format!("list:{scheme}").into())
    }

    /// Whether a change with this tag changes `resources/list`.
    pub fn is_resource_list(&self) -> bool {
        self.0.starts_with("list:")
    }

    /// The tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an answer was computed from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// The tenant's version in the snapshot.
    pub version: Option<Version>,
    /// A change with one of these tags invalidates the answer and notifies its subscribers.
    pub tags: BTreeSet<Tag>,
    /// A change with one of these tags invalidates the answer without a notification: a row count in a list
    /// of tables.
    pub silent_tags: BTreeSet<Tag>,
    /// The time from which the answer is stale without any change, if it depends on the clock.
    pub valid_until: Option<Timestamp>,
    /// A change with one of these tags invalidates the answer, but it may concern data that the caller cannot
    /// see. Subscribers are notified only if the [visible hash](ReadSet::visible_hash) differs after it.
    pub hidden_tags: BTreeSet<Tag>,
    /// A hash of the data under the hidden tags that the caller can see. It must not return to an earlier
    /// value: a subscriber that read in between would not be notified of the change back.
    pub visible_hash: Option<Arc<str>>,
}

impl ReadSet {
    /// A read set at a version, without tags.
    pub fn at_version(version: Version) -> ReadSet {
        ReadSet { version: Some(version), ..ReadSet::default() }
    }

    /// Adds a tag.
    pub fn with_tag(mut self, tag: Tag) -> ReadSet {
        self.tags.insert(tag);
        self
    }

    /// The number of tags of all three sorts.
    pub fn tag_count(&self) -> usize {
        self.tags.len() + self.silent_tags.len() + self.hidden_tags.len()
    }

    /// The union with the read set of another part of the answer. The parts may come from different
    /// snapshots: with the earliest version and the tags of both, the whole is current exactly as long as
    /// each part is. Keeps the visible hash of `self`.
    pub fn merge(mut self, other: &ReadSet) -> ReadSet {
        self.version = earlier(self.version, other.version);
        self.valid_until = earlier(self.valid_until, other.valid_until);
        self.tags.extend(other.tags.iter().cloned());
        self.silent_tags.extend(other.silent_tags.iter().cloned());
        self.hidden_tags.extend(other.hidden_tags.iter().cloned());
        self
    }

    /// As [`ReadSet::merge`], with the tags of `other` as hidden tags.
    pub fn merge_hidden(self, other: &ReadSet) -> ReadSet {
        let mut hidden = other.clone();
        hidden.hidden_tags.append(&mut hidden.tags);
        self.merge(&hidden)
    }

    /// Whether a change with these tags invalidates the answer.
    pub fn is_invalidated_by<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| {
            self.tags.contains(tag) || self.silent_tags.contains(tag) || self.hidden_tags.contains(tag)
        })
    }

    /// Whether a change with these tags notifies subscribers.
    pub fn notifies_on<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| self.tags.contains(tag))
    }

    /// Whether a change with these tags notifies subscribers if the visible hash differs after it.
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
