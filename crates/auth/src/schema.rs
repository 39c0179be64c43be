//! The database tables of this crate.

use quad_core::{Result, ScopeSet, TenantId};
use quad_store::{Component, Sql as _, Store, params};

use crate::scope_hash;

/// The tables of this crate.
///
/// `gate_key` belongs to the server, not to a tenant; its rows are stored under the tenant `system`. `gate_session`
/// has a row only for a session that has ended or has subscriptions: the rest of a session is in its signed id.
pub const COMPONENT: Component = Component { name: "gate", migrations: &[MIGRATION_1, MIGRATION_2] };

const MIGRATION_1: &str = "
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

/// Several keys, and a hash of the registered scopes. A token without a `kid` was signed with the oldest key. The ids
/// of dropped keys are stored under the tenant `system`, also with SQLite: there the keys are in a file, and an old
/// copy of it may be restored.
const MIGRATION_2: &str = "
ALTER TABLE gate_key ADD COLUMN retired_at BIGINT;

ALTER TABLE gate_token ADD COLUMN kid TEXT;

ALTER TABLE gate_agent ADD COLUMN scope_hash TEXT;

CREATE TABLE gate_dropped_key (
    tenant_id TEXT NOT NULL,
    kid TEXT NOT NULL,
    dropped_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, kid)
);
";

/// Computes missing scope hashes after the second migration: SQL has no Keccak function.
pub(crate) async fn backfill_scope_hashes(store: &Store) -> Result<()> {
    // Only this query crosses tenants, as migrations do; each row is then written under its own tenant.
    let system = TenantId::system();
    let missing = store.read(&system, |snapshot| {
        let rows = snapshot
            .query("SELECT tenant_id, subject, scopes FROM gate_agent WHERE scope_hash IS NULL", &[])?;
        let row = |row: &quad_store::Row| {
            Ok((TenantId::new(row.text(0)?), row.text(1)?.to_owned(), row.text(2)?.to_owned()))
        };
        rows.iter().map(row).collect::<Result<Vec<_>>>()
    });
    for (tenant, subject, scopes) in missing.await? {
        let hash = scope_hash::compute(&ScopeSet::parse(&scopes));
        let update = store.write_unaudited(&tenant, move |tx| {
            let tenant = tx.tenant().as_str().to_owned();
            tx.execute(
                "UPDATE gate_agent SET scope_hash = $4 \
                 WHERE tenant_id = $1 AND subject = $2 AND scopes = $3 AND scope_hash IS NULL",
                params![tenant, subject.as_str(), scopes.as_str(), hash.as_str()],
            )?;
            Ok(())
        });
        update.await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::service::tests::{KNOWN_SCOPES, auth_fixtures, auth_outcome};

    #[tokio::test(flavor = "multi_thread")]
    async fn missing_scope_hash_is_backfilled_at_start() {
        for test in auth_fixtures().await {
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            let hash = test.auth.agents(&test.db.tenant).await.unwrap()[0].scope_hash.clone();
            assert!(hash.is_some());
            test.tamper("UPDATE gate_agent SET scope_hash = NULL WHERE tenant_id = $1").await;
            test.tamper("UPDATE gate_token SET kid = NULL WHERE tenant_id = $1").await;
            assert_eq!(auth_outcome(&test.auth, &minted.token).await, "scope_hash_missing");
            let restarted = test.another_process().await;
            assert_eq!(restarted.agents(&test.db.tenant).await.unwrap()[0].scope_hash, hash);
            assert_eq!(auth_outcome(&restarted, &minted.token).await, "ok");
        }
    }
}
