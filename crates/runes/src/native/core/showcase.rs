//! A stage for a picture or another rune.
//!
//! Native: its attributes are older names of the frame attributes, and shadows have other values there.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

/// Values of `shadow` → values of `frame-shadow`.
const SHADOWS: [(&str, &str); 3] = [("soft", "sm"), ("hard", "md"), ("elevated", "lg")];

/// The value of `shadow` and `bleed` that has no effect.
const NOTHING: &str = "none";

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let body = cx.render_nodes(rune_use.content.take("body"))?;
    let value = |name: &str| rune_use.arguments.truthy(name).filter(|value| **value != NOTHING).cloned();
    let shadow = value("shadow").map(|shadow| {
        let frame_shadow = SHADOWS.iter().find(|(name, _)| *name == to_js_string(&shadow));
        frame_shadow.map_or(shadow, |(_, frame_shadow)| Value::from(*frame_shadow))
    });
    // As in npm: the frame reads these values from `meta` elements only, so here they have no effect.
    let root = RootBuilder::new("showcase", "div")
        .value_if("frame-shadow", shadow)
        .value_if("frame-displace", value("bleed"))
        .value_if("frame-offset", rune_use.arguments.truthy("offset").cloned())
        .value_if("frame-aspect", rune_use.arguments.truthy("aspect").cloned())
        .value_if("frame-place", rune_use.arguments.truthy("place").cloned());
    Ok(root.child(named_element("div", "viewport", body)).build())
}
