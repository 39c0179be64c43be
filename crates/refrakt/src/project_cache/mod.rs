//! The current state of the project, and the detection of its changes.
//!
//! ```text
//! read:   cache_key_part ──► FsDependencies (stat) and DirScan (inotify, else stat)
//!                              │ unchanged           │ changed
//!                              ▼                     ▼
//!                            same generation       parse again: other contents, new generation
//!                              └──────────┬──────────┘
//!                                         ▼
//!                            generation = part of the cache key of the answer
//!
//! poll:   ChangePoller ──► FolderSnapshot ──► diff ──► one commit with tags ──► subscribers
//! ```
//!
//! A read never relies on the poller: every answer is checked against the folder after the request arrived. Equal
//! generations mean equal contents, and a generation is never reused.
//!
//! - [`fs_dependencies`]: the files that configuration and plugins were read from.
//! - [`dir_scan`]: the listing of a plan folder or content folder.
//! - `inotify`: proves that no watched folder had a change.
//! - `change_poller`, `page_change_poller`: publish changes of other programs. They are the only parts that know the
//!   database.
//! - [`document_cache`](DocumentCache): answers that were built from one generation.

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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use quad_core::canonical::sha256_hex;
use quad_core::lock::MutexExt as _;

use crate::diagnostic::Severity;
use crate::plan::{self, Entity, EntityType, PlanIndex};
use crate::project::detect::detect_recording;
use crate::project::project_dir::{FileText, ProjectDir};
use crate::project::{CONFIG_FILE, Project};

pub(crate) use change_poller::ChangePoller;
use dir_scan::DirScan;
pub use document_cache::DocumentCache;
use fs_dependencies::FsDependencies;
pub(crate) use pages::RescannedDir;
pub use pages::{PagesError, PagesSnapshot};
pub(crate) use project_tags::ProjectTags;

/// A project's folder and its cached state.
#[derive(Debug)]
pub struct ProjectCache {
    root: PathBuf,
    tags: ProjectTags,
    project: Mutex<Option<Arc<ProjectSnapshot>>>,
    plan: Mutex<Option<Arc<PlanSnapshot>>>,
    /// Whether the plan has been read. Its first read takes long, and some answers do not wait for it.
    is_plan_read: AtomicBool,
    /// Content folders that were read, keyed as the configuration spells them.
    pages: Mutex<HashMap<String, pages::Slot>>,
    generation_counter: AtomicU64,
}

/// The state of cached files, as far as it is known without reading the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedState {
    /// The files have not been read yet.
    NotLoaded,
    /// The files are at this generation.
    Current(u64),
    /// The files must be checked, or another thread is checking them.
    Unknown,
}

/// Which optional parts a project has. `resources/list` shows a resource only where its part exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectParts {
    pub sites: bool,
    pub plan: bool,
}

/// The detected project.
#[derive(Debug)]
pub struct ProjectSnapshot {
    /// The project.
    pub project: Project,
    /// The generation of the configuration.
    pub generation: u64,
    /// Documents built from this generation.
    pub documents: DocumentCache,
    dependencies: FsDependencies,
    fingerprint: String,
}

/// The parsed plan.
#[derive(Debug)]
pub struct PlanSnapshot {
    /// Its folder.
    pub dir: ProjectDir,
    /// Its entities.
    pub index: PlanIndex,
    /// The generation of the plan.
    pub generation: u64,
    /// Documents built from this generation.
    pub documents: DocumentCache,
    dir_scan: DirScan,
    fingerprint: String,
}

impl ProjectCache {
    /// The project in a folder. Reads nothing yet.
    pub fn new(root: impl Into<PathBuf>) -> ProjectCache {
        let root = root.into();
        // Symbolic links are resolved once, so that every process uses the same path.
        let root = root.canonicalize().unwrap_or(root);
        ProjectCache {
            tags: ProjectTags::from_path(&root),
            root,
            project: Mutex::default(),
            plan: Mutex::default(),
            is_plan_read: AtomicBool::new(false),
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

    /// The current project.
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

    /// The current plan; `None` without a plan folder.
    pub fn plan(&self) -> io::Result<Option<Arc<PlanSnapshot>>> {
        let Some(plan_dir) = self.project_snapshot().project.plan_dir() else { return Ok(None) };
        let mut cached = lock(&self.plan);
        let previous = cached.take().filter(|plan| plan.dir.root() == plan_dir.root());
        if let Some(plan) = previous.as_ref().filter(|plan| plan.dir_scan.is_unchanged()) {
            *cached = previous.clone();
            return Ok(Some(plan.clone()));
        }
        let loaded = plan::load(&plan_dir, previous.as_ref().map(|plan| &plan.index));
        let (index, dir_scan) = match loaded {
            Ok(loaded) => loaded,
            // The folder was deleted after the project was detected.
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
        self.is_plan_read.store(true, Ordering::Release);
        Ok(Some(snapshot))
    }

    /// An entity and its file, without the index, as long as the plan has not been read. `None` says nothing: the caller
    /// asks the index.
    pub(crate) fn find_entity_before_plan(
        &self,
        kind: Option<EntityType>,
        id: &str,
    ) -> Option<(Entity, FileText)> {
        if self.is_plan_read.load(Ordering::Acquire) {
            return None;
        }
        plan::find_by_file_name(&self.project_snapshot().project.plan_dir()?, kind, id)
    }

    /// The current number of Markdown files in the plan; `None` without a plan folder.
    pub fn count_plan_files(&self, snapshot: &ProjectSnapshot) -> Option<usize> {
        let plan_dir = snapshot.project.plan_dir()?;
        // Does not wait for a thread that reads the plan.
        let cached = self.plan.try_lock().ok();
        let cached_plan = cached.as_ref().and_then(|cached| cached.as_ref());
        let current =
            cached_plan.filter(|plan| plan.dir.root() == plan_dir.root() && plan.dir_scan.has_no_events());
        Some(current.map_or_else(|| plan_dir.markdown_count(), |plan| plan.dir_scan.len()))
    }

    /// The answer of `refrakt://detect`, with the current number of plan files.
    pub fn project_json(&self) -> serde_json::Value {
        let snapshot = self.project_snapshot();
        let mut project = snapshot.project.clone();
        if let (Some(count), Some(plan)) = (self.count_plan_files(&snapshot), project.plan.as_mut()) {
            plan.file_count = count;
        }
        project.to_json()
    }

    /// The state of the plan, without waiting for a lock and without reading its files.
    pub fn cached_plan_state(&self) -> CachedState {
        if !self.is_plan_read.load(Ordering::Acquire) {
            return CachedState::NotLoaded;
        }
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

    /// A new generation.
    pub fn next_generation(&self) -> u64 {
        self.generation_counter.fetch_add(1, Ordering::Relaxed)
    }
}

impl ProjectSnapshot {
    /// A hash of everything the project was detected from, equal in every process.
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

    /// The error that makes the configuration unusable, with its position.
    pub fn config_error(&self) -> Option<String> {
        let error = self
            .project
            .problems
            .iter()
            .find(|problem| problem.severity == Severity::Error && problem.file == CONFIG_FILE)?;
        Some(format!("{}:{}:{}: {}", error.file, error.line, error.column, error.message))
    }
}

impl PlanSnapshot {
    /// A hash of all files of the plan, equal in every process.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

/// A hash of every file's name and text.
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
    mutex.lock_unpoisoned()
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
