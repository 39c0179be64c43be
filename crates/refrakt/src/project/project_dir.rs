//! Reads a project's folder. The paths that were read are recorded in an [`FsDependencies`]; a
//! [`DirScan`](crate::project_cache::dir_scan::DirScan) tells whether a listing is still current. Only
//! [`atomic_write`](super::atomic_write) writes.
//!
//! Symbolic links are followed to targets within the project, and never out of it, in listings, pages, shown files and the
//! plan. The configuration and `package.json` are the exception: they are the server's settings, and may be links.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use crate::limits::{
    CONFIG_FILE_BYTES_MAX, PAGE_FILE_BYTES_MAX, PLAN_FILE_BYTES_MAX, READ_RETRIES_MAX, SAVE_SETTLE_TIME,
    TRUNCATED_FILE_GRACE,
};
use crate::project_cache::fs_dependencies::FsDependencies;

use super::dir_listing::DirListing;

/// A folder that may be read.
#[derive(Clone, Debug)]
pub struct ProjectDir {
    root: PathBuf,
    /// Symbolic links are followed to targets below this folder only.
    boundary: PathBuf,
    dependencies: Option<FsDependencies>,
    /// Whether it is a content folder: a listing skips hidden folders, and a linked file is a page of its own.
    is_content: bool,
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
    /// Whether its path has a symbolic link.
    pub is_linked: bool,
}

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// The text. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// The offset of the first byte that is not UTF-8.
    pub invalid_utf8_at: Option<usize>,
}

impl ProjectDir {
    /// A folder.
    pub fn new(root: impl Into<PathBuf>) -> ProjectDir {
        let root = root.into();
        ProjectDir { boundary: root.clone(), root, dependencies: None, is_content: false }
    }

    /// A folder whose reads are recorded in `dependencies`.
    pub fn recording(root: impl Into<PathBuf>, dependencies: FsDependencies) -> ProjectDir {
        ProjectDir { dependencies: Some(dependencies), ..ProjectDir::new(root) }
    }

    /// The folder as a part of a larger one, to which symbolic links may lead.
    pub fn within(self, boundary: impl Into<PathBuf>) -> ProjectDir {
        ProjectDir { boundary: boundary.into(), ..self }
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
        if !root.starts_with(&project_root) {
            return Err(DirError::Outside);
        }
        if !root.is_dir() {
            return Err(DirError::Missing);
        }
        Ok(ProjectDir { is_content: true, ..ProjectDir::new(root).within(project_root) })
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
        let text = read_stable(&path, CONFIG_FILE_BYTES_MAX).map(|file| file.map(|file| file.text));
        if let Some((dependencies, stamp)) = stamp {
            dependencies.record_file(path, stamp, text.as_ref().ok().and_then(Option::as_deref));
        }
        text
    }

    /// A path below the folder with its symbolic links resolved; `None` if there is nothing, or if a link leads out of
    /// the boundary.
    pub fn resolve(&self, relative: &str) -> Option<PathBuf> {
        let path = self.join_checked(relative)?.canonicalize().ok()?;
        self.contains(&path).then_some(path)
    }

    /// Whether a path without symbolic links is within the boundary.
    pub fn contains(&self, canonical: &Path) -> bool {
        self.boundary.canonicalize().is_ok_and(|boundary| canonical.starts_with(boundary))
    }

    /// A file of a listing; `None` if it is gone.
    pub fn read_listed_file(&self, entry: &FileEntry) -> io::Result<Option<FileText>> {
        let path = if entry.is_linked { self.resolve(&entry.path) } else { self.join_checked(&entry.path) };
        path.map_or(Ok(None), |path| read_stable(&path, PLAN_FILE_BYTES_MAX))
    }

    /// A plan file; `None` if there is no such file.
    pub fn read_plan_file(&self, relative: &str) -> io::Result<Option<FileText>> {
        let Some(path) = self.resolve(relative) else { return Ok(None) };
        read_stable(&path, PLAN_FILE_BYTES_MAX)
    }

    /// A page; `None` if there is no such file.
    pub fn read_page(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.resolve(relative) else { return Ok(None) };
        Ok(read_stable(&path, PAGE_FILE_BYTES_MAX)?.map(|file| file.text))
    }

    /// A file that a page shows; `None` if there is no such file. Hidden files hold secrets more often than examples,
    /// so they are not permitted.
    pub fn read_shown_file(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.resolve(relative) else { return Ok(None) };
        let below_root = path.strip_prefix(self.boundary.canonicalize()?).unwrap_or(&path);
        if below_root.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".")) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(read_stable(&path, PAGE_FILE_BYTES_MAX)?.map(|file| file.text))
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
        DirListing::of(&self.root, &self.boundary, self.is_content)
    }

    /// The number of Markdown files below the folder. Cheaper than a listing, because it does not stat the files.
    pub fn markdown_count(&self) -> usize {
        DirListing::paths(&self.root, &self.boundary, self.is_content).len()
    }

    /// The paths of the Markdown files below the folder, in the order of a listing.
    pub(crate) fn markdown_paths(&self) -> Vec<String> {
        DirListing::paths(&self.root, &self.boundary, self.is_content)
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

/// Reads a whole text file. Most editors replace a file by rename; some truncate it and write it again. A file that
/// changes during the read, or changed immediately before it, is read again.
fn read_stable(path: &Path, bytes_max: u64) -> io::Result<Option<FileText>> {
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
fn read_once(path: &Path, bytes_max: u64) -> io::Result<Option<FileText>> {
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
        Ok(text) => FileText { text, invalid_utf8_at: None },
        Err(error) => FileText {
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            invalid_utf8_at: Some(error.utf8_error().valid_up_to()),
        },
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
    fn links_are_followed_within_the_boundary_only() {
        let (project, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = project.path().canonicalize().unwrap();
        for path in ["plan/work/a.md", "docs/b.md", "docs/deep/c.md", "notes/d.md"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::write(elsewhere.path().join("secret.md"), "x").unwrap();
        let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        link(Path::new("../docs"), "plan/docs");
        link(Path::new("../../notes/d.md"), "plan/work/d.md");
        link(&root.join("plan"), "docs/deep/loop");
        link(&root.join("plan/work"), "plan/again");
        link(&root.join("docs/deep"), "plan/zdeep");
        link(elsewhere.path(), "plan/out");
        link(&elsewhere.path().join("secret.md"), "plan/secret.md");
        link(Path::new("nowhere.md"), "plan/dangling.md");
        let plan = ProjectDir::new(root.join("plan")).within(&root);
        let listing = plan.list_and_watch().unwrap();
        let paths: Vec<(&str, bool)> =
            listing.files.iter().map(|file| (file.path.as_str(), file.is_linked)).collect();
        let linked =
            [("docs/b.md", true), ("docs/deep/c.md", true), ("work/a.md", false), ("work/d.md", true)];
        assert_eq!(paths, linked, "each file once, and no loop");
        assert_eq!(plan.markdown_count(), paths.len());
        assert!(listing.watch.is_none(), "events of linked folders are not reported");
        assert_eq!(plan.read_plan_file("docs/b.md").unwrap().unwrap().text, "x");
        assert_eq!(plan.read_plan_file("out/secret.md").unwrap(), None);
        assert_eq!(plan.read_plan_file("secret.md").unwrap(), None);
        assert_eq!(ProjectDir::new(root.join("plan")).markdown_count(), 1, "without the project around it");
        link(Path::new("../plan/work/a.md"), "docs/page.md");
        let content = ProjectDir::new(&root).subdir_checked("docs").unwrap();
        let pages = content.markdown_paths();
        let expected = ["b.md", "deep/c.md", "deep/loop/again/a.md", "deep/loop/again/d.md"];
        assert_eq!(pages[..4], expected, "a linked page is a page of its own");
    }

    #[test]
    fn hidden_files_are_not_shown() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("src")).unwrap();
        for path in [".env", "src/main.rs"] {
            fs::write(root.path().join(path), "x").unwrap();
        }
        std::os::unix::fs::symlink("../.env", root.path().join("src/env")).unwrap();
        let folder = ProjectDir::new(root.path());
        assert_eq!(folder.read_shown_file("src/main.rs").unwrap().as_deref(), Some("x"));
        for hidden in [".env", "src/env"] {
            assert_eq!(folder.read_shown_file(hidden).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
        assert_eq!(folder.read_shown_file("../x").unwrap(), None);
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
            ProjectDir::new(root.path()).read_plan_file("a.md").unwrap().map(|file| file.text).as_deref(),
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
