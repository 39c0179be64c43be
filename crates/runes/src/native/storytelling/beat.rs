//! Plots and their beats.
//!
//! Native: the state of a beat comes from its check box, and a plot keeps only beats.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{
    RootBuilder, is_rune_root, named_element, new_element, rdfa_meta_element, set_field, set_rdfa_property,
};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, is_js_whitespace, to_js_string};
use crate::render_tree::RenderNode;

/// One beat.
pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let status = arguments.truthy_or("status", "planned");
    let label = named_element("span", "label", [to_js_string(&arguments.non_null_or("label", "")).into()]);
    let mut root =
        RootBuilder::new("beat", "li").value("status", status_of_mark(&status).map_or(status, Value::from));
    for name in ["id", "track", "follows"] {
        root = root.value(name, arguments.non_null_or(name, ""));
    }
    let description = to_js_string(&arguments.non_null_or("description", ""));
    let is_separator = |c: char| is_js_whitespace(c) || matches!(c, '—' | '–' | '-');
    let description = description.trim_start_matches(is_separator).js_trim();
    let mut body = Vec::new();
    if !description.is_empty() {
        body.push(new_element("p", [description.into()]));
    }
    body.extend(cx.render_nodes(rune_use.content.take("body"))?);
    Ok(root.child(label).child(named_element("div", "body", body)).build())
}

/// The state of a check box mark.
fn status_of_mark(mark: &Value) -> Option<&'static str> {
    Some(match mark.as_str()? {
        "x" => "complete",
        ">" => "active",
        " " => "planned",
        "-" => "abandoned",
        _ => return None,
    })
}

/// A plot.
pub(super) fn transform_plot(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let kind = arguments.non_null_or("type", "arc");
    let mut title =
        named_element("span", "title", [to_js_string(&arguments.non_null_or("title", "")).into()]);
    set_rdfa_property(&mut title, "name");
    let genre = rdfa_meta_element("genre", Some(&kind));
    let root = RootBuilder::new("plot", "section")
        .data_field("contentSection")
        .type_of("CreativeWork")
        .value("plotType", kind)
        .value("structure", arguments.non_null_or("structure", "linear"))
        .value("tags", arguments.non_null_or("tags", ""));
    let description = cx.render_nodes(rune_use.content.take("description"))?;
    let mut beats = cx.render_nodes(rune_use.content.take("beats"))?;
    beats.retain(|node| is_rune_root(node, "li", "beat"));
    beats.iter_mut().for_each(|node| set_field(node, "beat"));
    let root = root.child(title).child_if(genre).children(description);
    Ok(root.child(named_element("ol", "beats", beats)).build())
}
