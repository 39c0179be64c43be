//! Every limit of this crate, with its reason.

use std::time::Duration;

/// Maximum bytes of a local token. A token with all scopes by name is about 1 KiB; 4 KiB leave room, and hashing them
/// costs too little to be worth an attack.
pub const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// Maximum bytes of a token if an external issuer is trusted: identity providers add more claims, and an RSA
/// signature alone takes up to 1.4 KiB.
pub const EXTERNAL_TOKEN_BYTES_MAX: usize = 8 * 1024;

/// Maximum lifetime of an external token: one hour. This server can revoke the registration of the holder, but not
/// the token, so the token must expire soon.
pub const EXTERNAL_TTL_MS_MAX: i64 = 60 * 60 * 1_000;

/// Maximum bytes of an issuer's key set; a key is about 500.
pub const KEY_SET_BYTES_MAX: u64 = 256 * 1024;

/// Maximum number of keys in an issuer's key set.
pub const KEY_SET_KEYS_MAX: usize = 64;

/// Maximum age of the cached key set of an issuer while tokens are verified. A key that is removed from the file is
/// rejected after this time at the latest.
pub const KEY_SET_AGE_MAX: Duration = Duration::from_secs(1);

/// Verified tokens that a process caches: more agents than one process serves at a time, in less than 1 MiB.
pub const TOKEN_CACHE_MAX: usize = 1_024;

/// Maximum age of a cached token. Stale entries are detected by their read set in any case. A recent read set means
/// that the store compares it with few changes; the cost is one read by primary key per minute and token.
pub const TOKEN_CACHE_AGE_MS: i64 = 60_000;

/// Tolerated difference between the clocks of two machines.
pub const CLOCK_TOLERANCE_MS: i64 = 5_000;

/// Default lifetime of a local token: one year.
pub const TOKEN_TTL_MS: i64 = 365 * DAY_MS;

/// Maximum lifetime of a local token: ten years, which no clock overflows.
pub const TOKEN_TTL_MS_MAX: i64 = 3_650 * DAY_MS;

/// Tokens that one list returns, newest first.
pub const TOKENS_RETURNED_MAX: usize = 10_000;

/// Agents that one list returns.
pub const AGENTS_RETURNED_MAX: usize = 10_000;

/// Maximum bytes of a subject: an email address or the name of a service account fits.
pub const SUBJECT_BYTES_MAX: usize = 128;

/// Characters of a caller's input that an error message repeats: any valid scope or id fits.
pub(crate) const QUOTED_CHARS_MAX: usize = 64;

/// Maximum bytes of the scopes of a registration: every scope by name is about 1 KiB.
pub const GRANT_BYTES_MAX: usize = 4 * 1024;

/// Maximum number of signing keys, the current one included. Monthly rotation for a year fits. A key is found by its
/// id, so more keys would cost only memory; but a list that is too long to be reviewed does not protect.
pub const KEYS_MAX: usize = 16;

/// Maximum bytes of the key file: each key is a line of less than 100.
pub const KEY_FILE_BYTES_MAX: u64 = 8 * 1024;

/// Minimum time between two reloads that tokens with unknown keys cause. A flood of invented key ids must not cause a
/// flood of reads; a new key is accepted after this time at the latest.
pub const RELOAD_INTERVAL: Duration = Duration::from_millis(250);

/// Lifetime of a session: a working day and the following night.
pub const SESSION_TTL_MS: i64 = DAY_MS;

/// Maximum bytes of a session id; ours are below 600 even with the longest subject.
pub const SESSION_ID_BYTES_MAX: usize = 1_024;

/// Maximum bytes of a protocol revision in a session id; a revision is a date.
pub const REVISION_BYTES_MAX: usize = 32;

/// Maximum bytes of a URI that a session subscribes to: as long as any valid address.
pub const SUBSCRIPTION_URI_BYTES_MAX: usize = 8 * 1024;

/// A shorter `QUAD_KEY` causes a warning: it could be guessed by an attacker who has a copy of the database.
pub const QUAD_KEY_CHARS_ADVISED: usize = 32;

/// A shorter passphrase of a backup is refused: an attacker who has the backup can try millions.
pub const PASSPHRASE_CHARS_MIN: usize = 12;

/// Memory that the key of a backup's secrets is derived with: 64 MiB, the advice of RFC 9106 for small machines.
pub const PASSPHRASE_MEMORY_KIB: u32 = 64 * 1024;

/// Passes over that memory, also from RFC 9106: about 0.2 s in total.
pub const PASSPHRASE_PASSES: u32 = 3;

/// The most memory that a backup may ask for. A hostile file must not use up the machine's.
pub const PASSPHRASE_MEMORY_KIB_MAX: u32 = 1024 * 1024;

/// The most passes that a backup may ask for.
pub const PASSPHRASE_PASSES_MAX: u32 = 16;

/// Refusals of the same kind within this time become one audit event with a count, so a flood cannot fill the disk.
pub const REFUSAL_INTERVAL: Duration = Duration::from_secs(1);

/// Subjects whose refusals are counted separately within one interval. The others share one count.
pub const REFUSAL_KEYS_MAX: usize = 1_024;

/// Default requests per second of a tenant in one process, on other than loopback addresses. It is far above what
/// agents need and far below what would starve other tenants.
pub const RATE_PER_SECOND: u32 = 1_000;

/// Requests that a tenant may send at once after an idle time: an agent that starts reads much in its first second.
pub const RATE_BURST: u32 = 2_000;

/// Tenants whose rate a process tracks.
pub const RATE_TENANTS_MAX: usize = 10_000;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
