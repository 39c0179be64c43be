//! Every limit of this crate, by name and with its reason.

/// Bytes of one file. A million rows of an ordinary CSV statement are about 120 MB; ten years of a busy shop fit.
pub const FILE_BYTES: usize = 512 << 20;

/// Entries of one file. Each takes some hundred bytes while the file is read, so this bounds the memory of an import.
pub const ENTRIES: usize = 2_000_000;

/// Accounts, or accounts and currencies, that one file may hold statements of.
pub const STATEMENTS: usize = 10_000;

/// Findings that are kept one by one. A file with more is of another format than was thought; the rest is counted.
pub const DIAGNOSTICS: usize = 1_000;

/// Bytes at the start of a file from which its format is recognised.
pub const DETECTION_BYTES: usize = 64 << 10;

/// Lines before the header of a CSV file: account, period and balance, as German banks write them.
pub const PREAMBLE_LINES: usize = 40;

/// Columns of a CSV file. The widest exports have about ninety.
pub const COLUMNS: usize = 256;

/// Rows from which the columns of a CSV file are guessed; the order of dates and the decimal mark look at all rows.
pub const SAMPLE_ROWS: usize = 1_000;

/// Bytes of one CSV record. A longer one is a quotation mark that nobody closed.
pub const RECORD_BYTES: usize = 64 << 10;

/// Lines that one quoted CSV field may run over, for the same reason.
pub const RECORD_LINES: usize = 64;

/// Bytes of one text of an entry: a description, a name. What is beyond is cut at a letter.
pub const TEXT_BYTES: usize = 4 << 10;

/// Depth of elements in XML. ISO 20022 needs about twenty.
pub const XML_DEPTH: usize = 64;

/// Elements within one entry of a camt file: a batch of some ten thousand payments.
pub const XML_ENTRY_NODES: usize = 1_000_000;

/// Details of one batch entry, or postings of one journal transaction.
pub const SPLITS: usize = 50_000;

/// Bytes of one line of a journal.
pub const JOURNAL_LINE_BYTES: usize = 64 << 10;

/// Aliases of a journal that hold at once. Each is tried on every posting.
pub const JOURNAL_ALIASES: usize = 100;

/// Bytes of an account's name in a journal, aliases and prefixes included: some hundred letters are usual.
pub const JOURNAL_ACCOUNT_BYTES: usize = 1 << 10;

/// Levels of an account in a journal. A sum is kept for each level if an assertion asks for subaccounts.
pub const JOURNAL_ACCOUNT_DEPTH: usize = 30;
