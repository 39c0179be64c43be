//! Two panels to compare by sliding, toggling or fading.
//!
//! Native because each zone becomes an element that the engine knows as a type of its own, with a label from a list.

use crate::schema::component::{Component, field, part};
use crate::schema::context::Result;
use crate::schema::media::unwrap_paragraphs;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::{number, to_text};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let labels = call.arguments.text("labels").unwrap_or_default();
    let mut labels = labels.split(',').map(str::trim);
    let mut panels = Vec::new();
    for mut zone in call.content.take_groups("zones") {
        let label = labels.next().filter(|label| !label.is_empty());
        let label = label.map(|label| part("span", "name", [label.into()]));
        let body = unwrap_paragraphs(out.nodes(zone.take("body"))?);
        let panel = Component::new("juxtapose-panel", "div").child_if(label).child(part("div", "body", body));
        let mut panel = panel.build();
        field(&mut panel, "panel");
        panels.push(panel);
    }
    let arguments = &call.arguments;
    let root = Component::new("juxtapose", "section")
        .value("variant", arguments.value_or("variant", "slider"))
        .value("orientation", arguments.value_or("orientation", "vertical"))
        .value("position", to_text(&arguments.value_or("position", number(50.0))))
        .value("duration", to_text(&arguments.value_or("duration", number(1000.0))));
    Ok(root.child(part("div", "panels", panels)).build())
}
