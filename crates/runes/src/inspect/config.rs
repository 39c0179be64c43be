//! The engine configuration of a rune as JSON, with npm's keys.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::catalogue::{BlockField, Catalogue, EngineConfig, Layout, MetaField, Modifier, Rune, kebab_case};
use crate::contracts::inline_style_json;

/// The configuration of a rune. Empty for a rune that leaves no element of its own.
pub fn engine_config_json(catalogue: &Catalogue, rune: &Rune) -> Value {
    let empty = EngineConfig::default();
    let config = catalogue.engine_config_of(rune).unwrap_or(&empty);
    let block = config.block.clone().unwrap_or_else(|| kebab_case(&rune.type_name));
    let wrapper = config.content_wrapper.as_ref();
    let mut json_config = json!({
        "block": block,
        "modifiers": map_to_json(&config.modifiers, modifier_json),
        "structure": map_to_json(&config.structure, |element| {
            object_without_empty([("tag", json!(element.tag)), ("before", json!(element.before))])
        }),
        "contentWrapper": wrapper.map(|wrapper| json!({ "tag": wrapper.tag, "ref": wrapper.name })),
        "contextModifiers": config.context_modifiers,
        "rootAttributes": config.root_attributes,
        "staticModifiers": config.static_modifiers,
        "styles": map_to_json(&config.styles, inline_style_json),
        "sections": config.sections,
        "metaFields": map_to_json(&config.meta_fields, meta_field_json),
        "blocks": map_to_json(&config.blocks, |block| {
            let fields: Vec<Value> = block.fields.iter().map(block_field_json).collect();
            object_without_empty([("fields", json!(fields)), ("layout", json!(block.layout.as_str())), ("wrap", json!(block.wrap))])
        }),
        "layout": layout_json(&config.layout),
    });
    if let Some(density) = &config.child_density {
        json_config["childDensity"] = json!(density);
    }
    if let Some(projection) = &config.projection {
        json_config["projection"] = json!(projection);
    }
    json_config
}

fn map_to_json<T>(values: &IndexMap<String, T>, to_json: impl Fn(&T) -> Value) -> Value {
    Value::Object(values.iter().map(|(name, value)| (name.clone(), to_json(value))).collect())
}

/// An object without `null`, `false` and empty values.
fn object_without_empty<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let is_present = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Object(entries) => !entries.is_empty(),
        _ => true,
    };
    let present = entries.into_iter().filter(|(_, value)| is_present(value));
    Value::Object(present.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn modifier_json(modifier: &Modifier) -> Value {
    object_without_empty([
        ("source", json!(modifier.source.as_str())),
        ("default", json!(modifier.default)),
        ("noBemClass", json!(modifier.no_bem_class)),
        ("valueMap", json!(modifier.value_map)),
        ("mapTarget", json!(modifier.map_target)),
    ])
}

fn meta_field_json(field: &MetaField) -> Value {
    object_without_empty([
        ("metaType", json!(field.meta_type)),
        ("label", json!(field.label)),
        ("condition", json!(field.condition)),
        ("renderWhenEmpty", json!(field.render_when_empty)),
        ("transform", json!(field.transform)),
        ("icon", field.icon.as_ref().map_or(Value::Null, |icon| json!({ "group": icon.group }))),
        ("sentimentMap", json!(field.sentiment_map)),
        ("href", json!(field.href)),
        ("rating", field.rating.as_ref().map_or(Value::Null, |rating| json!({ "total": rating.total }))),
        ("tag", json!(field.tag)),
        ("splitOn", json!(field.split_on)),
    ])
}

/// The field's name, or an object if the field is aligned.
fn block_field_json(field: &BlockField) -> Value {
    match &field.align {
        Some(align) => json!({ "field": field.field, "align": align }),
        None => json!(field.field),
    }
}

fn layout_json(layout: &Layout) -> Value {
    let root = layout.root.iter().map(|root| ("root".to_owned(), json!(root)));
    let containers = layout.containers.iter().map(|(name, container)| {
        let container_json = match &container.tag {
            Some(tag) => {
                let parts = [
                    ("tag", json!(tag)),
                    ("attrs", json!(container.attrs)),
                    ("children", json!(container.children)),
                ];
                object_without_empty(parts)
            }
            None => json!(container.children),
        };
        (name.clone(), container_json)
    });
    Value::Object(root.chain(containers).collect::<Map<_, _>>())
}
