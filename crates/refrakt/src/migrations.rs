//! The tables of this scheme. The database holds nothing of the folder's contents: only the last published change and
//! the open write intents.

use quad_store::Component;

/// The tables of this scheme.
pub const COMPONENT: Component = Component { name: "refrakt", migrations: &[TABLES] };

const TABLES: &str = r#"
-- The last change of a folder that was announced, so that of several processes that see it only one says so.
CREATE TABLE refrakt_told (
    tenant_id TEXT NOT NULL,
    root TEXT NOT NULL,
    from_print TEXT NOT NULL,
    to_print TEXT NOT NULL,
    PRIMARY KEY (tenant_id, root)
);

-- Files that were about to be written. A row outlives its call only if the process ended in the middle of it.
CREATE TABLE refrakt_intent (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    root TEXT NOT NULL,
    file TEXT NOT NULL,
    waiting TEXT NOT NULL,
    before_hash TEXT,
    after_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
"#;
