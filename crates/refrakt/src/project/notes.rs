//! What was looked at while a project was detected, so that the same looks need not be taken again: a few calls of `stat` tell
//! whether anything that mattered has changed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use quad_core::canonical::sha256_hex;

use super::folder::FileStamp;
use crate::limits::STAMP_DOUBT;

/// Looks at a folder, in order. Clones share one list.
#[derive(Clone, Debug)]
pub struct Notes {
    taken_at: SystemTime,
    looks: Arc<Mutex<Vec<Look>>>,
}

#[derive(Clone, Debug)]
struct Look {
    path: PathBuf,
    seen: Seen,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// Whether there is a folder.
    Folder(bool),
    /// What a folder holds, by the time at which an entry last came or went.
    Listing(Option<FileStamp>),
    /// What a file holds.
    File { stamp: Option<FileStamp>, hash: Option<String> },
}

impl Notes {
    /// An empty list.
    pub fn new() -> Notes {
        Notes { taken_at: SystemTime::now(), looks: Arc::default() }
    }

    pub(super) fn folder(&self, path: PathBuf, is_there: bool) {
        self.add(path, Seen::Folder(is_there));
    }

    pub(super) fn listing(&self, path: PathBuf, stamp: Option<FileStamp>) {
        self.add(path, Seen::Listing(stamp));
    }

    pub(super) fn file(&self, path: PathBuf, stamp: Option<FileStamp>, text: Option<&str>) {
        self.add(path, Seen::File { stamp, hash: text.map(|text| sha256_hex(text.as_bytes())) });
    }

    fn add(&self, path: PathBuf, seen: Seen) {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner).push(Look { path, seen });
    }

    /// Whether every look would show the same now.
    pub fn hold(&self) -> bool {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.iter().all(|look| match &look.seen {
            Seen::Folder(is_there) => look.path.is_dir() == *is_there,
            Seen::Listing(stamp) | Seen::File { stamp, .. } => {
                let settled = |stamp: &FileStamp| {
                    self.taken_at.duration_since(stamp.modified).is_ok_and(|age| age > STAMP_DOUBT)
                };
                stamp.as_ref().is_none_or(settled) && FileStamp::of(&look.path) == *stamp
            }
        })
    }

    /// One word for all that was seen; the same in every process that sees the same. Time stamps of files do not count: a file
    /// that was touched is not another file.
    pub fn print(&self) -> String {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = String::new();
        for look in looks.iter() {
            let seen = match &look.seen {
                Seen::Folder(is_there) => format!("folder {is_there}"),
                Seen::Listing(stamp) => format!("listing {stamp:?}"),
                Seen::File { hash, .. } => format!("file {hash:?}"),
            };
            all.push_str(&format!("{} {seen}\n", look.path.display()));
        }
        sha256_hex(all.as_bytes())
    }
}

impl Default for Notes {
    fn default() -> Notes {
        Notes::new()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::super::folder::Folder;
    use super::*;

    fn aged(path: &std::path::Path) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn looks_hold_until_something_that_was_looked_at_changes() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a.json");
        fs::write(&file, "{}").unwrap();
        aged(&file);
        let look = || {
            let notes = Notes::new();
            let folder = Folder::noting(root.path(), notes.clone());
            let _ = (folder.small_text("a.json"), folder.small_text("b.json"), folder.has_folder("plan"));
            notes
        };
        let notes = look();
        assert!(notes.hold());
        fs::write(root.path().join("unrelated"), "x").unwrap();
        assert!(notes.hold(), "nobody looked at that");
        fs::write(root.path().join("b.json"), "x").unwrap();
        assert!(!notes.hold() && notes.print() != look().print(), "a file that was missing is there");
        let notes = look();
        fs::create_dir(root.path().join("plan")).unwrap();
        assert!(!notes.hold());
        let before = look();
        aged(&root.path().join("b.json"));
        assert_eq!(before.print(), look().print(), "another time is not another text");
    }

    #[test]
    fn a_fresh_stamp_is_not_trusted() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.json"), "{}").unwrap();
        let notes = Notes::new();
        let _ = Folder::noting(root.path(), notes.clone()).small_text("a.json");
        assert!(!notes.hold());
    }
}
