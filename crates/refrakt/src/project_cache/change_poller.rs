//! Publishes changes of the project folder that other programs make: an editor saves a file, a branch is checked out.
//!
//! Reads do not need this, because every read checks the folder itself. Subscribers do. The poller captures the folder
//! at intervals that cost at most 2 % of one core. A difference becomes a change in the change log, which notifies the
//! subscribers of every process. Several processes may poll one folder: the table `refrakt_told` holds the last change
//! that was published, and a process that finds the same change does not publish it again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quad_core::canonical::sha256_hex;
use quad_core::lock::MutexExt as _;
use quad_core::{EventDraft, Result, Tag, TenantId};
use quad_store::{Sql, Store, Tx, WriteContext, params};
use tokio::sync::{Mutex, MutexGuard, SetOnce};

use super::page_change_poller::PublishedPages;
use super::{PlanSnapshot, ProjectCache, ProjectParts, ProjectSnapshot, ProjectTags};
use crate::blocking::run_blocking;
use crate::limits::{
    CHANGE_ENTITIES_MAX, EARLY_ANSWERS_MAX, POLL_DUTY_DIVISOR, POLL_INTERVAL_MAX, POLL_INTERVAL_MIN,
};
use crate::plan::Entity;
use crate::project::atomic_write::WriteLock;

/// The layer of audit events about a project's folder.
pub(crate) const LAYER: &str = "project";

/// Compares the folder with what was last published, and publishes the difference.
pub(crate) struct ChangePoller {
    pub(super) store: Store,
    pub(super) tenant: TenantId,
    pub(super) project: Arc<ProjectCache>,
    /// The folder at the last published change; none before the first poll.
    published: Mutex<Option<FolderSnapshot>>,
    /// The same for each content folder that was read.
    pub(super) published_pages: Mutex<PublishedPages>,
    /// What was answered before the first poll; none after it.
    early_answers: std::sync::Mutex<Option<EarlyAnswers>>,
    /// Whether this process polls. Otherwise it publishes no changes and needs no baseline.
    is_polling: AtomicBool,
    baseline_taken: SetOnce<()>,
}

impl ChangePoller {
    pub(crate) fn new(store: Store, tenant: TenantId, project: Arc<ProjectCache>) -> ChangePoller {
        ChangePoller {
            store,
            tenant,
            project,
            published: Mutex::default(),
            published_pages: Mutex::default(),
            early_answers: std::sync::Mutex::new(Some(EarlyAnswers::default())),
            is_polling: AtomicBool::new(false),
            baseline_taken: SetOnce::new(),
        }
    }

    /// Polls until the process ends.
    pub(crate) async fn run(&self) {
        loop {
            let elapsed = match self.poll_and_publish().await {
                Ok(elapsed) => elapsed,
                Err(error) => {
                    tracing::warn!(
                        cause = error.cause_chain(),
                        "a change of the project could not be published"
                    );
                    POLL_INTERVAL_MAX
                }
            };
            tokio::time::sleep(next_poll_delay(elapsed)).await;
        }
    }

    /// From now on the first read takes the baseline.
    pub(crate) fn enable(&self) {
        self.is_polling.store(true, Ordering::Release);
    }

    /// Compares the folder once and publishes the difference. Returns how long the comparison took.
    async fn poll_and_publish(&self) -> Result<Duration> {
        let elapsed = self.poll(&mut *self.published.lock().await).await?;
        Ok(elapsed + self.poll_pages().await?)
    }

    /// Takes the baseline before the first answer, so that a client that reads now is notified of every later change.
    pub(crate) async fn ensure_baseline(&self) -> Result<()> {
        if !self.is_polling.load(Ordering::Acquire) || self.baseline_taken.initialized() {
            return Ok(());
        }
        // If another task takes the baseline, this one does not have to wait for that task's next poll.
        let mut published = tokio::select! {
            biased;
            _ = self.baseline_taken.wait() => return Ok(()),
            published = self.published.lock() => published,
        };
        self.poll(&mut published).await.map(drop)
    }

    /// Records the state of the project, without its plan, before an answer that does not depend on the plan. The first
    /// poll publishes what has changed since.
    pub(crate) async fn note_project(&self) -> Result<()> {
        let needs_state = || {
            let early = self.early_answers.lock_unpoisoned();
            early.as_ref().is_some_and(|early| early.project.is_none())
        };
        if !self.is_polling.load(Ordering::Acquire) || !needs_state() {
            return Ok(());
        }
        let project = self.project.clone();
        let state = run_blocking(move || Ok(ProjectState::capture(&project))).await?;
        if let Some(early) = self.early_answers.lock_unpoisoned().as_mut() {
            early.project.get_or_insert(state);
        }
        Ok(())
    }

    /// Records an entity that is about to be answered from its file. Returns `false` if the answer must come from the
    /// index: the first poll was done in the meantime, and may have seen another text.
    pub(crate) fn note_entity(&self, entity: &Entity, text_hash: &str) -> bool {
        if !self.is_polling.load(Ordering::Acquire) {
            return true;
        }
        let mut early = self.early_answers.lock_unpoisoned();
        let Some(early) = early.as_mut().filter(|early| early.entities.len() < EARLY_ANSWERS_MAX) else {
            return false;
        };
        let tag = self.project.tags().entity(entity);
        early.entities.push((entity.file.clone(), text_hash.to_owned(), tag));
        true
    }

    fn take_early_answers(&self) -> Option<EarlyAnswers> {
        self.early_answers.lock_unpoisoned().take()
    }

    /// Locks the published state. A write of this process holds the lock, so that the poller does not publish its
    /// change.
    pub(crate) async fn lock_published(&self) -> MutexGuard<'_, Option<FolderSnapshot>> {
        self.published.lock().await
    }

    async fn poll(&self, published: &mut Option<FolderSnapshot>) -> Result<Duration> {
        let project = self.project.clone();
        let started = Instant::now();
        let current = run_blocking(move || Ok(FolderSnapshot::capture(&project))).await?;
        let elapsed = started.elapsed();
        if let Some(before) = published.as_ref() {
            let change = FolderChange::diff(before, &current, self.project.tags());
            let plan = current.plan.clone();
            // A process that holds the write lock publishes its change in the commit of its write. The next poll sees
            // it.
            if !change.tags.is_empty() && run_blocking(move || Ok(is_write_locked(plan.as_deref()))).await? {
                return Ok(elapsed);
            }
            self.publish(change).await?;
        } else if let Some(early) = self.take_early_answers() {
            self.publish(early.change(&current, self.project.tags())).await?;
        }
        *published = Some(current);
        // A second call fails and changes nothing.
        let _ = self.baseline_taken.set(());
        Ok(elapsed)
    }

    /// Publishes a change in its own commit, unless it is empty or already published.
    pub(super) async fn publish(&self, change: FolderChange) -> Result<()> {
        if change.tags.is_empty() || change.is_published(&self.store, &self.tenant).await? {
            return Ok(());
        }
        let event = EventDraft::system(LAYER, "project.changed", "quad")
            .input("root", change.root.as_str())
            .output("tags", change.tags.len())
            .succeeded();
        self.store.write(&WriteContext::from(&self.tenant), event, move |tx| change.publish_in(tx)).await?;
        Ok(())
    }
}

/// What clients learnt before the first poll. They are notified of changes since then.
#[derive(Debug, Default)]
struct EarlyAnswers {
    project: Option<ProjectState>,
    /// The file of each entity, the hash of its text, and its tag.
    entities: Vec<(String, String, Tag)>,
}

impl EarlyAnswers {
    /// What has changed between the answers and the first state of the folder.
    fn change(&self, current: &FolderSnapshot, project_tags: &ProjectTags) -> FolderChange {
        let hash = |file: &str| current.plan.as_ref().and_then(|plan| plan.index.file_hash(file));
        let changed = self.entities.iter().filter(|(file, text_hash, _)| hash(file) != Some(text_hash));
        let mut tags: Vec<Tag> = changed.map(|(_, _, tag)| tag.clone()).collect();
        if let Some(project) = &self.project {
            tags.extend(project.changed_tags(&current.project, project_tags));
        }
        tags.sort_unstable();
        tags.dedup();
        FolderChange {
            root: project_tags.as_str().to_owned(),
            from_fingerprint: String::new(),
            to_fingerprint: current.fingerprint(),
            tags,
        }
    }
}

/// The state of the project without its plan.
#[derive(Clone, Debug)]
struct ProjectState {
    parts: ProjectParts,
    snapshot: Arc<ProjectSnapshot>,
    json: String,
}

impl ProjectState {
    /// Reads the current state. Blocks.
    fn capture(project: &ProjectCache) -> ProjectState {
        let snapshot = project.project_snapshot();
        ProjectState { parts: snapshot.parts(), snapshot, json: project.project_json().to_string() }
    }

    /// The tags of everything that differs in `current`.
    fn changed_tags(&self, current: &ProjectState, project_tags: &ProjectTags) -> Vec<Tag> {
        let mut tags = Vec::new();
        if self.parts != current.parts {
            tags.push(Tag::resource_list("refrakt"));
        }
        if self.json != current.json {
            tags.push(project_tags.detect());
        }
        if self.snapshot.generation != current.snapshot.generation {
            tags.push(project_tags.sites());
        }
        tags
    }
}

/// The state of the folder at one time.
#[derive(Clone, Debug)]
pub(crate) struct FolderSnapshot {
    project: ProjectState,
    plan: Option<Arc<PlanSnapshot>>,
}

impl FolderSnapshot {
    /// Reads the current state. Blocks.
    pub(crate) fn capture(project: &ProjectCache) -> FolderSnapshot {
        let plan = project.plan().ok().flatten();
        FolderSnapshot { project: ProjectState::capture(project), plan }
    }

    /// A hash of the state, equal in every process.
    fn fingerprint(&self) -> String {
        let plan = self.plan.as_ref().map_or("", |plan| plan.fingerprint());
        let ProjectState { snapshot, json, .. } = &self.project;
        sha256_hex(format!("{} {plan} {json}", snapshot.fingerprint()).as_bytes())
    }

    /// The tags of everything that differs in `current`.
    fn changed_tags(&self, current: &FolderSnapshot, project_tags: &ProjectTags) -> Vec<Tag> {
        let mut tags = self.project.changed_tags(&current.project, project_tags);
        let plan_generation = |snapshot: &FolderSnapshot| snapshot.plan.as_ref().map(|plan| plan.generation);
        if plan_generation(self) != plan_generation(current) {
            tags.push(project_tags.plan());
            tags.extend(entity_tags(self.plan.as_deref(), current.plan.as_deref(), project_tags));
        }
        tags
    }
}

/// The tags of entities whose files were added, removed or changed.
fn entity_tags(
    before: Option<&PlanSnapshot>,
    current: Option<&PlanSnapshot>,
    project_tags: &ProjectTags,
) -> Vec<Tag> {
    let files = |plan: Option<&PlanSnapshot>| -> HashMap<String, (Arc<str>, Option<Tag>)> {
        let files = plan.into_iter().flat_map(|plan| plan.index.files());
        let tag = |entity| project_tags.entity(entity);
        files
            .map(|file| {
                let entity = file.parsed.entity.as_ref().map(tag);
                (file.entry.path.clone(), (file.hash.clone(), entity))
            })
            .collect()
    };
    let (before, current) = (files(before), files(current));
    let removed_or_changed = before
        .iter()
        .filter(|(path, (hash, _))| current.get(*path).is_none_or(|(other_hash, _)| other_hash != hash));
    let added_or_changed = current
        .iter()
        .filter(|(path, (hash, _))| before.get(*path).is_none_or(|(other_hash, _)| other_hash != hash));
    let mut tags: Vec<Tag> =
        removed_or_changed.chain(added_or_changed).filter_map(|(_, (_, tag))| tag.clone()).collect();
    tags.sort_unstable();
    tags.dedup();
    if tags.len() > CHANGE_ENTITIES_MAX {
        return vec![project_tags.bulk_entities()];
    }
    tags
}

/// The difference between two states of a folder, ready to be published.
#[derive(Clone, Debug)]
pub(crate) struct FolderChange {
    root: String,
    from_fingerprint: String,
    to_fingerprint: String,
    tags: Vec<Tag>,
}

impl FolderChange {
    pub(super) fn new(
        root: String,
        from_fingerprint: String,
        to_fingerprint: String,
        tags: Vec<Tag>,
    ) -> FolderChange {
        FolderChange { root, from_fingerprint, to_fingerprint, tags }
    }

    pub(crate) fn diff(
        before: &FolderSnapshot,
        current: &FolderSnapshot,
        project_tags: &ProjectTags,
    ) -> FolderChange {
        FolderChange {
            root: project_tags.as_str().to_owned(),
            from_fingerprint: before.fingerprint(),
            to_fingerprint: current.fingerprint(),
            tags: before.changed_tags(current, project_tags),
        }
    }

    /// Whether a process has published this change already. A process that missed a state between two polls publishes
    /// both changes as one: a subscriber may be notified twice, but it never misses a change.
    async fn is_published(&self, store: &Store, tenant: &TenantId) -> Result<bool> {
        let (root, from_fingerprint, to_fingerprint) =
            (self.root.clone(), self.from_fingerprint.clone(), self.to_fingerprint.clone());
        store
            .read(tenant, move |sql| {
                let tenant = sql.tenant().as_str().to_owned();
                let row = sql.query_opt(
                    "SELECT from_print, to_print FROM refrakt_told WHERE tenant_id = $1 AND root = $2",
                    params![tenant, root.as_str()],
                )?;
                let Some(row) = row else { return Ok(false) };
                Ok(row.text(0)? == from_fingerprint && row.text(1)? == to_fingerprint)
            })
            .await
    }

    /// Publishes the change as a part of a commit.
    pub(crate) fn publish_in(&self, tx: &mut Tx<'_>) -> Result<()> {
        let tenant = tx.tenant().as_str().to_owned();
        tx.execute(
            "INSERT INTO refrakt_told (tenant_id, root, from_print, to_print) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (tenant_id, root) DO UPDATE SET from_print = $3, to_print = $4",
            params![tenant, self.root.as_str(), self.from_fingerprint.as_str(), self.to_fingerprint.as_str()],
        )?;
        for tag in &self.tags {
            tx.invalidate(tag.clone());
        }
        Ok(())
    }
}

/// Whether a process holds the write lock of the plan.
fn is_write_locked(plan: Option<&PlanSnapshot>) -> bool {
    plan.is_some_and(|plan| matches!(WriteLock::try_acquire(&plan.dir), Ok(None)))
}

/// How long to wait until the next poll, so that polling stays within its share of a core.
fn next_poll_delay(poll_duration: Duration) -> Duration {
    (poll_duration * POLL_DUTY_DIVISOR).clamp(POLL_INTERVAL_MIN, POLL_INTERVAL_MAX)
}
