//! Telling of changes that nobody made through us: an editor saved a file, a branch was checked out.
//!
//! Readers need none of this, since every read looks at the folder itself. It is for those who wait. The folder is looked at again
//! and again, as often as two percent of a core allow, and what is different becomes a change in the log, which wakes them in every
//! process. Several processes may watch one folder: the database remembers the last step that was told, and whoever sees the same
//! step says nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::canonical::sha256_hex;
use quad_core::{EventDraft, Result, Tag, TenantId};
use quad_store::{Sql, Store, Tx, WriteContext, params};

use super::listing::ListedResources;
use super::tags::ProjectTags;
use crate::limits::{CHANGE_ENTITIES_MAX, POLL_DUTY_DIVISOR, POLL_INTERVAL_MAX, POLL_INTERVAL_MIN};
use crate::project::atomic_write::WriteLock;
use crate::project_cache::{PlanSnapshot, ProjectCache, ProjectSnapshot};

/// The layer of audit events about a project's folder.
pub(super) const LAYER: &str = "project";

/// What the folder was found to be at one moment.
#[derive(Clone, Debug)]
pub(super) struct FolderSnapshot {
    listed_resources: ListedResources,
    project: Arc<ProjectSnapshot>,
    project_json: String,
    plan: Option<Arc<PlanSnapshot>>,
}

impl FolderSnapshot {
    /// Looks. Blocks.
    pub(super) fn capture(project: &ProjectCache) -> FolderSnapshot {
        let plan = project.plan().ok().flatten();
        let snapshot = project.project_snapshot();
        let project_json = project.project_json().to_string();
        let listed_resources = ListedResources::from_project(project);
        FolderSnapshot { listed_resources, project: snapshot, project_json, plan }
    }

    /// One word for it, the same in every process.
    fn fingerprint(&self) -> String {
        let plan = self.plan.as_ref().map_or("", |plan| plan.fingerprint());
        sha256_hex(format!("{} {plan} {}", self.project.fingerprint(), self.project_json).as_bytes())
    }

    /// What is different in another look.
    fn changed_tags(&self, current: &FolderSnapshot, project_tags: &ProjectTags) -> Vec<Tag> {
        let mut tags = Vec::new();
        if self.listed_resources != current.listed_resources {
            tags.push(Tag::resource_list("refrakt"));
        }
        if self.project_json != current.project_json {
            tags.push(project_tags.detect());
        }
        if self.project.generation != current.project.generation {
            tags.push(project_tags.sites());
        }
        let plan_generation = |snapshot: &FolderSnapshot| snapshot.plan.as_ref().map(|plan| plan.generation);
        if plan_generation(self) != plan_generation(current) {
            tags.push(project_tags.plan());
            tags.extend(entity_tags(self.plan.as_deref(), current.plan.as_deref(), project_tags));
        }
        tags
    }
}

/// The tags of entities whose files differ, came or went.
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

/// A step from one look to the next, ready to be told.
#[derive(Clone, Debug)]
pub(super) struct FolderChange {
    root: String,
    from_fingerprint: String,
    to_fingerprint: String,
    pub(super) tags: Vec<Tag>,
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

    pub(super) fn diff(
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

    /// Whether somebody told it already. One that has missed a step between two of its looks tells both as one: better twice than never.
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

    /// Tells it, as a part of a commit.
    pub(super) fn publish_in(&self, tx: &mut Tx<'_>) -> Result<()> {
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

/// Takes the first look, unless somebody has: whoever waited for theirs goes on with it.
pub(super) async fn ensure_baseline(refrakt: &super::Refrakt) -> Result<()> {
    // The next look of somebody else need not be waited for.
    let mut published = tokio::select! {
        biased;
        _ = refrakt.baseline_taken.wait() => return Ok(()),
        published = refrakt.published.lock() => published,
    };
    poll(refrakt, &mut published).await.map(drop)
}

/// Looks at the folder once and tells what is different. Says how long the look took.
pub(super) async fn poll_and_publish(refrakt: &super::Refrakt) -> Result<Duration> {
    let mut published = refrakt.published.lock().await;
    poll(refrakt, &mut published).await
}

async fn poll(refrakt: &super::Refrakt, published: &mut Option<FolderSnapshot>) -> Result<Duration> {
    let Some((tenant, project)) = refrakt.project() else { return Ok(POLL_INTERVAL_MAX) };
    let started = Instant::now();
    let current = super::run_blocking(move || Ok(FolderSnapshot::capture(&project))).await?;
    let elapsed = started.elapsed();
    if let (Some(before), Some(project_tags)) = (published.as_ref(), refrakt.project_tags()) {
        let change = FolderChange::diff(before, &current, &project_tags);
        let plan = current.plan.clone();
        // Another process that is writing tells of it itself, in the commit of its write: the next look is soon enough.
        if !change.tags.is_empty()
            && super::run_blocking(move || Ok(is_write_locked(plan.as_deref()))).await?
        {
            return Ok(elapsed);
        }
        publish(refrakt, &tenant, change).await?;
    }
    *published = Some(current);
    // Once is enough.
    let _ = refrakt.baseline_taken.set(());
    Ok(elapsed)
}

/// Whether somebody has the right to write this moment.
fn is_write_locked(plan: Option<&PlanSnapshot>) -> bool {
    plan.is_some_and(|plan| matches!(WriteLock::try_acquire(&plan.dir), Ok(None)))
}

/// Tells a step in a commit of its own, unless nothing is different or somebody told it already.
pub(super) async fn publish(refrakt: &super::Refrakt, tenant: &TenantId, change: FolderChange) -> Result<()> {
    if change.tags.is_empty() || change.is_published(&refrakt.store, tenant).await? {
        return Ok(());
    }
    let event = EventDraft::system(LAYER, "project.changed", "quad")
        .input("root", change.root.as_str())
        .output("tags", change.tags.len())
        .succeeded();
    refrakt.store.write(&WriteContext::from(tenant), event, move |tx| change.publish_in(tx)).await?;
    Ok(())
}

/// How long to wait until the next look: never so short that looking costs more than its share.
pub(super) fn next_poll_delay(poll_duration: Duration) -> Duration {
    (poll_duration * POLL_DUTY_DIVISOR).clamp(POLL_INTERVAL_MIN, POLL_INTERVAL_MAX)
}
