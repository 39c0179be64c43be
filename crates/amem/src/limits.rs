//! Every limit of this scheme, by name and with its reason.

/// Bytes of a node's content: a memory, not a document. The format that memories are imported from has the same bound.
pub const CONTENT_BYTES: usize = 65_536;

/// Numbers in a feature vector.
pub const DIMENSION: usize = 128;

/// Outgoing edges of one node, without the temporal chain. Incoming ones have no bound.
pub const MAX_OUTGOING_EDGES: usize = 4_096;

/// Edges that one `memory_add` brings along.
pub const EDGES_PER_ADD: usize = 1_000;

/// Nodes of one `memory_add_many`.
pub const MAX_NODES_PER_ADD_MANY: usize = 1_000;

/// Rows (nodes, edges, vectors) of one transaction: every read waits for its audit event behind it.
pub const ROWS_PER_WRITE: usize = 2_000;

/// Nodes that wait for those of the next job: as many as are inserted at once.
pub const BUFFERED_NODES: usize = 64;

/// Nodes of a session that its episode is linked from; a longer session is still whole under its own address.
pub const EPISODE_EDGES: usize = 1_900;

/// Edges that one `memory_forget` removes; a hub is forgotten in several calls.
pub const EDGES_PER_DELETE: usize = 1_500;

/// Nodes in `graph/recent` and `graph/important`.
pub const TOP_NODES: usize = 20;

/// Nodes in a page of a session or a type, unless the caller wants fewer.
pub const PAGE_NODES: usize = 1_000;

/// Bytes of content in a page, whatever its number of nodes: what an agent can still read.
pub const PAGE_BYTES: usize = 1 << 20;

/// Rows that a page is read in, so that a page of large contents is not read ten times over.
pub const PAGE_BATCH_ROWS: usize = 128;

/// Sessions in a page of `amem://sessions`.
pub const PAGE_SESSIONS: usize = 200;

/// Edges that a node shows in each direction; a hub's others are walked with `memory_traverse`.
pub const NODE_EDGES: usize = 1_000;

/// Results of a query or a walk unless the caller says otherwise.
pub const RESULTS_DEFAULT: usize = 20;

/// Results of a query or a walk at most.
pub const RESULTS_MAX: usize = 1_000;

/// Rows that one page of a query looks at, whether they match or not: some ten milliseconds. A filter that matches rarely is
/// paid for in pages.
pub const MAX_QUERY_ROWS_SCANNED: usize = 10_000;

/// A type or session of at most so many nodes is gathered whole and sorted, instead of searched for in the order of all, unless it is so
/// common that a page of it is found sooner there.
pub const MAX_IN_MEMORY_SORT: i64 = 2_000;

/// Sessions that one query may name.
pub const QUERY_SESSIONS: usize = 64;

/// Nodes that a walk or a path visits.
pub const MAX_TRAVERSAL_NODES: usize = 10_000;

/// Levels of a walk.
pub const MAX_TRAVERSAL_DEPTH: usize = 50;

/// Levels of a neighbourhood.
pub const MAX_NEIGHBORHOOD_DEPTH: usize = 5;

/// Nodes in a page of a neighbourhood.
pub const NEIGHBORHOOD_PAGE_NODES: usize = 200;

/// Edges that a walk follows from one node, in one direction.
pub const MAX_EDGES_PER_EXPANSION: usize = 4_096;

/// What walks hold of the graphs in memory: the surroundings of some fifty thousand nodes, and a tenth of what a process may weigh.
pub const CACHE_BYTES: usize = 32 << 20;

/// Bits that tell which nodes walks have met at all: 16 KiB. Once a quarter are set, too many nodes share one,
/// and all are cleared.
pub const ADMISSION_BITS: usize = 1 << 17;

/// Outgoing edges that are also kept in a node's own row: some hundred bytes, a part of a page. Few nodes have more.
pub const MAX_PACKED_EDGES: usize = 64;

/// Nodes whose edges are fetched together.
pub const EXPANSION_CHUNK_NODES: usize = 64;

/// Links of a chain of corrections that are followed.
pub const RESOLVE_HOPS: usize = 1_000;

/// Nodes that one page of a comparison of two times looks at.
pub const MAX_RANGE_DIFF_NODES: usize = 5_000;

/// Nodes that one page of the quality report looks at.
pub const QUALITY_PAGE_NODES: usize = 2_000;

/// Examples of one kind in the quality report.
pub const QUALITY_EXAMPLES: usize = 200;

/// Memories that a resumed session loads at most.
pub const RESUME_MEMORIES: usize = 100;

/// Nodes of one type that resuming looks at for each kind of memory.
pub const MAX_RESUME_ROWS_SCANNED: usize = 500;

/// Nodes that the `summarize` prompt lists.
pub const PROMPT_NODES: usize = 200;

/// Characters of a node's content in a list of a prompt.
pub const PROMPT_CHARS: usize = 80;

/// Characters of a reason: it stands in the audit event.
pub const REASON_CHARS: usize = 500;

/// Bytes of a session's metadata as JSON: every list of sessions repeats it.
pub const METADATA_BYTES: usize = 4_096;

/// Single nodes that a change names; one that touches more names them all at once.
pub const MAX_NODE_TAGS: usize = 64;

/// Hits of a search unless the caller says otherwise.
pub const SEARCH_DEFAULT: usize = 10;

/// Hits of an answer that are also given as links.
pub const SEARCH_LINKS: usize = 5;

/// Edges that a piece of evidence shows in each direction.
pub const EVIDENCE_EDGES: usize = 100;

/// Memories among which those are looked for that back a claim.
pub const GROUND_CANDIDATES: usize = 30;

/// Memories that are shown as backing a claim.
pub const GROUND_EVIDENCE: usize = 10;

/// Bytes of contents that one transaction of an import brings, whatever the number of its rows.
pub const IMPORT_BYTES: usize = 4 << 20;

/// Rows that a transaction of an import has at least, however slow the machine is.
pub const MIN_IMPORT_ROWS: usize = 250;

/// The greatest id that an imported node keeps: the last that every reader of JSON reads exactly. There is room behind it.
pub const IMPORT_ID_MAX: i64 = 1 << 53;

/// The greatest number that an imported session keeps; behind it there is room for those that follow.
pub const IMPORT_SESSION_MAX: u32 = u32::MAX / 2;

/// Bytes of the name of whoever made an imported node or session.
pub const AUTHOR_BYTES: usize = 256;

/// Nodes that an export reads at a time.
pub const EXPORT_NODES: usize = 500;

/// Edges that an export reads at a time.
pub const EXPORT_EDGES: usize = 2_000;

/// Nodes and edges after which an export says how far it is.
pub const EXPORT_PROGRESS_INTERVAL: u64 = 5_000;

/// Rows that a check of all of the graph reads at a time.
pub const CHECK_ROWS: usize = 2_000;

/// Examples that a check gives of each kind of fault.
pub const VIOLATION_EXAMPLES: usize = 5;
