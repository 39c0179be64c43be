//! The status of the plan: counts, the current milestone, blocked, ready and finished tasks, progress of
//! specifications.

use std::collections::HashMap;

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::entity::Entity;
use super::entity_type::{EntityType, is_done};
use super::index::PlanIndex;
use super::next::ready_tasks;

/// Most ready tasks in the status. The list of next tasks contains all.
pub const READY_SHOWN_MAX: usize = 5;

/// Most finished tasks in the status, latest first.
pub const DONE_SHOWN_MAX: usize = 10;

/// The status of the plan. A named milestone replaces the current one.
pub fn plan_status(index: &PlanIndex, milestone: Option<&str>) -> Value {
    let mut status = Map::new();
    if let Some(progress) = milestone_progress(index, milestone) {
        status.insert("milestone".into(), progress);
    }
    let counts = json!({
        "specs": count_by_status(index, EntityType::Spec),
        "work": count_by_status(index, EntityType::Work),
        "bugs": count_by_status(index, EntityType::Bug),
        "decisions": count_by_status(index, EntityType::Decision),
    });
    status.insert("counts".into(), counts);
    status.insert("blocked".into(), blocked_tasks(index));
    let ready_tasks = ready_tasks(index).into_iter().take(READY_SHOWN_MAX).map(|entity| {
        json!({
            "id": entity.id().unwrap_or_default(),
            "title": title_or_empty(entity),
            "type": entity.kind.as_str(),
            "priority": entity.priority(),
            "complexity": entity.complexity(),
        })
    });
    status.insert("ready".into(), ready_tasks.collect());
    status.insert("done".into(), done_tasks(index));
    status.insert("specRollups".into(), spec_rollups(index));
    status.insert("warnings".into(), warnings(index));
    Value::Object(status)
}

fn title_or_empty(entity: &Entity) -> &str {
    entity.title.as_deref().unwrap_or_default()
}

/// Work items first, then bugs: the order of all task lists.
fn tasks(index: &PlanIndex) -> impl Iterator<Item = &Entity> {
    let tasks_of_kind = |kind: EntityType| index.entities().filter(move |entity| entity.kind == kind);
    tasks_of_kind(EntityType::Work).chain(tasks_of_kind(EntityType::Bug))
}

/// The progress of a milestone by name, or of the first active one.
pub fn milestone_progress(index: &PlanIndex, name: Option<&str>) -> Option<Value> {
    let mut milestones = index.entities().filter(|entity| entity.kind == EntityType::Milestone);
    let milestone = milestones.find(|entity| match name {
        Some(name) => entity.id() == Some(name),
        None => entity.status() == "active",
    })?;
    let name = milestone.id().unwrap_or_default();
    let milestone_tasks: Vec<&Entity> =
        tasks(index).filter(|task| task.attribute("milestone") == Some(name)).collect();
    let mut progress = Map::new();
    progress.insert("name".into(), json!(name));
    progress.insert("status".into(), json!(milestone.status()));
    if let Some(target) = milestone.attribute("target") {
        progress.insert("target".into(), json!(target));
    }
    progress
        .insert("done".into(), json!(milestone_tasks.iter().filter(|task| is_done(task.status())).count()));
    progress.insert("total".into(), json!(milestone_tasks.len()));
    Some(Value::Object(progress))
}

fn count_by_status(index: &PlanIndex, kind: EntityType) -> Value {
    let mut by_status: IndexMap<&str, usize> = IndexMap::new();
    for entity in index.entities().filter(|entity| entity.kind == kind) {
        *by_status.entry(entity.attribute("status").unwrap_or("unknown")).or_default() += 1;
    }
    json!({ "total": by_status.values().sum::<usize>(), "byStatus": by_status })
}

/// Tasks with the status blocked, with the references that are not achieved.
fn blocked_tasks(index: &PlanIndex) -> Value {
    tasks(index)
        .filter(|task| task.status() == "blocked")
        .map(|task| {
            let open: Vec<&str> = task
                .refs
                .iter()
                .map(String::as_str)
                .filter(|id| {
                    index.entity(id).is_some_and(|other| !other.kind.unblocks_dependents(other.status()))
                })
                .collect();
            json!({ "id": task.id().unwrap_or_default(), "title": title_or_empty(task), "blockedBy": open })
        })
        .collect()
}

/// Finished tasks with a resolution, latest first, those without a date last.
fn done_tasks(index: &PlanIndex) -> Value {
    let mut tasks_done: Vec<_> = tasks(index)
        .filter(|task| is_done(task.status()))
        .filter_map(|task| Some((task, task.resolution.as_ref()?)))
        .collect();
    tasks_done.sort_by(|(_, a), (_, b)| b.date.cmp(&a.date));
    let entries = tasks_done.into_iter().take(DONE_SHOWN_MAX).map(|(task, resolution)| {
        let mut entry = Map::new();
        entry.insert("id".into(), json!(task.id().unwrap_or_default()));
        entry.insert("title".into(), json!(title_or_empty(task)));
        for (key, value) in [("date", &resolution.date), ("pr", &resolution.pr)] {
            if let Some(value) = value {
                entry.insert(key.into(), json!(value));
            }
        }
        Value::Object(entry)
    });
    entries.collect()
}

/// Specifications that have tasks, with the tasks and their pull requests.
fn spec_rollups(index: &PlanIndex) -> Value {
    let mut by_spec: HashMap<&str, Vec<&Entity>> = HashMap::new();
    for task in tasks(index) {
        for spec in task.list("source") {
            by_spec.entry(spec).or_default().push(task);
        }
    }
    let specs = index.entities().filter(|entity| entity.kind == EntityType::Spec);
    specs
        .filter_map(|spec| {
            let id = spec.id()?;
            let linked = by_spec.get(id)?;
            let mut prs: IndexSet<&str> = IndexSet::new();
            for task in linked {
                let pull_requests = task.attribute("pr");
                let pull_requests = pull_requests
                    .or_else(|| task.resolution.as_ref().and_then(|resolution| resolution.pr.as_deref()));
                prs.extend(
                    pull_requests.unwrap_or_default().split(',').map(str::trim).filter(|pr| !pr.is_empty()),
                );
            }
            let all_done = linked.iter().all(|task| is_done(task.status()));
            Some(json!({
                "id": id,
                "title": title_or_empty(spec),
                "status": spec.status(),
                "implementedBy": linked.iter().map(|task| task.label()).collect::<Vec<_>>(),
                "prs": prs,
                "suggestImplemented": spec.status() == "accepted" && all_done,
            }))
        })
        .collect()
}

fn warnings(index: &PlanIndex) -> Value {
    let mut warnings = Vec::new();
    for entity in index.entities() {
        let label = entity.label();
        for target in entity.refs.iter().filter(|id| !index.contains_id(id)) {
            warnings.push(json!({
                "type": "broken-ref",
                "source": label,
                "target": target,
                "message": format!("{label} points to {target}, which no file of the plan defines"),
            }));
        }
        if entity.kind.is_task() && !is_done(entity.status()) && entity.attribute("milestone").is_none() {
            let message = format!("{label} belongs to no milestone");
            warnings.push(json!({ "type": "no-milestone", "source": label, "message": message }));
        }
    }
    Value::Array(warnings)
}
