//! All Markdown files below a folder at one time, and whether the listing is still current.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Instant, SystemTime};

use quad_core::lock::MutexExt as _;

use super::inotify::Watch;
use crate::limits::{FULL_RESCAN_INTERVAL, MTIME_RESOLUTION};
use crate::project::dir_listing::DirListing;
use crate::project::project_dir::{FileEntry, FileStamp, ProjectDir};

/// The files and folders below one folder.
#[derive(Debug)]
pub struct DirScan {
    scanned_at: SystemTime,
    dirs: Vec<(PathBuf, SystemTime)>,
    files: Vec<ScannedFile>,
    /// Symbolic links and what they resolved to.
    links: Vec<(PathBuf, Option<PathBuf>)>,
    /// Present if inotify reports every change below the folder.
    watch: Option<WatchedDir>,
}

#[derive(Debug)]
struct ScannedFile {
    path: PathBuf,
    stamp: FileStamp,
    is_linked: bool,
}

/// A folder that has been watched since before it was listed.
#[derive(Debug)]
struct WatchedDir {
    watch: Watch,
    root_id: Option<DirId>,
    /// When every file was last checked; `None` after an event, until all files have been checked again.
    last_full_check: Mutex<Option<Instant>>,
}

impl WatchedDir {
    fn lock_last_full_check(&self) -> MutexGuard<'_, Option<Instant>> {
        self.last_full_check.lock_unpoisoned()
    }
}

/// Device and inode: identify a folder independently of its path.
type DirId = (u64, u64);

impl DirScan {
    /// Lists a folder.
    pub fn scan(folder: &ProjectDir) -> io::Result<(DirScan, Vec<FileEntry>)> {
        let (scanned_at, started) = (SystemTime::now(), Instant::now());
        let root_id = dir_id(folder.root());
        let DirListing { files: entries, dirs: folders, links, watch } = folder.list_and_watch()?;
        let scanned_file = |entry: &FileEntry| ScannedFile {
            path: folder.root().join(&entry.path),
            stamp: FileStamp { size: entry.size, modified: entry.modified },
            is_linked: entry.is_linked,
        };
        let files = entries.iter().map(scanned_file).collect();
        let watch =
            watch.map(|watch| WatchedDir { watch, root_id, last_full_check: Mutex::new(Some(started)) });
        Ok((DirScan { scanned_at, dirs: folders, files, links, watch }, entries))
    }

    /// Whether a new scan would find the same.
    pub fn is_unchanged(&self) -> bool {
        if self.has_no_events() {
            return true;
        }
        let started = Instant::now();
        let unchanged = self.stamps_match();
        if let Some(watched) = self.watch.as_ref().filter(|_| unchanged) {
            *watched.lock_last_full_check() = Some(started);
        }
        unchanged
    }

    /// Whether the folder is watched, had no event, and was fully checked within [`FULL_RESCAN_INTERVAL`]. `false`
    /// means unknown, not changed.
    pub fn has_no_events(&self) -> bool {
        let Some(watched) = &self.watch else { return false };
        let mut last_full_check = watched.lock_last_full_check();
        if watched.watch.drain_events() {
            *last_full_check = None;
        }
        // The folder may have been moved away, or replaced by another.
        last_full_check.is_some_and(|checked_at| checked_at.elapsed() < FULL_RESCAN_INTERVAL)
            && watched.root_id.is_some()
            && watched.root_id == self.root().and_then(dir_id)
    }

    /// Compares the stamp of each folder and each file; opens none. A path that changed shortly before the scan could
    /// have changed again with the same modification time, so it never counts as unchanged.
    fn stamps_match(&self) -> bool {
        let is_settled =
            |at: SystemTime| self.scanned_at.duration_since(at).is_ok_and(|age| age > MTIME_RESOLUTION);
        let is_same_dir = |(path, modified): &(PathBuf, SystemTime)| {
            is_settled(*modified)
                && fs::metadata(path).is_ok_and(|now| now.modified().is_ok_and(|at| at == *modified))
        };
        let is_same_file = |file: &ScannedFile| {
            let metadata =
                if file.is_linked { fs::metadata(&file.path) } else { fs::symlink_metadata(&file.path) };
            is_settled(file.stamp.modified)
                && metadata.is_ok_and(|now| now.is_file() && FileStamp::from(&now) == file.stamp)
        };
        let is_same_link = |(path, target): &(PathBuf, Option<PathBuf>)| path.canonicalize().ok() == *target;
        self.links.iter().all(is_same_link)
            && self.dirs.iter().all(is_same_dir)
            && self.files.iter().all(is_same_file)
    }

    fn root(&self) -> Option<&Path> {
        self.dirs.first().map(|(path, _)| path.as_path())
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// The folder that a path leads to now.
fn dir_id(path: &Path) -> Option<DirId> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dir_scan_detects_add_remove_modify() {
        let root = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_secs(60);
        let set_old_mtime = |path: &std::path::Path| fs::File::open(path).unwrap().set_modified(old).unwrap();
        let (subdir, file) = (root.path().join("a"), root.path().join("a/x.md"));
        fs::create_dir(&subdir).unwrap();
        fs::write(&file, "x").unwrap();
        let rescan = || {
            for path in [&file, &subdir, &root.path().to_owned()] {
                set_old_mtime(path);
            }
            DirScan::scan(&ProjectDir::new(root.path())).unwrap().0
        };
        assert!(rescan().is_unchanged());
        let dir_scan = rescan();
        fs::write(&file, "y").unwrap();
        assert!(!dir_scan.is_unchanged(), "the text changed");
        let dir_scan = rescan();
        fs::write(subdir.join("y.txt"), "y").unwrap();
        assert!(!dir_scan.is_unchanged(), "an entry was added to a folder");
        let dir_scan = rescan();
        fs::write(&file, "z").unwrap();
        set_old_mtime(&file);
        assert!(
            dir_scan.is_unchanged(),
            "same size and same old modification time: a forged stamp cannot be detected"
        );
        let fresh = DirScan::scan(&ProjectDir::new(root.path())).unwrap().0;
        fs::write(root.path().join("new.md"), "n").unwrap();
        assert!(!fresh.is_unchanged());
        let fresh = DirScan::scan(&ProjectDir::new(root.path())).unwrap().0;
        assert!(!fresh.stamps_match(), "recent modification times are not trusted");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn dir_scan_skips_stat_when_inotify_is_silent() {
        let root = tempfile::tempdir().unwrap();
        let plan = root.path().join("plan");
        fs::create_dir_all(plan.join("work")).unwrap();
        fs::write(plan.join("work/a.md"), "a").unwrap();
        let rescan = || DirScan::scan(&ProjectDir::new(&plan)).unwrap().0;
        let dir_scan = rescan();
        assert!(dir_scan.watch.is_some());
        assert!(
            dir_scan.is_unchanged() && !dir_scan.stamps_match(),
            "recent modification times do not matter without an event"
        );
        // Size and modification time are unchanged; only inotify reports this change.
        let file = plan.join("work/a.md");
        let stamp = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "b").unwrap();
        fs::File::open(&file).unwrap().set_modified(stamp).unwrap();
        assert!(!dir_scan.is_unchanged());
        assert!(!dir_scan.is_unchanged(), "the second check does not trust it either");
        // A folder that was created later is watched by the scan that lists it.
        fs::create_dir(plan.join("bugs")).unwrap();
        let dir_scan = rescan();
        fs::write(plan.join("bugs/b.md"), "b").unwrap();
        assert!(!dir_scan.is_unchanged());
        // The whole folder moves: by its own name, then by that of its parent.
        let dir_scan = rescan();
        fs::rename(&plan, root.path().join("old")).unwrap();
        assert!(!dir_scan.is_unchanged());
        fs::rename(root.path().join("old"), &plan).unwrap();
        let (dir_scan, elsewhere) = (rescan(), tempfile::tempdir().unwrap());
        fs::rename(root.path(), elsewhere.path().join("moved")).unwrap();
        assert!(!dir_scan.is_unchanged());
    }
}
