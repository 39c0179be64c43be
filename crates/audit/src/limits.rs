//! The trail's limits, each with its reason.

use std::time::Duration;

/// Events in one page of `audit://events`: about as many as an agent can make something of at once.
pub const EVENTS_RETURNED_MAX: usize = 50;

/// Events after which a checkpoint is due.
pub const CHECKPOINT_DUE_EVENTS: i64 = 1_000;

/// Age of the last checkpoint after which the next is due, if there is anything new.
pub const CHECKPOINT_DUE_AGE_MS: i64 = 60_000;

/// How often a serving process looks whether a checkpoint is due.
pub const CHECKPOINT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Events that one checkpoint adds at most, so that the memory for a long backlog is bounded; the next follows at once.
pub const CHECKPOINT_EVENTS_MAX: usize = 8_192;

/// Leaves under one node of the lowest stored level, and nodes in a tile. A proof reads at most so many events and hashes
/// a level.
pub const TILE_WIDTH: u64 = 256;

/// Bytes of one line of an export. A record holds ids and hashes, never contents.
pub const LINE_BYTES_MAX: u64 = 1 << 20;

/// Bytes of a proof or of a reply with its receipt: the contents of one read, in JSON, and some room.
pub const DOCUMENT_BYTES_MAX: u64 = 4 * quad_core::limits::CONTENTS_BYTES as u64;

/// Checkpoints that an export takes from the database at a time.
pub const CHECKPOINTS_PAGE: i64 = 256;

/// Links in one page of `link://citing`: about as many as an agent can make something of at once.
pub const LINKS_RETURNED_MAX: usize = 50;

/// Links that one page of `link://citing` looks at, shown or not. For each, its other end may have to be read; some tens of
/// milliseconds for all.
pub const LINKS_SCANNED_MAX: usize = 200;

/// Links that start at one address: `link://from` has no pages, so all of them must fit into one answer, and each of them may have
/// to be looked at.
pub const LINKS_FROM_MAX: usize = 200;

/// Removals of links at an address that are looked at for the last one that a watcher could have seen.
pub const REMOVALS_SCANNED_MAX: usize = 32;

/// Links that a completion looks at.
pub const COMPLETION_SCANNED_MAX: usize = 200;

/// Characters of a note: a sentence that says why. It stands in every list that shows the link.
pub const NOTE_CHARS_MAX: usize = 500;

/// Bytes of a linked address in its canonical spelling, so that `link://citing?uri=…` holds it even if each of them is
/// percent-encoded.
pub const ADDRESS_BYTES_MAX: usize = 2_048;
