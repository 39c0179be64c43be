//! The syntax reference: how each rune is written.
//!
//! The list of names by package and the reference of one rune have npm's form, with defaults and deprecation added.
//! [`site_reference`] is our own: one value for all runes, with shared parts once.

mod markdown;

use serde_json::{Map, Value, json};

use crate::catalogue::{
    Attribute, CORE, Catalogue, ContentModel, DelimitedModel, Field, Package, PartExtractor, Rune,
    SectionsModel,
};

pub use markdown::{rune_as_markdown, site_reference_as_markdown};

/// Names, descriptions and aliases by package: the core first, the others by name.
pub fn list(catalogue: &Catalogue) -> Value {
    runes_by_package(catalogue)
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

/// Packages with visible runes, by name.
fn runes_by_package(catalogue: &Catalogue) -> Vec<(&Package, Vec<&Rune>)> {
    let mut groups: Vec<(&Package, Vec<&Rune>)> = catalogue
        .packages()
        .iter()
        .map(|package| {
            let mut runes: Vec<&Rune> =
                visible_runes(catalogue).filter(|rune| rune.package == package.name).collect();
            runes.sort_by(|a, b| a.name.cmp(&b.name));
            (package.as_ref(), runes)
        })
        .filter(|(_, runes)| !runes.is_empty())
        .collect();
    groups.sort_by_key(|(package, _)| (package.name != CORE, package.name.clone()));
    groups
}

/// Runes for authors: all but the internal ones.
fn visible_runes(catalogue: &Catalogue) -> impl Iterator<Item = &Rune> {
    catalogue.runes().filter(|rune| !rune.internal)
}

fn visible_runes_by_name(catalogue: &Catalogue) -> Vec<&Rune> {
    let mut runes: Vec<&Rune> = visible_runes(catalogue).collect();
    runes.sort_by(|a, b| a.name.cmp(&b.name));
    runes
}

/// The reference of one rune.
pub fn rune_reference(catalogue: &Catalogue, rune: &Rune) -> Value {
    let mut entry = rune_entry(catalogue, rune);
    let names: Vec<&str> =
        catalogue.universal_attributes().map(|(name, _)| name).filter(|_| rune.universal).collect();
    if let Some(attributes) = entry.get_mut("attributes").and_then(Value::as_object_mut) {
        attributes.insert("universal".into(), json!(names));
    }
    Value::Object(entry)
}

/// The reference of a site: shared parts once, then every rune.
pub fn site_reference(catalogue: &Catalogue, site: Option<&str>) -> Value {
    let universal: Map<String, Value> = catalogue
        .universal_attributes()
        .map(|(name, shared)| (name.to_owned(), attribute_entry(shared, None)))
        .collect();
    let mut presets = Map::new();
    for rune in visible_runes_by_name(catalogue) {
        if let (Some(name), Some(preset)) = (&rune.preset, catalogue.preset_of(rune)) {
            let attributes = attribute_entries(&preset.attributes, |_| None);
            let entry =
                json!({ "name": preset.title, "description": preset.description, "attributes": attributes });
            presets.insert(name.clone(), entry);
        }
    }
    let runes: Vec<Value> = visible_runes_by_name(catalogue)
        .into_iter()
        .map(|rune| {
            let mut entry = rune_entry(catalogue, rune);
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

/// Everything about a rune except the universal attributes.
fn rune_entry(catalogue: &Catalogue, rune: &Rune) -> Map<String, Value> {
    let fallback = |name: &str| {
        let modifiers = catalogue.engine_config_of(rune).map(|config| &config.modifiers);
        modifiers
            .and_then(|modifiers| modifiers.get(name))
            .and_then(|modifier| modifier.default.clone())
            .map(Value::from)
    };
    let mut attributes = Map::new();
    attributes.insert("own".into(), Value::Object(attribute_entries(&rune.attributes, fallback)));
    if let Some(preset) = catalogue.preset_of(rune) {
        let shared = attribute_entries(&preset.attributes, fallback);
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
        entry.insert("contentModel".into(), content_model_entry(content));
    }
    if let Some(example) = &rune.example {
        entry.insert("example".into(), json!(example));
    }
    entry
}

fn attribute_entries(
    attributes: &indexmap::IndexMap<String, Attribute>,
    fallback: impl Fn(&str) -> Option<Value>,
) -> Map<String, Value> {
    attributes
        .iter()
        .map(|(name, definition)| (name.clone(), attribute_entry(definition, fallback(name))))
        .collect()
}

/// One attribute. `fallback` is the engine's value if the attribute has no default.
fn attribute_entry(attribute: &Attribute, fallback: Option<Value>) -> Value {
    let mut entry = Map::new();
    entry.insert("type".into(), json!(attribute.kind.reference_name()));
    entry.insert("required".into(), json!(attribute.required));
    if !attribute.matches.is_empty() {
        entry.insert("matches".into(), json!(attribute.matches));
    }
    let default = attribute.default.clone().or_else(|| attribute.fallback.clone()).or(fallback);
    if let Some(default) = default {
        entry.insert("default".into(), default);
    }
    if attribute.deprecated {
        entry.insert("deprecated".into(), json!(true));
    }
    entry.insert("description".into(), json!(attribute.description));
    Value::Object(entry)
}

/// A content model as JSON; of a conditional model, the default.
fn content_model_entry(content: &ContentModel) -> Value {
    match content {
        ContentModel::Sequence(fields) => json!({ "type": "sequence", "fields": field_entries(fields) }),
        ContentModel::Sections(sections) => sections_entry(sections),
        ContentModel::Delimited(delimited) => delimited_entry(delimited),
        ContentModel::Custom(custom) => json!({ "type": "custom", "description": custom.description }),
        ContentModel::When(when) => content_model_entry(&when.default),
    }
}

fn field_entries(fields: &[Field]) -> Vec<Value> {
    fields
        .iter()
        .map(|field| {
            let mut entry = Map::new();
            entry.insert("name".into(), json!(field.name));
            entry.insert("match".into(), json!(field.pattern.source));
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

fn sections_entry(sections: &SectionsModel) -> Value {
    let mut entry = Map::new();
    entry.insert("type".into(), json!("sections"));
    entry.insert("sectionHeading".into(), json!(sections.section_heading));
    entry.insert("fields".into(), json!(field_entries(&sections.fields)));
    entry.insert("sectionModel".into(), content_model_entry(&sections.section_model));
    if let Some(tag) = &sections.emit_tag {
        entry.insert("emitTag".into(), json!(tag));
    }
    if !sections.heading_extract.is_empty() {
        let parts: Vec<Value> = sections.heading_extract.iter().map(part_entry).collect();
        entry.insert("headingExtract".into(), json!({ "fields": parts }));
    }
    if let Some(attributes) = &sections.implicit_section {
        entry.insert("implicitSection".into(), json!({ "attributes": attributes }));
    }
    if !sections.known_sections.is_empty() {
        let known_sections: Map<String, Value> = sections
            .known_sections
            .iter()
            .map(|(name, section_definition)| {
                let mut section = Map::new();
                if !section_definition.alias.is_empty() {
                    section.insert("alias".into(), json!(section_definition.alias));
                }
                section.insert("hasModel".into(), json!(section_definition.model.is_some()));
                (name.clone(), Value::Object(section))
            })
            .collect();
        entry.insert("knownSections".into(), Value::Object(known_sections));
    }
    Value::Object(entry)
}

fn part_entry(part: &PartExtractor) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), json!(part.name));
    entry.insert("pattern".into(), json!(part.pattern_text()));
    if let Some(optional) = part.optional {
        entry.insert("optional".into(), json!(optional));
    }
    Value::Object(entry)
}

fn delimited_entry(delimited: &DelimitedModel) -> Value {
    let mut entry = Map::new();
    entry.insert("type".into(), json!("delimited"));
    entry.insert("delimiter".into(), json!(delimited.delimiter));
    if let Some(zone) = &delimited.dynamic {
        entry.insert("dynamicZones".into(), json!(true));
        entry.insert("zoneModel".into(), content_model_entry(zone));
    }
    if !delimited.zones.is_empty() {
        let zones: Vec<Value> = delimited
            .zones
            .iter()
            .map(|zone| json!({ "name": zone.name, "type": "sequence", "fields": field_entries(&zone.fields) }))
            .collect();
        entry.insert("zones".into(), json!(zones));
    }
    Value::Object(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_runes_are_not_listed() {
        let catalogue = Catalogue::all_builtin();
        assert_eq!(site_reference(&catalogue, None)["runes"].as_array().unwrap().len(), 118);
        let groups = list(&catalogue);
        let names: Vec<&str> =
            groups.as_array().unwrap().iter().map(|group| group["plugin"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 10);
        assert_eq!(names[..3], ["core", "@refrakt-md/business", "@refrakt-md/design"]);
    }

    #[test]
    fn site_reference_lists_shared_parts_once_with_defaults() {
        let reference = site_reference(&Catalogue::all_builtin(), Some("main"));
        assert_eq!(reference["universalAttributes"].as_object().unwrap().len(), 37);
        let runes = reference["runes"].as_array().unwrap();
        let rune = |name: &str| runes.iter().find(|rune| rune["name"] == name).unwrap();
        let hint = rune("hint");
        assert_eq!(
            hint["attributes"]["own"]["type"]["matches"],
            json!(["caution", "check", "note", "warning"])
        );
        assert_eq!(hint["attributes"]["own"]["type"]["default"], "note");
        assert_eq!(hint["attributes"]["universal"], true);
        assert_eq!(rune("hero")["attributes"]["base"], "split");
        assert_eq!(reference["presets"]["split"]["attributes"].as_object().unwrap().len(), 4);
    }

    #[test]
    fn attribute_default_may_come_from_engine_config() {
        let catalogue = Catalogue::all_builtin();
        let hero = rune_reference(&catalogue, catalogue.rune("hero").unwrap());
        assert_eq!(hero["attributes"]["base"]["attributes"]["media-position"]["default"], "bottom");
    }
}
