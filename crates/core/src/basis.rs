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

    /// Whether a change with these tags makes the answer stale.
    pub fn is_touched_by<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| self.tags.contains(tag) || self.incidental.contains(tag))
    }

    /// Whether a change with these tags is worth telling a subscriber.
    pub fn is_announced_by<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| self.tags.contains(tag))
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
    fn a_tag_is_one_word() {
        assert_eq!(Tag::new("a b\nc").as_str(), "a_b_c");
    }
}
