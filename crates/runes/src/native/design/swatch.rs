//! A coloured dot within a line.
//!
//! Native: the value is shown beside the name only on request.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, new_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{is_truthy, to_js_string};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, _: &mut RenderContext<'_>) -> Result<RenderNode> {
    let colour = rune_use.arguments.non_null_or("color", "");
    let shows_value = rune_use.arguments.non_null_or("showValue", false);
    let text = to_js_string(&colour);
    let chip = Element::new("span")
        .with_attr("style", format!("background-color: {text}"))
        .with_attr("data-name", "chip");
    let mut label = new_element("span", [to_js_string(&rune_use.arguments.non_null_or("label", "")).into()]);
    set_field(&mut label, "label");
    let value = is_truthy(&shows_value).then(|| named_element("span", "value", [text.into()]));
    let root = RootBuilder::new("swatch", "span")
        .value("color", colour)
        .value("showValue", to_js_string(&shows_value));
    Ok(root.child(chip).child(label).child_if(value).build())
}
