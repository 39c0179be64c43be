//! Every limit of the gate, by name and with its reason.

/// Bytes of an `Authorization` header that are looked at. A token with all scopes by name is about 1 KiB; four leave
/// room, and hashing four costs nothing worth attacking.
pub const TOKEN_BYTES: usize = 4 * 1024;

/// Verified tokens that a process remembers: more agents than one process serves at a time, less than 1 MiB.
pub const VERDICTS: usize = 1_024;

/// The greatest age of a remembered verdict. Staleness is caught by the proof's basis anyway; a young basis means that
/// the store compares it with few changes, and one primary-key read a minute and token is not felt.
pub const VERDICT_AGE_MS: i64 = 60_000;

/// How far two machines' clocks may differ.
pub const CLOCK_TOLERANCE_MS: i64 = 5_000;

/// How long a local token lives unless its maker says otherwise: a year.
pub const TOKEN_TTL_MS: i64 = 365 * DAY_MS;

/// How long a local token may live at most. Ten years is "for good" without overflowing anybody's clock.
pub const TOKEN_TTL_MS_MAX: i64 = 3_650 * DAY_MS;

/// Tokens that one listing shows, newest first.
pub const TOKENS_LISTED: usize = 10_000;

/// Longest subject: a mail address or a service account's name fits.
pub const SUBJECT_BYTES: usize = 128;

/// How long a legacy session lives: a working day and the night after it.
pub const SESSION_TTL_MS: i64 = DAY_MS;

/// Longest session id that is looked at; ours are below 600 bytes even with the longest subject.
pub const SESSION_ID_BYTES: usize = 1_024;

/// Longest protocol revision inside a session id; a revision is a date.
pub const REVISION_BYTES: usize = 32;

/// Longest address that a session may subscribe to: as long as any address can be.
pub const SUBSCRIPTION_URI_BYTES: usize = 8 * 1024;

/// A `QUAD_KEY` below this many characters gets a warning: it could be guessed by whoever holds a copy of the database.
pub const QUAD_KEY_CHARS_ADVISED: usize = 32;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
