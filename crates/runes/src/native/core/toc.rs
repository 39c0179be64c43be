//! A table of contents.
//!
//! Native: it reads the whole document instead of its own content.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::JsTrim;
use crate::render_tree::{Element, RenderNode};
use serde_json::Value;

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let level_limit = max_level(rune_use.arguments.get("depth"));
    let headings =
        cx.headings.iter().filter(|entry| entry.level >= 2 && f64::from(entry.level) <= level_limit);
    let items = headings.map(|entry| {
        let link = Element::new("a")
            .with_attr("href", format!("#{}", entry.id))
            .with_children([entry.text.as_str().into()]);
        Element::new("li").with_attr("data-level", entry.level).with_children([link.into()]).into()
    });
    let list = named_element("ul", "list", items);
    let root = RootBuilder::new("table-of-contents", "nav")
        .value_if("depth", rune_use.arguments.get("depth").cloned())
        .value_if("ordered", rune_use.arguments.get("ordered").cloned());
    Ok(root.child(list).build())
}

/// One level below `depth`, since the first level is the title. If `depth` is text, npm appends the digit instead of
/// adding it, which lists all levels; so does this.
fn max_level(depth: Option<&Value>) -> f64 {
    match depth {
        Some(Value::String(text)) => format!("{text}1").js_trim().parse().unwrap_or(f64::NAN),
        Some(depth) => depth.as_f64().unwrap_or(0.0) + 1.0,
        None => f64::NAN,
    }
}
