//! The project's folder, to be read. Whether what was read still holds is asked of [`Notes`] and of a
//! [`Survey`](super::survey::Survey); writing is the business of [`writing`](super::writing) alone.
//!
//! Links are not followed out of the folder: a folder that is a link is passed over, as the original does.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::SystemTime;

use super::notes::Notes;
use super::watch::Watch;
use crate::limits::{
    CONFIG_FILE_BYTES_MAX, EMPTY_TIME, PAGE_FILE_BYTES_MAX, PLAN_DEPTH_MAX, PLAN_FILE_BYTES_MAX,
    PLAN_FILES_MAX, READ_AGAIN_MAX, SAVE_TIME,
};

/// A folder that may be read.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
    notes: Option<Notes>,
    /// Whether a walk passes over folders whose name begins with a dot.
    skips_hidden: bool,
}

/// Why a folder below another cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFolder {
    /// It is not there.
    Missing,
    /// Its path or a link on the way to it leads out.
    Outside,
}

/// A Markdown file, as the file system knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Path below the folder that was listed, with `/` between its parts.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change.
    pub modified: SystemTime,
}

impl Folder {
    /// A folder by its path.
    pub fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into(), notes: None, skips_hidden: false }
    }

    /// The same, and what is looked at is noted down.
    pub fn noting(root: impl Into<PathBuf>, notes: Notes) -> Folder {
        Folder { root: root.into(), notes: Some(notes), skips_hidden: false }
    }

    /// Its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the folder; none for one that leads out of it.
    pub fn inside(&self, relative: &str) -> Option<PathBuf> {
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

    /// A folder below this one whose hidden folders are passed over; links may lead to it from within, never out.
    pub fn subfolder(&self, relative: &str) -> Result<Folder, NoFolder> {
        let path = self.inside(relative).ok_or(NoFolder::Outside)?;
        let real = |path: &Path| path.canonicalize().map_err(|_| NoFolder::Missing);
        let (root, within) = (real(&path)?, real(&self.root)?);
        if !root.starts_with(within) {
            return Err(NoFolder::Outside);
        }
        if !root.is_dir() {
            return Err(NoFolder::Missing);
        }
        Ok(Folder { root, notes: None, skips_hidden: true })
    }

    /// Whether a path below the folder is a folder itself.
    pub fn has_folder(&self, relative: &str) -> bool {
        let Some(path) = self.inside(relative) else { return false };
        let has = path.is_dir();
        if let Some(notes) = &self.notes {
            notes.folder(path, has);
        }
        has
    }

    /// A small text file; none where there is no such file.
    pub fn small_text(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.inside(relative) else { return Ok(None) };
        // Before the reading: a save in between is then seen as one that came later.
        let stamp = self.notes.as_ref().map(|notes| (notes, FileStamp::of(&path)));
        let text = text(&path, CONFIG_FILE_BYTES_MAX);
        if let Some((notes, stamp)) = stamp {
            notes.file(path, stamp, text.as_ref().ok().and_then(Option::as_deref));
        }
        text
    }

    /// A plan file; none where there is no such file.
    pub fn plan_text(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.inside(relative) else { return Ok(None) };
        text(&path, PLAN_FILE_BYTES_MAX)
    }

    /// A page; none where there is no such file.
    pub fn page_text(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.inside(relative) else { return Ok(None) };
        text(&path, PAGE_FILE_BYTES_MAX)
    }

    /// Names of the folders directly below a path, sorted; none where there is no such path.
    pub fn folder_names(&self, relative: &str) -> Vec<String> {
        let Some(path) = self.inside(relative) else { return Vec::new() };
        if let Some(notes) = &self.notes {
            notes.listing(path.clone(), FileStamp::of(&path));
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

    /// Every Markdown file below the folder, depth first, the entries of each folder in byte order.
    pub fn markdown_files(&self) -> io::Result<Vec<FileEntry>> {
        Ok(self.walk()?.files)
    }

    /// The same, and every folder that they lie in with its time of change: while that stays, no entry comes or goes.
    fn walk(&self) -> io::Result<Walk> {
        let mut walk = Walk { skips_hidden: self.skips_hidden, ..Walk::default() };
        walk.enter(&self.root, "", 0)?;
        Ok(walk)
    }

    /// The same, and each folder is listened to from before it is listed.
    pub(super) fn walk_and_watch(&self) -> io::Result<Walk> {
        let mut walk = Walk { skips_hidden: self.skips_hidden, watch: Watch::new(), ..Walk::default() };
        walk.enter(&self.root, "", 0)?;
        Ok(walk)
    }

    /// How many Markdown files lie below the folder. Cheaper than to list them: the files themselves are not looked at.
    pub fn markdown_count(&self) -> usize {
        count(&self.root, 0, PLAN_FILES_MAX)
    }
}

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub size: u64,
    pub modified: SystemTime,
}

impl FileStamp {
    /// The stamp of what lies at a path; none where nothing does.
    pub(crate) fn of(path: &Path) -> Option<FileStamp> {
        fs::metadata(path).ok().map(|facts| FileStamp::from(&facts))
    }
}

impl From<&fs::Metadata> for FileStamp {
    fn from(facts: &fs::Metadata) -> FileStamp {
        FileStamp { size: facts.len(), modified: facts.modified().unwrap_or(SystemTime::UNIX_EPOCH) }
    }
}

/// What a walk through a folder meets.
#[derive(Default)]
pub(crate) struct Walk {
    pub files: Vec<FileEntry>,
    /// Each with its time of change.
    pub folders: Vec<(PathBuf, SystemTime)>,
    /// What listens to all of these folders, if something does.
    pub(super) watch: Option<Watch>,
    skips_hidden: bool,
}

impl Walk {
    fn enter(&mut self, folder: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        if depth > PLAN_DEPTH_MAX {
            return Ok(());
        }
        self.watch = self.watch.take().filter(|watch| watch.add(folder));
        // Before the listing, for the same reason as with a file.
        let modified = fs::metadata(folder)?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let mut entries: Vec<(String, fs::DirEntry)> = fs::read_dir(folder)?
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
            .collect();
        self.folders.push((folder.to_owned(), modified));
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, entry) in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            if kind.is_dir() {
                if self.skips_hidden && name.starts_with('.') {
                    continue;
                }
                // A folder that vanishes meanwhile is no reason to show nothing.
                let _ = self.enter(&entry.path(), &path, depth + 1);
            } else if kind.is_file() && name.ends_with(".md") && self.files.len() < PLAN_FILES_MAX {
                let Ok(facts) = entry.metadata() else { continue };
                let FileStamp { size, modified } = FileStamp::from(&facts);
                self.files.push(FileEntry { path, size, modified });
            }
        }
        Ok(())
    }
}

fn count(folder: &Path, depth: usize, most: usize) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut found = 0;
    for entry in entries.filter_map(Result::ok) {
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
        if kind.is_dir() && depth < PLAN_DEPTH_MAX {
            found += count(&entry.path(), depth + 1, most.saturating_sub(found));
        } else if kind.is_file() && name.to_str().is_some_and(|name| name.ends_with(".md")) {
            found += 1;
        }
        if found >= most {
            return most;
        }
    }
    found
}

/// A whole text file. Most editors put a new file in the place of the old one; some empty the old one and fill it again, so a
/// file that changes while it is read, or did so this very moment, is read again.
fn text(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    for _ in 0..READ_AGAIN_MAX {
        let before = FileStamp::of(path);
        let text = text_once(path, bytes_max)?;
        let settled = |stamp: FileStamp| {
            let least = if stamp.size == 0 { EMPTY_TIME } else { SAVE_TIME };
            // A time in the future says nothing.
            stamp.modified.elapsed().map_or(true, |age| age >= least)
        };
        if before == FileStamp::of(path) && before.is_none_or(settled) {
            return Ok(text);
        }
        thread::sleep(SAVE_TIME);
    }
    text_once(path, bytes_max)
}

/// A whole text file in one go. Bytes that are no UTF-8 are replaced.
fn text_once(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(facts.len().min(bytes_max)).unwrap_or(0));
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
    fn paths_stay_inside() {
        let folder = Folder::new("/p");
        assert_eq!(folder.inside("a/./b"), Some(PathBuf::from("/p/a/b")));
        for out in ["..", "a/../../b", "/etc", "a/.."] {
            assert_eq!(folder.inside(out), None, "{out}");
        }
    }

    #[test]
    fn files_come_depth_first_in_byte_order() {
        let root = tempfile::tempdir().unwrap();
        for path in ["b.md", "a/z.md", "a/B/x.md", "a/y.txt", "C.md", ".hidden.md"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let files = Folder::new(root.path()).markdown_files().unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".hidden.md", "C.md", "a/B/x.md", "a/z.md", "b.md"]);
        assert_eq!(Folder::new(root.path()).markdown_count(), paths.len());
    }

    #[test]
    fn a_file_that_is_emptied_and_filled_again_is_read_when_it_is_full() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.md");
        fs::write(&path, "").unwrap();
        let (emptied, filled) = (path.clone(), path.clone());
        let editor = thread::spawn(move || {
            thread::sleep(SAVE_TIME);
            assert_eq!(fs::metadata(&emptied).unwrap().len(), 0);
            fs::write(&filled, "all of it").unwrap();
        });
        assert_eq!(Folder::new(root.path()).plan_text("a.md").unwrap().as_deref(), Some("all of it"));
        editor.join().unwrap();
    }

    #[test]
    fn a_file_that_is_too_large_or_no_text_is_said_so() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        fs::write(root.path().join("big"), vec![b' '; CONFIG_FILE_BYTES_MAX as usize + 1]).unwrap();
        fs::write(root.path().join("odd"), [b'a', 0xff]).unwrap();
        assert!(folder.small_text("big").is_err());
        assert_eq!(folder.small_text("odd").unwrap().as_deref(), Some("a\u{fffd}"));
        assert_eq!(folder.small_text("none").unwrap(), None);
        assert_eq!(folder.small_text("../none").unwrap(), None);
    }
}
