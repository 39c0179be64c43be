//! Tenants: the owners of all rows.

use quad_core::{Error, EventDraft, Kind, Result, TenantId, Timestamp, id};

use crate::{Sql, Store, WriteContext, params};

/// A tenant as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// `tnt_` and a ULID.
    pub id: TenantId,
    /// Its unique name, as used on the command line.
    pub name: String,
    /// When it was created.
    pub created_at: Timestamp,
}

/// The tenant that every data directory has.
pub const LOCAL: &str = "local";

/// Creates a tenant. A name that exists is a conflict.
pub async fn create(store: &Store, name: &str) -> Result<Tenant> {
    check_name(name)?;
    let id = TenantId::new(format!("tnt_{}", id::ulid()?));
    let event = EventDraft::system("identity", "tenant.created", "system").input("name", name);
    let context = WriteContext::from(&id);
    let name = name.to_owned();
    let created = store.write(&context, event, move |tx| {
        if tx.query_opt("SELECT id FROM tenant WHERE name = $1", params![name.as_str()])?.is_some() {
            return Err(name_taken(&name));
        }
        let now = tx.now();
        let inserted = tx.execute(
            "INSERT INTO tenant (id, name, created_at) VALUES ($1, $2, $3)",
            params![id.as_str(), name.as_str(), now],
        );
        match inserted {
            // Another process has inserted the name after the query above.
            Err(crate::DbError::Unique { .. }) => return Err(name_taken(&name)),
            inserted => inserted?,
        };
        tx.execute(
            "INSERT INTO head (tenant_id, version, sequence, hash) VALUES ($1, 0, 0, NULL)",
            params![id.as_str()],
        )?;
        Ok(Tenant { id: id.clone(), name: name.clone(), created_at: now })
    });
    Ok(created.await?.0)
}

/// The tenant with this name.
pub async fn find(store: &Store, name: &str) -> Result<Option<Tenant>> {
    let name = name.to_owned();
    store
        .read(&TenantId::system(), move |snapshot| {
            let row = snapshot.query_opt(
                "SELECT id, name, created_at FROM tenant WHERE name = $1",
                params![name.as_str()],
            )?;
            row.map(|row| tenant_from_row(&row)).transpose()
        })
        .await
}

/// The tenant with this name; creates it if it does not exist. Every start does this for [`LOCAL`].
pub async fn ensure(store: &Store, name: &str) -> Result<Tenant> {
    if let Some(tenant) = find(store, name).await? {
        return Ok(tenant);
    }
    match create(store, name).await {
        Err(error) if error.kind() == Kind::Conflict => find(store, name)
            .await?
            .ok_or_else(|| Error::internal("a tenant disappeared while it was created")),
        created => created,
    }
}

/// All tenants, by name.
pub async fn list(store: &Store) -> Result<Vec<Tenant>> {
    store
        .read(&TenantId::system(), |snapshot| {
            let rows = snapshot.query("SELECT id, name, created_at FROM tenant ORDER BY name", &[])?;
            rows.iter().map(tenant_from_row).collect()
        })
        .await
}

fn tenant_from_row(row: &crate::Row) -> Result<Tenant> {
    Ok(Tenant {
        id: TenantId::new(row.text(0)?),
        name: row.text(1)?.to_owned(),
        created_at: Timestamp(row.int(2)?),
    })
}

fn check_name(name: &str) -> Result<()> {
    let is_valid = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && name != "system";
    if is_valid {
        return Ok(());
    }
    Err(Error::bad_input(
        "A tenant's name must be 1 to 64 lower-case letters, digits and hyphens, and not \"system\"",
    ))
}

fn name_taken(name: &str) -> Error {
    Error::new(Kind::Conflict, "CONFLICT", format!("A tenant named {name} already exists"))
}
