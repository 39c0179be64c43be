//! Two panels to compare by sliding, toggling or fading.
//!
//! Native: each zone becomes an element with an engine type of its own, labelled from a list.

use crate::expand::media::unwrap_paragraphs;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, json_number, to_js_string};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let labels = rune_use.arguments.text("labels").unwrap_or_default();
    let mut labels = labels.split(',').map(str::js_trim);
    let mut panels = Vec::new();
    for mut zone in rune_use.content.take_groups("zones") {
        let label = labels.next().filter(|label| !label.is_empty());
        let label = label.map(|label| named_element("span", "name", [label.into()]));
        let body = unwrap_paragraphs(cx.render_nodes(zone.take("body"))?);
        let panel = RootBuilder::new("juxtapose-panel", "div")
            .child_if(label)
            .child(named_element("div", "body", body));
        let mut panel = panel.build();
        set_field(&mut panel, "panel");
        panels.push(panel);
    }
    let arguments = &rune_use.arguments;
    let root = RootBuilder::new("juxtapose", "section")
        .value("variant", arguments.non_null_or("variant", "slider"))
        .value("orientation", arguments.non_null_or("orientation", "vertical"))
        .value("position", to_js_string(&arguments.non_null_or("position", json_number(50.0))))
        .value("duration", to_js_string(&arguments.non_null_or("duration", json_number(1000.0))));
    Ok(root.child(named_element("div", "panels", panels)).build())
}
