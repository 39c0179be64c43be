//! Links to the page before and the page after.
//!
//! Native because a target is an address or a slug, and because of what is left for a later stage that knows the other pages.

use serde_json::Value;

use crate::schema::component::{Component, field_meta, part};
use crate::schema::context::Result;
use crate::schema::{Arguments, Call, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

pub(super) fn transform(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    let arguments = &call.arguments;
    let mut root = Component::new("pagination", "nav");
    if arguments.is_given("auto") {
        root = root.child(field_meta("__pagination-auto", "true"));
        for name in ["scope", "prev-label", "next-label"] {
            root = root.child_if(arguments.text(name).map(|value| field_meta(name, value)));
        }
        return Ok(root.build());
    }
    let back = link(arguments, "prev", |label| [part("span", "marker", ["←".into()]), label]);
    let ahead = link(arguments, "next", |label| [label, part("span", "marker", ["→".into()])]);
    Ok(root.child_if(back).child_if(ahead).build())
}

fn link(arguments: &Arguments, direction: &str, order: impl Fn(Node) -> [Node; 2]) -> Option<Tag> {
    let target = arguments.text(direction)?;
    let label = arguments.get(&format!("{direction}-label")).filter(|label| !label.is_null()).map(to_text);
    let label = part("span", "label", [label.unwrap_or_else(|| target.clone()).into()]);
    let href = if is_address(&target) { target } else { format!("__slug:{target}") };
    let tag = Tag::new("a")
        .with("href", href)
        .with("data-direction", direction)
        .with("data-name", Value::from(direction));
    Some(tag.holding(order(label)))
}

/// `/path` or `scheme://…`; everything else is a slug.
fn is_address(target: &str) -> bool {
    let scheme = target.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme =
        |scheme: &str| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphabetic());
    target.starts_with('/') || scheme.is_some_and(is_scheme)
}
