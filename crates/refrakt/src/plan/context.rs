//! The context of an entity: its text, its sources and decisions, what it depends on, and what depends on it.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::dependencies::Dependencies;
use super::entity::Entity;
use super::entity_type::EntityType;
use super::index::PlanIndex;
use crate::limits::CONTEXT_ENTITIES_MAX;

/// The context of an entity. `read` returns the text of a file.
pub fn build_context(
    index: &PlanIndex,
    entity: &Entity,
    mut read: impl FnMut(&str) -> Option<String>,
) -> Value {
    let dependencies = Dependencies::new(index);
    let mut builder = ContextBuilder { index, expanded: HashSet::new(), read: &mut read };
    let mut context = Map::new();
    context.insert("entity".into(), builder.expand(entity));
    let sources: Vec<&Entity> = entity.list("source").filter_map(|id| index.entity(id)).collect();
    let milestone =
        entity.attribute("milestone").and_then(|name| index.find(EntityType::Milestone, name).ok());
    let referenced_of_kind = |kind: EntityType| {
        let referenced = entity.refs.iter().filter_map(|id| index.entity(id));
        referenced
            .filter(|referenced_entity| {
                referenced_entity.kind == kind && !std::ptr::eq(*referenced_entity, entity)
            })
            .collect::<Vec<_>>()
    };
    context.insert("sources".into(), builder.expand_all(&sources));
    context.insert("decisions".into(), builder.expand_all(&referenced_of_kind(EntityType::Decision)));
    context.insert("blockedBy".into(), summaries(dependencies.blockers(entity)));
    context.insert("blocks".into(), summaries(dependencies.dependents(entity)));
    context.insert("milestone".into(), milestone.map_or(Value::Null, summary));
    let implementing_tasks = index
        .entities()
        .filter(|task| entity.id().is_some_and(|id| task.list("source").any(|source_id| source_id == id)));
    context.insert("implementedBy".into(), summaries(implementing_tasks.collect()));
    let referenced_entities = entity.refs.iter().filter_map(|id| index.entity(id));
    let remaining: Vec<&Entity> = referenced_entities
        .filter(|referenced_entity| !builder.expanded.contains(referenced_entity.label()))
        .collect();
    context.insert("refersTo".into(), summaries(remaining));
    let missing: Vec<&String> = entity.refs.iter().filter(|id| !index.contains_id(id)).collect();
    context.insert("missing".into(), json!(missing));
    Value::Object(context)
}

/// An entity without its text.
fn summary(entity: &Entity) -> Value {
    json!({
        "id": entity.label(),
        "type": entity.kind.as_str(),
        "status": entity.attribute("status"),
        "title": entity.title,
        "file": entity.file,
        "achieved": entity.kind.unblocks_dependents(entity.status()),
    })
}

fn summaries(entities: Vec<&Entity>) -> Value {
    entities.into_iter().map(summary).collect()
}

struct ContextBuilder<'a, 'r> {
    index: &'a PlanIndex,
    /// Labels of the entities that are included in full.
    expanded: HashSet<&'a str>,
    read: &'r mut dyn FnMut(&str) -> Option<String>,
}

impl<'a> ContextBuilder<'a, '_> {
    fn expand_all(&mut self, entities: &[&'a Entity]) -> Value {
        let mut expanded = Vec::new();
        for entity in entities.iter().take(CONTEXT_ENTITIES_MAX) {
            if !self.expanded.contains(entity.label()) {
                expanded.push(self.expand(entity));
            }
        }
        Value::Array(expanded)
    }

    /// An entity with its text.
    fn expand(&mut self, entity: &'a Entity) -> Value {
        self.expanded.insert(entity.label());
        json!({
            "id": entity.label(),
            "type": entity.kind.as_str(),
            "title": entity.title,
            "file": entity.file,
            "hash": self.index.file_hash(&entity.file),
            "attributes": entity.attributes,
            "criteria": entity.criteria_json(),
            "source": (self.read)(&entity.file),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_contains_all_related_entities() {
        let work = |id: &str, more: &str, body: &str| {
            format!("{{% work id=\"{id}\" status=\"ready\" {more} %}}\n# {id}\n{body}\n{{% /work %}}\n")
        };
        let files = [
            (
                "a.md",
                work(
                    "A",
                    "source=\"S\" milestone=\"m\"",
                    "{% ref \"D\" /%} {% ref \"B\" /%} {% ref \"gone\" /%}\n\n## Blocked by\n\n{% ref \"C\" /%}",
                ),
            ),
            ("b.md", work("B", "", "")),
            ("c.md", work("C", "", "")),
            ("d.md", "{% decision id=\"D\" status=\"accepted\" /%}\n".to_owned()),
            ("e.md", work("E", "", "## Depends on\n\n{% ref \"A\" /%}")),
            ("m.md", "{% milestone name=\"m\" /%}\n".to_owned()),
            ("s.md", "{% spec id=\"S\" /%}\n".to_owned()),
        ];
        let index = PlanIndex::from_texts(files.iter().map(|(path, text)| (*path, text.as_str())));
        let text_of = |file: &str| files.iter().find(|(path, _)| *path == file).map(|(_, text)| text.clone());
        let context_of = |id: &str| build_context(&index, index.entity(id).unwrap(), text_of);
        let a = context_of("A");
        let ids = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|entity| entity["id"].as_str().unwrap().to_owned()).collect()
        };
        assert!(a["entity"]["source"].as_str().unwrap().contains("# A"));
        assert_eq!(a["entity"]["hash"].as_str().unwrap().len(), 64);
        for (key, expected) in [("sources", "S"), ("decisions", "D"), ("blockedBy", "C"), ("blocks", "E")] {
            assert_eq!(ids(&a[key]), [expected], "{key}");
        }
        assert_eq!(ids(&a["refersTo"]), ["B", "C"]);
        assert_eq!((a["milestone"]["id"].as_str(), &a["missing"]), (Some("m"), &json!(["gone"])));
        assert_eq!(ids(&context_of("S")["implementedBy"]), ["A"]);
    }
}
