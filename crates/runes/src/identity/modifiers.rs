//! Modifiers: values that become classes and data attributes; and the variants of a configuration that they choose.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Around;
use super::look::Look;
use super::subject::{Subject, modifier_value};
use crate::catalogue::{EngineConfig, ModifierSource};
use crate::tree::Tag;
use crate::value::{to_text, truthy};

/// The configuration with the variants that the rune's values choose.
pub(super) fn varied<'c>(
    config: &'c EngineConfig,
    tag: &Tag,
    bag: &Map<String, Value>,
) -> Cow<'c, EngineConfig> {
    let mut varied = Cow::Borrowed(config);
    for (axis, by_value) in &config.variants {
        let Some(modifier) = config.modifiers.get(axis) else { continue };
        let value = modifier_value(tag, bag, axis, modifier).filter(truthy);
        if let Some(over) = value.and_then(|value| by_value.get(&to_text(&value))) {
            varied = Cow::Owned(varied.overlaid(over));
        }
    }
    varied
}

/// Modifiers by value, by the rune around, and those that are always there.
pub(super) fn apply(subject: &Subject<'_>, around: Option<Around<'_>>, look: &mut Look) {
    for (name, modifier) in &subject.config.modifiers {
        let Some(value) = subject.modifier(name, modifier) else { continue };
        if !truthy(&value) {
            // An empty text is a value that was given; it is shown as such, but makes no class.
            if value.is_string() {
                look.axes.insert(name.clone(), value);
            }
            continue;
        }
        let text = to_text(&value);
        if !modifier.no_bem_class {
            look.class(subject, &text);
        }
        let word = modifier.value_map.get(&text).map(|word| Value::from(word.as_str()));
        match &modifier.map_target {
            Some(target) if !modifier.value_map.is_empty() => {
                let target = target.strip_prefix("data-").unwrap_or(target);
                look.set(&format!("data-{target}"), word.unwrap_or_else(|| value.clone()));
                look.axes.insert(name.clone(), value);
            }
            _ => {
                look.axes.insert(name.clone(), word.unwrap_or(value));
            }
        }
    }
    let suffix = around.and_then(|around| subject.config.context_modifiers.get(around.rune));
    if let Some(suffix) = suffix.filter(|suffix| !suffix.is_empty()) {
        look.class(subject, suffix);
    }
    for suffix in &subject.config.static_modifiers {
        look.class(subject, suffix);
    }
}

/// Attributes of the root that modifiers have taken over.
pub(super) fn taken_attributes(config: &EngineConfig) -> impl Iterator<Item = &str> {
    let modifiers = config.modifiers.iter();
    modifiers
        .filter(|(_, modifier)| modifier.source == ModifierSource::Attribute)
        .map(|(name, _)| name.as_str())
}
