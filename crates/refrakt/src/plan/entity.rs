//! An entity of the plan, as parsed from its file.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::entity_type::{DEFAULT_COMPLEXITY, DEFAULT_PRIORITY, EntityType};
use crate::diagnostic::Diagnostic;

/// One entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Path of its file below the plan folder.
    pub file: String,
    /// Its type.
    pub kind: EntityType,
    /// Attributes as text, in the order of the tag.
    pub attributes: IndexMap<String, String>,
    /// Text of its first heading of level 1.
    pub title: Option<String>,
    /// The acceptance criteria and other checkboxes.
    pub criteria: Vec<Criterion>,
    /// Ids that it refers to, each once.
    pub refs: Vec<String>,
    /// The references with the known section that contains them.
    pub scoped_refs: Vec<ScopedRef>,
    /// Dependencies, in both directions.
    pub dependencies: Vec<Dependency>,
    /// Known sections that it has, in order.
    pub known_sections: Vec<&'static str>,
    /// The first section Resolution.
    pub resolution: Option<Resolution>,
    /// How many sections Resolution it has. More than one is an issue.
    pub resolution_count: usize,
}

/// A list item with a checkbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// Its text.
    pub text: String,
    /// Whether it is checked.
    pub checked: bool,
}

/// A reference and its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedRef {
    /// The id referred to.
    pub id: String,
    /// The known section that contains it.
    pub section: Option<&'static str>,
}

/// A dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The other entity.
    pub id: String,
    /// Its direction.
    pub direction: Direction,
}

/// The direction of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// This entity depends on the other.
    BlockedBy,
    /// The other depends on this one.
    Blocks,
}

impl Direction {
    /// The value in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::BlockedBy => "blocked-by",
            Direction::Blocks => "blocks",
        }
    }
}

/// How an entity was completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// `Completed:`
    pub date: Option<String>,
    /// `Branch:`
    pub branch: Option<String>,
    /// `PR:`
    pub pr: Option<String>,
    /// The rest of the section.
    pub body: String,
}

/// The result of parsing one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedFile {
    /// Its entity; `None` if the file is not part of the plan.
    pub entity: Option<Entity>,
    /// Errors in its tags.
    pub diagnostics: Vec<Diagnostic>,
}

impl Entity {
    /// Its id; for a milestone its name.
    pub fn id(&self) -> Option<&str> {
        let keys = if self.kind == EntityType::Milestone { ["name", "id"] } else { ["id", "name"] };
        keys.into_iter().find_map(|key| self.attribute(key))
    }

    /// Its id, or its file if it has no id.
    pub fn label(&self) -> &str {
        self.id().unwrap_or(&self.file)
    }

    /// An attribute that is set and not empty.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Its status; empty if not set.
    pub fn status(&self) -> &str {
        self.attribute("status").unwrap_or_default()
    }

    /// Its priority, or the default.
    pub fn priority(&self) -> &str {
        self.attribute("priority").unwrap_or(DEFAULT_PRIORITY)
    }

    /// Its complexity, or the default.
    pub fn complexity(&self) -> &str {
        self.attribute("complexity").unwrap_or(DEFAULT_COMPLEXITY)
    }

    /// The parts of a comma-separated attribute.
    pub fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        let text = self.attribute(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|part| !part.is_empty())
    }

    /// The entity as JSON, in the form of the npm package.
    pub fn to_json(&self) -> Value {
        let mut entity = Map::new();
        entity.insert("file".into(), json!(self.file));
        entity.insert("type".into(), json!(self.kind.as_str()));
        entity.insert("attributes".into(), json!(self.attributes));
        if let Some(title) = &self.title {
            entity.insert("title".into(), json!(title));
        }
        entity.insert("criteria".into(), self.criteria_json());
        entity.insert("refs".into(), json!(self.refs));
        let scoped = self.scoped_refs.iter().map(|scoped| match scoped.section {
            Some(section) => json!({ "id": scoped.id, "section": section }),
            None => json!({ "id": scoped.id }),
        });
        entity.insert("scopedRefs".into(), scoped.collect());
        let dependencies = self.dependencies.iter();
        let dependencies = dependencies
            .map(|dependency| json!({ "id": dependency.id, "direction": dependency.direction.as_str() }));
        entity.insert("dependencies".into(), dependencies.collect());
        entity.insert("knownSectionsPresent".into(), json!(self.known_sections));
        if let Some(resolution) = &self.resolution {
            entity.insert("resolution".into(), resolution.to_json());
        }
        Value::Object(entity)
    }

    /// Its criteria as JSON.
    pub fn criteria_json(&self) -> Value {
        self.criteria
            .iter()
            .map(|criterion| json!({ "text": criterion.text, "checked": criterion.checked }))
            .collect()
    }
}

impl Resolution {
    fn to_json(&self) -> Value {
        let mut resolution = Map::new();
        for (key, value) in [("date", &self.date), ("branch", &self.branch), ("pr", &self.pr)] {
            if let Some(value) = value {
                resolution.insert(key.into(), json!(value));
            }
        }
        resolution.insert("body".into(), json!(self.body));
        Value::Object(resolution)
    }
}
