//! The status of the plan: counts, the current milestone, blocked, ready and finished tasks, progress of
//! specifications.

use std::collections::HashMap;

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::dependencies::Dependencies;
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

/// Tasks with the status blocked, with what blocks them: the references that are not achieved, and the entities that
/// name them in *Blocks*. Where there is none, a sentence says so.
fn blocked_tasks(index: &PlanIndex) -> Value {
    let dependencies = Dependencies::new(index);
    let blocked = tasks(index).filter(|task| task.status() == "blocked").map(|task| {
        let is_open =
            |id: &&str| index.entity(id).is_some_and(|other| !other.kind.unblocks_dependents(other.status()));
        let mut open: IndexSet<&str> = task.refs.iter().map(String::as_str).filter(is_open).collect();
        open.extend(dependencies.open_blockers(task).into_iter().filter_map(Entity::id));
        let mut entry = json!({
            "id": task.id().unwrap_or_default(), "title": title_or_empty(task), "blockedBy": open,
        });
        if let (true, Some(entry)) = (open.is_empty(), entry.as_object_mut()) {
            entry.insert("reason".into(), json!(reason_without_blocker(index, task)));
        }
        entry
    });
    blocked.collect()
}

/// Why a task is blocked that nothing open blocks.
fn reason_without_blocker(index: &PlanIndex, task: &Entity) -> String {
    let missing: Vec<&str> =
        task.refs.iter().map(String::as_str).filter(|id| !index.contains_id(id)).collect();
    if !missing.is_empty() {
        return format!("it refers to {}, which no file of the plan defines", missing.join(", "));
    }
    if task.refs.is_empty() {
        return "its status says so; it names nothing that blocks it".to_owned();
    }
    format!("its status says so; all that it refers to is achieved: {}", task.refs.join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_task_always_has_a_reason() {
        let work = |id: &str, status: &str, body: &str| {
            format!("{{% work id=\"{id}\" status=\"{status}\" %}}\n# {id}\n\n{body}\n{{% /work %}}\n")
        };
        let texts = [
            ("a.md", work("A", "blocked", "")),
            ("b.md", work("B", "blocked", "{% ref \"D\" /%}")),
            ("c.md", work("C", "blocked", "{% ref \"gone\" /%}")),
            ("d.md", work("D", "done", "")),
            ("e.md", work("E", "blocked", "")),
            ("f.md", work("F", "ready", "## Blocks\n\n{% ref \"E\" /%}")),
        ];
        let index = PlanIndex::from_texts(texts.iter().map(|(path, text)| (*path, text.as_str())));
        let status = plan_status(&index, None);
        let blocked: Vec<(&str, Value, Option<&str>)> = status["blocked"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| (task["id"].as_str().unwrap(), task["blockedBy"].clone(), task["reason"].as_str()))
            .collect();
        assert_eq!(
            blocked,
            [
                ("A", json!([]), Some("its status says so; it names nothing that blocks it")),
                ("B", json!([]), Some("its status says so; all that it refers to is achieved: D")),
                ("C", json!([]), Some("it refers to gone, which no file of the plan defines")),
                ("E", json!(["F"]), None),
            ]
        );
    }
}
