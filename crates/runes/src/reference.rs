//! The syntax reference: how each rune is written, for people and for agents.
//!
//! Three forms carry over from the original: the list of names by package, one rune, and all of them. A fourth, the
//! [`document`], is ours: everything in one value, with what all runes share said once and with defaults.

mod markdown;

use serde_json::{Map, Value, json};

use crate::catalogue::{
    Attribute, CORE, Catalogue, ContentModel, Delimited, Extract, Field, Package, Rune, Sections,
};

pub use markdown::{all_as_markdown, list_as_markdown, rune_as_markdown};

/// How much is said about an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What the original says.
    Original,
    /// Also defaults and what is deprecated.
    Full,
}

/// Names, descriptions and aliases, by package: the core first, the others by name.
pub fn list(catalogue: &Catalogue) -> Value {
    grouped(catalogue)
        .into_iter()
        .map(|(package, runes)| {
            let runes: Vec<Value> = runes
                .into_iter()
                .map(|rune| json!({ "name": rune.name, "description": rune.description, "aliases": rune.aliases }))
                .collect();
            json!({ "plugin": package.name, "label": package.label, "runes": runes })
        })
        .collect()
}

/// Packages that have something to show, with their runes by name.
fn grouped(catalogue: &Catalogue) -> Vec<(&Package, Vec<&Rune>)> {
    let mut groups: Vec<(&Package, Vec<&Rune>)> = catalogue
        .packages()
        .iter()
        .map(|package| {
            let mut runes: Vec<&Rune> =
                shown(catalogue).filter(|rune| rune.package == package.name).collect();
            runes.sort_by(|a, b| a.name.cmp(&b.name));
            (package.as_ref(), runes)
        })
        .filter(|(_, runes)| !runes.is_empty())
        .collect();
    groups.sort_by_key(|(package, _)| (package.name != CORE, package.name.clone()));
    groups
}

/// Runes that people write.
fn shown(catalogue: &Catalogue) -> impl Iterator<Item = &Rune> {
    catalogue.runes().filter(|rune| !rune.internal)
}

fn by_name(catalogue: &Catalogue) -> Vec<&Rune> {
    let mut runes: Vec<&Rune> = shown(catalogue).collect();
    runes.sort_by(|a, b| a.name.cmp(&b.name));
    runes
}

/// Every rune by name, each in full.
pub fn dump(catalogue: &Catalogue, detail: Detail) -> Value {
    by_name(catalogue).into_iter().map(|rune| one(catalogue, rune, detail)).collect()
}

/// One rune.
pub fn one(catalogue: &Catalogue, rune: &Rune, detail: Detail) -> Value {
    let mut entry = described(catalogue, rune, detail);
    let names: Vec<&str> = catalogue.universal().map(|(name, _)| name).filter(|_| rune.universal).collect();
    if let Some(attributes) = entry.get_mut("attributes").and_then(Value::as_object_mut) {
        attributes.insert("universal".into(), json!(names));
    }
    Value::Object(entry)
}

/// The whole reference of a site: what all runes share once, then every rune.
pub fn document(catalogue: &Catalogue, site: Option<&str>) -> Value {
    let universal: Map<String, Value> = catalogue
        .universal()
        .map(|(name, shared)| (name.to_owned(), attribute(shared, None, Detail::Full)))
        .collect();
    let mut presets = Map::new();
    for rune in by_name(catalogue) {
        if let (Some(name), Some(preset)) = (&rune.preset, catalogue.preset_of(rune)) {
            let attributes = attributes_of(&preset.attributes, |_| None, Detail::Full);
            let entry =
                json!({ "name": preset.title, "description": preset.description, "attributes": attributes });
            presets.insert(name.clone(), entry);
        }
    }
    let runes: Vec<Value> = by_name(catalogue)
        .into_iter()
        .map(|rune| {
            let mut entry = described(catalogue, rune, Detail::Full);
            if let Some(attributes) = entry.get_mut("attributes").and_then(Value::as_object_mut) {
                if let Some(preset) = &rune.preset {
                    attributes.insert("base".into(), json!(preset));
                }
                attributes.insert("universal".into(), json!(rune.universal));
            }
            Value::Object(entry)
        })
        .collect();
    let plugins: Vec<&str> = catalogue
        .packages()
        .iter()
        .map(|package| package.name.as_str())
        .filter(|name| *name != CORE)
        .collect();
    json!({
        "site": site,
        "plugins": plugins,
        "universalAttributes": universal,
        "presets": presets,
        "runes": runes,
    })
}

/// Everything about a rune but the attributes that all share.
fn described(catalogue: &Catalogue, rune: &Rune, detail: Detail) -> Map<String, Value> {
    let fallback = |name: &str| {
        let modifiers = catalogue.engine_of(rune).map(|config| &config.modifiers);
        modifiers
            .and_then(|modifiers| modifiers.get(name))
            .and_then(|modifier| modifier.default.clone())
            .map(Value::from)
    };
    let mut attributes = Map::new();
    attributes.insert("own".into(), Value::Object(attributes_of(&rune.attributes, fallback, detail)));
    if let Some(preset) = catalogue.preset_of(rune) {
        let shared = attributes_of(&preset.attributes, fallback, detail);
        let base = json!({ "name": preset.title, "description": preset.description, "attributes": shared });
        attributes.insert("base".into(), base);
    }
    let mut entry = Map::new();
    entry.insert("name".into(), json!(rune.name));
    entry.insert("plugin".into(), json!(rune.package));
    entry.insert("aliases".into(), json!(rune.aliases));
    entry.insert("description".into(), json!(rune.description));
    entry.insert("attributes".into(), Value::Object(attributes));
    if let Some(content) = &rune.content {
        entry.insert("contentModel".into(), model(content));
    }
    if let Some(example) = &rune.example {
        entry.insert("example".into(), json!(example));
    }
    entry
}

fn attributes_of(
    attributes: &crate::catalogue::Ordered<Attribute>,
    fallback: impl Fn(&str) -> Option<Value>,
    detail: Detail,
) -> Map<String, Value> {
    attributes.iter().map(|(name, one)| (name.clone(), attribute(one, fallback(name), detail))).collect()
}

/// One attribute; `fallback` is what the engine assumes where the attribute itself says nothing.
fn attribute(attribute: &Attribute, fallback: Option<Value>, detail: Detail) -> Value {
    let mut entry = Map::new();
    entry.insert("type".into(), json!(attribute.kind.reference_name()));
    entry.insert("required".into(), json!(attribute.required));
    if !attribute.matches.is_empty() {
        entry.insert("matches".into(), json!(attribute.matches));
    }
    if detail == Detail::Full {
        let default = attribute.default.clone().or_else(|| attribute.fallback.clone()).or(fallback);
        if let Some(default) = default {
            entry.insert("default".into(), default);
        }
        if attribute.deprecated {
            entry.insert("deprecated".into(), json!(true));
        }
    }
    entry.insert("description".into(), json!(attribute.description));
    Value::Object(entry)
}

/// A content model as JSON. Where several are possible, the one that holds when nothing special is written.
fn model(content: &ContentModel) -> Value {
    match content {
        ContentModel::Sequence(fields) => json!({ "type": "sequence", "fields": fields_of(fields) }),
        ContentModel::Sections(sections) => sections_model(sections),
        ContentModel::Delimited(delimited) => delimited_model(delimited),
        ContentModel::Custom(custom) => json!({ "type": "custom", "description": custom.description }),
        ContentModel::When(when) => model(&when.default),
    }
}

fn fields_of(fields: &[Field]) -> Vec<Value> {
    fields
        .iter()
        .map(|field| {
            let mut entry = Map::new();
            entry.insert("name".into(), json!(field.name));
            entry.insert("match".into(), json!(field.matches.source));
            if let Some(optional) = field.optional {
                entry.insert("optional".into(), json!(optional));
            }
            if field.greedy {
                entry.insert("greedy".into(), json!(true));
            }
            let texts = [
                ("template", &field.template),
                ("description", &field.description),
                ("emitTag", &field.emit_tag),
            ];
            for (key, text) in texts {
                if let Some(text) = text {
                    entry.insert(key.into(), json!(text));
                }
            }
            Value::Object(entry)
        })
        .collect()
}

fn sections_model(sections: &Sections) -> Value {
    let mut entry = Map::new();
    entry.insert("type".into(), json!("sections"));
    entry.insert("sectionHeading".into(), json!(sections.section_heading));
    entry.insert("fields".into(), json!(fields_of(&sections.fields)));
    entry.insert("sectionModel".into(), model(&sections.section_model));
    if let Some(tag) = &sections.emit_tag {
        entry.insert("emitTag".into(), json!(tag));
    }
    if !sections.heading_extract.is_empty() {
        let parts: Vec<Value> = sections.heading_extract.iter().map(extract).collect();
        entry.insert("headingExtract".into(), json!({ "fields": parts }));
    }
    if let Some(attributes) = &sections.implicit_section {
        entry.insert("implicitSection".into(), json!({ "attributes": attributes }));
    }
    if !sections.known_sections.is_empty() {
        let known: Map<String, Value> = sections
            .known_sections
            .iter()
            .map(|(name, known)| {
                let mut section = Map::new();
                if !known.alias.is_empty() {
                    section.insert("alias".into(), json!(known.alias));
                }
                section.insert("hasModel".into(), json!(known.model.is_some()));
                (name.clone(), Value::Object(section))
            })
            .collect();
        entry.insert("knownSections".into(), Value::Object(known));
    }
    Value::Object(entry)
}

fn extract(part: &Extract) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), json!(part.name));
    entry.insert("pattern".into(), json!(part.source()));
    if let Some(optional) = part.optional {
        entry.insert("optional".into(), json!(optional));
    }
    Value::Object(entry)
}

fn delimited_model(delimited: &Delimited) -> Value {
    let mut entry = Map::new();
    entry.insert("type".into(), json!("delimited"));
    entry.insert("delimiter".into(), json!(delimited.delimiter));
    if let Some(zone) = &delimited.dynamic {
        entry.insert("dynamicZones".into(), json!(true));
        entry.insert("zoneModel".into(), model(zone));
    }
    if !delimited.zones.is_empty() {
        let zones: Vec<Value> = delimited
            .zones
            .iter()
            .map(|zone| json!({ "name": zone.name, "type": "sequence", "fields": fields_of(&zone.fields) }))
            .collect();
        entry.insert("zones".into(), json!(zones));
    }
    Value::Object(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_runes_are_not_shown() {
        let catalogue = Catalogue::official();
        assert_eq!(dump(&catalogue, Detail::Original).as_array().unwrap().len(), 118);
        let groups = list(&catalogue);
        let names: Vec<&str> =
            groups.as_array().unwrap().iter().map(|group| group["plugin"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 10);
        assert_eq!(names[..3], ["core", "@refrakt-md/business", "@refrakt-md/design"]);
    }

    #[test]
    fn the_document_says_shared_things_once_and_adds_defaults() {
        let document = document(&Catalogue::official(), Some("main"));
        assert_eq!(document["universalAttributes"].as_object().unwrap().len(), 37);
        let runes = document["runes"].as_array().unwrap();
        let rune = |name: &str| runes.iter().find(|rune| rune["name"] == name).unwrap();
        let hint = rune("hint");
        assert_eq!(
            hint["attributes"]["own"]["type"]["matches"],
            json!(["caution", "check", "note", "warning"])
        );
        assert_eq!(hint["attributes"]["own"]["type"]["default"], "note");
        assert_eq!(hint["attributes"]["universal"], true);
        assert_eq!(rune("hero")["attributes"]["base"], "split");
        assert_eq!(document["presets"]["split"]["attributes"].as_object().unwrap().len(), 4);
    }

    #[test]
    fn a_default_may_come_from_the_engine() {
        let catalogue = Catalogue::official();
        let hero = one(&catalogue, catalogue.rune("hero").unwrap(), Detail::Full);
        assert_eq!(hero["attributes"]["base"]["attributes"]["media-position"]["default"], "bottom");
    }
}
