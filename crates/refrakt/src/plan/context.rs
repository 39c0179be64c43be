//! All that somebody needs who starts on an entity: its text, what it carries out, what it rests on and waits for, what waits for it.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::dependencies::Dependencies;
use super::entity::Entity;
use super::index::PlanIndex;
use super::vocabulary::EntityType;
use crate::limits::CONTEXT_ENTITIES_MAX;

/// The context of an entity. `read` gives the text of a file.
pub fn context(index: &PlanIndex, entity: &Entity, mut read: impl FnMut(&str) -> Option<String>) -> Value {
    let dependencies = Dependencies::new(index);
    let mut shown = Shown { index, seen: HashSet::new(), read: &mut read };
    let mut context = Map::new();
    context.insert("entity".into(), shown.full(entity));
    let sources: Vec<&Entity> = entity.list("source").filter_map(|id| index.entity(id)).collect();
    let milestone =
        entity.attribute("milestone").and_then(|name| index.find(EntityType::Milestone, name).ok());
    let of_kind = |kind: EntityType| {
        let referred = entity.refs.iter().filter_map(|id| index.entity(id));
        referred.filter(|other| other.kind == kind && !std::ptr::eq(*other, entity)).collect::<Vec<_>>()
    };
    context.insert("sources".into(), shown.all(&sources));
    context.insert("decisions".into(), shown.all(&of_kind(EntityType::Decision)));
    context.insert("blockedBy".into(), brief(dependencies.blockers(entity)));
    context.insert("blocks".into(), brief(dependencies.waiting(entity)));
    context.insert("milestone".into(), milestone.map_or(Value::Null, brief_one));
    let carried_out_by = index
        .entities()
        .filter(|task| entity.id().is_some_and(|id| task.list("source").any(|own| own == id)));
    context.insert("implementedBy".into(), brief(carried_out_by.collect()));
    let others = entity.refs.iter().filter_map(|id| index.entity(id));
    let others: Vec<&Entity> = others.filter(|other| !shown.seen.contains(other.label())).collect();
    context.insert("refersTo".into(), brief(others));
    let missing: Vec<&String> = entity.refs.iter().filter(|id| !index.knows(id)).collect();
    context.insert("missing".into(), json!(missing));
    Value::Object(context)
}

/// An entity in a line.
fn brief_one(entity: &Entity) -> Value {
    json!({
        "id": entity.label(),
        "type": entity.kind.as_str(),
        "status": entity.attribute("status"),
        "title": entity.title,
        "file": entity.file,
        "achieved": entity.kind.is_achieved(entity.status()),
    })
}

fn brief(entities: Vec<&Entity>) -> Value {
    entities.into_iter().map(brief_one).collect()
}

struct Shown<'a, 'r> {
    index: &'a PlanIndex,
    /// Labels of what is shown in full.
    seen: HashSet<&'a str>,
    read: &'r mut dyn FnMut(&str) -> Option<String>,
}

impl<'a> Shown<'a, '_> {
    fn all(&mut self, entities: &[&'a Entity]) -> Value {
        let mut all = Vec::new();
        for entity in entities.iter().take(CONTEXT_ENTITIES_MAX) {
            if !self.seen.contains(entity.label()) {
                all.push(self.full(entity));
            }
        }
        Value::Array(all)
    }

    /// An entity with its text.
    fn full(&mut self, entity: &'a Entity) -> Value {
        self.seen.insert(entity.label());
        json!({
            "id": entity.label(),
            "type": entity.kind.as_str(),
            "title": entity.title,
            "file": entity.file,
            "hash": self.index.hash_of(&entity.file),
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
    fn a_context_has_what_an_entity_touches() {
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
        let index = PlanIndex::of_texts(files.iter().map(|(path, text)| (*path, text.as_str())));
        let text_of = |file: &str| files.iter().find(|(path, _)| *path == file).map(|(_, text)| text.clone());
        let of = |id: &str| context(&index, index.entity(id).unwrap(), text_of);
        let a = of("A");
        let ids = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
        };
        assert!(a["entity"]["source"].as_str().unwrap().contains("# A"));
        assert_eq!(a["entity"]["hash"].as_str().unwrap().len(), 64);
        for (key, expect) in [("sources", "S"), ("decisions", "D"), ("blockedBy", "C"), ("blocks", "E")] {
            assert_eq!(ids(&a[key]), [expect], "{key}");
        }
        assert_eq!(ids(&a["refersTo"]), ["B", "C"]);
        assert_eq!((a["milestone"]["id"].as_str(), &a["missing"]), (Some("m"), &json!(["gone"])));
        assert_eq!(ids(&of("S")["implementedBy"]), ["A"]);
    }
}
