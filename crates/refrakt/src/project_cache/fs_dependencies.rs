//! The paths that a detected project depends on. A few calls of `stat` tell whether the project must be detected again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use quad_core::canonical::sha256_hex;
use quad_core::lock::MutexExt as _;

use crate::limits::MTIME_RESOLUTION;
use crate::project::project_dir::FileStamp;

/// The observed paths, in order. Clones share one list.
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
    /// Whether a folder exists.
    Dir(bool),
    /// The entries of a folder, by its modification time.
    Listing(Option<FileStamp>),
    /// The text of a file.
    File { stamp: Option<FileStamp>, hash: Option<String> },
}

impl FsDependencies {
    /// An empty list.
    pub fn new() -> FsDependencies {
        FsDependencies { recorded_at: SystemTime::now(), observations: Arc::default() }
    }

    pub(crate) fn record_dir(&self, path: PathBuf, is_there: bool) {
        self.add(path, Observed::Dir(is_there));
    }

    pub(crate) fn record_listing(&self, path: PathBuf, stamp: Option<FileStamp>) {
        self.add(path, Observed::Listing(stamp));
    }

    pub(crate) fn record_file(&self, path: PathBuf, stamp: Option<FileStamp>, text: Option<&str>) {
        self.add(path, Observed::File { stamp, hash: text.map(|text| sha256_hex(text.as_bytes())) });
    }

    fn add(&self, path: PathBuf, observed: Observed) {
        self.observations.lock_unpoisoned().push(Observation { path, observed });
    }

    /// Whether every observation would give the same result now.
    pub fn are_unchanged(&self) -> bool {
        let observations = self.observations.lock_unpoisoned();
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

    /// A hash of all observations, equal in every process that makes the same. Modification times of files do not
    /// count: `touch` does not change a file.
    pub fn fingerprint(&self) -> String {
        let observations = self.observations.lock_unpoisoned();
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

    use super::*;
    use crate::project::project_dir::ProjectDir;

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
        assert!(dependencies.are_unchanged(), "this path is not a dependency");
        fs::write(root.path().join("b.json"), "x").unwrap();
        assert!(
            !dependencies.are_unchanged() && dependencies.fingerprint() != record().fingerprint(),
            "a missing file was created"
        );
        let dependencies = record();
        fs::create_dir(root.path().join("plan")).unwrap();
        assert!(!dependencies.are_unchanged());
        let before = record();
        set_old_mtime(&root.path().join("b.json"));
        assert_eq!(before.fingerprint(), record().fingerprint(), "the modification time does not count");
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
