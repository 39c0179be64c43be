//! Every limit of this crate, by name and with its reason.

/// Bytes of one file. A CSV statement of a million rows has about 120 MB, which is ten years of a busy shop.
pub const FILE_BYTES: usize = 512 << 20;

/// Entries of one file. Each uses some hundred bytes during parsing, so this limits the memory of an import.
pub const ENTRIES: usize = 2_000_000;

/// Statements of one file: accounts, or accounts and currencies.
pub const STATEMENTS: usize = 10_000;

/// Diagnostics that are kept. A file with more is probably of another format; the rest is counted.
pub const DIAGNOSTICS: usize = 1_000;

/// Bytes at the start of a file that are used to detect its format.
pub const DETECTION_BYTES: usize = 64 << 10;

/// Lines before the header of a CSV file: account, period and balance in German exports.
pub const PREAMBLE_LINES: usize = 40;

/// Columns of a CSV file. The widest exports have about ninety.
pub const COLUMNS: usize = 256;

/// Rows that are sampled to infer the columns of a CSV file; the order of dates and the decimal mark use all rows.
pub const SAMPLE_ROWS: usize = 1_000;

/// Bytes of one CSV record. A longer one has an unclosed quotation mark.
pub const RECORD_BYTES: usize = 64 << 10;

/// Lines of one quoted CSV field. A longer one has an unclosed quotation mark.
pub const RECORD_LINES: usize = 64;

/// Bytes of one text of an entry, such as a description or a name. The rest is cut at a character boundary.
pub const TEXT_BYTES: usize = 4 << 10;

/// Depth of XML elements. ISO 20022 needs about twenty.
pub const XML_DEPTH: usize = 64;

/// Elements within one entry of a camt file: enough for a batch of about ten thousand payments.
pub const XML_ENTRY_NODES: usize = 1_000_000;

/// Details of one batch entry, or postings of one journal transaction.
pub const SPLITS: usize = 50_000;

/// Bytes of one line of a journal.
pub const JOURNAL_LINE_BYTES: usize = 64 << 10;

/// Aliases of a journal that are active together. Each is tried on every posting.
pub const JOURNAL_ALIASES: usize = 100;

/// Bytes of an account's name in a journal, with aliases and prefixes: some hundred letters are usual.
pub const JOURNAL_ACCOUNT_BYTES: usize = 1 << 10;

/// Levels of an account in a journal. Each level has a sum if an assertion includes subaccounts.
pub const JOURNAL_ACCOUNT_DEPTH: usize = 30;
