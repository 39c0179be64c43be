//! The surface of a rune: width, spacing, density, elevation, prominence of its header, and how it appears.

use serde_json::Value;

use super::ParentRune;
use super::root_style::RootStyle;
use super::rune_input::RuneInput;
use crate::js_value::{is_truthy, to_js_string};

/// Roles of header parts, which `prominence` scales.
const HEADER_ROLES: [&str; 4] = ["header", "preamble", "title", "description"];

/// Older values of `elevation`.
const LEGACY_ELEVATIONS: [(&str, &str); 4] =
    [("none", "flat"), ("sm", "raised"), ("md", "raised"), ("lg", "floating")];

/// Attributes of the root that this module consumes.
pub(super) const CONSUMED_ATTRIBUTES: [&str; 8] =
    ["width", "spacing", "inset", "elevation", "prominence", "reveal", "stagger", "density"];

/// Width, measure, spacing and density.
pub(super) fn apply(input: &RuneInput<'_>, parent: Option<ParentRune<'_>>, root_style: &mut RootStyle) {
    let config = input.config;
    let default_width = config.default_width.clone().map(Value::String);
    let width = input.attribute("width").cloned().or(default_width);
    if let Some(width) = width.filter(|width| is_truthy(width) && width != "content") {
        root_style.add_class(input, &to_js_string(&width));
        root_style.modifier_values.insert("width".into(), width);
    }
    if config.content_measure.as_deref() == Some("anchored") {
        root_style.modifier_values.insert("content-measure".into(), "anchored".into());
    }
    for name in ["spacing", "inset"] {
        let value = input.attribute(name).filter(|value| is_truthy(value) && *value != "default");
        if let Some(value) = value {
            root_style.add_class(input, &format!("{name}-{}", to_js_string(value)));
            root_style.modifier_values.insert(name.into(), value.clone());
        }
    }
    let requested = input.attribute("density").map(to_js_string);
    let inherited =
        || parent.and_then(|enclosing| enclosing.child_density).or(config.default_density.as_deref());
    root_style.density = requested.unwrap_or_else(|| inherited().unwrap_or("full").to_owned());
}

/// Elevation, prominence and motion, which follow the reading mode in the output.
pub(super) fn apply_elevation_and_motion(input: &RuneInput<'_>, root_style: &mut RootStyle) {
    let config = input.config;
    let elevation = match input.attribute("elevation") {
        Some(value) => value.as_str(),
        None => config.default_elevation.as_deref(),
    };
    if let Some(elevation) = elevation.filter(|elevation| !elevation.is_empty()) {
        let current =
            LEGACY_ELEVATIONS.iter().find(|(legacy, _)| *legacy == elevation).map(|(_, newer)| *newer);
        root_style.modifier_values.insert("elevation".into(), current.unwrap_or(elevation).into());
    }
    let has_header = config.sections.values().any(|role| HEADER_ROLES.contains(&role.as_str()));
    if let Some(prominence) = input.attribute("prominence").filter(|value| has_header && is_truthy(value)) {
        root_style.modifier_values.insert("prominence".into(), to_js_string(prominence).into());
    }
    if let Some(reveal) = input.attribute("reveal").filter(|value| is_truthy(value)) {
        root_style.modifier_values.insert("reveal".into(), to_js_string(reveal).into());
    }
    if input.attribute("stagger").is_some_and(is_truthy) {
        root_style.modifier_values.insert("stagger".into(), "".into());
        root_style.is_staggered = true;
    }
}
