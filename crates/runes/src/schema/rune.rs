//! What happens around every rune: arguments, content model, and afterwards the facets that every rune has.

use quad_markdoc::Node as Parsed;
use serde_json::Value;

use super::arguments::Arguments;
use super::component::{FIELDS, field_meta};
use super::context::{Call, Context, Result};
use super::emit;
use crate::catalogue::Rune;
use crate::content::{self, Content, Resolved};
use crate::native;
use crate::tree::{Node, Tag};
use crate::value::{to_text, truthy};

/// Arguments that are copied onto the root element, where the engine reads them.
const FORWARDED: [&str; 9] =
    ["width", "spacing", "inset", "elevation", "prominence", "reveal", "stagger", "reading", "dropcap"];

/// Facets that reach the engine as `meta` elements, in the order in which they are appended.
const FACETS: [&str; 25] = [
    "frame",
    "frame-aspect",
    "frame-displace",
    "frame-displace-mode",
    "frame-offset",
    "frame-oversize",
    "frame-place",
    "frame-anchor",
    "frame-overflow",
    "frame-shadow",
    "substrate",
    "substrate-size",
    "substrate-opacity",
    "substrate-fill",
    "substrate-target",
    "bg-gradient",
    "bg-from",
    "bg-to",
    "bg-via",
    "bg-gradient-type",
    "scrim",
    "scrim-type",
    "scrim-strength",
    "scrim-blur",
    "scrim-tone",
];

/// Renders a rune.
pub(super) fn render(rune: &Rune, node: Parsed, context: &mut Context<'_>) -> Result<Node> {
    let mut node = node;
    let children = std::mem::take(&mut node.children);
    for (old, attribute) in &rune.attributes {
        let Some(new) = &attribute.replaced_by else { continue };
        if let (Some(value), false) = (node.attributes.get(old).cloned(), node.attributes.contains(new)) {
            node.attributes.insert(new.clone(), value);
        }
    }
    let mut arguments = Arguments::read(context.catalogue, rune, &node.attributes);
    if rune.content.is_none() && !rune.universal {
        // There is nothing around the rune: no tint or background to pull out, no facets to append.
        return transform(Call { rune, arguments, content: unsorted(children), node }, context);
    }
    let (mut tint, mut background) = (None, None);
    let mut body = Vec::with_capacity(children.len());
    for child in children {
        match child.tag.as_deref() {
            Some("tint") => tint = Some(child),
            Some("bg") => background = Some(child),
            _ => body.push(child),
        }
    }
    let content = match &rune.content {
        Some(model) => content::resolve(model, body, &arguments),
        None => unsorted(body),
    };
    let mut root = transform(Call { rune, arguments: arguments.clone(), content, node }, context)?;
    native::handed_down(rune).iter().for_each(|name| arguments.remove(name));
    // A rune that becomes several elements has no root to put facets on.
    if let Some(tag) = root.as_tag_mut().filter(|tag| tag.name.is_some()) {
        append_tint(tag, tint, &arguments, context)?;
        append_background(tag, background, &arguments, context)?;
        for name in FORWARDED {
            if let Some(value) = arguments.given(name) {
                tag.attributes.insert(name.to_owned(), value.clone());
            }
        }
        append_facets(tag, &arguments);
    }
    Ok(root)
}

/// The nodes of a rune without a content model.
fn unsorted(nodes: Vec<Parsed>) -> Resolved {
    let mut content = Resolved::default();
    content.insert("children", Content::Nodes(nodes));
    content
}

fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    match native::find(call.rune) {
        Some(native) => native(call, context),
        None => emit::render(call, context),
    }
}

fn has_field(nodes: &[Node], field: &str) -> bool {
    nodes.iter().filter_map(Node::as_tag).any(|tag| tag.is("meta") && tag.text("data-field") == Some(field))
}

/// The elements that a `tint` or `bg` within the rune stands for.
fn aside(node: Option<Parsed>, context: &mut Context<'_>) -> Result<Vec<Node>> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let rendered = context.nodes(vec![node])?;
    let children = rendered.into_iter().flat_map(|node| match node {
        Node::Tag(tag) => tag.children,
        _ => Vec::new(),
    });
    Ok(children.filter(|child| child.as_tag().is_some()).collect())
}

fn append_tint(
    tag: &mut Tag,
    node: Option<Parsed>,
    arguments: &Arguments,
    context: &mut Context<'_>,
) -> Result<()> {
    let mut metas = aside(node, context)?;
    metas.retain(|node| node.as_tag().is_some_and(|tag| tag.is("meta")));
    if let (Some(tint), false) = (arguments.given("tint"), has_field(&metas, "tint")) {
        metas.push(field_meta("tint", tint.clone()));
    }
    let mode = arguments.given("tint-mode").filter(|mode| mode.as_str() != Some("auto"));
    if let (Some(mode), false) = (mode, has_field(&metas, "tint-mode")) {
        metas.push(field_meta("tint-mode", mode.clone()));
    }
    tag.children.append(&mut metas);
    Ok(())
}

/// The background: first its values, then what stands behind the rune as content of its own.
fn append_background(
    tag: &mut Tag,
    node: Option<Parsed>,
    arguments: &Arguments,
    context: &mut Context<'_>,
) -> Result<()> {
    let children = aside(node, context)?;
    let is_meta = |node: &Node| node.as_tag().is_some_and(|tag| tag.is("meta"));
    let (mut metas, mut guests): (Vec<Node>, Vec<Node>) = children.into_iter().partition(is_meta);
    guests.retain(|node| node.as_tag().is_some_and(|tag| tag.attributes.contains_key("data-bg-guest")));
    if let (Some(preset), false) = (arguments.given("bg"), has_field(&metas, "bg-preset")) {
        metas.push(field_meta("bg-preset", preset.clone()));
    }
    tag.children.append(&mut metas);
    tag.children.append(&mut guests);
    Ok(())
}

fn append_facets(tag: &mut Tag, arguments: &Arguments) {
    for name in FACETS {
        let value = arguments.get(name).filter(|value| !value.is_null() && value.as_str() != Some(""));
        // The two that switch a facet on must count as given; the others may be any value.
        let value = value.filter(|value| !matches!(name, "frame" | "substrate") || truthy(value));
        if let (Some(value), false) = (value, has_field(&tag.children, name)) {
            tag.children.push(field_meta(name, to_text(value)));
        }
    }
}

/// The values that a rendered rune hands to the engine.
pub fn values_of(tag: &Tag) -> serde_json::Map<String, Value> {
    tag.text(FIELDS).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
