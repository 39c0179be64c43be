//! The database: created, dropped and disturbed without the knowledge of the nodes.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::{Client, NoTls};

use crate::failure::Failure;

/// How long a transaction may stay open after its process has died.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// The database of a run.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A database of this run on a server.
    Postgres {
        /// The URL of an existing database, through which the run's own is created and dropped.
        server_url: String,
        /// The name of the run's database.
        name: String,
        /// The URL of the run's database.
        url: String,
    },
}

impl Database {
    /// Creates a database on a server.
    pub fn create(server_url: &str, seed: u64) -> Result<Database, Failure> {
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = nanos.map_or(0, |elapsed| elapsed.as_nanos());
        // Several runs of one seed may exist at the same time.
        let name = format!("quad_sim_{seed}_{}_{nanos}", std::process::id());
        let (base, _) = server_url.rsplit_once('/').unwrap_or((server_url, ""));
        let url = format!("{base}/{name}");
        block_on(async {
            connect(server_url).await?.batch_execute(&format!("CREATE DATABASE {name}")).await
        })?;
        Ok(Database::Postgres { server_url: server_url.to_owned(), name, url })
    }

    /// Drops the database. A file is deleted with its folder.
    pub fn drop_database(&self) -> Result<(), Failure> {
        let Database::Postgres { server_url, name, .. } = self else { return Ok(()) };
        let drop_sql = format!("DROP DATABASE {name} WITH (FORCE)");
        block_on(async { connect(server_url).await?.batch_execute(&drop_sql).await })
    }

    /// Holds the lock that each commit of a tenant needs.
    pub fn hold_lock(&self, tenant: &str, duration: Duration) -> Result<(), Failure> {
        match self {
            Database::Sqlite(file) => {
                let hold_write_lock = || -> rusqlite::Result<()> {
                    let connection = rusqlite::Connection::open(file)?;
                    connection.busy_timeout(DRAIN_TIMEOUT)?;
                    connection.execute_batch("BEGIN IMMEDIATE")?;
                    std::thread::sleep(duration);
                    connection.execute_batch("ROLLBACK")
                };
                hold_write_lock().map_err(|error| Failure::environment_error("holding the write lock", error))
            }
            Database::Postgres { url, .. } => block_on(async {
                let client = connect(url).await?;
                let lock_sql = format!(
                    "BEGIN; SELECT 1 FROM head WHERE tenant_id = \
                     (SELECT id FROM tenant WHERE name = '{tenant}') FOR UPDATE"
                );
                client.batch_execute(&lock_sql).await?;
                tokio::time::sleep(duration).await;
                client.batch_execute("ROLLBACK").await
            }),
        }
    }

    /// Terminates every other client connection. Background processes of the server, such as autovacuum, are kept.
    pub fn terminate_connections(&self) -> Result<(), Failure> {
        let Database::Postgres { url, .. } = self else { return Ok(()) };
        let terminate_sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND pid <> pg_backend_pid() \
                     AND backend_type = 'client backend'";
        block_on(async { connect(url).await?.batch_execute(terminate_sql).await })
    }

    /// Waits until every transaction has ended. PostgreSQL may still commit for a process that is dead; SQLite
    /// cannot.
    pub fn wait_for_transactions(&self) -> Result<(), Failure> {
        let Database::Postgres { url, .. } = self else { return Ok(()) };
        let all_ended = block_on(async {
            let client = connect(url).await?;
            let now: std::time::SystemTime =
                client.query_one("SELECT clock_timestamp()", &[]).await?.try_get(0)?;
            let count_sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                         AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start < $1";
            let deadline = std::time::Instant::now() + DRAIN_TIMEOUT;
            loop {
                let open_count: i64 = client.query_one(count_sql, &[&now]).await?.try_get(0)?;
                if open_count == 0 || std::time::Instant::now() > deadline {
                    return Ok(open_count == 0);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })?;
        if all_ended {
            return Ok(());
        }
        Err(Failure::new("every transaction ends", format!("one is open for longer than {DRAIN_TIMEOUT:?}")))
    }
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // The task ends with the client. The statements report the same errors.
    tokio::spawn(async {
        let _ = connection.await;
    });
    Ok(client)
}

fn block_on<T>(future: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::environment_error("a runtime", error))?;
    runtime
        .block_on(future)
        .map_err(|error| Failure::environment_error("the PostgreSQL server", PgErrorDisplay(&error)))
}

/// An error with its cause, which this driver's `Display` omits.
struct PgErrorDisplay<'a>(&'a tokio_postgres::Error);

impl std::fmt::Display for PgErrorDisplay<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match std::error::Error::source(self.0) {
            Some(cause) => write!(f, "{}: {cause}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}
