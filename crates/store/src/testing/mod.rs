//! Empty databases for tests: SQLite always, PostgreSQL if `QUAD_TEST_POSTGRES_URL` names a server.

mod explain_sql;
mod test_env;
mod test_rng;

use quad_core::{Result, TenantId};

use crate::{Component, Location, Store, tenant};

pub use explain_sql::ExplainSql;
pub use test_env::{TestEnv, agent};
pub use test_rng::TestRng;

/// A database with tables but no rows, except for a tenant named `local`.
pub struct TestStore {
    /// The store.
    pub store: Store,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its location, to open it a second time.
    pub location: Location,
    _folder: Option<tempfile::TempDir>,
}

/// One empty store per available database. Prints a line if PostgreSQL is skipped.
pub async fn stores(components: &[Component]) -> Result<Vec<TestStore>> {
    let mut stores = vec![sqlite(components).await?];
    match postgres(components).await? {
        Some(store) => stores.push(store),
        None => eprintln!("skipped on PostgreSQL: QUAD_TEST_POSTGRES_URL is not set"),
    }
    Ok(stores)
}

/// An empty SQLite database in a folder of its own.
pub async fn sqlite(components: &[Component]) -> Result<TestStore> {
    let folder = tempfile::tempdir().map_err(quad_core::Error::internal)?;
    let location = Location::Sqlite(folder.path().join("quad.db"));
    test_store(location, components, Some(folder)).await
}

/// A new, empty PostgreSQL database, if there is a server.
pub async fn postgres(components: &[Component]) -> Result<Option<TestStore>> {
    let Some(url) = postgres_database().await? else { return Ok(None) };
    test_store(Location::Postgres(url), components, None).await.map(Some)
}

/// The URL of a new, empty database, if there is a server.
pub async fn postgres_database() -> Result<Option<String>> {
    let Ok(server) = std::env::var("QUAD_TEST_POSTGRES_URL") else { return Ok(None) };
    let name = format!("quad_{}", quad_core::id::ulid()?.to_lowercase());
    let (client, connection) =
        tokio_postgres::connect(&server, tokio_postgres::NoTls).await.map_err(quad_core::Error::internal)?;
    let driver = tokio::spawn(connection);
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.map_err(quad_core::Error::internal)?;
    drop(client);
    // The driver task ends when the client is dropped.
    let _ = driver.await;
    let (base, _) = server.rsplit_once('/').unwrap_or((server.as_str(), ""));
    Ok(Some(format!("{base}/{name}")))
}

async fn test_store(
    location: Location,
    components: &[Component],
    folder: Option<tempfile::TempDir>,
) -> Result<TestStore> {
    let store = Store::open(location.clone(), components).await?;
    let tenant = tenant::ensure(&store, tenant::LOCAL).await?.id;
    Ok(TestStore { store, tenant, location, _folder: folder })
}
