//! Every limit of this crate, with its reason.

use std::time::Duration;

/// Events in one page of `audit://events`: about as many as an agent can use at once.
pub const EVENTS_RETURNED_MAX: usize = 50;

/// Age of the first event without a checkpoint after which one is due, however few there are.
pub const CHECKPOINT_DUE_AGE: Duration = Duration::from_secs(1);

/// The longest time that an event is without a checkpoint while a process serves: [`CHECKPOINT_DUE_AGE`], a
/// tick, and the time to sign and commit.
pub const CHECKPOINT_LAG_MAX: Duration = Duration::from_secs(2);

/// How often a serving process looks for old events of its own. It is notified of many events at once.
pub const CHECKPOINT_TICK: Duration = Duration::from_millis(250);

/// How often a serving process looks for events of other processes. It is a query over all tenants.
pub const CHECKPOINT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A query of that kind takes at most this part of the time: with very many tenants there are fewer.
pub const CHECKPOINT_POLL_SHARE: u32 = 50;

/// Events after which a process makes a checkpoint, if another process made the last one. Of several processes on one
/// chain, one signs; the others take over if it falls behind.
pub const CHECKPOINT_TAKE_OVER_EVENTS: i64 = 1_500;

/// Age of the first event without a checkpoint after which such a process makes one.
pub const CHECKPOINT_TAKE_OVER_AGE: Duration = Duration::from_millis(1_400);

/// How long a chain that cannot be signed is left alone. A broken chain stays broken, and each attempt reads it.
pub const CHECKPOINT_RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// Tenants whose checkpoints are made at the same time. SQLite commits them together.
pub const CHECKPOINTS_CONCURRENT: usize = 4;

/// How often the checkpoint file is synced to the disk.
pub const CHECKPOINT_FILE_SYNC_INTERVAL: Duration = Duration::from_millis(500);

/// How much of the end of the checkpoint file a start compares with the database: some hundred lines, in about a
/// millisecond. If the database is older than the file, its last lines show it.
pub const CHECKPOINT_FILE_CHECKED_BYTES: u64 = 64 << 10;

/// How long a stopping process makes checkpoints.
pub const CHECKPOINT_STOP_TIME_MAX: Duration = Duration::from_secs(10);

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
