//! All Markdown files below a folder at one moment, and whether that is still so.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use super::folder::{FileEntry, FileStamp, Folder, Walk};
use super::watch::Watch;
use crate::limits::{STAMP_DOUBT, SURVEY_TRUST};

/// The files and folders below one folder.
#[derive(Debug)]
pub struct Survey {
    taken_at: SystemTime,
    folders: Vec<(PathBuf, SystemTime)>,
    files: Vec<(PathBuf, FileStamp)>,
    /// Present where every change below the folder is heard.
    watch: Option<Watched>,
}

/// A folder that has been listened to since before it was walked through.
#[derive(Debug)]
struct Watched {
    watch: Watch,
    root: Option<Identity>,
    /// When every file was last looked at; none while something that was heard has not been looked into.
    looked_at: Mutex<Option<Instant>>,
}

impl Watched {
    fn looked_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.looked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What makes a folder this folder, wherever it is moved to.
type Identity = (u64, u64);

impl Survey {
    /// Walks through a folder.
    pub fn take(folder: &Folder) -> io::Result<(Survey, Vec<FileEntry>)> {
        let (taken_at, started) = (SystemTime::now(), Instant::now());
        let root = identity(folder.root());
        let Walk { files: entries, folders, watch, .. } = folder.walk_and_watch()?;
        let stamp = |entry: &FileEntry| FileStamp { size: entry.size, modified: entry.modified };
        let files = entries.iter().map(|entry| (folder.root().join(&entry.path), stamp(entry))).collect();
        let watch = watch.map(|watch| Watched { watch, root, looked_at: Mutex::new(Some(started)) });
        Ok((Survey { taken_at, folders, files, watch }, entries))
    }

    /// Whether a walk would find the same now.
    pub fn holds(&self) -> bool {
        if self.is_quiet() {
            return true;
        }
        let started = Instant::now();
        let holds = self.looks_the_same();
        if let Some(watched) = self.watch.as_ref().filter(|_| holds) {
            *watched.looked_at() = Some(started);
        }
        holds
    }

    /// Whether changes are heard, none was, and that is enough for now. Where this is not so, nothing is known.
    pub fn is_quiet(&self) -> bool {
        let Some(watched) = &self.watch else { return false };
        let mut looked_at = watched.looked_at();
        if watched.watch.heard() {
            *looked_at = None;
        }
        // The folder may have been carried away whole, or another put in the way.
        looked_at.is_some_and(|at| at.elapsed() < SURVEY_TRUST)
            && watched.root.is_some()
            && watched.root == self.root().and_then(identity)
    }

    /// One look at each folder and each file, none of them opened. What changed shortly before the walk could have changed again
    /// after it under the same time stamp, so it never counts as the same.
    fn looks_the_same(&self) -> bool {
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

    fn root(&self) -> Option<&Path> {
        self.folders.first().map(|(path, _)| path.as_path())
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

/// Which folder a path leads to now.
fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
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
        let fresh = Survey::take(&Folder::new(root.path())).unwrap().0;
        assert!(!fresh.looks_the_same(), "stamps too fresh to be trusted");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn where_changes_are_heard_nobody_looks_at_the_files() {
        let root = tempfile::tempdir().unwrap();
        let plan = root.path().join("plan");
        fs::create_dir_all(plan.join("work")).unwrap();
        fs::write(plan.join("work/a.md"), "a").unwrap();
        let take = || Survey::take(&Folder::new(&plan)).unwrap().0;
        let survey = take();
        assert!(survey.watch.is_some());
        assert!(survey.holds() && !survey.looks_the_same(), "as fresh as it is, nothing was heard");
        // The same size and the same time: the stamps of before would have vouched for it.
        let file = plan.join("work/a.md");
        let stamp = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "b").unwrap();
        fs::File::open(&file).unwrap().set_modified(stamp).unwrap();
        assert!(!survey.holds());
        assert!(!survey.holds(), "and not the second time either");
        // A folder that came later is listened to by the survey that has seen it.
        fs::create_dir(plan.join("bugs")).unwrap();
        let survey = take();
        fs::write(plan.join("bugs/b.md"), "b").unwrap();
        assert!(!survey.holds());
        // Carried away whole, by its own name and by that of the folder around it.
        let survey = take();
        fs::rename(&plan, root.path().join("old")).unwrap();
        assert!(!survey.holds());
        fs::rename(root.path().join("old"), &plan).unwrap();
        let (survey, elsewhere) = (take(), tempfile::tempdir().unwrap());
        fs::rename(root.path(), elsewhere.path().join("moved")).unwrap();
        assert!(!survey.holds());
    }
}
