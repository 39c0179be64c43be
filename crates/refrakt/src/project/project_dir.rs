//! Reads a project's folder. The paths that were read are recorded in an [`FsDependencies`]; a
//! [`DirScan`](crate::project_cache::dir_scan::DirScan) tells whether a listing is still current. Only
//! [`atomic_write`](super::atomic_write) writes.
//!
//! Symbolic links to folders are skipped in listings, as the npm package does, so no listing leaves the folder.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use crate::limits::{
    CONFIG_FILE_BYTES_MAX, PAGE_FILE_BYTES_MAX, PLAN_DEPTH_MAX, PLAN_FILE_BYTES_MAX, PLAN_FILES_MAX,
    READ_RETRIES_MAX, SAVE_SETTLE_TIME, TRUNCATED_FILE_GRACE,
};
use crate::project_cache::fs_dependencies::FsDependencies;
use crate::project_cache::inotify::Watch;

/// A folder that may be read.
#[derive(Clone, Debug)]
pub struct ProjectDir {
    root: PathBuf,
    dependencies: Option<FsDependencies>,
    /// Whether a listing skips folders whose name begins with a dot.
    ignore_hidden: bool,
}

/// Why a subfolder cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirError {
    /// It does not exist.
    Missing,
    /// Its path, or a symbolic link in it, leads out of the project.
    Outside,
}

/// A Markdown file in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Path below the listed folder, with `/` as separator.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time.
    pub modified: SystemTime,
}

impl ProjectDir {
    /// A folder.
    pub fn new(root: impl Into<PathBuf>) -> ProjectDir {
        ProjectDir { root: root.into(), dependencies: None, ignore_hidden: false }
    }

    /// A folder whose reads are recorded in `dependencies`.
    pub fn recording(root: impl Into<PathBuf>, dependencies: FsDependencies) -> ProjectDir {
        ProjectDir { root: root.into(), dependencies: Some(dependencies), ignore_hidden: false }
    }

    /// Its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the folder; `None` if it leads out of it.
    pub fn join_checked(&self, relative: &str) -> Option<PathBuf> {
        let mut path = self.root.clone();
        for part in Path::new(relative).components() {
            match part {
                Component::Normal(part) => path.push(part),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(path)
    }

    /// A subfolder whose hidden folders are skipped. Its path may contain symbolic links that stay within the project.
    pub fn subdir_checked(&self, relative: &str) -> Result<ProjectDir, DirError> {
        let path = self.join_checked(relative).ok_or(DirError::Outside)?;
        let canonicalize = |path: &Path| path.canonicalize().map_err(|_| DirError::Missing);
        let (root, project_root) = (canonicalize(&path)?, canonicalize(&self.root)?);
        if !root.starts_with(project_root) {
            return Err(DirError::Outside);
        }
        if !root.is_dir() {
            return Err(DirError::Missing);
        }
        Ok(ProjectDir { root, dependencies: None, ignore_hidden: true })
    }

    /// Whether a path below the folder is a folder.
    pub fn has_dir(&self, relative: &str) -> bool {
        let Some(path) = self.join_checked(relative) else { return false };
        let exists = path.is_dir();
        if let Some(dependencies) = &self.dependencies {
            dependencies.record_dir(path, exists);
        }
        exists
    }

    /// A small text file; `None` if there is no such file.
    pub fn read_small_file(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.join_checked(relative) else { return Ok(None) };
        // The stamp is taken before the read: a save in between then shows as a later change.
        let stamp = self.dependencies.as_ref().map(|dependencies| (dependencies, FileStamp::read(&path)));
        let text = read_stable(&path, CONFIG_FILE_BYTES_MAX);
        if let Some((dependencies, stamp)) = stamp {
            dependencies.record_file(path, stamp, text.as_ref().ok().and_then(Option::as_deref));
        }
        text
    }

    /// A plan file; `None` if there is no such file.
    pub fn read_plan_file(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.join_checked(relative) else { return Ok(None) };
        read_stable(&path, PLAN_FILE_BYTES_MAX)
    }

    /// A page; `None` if there is no such file.
    pub fn read_page(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.join_checked(relative) else { return Ok(None) };
        read_stable(&path, PAGE_FILE_BYTES_MAX)
    }

    /// Names of the folders directly below a path, sorted; empty if there is no such path.
    pub fn dir_names(&self, relative: &str) -> Vec<String> {
        let Some(path) = self.join_checked(relative) else { return Vec::new() };
        if let Some(dependencies) = &self.dependencies {
            dependencies.record_listing(path.clone(), FileStamp::read(&path));
        }
        let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    /// Every Markdown file below the folder, depth first, the entries of each folder in byte order; and every folder with
    /// its modification time, which changes whenever an entry is added or removed. Each folder is watched before it is
    /// listed, so that no change is missed.
    pub(crate) fn list_and_watch(&self) -> io::Result<DirListing> {
        let mut listing =
            DirListing { ignore_hidden: self.ignore_hidden, watch: Watch::new(), ..DirListing::default() };
        listing.visit_dir(&self.root, "", 0)?;
        Ok(listing)
    }

    /// The number of Markdown files below the folder. Cheaper than a listing, because it does not stat the files.
    pub fn markdown_count(&self) -> usize {
        count_markdown_files(&self.root, 0, PLAN_FILES_MAX)
    }
}

/// Tells two states of a file apart without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub size: u64,
    pub modified: SystemTime,
}

impl FileStamp {
    /// The stamp of a path; `None` if it does not exist.
    pub(crate) fn read(path: &Path) -> Option<FileStamp> {
        fs::metadata(path).ok().map(|metadata| FileStamp::from(&metadata))
    }
}

impl From<&fs::Metadata> for FileStamp {
    fn from(metadata: &fs::Metadata) -> FileStamp {
        FileStamp { size: metadata.len(), modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH) }
    }
}

/// The result of a listing.
#[derive(Default)]
pub(crate) struct DirListing {
    pub files: Vec<FileEntry>,
    /// The folders with their modification times.
    pub dirs: Vec<(PathBuf, SystemTime)>,
    /// A watch on all of these folders, if all of them could be watched.
    pub(crate) watch: Option<Watch>,
    ignore_hidden: bool,
}

impl DirListing {
    fn visit_dir(&mut self, dir: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        if depth > PLAN_DEPTH_MAX {
            return Ok(());
        }
        self.watch = self.watch.take().filter(|watch| watch.add(dir));
        // Read before the listing: an entry that is added in between then shows as a later change.
        let modified = fs::metadata(dir)?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let mut entries: Vec<(String, fs::DirEntry)> = fs::read_dir(dir)?
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
            .collect();
        self.dirs.push((dir.to_owned(), modified));
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, entry) in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            if kind.is_dir() {
                if self.ignore_hidden && name.starts_with('.') {
                    continue;
                }
                // A folder that was deleted in the meantime does not fail the listing.
                let _ = self.visit_dir(&entry.path(), &path, depth + 1);
            } else if kind.is_file() && name.ends_with(".md") && self.files.len() < PLAN_FILES_MAX {
                let Ok(metadata) = entry.metadata() else { continue };
                let FileStamp { size, modified } = FileStamp::from(&metadata);
                self.files.push(FileEntry { path, size, modified });
            }
        }
        Ok(())
    }
}

fn count_markdown_files(dir: &Path, depth: usize, limit: usize) -> usize {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let mut total = 0;
    for entry in entries.filter_map(Result::ok) {
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
        if kind.is_dir() && depth < PLAN_DEPTH_MAX {
            total += count_markdown_files(&entry.path(), depth + 1, limit.saturating_sub(total));
        } else if kind.is_file() && name.to_str().is_some_and(|name| name.ends_with(".md")) {
            total += 1;
        }
        if total >= limit {
            return limit;
        }
    }
    total
}

/// Reads a whole text file. Most editors replace a file by rename; some truncate it and write it again. A file that
/// changes during the read, or changed immediately before it, is read again.
fn read_stable(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    for _ in 0..READ_RETRIES_MAX {
        let before = FileStamp::read(path);
        let text = read_once(path, bytes_max)?;
        let is_settled = |stamp: FileStamp| {
            let age_min = if stamp.size == 0 { TRUNCATED_FILE_GRACE } else { SAVE_SETTLE_TIME };
            // A modification time in the future proves nothing.
            stamp.modified.elapsed().map_or(true, |age| age >= age_min)
        };
        if before == FileStamp::read(path) && before.is_none_or(is_settled) {
            return Ok(text);
        }
        thread::sleep(SAVE_SETTLE_TIME);
    }
    read_once(path, bytes_max)
}

/// Reads a whole text file once. Invalid UTF-8 is replaced.
fn read_once(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(bytes_max)).unwrap_or(0));
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("the file is larger than {bytes_max} bytes")));
    }
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_checked_rejects_paths_outside_dir() {
        let folder = ProjectDir::new("/p");
        assert_eq!(folder.join_checked("a/./b"), Some(PathBuf::from("/p/a/b")));
        for outside in ["..", "a/../../b", "/etc", "a/.."] {
            assert_eq!(folder.join_checked(outside), None, "{outside}");
        }
    }

    #[test]
    fn markdown_files_are_depth_first_in_byte_order() {
        let root = tempfile::tempdir().unwrap();
        for path in ["b.md", "a/z.md", "a/B/x.md", "a/y.txt", "C.md", ".hidden.md"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let files = ProjectDir::new(root.path()).list_and_watch().unwrap().files;
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".hidden.md", "C.md", "a/B/x.md", "a/z.md", "b.md"]);
        assert_eq!(ProjectDir::new(root.path()).markdown_count(), paths.len());
    }

    #[test]
    fn read_waits_for_truncated_file_to_be_filled() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.md");
        fs::write(&path, "").unwrap();
        let (emptied, filled) = (path.clone(), path.clone());
        let editor = thread::spawn(move || {
            thread::sleep(SAVE_SETTLE_TIME);
            assert_eq!(fs::metadata(&emptied).unwrap().len(), 0);
            fs::write(&filled, "all of it").unwrap();
        });
        assert_eq!(
            ProjectDir::new(root.path()).read_plan_file("a.md").unwrap().as_deref(),
            Some("all of it")
        );
        editor.join().unwrap();
    }

    #[test]
    fn read_small_file_handles_oversized_and_non_utf8_files() {
        let root = tempfile::tempdir().unwrap();
        let folder = ProjectDir::new(root.path());
        fs::write(root.path().join("big"), vec![b' '; CONFIG_FILE_BYTES_MAX as usize + 1]).unwrap();
        fs::write(root.path().join("odd"), [b'a', 0xff]).unwrap();
        assert!(folder.read_small_file("big").is_err());
        assert_eq!(folder.read_small_file("odd").unwrap().as_deref(), Some("a\u{fffd}"));
        assert_eq!(folder.read_small_file("none").unwrap(), None);
        assert_eq!(folder.read_small_file("../none").unwrap(), None);
    }
}
