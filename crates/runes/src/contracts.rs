//! Structure contracts: the markup that the engine produces for each type of rune, derived from configuration.
//!
//! Themes are written against them: classes, data attributes, named elements and their order. The key order is npm's,
//! so two versions can be compared as text.

use serde_json::{Map, Value, json};

use crate::catalogue::{BlockLayout, Catalogue, EngineConfig, Style, kebab_case};

/// Prefix of every class.
pub const CLASS_PREFIX: &str = "rf";

/// The contracts of every type of a catalogue.
pub fn contracts(catalogue: &Catalogue) -> Value {
    let runes: Map<String, Value> = catalogue
        .engine_configs()
        .iter()
        .map(|(type_name, config)| (type_name.clone(), Value::Object(contract(type_name, config))))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "The markup that each rune promises: classes, data attributes and named elements, from configuration.",
        "prefix": CLASS_PREFIX,
        "runes": runes,
    })
}

/// The contract of one type.
pub fn contract(type_name: &str, config: &EngineConfig) -> Map<String, Value> {
    let mut contract = base_contract(type_name, config);
    let mut variants = Map::new();
    for (axis, values) in &config.variants {
        let by_value: Map<String, Value> = values
            .iter()
            .map(|(value, overrides)| {
                (value.clone(), Value::Object(base_contract(type_name, &config.merged_with(overrides))))
            })
            .collect();
        variants.insert(axis.clone(), Value::Object(by_value));
    }
    insert_unless_empty(&mut contract, "variants", variants);
    contract
}

/// The contract without its variants.
fn base_contract(type_name: &str, config: &EngineConfig) -> Map<String, Value> {
    let block = config.block_name(type_name);
    let root = format!(".{CLASS_PREFIX}-{block}");
    let mut contract = Map::new();
    contract.insert("block".into(), json!(block));
    contract.insert("root".into(), json!(root));
    contract.insert("dataRune".into(), json!(kebab_case(type_name)));
    if let Some(parent) = &config.parent {
        contract.insert("parent".into(), json!(parent));
    }
    contract.insert("childOrder".into(), json!(child_order(config)));
    insert_unless_empty(&mut contract, "modifiers", modifiers(config, &root));
    let context = config.context_modifiers.iter().map(|(parent, suffix)| {
        (parent.clone(), json!({ "suffix": suffix, "selector": format!("{root}--{suffix}") }))
    });
    insert_unless_empty(&mut contract, "contextModifiers", context.collect());
    if !config.static_modifiers.is_empty() {
        let fixed = config.static_modifiers.iter();
        let fixed = fixed.map(|name| json!({ "name": name, "selector": format!("{root}--{name}") }));
        contract.insert("staticModifiers".into(), fixed.collect());
    }
    insert_unless_empty(&mut contract, "elements", elements(config, &root));
    let styles = config.styles.iter().map(|(modifier, style)| (modifier.clone(), inline_style_json(style)));
    insert_unless_empty(&mut contract, "inlineStyles", styles.collect());
    if let Some(density) = &config.child_density {
        contract.insert("childDensity".into(), json!(density));
    }
    if let Some(projection) = &config.projection {
        contract.insert("projection".into(), json!(projection));
    }
    contract
}

/// The children of the root in order; `{content}` stands for the author's content.
fn child_order(config: &EngineConfig) -> Vec<String> {
    if let Some(root) = &config.layout.root {
        return root.iter().cloned().chain(["{content}".to_owned()]).collect();
    }
    let content = match &config.content_wrapper {
        Some(wrapper) => format!("{{content:{}}}", wrapper.name),
        None => "{content}".to_owned(),
    };
    let side = |before: bool| {
        config
            .structure
            .iter()
            .filter(move |(_, element)| element.before == before)
            .map(|(name, _)| name.clone())
    };
    side(true).chain([content]).chain(side(false)).collect()
}

fn modifiers(config: &EngineConfig, root: &str) -> Map<String, Value> {
    let entries = config.modifiers.iter().map(|(name, modifier)| {
        let mut entry = Map::new();
        entry.insert("source".into(), json!(modifier.source.as_str()));
        if let Some(default) = &modifier.default {
            entry.insert("default".into(), json!(default));
        }
        if !modifier.no_bem_class {
            entry.insert("classPattern".into(), json!(format!("{root}--{{value}}")));
        }
        entry.insert("dataAttribute".into(), json!(format!("data-{}", kebab_case(name))));
        if !modifier.value_map.is_empty() {
            entry.insert("valueMap".into(), json!(modifier.value_map));
        }
        if let Some(target) = &modifier.map_target {
            entry.insert("mapTarget".into(), json!(target));
        }
        (name.clone(), Value::Object(entry))
    });
    entries.collect()
}

/// Named elements. If two sources define the same name, the later one wins.
fn elements(config: &EngineConfig, root: &str) -> Map<String, Value> {
    let mut elements = Map::new();
    let element = |name: &str, tag: &str, source: &str| {
        let mut element = Map::new();
        element.insert("tag".into(), json!(tag));
        element.insert("selector".into(), json!(format!("{root}__{name}")));
        element.insert("source".into(), json!(source));
        element
    };
    for (name, structure) in &config.structure {
        elements.insert(name.clone(), Value::Object(element(name, &structure.tag, "structure")));
    }
    for (name, block) in &config.blocks {
        let tag = if block.layout == BlockLayout::DefinitionList { "dl" } else { "div" };
        let mut entry = element(name, tag, "block");
        entry.insert("layout".into(), json!(block.layout.as_str()));
        entry.insert("fields".into(), block.fields.iter().map(|field| json!(field.field)).collect());
        elements.insert(name.clone(), Value::Object(entry));
    }
    if let Some(wrapper) = &config.content_wrapper {
        let entry = element(&wrapper.name, &wrapper.tag, "contentWrapper");
        elements.insert(wrapper.name.clone(), Value::Object(entry));
    }
    for (tag, name) in &config.auto_label {
        elements.insert(name.clone(), Value::Object(element(name, tag, "autoLabel")));
    }
    for (name, container) in &config.layout.containers {
        // Without a tag no element is created: the existing part is only reordered.
        let Some(tag) = &container.tag else { continue };
        let mut entry = element(name, tag, "layout");
        entry.insert("children".into(), json!(container.children));
        if !container.attrs.is_empty() {
            entry.insert("attrs".into(), json!(container.attrs));
        }
        elements.insert(name.clone(), Value::Object(entry));
    }
    for (name, group) in config.projection.iter().flat_map(|projection| &projection.group) {
        elements.insert(name.clone(), Value::Object(element(name, &group.tag, "projection.group")));
    }
    elements
}

/// A style as configured, without the conversion that the engine applies.
pub(crate) fn inline_style_json(style: &Style) -> Value {
    match (&style.template, style.bare) {
        (_, true) => json!(style.prop),
        (Some(template), false) => json!({ "prop": style.prop, "template": template }),
        (None, false) => json!({ "prop": style.prop }),
    }
}

fn insert_unless_empty(map: &mut Map<String, Value>, key: &str, inner: Map<String, Value>) {
    if !inner.is_empty() {
        map.insert(key.into(), Value::Object(inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract_of(text: &str) -> Value {
        let config: EngineConfig = toml::from_str(text).unwrap();
        Value::Object(contract("BerthList", &config))
    }

    #[test]
    fn empty_config_has_only_the_root() {
        let expect = json!({
            "block": "berth-list", "root": ".rf-berth-list", "dataRune": "berth-list", "childOrder": ["{content}"],
        });
        assert_eq!(contract_of(""), expect);
    }

    #[test]
    fn legacy_structure_wraps_the_content() {
        let contract = contract_of(
            "content-wrapper = { tag = 'div', ref = 'inner' }\n\
             [structure]\nfoot = { tag = 'footer' }\nhead = { tag = 'header', before = true }",
        );
        assert_eq!(contract["childOrder"], json!(["head", "{content:inner}", "foot"]));
        assert_eq!(contract["elements"]["head"]["source"], "structure");
        assert_eq!(contract["elements"]["inner"]["source"], "contentWrapper");
    }

    #[test]
    fn projection_is_copied_and_adds_group_elements() {
        let contract = contract_of(
            "[projection]\nhide = ['a']\n[projection.group]\ng = { tag = 'aside', members = ['b', 'c'] }",
        );
        assert_eq!(
            contract["projection"],
            json!({ "hide": ["a"], "group": { "g": { "tag": "aside", "members": ["b", "c"] } } })
        );
        assert_eq!(contract["elements"]["g"]["source"], "projection.group");
    }

    #[test]
    fn variant_is_the_full_contract_with_overrides() {
        let contract =
            contract_of("[modifiers]\nsize = {}\n[variants.size.big]\nstatic-modifiers = ['huge']");
        let variant = &contract["variants"]["size"]["big"];
        assert_eq!(variant["staticModifiers"][0]["selector"], ".rf-berth-list--huge");
        assert_eq!(variant["modifiers"], contract["modifiers"]);
        assert!(variant.get("variants").is_none());
    }
}
