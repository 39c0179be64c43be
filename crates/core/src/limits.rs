//! Every limit of the shared path, by name and with its reason. A scheme's own limits stand in its own `limits.rs`.

/// Entries in a page of `resources/list`: large enough that a small tenant is one page, small enough to render in a
/// few milliseconds.
pub const LIST_PAGE_ENTRIES: usize = 200;

/// Values in one completion; the protocol's own maximum.
pub const COMPLETION_VALUES: usize = 100;

/// How often a read is computed because a change touched it before its audit event was durable. The second time nobody may change
/// anything meanwhile, unless that takes too long; what is overtaken eight times all the same is a hot spot that the caller should
/// hear of.
pub const READ_ATTEMPTS_MAX: usize = 8;

/// Bytes of sealed contents that the cache keeps. Idle memory stays under 30 MiB while a busy server holds the
/// working set of some thousand entities.
pub const CACHE_BYTES: usize = 32 << 20;

/// One entry's share of the cache at most, so that one huge document cannot evict everything else.
pub const CACHE_ENTRY_BYTES: usize = CACHE_BYTES / 8;

/// Addresses that are remembered as they were read; then all are forgotten. As many as a busy server has in use, in some hundred
/// kilobytes.
pub const ROUTES_CACHED_MAX: usize = 1_024;

/// The longest address that is remembered. What is longer carries a query that hardly anybody repeats.
pub const CACHED_URI_BYTES_MAX: usize = 256;

/// The greatest age of a cache entry, whatever its tags say (the backend contract's sixty seconds).
pub const CACHE_ENTRY_AGE_MS: i64 = 60_000;

/// Bytes of one read's contents. Larger nouns are served in pages by their own addresses.
pub const CONTENTS_BYTES: usize = 16 << 20;

/// Addresses that one subscription request may name.
pub const SUBSCRIPTION_URIS: usize = 1_000;

/// Notifications that wait on one stream before they collapse into a single `list_changed`.
pub const NOTIFICATIONS_QUEUED: usize = 256;

/// At most one notification per subscription and address in this time; the last one is never lost.
pub const NOTIFICATION_INTERVAL_MS: u64 = 100;

/// Changes that a slow listener may fall behind before it is told to look at everything again.
pub const CHANGES_BUFFERED: usize = 1_024;
