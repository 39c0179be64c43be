//! Events.
//!
//! Native because parts of the header are structured data too, and the place is an element of its own within it.

use crate::schema::component::{Component, part, property, structured};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::media::unwrap_paragraphs;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut header = unwrap_paragraphs(out.nodes(call.content.take("header"))?);
    let found = Header::name(&mut header);
    for (at, meaning) in [(found.headline, "name"), (found.blurb, "description")] {
        if let Some(node) = at.and_then(|at| header.get_mut(at)) {
            property(node, meaning);
        }
    }
    let body = out.nodes(call.content.take("body"))?;
    let mut root = Component::new("event", "article").property("contentSection").type_of("Event");
    for (name, meaning) in [("date", "startDate"), ("endDate", "endDate"), ("location", ""), ("url", "url")] {
        let value = call.arguments.value_or(name, "");
        if !meaning.is_empty() {
            root = root.child_if(structured(meaning, Some(&value)));
        }
        root = root.value(name, value);
    }
    let place = call.arguments.given("location").map(|location| {
        let name = Tag::new("meta").with("property", "name").with("content", location.clone());
        Tag::new("span").with("typeof", "Place").with("property", "location").holding([name.into()])
    });
    Ok(root.children(header).child(part("div", "body", body)).child_if(place).build())
}
