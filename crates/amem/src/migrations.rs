//! The tables of the graph.
//!
//! One row per node, with an integer id that only grows. Each list and each query order is a range of an index.
//! Edges are stored in their primary key, by source; one more index finds them by target.

use quad_store::Component;

/// The tables of this scheme.
pub const COMPONENT: Component =
    Component { name: "amem", migrations: &[GRAPH, IMPORT, NEWEST, OUTGOING, INCOMING, NEWEST_CORRECTION] };

const GRAPH: &str = r#"
-- tier (the score class) and effective_access give the order by importance: see decay.rs.
CREATE TABLE amem_node (
    tenant_id TEXT NOT NULL,
    id BIGINT NOT NULL,
    event_type BIGINT NOT NULL,
    session_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    confidence DOUBLE NOT NULL,
    access_count BIGINT NOT NULL,
    last_accessed BIGINT NOT NULL,
    tier BIGINT NOT NULL,
    effective_access BIGINT NOT NULL,
    superseded_by BIGINT,
    created_by TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX amem_node_type ON amem_node (tenant_id, event_type, id);
CREATE INDEX amem_node_session ON amem_node (tenant_id, session_id, id);
CREATE INDEX amem_node_created ON amem_node (tenant_id, created_at, id);
CREATE INDEX amem_node_confidence ON amem_node (tenant_id, confidence, id);
CREATE INDEX amem_node_importance ON amem_node (tenant_id, tier, effective_access DESC, id)
    WHERE superseded_by IS NULL;
CREATE INDEX amem_node_accessed ON amem_node (tenant_id, access_count, id) WHERE access_count > 0;

CREATE TABLE amem_edge (
    tenant_id TEXT NOT NULL,
    source_id BIGINT NOT NULL,
    target_id BIGINT NOT NULL,
    edge_type BIGINT NOT NULL,
    weight DOUBLE NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, source_id, target_id, edge_type)
) WITHOUT ROWID;
CREATE INDEX amem_edge_target ON amem_edge (tenant_id, target_id, source_id, edge_type);

-- The vectors that callers supplied: 128 little-endian 32-bit floats.
CREATE TABLE amem_vector (
    tenant_id TEXT NOT NULL,
    node_id BIGINT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (tenant_id, node_id)
);

-- One row per tenant: the next ids and exact counts. Every write to the graph takes the lock amem first and saves this
-- row last.
CREATE TABLE amem_stats (
    tenant_id TEXT NOT NULL PRIMARY KEY,
    next_id BIGINT NOT NULL,
    next_session BIGINT NOT NULL,
    newest_at BIGINT NOT NULL,
    sessions BIGINT NOT NULL,
    sessions_used BIGINT NOT NULL,
    edges BIGINT NOT NULL,
    edges_supersedes BIGINT NOT NULL,
    edges_contradicts BIGINT NOT NULL,
    erased BIGINT NOT NULL,
    facts BIGINT NOT NULL,
    decisions BIGINT NOT NULL,
    inferences BIGINT NOT NULL,
    corrections BIGINT NOT NULL,
    skills BIGINT NOT NULL,
    episodes BIGINT NOT NULL
);

CREATE TABLE amem_session (
    tenant_id TEXT NOT NULL,
    id BIGINT NOT NULL,
    node_count BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    started_by TEXT NOT NULL,
    metadata TEXT,
    episode_id BIGINT,
    PRIMARY KEY (tenant_id, id)
);

-- The state of each caller: its session, and the last node of its chain. previous_node is not used any more.
CREATE TABLE amem_place (
    tenant_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    session_id BIGINT,
    last_node BIGINT,
    previous_node BIGINT,
    PRIMARY KEY (tenant_id, subject)
);

-- The deleted nodes in order of deletion (mark), so that search indexes can remove them.
CREATE TABLE amem_erased (
    tenant_id TEXT NOT NULL,
    mark BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, mark)
);
"#;

const IMPORT: &str = r#"
-- The imported nodes, so that none is imported twice. The digest covers the node's content in the file. The row stays
-- when the node is deleted, so that it is not imported again.
CREATE TABLE amem_import (
    tenant_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    node_id BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, digest)
) WITHOUT ROWID;
"#;

const NEWEST: &str = r#"
-- The newest nodes of a type: the most frequent query. Imported nodes are not in the order of their ids.
CREATE INDEX amem_node_newest ON amem_node (tenant_id, event_type, created_at, id);
"#;

const OUTGOING: &str = r#"
-- The packed outgoing edges: see adjacency.rs. Null where only amem_edge has them.
ALTER TABLE amem_node ADD COLUMN outgoing TEXT;
"#;

const INCOMING: &str = r#"
-- With the weight, the index covers the incoming edges of a node: one range, without a lookup per edge.
DROP INDEX amem_edge_target;
CREATE INDEX amem_edge_target ON amem_edge (tenant_id, target_id, source_id, edge_type, weight);
"#;

const NEWEST_CORRECTION: &str = r#"
-- Of several corrections of one node, all but the newest held until now. The newest node of each chain supersedes the
-- others: see supersede.rs. A source has a greater id than its target, so the new edges close no cycle.
CREATE TABLE amem_replaced AS
WITH RECURSIVE chain (tenant_id, id, latest) AS (
    SELECT tenant_id, id, superseded_by FROM amem_node WHERE superseded_by IS NOT NULL
    UNION
    SELECT c.tenant_id, c.id, n.superseded_by FROM chain c
    JOIN amem_node n ON n.tenant_id = c.tenant_id AND n.id = c.latest
    WHERE n.superseded_by IS NOT NULL
)
SELECT DISTINCT l.tenant_id AS tenant_id, l.id AS source_id, o.id AS target_id, l.created_at AS created_at
FROM chain c
JOIN amem_node l ON l.tenant_id = c.tenant_id AND l.id = c.latest AND l.superseded_by IS NULL
JOIN amem_edge e ON e.tenant_id = c.tenant_id AND e.target_id = c.id AND e.edge_type = 3
JOIN amem_node o ON o.tenant_id = e.tenant_id AND o.id = e.source_id AND o.id < l.id
    AND o.event_type = 3 AND o.superseded_by IS NULL;
INSERT INTO amem_edge (tenant_id, source_id, target_id, edge_type, weight, created_at)
SELECT tenant_id, source_id, target_id, 3, 1.0, created_at FROM amem_replaced;
UPDATE amem_node SET superseded_by = (
    SELECT r.source_id FROM amem_replaced r
    WHERE r.tenant_id = amem_node.tenant_id AND r.target_id = amem_node.id
    ORDER BY r.created_at DESC, r.source_id DESC LIMIT 1
) WHERE (tenant_id, id) IN (SELECT tenant_id, target_id FROM amem_replaced);
-- Null: the table has the edges.
UPDATE amem_node SET outgoing = NULL
WHERE (tenant_id, id) IN (SELECT tenant_id, source_id FROM amem_replaced);
UPDATE amem_stats SET
    edges = edges + (SELECT COUNT(*) FROM amem_replaced r WHERE r.tenant_id = amem_stats.tenant_id),
    edges_supersedes = edges_supersedes
        + (SELECT COUNT(*) FROM amem_replaced r WHERE r.tenant_id = amem_stats.tenant_id);
DROP TABLE amem_replaced;
"#;
