//! The catalogue's tables. The rows of user tables are in physical tables (see [`crate::physical`]).

use quad_store::Component;

/// The tables of this scheme.
pub const COMPONENT: Component = Component { name: "bkend", migrations: &[CATALOGUE] };

const CATALOGUE: &str = r#"
CREATE TABLE bkend_organization (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    display_name TEXT,
    description TEXT,
    plan TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX bkend_organization_slug ON bkend_organization (tenant_id, slug);

CREATE TABLE bkend_project (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    description TEXT,
    primary_cloud TEXT NOT NULL,
    primary_region TEXT NOT NULL,
    status TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX bkend_project_slug ON bkend_project (tenant_id, organization_id, slug);
CREATE UNIQUE INDEX bkend_project_tree ON bkend_project (tenant_id, organization_id, id);

-- name_key is the name in lower case: names differ by more than case. physical names the environment in the database
-- itself and is therefore unique over all tenants (physical_key, in lower case).
CREATE TABLE bkend_environment (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    cloud TEXT NOT NULL,
    region TEXT NOT NULL,
    physical TEXT NOT NULL,
    physical_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX bkend_environment_name ON bkend_environment (tenant_id, project_id, name_key);
CREATE UNIQUE INDEX bkend_environment_tree ON bkend_environment (tenant_id, organization_id, project_id, id);
CREATE UNIQUE INDEX bkend_environment_physical ON bkend_environment (physical_key);

CREATE TABLE bkend_table (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    project_id TEXT NOT NULL,
    environment_id TEXT NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    display_name TEXT,
    description TEXT,
    fields TEXT NOT NULL,
    removed TEXT NOT NULL,
    indexes TEXT NOT NULL,
    permissions TEXT,
    schema_version BIGINT NOT NULL,
    index_version BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    physical_schema TEXT NOT NULL,
    physical_name TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX bkend_table_name ON bkend_table (tenant_id, environment_id, name_key);
CREATE UNIQUE INDEX bkend_table_tree ON bkend_table (tenant_id, environment_id, id);
CREATE UNIQUE INDEX bkend_table_physical ON bkend_table (physical_schema, physical_name);

CREATE TABLE bkend_schema_version (
    tenant_id TEXT NOT NULL,
    table_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    id TEXT NOT NULL,
    fields TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, table_id, version)
);

CREATE TABLE bkend_index_version (
    tenant_id TEXT NOT NULL,
    table_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    id TEXT NOT NULL,
    indexes TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, table_id, version)
);

-- For people at a database prompt: where the rows of each table are.
CREATE VIEW bkend_tables AS
SELECT t.tenant_id, t.physical_schema, t.physical_name, t.id AS table_id, t.name AS table_name,
    e.name AS environment_name, p.name AS project_name, o.name AS organization_name, t.row_count
FROM bkend_table t
JOIN bkend_environment e ON e.tenant_id = t.tenant_id AND e.id = t.environment_id
JOIN bkend_project p ON p.tenant_id = t.tenant_id AND p.id = t.project_id
JOIN bkend_organization o ON o.tenant_id = t.tenant_id AND o.id = t.organization_id;
"#;
