//! The database from below: made, unmade, and made trouble with, behind the back of the processes that use it.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::{Client, NoTls};

use crate::failure::Failure;

/// How long another's transaction may take to end after its process did.
const DRAIN: Duration = Duration::from_secs(30);

/// Where the data is.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A database of our own on a server.
    Postgres {
        /// The URL of a database that is there anyway, through which ours is made and dropped.
        server: String,
        /// The name of ours.
        name: String,
        /// The URL of ours.
        url: String,
    },
}

impl Database {
    /// A new database on a server.
    pub fn create(server: &str, seed: u64) -> Result<Database, Failure> {
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = nanos.map_or(0, |since| since.as_nanos());
        // Several runs of one seed may stand beside each other.
        let name = format!("quad_sim_{seed}_{}_{nanos}", std::process::id());
        let (base, _) = server.rsplit_once('/').unwrap_or((server, ""));
        let url = format!("{base}/{name}");
        block_on(async { connect(server).await?.batch_execute(&format!("CREATE DATABASE {name}")).await })?;
        Ok(Database::Postgres { server: server.to_owned(), name, url })
    }

    /// Drops it again. A file goes with its folder.
    pub fn drop(&self) -> Result<(), Failure> {
        let Database::Postgres { server, name, .. } = self else { return Ok(()) };
        let drop = format!("DROP DATABASE {name} WITH (FORCE)");
        block_on(async { connect(server).await?.batch_execute(&drop).await })
    }

    /// Holds, for a while, the lock that each commit of a tenant needs.
    pub fn hold(&self, tenant: &str, time: Duration) -> Result<(), Failure> {
        match self {
            Database::Sqlite(file) => {
                let held = || -> rusqlite::Result<()> {
                    let connection = rusqlite::Connection::open(file)?;
                    connection.busy_timeout(DRAIN)?;
                    connection.execute_batch("BEGIN IMMEDIATE")?;
                    std::thread::sleep(time);
                    connection.execute_batch("ROLLBACK")
                };
                held().map_err(|error| Failure::broken("holding the write lock", error))
            }
            Database::Postgres { url, .. } => block_on(async {
                let client = connect(url).await?;
                let lock = format!(
                    "BEGIN; SELECT 1 FROM head WHERE tenant_id = \
                     (SELECT id FROM tenant WHERE name = '{tenant}') FOR UPDATE"
                );
                client.batch_execute(&lock).await?;
                tokio::time::sleep(time).await;
                client.batch_execute("ROLLBACK").await
            }),
        }
    }

    /// Breaks every connection but its own. The server's own processes, such as a vacuum, are not ours to end.
    pub fn sever(&self) -> Result<(), Failure> {
        let Database::Postgres { url, .. } = self else { return Ok(()) };
        let sever = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE datname = current_database() AND pid <> pg_backend_pid() \
                     AND backend_type = 'client backend'";
        block_on(async { connect(url).await?.batch_execute(sever).await })
    }

    /// Waits until whatever was under way is done or undone. A server may still commit for a process that is dead; a file
    /// is written by nobody else.
    pub fn drain(&self) -> Result<(), Failure> {
        let Database::Postgres { url, .. } = self else { return Ok(()) };
        let drained = block_on(async {
            let client = connect(url).await?;
            let now: std::time::SystemTime =
                client.query_one("SELECT clock_timestamp()", &[]).await?.try_get(0)?;
            let older = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                         AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start < $1";
            let deadline = std::time::Instant::now() + DRAIN;
            loop {
                let left: i64 = client.query_one(older, &[&now]).await?.try_get(0)?;
                if left == 0 || std::time::Instant::now() > deadline {
                    return Ok(left == 0);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })?;
        if drained {
            return Ok(());
        }
        Err(Failure::new("every transaction ends", format!("one is open for longer than {DRAIN:?}")))
    }
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // It ends with the client, and says nothing that a statement does not say as well.
    tokio::spawn(async {
        let _ = connection.await;
    });
    Ok(client)
}

fn block_on<T>(work: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::broken("a runtime", error))?;
    runtime.block_on(work).map_err(|error| Failure::broken("the PostgreSQL server", Told(&error)))
}

/// An error with its cause, which this driver keeps to itself.
struct Told<'a>(&'a tokio_postgres::Error);

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match std::error::Error::source(self.0) {
            Some(cause) => write!(f, "{}: {cause}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}
