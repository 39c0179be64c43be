//! The store's limits, each with its reason.

use std::time::Duration;

/// Jobs in the queue of the commit thread. When it is full, callers wait.
pub const QUEUE_JOBS_MAX: usize = 4_096;

/// Jobs in one commit. The cost of a commit per job is small from a few dozen on, and a failed batch is run again as
/// a whole.
pub const BATCH_JOBS_MAX: usize = 256;

/// Longest wait of the commit thread for a larger batch: less than most disks need for a sync.
pub const BATCH_WAIT_MAX: Duration = Duration::from_millis(2);

/// Steps of that wait. A step without a new job ends it.
pub const BATCH_WAIT_STEPS: u32 = 4;

/// The longest block that is stored as plain text: what fits a SQLite page beside the other columns. Compressing less
/// than a page saves nothing, and plain text can be read in the table.
pub const BLOCK_UNCOMPRESSED_MAX: usize = 3_072;

/// The largest block buffer that a thread keeps for its next block: a full batch of typical events.
pub const BLOCK_BUFFER_MAX: usize = 256 << 10;

/// The longest text that a compressed block may declare. A full batch of the largest events is far below; a damaged
/// length must not allocate all memory.
pub const BLOCK_BYTES_MAX: usize = 64 << 20;

/// How long the closures of one commit may run in total. All reads wait behind it for their audit events.
pub const BATCH_EXEC_MAX: Duration = Duration::from_millis(50);

/// How long a head lease lasts: all commits of the process wait behind it. A read that takes longer is retried
/// without a lease, up to `READ_ATTEMPTS_MAX` (in `quad_core::limits`).
pub const HEAD_LEASE_MAX: Duration = Duration::from_millis(50);

/// Attempts at a transaction that fails with a retryable error (a deadlock, a statement that must be planned again).
pub const TX_ATTEMPTS_MAX: usize = 6;

/// SQLite page cache of the commit thread. A commit of a thousand rows changes some thousand pages of a large table
/// and its indexes. Pages that do not fit are written to the log more than once.
pub const WRITER_CACHE_KIB: u32 = 32 * 1024;

/// Concurrent SQLite snapshots. A reader is CPU-bound, so more than a few per core only take memory.
pub const SQLITE_READERS: usize = 8;

/// How long an inline read may occupy the calling thread, and delay its other tasks. A read that takes longer starts
/// again on a blocking thread, so at most this much work is done twice.
pub const INLINE_READ_BUDGET: Duration = Duration::from_millis(2);

/// SQLite virtual machine steps between two checks of that limit: some ten microseconds.
pub const SQLITE_PROGRESS_STEPS: i32 = 1_000;

/// How long a deferred audit event waits for others (`audit = "async"`). A crash can lose the events of this time. A
/// commit costs about the same for thirty events as for one.
pub const DEFERRED_FLUSH_DELAY: Duration = Duration::from_millis(5);

/// How long deferred events wait after a failed commit.
pub const DEFERRED_RETRY_DELAY: Duration = Duration::from_secs(1);

/// PostgreSQL connections in the pool of one node; the commit thread has one more. A server usually allows a hundred,
/// and several nodes share it.
pub const POSTGRES_CONNECTIONS: usize = 16;

/// How many of them are never used for writes. Writers of one tenant wait for its head row, each with a connection.
/// The call that has leased that row needs a connection to read, or all of them would wait until the lease expires.
pub const POSTGRES_CONNECTIONS_FOR_READS: usize = 4;

/// How long to wait for SQLite's write lock before the database counts as busy.
pub const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a wait for that lock is normal. Other processes of `quad` hold it for milliseconds; a longer wait is logged,
/// once.
pub const SQLITE_BUSY_LOG_AFTER: Duration = Duration::from_secs(1);

/// Sleep between two attempts to take that lock: about as long as a short commit holds it. An attempt costs some
/// microseconds.
pub const SQLITE_BUSY_SLEEP: Duration = Duration::from_micros(500);

/// Prepared statements per connection. The server's own are about a hundred; user tables add many distinct ones.
pub const PREPARED_STATEMENTS_MAX: usize = 256;

/// Changes that a process keeps in memory per tenant. A read set from before the oldest one counts as stale.
pub const RECENT_CHANGES_MAX: usize = 1_024;

/// Rows of the change log per tenant. Older ones are deleted: no cache entry lives that long.
pub const CHANGE_LOG_ROWS_MAX: i64 = 10_000;

/// Tenants whose changes a process keeps in memory. Past that, all tenants without subscribers are dropped.
pub const RECENT_TENANTS_MAX: usize = 4_096;

/// Interval at which a process with subscribers polls for commits of other processes.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Pause of the checkpoint thread between two checkpoints.
pub const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(250);

/// Length of the write-ahead log, in pages, from which the commit thread helps to copy it: 16 MiB, which even a slow
/// disk copies in well under a second. With 64 MiB the audit event of a read costs 3 µs more, because the log no
/// longer fits the CPU caches.
pub const WAL_PAGES_MAX: i64 = 4_096;

/// How long DDL waits for a table that is in use before the transaction is retried.
pub const DDL_LOCK_TIMEOUT_SECONDS: u32 = 2;

/// How long one PostgreSQL statement may run. Every query is bounded, so this stops only a runaway statement.
pub const STATEMENT_TIMEOUT_SECONDS: u32 = 30;

/// How long this process waits for the reply to a PostgreSQL statement: the server ends a statement after
/// [`STATEMENT_TIMEOUT_SECONDS`], so a server that says nothing for longer is paused or not reachable.
pub const STATEMENT_REPLY_TIMEOUT: Duration = Duration::from_secs(STATEMENT_TIMEOUT_SECONDS as u64 + 2);

/// How long a connection to PostgreSQL may take to open, with its handshake. On a network it takes milliseconds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a call waits for a connection of the pool. All of them are in use that long only if the database hangs.
pub const POOL_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long a readiness check waits for its commit. A load balancer waits about two seconds.
pub const READINESS_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Pages that a backup copies between two progress reports.
pub const BACKUP_STEP_PAGES: i32 = 256;

/// Events that one page of an audit query scans, whether they match or not: some milliseconds of work. A filter that
/// matches rarely needs more pages, not a longer snapshot.
pub const AUDIT_EVENTS_SCANNED_MAX: i64 = 4_096;

/// Blocks that a scan of the chain loads per query. A block usually holds 1 to [`BATCH_JOBS_MAX`] events.
pub const AUDIT_BLOCKS_PER_QUERY: i64 = 32;

/// How far a block's time may differ from its position in the chain: processes take the time before they wait for the
/// head row, and the clocks of nodes differ. Searches by time extend their range by this much.
pub const AUDIT_CLOCK_SKEW_MS: i64 = 300_000;

/// Events that a search by id scans, around the position that the id's timestamp suggests.
pub const AUDIT_ID_SEARCH_EVENTS_MAX: i64 = 16_384;

/// Rows that one transaction deletes after a part of the chain was archived. All reads wait behind it.
pub const AUDIT_ROWS_PRUNED_MAX: i64 = 500;

/// Tenants that one query for due checkpoints returns.
pub const AUDIT_TENANTS_DUE_MAX: i64 = 512;

/// Events without a checkpoint after which the signer is notified. With durable audit the next commits add some hundred
/// more until the checkpoint is committed, so no more than 2,000 are ever without one. A checkpoint is stored in
/// 1.5 kB, and 500 events take 30 kB at least.
pub const AUDIT_CHECKPOINT_EVENTS: i64 = 500;

/// Tenants whose chain ends a process keeps in memory. Past that, all that are covered by a checkpoint are dropped.
pub const CHAIN_ENDS_MAX: usize = 4_096;
