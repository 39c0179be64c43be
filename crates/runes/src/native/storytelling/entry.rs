//! Entries of a story world: characters, places, factions.
//!
//! Native because each is a picture, a text and sections, where the picture is the first paragraph only if it holds one, and the
//! text takes what would have been sections where there are none.

use serde_json::Value;

use crate::schema::component::{Component, element, field, is_rune, name, part, property, structured};
use crate::schema::context::Result;
use crate::schema::header::is_element;
use crate::schema::layout::SplitLayout;
use crate::schema::media::take_media;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// A person. Text before the first section is not shown, and a drawing is no portrait.
pub(super) fn character(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let role = call.arguments.value_or("role", "supporting");
    let mut root = Component::new("character", "article").property("contentSection").type_of("Person");
    let mut portrait = out.nodes(call.content.take("portrait"))?;
    portrait.retain(|node| is_element(node, "img"));
    portrait.truncate(1);
    if !portrait.is_empty() {
        root = root.child(part("div", "portrait", portrait));
    }
    let job = structured("jobTitle", Some(&role));
    root = root
        .value("role", role)
        .value("status", call.arguments.value_or("status", "alive"))
        .value("aliases", call.arguments.value_or("aliases", ""))
        .value("tags", call.arguments.value_or("tags", ""))
        .child(title(&call))
        .child_if(job);
    let rest = match sections(&mut call, out, "character-section")? {
        Sections::Found(sections) => part("div", "sections", sections),
        Sections::Missing(nodes) => part("div", "body", nodes),
    };
    Ok(root.child(rest).build())
}

/// A place.
pub(super) fn realm(call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let kind = call.arguments.value_or("type", "place");
    let carrier = structured("additionalType", Some(&kind));
    let mut root = Component::new("realm", "article").type_of("Place").value("realmType", kind);
    for name in ["scale", "tags", "parent"] {
        root = root.value(name, call.arguments.value_or(name, ""));
    }
    pictured(call, out, root, carrier, "realm-section")
}

/// A group of people.
pub(super) fn faction(call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut root = Component::new("faction", "article").type_of("Organization");
    for (name, argument) in
        [("factionType", "type"), ("alignment", "alignment"), ("size", "size"), ("tags", "tags")]
    {
        root = root.value(name, call.arguments.value_or(argument, ""));
    }
    pictured(call, out, root, None, "faction-section")
}

/// An entry with a picture beside or above its text.
fn pictured(
    mut call: Call<'_>,
    out: &mut Context<'_>,
    root: Component,
    carrier: Option<Node>,
    section: &str,
) -> Result<Node> {
    let mut root = SplitLayout::read(&call.arguments).hand_to(root.property("contentSection"));
    let mut body = match take_media(out.nodes(call.content.take("scene"))?) {
        Ok(mut media) => {
            property(&mut media, "image");
            root = root.child(part("div", "scene", [media]));
            Vec::new()
        }
        Err(nodes) => nodes,
    };
    body.extend(out.nodes(call.content.take("description"))?);
    root = root.child_if(carrier).child(title(&call));
    let sections = match sections(&mut call, out, section)? {
        Sections::Found(sections) => Some(part("div", "sections", sections)),
        Sections::Missing(mut nodes) => {
            body.append(&mut nodes);
            None
        }
    };
    let body = (!body.is_empty()).then(|| part("div", "body", body));
    Ok(root.child_if(body).child_if(sections).build())
}

/// The name at the head of an entry.
fn title(call: &Call<'_>) -> Node {
    let text = call.arguments.value_or("name", Value::from(""));
    let mut title = element("span", [to_text(&text).into()]);
    name(&mut title, "name");
    property(&mut title, "name");
    title
}

/// What stands below the text of an entry.
enum Sections {
    /// Its sections; other nodes are dropped.
    Found(Vec<Node>),
    /// No section, but these nodes.
    Missing(Vec<Node>),
}

fn sections(call: &mut Call<'_>, out: &mut Context<'_>, rune: &str) -> Result<Sections> {
    let mut nodes = out.nodes(call.content.take("items"))?;
    nodes.extend(out.nodes(call.content.take("sections"))?);
    let is_section = |node: &Node| is_rune(node, "div", rune);
    if !nodes.iter().any(is_section) {
        return Ok(Sections::Missing(nodes));
    }
    nodes.retain(is_section);
    nodes.iter_mut().for_each(|node| field(node, "section"));
    Ok(Sections::Found(nodes))
}
