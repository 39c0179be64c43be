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
use quad_store::{Sql, Store, Tx, Writer, params};

use super::listing::Exposed;
use super::tags::Root;
use crate::limits::{CHANGE_ENTITIES_MAX, LOOK_INTERVAL_MAX, LOOK_INTERVAL_MIN, LOOK_SHARE};
use crate::live::{Detected, Live, Plan};
use crate::project::writing::WriteLock;

/// The layer of audit events about a project's folder.
pub(super) const LAYER: &str = "project";

/// What the folder was found to be at one moment.
#[derive(Clone, Debug)]
pub(super) struct Look {
    exposed: Exposed,
    detected: Arc<Detected>,
    shown: String,
    plan: Option<Arc<Plan>>,
}

impl Look {
    /// Looks. Blocks.
    pub(super) fn take(live: &Live) -> Look {
        let plan = live.plan().ok().flatten();
        let detected = live.detected();
        let shown = live.detected_json().to_string();
        Look { exposed: Exposed::of(live), detected, shown, plan }
    }

    /// One word for it, the same in every process.
    fn print(&self) -> String {
        let plan = self.plan.as_ref().map_or("", |plan| plan.print());
        sha256_hex(format!("{} {plan} {}", self.detected.print(), self.shown).as_bytes())
    }

    /// What is different in another look.
    fn tags_until(&self, now: &Look, root: &Root) -> Vec<Tag> {
        let mut tags = Vec::new();
        if self.exposed != now.exposed {
            tags.push(Tag::listing("refrakt"));
        }
        if self.shown != now.shown {
            tags.push(root.detected());
        }
        if self.detected.number != now.detected.number {
            tags.push(root.sites());
        }
        let number = |look: &Look| look.plan.as_ref().map(|plan| plan.number);
        if number(self) != number(now) {
            tags.push(root.plan());
            tags.extend(entity_tags(self.plan.as_deref(), now.plan.as_deref(), root));
        }
        tags
    }
}

/// The tags of entities whose files differ, came or went.
fn entity_tags(before: Option<&Plan>, now: Option<&Plan>, root: &Root) -> Vec<Tag> {
    let files = |plan: Option<&Plan>| -> HashMap<String, (Arc<str>, Option<Tag>)> {
        let files = plan.into_iter().flat_map(|plan| plan.index.files());
        let tag = |entity| root.entity(entity);
        files
            .map(|file| {
                let entity = file.scanned.entity.as_ref().map(tag);
                (file.entry.path.clone(), (file.hash.clone(), entity))
            })
            .collect()
    };
    let (before, now) = (files(before), files(now));
    let gone_or_other =
        before.iter().filter(|(path, (hash, _))| now.get(*path).is_none_or(|(other, _)| other != hash));
    let new_or_other =
        now.iter().filter(|(path, (hash, _))| before.get(*path).is_none_or(|(other, _)| other != hash));
    let mut tags: Vec<Tag> =
        gone_or_other.chain(new_or_other).filter_map(|(_, (_, tag))| tag.clone()).collect();
    tags.sort_unstable();
    tags.dedup();
    if tags.len() > CHANGE_ENTITIES_MAX {
        return vec![root.many()];
    }
    tags
}

/// A step from one look to the next, ready to be told.
#[derive(Clone, Debug)]
pub(super) struct Step {
    root: String,
    from: String,
    to: String,
    pub(super) tags: Vec<Tag>,
}

impl Step {
    pub(super) fn new(root: String, from: String, to: String, tags: Vec<Tag>) -> Step {
        Step { root, from, to, tags }
    }

    pub(super) fn between(before: &Look, now: &Look, root: &Root) -> Step {
        Step {
            root: root.as_str().to_owned(),
            from: before.print(),
            to: now.print(),
            tags: before.tags_until(now, root),
        }
    }

    /// Whether somebody told it already. One that has missed a step between two of its looks tells both as one: better twice than never.
    async fn is_told(&self, store: &Store, tenant: &TenantId) -> Result<bool> {
        let (root, from, to) = (self.root.clone(), self.from.clone(), self.to.clone());
        store
            .read(tenant, move |sql| {
                let tenant = sql.tenant().as_str().to_owned();
                let told = sql.query_opt(
                    "SELECT from_print, to_print FROM refrakt_told WHERE tenant_id = $1 AND root = $2",
                    params![tenant, root.as_str()],
                )?;
                let Some(told) = told else { return Ok(false) };
                Ok(told.text(0)? == from && told.text(1)? == to)
            })
            .await
    }

    /// Tells it, as a part of a commit.
    pub(super) fn tell(&self, tx: &mut Tx<'_>) -> Result<()> {
        let tenant = tx.tenant().as_str().to_owned();
        tx.execute(
            "INSERT INTO refrakt_told (tenant_id, root, from_print, to_print) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (tenant_id, root) DO UPDATE SET from_print = $3, to_print = $4",
            params![tenant, self.root.as_str(), self.from.as_str(), self.to.as_str()],
        )?;
        for tag in &self.tags {
            tx.touch(tag.clone());
        }
        Ok(())
    }
}

/// Takes the first look, unless somebody has: whoever waited for theirs goes on with it.
pub(super) async fn begin(refrakt: &super::Refrakt) -> Result<()> {
    // The next look of somebody else need not be waited for.
    let mut told = tokio::select! {
        biased;
        _ = refrakt.begun.wait() => return Ok(()),
        told = refrakt.told.lock() => told,
    };
    look(refrakt, &mut told).await.map(drop)
}

/// Looks at the folder once and tells what is different. Says how long the look took.
pub(super) async fn look_and_tell(refrakt: &super::Refrakt) -> Result<Duration> {
    let mut told = refrakt.told.lock().await;
    look(refrakt, &mut told).await
}

async fn look(refrakt: &super::Refrakt, told: &mut Option<Look>) -> Result<Duration> {
    let Some((tenant, live)) = refrakt.owned() else { return Ok(LOOK_INTERVAL_MAX) };
    let started = Instant::now();
    let now = super::blocking(move || Ok(Look::take(&live))).await?;
    let took = started.elapsed();
    if let (Some(before), Some(root)) = (told.as_ref(), refrakt.root()) {
        let step = Step::between(before, &now, &root);
        let plan = now.plan.clone();
        // Another process that is writing tells of it itself, in the commit of its write: the next look is soon enough.
        if !step.tags.is_empty() && super::blocking(move || Ok(is_being_written(plan.as_deref()))).await? {
            return Ok(took);
        }
        tell(refrakt, &tenant, step).await?;
    }
    *told = Some(now);
    // Once is enough.
    let _ = refrakt.begun.set(());
    Ok(took)
}

/// Whether somebody has the right to write this moment.
fn is_being_written(plan: Option<&Plan>) -> bool {
    plan.is_some_and(|plan| matches!(WriteLock::take_now(&plan.folder), Ok(None)))
}

/// Tells a step in a commit of its own, unless nothing is different or somebody told it already.
pub(super) async fn tell(refrakt: &super::Refrakt, tenant: &TenantId, step: Step) -> Result<()> {
    if step.tags.is_empty() || step.is_told(&refrakt.store, tenant).await? {
        return Ok(());
    }
    let event = EventDraft::system(LAYER, "project.changed", "quad")
        .input("root", step.root.as_str())
        .output("tags", step.tags.len())
        .succeeded();
    refrakt.store.write(&Writer::from(tenant), event, move |tx| step.tell(tx)).await?;
    Ok(())
}

/// How long to wait until the next look: never so short that looking costs more than its share.
pub(super) fn pause_after(took: Duration) -> Duration {
    (took * LOOK_SHARE).clamp(LOOK_INTERVAL_MIN, LOOK_INTERVAL_MAX)
}
