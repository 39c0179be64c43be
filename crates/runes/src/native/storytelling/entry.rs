//! Entries of a story world: characters, places, factions.
//!
//! Native: each is an image, a body and sections. The first paragraph is the image only if it contains one. Without
//! sections, the remaining nodes belong to the body.

use serde_json::Value;

use crate::expand::header::is_element;
use crate::expand::layout::SplitLayout;
use crate::expand::media::take_media;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{
    RootBuilder, is_rune_root, named_element, new_element, rdfa_meta_element, set_field, set_name,
    set_rdfa_property,
};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

/// A character. Text before the first section is not shown, and a placeholder is no portrait.
pub(super) fn transform_character(
    mut rune_use: RuneUse<'_>,
    cx: &mut RenderContext<'_>,
) -> Result<RenderNode> {
    let role = rune_use.arguments.non_null_or("role", "supporting");
    let mut root = RootBuilder::new("character", "article").data_field("contentSection").type_of("Person");
    let mut portrait = cx.render_nodes(rune_use.content.take("portrait"))?;
    portrait.retain(|node| is_element(node, "img"));
    portrait.truncate(1);
    if !portrait.is_empty() {
        root = root.child(named_element("div", "portrait", portrait));
    }
    let job_meta = rdfa_meta_element("jobTitle", Some(&role));
    root = root
        .value("role", role)
        .value("status", rune_use.arguments.non_null_or("status", "alive"))
        .value("aliases", rune_use.arguments.non_null_or("aliases", ""))
        .value("tags", rune_use.arguments.non_null_or("tags", ""))
        .child_if(job_meta)
        .child(title_element(&rune_use));
    let rest = match take_sections(&mut rune_use, cx, "character-section")? {
        EntrySections::Found(sections) => named_element("div", "sections", sections),
        EntrySections::Missing(nodes) => named_element("div", "body", nodes),
    };
    Ok(root.child(rest).build())
}

/// A place.
pub(super) fn transform_realm(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let kind = rune_use.arguments.non_null_or("type", "place");
    let metadata_node = rdfa_meta_element("additionalType", Some(&kind));
    let mut root = RootBuilder::new("realm", "article").type_of("Place").value("realmType", kind);
    for name in ["scale", "tags", "parent"] {
        root = root.value(name, rune_use.arguments.non_null_or(name, ""));
    }
    with_image(rune_use, cx, root, metadata_node, "realm-section")
}

/// A faction.
pub(super) fn transform_faction(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut root = RootBuilder::new("faction", "article").type_of("Organization");
    for (name, argument) in
        [("factionType", "type"), ("alignment", "alignment"), ("size", "size"), ("tags", "tags")]
    {
        root = root.value(name, rune_use.arguments.non_null_or(argument, ""));
    }
    with_image(rune_use, cx, root, None, "faction-section")
}

/// An entry with an image beside or above its body.
fn with_image(
    mut rune_use: RuneUse<'_>,
    cx: &mut RenderContext<'_>,
    root: RootBuilder,
    metadata_node: Option<RenderNode>,
    section: &str,
) -> Result<RenderNode> {
    let mut root = SplitLayout::read(&rune_use.arguments).apply_to(root.data_field("contentSection"));
    let mut body = match take_media(cx.render_nodes(rune_use.content.take("scene"))?) {
        Ok(mut media) => {
            set_rdfa_property(&mut media, "image");
            root = root.child(named_element("div", "scene", [media]));
            Vec::new()
        }
        Err(nodes) => nodes,
    };
    body.extend(cx.render_nodes(rune_use.content.take("description"))?);
    root = root.child_if(metadata_node).child(title_element(&rune_use));
    let sections = match take_sections(&mut rune_use, cx, section)? {
        EntrySections::Found(sections) => Some(named_element("div", "sections", sections)),
        EntrySections::Missing(mut nodes) => {
            body.append(&mut nodes);
            None
        }
    };
    let body = (!body.is_empty()).then(|| named_element("div", "body", body));
    Ok(root.child_if(body).child_if(sections).build())
}

/// The title of an entry.
fn title_element(rune_use: &RuneUse<'_>) -> RenderNode {
    let text = rune_use.arguments.non_null_or("name", Value::from(""));
    let mut title = new_element("span", [to_js_string(&text).into()]);
    set_name(&mut title, "name");
    set_rdfa_property(&mut title, "name");
    title
}

/// What follows the body of an entry.
enum EntrySections {
    /// Sections; other nodes are dropped.
    Found(Vec<RenderNode>),
    /// No section, but these nodes.
    Missing(Vec<RenderNode>),
}

fn take_sections(
    rune_use: &mut RuneUse<'_>,
    cx: &mut RenderContext<'_>,
    rune: &str,
) -> Result<EntrySections> {
    let mut nodes = cx.render_nodes(rune_use.content.take("items"))?;
    nodes.extend(cx.render_nodes(rune_use.content.take("sections"))?);
    let is_section = |node: &RenderNode| is_rune_root(node, "div", rune);
    if !nodes.iter().any(is_section) {
        return Ok(EntrySections::Missing(nodes));
    }
    nodes.retain(is_section);
    nodes.iter_mut().for_each(|node| set_field(node, "section"));
    Ok(EntrySections::Found(nodes))
}
