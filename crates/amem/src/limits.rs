//! The limits of this scheme, with the reason for each.

/// Bytes of a node's content: a memory, not a document. The `.amem` format of `agentic-memory` has the same limit.
pub const CONTENT_BYTES: usize = 65_536;

/// Numbers in a vector of a memory without vectors, for `graph/stats` and exports: those of the built-in embedding.
pub const DIMENSION: usize = crate::search::limits::DIMENSIONS;

/// Numbers in a vector of a caller: the largest common models have 3,072 to 4,096. A vector is read with its node.
pub const MAX_DIMENSION: usize = 4_096;

/// Outgoing edges of one node, without the temporal chain. Incoming edges are not limited.
pub const MAX_OUTGOING_EDGES: usize = 4_096;

/// Edges of one `memory_add`.
pub const EDGES_PER_ADD: usize = 1_000;

/// Nodes of one `memory_add_many`.
pub const MAX_NODES_PER_ADD_MANY: usize = 1_000;

/// Rows (nodes, edges, vectors) of one transaction. Other writes wait for it, and so does the audit event of each
/// read.
pub const ROWS_PER_WRITE: usize = 2_000;

/// Buffered nodes of a group commit: one batch insert.
pub const BUFFERED_NODES: usize = 64;

/// Nodes that an episode links to; a longer session is still complete at its own URI.
pub const EPISODE_EDGES: usize = 1_900;

/// Edges that one `memory_forget` removes; a node with more needs several calls.
pub const EDGES_PER_DELETE: usize = 1_500;

/// Nodes in `graph/recent` and `graph/important`.
pub const TOP_NODES: usize = 20;

/// Nodes in a page of a session or a type, unless the caller asks for fewer.
pub const PAGE_NODES: usize = 1_000;

/// Bytes of content in a page, whatever its number of nodes: as much as an agent can read.
pub const PAGE_BYTES: usize = 1 << 20;

/// Rows per query of a page, so that a page that is cut by size does not read many rows for nothing.
pub const PAGE_BATCH_ROWS: usize = 128;

/// Sessions in a page of `amem://sessions`.
pub const PAGE_SESSIONS: usize = 200;

/// Edges that a node shows in each direction; `memory_traverse` reaches the others.
pub const NODE_EDGES: usize = 1_000;

/// Default number of results of a query or a traversal.
pub const RESULTS_DEFAULT: usize = 20;

/// Maximum number of results of a query or a traversal.
pub const RESULTS_MAX: usize = 1_000;

/// Rows that one page of a query scans, whether they match or not: about ten milliseconds. A filter with few
/// matches needs more pages.
pub const MAX_QUERY_ROWS_SCANNED: usize = 10_000;

/// Up to this many nodes, a type or session is loaded whole and sorted instead of scanning the order's index,
/// unless it is so common that the scan finds a page sooner.
pub const MAX_IN_MEMORY_SORT: i64 = 2_000;

/// Sessions in the filter of one query.
pub const QUERY_SESSIONS: usize = 64;

/// Nodes that a traversal or a path search visits.
pub const MAX_TRAVERSAL_NODES: usize = 10_000;

/// Levels of a traversal.
pub const MAX_TRAVERSAL_DEPTH: usize = 50;

/// Levels of a neighborhood.
pub const MAX_NEIGHBORHOOD_DEPTH: usize = 5;

/// Nodes in a page of a neighborhood.
pub const NEIGHBORHOOD_PAGE_NODES: usize = 200;

/// Edges that a traversal follows from one node, in one direction.
pub const MAX_EDGES_PER_EXPANSION: usize = 4_096;

/// Bytes of the graph cache: the surroundings of about fifty thousand nodes, a tenth of a process's memory budget.
pub const CACHE_BYTES: usize = 32 << 20;

/// Bits of the cache's admission filter: 16 KiB. When a quarter is set, collisions become frequent and all are
/// cleared.
pub const ADMISSION_BITS: usize = 1 << 17;

/// Outgoing edges that are packed into a node's row: a few hundred bytes, a part of a page. Few nodes have more.
pub const MAX_PACKED_EDGES: usize = 64;

/// Nodes whose edges are loaded with one query.
pub const EXPANSION_CHUNK_NODES: usize = 64;

/// Corrections that `memory_resolve` follows.
pub const RESOLVE_HOPS: usize = 1_000;

/// Nodes that one page of `memory_temporal` reads.
pub const MAX_RANGE_DIFF_NODES: usize = 5_000;

/// Nodes that one page of the quality report reads.
pub const QUALITY_PAGE_NODES: usize = 2_000;

/// Examples of each kind in the quality report.
pub const QUALITY_EXAMPLES: usize = 200;

/// Memories that a resumed session loads.
pub const RESUME_MEMORIES: usize = 100;

/// Nodes of one type that `memory_session_resume` scans.
pub const MAX_RESUME_ROWS_SCANNED: usize = 500;

/// Nodes that the `summarize` prompt lists.
pub const PROMPT_NODES: usize = 200;

/// Characters of a node's content in a prompt's list.
pub const PROMPT_CHARS: usize = 80;

/// Characters of a reason: it is stored in the audit event.
pub const REASON_CHARS: usize = 500;

/// Bytes of a session's metadata as JSON: every list of sessions repeats it.
pub const METADATA_BYTES: usize = 4_096;

/// Tags of single nodes that one write invalidates; a write that touches more invalidates one tag for all.
pub const MAX_NODE_TAGS: usize = 64;

/// Default number of search hits.
pub const SEARCH_DEFAULT: usize = 10;

/// Hits of a result that are also given as links.
pub const SEARCH_LINKS: usize = 5;

/// Edges that a piece of evidence shows in each direction.
pub const EVIDENCE_EDGES: usize = 100;

/// Candidate memories for a claim.
pub const GROUND_CANDIDATES: usize = 30;

/// Different words of a claim that are compared: a paragraph. A longer claim is at most partly backed.
pub const CLAIM_WORDS: usize = 256;

/// Memories shown as evidence for a claim.
pub const GROUND_EVIDENCE: usize = 10;

/// Bytes of content that one transaction of an import writes, whatever the number of rows.
pub const IMPORT_BYTES: usize = 4 << 20;

/// Minimum rows per transaction of an import, however slow the machine is.
pub const MIN_IMPORT_ROWS: usize = 250;

/// The largest id that an imported node keeps: 2^53, above which JSON readers that use floats lose digits. Ids
/// above it stay free for new nodes.
pub const IMPORT_ID_MAX: i64 = 1 << 53;

/// The largest id that an imported session keeps; ids above it stay free for new sessions.
pub const IMPORT_SESSION_MAX: u32 = u32::MAX / 2;

/// Bytes of the author's name of an imported node or session.
pub const AUTHOR_BYTES: usize = 256;

/// Calls of `memory_add` that search for similar memories at the same time. Agents add one memory after the other; of
/// many calls at once the others do not search, so that a bulk load is not slowed down.
pub const SIMILAR_SEARCHES: usize = 2;

/// Words of a new memory by which similar ones are searched: the longest, which are mostly the rarest.
pub const SIMILAR_WORDS: usize = 8;

/// Memories that a new one is compared with.
pub const SIMILAR_CANDIDATES: usize = 16;

/// Similar memories that `memory_add` reports.
pub const SIMILAR_REPORTED: usize = 3;

/// Characters of a similar memory's content that `memory_add` shows: enough to recognise it.
pub const SIMILAR_CHARS: usize = 200;

/// Nodes that an export reads per query.
pub const EXPORT_NODES: usize = 500;

/// Edges that an export reads per query.
pub const EXPORT_EDGES: usize = 2_000;

/// Nodes and edges between two progress reports of an export.
pub const EXPORT_PROGRESS_INTERVAL: u64 = 5_000;

/// Rows that the integrity check reads per query.
pub const CHECK_ROWS: usize = 2_000;

/// Examples that the integrity check gives of each kind of violation.
pub const VIOLATION_EXAMPLES: usize = 5;
