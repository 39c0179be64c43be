//! The headings of the page as links.
//!
//! Native because it reads the whole document, not its own content.

use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use serde_json::Value;

pub(super) fn transform(call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let deepest = deepest_level(call.arguments.get("depth"));
    let listed = out.headings.iter().filter(|entry| entry.level >= 2 && f64::from(entry.level) <= deepest);
    let items = listed.map(|entry| {
        let link = Tag::new("a").with("href", format!("#{}", entry.id)).holding([entry.text.as_str().into()]);
        Tag::new("li").with("data-level", entry.level).holding([link.into()]).into()
    });
    let list = part("ul", "list", items);
    let root = Component::new("table-of-contents", "nav")
        .value_if("depth", call.arguments.get("depth").cloned())
        .value_if("ordered", call.arguments.get("ordered").cloned());
    Ok(root.child(list).build())
}

/// One level more than the depth, since the first level is the title. A depth that is a text is lengthened by the digit instead
/// of being added to, as in the original, so it lists all levels.
fn deepest_level(depth: Option<&Value>) -> f64 {
    match depth {
        Some(Value::String(text)) => format!("{text}1").trim().parse().unwrap_or(f64::NAN),
        Some(depth) => depth.as_f64().unwrap_or(0.0) + 1.0,
        None => f64::NAN,
    }
}
