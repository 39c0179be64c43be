//! Tags: what the readings of this scheme depend on and what its writes touch.
//!
//! A commit that touches more single rows than a change should name touches [`bulk`] instead, on which every reading of this
//! scheme depends.

use std::collections::BTreeSet;

use quad_core::{ReadSet, Tag, Version};
use quad_store::Tx;

use crate::limits;

/// What `resources/list` shows.
pub(crate) fn listing() -> Tag {
    Tag::resource_list("brain")
}

/// Any row, when many changed at once.
pub(crate) fn any_row() -> Tag {
    Tag::new("brain:bulk")
}

/// Which rows of one kind there are.
pub(crate) fn rows_of_kind(kind: &str) -> Tag {
    Tag::new(format!("brain:{kind}"))
}

/// One row, and what its own page shows.
pub(crate) fn row(kind: &str, id: &str) -> Tag {
    Tag::new(format!("brain:{kind}:{id}"))
}

/// What was posted in one month.
pub(crate) fn month(month: impl std::fmt::Display) -> Tag {
    Tag::new(format!("brain:month:{month}"))
}

/// A basis on which everything of this scheme rests.
pub(crate) fn read_set(version: Version) -> ReadSet {
    ReadSet::at_version(version).with_tag(any_row())
}

/// The tags of one commit, gathered before they are touched.
#[derive(Debug, Default)]
pub(crate) struct TouchedTags {
    lists: BTreeSet<Tag>,
    rows: BTreeSet<Tag>,
    /// Kinds whose lists are in `lists`.
    kinds: Vec<String>,
}

impl TouchedTags {
    /// A row that has changed or appeared.
    pub(crate) fn row(&mut self, kind: &str, id: &str) {
        // Past the limit nobody names them.
        if self.rows.len() <= limits::MAX_ROW_TAGS {
            self.rows.insert(row(kind, id));
        }
        if !self.kinds.iter().any(|existing| existing == kind) {
            self.kinds.push(kind.to_owned());
            self.lists.insert(rows_of_kind(kind));
        }
    }

    /// A month in which something was posted.
    pub(crate) fn month(&mut self, month: impl std::fmt::Display) {
        if self.rows.len() <= limits::MAX_ROW_TAGS {
            self.rows.insert(self::month(month));
        }
    }

    /// Something that `resources/list` shows has appeared or changed its name.
    pub(crate) fn listing(&mut self) {
        self.lists.insert(listing());
    }

    /// Touches them.
    pub(crate) fn touch(self, tx: &mut Tx<'_>) {
        self.lists.into_iter().for_each(|tag| tx.invalidate(tag));
        if self.rows.len() > limits::MAX_ROW_TAGS {
            tx.invalidate(any_row());
        } else {
            self.rows.into_iter().for_each(|tag| tx.invalidate(tag));
        }
    }
}
