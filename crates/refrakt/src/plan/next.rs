//! What to work on next: tasks that can be started, by priority and then by complexity.

use serde_json::{Value, json};

use super::dependencies::Dependencies;
use super::entity::Entity;
use super::entity_type::{EntityType, complexity_rank, priority_rank};
use super::index::PlanIndex;

/// Which tasks are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextFilter {
    /// Of this milestone.
    pub milestone: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Of this assignee.
    pub assignee: Option<String>,
    /// Of this type.
    pub kind: Option<EntityType>,
}

/// The tasks that can be started: their status allows it, and nothing that they depend on is open. The plan's status
/// and the list of next tasks both use this, so they agree.
pub fn ready_tasks<'a>(index: &'a PlanIndex) -> Vec<&'a Entity> {
    let dependencies = Dependencies::new(index);
    let mut tasks: Vec<&'a Entity> = index
        .entities()
        .filter(|entity| entity.kind.actionable_status() == Some(entity.status()))
        .filter(|entity| dependencies.open_blockers(entity).is_empty())
        .collect();
    tasks.sort_by_cached_key(|entity| {
        (priority_rank(entity.priority()), complexity_rank(entity.complexity()))
    });
    tasks
}

/// The next tasks that match a filter.
pub fn next_tasks<'a>(index: &'a PlanIndex, filter: &NextFilter, count: usize) -> Vec<&'a Entity> {
    ready_tasks(index).into_iter().filter(|entity| filter.matches(entity)).take(count).collect()
}

/// The next tasks as JSON.
pub fn to_json(entities: &[&Entity]) -> Value {
    let items: Vec<Value> = entities
        .iter()
        .map(|entity| {
            json!({
                "id": entity.id().unwrap_or_default(),
                "title": entity.title.as_deref().unwrap_or_default(),
                "type": entity.kind.as_str(),
                "priority": entity.priority(),
                "complexity": entity.complexity(),
                "file": entity.file,
                "criteria": entity.criteria_json(),
                "refs": entity.refs,
                "attributes": entity.attributes,
            })
        })
        .collect();
    json!({ "items": items })
}

impl NextFilter {
    fn matches(&self, entity: &Entity) -> bool {
        self.kind.is_none_or(|kind| entity.kind == kind)
            && self.milestone.as_ref().is_none_or(|name| entity.attribute("milestone") == Some(name))
            && self.assignee.as_ref().is_none_or(|name| entity.attribute("assignee") == Some(name))
            && self.tag.as_ref().is_none_or(|tag| entity.list("tags").any(|entity_tag| entity_tag == tag))
    }
}
