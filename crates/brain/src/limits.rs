//! All limits of this scheme, with their reasons.

/// Bytes of a text field. Enough for a bank's description, not for a document.
pub const TEXT_BYTES: usize = 4_096;

/// Items of a list field, such as aliases or linked transactions.
pub const LIST_TEXTS: usize = 1_000;

/// Bytes of a metadata object as JSON. Every list repeats it.
pub const METADATA_BYTES: usize = 16_384;

/// Bytes of one contribution, which travels in one request. The tool contract states it.
pub const CONTRIBUTION_BYTES: usize = 50 << 20;

/// Bytes of one uploaded file, which is read into memory as a whole. Statements have a lower limit, which the parser
/// checks: [`quad_statements::limits::FILE_BYTES`].
pub const UPLOAD_BYTES: usize = 1 << 30;

/// Bytes of one statement. The parser checks the limit too.
pub const STATEMENT_BYTES: usize = quad_statements::limits::FILE_BYTES;

/// Bytes of an artifact per row. Larger rows would delay other statements.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Chunks that one commit writes.
pub const CHUNKS_PER_WRITE: usize = 4;

/// Bytes of evidence that one commit writes.
pub const BYTES_PER_WRITE: usize = CHUNK_BYTES * CHUNKS_PER_WRITE;

/// Transactions that one commit posts. With the changed totals a commit stays below 2,000 rows and 50 ms; every read
/// waits for its audit event behind it.
pub const ROWS_PER_WRITE: usize = 1_000;

/// Lines of a load per commit.
pub const LINES_PER_WRITE: usize = 500;

/// Bytes of one line of a load.
pub const LINE_BYTES: usize = 1 << 20;

/// Entries in a projection. The artifact has all of them.
pub const PROJECTION_ENTRIES: usize = 100;

/// Findings in a projection.
pub const PROJECTION_FINDINGS: usize = 100;

/// Projections in a read of an artifact, newest first.
pub const MAX_PROJECTIONS_RETURNED: usize = 20;

/// Transactions in a page, at most.
pub const TRANSACTIONS_MAX: usize = 1_000;
/// Transactions in a page, by default.
pub const TRANSACTIONS_DEFAULT: usize = 100;

/// Rows of any other list in a page, at most.
pub const ITEMS_MAX: usize = 500;
/// Rows of any other list in a page, by default.
pub const ITEMS_DEFAULT: usize = 50;

/// Payment intents in a page, at most.
pub const INTENTS_MAX: usize = 100;

/// Rows that a filtered list examines per page. A rare match costs several pages.
pub const MAX_ROWS_SCANNED: usize = 10_000;

/// Rows that a filtered list fetches at a time.
pub const SCAN_BATCH_ROWS: usize = 512;

/// Row tags that a change names. A commit that touches more rows invalidates the tag of any row instead.
pub const MAX_ROW_TAGS: usize = 48;

/// Characters of a reference to a row: an id, an address or a name.
pub const REFERENCE_CHARS: usize = 256;

/// Characters of a media type. The longest registered ones have about a hundred.
pub const MEDIA_TYPE_CHARS: usize = 128;

/// Errors and warnings about a contributed statement that the reply has.
pub const MAX_PROBLEMS_REPORTED: usize = 20;

/// Accounts of a contributed statement that the reply names. The others are counted.
pub const MAX_ACCOUNTS_REPORTED: usize = 20;

/// Characters of a question.
pub const QUESTION_CHARS: usize = 2_000;

/// References in one call of `evidence_resolve`.
pub const MAX_REFERENCES: usize = 50;

/// The largest transactions that are stored per month, currency and direction.
pub const LARGEST_KEPT: usize = 5;

/// Obligations that a question adds up row by row, where the due date decides which count.
pub const MAX_OBLIGATIONS_SUMMED: usize = 1_000;

/// Rows that an answer cites.
pub const MAX_CITATIONS: usize = 10;

/// Attempts to render a page while the ledger changes.
pub const MAX_RENDER_ATTEMPTS: usize = 4;

/// Contributions of a new agent that are stored but not extracted until the agent is released or exceeds this number.
pub const CONTRIBUTIONS_ON_HOLD: i64 = 5;

/// Pending artifacts that one release extracts.
pub const MAX_EXTRACTED_PER_RELEASE: usize = 100;

/// Maximum days between the two sides of a transfer: a weekend, a holiday and a slow bank.
pub const TRANSFER_DAYS: i64 = 5;

/// Candidates for the other side of a transfer: transactions of the same amount around the same day. With more, no
/// match is certain.
pub const MAX_TRANSFER_CANDIDATES: usize = 50;

/// Files that are prefetched: enough small ones to fill a commit.
pub const PREFETCHED_FILES: usize = 64;

/// Size of the prefetched files in KiB: 64 MiB, so that large files do not fill the memory.
pub const PREFETCHED_KIB: u32 = 64 * 1_024;

/// Pending transfers that one read examines.
pub const TRANSFERS_PER_READ: usize = 500;

/// Transfers that one commit records. Each changes two rows, two accounts and their totals.
pub const TRANSFERS_PER_WRITE: usize = 50;

/// Ambiguous transfers that a report names; the others are counted.
pub const MAX_TRANSFERS_REPORTED: usize = 20;

/// Accounts that are loaded to find the other side of a transfer by number.
pub const MAX_OWN_ACCOUNTS: usize = 10_000;
