//! The limits of the search engine, with the reason for each.

/// Numbers in a vector of the built-in embedding.
pub const DIMENSIONS: usize = 128;

/// Vectors cached for one tenant and kind: 100 MiB, which an exact scan reads in a few milliseconds. Nodes beyond
/// it are read from the database on every search, which is correct but slower. A longer vector of a caller counts as
/// several.
pub const CACHED_VECTORS_PER_TENANT: usize = 200_000;

/// Vectors cached for all tenants together; the least recently used tenant is evicted first.
pub const CACHED_VECTORS_TOTAL: usize = 400_000;

/// Tenants with cached search state. An idle one costs some open files and the words of its newest nodes.
pub const CACHED_TENANTS: usize = 32;

/// Nodes per read from the database. A node has at most 64 KiB, so a page is at most 32 MiB.
pub const PAGE_DOCS: usize = 500;

/// Threads of one search that compare nodes outside the cache. More would be faster than the database can read, and
/// each holds two pages.
pub const SCAN_THREADS: usize = 4;

/// Deleted nodes per read from the database.
pub const PAGE_DELETIONS: usize = 1_000;

/// Nodes beyond the text index that trigger a flush. A commit costs about 30 ms whatever its size, and scanning
/// this many nodes takes less than a millisecond.
pub const FLUSH_DOCS: usize = 2_000;

/// Bytes of text beyond the text index that trigger a flush, for tenants with large nodes.
pub const FLUSH_BYTES: usize = 4 << 20;

/// How far the memory segments may exceed the flush thresholds before newer nodes are read from the database on
/// every search: room for what is added while the index is written.
pub const MEMORY_OVERRUN: usize = 4;

/// Nodes per commit while the text index catches up. An interrupted build repeats at most this many.
pub const COMMIT_DOCS: usize = 50_000;

/// Bytes for the index writer: its minimum. It exists only while there is something to write.
pub const WRITER_BYTES: usize = 15_000_000;

/// Nodes between two progress lines in the log of a long build.
pub const PROGRESS_DOCS: u64 = 100_000;

/// Up to this size the checksums of an index are verified before its first use, in about ten milliseconds; a larger
/// index is verified in the background.
pub const SYNC_VERIFY_BYTES: u64 = 16 << 20;

/// Attempts to open a text index that changes at the same time; after that, the commit that was open before is
/// used.
pub const OPEN_ATTEMPTS: usize = 8;

/// Bytes of an indexed word. Longer ones are encoded data, which is not searched for; they keep their position in
/// phrases.
pub const WORD_BYTES: usize = 128;

/// Bytes of a query: more than a person or an agent types, less than a document pasted by mistake.
pub const QUERY_BYTES: usize = 4_096;

/// Words, phrases and prefixes in one query: each reads its postings.
pub const QUERY_CLAUSES: usize = 64;

/// Words in one phrase.
pub const PHRASE_WORDS: usize = 32;

/// Bytes of a text for similarity search or of a claim: the size of the largest node.
pub const COMPARED_TEXT_BYTES: usize = 65_536;

/// Hits in one page.
pub const PAGE_HITS: usize = 1_000;

/// The last offset of a page. Reading more than ten thousand hits is a task for a list.
pub const MAX_OFFSET: usize = 10_000;

/// Ranked hits read for one page, including those that are then hidden. Superseded nodes rank among the best, but
/// not tens of thousands of them.
pub const MAX_RANKED_HITS: usize = 40_000;

/// The hits by words that a hybrid search orders together with the nodes beside them. A fixed number, so that the first
/// results do not depend on how many are asked for. With twice as many the first ten hardly change.
pub const CONTEXT_HITS: usize = 100;

/// Nodes before and after a hit in its session that belong to it: a question and its answer, with one node between.
pub const CONTEXT_DISTANCE: usize = 2;

/// Bytes of a text in which a label such as `Name: ` may end. Later colons belong to sentences.
pub const LABEL_BYTES: usize = 64;

/// Forms of one word of a question, such as its plural. Most words of most languages have fewer.
pub const FORMS_PER_WORD: usize = 12;

/// Forms of all words of a question together: each reads its postings.
pub const QUESTION_CLAUSES: usize = 256;

/// Up to this number of nodes, a hybrid search that finds too few nodes by words adds the most similar of all nodes.
/// Their vectors take 10 MiB and a quarter of a second to compute, once per process.
pub const EXACT_SIMILARITY_MAX_DOCS: usize = 20_000;

/// Candidates by BM25 among which the evidence for a claim is selected by coverage.
pub const EVIDENCE_CANDIDATES: usize = 64;

/// Seconds between two attempts to write an index after an error such as a full disk.
pub const BACKOFF_SECONDS: u64 = 30;
