//! The next free id of a type.

use serde_json::{Value, json};

use super::entity::Entity;
use super::entity_type::EntityType;
use super::index::PlanIndex;

/// The next free id of a type, and the highest that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextId {
    /// The type.
    pub kind: EntityType,
    /// The next free id.
    pub next: String,
    /// The highest id in use.
    pub highest: Option<String>,
}

/// The next free id; `None` for milestones, which have names. Entities of every type count, because an id is unique in
/// the plan.
pub fn next_id(index: &PlanIndex, kind: EntityType) -> Option<NextId> {
    let prefix = kind.id_prefix()?;
    let number = |id: &str| id.strip_prefix(prefix)?.strip_prefix('-')?.parse::<u64>().ok();
    let taken = index.entities().filter_map(Entity::id).filter_map(|id| Some((number(id)?, id)));
    let highest = taken.max_by_key(|(number, _)| *number);
    let next = highest.map_or(1, |(number, _)| number.saturating_add(1));
    Some(NextId { kind, next: format!("{prefix}-{next:03}"), highest: highest.map(|(_, id)| id.to_owned()) })
}

impl NextId {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({ "type": self.kind.as_str(), "nextId": self.next, "highest": self.highest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_id_is_highest_plus_one() {
        let texts = ["WORK-9", "WORK-012", "WORK-x", "BUG-40", "WORK-"]
            .map(|id| format!("{{% work id=\"{id}\" /%}}\n"));
        let index = PlanIndex::from_texts(texts.iter().map(|text| ("a.md", text.as_str())));
        let next = |kind| next_id(&index, kind).unwrap();
        assert_eq!(
            (next(EntityType::Work).next.as_str(), next(EntityType::Work).highest.as_deref()),
            ("WORK-013", Some("WORK-012"))
        );
        assert_eq!(
            next(EntityType::Decision).to_json(),
            json!({ "type": "decision", "nextId": "ADR-001", "highest": null })
        );
        assert_eq!(next_id(&index, EntityType::Milestone), None);
    }
}
