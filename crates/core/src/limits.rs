//! Every limit of this crate, with its reason. The limits of a scheme are in its own `limits.rs`.

/// Entries in a page of `resources/list`: large enough that a small tenant is one page, small enough to
/// render in a few milliseconds.
pub const LIST_PAGE_ENTRIES: usize = 200;

/// Values in one completion: the maximum of the protocol.
pub const COMPLETION_VALUES: usize = 100;

/// Attempts at one answer. An attempt fails if a concurrent write invalidates the answer before its audit
/// event is appended. The second attempt holds a head lease, so it fails only if it takes longer than the
/// lease; later attempts have no lease. An answer that conflicts eight times is on a hot spot, and the caller
/// gets `BUSY`.
pub const READ_ATTEMPTS_MAX: usize = 8;

/// Bytes of serialized reads in the cache: the working set of some thousand entities. An idle server stays
/// under 30 MiB, since the cache grows only with use.
pub const CACHE_BYTES: usize = 32 << 20;

/// The largest cache entry, so that one huge document cannot evict everything else.
pub const CACHE_ENTRY_BYTES: usize = CACHE_BYTES / 8;

/// Routed URIs in the route cache; a full cache is cleared. Enough for the URIs that a busy server has in
/// use, in a few hundred kilobytes.
pub const ROUTES_CACHED_MAX: usize = 1_024;

/// The longest URI in the route cache. Longer ones have query values that are seldom repeated.
pub const CACHED_URI_BYTES_MAX: usize = 256;

/// The maximum age of a cache entry, even if its tags are unchanged: the backend contract promises sixty
/// seconds.
pub const CACHE_ENTRY_AGE_MS: i64 = 60_000;

/// Bytes of one read's contents. Larger resources have addresses for their pages.
pub const CONTENTS_BYTES: usize = 16 << 20;

/// URIs in one subscription request.
pub const SUBSCRIPTION_URIS: usize = 1_000;

/// Notifications queued on one stream. More are replaced by a single `list_changed`.
pub const NOTIFICATIONS_QUEUED: usize = 256;

/// The minimum time between two notifications of one subscription and URI. The last one is never lost.
pub const NOTIFICATION_INTERVAL_MS: u64 = 100;

/// Changes buffered for a slow subscriber. A subscriber that falls further behind must check everything
/// again.
pub const CHANGES_BUFFERED: usize = 1_024;
