//! The headings of the page as links.
//!
//! Native because it reads the whole document, not its own content.

use crate::schema::component::{Component, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let deepest = call.arguments.number("depth").unwrap_or(f64::NAN) + 1.0;
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
