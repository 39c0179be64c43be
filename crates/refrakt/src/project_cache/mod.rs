//! The project as it is now: detected once and read once, and looked at again whenever somebody asks.
//!
//! No answer waits for a notice from the file system, or relies on one. Whoever asks gets an answer that was checked against the folder after the
//! question was put: by the stamps of all that it rests on, and by reading again what they do not vouch for. Each state has a number;
//! equal numbers mean equal contents. This module knows no database and no protocol.

pub(crate) mod change_poller;
pub mod dir_scan;
mod document_cache;
pub mod fs_dependencies;
pub(crate) mod inotify;
mod page_change_poller;
mod pages;
mod project_tags;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::canonical::sha256_hex;

use crate::plan::{PlanIndex, load_with_scan};
use crate::project::detect::detect_recording;
use crate::project::project_dir::ProjectDir;
use crate::project::{CONFIG_FILE, Project};

pub(crate) use change_poller::ChangePoller;
use dir_scan::DirScan;
pub use document_cache::DocumentCache;
use fs_dependencies::FsDependencies;
pub(crate) use pages::RescannedDir;
pub use pages::{PagesError, PagesSnapshot};
pub(crate) use project_tags::ProjectTags;

/// A project's folder and what is known of it.
#[derive(Debug)]
pub struct ProjectCache {
    root: PathBuf,
    tags: ProjectTags,
    project: Mutex<Option<Arc<ProjectSnapshot>>>,
    plan: Mutex<Option<Arc<PlanSnapshot>>>,
    /// Content folders that were asked for, as the configuration spells them.
    pages: Mutex<HashMap<String, pages::Slot>>,
    generation_counter: AtomicU64,
}

/// What is known of files without looking at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedState {
    /// Nobody has read them yet.
    NotLoaded,
    /// They are in the state of this number.
    Current(u64),
    /// They have to be looked at, or somebody does so just now.
    Unknown,
}

/// Which optional parts a project has. `resources/list` shows a resource only where its part exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectParts {
    pub sites: bool,
    pub plan: bool,
}

/// What the project is.
#[derive(Debug)]
pub struct ProjectSnapshot {
    /// The project.
    pub project: Project,
    /// Which state of the configuration this is.
    pub generation: u64,
    /// What was worked out from it.
    pub documents: DocumentCache,
    dependencies: FsDependencies,
    fingerprint: String,
}

/// What the plan says.
#[derive(Debug)]
pub struct PlanSnapshot {
    /// Its folder.
    pub dir: ProjectDir,
    /// Its entities.
    pub index: PlanIndex,
    /// Which state of the plan this is.
    pub generation: u64,
    /// What was worked out from it.
    pub documents: DocumentCache,
    dir_scan: DirScan,
    fingerprint: String,
}

impl ProjectCache {
    /// The project in a folder. Nothing is looked at yet.
    pub fn new(root: impl Into<PathBuf>) -> ProjectCache {
        let root = root.into();
        // Links in the way to the folder are followed once, so that every process calls it by one name.
        let root = root.canonicalize().unwrap_or(root);
        ProjectCache {
            tags: ProjectTags::from_path(&root),
            root,
            project: Mutex::default(),
            plan: Mutex::default(),
            pages: Mutex::default(),
            generation_counter: AtomicU64::new(1),
        }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The invalidation tags of answers about this project.
    pub(crate) fn tags(&self) -> &ProjectTags {
        &self.tags
    }

    /// What the project is now.
    pub fn project_snapshot(&self) -> Arc<ProjectSnapshot> {
        let mut cached = lock(&self.project);
        if let Some(detected) = cached.as_ref().filter(|detected| detected.dependencies.are_unchanged()) {
            return detected.clone();
        }
        let (project, dependencies) = detect_recording(&self.root);
        let fingerprint = dependencies.fingerprint();
        let previous = cached.take().filter(|previous| previous.fingerprint == fingerprint);
        let generation =
            previous.as_ref().map_or_else(|| self.next_generation(), |previous| previous.generation);
        let documents = previous.map_or_else(DocumentCache::default, |previous| previous.documents.clone());
        let snapshot =
            Arc::new(ProjectSnapshot { project, generation, documents, dependencies, fingerprint });
        *cached = Some(snapshot.clone());
        snapshot
    }

    /// What the plan says now; none where there is no plan folder.
    pub fn plan(&self) -> io::Result<Option<Arc<PlanSnapshot>>> {
        let Some(plan_dir) = self.project_snapshot().project.plan_dir() else { return Ok(None) };
        let mut cached = lock(&self.plan);
        let previous = cached.take().filter(|plan| plan.dir.root() == plan_dir.root());
        if let Some(plan) = previous.as_ref().filter(|plan| plan.dir_scan.is_unchanged()) {
            *cached = previous.clone();
            return Ok(Some(plan.clone()));
        }
        let loaded = load_with_scan(&plan_dir, previous.as_ref().map(|plan| &plan.index));
        let (index, dir_scan) = match loaded {
            Ok(loaded) => loaded,
            // Gone since it was looked for.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let fingerprint = fingerprint(&index);
        let unchanged = previous.filter(|previous| previous.fingerprint == fingerprint);
        let generation =
            unchanged.as_ref().map_or_else(|| self.next_generation(), |previous| previous.generation);
        let documents = unchanged.map_or_else(DocumentCache::default, |previous| previous.documents.clone());
        let snapshot =
            Arc::new(PlanSnapshot { dir: plan_dir, index, generation, documents, dir_scan, fingerprint });
        *cached = Some(snapshot.clone());
        Ok(Some(snapshot))
    }

    /// How many Markdown files the plan has now; none where there is no plan folder.
    pub fn count_plan_files(&self, snapshot: &ProjectSnapshot) -> Option<usize> {
        let plan_dir = snapshot.project.plan_dir()?;
        // Whoever reads the plan at this moment keeps nobody from counting.
        let cached = self.plan.try_lock().ok();
        let cached_plan = cached.as_ref().and_then(|cached| cached.as_ref());
        let current =
            cached_plan.filter(|plan| plan.dir.root() == plan_dir.root() && plan.dir_scan.has_no_events());
        Some(current.map_or_else(|| plan_dir.markdown_count(), |plan| plan.dir_scan.len()))
    }

    /// What `refrakt://detect` says: the plan's files are counted now.
    pub fn project_json(&self) -> serde_json::Value {
        let snapshot = self.project_snapshot();
        let mut project = snapshot.project.clone();
        if let (Some(count), Some(plan)) = (self.count_plan_files(&snapshot), project.plan.as_mut()) {
            plan.file_count = count;
        }
        project.to_json()
    }

    /// What is known of the plan without waiting for anybody or anything.
    pub fn cached_plan_state(&self) -> CachedState {
        let Ok(cached) = self.plan.try_lock() else { return CachedState::Unknown };
        let Some(plan) = cached.as_ref() else { return CachedState::NotLoaded };
        let plan_dir = self.project_snapshot().project.plan_dir();
        let is_same_dir = plan_dir.is_some_and(|folder| folder.root() == plan.dir.root());
        if is_same_dir && plan.dir_scan.has_no_events() {
            CachedState::Current(plan.generation)
        } else {
            CachedState::Unknown
        }
    }

    /// A number that no state has.
    pub fn next_generation(&self) -> u64 {
        self.generation_counter.fetch_add(1, Ordering::Relaxed)
    }
}

impl ProjectSnapshot {
    /// One word for all that the project was found to be; the same in every process that looks at it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Which optional parts the project has.
    pub(crate) fn parts(&self) -> ProjectParts {
        ProjectParts {
            sites: !self.project.sites.is_empty(),
            plan: self.project.plan.as_ref().is_some_and(|plan| plan.exists),
        }
    }

    /// What keeps the configuration from being used, in a sentence.
    pub fn config_error(&self) -> Option<String> {
        let error =
            self.project.problems.iter().find(|problem| problem.is_error && problem.file == CONFIG_FILE)?;
        Some(format!("{}:{}:{}: {}", error.file, error.line, error.column, error.message))
    }
}

impl PlanSnapshot {
    /// One word for all that the plan's files say; the same in every process that looks at them.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

/// A hash over every file's name and text.
fn fingerprint(index: &PlanIndex) -> String {
    let mut hash_input = String::new();
    for file in index.files() {
        hash_input.push_str(&file.entry.path);
        hash_input.push('\n');
        hash_input.push_str(&file.hash);
        hash_input.push('\n');
    }
    sha256_hex(hash_input.as_bytes())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn work(status: &str) -> String {
        format!("{{% work id=\"WORK-001\" status=\"{status}\" %}}\n# T\n{{% /work %}}\n")
    }

    #[test]
    fn project_cache_detects_changes() {
        let root = tempfile::tempdir().unwrap();
        let cache = ProjectCache::new(root.path());
        assert!(cache.plan().unwrap().is_none());
        assert!(cache.project_snapshot().project.sites.is_empty());
        fs::create_dir(root.path().join("plan")).unwrap();
        let empty = cache.plan().unwrap().unwrap();
        fs::write(root.path().join("plan/a.md"), work("ready")).unwrap();
        let one = cache.plan().unwrap().unwrap();
        assert!(empty.generation != one.generation && one.index.contains_id("WORK-001"));
        assert_eq!(cache.project_json()["plan"]["fileCount"], 1);
        fs::write(root.path().join("plan/a.md"), work("ready")).unwrap();
        assert_eq!(
            cache.plan().unwrap().unwrap().generation,
            one.generation,
            "the same text is the same state"
        );
        fs::write(root.path().join("plan/a.md"), work("doing")).unwrap();
        let two = cache.plan().unwrap().unwrap();
        assert_ne!((two.generation, two.fingerprint()), (one.generation, one.fingerprint()));
        fs::write(root.path().join("refrakt.config.json"), r#"{"site": {"contentDir": "c"}}"#).unwrap();
        assert_eq!(cache.project_snapshot().project.sites.len(), 1);
        fs::remove_dir_all(root.path().join("plan")).unwrap();
        assert!(cache.plan().unwrap().is_none());
    }

    #[test]
    fn detect_does_not_wait_for_plan_lock() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("plan")).unwrap();
        let cache = ProjectCache::new(root.path());
        let plan_guard = lock(&cache.plan);
        assert_eq!(cache.project_json()["plan"]["fileCount"], 0);
        drop(plan_guard);
    }

    #[test]
    fn invalid_config_reports_position_and_keeps_plan() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("plan")).unwrap();
        fs::write(root.path().join("refrakt.config.json"), "{\n  \"site\": }").unwrap();
        let cache = ProjectCache::new(root.path());
        assert!(cache.plan().unwrap().is_some());
        let error = cache.project_snapshot().config_error().unwrap();
        assert!(error.starts_with("refrakt.config.json:2:"), "{error}");
    }
}
