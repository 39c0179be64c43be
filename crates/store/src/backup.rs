//! A consistent copy of the SQLite database, made while it is in use, with items beside the data.
//!
//! A backup is a SQLite database with one more table, `backup_item`, for what is not in the database: encrypted keys,
//! settings. So it is one file, complete or absent, that any SQLite program can open.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quad_core::{Error, Kind, Result};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::connection::sqlite;
use crate::{Location, Store, limits};

/// Something that a backup holds beside the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupItem {
    /// Its name in the backup.
    pub name: String,
    /// Its contents.
    pub content: Vec<u8>,
}

impl BackupItem {
    /// An item with this text.
    pub fn new(name: &str, text: impl Into<String>) -> BackupItem {
        BackupItem { name: name.to_owned(), content: text.into().into_bytes() }
    }
}

/// A database file that is being written under a temporary name, until [`publish`](UnfinishedBackup::publish). Dropped
/// before, it leaves no file.
#[derive(Debug)]
pub struct UnfinishedBackup {
    temp_path: PathBuf,
    path: PathBuf,
    is_published: bool,
}

impl Store {
    /// Copies the database into a new file. `progress` gets the number of copied pages and the total.
    pub async fn backup(
        &self,
        to: &Path,
        mut progress: impl FnMut(u64, u64) + Send + 'static,
    ) -> Result<UnfinishedBackup> {
        let Location::Sqlite(file) = self.location() else {
            return Err(Error::new(Kind::BadInput, "BACKUP_UNSUPPORTED", "This data is in PostgreSQL").hint(
                "Use pg_dump, or your server's own backups, and keep QUAD_KEY, checkpoints.jsonl and quad.toml with \
                 the dump",
            ));
        };
        let (file, to) = (file.clone(), to.to_owned());
        let copy = move || -> Result<UnfinishedBackup> {
            let backup = UnfinishedBackup::create(&to)?;
            let source = sqlite::Conn::open(&file)?;
            copy_database(&source.inner, backup.temp_path(), &mut progress)?;
            Ok(backup)
        };
        tokio::task::spawn_blocking(copy).await.map_err(Error::internal)?
    }
}

/// Copies all pages of one snapshot. Writers do not wait, and do not make the copy start again: the snapshot is open
/// all the time.
fn copy_database(source: &Connection, to: &Path, progress: &mut (dyn FnMut(u64, u64) + Send)) -> Result<()> {
    source.execute_batch("BEGIN; SELECT COUNT(*) FROM migration;").map_err(Error::internal)?;
    let mut target = Connection::open(to).map_err(Error::internal)?;
    let backup = Backup::new(source, &mut target).map_err(Error::internal)?;
    loop {
        let step = backup.step(limits::BACKUP_STEP_PAGES).map_err(Error::internal)?;
        let page_counts = backup.progress();
        let total = u64::try_from(page_counts.pagecount).unwrap_or(0);
        progress(total.saturating_sub(u64::try_from(page_counts.remaining).unwrap_or(0)), total);
        match step {
            StepResult::Done => break,
            StepResult::More => {}
            // Another connection holds a lock: wait.
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    drop(backup);
    // A copy has no log beside it, so that it is one file.
    target.execute_batch("PRAGMA journal_mode = DELETE;").map_err(Error::internal)?;
    target.close().map_err(|(_, error)| Error::internal(error))?;
    source.execute_batch("ROLLBACK").map_err(Error::internal)
}

impl UnfinishedBackup {
    /// Never overwrites: a backup that replaces an older one by mistake is worse than none. Only the owner can read the
    /// file, like the database itself.
    fn create(to: &Path) -> Result<UnfinishedBackup> {
        if to.exists() {
            return Err(cannot_create(to, "it exists"));
        }
        let temp_path = temporary_name(to);
        create_private(&temp_path)?;
        Ok(UnfinishedBackup { temp_path, path: to.to_owned(), is_published: false })
    }

    /// The copy, until it has its final name.
    pub fn temp_path(&self) -> &Path {
        &self.temp_path
    }

    /// Adds items beside the tables.
    pub fn add_items(&self, items: &[BackupItem]) -> Result<()> {
        let add = || -> rusqlite::Result<()> {
            let mut connection = Connection::open(&self.temp_path)?;
            let transaction = connection.transaction()?;
            transaction.execute_batch(
                "DROP TABLE IF EXISTS backup_item; \
                 CREATE TABLE backup_item (name TEXT NOT NULL PRIMARY KEY, content BLOB NOT NULL);",
            )?;
            for BackupItem { name, content } in items {
                transaction
                    .execute("INSERT INTO backup_item (name, content) VALUES (?1, ?2)", (name, content))?;
            }
            transaction.commit()?;
            connection.close().map_err(|(_, error)| error)
        };
        add().map_err(Error::internal)
    }

    /// Writes the copy to the disk and gives it its final name.
    pub fn publish(mut self) -> Result<()> {
        let publish = || -> std::io::Result<()> {
            File::open(&self.temp_path)?.sync_all()?;
            // Fails if the name is taken meanwhile, which a rename would not.
            std::fs::hard_link(&self.temp_path, &self.path)?;
            std::fs::remove_file(&self.temp_path)?;
            sync_folder(&self.path)
        };
        publish().map_err(|error| write_error(&self.path, &error))?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for UnfinishedBackup {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = std::fs::remove_file(&self.temp_path);
        }
    }
}

/// Copies a backup to a place where no database is, without the items. The name appears when the copy is complete, so an
/// interrupted restore can be run again.
pub fn restore(backup: &Path, to: &Path) -> Result<()> {
    // What an interrupted restore left.
    let _ = std::fs::remove_file(temporary_name(to));
    let unfinished = UnfinishedBackup::create(to)?;
    let restore = || -> rusqlite::Result<()> {
        let source = sqlite::open_immutable(backup)?;
        let mut target = Connection::open(unfinished.temp_path())?;
        Backup::new(&source, &mut target)?.run_to_completion(i32::MAX, Duration::ZERO, None)?;
        target.execute_batch("PRAGMA secure_delete = ON; DROP TABLE IF EXISTS backup_item;")?;
        target.close().map_err(|(_, error)| error)
    };
    restore().map_err(Error::internal)?;
    unfinished.publish()
}

fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

fn create_private(path: &Path) -> Result<()> {
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    created.map(drop).map_err(|error| cannot_create(path, error))
}

fn cannot_create(path: &Path, cause: impl std::fmt::Display) -> Error {
    Error::bad_input(format!("{} cannot be created", path.display()))
        .hint(format!("Choose a new file in an existing folder: {cause}"))
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn write_error(path: &Path, error: &std::io::Error) -> Error {
    Error::bad_input(format!("{} cannot be written: {error}", path.display()))
        .hint("Free some space, or choose another folder")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use quad_core::TenantId;

    use super::*;
    use crate::{Component, DatabaseCopy, SnapshotSource as _, Sql as _, Tx, params, testing};

    const COMPONENT: Component = Component {
        name: "note",
        migrations: &["CREATE TABLE note (tenant_id TEXT NOT NULL, id BIGINT NOT NULL, body TEXT NOT NULL, \
                       PRIMARY KEY (tenant_id, id));"],
    };

    async fn insert_note(store: &Store, id: i64, length: usize) {
        let insert = move |tx: &mut Tx<'_>| {
            tx.execute(
                "INSERT INTO note (tenant_id, id, body) VALUES ('t', $1, $2)",
                params![id, "x".repeat(length)],
            )?;
            Ok(())
        };
        store.write_unaudited(&TenantId::system(), insert).await.unwrap();
    }

    async fn count_notes(copy: &DatabaseCopy) -> i64 {
        let count = |snapshot: &mut crate::Snapshot<'_>| {
            Ok(snapshot.query("SELECT COUNT(*) FROM note", &[])?[0].int(0)?)
        };
        copy.snapshot(&TenantId::system(), count).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn backup_completes_under_constant_writes_with_one_snapshot() {
        let db = testing::sqlite(&[COMPONENT]).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        // Many steps of a backup.
        for id in 0..40 {
            insert_note(&db.store, id, 100_000).await;
        }
        static STOP: AtomicBool = AtomicBool::new(false);
        let writer = db.store.clone();
        let writing = tokio::spawn(async move {
            let mut written = 40;
            while !STOP.load(Ordering::Relaxed) {
                insert_note(&writer, written, 10).await;
                written += 1;
            }
            written
        });
        // A first copy finishes no sooner than the writer has begun.
        let to = folder.path().join("copy.db");
        let backup = tokio::time::timeout(
            Duration::from_secs(60),
            db.store.backup(&to, |_, _| {
                std::thread::sleep(Duration::from_millis(5));
            }),
        );
        let backup = backup.await.expect("the backup starts again with every write").unwrap();
        assert!(!to.exists(), "the name appears with the complete copy");
        backup.add_items(&[BackupItem::new("a", "one"), BackupItem::new("b", "two")]).unwrap();
        backup.publish().unwrap();
        STOP.store(true, Ordering::Relaxed);
        let written = writing.await.unwrap();

        let copy = DatabaseCopy::open(&to).unwrap();
        copy.check_integrity().await.unwrap();
        let count = count_notes(&copy).await;
        assert!((40..=written).contains(&count), "{count} of {written}");
        let items = copy.items().unwrap().unwrap();
        assert_eq!(items, [BackupItem::new("a", "one"), BackupItem::new("b", "two")]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "one file");

        let restored = folder.path().join("quad.db");
        restore(&to, &restored).unwrap();
        let copy = DatabaseCopy::open(&restored).unwrap();
        assert_eq!((count_notes(&copy).await, copy.items().unwrap()), (count, None));
        assert!(restore(&to, &restored).is_err(), "nothing is overwritten");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn dropped_backup_leaves_no_file_and_existing_file_is_kept() {
        let db = testing::sqlite(&[COMPONENT]).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy.db");
        drop(db.store.backup(&to, |_, _| {}).await.unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(&to, "mine").unwrap();
        assert!(db.store.backup(&to, |_, _| {}).await.is_err());
        assert_eq!(std::fs::read(&to).unwrap(), b"mine");
        // A file under the temporary name is not ours.
        let (other, partial) = (folder.path().join("b.db"), folder.path().join("b.db.partial"));
        std::fs::write(&partial, "mine").unwrap();
        assert!(db.store.backup(&other, |_, _| {}).await.is_err());
        assert_eq!(std::fs::read(&partial).unwrap(), b"mine");
        assert!(!other.exists());
    }

    #[test]
    fn other_files_are_not_databases() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("50% of?a#file");
        for text in ["", "text"] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(DatabaseCopy::open(&file).err().unwrap().kind(), Kind::BadInput, "{text}");
        }
        std::fs::remove_file(&file).unwrap();
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch("CREATE TABLE other (id)").unwrap();
        assert!(DatabaseCopy::open(&file).err().unwrap().message().contains("is not a quad database"));
        connection.execute_batch("CREATE TABLE migration (id)").unwrap();
        assert!(DatabaseCopy::open(&file).is_ok());
        let log = folder.path().join("50% of?a#file-wal");
        std::fs::write(&log, "commits").unwrap();
        assert_eq!(DatabaseCopy::open(&file).err().unwrap().code(), "COPY_INCOMPLETE");
        std::fs::remove_file(&log).unwrap();
        assert!(DatabaseCopy::open(folder.path()).is_err());
    }
}
