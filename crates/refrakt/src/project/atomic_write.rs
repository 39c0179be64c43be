//! Atomic writes of project files.
//!
//! A new text is written to a temporary file beside the target and synced, then renamed over the target. A concurrent
//! reader sees the old or the new text. One process at a time writes: the lock is a file lock on the plan folder.
//! Editors do not take the lock, so the old text is compared once more right before the rename.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use quad_core::canonical::sha256_hex;

use super::project_dir::ProjectDir;

/// How long to wait for another process that writes.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often to try the lock.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// An exclusive lock on a folder, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct WriteLock {
    _folder: File,
}

impl WriteLock {
    /// Waits for the lock. `None` if another process keeps it for 5 seconds.
    pub fn acquire(folder: &ProjectDir) -> io::Result<Option<WriteLock>> {
        WriteLock::acquire_within(folder, LOCK_WAIT_MAX)
    }

    /// Takes the lock if it is free.
    pub fn try_acquire(folder: &ProjectDir) -> io::Result<Option<WriteLock>> {
        WriteLock::acquire_within(folder, Duration::ZERO)
    }

    fn acquire_within(folder: &ProjectDir, timeout: Duration) -> io::Result<Option<WriteLock>> {
        let file = File::open(folder.root())?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(WriteLock { _folder: file })),
                Err(TryLockError::WouldBlock) if started.elapsed() >= timeout => return Ok(None),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_POLL_INTERVAL),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// A text in a temporary file, ready to replace its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFile {
    /// The target, relative to the folder.
    pub file: String,
    /// The temporary file.
    pub temp_path: PathBuf,
    /// SHA-256 of the text that it replaces; `None` for a new file.
    pub before_hash: Option<String>,
    /// SHA-256 of the new text.
    pub after_hash: String,
    target: PathBuf,
}

/// Why a file was not replaced.
#[derive(Debug)]
pub enum CommitError {
    /// The target has changed since it was read, or was created in the meantime.
    Changed,
    /// The file system returned an error.
    Failed(io::Error),
}

impl From<io::Error> for CommitError {
    fn from(error: io::Error) -> CommitError {
        match error.kind() {
            io::ErrorKind::AlreadyExists => CommitError::Changed,
            _ => CommitError::Failed(error),
        }
    }
}

/// Writes and syncs a temporary file beside the target. `before_hash` is the hash of the text that it replaces.
pub fn stage(
    folder: &ProjectDir,
    file: &str,
    before_hash: Option<&str>,
    text: &str,
) -> io::Result<StagedFile> {
    let outside_error =
        || io::Error::new(io::ErrorKind::InvalidInput, "the file would lie outside the folder");
    let mut target = folder.join_checked(file).ok_or_else(outside_error)?;
    if before_hash.is_some() {
        // A file that is reached through a symbolic link is replaced where it is, and the link stays.
        target = folder.resolve(file).ok_or_else(outside_error)?;
    }
    let parent = target.parent().ok_or_else(outside_error)?;
    if before_hash.is_none() {
        fs::create_dir_all(parent)?;
    }
    // A folder that is a symbolic link could lead out of the project.
    if !folder.contains(&parent.canonicalize()?) {
        return Err(outside_error());
    }
    let name = target.file_name().and_then(|name| name.to_str()).ok_or_else(outside_error)?;
    // Hidden and without a Markdown extension, so that no listing takes it for a part of the plan.
    let unique = quad_core::id::ulid().map_err(io::Error::other)?;
    let temp_path = parent.join(format!(".{name}.{unique}.tmp"));
    let mut temp_file = File::options().write(true).create_new(true).open(&temp_path)?;
    let write_result = temp_file.write_all(text.as_bytes()).and_then(|()| {
        if before_hash.is_some() {
            temp_file.set_permissions(fs::metadata(&target)?.permissions())?;
        }
        temp_file.sync_all()
    });
    if let Err(error) = write_result {
        let _ = fs::remove_file(&temp_path);
        return Err(error);
    }
    let (before_hash, after_hash) = (before_hash.map(str::to_owned), sha256_hex(text.as_bytes()));
    Ok(StagedFile { file: file.to_owned(), temp_path, before_hash, after_hash, target })
}

impl StagedFile {
    /// Replaces the target.
    pub fn commit(&self) -> Result<(), CommitError> {
        match &self.before_hash {
            Some(before_hash) => {
                if file_hash(&self.target)?.as_ref() != Some(before_hash) {
                    return Err(CommitError::Changed);
                }
                fs::rename(&self.temp_path, &self.target)?;
            }
            None => {
                // Unlike a rename, a hard link never replaces an existing file.
                fs::hard_link(&self.temp_path, &self.target)?;
                let _ = fs::remove_file(&self.temp_path);
            }
        }
        // The new name is durable only after the folder is synced.
        if let Some(folder) = self.target.parent().and_then(|parent| File::open(parent).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Removes the temporary file.
    pub fn discard(&self) {
        let _ = fs::remove_file(&self.temp_path);
    }
}

/// SHA-256 of a file, in hexadecimal; `None` if there is no such file.
pub fn file_hash(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(sha256_hex(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn commit_replaces_file_and_removes_temp_file() {
        let root = tempfile::tempdir().unwrap();
        let folder = ProjectDir::new(root.path());
        let created = stage(&folder, "work/a.md", None, "one").unwrap();
        assert_eq!(folder.markdown_count(), 0, "what waits is no part of the plan");
        created.commit().unwrap();
        let duplicate = stage(&folder, "work/a.md", None, "other").unwrap();
        assert!(matches!(duplicate.commit(), Err(CommitError::Changed)), "a new file never replaces one");
        duplicate.discard();
        let updated = stage(&folder, "work/a.md", Some(&created.after_hash), "two").unwrap();
        updated.commit().unwrap();
        assert_eq!(fs::read_to_string(root.path().join("work/a.md")).unwrap(), "two");
        assert_eq!(file_names(&root.path().join("work")), ["a.md"]);
    }

    #[test]
    fn commit_fails_if_target_changed() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a.md");
        fs::write(&file, "old").unwrap();
        let before_hash = file_hash(&file).unwrap().unwrap();
        let staged = stage(&ProjectDir::new(root.path()), "a.md", Some(&before_hash), "ours").unwrap();
        fs::write(&file, "theirs").unwrap();
        assert!(matches!(staged.commit(), Err(CommitError::Changed)));
        staged.discard();
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        assert_eq!(file_names(root.path()), ["a.md"]);
    }

    #[test]
    fn stage_rejects_paths_outside_dir() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = ProjectDir::new(root.path());
        assert!(stage(&folder, "../a.md", None, "x").is_err());
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("work")).unwrap();
        assert!(stage(&folder, "work/a.md", None, "x").is_err());
        assert!(file_names(elsewhere.path()).is_empty());
    }

    #[test]
    fn linked_file_is_replaced_where_it_is() {
        let project = tempfile::tempdir().unwrap();
        for dir in ["plan", "docs"] {
            fs::create_dir(project.path().join(dir)).unwrap();
        }
        let file = project.path().join("docs/a.md");
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("../docs/a.md", project.path().join("plan/a.md")).unwrap();
        let folder = ProjectDir::new(project.path().join("plan")).within(project.path());
        let before_hash = file_hash(&file).unwrap().unwrap();
        stage(&folder, "a.md", Some(&before_hash), "new").unwrap().commit().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(project.path().join("plan/a.md")).unwrap().is_symlink());
        assert_eq!(file_names(&project.path().join("docs")), ["a.md"]);
        let alone = ProjectDir::new(project.path().join("plan"));
        assert!(stage(&alone, "a.md", Some(&before_hash), "x").is_err(), "the link leads out of this folder");
    }

    #[test]
    fn write_lock_is_exclusive() {
        let root = tempfile::tempdir().unwrap();
        let folder = ProjectDir::new(root.path());
        let lock = WriteLock::acquire(&folder).unwrap();
        assert!(lock.is_some());
        assert!(WriteLock::try_acquire(&folder).unwrap().is_none());
        drop(lock);
        assert!(WriteLock::try_acquire(&folder).unwrap().is_some());
    }
}
