//! Every limit of this crate, with its reason.

use std::time::Duration;

/// Events in one page of `audit://events`: about as many as an agent can use at once.
pub const EVENTS_RETURNED_MAX: usize = 50;

/// Events after which a checkpoint is due.
pub const CHECKPOINT_DUE_EVENTS: i64 = 1_000;

/// Age of the last checkpoint after which the next is due, if there are new events.
pub const CHECKPOINT_DUE_AGE_MS: i64 = 60_000;

/// How often a serving process checks whether a checkpoint is due.
pub const CHECKPOINT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum events that one checkpoint adds, which bounds the memory for a long backlog; the next checkpoint follows
/// at once.
pub const CHECKPOINT_EVENTS_MAX: usize = 8_192;

/// Leaves under one node of the lowest stored level, and nodes in a tile. A proof reads at most this many events and
/// this many hashes per level.
pub const TILE_WIDTH: u64 = 256;

/// Maximum bytes of a line of an export. A record contains ids and hashes, never contents.
pub const LINE_BYTES_MAX: u64 = 1 << 20;

/// Maximum bytes of a proof, or of a reply with its receipt: the contents of one read as JSON, with some margin.
pub const DOCUMENT_BYTES_MAX: u64 = 4 * quad_core::limits::CONTENTS_BYTES as u64;

/// Checkpoints that an export reads from the database at once.
pub const CHECKPOINTS_PAGE: i64 = 256;

/// Links in one page of `link://citing`: about as many as an agent can use at once.
pub const LINKS_RETURNED_MAX: usize = 50;

/// Links that one page of `link://citing` scans, visible or not. For each, the other end may have to be read: some
/// tens of milliseconds in total.
pub const LINKS_SCANNED_MAX: usize = 200;

/// Maximum links from one address: `link://from` has no pages, so all links must fit into one answer, and each may
/// have to be checked.
pub const LINKS_FROM_MAX: usize = 200;

/// Removals of links at an address that are scanned for the last one that a subscriber could have seen.
pub const REMOVALS_SCANNED_MAX: usize = 32;

/// Links that a completion scans.
pub const COMPLETION_SCANNED_MAX: usize = 200;

/// Maximum characters of a note: one sentence. It is part of every list that contains the link.
pub const NOTE_CHARS_MAX: usize = 500;

/// Maximum bytes of the canonical form of a linked address, so that `link://citing?uri=…` can contain it even if each
/// byte is percent-encoded.
pub const ADDRESS_BYTES_MAX: usize = 2_048;
