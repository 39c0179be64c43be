//! The project's folder: the only file of this crate that touches a disk, and it only reads.
//!
//! Links are not followed out of the folder: a folder that is a link is passed over, as the original does.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use crate::limits::{CONFIG_FILE_BYTES_MAX, PLAN_DEPTH_MAX, PLAN_FILE_BYTES_MAX, PLAN_FILES_MAX};

/// A folder that may be read.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
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
        Folder { root: root.into() }
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

    /// Whether a path below the folder is a folder itself.
    pub fn has_folder(&self, relative: &str) -> bool {
        self.inside(relative).is_some_and(|path| path.is_dir())
    }

    /// A small text file; none where there is no such file.
    pub fn small_text(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.inside(relative) else { return Ok(None) };
        text(&path, CONFIG_FILE_BYTES_MAX)
    }

    /// A plan file; none where there is no such file.
    pub fn plan_text(&self, relative: &str) -> io::Result<Option<String>> {
        let Some(path) = self.inside(relative) else { return Ok(None) };
        text(&path, PLAN_FILE_BYTES_MAX)
    }

    /// Names of the folders directly below a path, sorted; none where there is no such path.
    pub fn folder_names(&self, relative: &str) -> Vec<String> {
        let Some(entries) = self.inside(relative).and_then(|path| fs::read_dir(path).ok()) else {
            return Vec::new();
        };
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
        let mut files = Vec::new();
        walk(&self.root, "", 0, &mut files)?;
        Ok(files)
    }
}

fn walk(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<FileEntry>) -> io::Result<()> {
    if depth > PLAN_DEPTH_MAX {
        return Ok(());
    }
    let mut entries: Vec<(String, fs::DirEntry)> = fs::read_dir(folder)?
        .filter_map(Result::ok)
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
        .collect();
    entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    for (name, entry) in entries {
        let Ok(kind) = entry.file_type() else { continue };
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if kind.is_dir() {
            // A folder that vanishes meanwhile is no reason to show nothing.
            let _ = walk(&entry.path(), &path, depth + 1, files);
        } else if kind.is_file() && name.ends_with(".md") && files.len() < PLAN_FILES_MAX {
            let Ok(facts) = entry.metadata() else { continue };
            let modified = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push(FileEntry { path, size: facts.len(), modified });
        }
    }
    Ok(())
}

/// A whole text file in one go, so that a save meanwhile gives the old or the new text. Bytes that are no UTF-8 are replaced.
fn text(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
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
