//! The gate's tables.

use quad_store::Component;

/// What the gate keeps in the database.
///
/// `gate_key` belongs to the server, not to a tenant; its rows stand under the tenant `system`. `gate_session` holds a
/// session only once it has ended or has subscriptions: all else about it is in its signed id.
pub const COMPONENT: Component = Component { name: "gate", migrations: &[FIRST] };

const FIRST: &str = "
CREATE TABLE gate_key (
    tenant_id TEXT NOT NULL,
    kid TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, kid)
);

CREATE TABLE gate_agent (
    tenant_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    scopes TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, subject)
);

CREATE TABLE gate_token (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE gate_session (
    tenant_id TEXT NOT NULL,
    id_hash TEXT NOT NULL,
    ended_at BIGINT,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id_hash)
);

CREATE INDEX gate_session_by_expiry ON gate_session (tenant_id, expires_at);

CREATE TABLE gate_subscription (
    tenant_id TEXT NOT NULL,
    id_hash TEXT NOT NULL,
    uri TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id_hash, uri)
);
";
