//! Links to the previous and the next page.
//!
//! Native: a target is a URL or a slug, and a site that knows the other pages completes it.

use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, field_meta_element, named_element};
use crate::expand::{Arguments, RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let arguments = &rune_use.arguments;
    let mut root = RootBuilder::new("pagination", "nav");
    if arguments.is_truthy("auto") {
        root = root.child(field_meta_element("__pagination-auto", "true"));
        for name in ["scope", "prev-label", "next-label"] {
            root = root.child_if(arguments.text(name).map(|value| field_meta_element(name, value)));
        }
        return Ok(root.build());
    }
    let previous =
        page_link(arguments, "prev", |label| [named_element("span", "marker", ["←".into()]), label]);
    let next = page_link(arguments, "next", |label| [label, named_element("span", "marker", ["→".into()])]);
    Ok(root.child_if(previous).child_if(next).build())
}

fn page_link(
    arguments: &Arguments,
    direction: &str,
    order: impl Fn(RenderNode) -> [RenderNode; 2],
) -> Option<Element> {
    let target = arguments.text(direction)?;
    let label =
        arguments.get(&format!("{direction}-label")).filter(|label| !label.is_null()).map(to_js_string);
    let label = named_element("span", "label", [label.unwrap_or_else(|| target.clone()).into()]);
    let href = if is_url(&target) { target } else { format!("__slug:{target}") };
    let tag = Element::new("a")
        .with_attr("href", href)
        .with_attr("data-direction", direction)
        .with_attr("data-name", Value::from(direction));
    Some(tag.with_children(order(label)))
}

/// `/path` or `scheme://…`; anything else is a slug.
fn is_url(target: &str) -> bool {
    let scheme = target.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme =
        |scheme: &str| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic());
    target.starts_with('/') || scheme.is_some_and(is_scheme)
}
