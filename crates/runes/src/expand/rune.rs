//! The steps around every rune: arguments, content model, then the universal attributes.

use quad_markdoc::Node as MarkdocNode;

use super::arguments::Arguments;
use super::render_context::{RenderContext, Result, RuneUse};
use super::root_builder::field_meta_element;
use super::template;
use crate::catalogue::Rune;
use crate::content::{self, ContentFields, FieldContent};
use crate::js_value::{is_truthy, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// Arguments that are copied to the root element, where the engine reads them.
const UNIVERSAL_ROOT_ATTRIBUTES: [&str; 9] =
    ["width", "spacing", "inset", "elevation", "prominence", "reveal", "stagger", "reading", "dropcap"];

/// Universal attributes that are passed as `meta` elements, in this order.
const UNIVERSAL_META_FIELDS: [&str; 25] = [
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
pub(super) fn render(rune: &Rune, node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut node = node;
    let children = std::mem::take(&mut node.children);
    for (old_name, attribute) in &rune.attributes {
        let Some(new_name) = &attribute.replaced_by else { continue };
        if let (Some(value), false) =
            (node.attributes.get(old_name).cloned(), node.attributes.contains(new_name))
        {
            node.attributes.insert(new_name.clone(), value);
        }
    }
    let mut arguments = Arguments::read(cx.catalogue, rune, &node.attributes);
    if rune.content.is_none() && !rune.universal {
        // Only the modifier itself is rendered: no nested tint or background, no universal attributes.
        return transform(RuneUse { rune, arguments, content: all_children(children), node }, cx);
    }
    let (body, modifiers) = Modifiers::take(children);
    let content = match &rune.content {
        Some(model) => content::resolve(model, body, &arguments),
        None => all_children(body),
    };
    let mut root = transform(RuneUse { rune, arguments: arguments.clone(), content, node }, cx)?;
    if let Some(native) = rune.native {
        native.forwarded_attributes.iter().for_each(|name| arguments.remove(name));
    }
    // A rune that expands to several elements has no root for the universal attributes.
    if let Some(tag) = root.as_element_mut().filter(|tag| tag.name.is_some()) {
        modifiers.append_to(tag, &arguments, cx)?;
        for name in UNIVERSAL_ROOT_ATTRIBUTES {
            if let Some(value) = arguments.truthy(name) {
                tag.attributes.insert(name.to_owned(), value.clone());
            }
        }
        append_universal_meta(tag, &arguments);
    }
    Ok(root)
}

/// The nested `tint` and `bg`, which are no content: they change the element around them.
#[derive(Debug, Default)]
pub(crate) struct Modifiers {
    tint: Option<MarkdocNode>,
    background: Option<MarkdocNode>,
}

impl Modifiers {
    /// Takes the last of each from the children of an element. Returns the other children.
    pub fn take(children: Vec<MarkdocNode>) -> (Vec<MarkdocNode>, Modifiers) {
        let mut modifiers = Modifiers::default();
        let mut body = Vec::with_capacity(children.len());
        for child in children {
            match child.tag.as_deref() {
                Some("tint") => modifiers.tint = Some(child),
                Some("bg") => modifiers.background = Some(child),
                _ => body.push(child),
            }
        }
        (body, modifiers)
    }

    /// Appends their values to the element, then those of the arguments `tint`, `tint-mode` and `bg`.
    pub fn append_to(
        self,
        tag: &mut Element,
        arguments: &Arguments,
        cx: &mut RenderContext<'_>,
    ) -> Result<()> {
        append_tint(tag, self.tint, arguments, cx)?;
        append_background(tag, self.background, arguments, cx)
    }
}

/// The content of a rune without a content model.
fn all_children(nodes: Vec<MarkdocNode>) -> ContentFields {
    let mut content = ContentFields::default();
    content.insert("children", FieldContent::Nodes(nodes));
    content
}

fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    match rune_use.rune.native {
        Some(native) => (native.transform)(rune_use, cx),
        None => template::render(rune_use, cx),
    }
}

fn has_meta_field(nodes: &[RenderNode], field: &str) -> bool {
    nodes
        .iter()
        .filter_map(RenderNode::as_element)
        .any(|tag| tag.is("meta") && tag.attr_str("data-field") == Some(field))
}

/// The `meta` elements of a nested `tint` or `bg`.
fn render_modifier_child(node: Option<MarkdocNode>, cx: &mut RenderContext<'_>) -> Result<Vec<RenderNode>> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let rendered = cx.render_nodes(vec![node])?;
    let children = rendered.into_iter().flat_map(|node| match node {
        RenderNode::Element(tag) => tag.children,
        _ => Vec::new(),
    });
    Ok(children.filter(|child| child.as_element().is_some()).collect())
}

fn append_tint(
    tag: &mut Element,
    node: Option<MarkdocNode>,
    arguments: &Arguments,
    cx: &mut RenderContext<'_>,
) -> Result<()> {
    let mut metas = render_modifier_child(node, cx)?;
    metas.retain(|node| node.as_element().is_some_and(|tag| tag.is("meta")));
    if let (Some(tint), false) = (arguments.truthy("tint"), has_meta_field(&metas, "tint")) {
        metas.push(field_meta_element("tint", tint.clone()));
    }
    let mode = arguments.truthy("tint-mode").filter(|mode| mode.as_str() != Some("auto"));
    if let (Some(mode), false) = (mode, has_meta_field(&metas, "tint-mode")) {
        metas.push(field_meta_element("tint-mode", mode.clone()));
    }
    tag.children.append(&mut metas);
    Ok(())
}

/// Appends the background: its values, then the nested content behind the rune.
fn append_background(
    tag: &mut Element,
    node: Option<MarkdocNode>,
    arguments: &Arguments,
    cx: &mut RenderContext<'_>,
) -> Result<()> {
    let children = render_modifier_child(node, cx)?;
    let is_meta = |node: &RenderNode| node.as_element().is_some_and(|tag| tag.is("meta"));
    let (mut metas, mut background_sandboxes): (Vec<RenderNode>, Vec<RenderNode>) =
        children.into_iter().partition(is_meta);
    background_sandboxes
        .retain(|node| node.as_element().is_some_and(|tag| tag.attributes.contains_key("data-bg-guest")));
    if let (Some(preset), false) = (arguments.truthy("bg"), has_meta_field(&metas, "bg-preset")) {
        metas.push(field_meta_element("bg-preset", preset.clone()));
    }
    tag.children.append(&mut metas);
    tag.children.append(&mut background_sandboxes);
    Ok(())
}

fn append_universal_meta(tag: &mut Element, arguments: &Arguments) {
    for name in UNIVERSAL_META_FIELDS {
        let value = arguments.get(name).filter(|value| !value.is_null() && value.as_str() != Some(""));
        // `frame` and `substrate` must be truthy; the others may have any value.
        let value = value.filter(|value| !matches!(name, "frame" | "substrate") || is_truthy(value));
        if let (Some(value), false) = (value, has_meta_field(&tag.children, name)) {
            tag.children.push(field_meta_element(name, to_js_string(value)));
        }
    }
}
