//! `track`. Native: its name is the first text, and durations have two forms.

use serde_json::Value;

use super::duration;
use crate::expand::header::{is_element, is_heading};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, rdfa_meta_element, set_field, set_rdfa_property};
use crate::expand::text::text_of_node;
use crate::expand::{Arguments, RenderContext, RootBuilder, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let title = cx.render_nodes(content.take("title"))?;
    let body = cx.render_nodes(content.take("body"))?;
    let title = title.iter().find(|node| is_heading(node) || is_element(node, "p"));
    let mut name =
        named_element("span", "track-name", [RenderNode::from(title.map(text_of_node).unwrap_or_default())]);
    set_field(&mut name, "name");
    set_rdfa_property(&mut name, "name");
    let named_span = |name: &str, text: Option<String>| {
        text.map(|text| named_element("span", name, [RenderNode::from(text)]))
    };
    let number = arguments.get("number").map(|number| Value::from(to_js_string(number)));
    Ok(with_values(RootBuilder::new("track", "li"), &arguments, number.clone())
        .type_of("MusicRecording")
        .child(name)
        .child_if(named_span("track-artist", arguments.text("artist")))
        .child_if(named_span("track-duration", arguments.text("duration").map(format_duration)))
        .child_if(named_span("track-meta", arguments.text("date")))
        .child_if((!body.is_empty()).then(|| named_element("div", "track-description", body)))
        .child_if(rdfa_meta_element("url", arguments.truthy("url")))
        .child_if(rdfa_meta_element("position", number.as_ref()))
        .child_if(rdfa_meta_element("datePublished", arguments.truthy("date")))
        .build())
}

fn with_values(root: RootBuilder, arguments: &Arguments, number: Option<Value>) -> RootBuilder {
    let length = arguments.text("duration").map(|length| match length.starts_with("PT") {
        true => length,
        false => format!("PT{}S", duration::seconds(&length)),
    });
    root.value_if("artist", arguments.truthy("artist").cloned())
        .value_if("duration", length)
        .value_if("url", arguments.truthy("url").cloned())
        .value_if("position", number)
        .value_if("datePublished", arguments.truthy("date").cloned())
        .value("type", arguments.non_null_or("type", "song"))
}

/// A duration for display; the machine form is converted.
fn format_duration(length: String) -> String {
    if length.starts_with("PT") { duration::format_clock(duration::seconds(&length)) } else { length }
}
