//! The surface that a rune takes up: width, spacing, density, depth, emphasis of its header, and how it appears.

use serde_json::Value;

use super::Around;
use super::look::Look;
use super::subject::Subject;
use crate::value::{to_text, truthy};

/// Roles of parts that make a header, which prominence scales.
const HEADER_ROLES: [&str; 4] = ["header", "preamble", "title", "description"];

/// Older words for depth.
const OLDER_ELEVATIONS: [(&str, &str); 4] =
    [("none", "flat"), ("sm", "raised"), ("md", "raised"), ("lg", "floating")];

/// Attributes of the root that are taken over here.
pub(super) const TAKEN: [&str; 8] =
    ["width", "spacing", "inset", "elevation", "prominence", "reveal", "stagger", "density"];

/// Width, measure, spacing and density.
pub(super) fn apply(subject: &Subject<'_>, around: Option<Around<'_>>, look: &mut Look) {
    let config = subject.config;
    let default_width = config.default_width.clone().map(Value::String);
    let width = subject.attribute("width").cloned().or(default_width);
    if let Some(width) = width.filter(|width| truthy(width) && width != "content") {
        look.class(subject, &to_text(&width));
        look.axes.insert("width".into(), width);
    }
    if config.content_measure.as_deref() == Some("anchored") {
        look.axes.insert("content-measure".into(), "anchored".into());
    }
    for name in ["spacing", "inset"] {
        let value = subject.attribute(name).filter(|value| truthy(value) && *value != "default");
        if let Some(value) = value {
            look.class(subject, &format!("{name}-{}", to_text(value)));
            look.axes.insert(name.into(), value.clone());
        }
    }
    let given = subject.attribute("density").map(to_text);
    let inherited = || around.and_then(|around| around.child_density).or(config.default_density.as_deref());
    look.density = given.unwrap_or_else(|| inherited().unwrap_or("full").to_owned());
}

/// Elevation, prominence and motion, which come after the text's register.
pub(super) fn apply_depth(subject: &Subject<'_>, look: &mut Look) {
    let config = subject.config;
    let elevation = match subject.attribute("elevation") {
        Some(value) => value.as_str(),
        None => config.default_elevation.as_deref(),
    };
    if let Some(elevation) = elevation.filter(|elevation| !elevation.is_empty()) {
        let newer = OLDER_ELEVATIONS.iter().find(|(older, _)| *older == elevation).map(|(_, newer)| *newer);
        look.axes.insert("elevation".into(), newer.unwrap_or(elevation).into());
    }
    let has_header = config.sections.values().any(|role| HEADER_ROLES.contains(&role.as_str()));
    if let Some(prominence) = subject.attribute("prominence").filter(|value| has_header && truthy(value)) {
        look.axes.insert("prominence".into(), to_text(prominence).into());
    }
    if let Some(reveal) = subject.attribute("reveal").filter(|value| truthy(value)) {
        look.axes.insert("reveal".into(), to_text(reveal).into());
    }
    if subject.attribute("stagger").is_some_and(truthy) {
        look.axes.insert("stagger".into(), "".into());
        look.is_staggered = true;
    }
}
