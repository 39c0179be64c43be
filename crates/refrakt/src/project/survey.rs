//! All Markdown files below a folder at one moment, and whether that is still so.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use super::folder::{FileEntry, FileStamp, Folder, Walk};
use crate::limits::STAMP_DOUBT;

/// The files and folders below one folder.
#[derive(Clone, Debug)]
pub struct Survey {
    taken_at: SystemTime,
    folders: Vec<(PathBuf, SystemTime)>,
    files: Vec<(PathBuf, FileStamp)>,
}

impl Survey {
    /// Walks through a folder.
    pub fn take(folder: &Folder) -> io::Result<(Survey, Vec<FileEntry>)> {
        let taken_at = SystemTime::now();
        let Walk { files: entries, folders, .. } = folder.walk()?;
        let stamp = |entry: &FileEntry| FileStamp { size: entry.size, modified: entry.modified };
        let files = entries.iter().map(|entry| (folder.root().join(&entry.path), stamp(entry))).collect();
        Ok((Survey { taken_at, folders, files }, entries))
    }

    /// Whether a walk would find the same now: one look at each folder and each file, none of them opened. What changed shortly
    /// before the walk could have changed again after it under the same time stamp, so it never counts as the same.
    pub fn holds(&self) -> bool {
        let settled = |at: SystemTime| self.taken_at.duration_since(at).is_ok_and(|age| age > STAMP_DOUBT);
        let same_folder = |(path, modified): &(PathBuf, SystemTime)| {
            settled(*modified)
                && fs::metadata(path).is_ok_and(|now| now.modified().is_ok_and(|at| at == *modified))
        };
        let same_file = |(path, stamp): &(PathBuf, FileStamp)| {
            settled(stamp.modified)
                && fs::symlink_metadata(path)
                    .is_ok_and(|now| now.is_file() && FileStamp::from(&now) == *stamp)
        };
        self.folders.iter().all(same_folder) && self.files.iter().all(same_file)
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_survey_holds_until_anything_comes_goes_or_changes() {
        let root = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_secs(60);
        let age = |path: &std::path::Path| fs::File::open(path).unwrap().set_modified(old).unwrap();
        let (below, file) = (root.path().join("a"), root.path().join("a/x.md"));
        fs::create_dir(&below).unwrap();
        fs::write(&file, "x").unwrap();
        let take = || {
            for path in [&file, &below, &root.path().to_owned()] {
                age(path);
            }
            Survey::take(&Folder::new(root.path())).unwrap().0
        };
        assert!(take().holds());
        let survey = take();
        fs::write(&file, "y").unwrap();
        assert!(!survey.holds(), "another text");
        let survey = take();
        fs::write(below.join("y.txt"), "y").unwrap();
        assert!(!survey.holds(), "something came into a folder");
        let survey = take();
        fs::write(&file, "z").unwrap();
        age(&file);
        assert!(survey.holds(), "same size and same old stamp: whoever forges stamps deceives anybody");
        let fresh = Survey::take(&Folder::new(root.path())).unwrap().0;
        fs::write(root.path().join("new.md"), "n").unwrap();
        assert!(!fresh.holds());
        assert!(!Survey::take(&Folder::new(root.path())).unwrap().0.holds(), "too fresh to be trusted");
    }
}
