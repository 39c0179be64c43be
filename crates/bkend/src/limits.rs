//! Every limit of this scheme, by name and with its reason.

/// Characters of a name or a display name: what fits one line of a list.
pub const NAME_CHARS: usize = 100;

/// Characters of a description: a paragraph, since every list repeats it.
pub const DESCRIPTION_CHARS: usize = 1_000;

/// Minimum bytes of a slug: shorter ones collide too often.
pub const SLUG_BYTES_MIN: usize = 3;

/// Maximum bytes of a slug: people type it in addresses.
pub const SLUG_BYTES_MAX: usize = 50;

/// Bytes of a table, field or index name: PostgreSQL silently truncates longer identifiers.
pub const IDENTIFIER_BYTES: usize = 63;

/// Fields of a table. More fields belong in an `object` field.
pub const FIELDS_PER_TABLE: usize = 200;

/// Columns of a physical table, removed ones included: far below what either backend allows (1,600 and 2,000).
pub const COLUMNS_PER_TABLE: usize = 500;

/// Indexes of a table: each one makes every write slower.
pub const INDEXES_PER_TABLE: usize = 32;

/// Fields of an index: a longer key rarely selects fewer rows.
pub const FIELDS_PER_INDEX: usize = 8;

/// Bytes of text in one index key: PostgreSQL refuses a B-tree entry beyond 2,704 bytes.
pub const INDEXED_TEXT_BYTES: usize = 2_000;

/// Levels of `items` and `properties` in a field's definition: each level is validated on every write.
pub const DEFINITION_DEPTH: usize = 5;

/// Levels of a stored JSON value: below the parser's own limit when it is nested in an answer.
pub const VALUE_DEPTH: usize = 32;

/// Values of an `enum`: it is repeated in every table list.
pub const ENUM_VALUES: usize = 500;

/// Bytes of a `pattern`: the regular expression is compiled on every write.
pub const PATTERN_BYTES: usize = 512;

/// Bytes of a compiled pattern: nested repetitions must not use megabytes on every write.
pub const PATTERN_PROGRAM_BYTES: usize = 256 << 10;

/// Bytes of a record as JSON. A page of one hundred stays under the contents limit of one read (16 MiB).
pub const RECORD_BYTES: usize = 128 << 10;

/// Bytes of a table's definition as JSON: it is read with every write to the table.
pub const DEFINITION_BYTES: usize = 256 << 10;

/// Bytes of a project's settings or a table's permissions as JSON.
pub const SETTINGS_BYTES: usize = 16 << 10;

/// Default number of elements in a page.
pub const PAGE_DEFAULT: usize = 20;

/// Maximum number of elements in a page.
pub const PAGE_MAX: usize = 100;

/// Physical tables in one SQLite file: every connection parses the catalogue when it opens, about 10 µs per table.
pub const SQLITE_TABLES: i64 = 2_000;

/// Tables that one deletion may drop: each takes an exclusive lock until the commit.
pub const CASCADE_TABLES: usize = 200;

/// Environments that one deletion may remove.
pub const CASCADE_ENVIRONMENTS: usize = 200;

/// Rows that a change of type may convert: they are rewritten one by one in a transaction that all reads
/// of the table wait for.
pub const CONVERTED_ROWS: i64 = 2_000;

/// Versions of one schema or of one table's indexes.
pub const VERSIONS_PER_TABLE: i64 = 10_000;

/// Bytes of a table list before its schemas are reduced to names and types.
pub const TABLE_LIST_BYTES: usize = 256 << 10;

/// Projects in the context: enough for an agent to start, not a complete list.
pub const CONTEXT_PROJECTS: usize = 100;

/// Environments in the context, over all its projects.
pub const CONTEXT_ENVIRONMENTS: usize = 500;

/// Lines of a load in one transaction.
pub const LOAD_LINES: usize = 500;

/// Bytes of one line of a load: a record with room for its envelope, or a large definition.
pub const LOAD_LINE_BYTES: usize = 512 << 10;

/// Attempts of a row write when the table's schema changes concurrently. The last attempt locks out schema changes.
pub const WRITE_ATTEMPTS: usize = 3;

/// Pages of documentation that a search returns.
pub const DOCS_RESULTS: usize = 5;

/// Characters of a documentation query.
pub const DOCS_QUERY_CHARS: usize = 500;

/// Characters of an error's message that quotes values of rows.
pub const MESSAGE_CHARS: usize = 600;

/// Things with the same name that an error lists with their ids.
pub const CANDIDATES_SHOWN: usize = 20;

/// Invalid values or rows that an error shows.
pub const EXAMPLES: usize = 5;

/// Tables that a prompt describes in full.
pub const PROMPT_TABLES: usize = 30;

/// Characters of a prompt's `purpose`.
pub const PURPOSE_CHARS: usize = 2_000;
