//! A SQLite file that no process writes, such as a backup, opened for reading only.

use std::path::Path;
use std::sync::{Arc, Mutex};

use quad_core::lock::MutexExt as _;
use quad_core::{Error, Kind, Result, TenantId};

use crate::backup::BackupItem;
use crate::connection::{Connection, sqlite};
use crate::sql::{Snapshot, Sql as _};
use crate::store::run_snapshot;
use crate::tx_error::TxError;
use crate::{Store, params};

/// Where snapshots come from: the store, or a copy of its database.
pub trait SnapshotSource {
    /// Runs `f` in one snapshot of the tenant. It may run more than once.
    fn snapshot<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        f: impl FnMut(&mut Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send;
}

impl SnapshotSource for Store {
    async fn snapshot<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        f: impl FnMut(&mut Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read(tenant, f).await
    }
}

/// The copy.
#[derive(Clone)]
pub struct DatabaseCopy {
    connection: Arc<Mutex<Connection>>,
}

impl DatabaseCopy {
    /// Opens a file. Nothing is written, not even beside it.
    pub fn open(file: &Path) -> Result<DatabaseCopy> {
        let metadata = std::fs::metadata(file).map_err(|error| {
            Error::bad_input(format!("{} cannot be read: {error}", file.display()))
                .hint("Check the path, and that this user may read the file")
        })?;
        for suffix in ["-wal", "-journal"] {
            let mut log = file.as_os_str().to_owned();
            log.push(suffix);
            if std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0) {
                let message =
                    format!("{} has commits in a log beside it, which a copy does not read", file.display());
                return Err(Error::new(Kind::BadInput, "COPY_INCOMPLETE", message).hint(
                    "Name a file that `quad backup` made, or make one of this database with `quad backup`",
                ));
            }
        }
        let connection = sqlite::open_immutable(file).map_err(|error| not_a_database(file, error))?;
        let connection =
            sqlite::Conn::read_only(connection, file).map_err(|error| not_a_database(file, error))?;
        let connection = Connection::Sqlite(connection);
        let copy = DatabaseCopy { connection: Arc::new(Mutex::new(connection)) };
        let is_ours =
            metadata.is_file() && copy.has_table("migration").map_err(|error| not_a_database(file, error))?;
        if is_ours { Ok(copy) } else { Err(not_a_database(file, "there is no table migration")) }
    }

    /// Checks every page, row and index.
    pub async fn check_integrity(&self) -> Result<()> {
        let check = |connection: &mut Connection| {
            let rows = connection.query("PRAGMA integrity_check(1)", &[])?;
            match rows.first().map(|row| row.text(0)).transpose()? {
                Some("ok") => Ok(()),
                problem => Err(damaged(problem.unwrap_or("no answer"))),
            }
        };
        // A page that cannot be read at all ends the check with an error.
        self.run(check).await.map_err(|error| match error.kind() {
            Kind::Internal => damaged(&error.cause_chain()),
            _ => error,
        })
    }

    /// What the copy holds beside the tables; `None` if it is a plain copy.
    pub fn items(&self) -> Result<Option<Vec<BackupItem>>> {
        if !self.has_table("backup_item")? {
            return Ok(None);
        }
        let mut connection = self.connection.lock_unpoisoned();
        let rows = connection.query("SELECT name, content FROM backup_item ORDER BY name", &[])?;
        let item = |row: &crate::Row| {
            Ok(BackupItem { name: row.text(0)?.to_owned(), content: row.blob(1)?.to_vec() })
        };
        rows.iter().map(item).collect::<Result<_>>().map(Some)
    }

    /// The ids of all tenants, and `system`.
    pub async fn tenants(&self) -> Result<Vec<TenantId>> {
        let list = |snapshot: &mut Snapshot<'_>| {
            let rows = snapshot.query("SELECT tenant_id FROM head ORDER BY tenant_id", &[])?;
            rows.iter().map(|row| Ok(TenantId::new(row.text(0)?))).collect()
        };
        self.snapshot(&TenantId::system(), list).await
    }

    fn has_table(&self, name: &str) -> Result<bool> {
        let mut connection = self.connection.lock_unpoisoned();
        let select = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1";
        Ok(connection.query_opt(select, params![name])?.is_some())
    }

    async fn run<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let connection = self.connection.clone();
        let task = tokio::task::spawn_blocking(move || f(&mut connection.lock_unpoisoned()));
        task.await.map_err(Error::internal)?
    }
}

impl SnapshotSource for DatabaseCopy {
    async fn snapshot<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        mut f: impl FnMut(&mut Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let tenant = tenant.clone();
        self.run(move |connection| run_snapshot(connection, &tenant, &mut f).map_err(TxError::into_error))
            .await
    }
}

fn not_a_database(file: &Path, cause: impl std::fmt::Display) -> Error {
    Error::bad_input(format!("{} is not a quad database", file.display()))
        .hint("Name a file that `quad backup` made")
        .with_cause(cause.to_string())
}

fn damaged(cause: &str) -> Error {
    Error::new(Kind::BadInput, "BACKUP_DAMAGED", "The copy of the database is damaged")
        .hint("Use another backup; `quad backup` verifies each one that it makes")
        .with_cause(cause.to_owned())
}
