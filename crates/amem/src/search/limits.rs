//! Every limit of the search engine, by name and with its reason.

/// Numbers in a vector; the memory graph's one dimension.
pub const DIMENSIONS: usize = 128;

/// Vectors that are held for one tenant and kind: 100 MiB, which an exact scan reads in a few milliseconds. What is
/// beyond is read from the database on every search: right, only slower.
pub const CACHED_VECTORS_PER_TENANT: usize = 200_000;

/// Vectors that are held for all tenants together; the tenant that was asked longest ago goes first.
pub const CACHED_VECTORS_TOTAL: usize = 400_000;

/// Tenants whose search state is held. An idle one costs some open files and the words of its newest nodes.
pub const CACHED_TENANTS: usize = 32;

/// Nodes that are read from the database at a time. A node has at most 64 KiB, so a page stays under 32 MiB even if all
/// are as large as they may be.
pub const PAGE_DOCS: usize = 500;

/// Threads that compare nodes which are not held in memory, in one search: more would be faster than the database can read, and
/// each has a page in its hands and another one waiting.
pub const SCAN_THREADS: usize = 4;

/// Forgotten nodes that are read from the database at a time.
pub const PAGE_DELETIONS: usize = 1_000;

/// Nodes beyond the text index after which it is written. A commit costs about 30 ms whatever it holds, and scanning so
/// many nodes costs less than a millisecond.
pub const FLUSH_DOCS: usize = 2_000;

/// Bytes of text beyond the text index after which it is written, for tenants with large nodes.
pub const FLUSH_BYTES: usize = 4 << 20;

/// How far the held tail may outgrow those two before the rest is read from the database on every search: room for what
/// is added while the index is being written.
pub const MEMORY_OVERRUN: usize = 4;

/// Nodes in one commit of the text index while it catches up: a build that is interrupted repeats at most so many.
pub const COMMIT_DOCS: usize = 50_000;

/// Bytes that the index writer may use: the least that it accepts. It lives only while there is something to write.
pub const WRITER_BYTES: usize = 15_000_000;

/// Nodes after which a long build says in the log how far it is.
pub const PROGRESS_DOCS: u64 = 100_000;

/// Bytes of an index whose checksums are tested before its first use, in about ten milliseconds; a larger one is tested
/// in the background.
pub const SYNC_VERIFY_BYTES: u64 = 16 << 20;

/// How often a text index that changes while it is being opened is tried again; after that, what was open before is used.
pub const OPEN_ATTEMPTS: usize = 8;

/// Bytes of a word that is indexed. Longer runs are encoded data, which nobody types; they keep their place in phrases.
pub const WORD_BYTES: usize = 128;

/// Bytes of a query: far more than a person or an agent types, and less than a document that was pasted by mistake.
pub const QUERY_BYTES: usize = 4_096;

/// Words, phrases and prefixes in one query: each is a pass over its postings.
pub const QUERY_CLAUSES: usize = 64;

/// Words in one phrase.
pub const PHRASE_WORDS: usize = 32;

/// Bytes of a text that is compared with others, or of a claim that is to be grounded: the largest node.
pub const COMPARED_TEXT_BYTES: usize = 65_536;

/// Hits in one page.
pub const PAGE_HITS: usize = 1_000;

/// How deep paging goes. Whoever has read ten thousand hits wants a list, not a search.
pub const MAX_OFFSET: usize = 10_000;

/// Ranked hits that are looked at for one page, those included that the caller then hides: superseded nodes rank among
/// the best, but not tens of thousands of them.
pub const MAX_RANKED_HITS: usize = 40_000;

/// The constant of reciprocal rank fusion: how little the first rank counts more than the tenth.
pub const FUSION_K: f64 = 60.0;

/// How many times the wanted hits each list contributes to a fusion.
pub const FUSION_DEPTH: usize = 3;

/// Nodes up to which a fusion compares all of them with the query. Their vectors take 10 MiB and a quarter of a second to make, once
/// in a process; beyond, likeness ranks what the words have found.
pub const EXACT_SIMILARITY_MAX_DOCS: usize = 20_000;

/// Hits by words whose likeness a fusion looks at in a larger memory.
pub const FUSION_CANDIDATES: usize = 200;

/// Candidates of a claim, by BM25, among which the one that covers most of it is looked for.
pub const EVIDENCE_CANDIDATES: usize = 64;

/// Seconds before a text index that could not be written is tried again: a full disk does not empty itself.
pub const BACKOFF_SECONDS: u64 = 30;
