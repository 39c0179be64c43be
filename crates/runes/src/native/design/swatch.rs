//! A dot of a colour in a line of text.
//!
//! Native because the value stands beside the name only where the author asks for it.

use crate::schema::component::{Component, element, field, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{to_text, truthy};

pub(super) fn transform(call: Call<'_>, _: &mut Context<'_>) -> Result<Node> {
    let colour = call.arguments.value_or("color", "");
    let shows_value = call.arguments.value_or("showValue", false);
    let text = to_text(&colour);
    let chip = Tag::new("span").with("style", format!("background-color: {text}")).with("data-name", "chip");
    let mut label = element("span", [to_text(&call.arguments.value_or("label", "")).into()]);
    field(&mut label, "label");
    let value = truthy(&shows_value).then(|| part("span", "value", [text.into()]));
    let root =
        Component::new("swatch", "span").value("color", colour).value("showValue", to_text(&shows_value));
    Ok(root.child(chip).child(label).child_if(value).build())
}
