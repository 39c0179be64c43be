//! Every limit of the gate, by name and with its reason.

use std::time::Duration;

/// Bytes of a local token that are looked at. One with all scopes by name is about 1 KiB; four leave room, and hashing
/// four costs nothing worth attacking.
pub const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// Bytes of a token that are looked at where an external issuer is trusted: identity providers put more into theirs, and
/// an RSA signature alone takes up to 1.4 KiB.
pub const EXTERNAL_TOKEN_BYTES_MAX: usize = 8 * 1024;

/// How long a token of an external issuer may live at most: an hour. We cannot take such a token back, only its holder's
/// registration, so it must end soon by itself.
pub const EXTERNAL_TTL_MS_MAX: i64 = 60 * 60 * 1_000;

/// Bytes of an issuer's key set; a key is about 500.
pub const KEY_SET_BYTES_MAX: u64 = 256 * 1024;

/// Keys of an issuer's key set.
pub const KEY_SET_KEYS_MAX: usize = 64;

/// The greatest age of what is known of an issuer's key set while tokens are being checked: a key that was taken out stops
/// working within this time.
pub const KEY_SET_AGE_MAX: Duration = Duration::from_secs(1);

/// Verified tokens that a process remembers: more agents than one process serves at a time, less than 1 MiB.
pub const TOKEN_CACHE_MAX: usize = 1_024;

/// The greatest age of a remembered verdict. Staleness is caught by the proof's basis anyway; a young basis means that
/// the store compares it with few changes, and one primary-key read a minute and token is not felt.
pub const TOKEN_CACHE_AGE_MS: i64 = 60_000;

/// How far two machines' clocks may differ.
pub const CLOCK_TOLERANCE_MS: i64 = 5_000;

/// How long a local token lives unless its maker says otherwise: a year.
pub const TOKEN_TTL_MS: i64 = 365 * DAY_MS;

/// How long a local token may live at most. Ten years is "for good" without overflowing anybody's clock.
pub const TOKEN_TTL_MS_MAX: i64 = 3_650 * DAY_MS;

/// Tokens that one listing shows, newest first.
pub const TOKENS_RETURNED_MAX: usize = 10_000;

/// Agents that one listing shows.
pub const AGENTS_RETURNED_MAX: usize = 10_000;

/// Longest subject: a mail address or a service account's name fits.
pub const SUBJECT_BYTES_MAX: usize = 128;

/// Bytes of all scopes that a registration may hold: every scope by name is about 1 KiB.
pub const GRANT_BYTES_MAX: usize = 4 * 1024;

/// Signing keys that are held at a time, the current one among them. Rotating each month for a year fits, and a token's
/// key is found by its name, so that more would cost memory only; but a list that nobody reads protects nobody.
pub const KEYS_MAX: usize = 16;

/// Bytes of the key file: each key is a line of less than 100.
pub const KEY_FILE_BYTES_MAX: u64 = 8 * 1024;

/// The least time between two looks for new keys because a token names an unknown one. A flood of invented names must
/// not become a flood of reads; a genuine new key waits this long at most.
pub const RELOAD_INTERVAL: Duration = Duration::from_millis(250);

/// How long a legacy session lives: a working day and the night after it.
pub const SESSION_TTL_MS: i64 = DAY_MS;

/// Longest session id that is looked at; ours are below 600 bytes even with the longest subject.
pub const SESSION_ID_BYTES_MAX: usize = 1_024;

/// Longest protocol revision inside a session id; a revision is a date.
pub const REVISION_BYTES_MAX: usize = 32;

/// Longest address that a session may subscribe to: as long as any address can be.
pub const SUBSCRIPTION_URI_BYTES_MAX: usize = 8 * 1024;

/// A `QUAD_KEY` below this many characters gets a warning: it could be guessed by whoever holds a copy of the database.
pub const QUAD_KEY_CHARS_ADVISED: usize = 32;

/// Refusals of one kind within this time become one audit event with a count, so that a flood cannot fill the disk.
pub const REFUSAL_INTERVAL: Duration = Duration::from_secs(1);

/// Holders whose refusals are counted apart within one interval; those beyond are counted together.
pub const REFUSAL_KEYS_MAX: usize = 1_024;

/// Requests a second that a tenant may send to one process unless the settings say otherwise, where others than this
/// machine's owner reach it. Far above what agents do, far below what would starve other tenants.
pub const RATE_PER_SECOND: u32 = 1_000;

/// Requests that a tenant may send at once, after a quiet time: an agent that starts reads much in its first second.
pub const RATE_BURST: u32 = 2_000;

/// Tenants whose rate a process keeps in mind.
pub const RATE_TENANTS_MAX: usize = 10_000;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
