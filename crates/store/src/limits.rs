//! The store's limits, each with its reason.

use std::time::Duration;

/// Jobs that wait for the writer; a full queue makes callers wait instead of growing without bound.
pub const QUEUE_JOBS_MAX: usize = 4_096;

/// Jobs in one commit: past a few dozen the cost of the commit is spread thin enough, and a failure repeats less.
pub const BATCH_JOBS_MAX: usize = 256;

/// Longest rest of the writer before a commit, while a crowd of callers is coming in: less than a sync of most disks takes.
pub const BATCH_WAIT_MAX: Duration = Duration::from_millis(2);

/// Looks that the writer takes during that rest: after one that finds nobody new it begins.
pub const BATCH_WAIT_STEPS: u32 = 4;

/// The longest text of a block that is stored as it is: what fits a page of SQLite beside the other columns, since less than a page
/// cannot be saved, and whoever looks at the table can read it.
pub const BLOCK_UNCOMPRESSED_MAX: usize = 3_072;

/// What a thread keeps of the memory on which it wrote a block, for the next: a full group of usual events.
pub const BLOCK_BUFFER_MAX: usize = 256 << 10;

/// The longest text that a packed block may claim to have: a full group of the largest events is far below, and a damaged length
/// does not take all memory.
pub const BLOCK_BYTES_MAX: usize = 64 << 20;

/// How long one commit may collect work. Every read waits for its audit event behind it.
pub const BATCH_EXEC_MAX: Duration = Duration::from_millis(50);

/// How long the head may be held for an answer that was overtaken: no transaction may take longer, since everybody waits behind it. An
/// answer that takes longer to compute is left to its luck.
pub const HEAD_LEASE_MAX: Duration = Duration::from_millis(50);

/// How often a transaction is tried again after a conflict that is nobody's fault (a deadlock, a replanned statement).
pub const TX_ATTEMPTS_MAX: usize = 6;

/// What the writer keeps of a SQLite file in memory. A commit of a thousand rows changes some thousand pages of a large table and its
/// indexes; what does not fit is written to the log more than once.
pub const WRITER_CACHE_KIB: u32 = 32 * 1024;

/// SQLite snapshots open at once. A reader is CPU-bound, so more than a few per core only take memory.
pub const SQLITE_READERS: usize = 8;

/// How long a reading that is expected to be short may keep the thread that asked for it. What takes longer begins again on a
/// thread that may wait, so this much of it is done twice; whoever else waits for the thread waits this much at most.
pub const INLINE_READ_BUDGET: Duration = Duration::from_millis(2);

/// Steps of SQLite's machine between two looks at that time: some ten microseconds.
pub const SQLITE_PROGRESS_STEPS: i32 = 1_000;

/// How long the event of a call that has been answered waits for others before it is written, with `audit = "async"`: what a
/// crash can take. A commit costs as much for thirty as for one.
pub const DEFERRED_FLUSH_DELAY: Duration = Duration::from_millis(5);

/// How long it waits after a commit that failed.
pub const DEFERRED_RETRY_DELAY: Duration = Duration::from_secs(1);

/// PostgreSQL connections of one node, besides the audit recorder's and the poller's. A hundred is a server's usual
/// maximum, and several nodes share it.
pub const POSTGRES_CONNECTIONS: usize = 16;

/// How many of them writers never take: writers of one tenant wait for each other with a connection in hand, and whoever holds the head
/// that they wait for may have something to read.
pub const POSTGRES_CONNECTIONS_FOR_READS: usize = 4;

/// How long another process may hold SQLite's write lock before we call the database busy.
pub const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait between two looks at that lock: about as long as a short commit holds it. A look costs some microseconds.
pub const SQLITE_BUSY_SLEEP: Duration = Duration::from_micros(500);

/// Prepared statements that one connection keeps. User tables make many distinct statements; ours are about a hundred.
pub const PREPARED_STATEMENTS_MAX: usize = 256;

/// Recent changes that a process remembers per tenant. An answer older than that is computed again.
pub const RECENT_CHANGES_MAX: usize = 1_024;

/// Changes that the database keeps per tenant; older ones are of use to nobody, since no cache entry lives that long.
pub const CHANGE_LOG_ROWS_MAX: i64 = 10_000;

/// Tenants whose changes a process remembers; past that it forgets all and starts again.
pub const RECENT_TENANTS_MAX: usize = 4_096;

/// How often a process looks for the commits of others while somebody listens.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the checkpointer rests between two looks at the write-ahead log.
pub const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(250);

/// Length of the write-ahead log in pages from which the writer helps to bring it to its end: 16 MiB, which even a slow disk
/// copies in well under a second. With 64 MiB a read's audit event costs 3 µs more, since the log no longer stays in the caches.
pub const WAL_PAGES_MAX: i64 = 4_096;

/// How long DDL may wait for a table that somebody is using before it gives up and is tried again.
pub const DDL_LOCK_TIMEOUT_SECONDS: u32 = 2;

/// How long one PostgreSQL statement may run. Every query here is bounded; only a runaway needs this.
pub const STATEMENT_TIMEOUT_SECONDS: u32 = 30;

/// Pages that a backup copies in one step, between two reports of progress.
pub const BACKUP_STEP_PAGES: i32 = 256;

/// Events that one page of the audit trail looks at, whether they match or not: some milliseconds of work. A filter that
/// matches rarely is paid for in pages, not in one long snapshot.
pub const AUDIT_EVENTS_SCANNED_MAX: i64 = 4_096;

/// Blocks that a walk along the chain takes from the database at a time. A block holds 1 to [`BATCH_JOBS_MAX`] events.
pub const AUDIT_BLOCKS_PER_QUERY: i64 = 32;

/// How far a block's time may lie from the order of the chain: processes take the time before they wait for the head, and
/// the clocks of nodes differ. Searches by time look this much further.
pub const AUDIT_CLOCK_SKEW_MS: i64 = 300_000;

/// Events among which one is looked for by its id, around the place where its time says it is.
pub const AUDIT_ID_SEARCH_EVENTS_MAX: i64 = 16_384;

/// Rows that one transaction takes out of the chain when it is archived; every read waits behind it.
pub const AUDIT_ROWS_PRUNED_MAX: i64 = 500;

/// Tenants whose checkpoints are made between two looks at who needs one.
pub const AUDIT_TENANTS_DUE_MAX: i64 = 64;
