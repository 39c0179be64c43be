//! Writing files of the project, each whole or not at all.
//!
//! A new text is written beside its place and put to disk; only then, in one step, does it take the place of the old one. Whoever
//! reads meanwhile has the old text or the new. One process at a time writes: the plan folder itself is the lock. Editors do not
//! know of the lock, so the old text is compared once more right before it is replaced.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use quad_core::canonical::sha256_hex;

use super::folder::Folder;

/// How long to wait for another process that writes.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often to look whether it has finished.
const LOCK_LOOK: Duration = Duration::from_millis(10);

/// The right to write below a folder, until it is dropped or the process ends.
#[derive(Debug)]
pub struct WriteLock {
    _folder: File,
}

impl WriteLock {
    /// Waits for the right to write. `None` if another process keeps it.
    pub fn take(folder: &Folder) -> io::Result<Option<WriteLock>> {
        WriteLock::within(folder, LOCK_WAIT_MAX)
    }

    /// The right to write, if nobody has it this moment.
    pub fn take_now(folder: &Folder) -> io::Result<Option<WriteLock>> {
        WriteLock::within(folder, Duration::ZERO)
    }

    fn within(folder: &Folder, patience: Duration) -> io::Result<Option<WriteLock>> {
        let file = File::open(folder.root())?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(WriteLock { _folder: file })),
                Err(TryLockError::WouldBlock) if since.elapsed() >= patience => return Ok(None),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_LOOK),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// A text on disk that waits to take its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Where it belongs, below the folder.
    pub file: String,
    /// Where it waits.
    pub waiting: PathBuf,
    /// SHA-256 of the text that it replaces; none for a file that is new.
    pub before: Option<String>,
    /// SHA-256 of it.
    pub after: String,
    target: PathBuf,
}

/// Why a text did not take its place.
#[derive(Debug)]
pub enum NotPlaced {
    /// The file is no longer what it was: somebody saved it meanwhile, or made one of that name.
    Changed,
    /// The file system refused.
    Failed(io::Error),
}

impl From<io::Error> for NotPlaced {
    fn from(error: io::Error) -> NotPlaced {
        match error.kind() {
            io::ErrorKind::AlreadyExists => NotPlaced::Changed,
            _ => NotPlaced::Failed(error),
        }
    }
}

/// Writes a text beside its place, through to the disk. `before` is the hash of what it replaces.
pub fn prepare(folder: &Folder, file: &str, before: Option<&str>, text: &str) -> io::Result<Prepared> {
    let outside = || io::Error::new(io::ErrorKind::InvalidInput, "the file would lie outside the folder");
    let target = folder.inside(file).ok_or_else(outside)?;
    let parent = target.parent().ok_or_else(outside)?;
    if before.is_none() {
        fs::create_dir_all(parent)?;
    }
    // A folder that is a link would lead out.
    if !parent.canonicalize()?.starts_with(folder.root().canonicalize()?) {
        return Err(outside());
    }
    let name = target.file_name().and_then(|name| name.to_str()).ok_or_else(outside)?;
    // Hidden, and no Markdown by its name, so that nothing takes it for a part of the plan.
    let unique = quad_core::id::ulid().map_err(io::Error::other)?;
    let waiting = parent.join(format!(".{name}.{unique}.tmp"));
    let mut written = File::options().write(true).create_new(true).open(&waiting)?;
    let put = written.write_all(text.as_bytes()).and_then(|()| {
        if before.is_some() {
            written.set_permissions(fs::metadata(&target)?.permissions())?;
        }
        written.sync_all()
    });
    if let Err(error) = put {
        let _ = fs::remove_file(&waiting);
        return Err(error);
    }
    let (before, after) = (before.map(str::to_owned), sha256_hex(text.as_bytes()));
    Ok(Prepared { file: file.to_owned(), waiting, before, after, target })
}

impl Prepared {
    /// Takes its place.
    pub fn place(&self) -> Result<(), NotPlaced> {
        match &self.before {
            Some(before) => {
                if hash_at(&self.target)?.as_ref() != Some(before) {
                    return Err(NotPlaced::Changed);
                }
                fs::rename(&self.waiting, &self.target)?;
            }
            None => {
                // Unlike a renaming, a second name never takes the place of a file that is there.
                fs::hard_link(&self.waiting, &self.target)?;
                let _ = fs::remove_file(&self.waiting);
            }
        }
        // The new name is on disk only when its folder is.
        if let Some(folder) = self.target.parent().and_then(|parent| File::open(parent).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Gives up. What waits is taken away.
    pub fn discard(&self) {
        let _ = fs::remove_file(&self.waiting);
    }
}

/// SHA-256 of a file, in hexadecimal; none where there is no file.
pub fn hash_at(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(sha256_hex(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_text_takes_its_place_and_leaves_nothing_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        let made = prepare(&folder, "work/a.md", None, "one").unwrap();
        assert_eq!(folder.markdown_count(), 0, "what waits is no part of the plan");
        made.place().unwrap();
        let again = prepare(&folder, "work/a.md", None, "other").unwrap();
        assert!(matches!(again.place(), Err(NotPlaced::Changed)), "a new file never replaces one");
        again.discard();
        let changed = prepare(&folder, "work/a.md", Some(&made.after), "two").unwrap();
        changed.place().unwrap();
        assert_eq!(fs::read_to_string(root.path().join("work/a.md")).unwrap(), "two");
        assert_eq!(names(&root.path().join("work")), ["a.md"]);
    }

    #[test]
    fn a_file_that_somebody_saved_meanwhile_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a.md");
        fs::write(&file, "old").unwrap();
        let before = hash_at(&file).unwrap().unwrap();
        let prepared = prepare(&Folder::new(root.path()), "a.md", Some(&before), "ours").unwrap();
        fs::write(&file, "theirs").unwrap();
        assert!(matches!(prepared.place(), Err(NotPlaced::Changed)));
        prepared.discard();
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        assert_eq!(names(root.path()), ["a.md"]);
    }

    #[test]
    fn nothing_is_written_outside() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::new(root.path());
        assert!(prepare(&folder, "../a.md", None, "x").is_err());
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("work")).unwrap();
        assert!(prepare(&folder, "work/a.md", None, "x").is_err());
        assert!(names(elsewhere.path()).is_empty());
    }

    #[test]
    fn one_writes_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        let lock = WriteLock::take(&folder).unwrap();
        assert!(lock.is_some());
        assert!(WriteLock::take_now(&folder).unwrap().is_none());
        drop(lock);
        assert!(WriteLock::take_now(&folder).unwrap().is_some());
    }
}
