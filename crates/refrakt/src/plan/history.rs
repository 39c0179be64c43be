//! The history of entities: what each commit changed in them.
//!
//! Pure functions: two texts of a file in, one event out. [`git_log`](crate::project::git_log) reads the texts.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::entity::{Criterion, Entity};
use super::entity_type::EntityType;
use super::parse::parse_file;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its hash.
    pub hash: String,
    /// When it was written, as `2025-03-06T08:00:00Z`.
    pub date: String,
    /// Its author.
    pub author: String,
    /// The first line of its message.
    pub message: String,
}

/// What a commit did to one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEvent {
    /// The entity after the commit.
    pub entity: Entity,
    /// What changed.
    pub change: EntityChange,
}

/// What changed in an entity.
#[derive(Clone, Debug, PartialEq)]
pub enum EntityChange {
    /// The entity is new.
    Created,
    /// Attributes, and perhaps criteria.
    Attributes(Vec<AttributeChange>, Vec<CriterionChange>),
    /// Criteria only.
    Criteria(Vec<CriterionChange>),
    /// The resolution only.
    Resolution,
    /// Other text.
    Content,
}

/// A changed attribute; `None` for an attribute that was not there, or is not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeChange {
    field: String,
    from: Option<String>,
    to: Option<String>,
}

/// A changed criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriterionChange {
    text: String,
    action: &'static str,
}

/// Which events are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Of this entity. Without it, of the whole plan.
    pub id: Option<String>,
    /// Of these types; of all if empty.
    pub kinds: Vec<EntityType>,
    /// Of authors whose name contains this, in any case.
    pub author: Option<String>,
    /// Only those that set this status.
    pub status: Option<String>,
    /// Whether changes of text alone are events. Those of a single entity always are.
    pub has_content: bool,
}

/// The event of a file that a commit added or changed. `None` if the file has no entity, or the entity is the same.
pub fn event_of(before: Option<&str>, after: &str) -> Option<HistoryEvent> {
    let entity = parse_file("", after).entity?;
    let previous = before.and_then(|text| parse_file("", text).entity);
    let Some(previous) = previous.filter(|previous| previous.id() == entity.id()) else {
        return Some(HistoryEvent { entity, change: EntityChange::Created });
    };
    if before == Some(after) {
        return None;
    }
    let attributes = attribute_changes(&previous.attributes, &entity.attributes);
    let criteria = criterion_changes(&previous.criteria, &entity.criteria);
    let change = match (attributes.is_empty(), criteria.is_empty()) {
        (false, _) => EntityChange::Attributes(attributes, criteria),
        (true, false) => EntityChange::Criteria(criteria),
        (true, true) if previous.resolution != entity.resolution => EntityChange::Resolution,
        (true, true) => EntityChange::Content,
    };
    Some(HistoryEvent { entity, change })
}

fn attribute_changes(
    before: &IndexMap<String, String>,
    after: &IndexMap<String, String>,
) -> Vec<AttributeChange> {
    let added = after.keys().filter(|name| !before.contains_key(*name));
    let names = before.keys().chain(added);
    let changed = names.filter(|name| before.get(*name) != after.get(*name));
    let change = |name: &String| AttributeChange {
        field: name.clone(),
        from: before.get(name).cloned(),
        to: after.get(name).cloned(),
    };
    changed.map(change).collect()
}

fn criterion_changes(before: &[Criterion], after: &[Criterion]) -> Vec<CriterionChange> {
    let by_text = |criteria: &[Criterion]| -> IndexMap<String, bool> {
        criteria.iter().map(|criterion| (criterion.text.clone(), criterion.checked)).collect()
    };
    let (before, after) = (by_text(before), by_text(after));
    let changed = before.iter().filter_map(|(text, was_checked)| {
        let action = match (was_checked, after.get(text)) {
            (_, None) => "removed",
            (true, Some(false)) => "unchecked",
            (false, Some(true)) => "checked",
            _ => return None,
        };
        Some(CriterionChange { text: text.clone(), action })
    });
    let added = after.keys().filter(|text| !before.contains_key(*text));
    let added = added.map(|text| CriterionChange { text: text.clone(), action: "added" });
    changed.chain(added).collect()
}

impl HistoryFilter {
    /// Whether a commit can have requested events, as far as its author tells.
    pub fn matches_commit(&self, commit: &Commit) -> bool {
        let contains = |part: &String| commit.author.to_lowercase().contains(&part.to_lowercase());
        self.author.as_ref().is_none_or(contains)
    }

    /// Whether an event is requested.
    pub fn matches(&self, event: &HistoryEvent) -> bool {
        let entity = &event.entity;
        let sets_status = |status: &String| match &event.change {
            EntityChange::Created => entity.status() == status,
            EntityChange::Attributes(changes, _) => {
                changes.iter().any(|change| change.field == "status" && change.to.as_ref() == Some(status))
            }
            _ => false,
        };
        self.id.as_deref().is_none_or(|id| entity.id() == Some(id))
            && (self.kinds.is_empty() || self.kinds.contains(&entity.kind))
            && self.status.as_ref().is_none_or(sets_status)
            && (self.has_content || self.id.is_some() || event.change != EntityChange::Content)
    }
}

impl HistoryEvent {
    /// As JSON, in the form of the npm package. For the whole plan the entity is named, which the npm package does not
    /// do.
    pub fn to_json(&self, commit: &Commit, file: Option<&str>) -> Value {
        let mut event = Map::new();
        event.insert("kind".into(), self.change.kind().into());
        event.insert("hash".into(), commit.hash.as_str().into());
        event.insert("shortHash".into(), commit.hash.get(..7).unwrap_or(&commit.hash).into());
        event.insert("date".into(), commit.date.as_str().into());
        event.insert("author".into(), commit.author.as_str().into());
        event.insert("message".into(), commit.message.as_str().into());
        let criteria_json = |changes: &[CriterionChange]| -> Value {
            changes.iter().map(|change| json!({ "text": change.text, "action": change.action })).collect()
        };
        match &self.change {
            EntityChange::Created => {
                event.insert("initialAttributes".into(), json!(self.entity.attributes));
            }
            EntityChange::Attributes(attributes, criteria) => {
                let attributes = attributes.iter();
                let attributes = attributes
                    .map(|change| json!({ "field": change.field, "from": change.from, "to": change.to }));
                event.insert("attributeChanges".into(), attributes.collect());
                if !criteria.is_empty() {
                    event.insert("criteriaChanges".into(), criteria_json(criteria));
                }
            }
            EntityChange::Criteria(criteria) => {
                event.insert("criteriaChanges".into(), criteria_json(criteria));
            }
            EntityChange::Resolution | EntityChange::Content => {}
        }
        if let Some(file) = file {
            event.insert("id".into(), self.entity.id().into());
            event.insert("type".into(), self.entity.kind.as_str().into());
            event.insert("file".into(), file.into());
        }
        event.into()
    }
}

impl EntityChange {
    fn kind(&self) -> &'static str {
        match self {
            EntityChange::Created => "created",
            EntityChange::Attributes(..) => "attributes",
            EntityChange::Criteria(_) => "criteria",
            EntityChange::Resolution => "resolution",
            EntityChange::Content => "content",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(attributes: &str, body: &str) -> String {
        format!("{{% work id=\"W\" {attributes} %}}\n# T\n\n{body}\n{{% /work %}}\n")
    }

    #[test]
    fn event_names_what_changed_first() {
        let before = text("status=\"ready\" tags=\"a\"", "- [ ] one\n- [x] two\n- [ ] three");
        let event = |after: &str| event_of(Some(&before), after).map(|event| event.change.kind());
        assert_eq!(event(&before), None);
        assert_eq!(event(&before.replace("ready", "done")), Some("attributes"));
        assert_eq!(event(&before.replace("[ ] one", "[x] one")), Some("criteria"));
        assert_eq!(event(&before.replace("# T", "# U")), Some("content"));
        assert_eq!(
            event(&before.replace("{% /work", "\n## Resolution\n\nYes.\n\n{% /work")),
            Some("resolution")
        );
        assert_eq!(event(&before.replace("\"W\"", "\"V\"")), Some("created"));
        assert_eq!(event("# Nothing\n"), None);
        assert_eq!(event_of(None, &before).unwrap().change, EntityChange::Created);
    }

    #[test]
    fn changes_are_listed_with_old_and_new_values() {
        let before = text("status=\"ready\" tags=\"a\"", "- [ ] one\n- [x] two\n- [ ] three");
        let after = text("status=\"done\" assignee=\"ivo\"", "- [x] one\n- [ ] two\n- [ ] four");
        let commit = Commit {
            hash: "0123456789".into(),
            date: "2025-03-01T08:00:00Z".into(),
            author: "Ada".into(),
            message: "m".into(),
        };
        let event = event_of(Some(&before), &after).unwrap();
        let json = event.to_json(&commit, Some("work/w.md"));
        let field = |name: &str, from: Value, to: Value| json!({"field": name, "from": from, "to": to});
        assert_eq!(
            json["attributeChanges"],
            json!([
                field("status", "ready".into(), "done".into()),
                field("tags", "a".into(), Value::Null),
                field("assignee", Value::Null, "ivo".into()),
            ])
        );
        let actions: Vec<(&str, &str)> = json["criteriaChanges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|change| (change["text"].as_str().unwrap(), change["action"].as_str().unwrap()))
            .collect();
        assert_eq!(
            actions,
            [("one", "checked"), ("two", "unchecked"), ("three", "removed"), ("four", "added")]
        );
        assert_eq!(
            (&json["shortHash"], &json["id"], &json["file"]),
            (&json!("0123456"), &json!("W"), &json!("work/w.md"))
        );
        let matches = |filter: HistoryFilter| filter.matches(&event) && filter.matches_commit(&commit);
        assert!(matches(HistoryFilter {
            status: Some("done".into()),
            author: Some("aDA".into()),
            ..Default::default()
        }));
        assert!(!matches(HistoryFilter { status: Some("ready".into()), ..Default::default() }));
        assert!(!matches(HistoryFilter { author: Some("Bob".into()), ..Default::default() }));
        assert!(!matches(HistoryFilter { kinds: vec![EntityType::Bug], ..Default::default() }));
        assert!(!matches(HistoryFilter { id: Some("V".into()), ..Default::default() }));
    }
}
