//! Every limit of this scheme, by name and with its reason.

/// Bytes of a text field: a description of a bank, not a document.
pub const TEXT_BYTES: usize = 4_096;

/// Texts in a list field, such as aliases or linked transactions.
pub const LIST_TEXTS: usize = 1_000;

/// Bytes of a metadata object as JSON: every list repeats it.
pub const METADATA_BYTES: usize = 16_384;

/// Bytes of one contribution: what travels in a request. The contract of the tool says so too.
pub const CONTRIBUTION_BYTES: usize = 50 << 20;

/// Bytes of one imported file: it is read into memory and parsed as a whole.
pub const IMPORT_BYTES: usize = 1 << 30;

/// Bytes of an artifact that one row holds, so that no statement holds up the others.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Chunks that one transaction writes.
pub const CHUNKS_PER_WRITE: usize = 4;

/// Bytes of evidence that one transaction writes.
pub const BYTES_PER_WRITE: usize = CHUNK_BYTES * CHUNKS_PER_WRITE;

/// Transactions that one commit posts. With the totals that they change, a commit stays below two thousand rows and fifty
/// milliseconds, behind which every read waits.
pub const ROWS_PER_WRITE: usize = 1_000;

/// Lines that one commit of a load reads.
pub const LINES_PER_WRITE: usize = 500;

/// Bytes of a line of a load.
pub const LINE_BYTES: usize = 1 << 20;

/// Entries that a projection shows; the evidence itself has them all.
pub const PROJECTION_ENTRIES: usize = 100;

/// Findings that a projection keeps.
pub const PROJECTION_FINDINGS: usize = 100;

/// Projections that a read of an artifact shows, the newest first.
pub const MAX_PROJECTIONS_RETURNED: usize = 20;

/// Rows in a page of transactions at most, and unless the caller says otherwise.
pub const TRANSACTIONS_MAX: usize = 1_000;
/// The usual page of transactions.
pub const TRANSACTIONS_DEFAULT: usize = 100;

/// Rows in a page of anything else at most, and unless the caller says otherwise.
pub const ITEMS_MAX: usize = 500;
/// The usual page of anything else.
pub const ITEMS_DEFAULT: usize = 50;

/// Payment intents in a page at most.
pub const INTENTS_MAX: usize = 100;

/// Rows that one page of a filtered list looks at, whether they match or not. A filter that matches rarely is paid for in
/// pages.
pub const MAX_ROWS_SCANNED: usize = 10_000;

/// Rows that a filtered list fetches at a time.
pub const SCAN_BATCH_ROWS: usize = 512;

/// Single rows whose tags a change names; one that touches more names them all at once.
pub const MAX_ROW_TAGS: usize = 48;

/// Characters of a question.
pub const QUESTION_CHARS: usize = 2_000;

/// References that one call resolves.
pub const MAX_REFERENCES: usize = 50;

/// The largest movements of a month, currency and direction that are kept at hand.
pub const LARGEST_KEPT: usize = 5;

/// Obligations that a question adds up one by one, where the clock decides which count.
pub const MAX_OBLIGATIONS_SUMMED: usize = 1_000;

/// Rows that an answer cites.
pub const MAX_CITATIONS: usize = 10;

/// Revisions that are tried when the ledger changes while a page is rendered.
pub const MAX_RENDER_ATTEMPTS: usize = 4;

/// Contributions of a new agent that are stored but not believed until somebody releases it or it has made more.
pub const CONTRIBUTIONS_ON_HOLD: i64 = 5;

/// Held artifacts that one release extracts.
pub const MAX_EXTRACTED_PER_RELEASE: usize = 100;

/// Days that lie between the two sides of a transfer at most: a weekend, a holiday and a slow bank.
pub const TRANSFER_DAYS: i64 = 5;

/// Transactions of one amount around one day that are looked at for the other side of a transfer. Among more than these
/// nobody could tell.
pub const MAX_TRANSFER_CANDIDATES: usize = 50;

/// Files that an import of many reads ahead: enough of small ones to fill a commit.
pub const PREFETCHED_FILES: usize = 64;

/// Size of the files that are read ahead in KiB: 64 MiB, so that large ones do not pile up in memory.
pub const PREFETCHED_KIB: u32 = 64 * 1_024;

/// Transactions that wait for their other side and are looked at in one read.
pub const TRANSFERS_PER_READ: usize = 500;

/// Transfers that one commit records: each changes two rows, two accounts and their totals.
pub const TRANSFERS_PER_WRITE: usize = 50;

/// Transfers whose other side is in doubt that an import names one by one; of the others it says the number.
pub const MAX_TRANSFERS_REPORTED: usize = 20;

/// Own accounts that an import knows by their numbers.
pub const MAX_OWN_ACCOUNTS: usize = 10_000;
