//! Queries the database without the code under test.

use rusqlite::types::ValueRef;
use tokio_postgres::SimpleQueryMessage;

use crate::instance::{TestInstance, runtime};
use crate::matrix::Backend;

/// A row, every value as text.
pub type Row = Vec<Option<String>>;

impl TestInstance {
    /// The rows of a query, every value as text.
    pub fn query(&self, sql: &str) -> Vec<Row> {
        match self.backend {
            Backend::Sqlite => self.query_sqlite(sql),
            Backend::Postgres => self.query_postgres(sql),
        }
    }

    /// The only value of a query with one row.
    pub fn query_one(&self, sql: &str) -> String {
        let rows = self.query(sql);
        assert_eq!((rows.len(), rows[0].len()), (1, 1), "{sql}");
        rows[0][0].clone().unwrap_or_default()
    }

    /// Runs statements that change the data, as an attacker with access to the database would.
    pub fn execute(&self, sql: &str) {
        match self.backend {
            Backend::Sqlite => {
                rusqlite::Connection::open(self.database_file()).unwrap().execute_batch(sql).unwrap()
            }
            Backend::Postgres => {
                runtime().block_on(execute_postgres(self.database_url.as_deref().unwrap(), sql))
            }
        }
    }

    /// The id of a tenant.
    pub fn tenant_id(&self, name: &str) -> String {
        self.query_one(&format!("SELECT id FROM tenant WHERE name = '{name}'"))
    }

    fn query_sqlite(&self, sql: &str) -> Vec<Row> {
        let connection = rusqlite::Connection::open(self.database_file()).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let text = |index| {
                Ok(match row.get_ref(index)? {
                    ValueRef::Null => None,
                    ValueRef::Integer(number) => Some(number.to_string()),
                    ValueRef::Real(number) => Some(number.to_string()),
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        Some(String::from_utf8_lossy(text).into_owned())
                    }
                })
            };
            (0..columns).map(text).collect::<rusqlite::Result<Row>>()
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn query_postgres(&self, sql: &str) -> Vec<Row> {
        let url = self.database_url.as_deref().expect("a place on PostgreSQL has a database");
        let messages = runtime().block_on(async {
            let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            let driver = tokio::spawn(connection);
            let messages = client.simple_query(sql).await.unwrap();
            drop(client);
            driver.await.unwrap().unwrap();
            messages
        });
        let row = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|index| row.get(index).map(str::to_owned)).collect())
            }
            _ => None,
        };
        messages.iter().filter_map(row).collect()
    }
}

/// A copy of an instance's database.
pub enum DatabaseCopy {
    /// The path of a file.
    Sqlite(std::path::PathBuf),
    /// The URL of a database.
    Postgres(String),
}

/// Copies the database as an administrator would. No process may use it.
pub fn copy_database(instance: &TestInstance, name: &str) -> DatabaseCopy {
    match instance.backend {
        Backend::Sqlite => {
            let path = instance.folder().join(format!("{name}.db"));
            instance.execute("PRAGMA wal_checkpoint(TRUNCATE)");
            std::fs::copy(instance.database_file(), &path).unwrap();
            DatabaseCopy::Sqlite(path)
        }
        Backend::Postgres => {
            let url = instance.database_url.as_deref().unwrap();
            let (server, original) = url.rsplit_once('/').unwrap();
            let copy = format!("{original}_{name}");
            let create = format!("CREATE DATABASE {copy} TEMPLATE {original}");
            runtime().block_on(execute_postgres(&std::env::var("QUAD_TEST_POSTGRES_URL").unwrap(), &create));
            DatabaseCopy::Postgres(format!("{server}/{copy}"))
        }
    }
}

impl DatabaseCopy {
    /// Puts the copy where the instance has its database.
    pub fn put_in_place_of(self, instance: &mut TestInstance) {
        match self {
            DatabaseCopy::Sqlite(path) => {
                for suffix in ["-wal", "-shm"] {
                    let mut log = instance.database_file().into_os_string();
                    log.push(suffix);
                    let _ = std::fs::remove_file(log);
                }
                std::fs::rename(path, instance.database_file()).unwrap();
            }
            DatabaseCopy::Postgres(url) => instance.database_url = Some(url),
        }
    }
}

async fn execute_postgres(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
    drop(client);
    driver.await.unwrap().unwrap();
}
