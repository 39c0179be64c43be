//! What was looked at while a project was detected, so that the same looks need not be taken again: a few calls of `stat` tell
//! whether anything that mattered has changed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use quad_core::canonical::sha256_hex;

use super::project_dir::FileStamp;
use crate::limits::MTIME_RESOLUTION;

/// Looks at a folder, in order. Clones share one list.
#[derive(Clone, Debug)]
pub struct FsDependencies {
    recorded_at: SystemTime,
    observations: Arc<Mutex<Vec<Observation>>>,
}

#[derive(Clone, Debug)]
struct Observation {
    path: PathBuf,
    observed: Observed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Observed {
    /// Whether there is a folder.
    Dir(bool),
    /// What a folder holds, by the time at which an entry last came or went.
    Listing(Option<FileStamp>),
    /// What a file holds.
    File { stamp: Option<FileStamp>, hash: Option<String> },
}

impl FsDependencies {
    /// An empty list.
    pub fn new() -> FsDependencies {
        FsDependencies { recorded_at: SystemTime::now(), observations: Arc::default() }
    }

    pub(super) fn record_dir(&self, path: PathBuf, is_there: bool) {
        self.add(path, Observed::Dir(is_there));
    }

    pub(super) fn record_listing(&self, path: PathBuf, stamp: Option<FileStamp>) {
        self.add(path, Observed::Listing(stamp));
    }

    pub(super) fn record_file(&self, path: PathBuf, stamp: Option<FileStamp>, text: Option<&str>) {
        self.add(path, Observed::File { stamp, hash: text.map(|text| sha256_hex(text.as_bytes())) });
    }

    fn add(&self, path: PathBuf, observed: Observed) {
        self.observations.lock().unwrap_or_else(PoisonError::into_inner).push(Observation { path, observed });
    }

    /// Whether every look would show the same now.
    pub fn are_unchanged(&self) -> bool {
        let observations = self.observations.lock().unwrap_or_else(PoisonError::into_inner);
        observations.iter().all(|observation| match &observation.observed {
            Observed::Dir(is_there) => observation.path.is_dir() == *is_there,
            Observed::Listing(stamp) | Observed::File { stamp, .. } => {
                let is_settled = |stamp: &FileStamp| {
                    self.recorded_at.duration_since(stamp.modified).is_ok_and(|age| age > MTIME_RESOLUTION)
                };
                stamp.as_ref().is_none_or(is_settled) && FileStamp::read(&observation.path) == *stamp
            }
        })
    }

    /// One word for all that was seen; the same in every process that sees the same. Time stamps of files do not count: a file
    /// that was touched is not another file.
    pub fn fingerprint(&self) -> String {
        let observations = self.observations.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = String::new();
        for observation in observations.iter() {
            let observed = match &observation.observed {
                Observed::Dir(is_there) => format!("folder {is_there}"),
                Observed::Listing(stamp) => format!("listing {stamp:?}"),
                Observed::File { hash, .. } => format!("file {hash:?}"),
            };
            all.push_str(&format!("{} {observed}\n", observation.path.display()));
        }
        sha256_hex(all.as_bytes())
    }
}

impl Default for FsDependencies {
    fn default() -> FsDependencies {
        FsDependencies::new()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::super::project_dir::ProjectDir;
    use super::*;

    fn set_old_mtime(path: &std::path::Path) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn fs_dependencies_detect_changes_of_observed_paths() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a.json");
        fs::write(&file, "{}").unwrap();
        set_old_mtime(&file);
        let record = || {
            let dependencies = FsDependencies::new();
            let folder = ProjectDir::recording(root.path(), dependencies.clone());
            let _ =
                (folder.read_small_file("a.json"), folder.read_small_file("b.json"), folder.has_dir("plan"));
            dependencies
        };
        let dependencies = record();
        assert!(dependencies.are_unchanged());
        fs::write(root.path().join("unrelated"), "x").unwrap();
        assert!(dependencies.are_unchanged(), "nobody looked at that");
        fs::write(root.path().join("b.json"), "x").unwrap();
        assert!(
            !dependencies.are_unchanged() && dependencies.fingerprint() != record().fingerprint(),
            "a file that was missing is there"
        );
        let dependencies = record();
        fs::create_dir(root.path().join("plan")).unwrap();
        assert!(!dependencies.are_unchanged());
        let before = record();
        set_old_mtime(&root.path().join("b.json"));
        assert_eq!(before.fingerprint(), record().fingerprint(), "another time is not another text");
    }

    #[test]
    fn recent_mtime_counts_as_changed() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.json"), "{}").unwrap();
        let dependencies = FsDependencies::new();
        let _ = ProjectDir::recording(root.path(), dependencies.clone()).read_small_file("a.json");
        assert!(!dependencies.are_unchanged());
    }
}
