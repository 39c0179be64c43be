//! The trail's limits, each with its reason.

use std::time::Duration;

/// Events in one page of `audit://events`: about as many as an agent can make something of at once.
pub const PAGE_EVENTS: usize = 50;

/// Events after which a checkpoint is due.
pub const CHECKPOINT_EVENTS: i64 = 1_000;

/// Age of the last checkpoint after which the next is due, if there is anything new.
pub const CHECKPOINT_AGE_MS: i64 = 60_000;

/// How often a serving process looks whether a checkpoint is due.
pub const CHECKPOINT_LOOK: Duration = Duration::from_secs(1);

/// Events that one checkpoint adds at most, so that the memory for a long backlog is bounded; the next follows at once.
pub const CHECKPOINT_EVENTS_MOST: usize = 8_192;

/// Leaves under one node of the lowest stored level, and nodes in a tile. A proof reads at most so many events and hashes
/// a level.
pub const TILE_WIDTH: u64 = 256;

/// Bytes of one line of an export. A record holds ids and hashes, never contents.
pub const LINE_BYTES: u64 = 1 << 20;

/// Bytes of a proof or of a reply with its receipt: the contents of one read, in JSON, and some room.
pub const DOCUMENT_BYTES: u64 = 4 * quad_core::limits::CONTENTS_BYTES as u64;

/// Checkpoints that an export takes from the database at a time.
pub const CHECKPOINTS_READ: i64 = 256;
