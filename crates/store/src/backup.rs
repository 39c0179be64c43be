//! A consistent copy of the SQLite database, made while it is in use.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use quad_core::{Error, Kind, Result};

use crate::connection::sqlite;
use crate::{Location, Store, limits};

impl Store {
    /// Copies the database into a new file. `progress` gets the number of copied pages and the total.
    pub async fn backup(&self, to: &Path, mut progress: impl FnMut(u64, u64) + Send + 'static) -> Result<()> {
        let Location::Sqlite(file) = self.location() else {
            return Err(Error::new(Kind::BadInput, "BACKUP_UNSUPPORTED", "This data is in PostgreSQL")
                .hint("Use pg_dump, or your server's own backups"));
        };
        let (file, to) = (file.clone(), to.to_owned());
        let copy = move || -> Result<()> {
            // Never overwrites: a backup that replaces an older one by mistake is worse than none. Only the owner can
            // read it, like the database itself.
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&to).map_err(
                |error| {
                    let hint = format!("Choose a new file in an existing folder: {error}");
                    Error::bad_input(format!("{} cannot be created", to.display())).hint(hint)
                },
            )?;
            let source = sqlite::Conn::open(&file)?;
            let mut target = rusqlite::Connection::open(&to).map_err(Error::internal)?;
            let backup =
                rusqlite::backup::Backup::new(&source.inner, &mut target).map_err(Error::internal)?;
            loop {
                let step = backup.step(limits::BACKUP_STEP_PAGES).map_err(Error::internal)?;
                let page_counts = backup.progress();
                let total = u64::try_from(page_counts.pagecount).unwrap_or(0);
                progress(total.saturating_sub(u64::try_from(page_counts.remaining).unwrap_or(0)), total);
                match step {
                    rusqlite::backup::StepResult::Done => return Ok(()),
                    rusqlite::backup::StepResult::More => {}
                    // Another connection is writing: wait.
                    _ => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        };
        tokio::task::spawn_blocking(copy).await.map_err(Error::internal)?
    }
}
