//! Modifiers: values that become classes and data attributes and select variants of the configuration.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::ParentRune;
use super::root_style::RootStyle;
use super::rune_input::{RuneInput, modifier_value};
use crate::catalogue::{EngineConfig, ModifierSource};
use crate::js_value::{is_truthy, to_js_string};
use crate::render_tree::Element;

/// The configuration merged with the variants that the rune's values select.
pub(super) fn with_variants<'c>(
    config: &'c EngineConfig,
    tag: &Element,
    fields: &Map<String, Value>,
) -> Cow<'c, EngineConfig> {
    let mut merged = Cow::Borrowed(config);
    for (axis, by_value) in &config.variants {
        let Some(modifier) = config.modifiers.get(axis) else { continue };
        let value = modifier_value(tag, fields, axis, modifier).filter(is_truthy);
        if let Some(overrides) = value.and_then(|value| by_value.get(&to_js_string(&value))) {
            merged = Cow::Owned(merged.merged_with(overrides));
        }
    }
    merged
}

/// Modifiers by value, by enclosing rune, and static ones.
pub(super) fn apply(input: &RuneInput<'_>, parent: Option<ParentRune<'_>>, root_style: &mut RootStyle) {
    for (name, modifier) in &input.config.modifiers {
        let Some(value) = input.modifier(name, modifier) else { continue };
        if !is_truthy(&value) {
            // Empty text is a value: it becomes a data attribute, but no class.
            if value.is_string() {
                root_style.modifier_values.insert(name.clone(), value);
            }
            continue;
        }
        let text = to_js_string(&value);
        if !modifier.no_bem_class {
            root_style.add_class(input, &text);
        }
        let mapped = modifier.value_map.get(&text).map(|word| Value::from(word.as_str()));
        match &modifier.map_target {
            Some(target) if !modifier.value_map.is_empty() => {
                let target = target.strip_prefix("data-").unwrap_or(target);
                root_style.set_data_attr(&format!("data-{target}"), mapped.unwrap_or_else(|| value.clone()));
                root_style.modifier_values.insert(name.clone(), value);
            }
            _ => {
                root_style.modifier_values.insert(name.clone(), mapped.unwrap_or(value));
            }
        }
    }
    let suffix = parent.and_then(|enclosing| input.config.context_modifiers.get(enclosing.rune));
    if let Some(suffix) = suffix.filter(|suffix| !suffix.is_empty()) {
        root_style.add_class(input, suffix);
    }
    for suffix in &input.config.static_modifiers {
        root_style.add_class(input, suffix);
    }
}

/// Attributes of the root that modifiers consume.
pub(super) fn consumed_attributes(config: &EngineConfig) -> impl Iterator<Item = &str> {
    let modifiers = config.modifiers.iter();
    modifiers
        .filter(|(_, modifier)| modifier.source == ModifierSource::Attribute)
        .map(|(name, _)| name.as_str())
}
