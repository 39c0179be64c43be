//! Invalidation tags: what reads of this scheme depend on and what its writes touch.
//!
//! A commit that touches more rows than [`MAX_ROW_TAGS`](limits::MAX_ROW_TAGS) invalidates [`any_row`] instead, on
//! which every read of this scheme depends.

use std::collections::BTreeSet;

use quad_core::{ReadSet, Tag, Version};
use quad_store::Tx;

use crate::limits;

/// The content of `resources/list`.
pub(crate) fn listing() -> Tag {
    Tag::resource_list("brain")
}

/// Any row. Touched by commits that change many rows.
pub(crate) fn any_row() -> Tag {
    Tag::new("brain:bulk")
}

/// The set of rows of one kind.
pub(crate) fn rows_of_kind(kind: &str) -> Tag {
    Tag::new(format!("brain:{kind}"))
}

/// One row and its page.
pub(crate) fn row(kind: &str, id: &str) -> Tag {
    Tag::new(format!("brain:{kind}:{id}"))
}

/// The transactions of one month.
pub(crate) fn month(month: impl std::fmt::Display) -> Tag {
    Tag::new(format!("brain:month:{month}"))
}

/// A read set with [`any_row`], on which every read of this scheme depends.
pub(crate) fn read_set(version: Version) -> ReadSet {
    ReadSet::at_version(version).with_tag(any_row())
}

/// The tags that one commit touches.
#[derive(Debug, Default)]
pub(crate) struct TouchedTags {
    lists: BTreeSet<Tag>,
    rows: BTreeSet<Tag>,
    /// Kinds whose tags are in `lists`.
    kinds: Vec<String>,
}

impl TouchedTags {
    /// Adds a row that has changed or is new.
    pub(crate) fn row(&mut self, kind: &str, id: &str) {
        // Above the limit, `touch` uses the tag of any row.
        if self.rows.len() <= limits::MAX_ROW_TAGS {
            self.rows.insert(row(kind, id));
        }
        if !self.kinds.iter().any(|existing| existing == kind) {
            self.kinds.push(kind.to_owned());
            self.lists.insert(rows_of_kind(kind));
        }
    }

    /// Adds a month with changed transactions.
    pub(crate) fn month(&mut self, month: impl std::fmt::Display) {
        if self.rows.len() <= limits::MAX_ROW_TAGS {
            self.rows.insert(self::month(month));
        }
    }

    /// Adds the tag of `resources/list`: an entry is new or shows other text.
    pub(crate) fn listing(&mut self) {
        self.lists.insert(listing());
    }

    /// Invalidates the tags.
    pub(crate) fn touch(self, tx: &mut Tx<'_>) {
        self.lists.into_iter().for_each(|tag| tx.invalidate(tag));
        if self.rows.len() > limits::MAX_ROW_TAGS {
            tx.invalidate(any_row());
        } else {
            self.rows.into_iter().for_each(|tag| tx.invalidate(tag));
        }
    }
}
