//! A tenant's head row: version, audit sequence, audit hash. The only row that the store locks.
//!
//! It is locked by the last statements before a commit. So commit order is version order, the chain cannot fork, and
//! no transaction holds the lock while it does other work. The exception is a [head lease](crate::head_lease).

use quad_core::{Error, Kind, Result, TenantId, Version};

use crate::connection::Connection;
use crate::{Backend, DbError, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) version: Version,
    pub(crate) sequence: i64,
    pub(crate) hash: Option<String>,
}

/// The version, without a lock: the first statement of a snapshot. `None` for a tenant that does not exist, or that
/// this transaction is about to create.
pub(crate) fn version(connection: &mut Connection, tenant: &TenantId) -> Result<Option<Version>, DbError> {
    let row =
        connection.query_opt("SELECT version FROM head WHERE tenant_id = $1", params![tenant.as_str()])?;
    row.map(|row| row.int(0).map(Version)).transpose()
}

/// Locks the head row until the end of the transaction.
pub(crate) fn lock(connection: &mut Connection, tenant: &TenantId) -> Result<Option<Head>, DbError> {
    let sql = match connection.backend() {
        // The transaction is IMMEDIATE, so it holds the database's only write lock.
        Backend::Sqlite => "SELECT version, sequence, hash FROM head WHERE tenant_id = $1",
        Backend::Postgres => "SELECT version, sequence, hash FROM head WHERE tenant_id = $1 FOR UPDATE",
    };
    let row = connection.query_opt(sql, params![tenant.as_str()])?;
    row.map(|row| {
        Ok(Head {
            version: Version(row.int(0)?),
            sequence: row.int(1)?,
            hash: row.opt_text(2)?.map(str::to_owned),
        })
    })
    .transpose()
}

/// The error for a tenant without a head row.
pub(crate) fn unknown_tenant() -> Error {
    Error::new(Kind::NotFound, "UNKNOWN_TENANT", "Tenant not found")
}

/// Writes the advanced head row.
pub(crate) fn advance(connection: &mut Connection, tenant: &TenantId, head: &Head) -> Result<(), DbError> {
    connection.execute(
        "UPDATE head SET version = $2, sequence = $3, hash = $4 WHERE tenant_id = $1",
        params![tenant.as_str(), head.version.0, head.sequence, head.hash.clone()],
    )?;
    Ok(())
}
