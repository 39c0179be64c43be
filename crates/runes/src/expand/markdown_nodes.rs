//! Renders Markdown nodes.

use quad_markdoc::{Node as MarkdocNode, NodeType, Value as MarkdocValue};
use serde_json::Value;

use super::arguments::{class_or_json_value, to_json_value};
use super::render_context::{HeadingEntry, RenderContext, Result};
use super::{builtin_tags, placeholder, slug};
use crate::content::node_ext;
use crate::js_value::{JsTrim, is_truthy, parse_int};
use crate::render_tree::{Attributes, Element, RenderNode};

/// Language of a fence without one.
const DEFAULT_CODE_LANGUAGE: &str = "shell";

/// Renders a node that is not a tag.
pub(super) fn render(
    node: MarkdocNode,
    cx: &mut RenderContext<'_>,
    rendered: &mut Vec<RenderNode>,
) -> Result<()> {
    let element = match node.kind {
        NodeType::Text => render_text(&node),
        NodeType::Softbreak => RenderNode::from(" "),
        NodeType::Heading => render_heading(node, cx)?,
        NodeType::Fence => render_fence(&node),
        NodeType::Link => render_link(node, cx)?,
        NodeType::Image => render_image(node, cx)?,
        NodeType::Table => {
            let table = render_simple("table", &[], node, cx)?;
            Element::new("div").with_attr("class", "rf-table-wrapper").with_children([table]).into()
        }
        NodeType::List => {
            let name = if node_ext::list_is_ordered(&node) == Some(true) { "ol" } else { "ul" };
            render_simple(name, &[("start", "start")], node, cx)?
        }
        NodeType::Code => {
            let content = builtin_tags::content_node(node.attributes.get("content"));
            RenderNode::from(
                Element { attributes: mapped_attributes(&node, &[]), ..Element::new("code") }
                    .with_children([content]),
            )
        }
        kind => match simple_element(kind) {
            Some((name, attributes)) => render_simple(name, attributes, node, cx)?,
            None => {
                rendered.extend(cx.render_nodes(node.children)?);
                return Ok(());
            }
        },
    };
    match element {
        // A variable whose value is a list renders as its items.
        RenderNode::Element(list) if list.name.is_none() => rendered.extend(list.children),
        element => rendered.push(element),
    }
    Ok(())
}

/// Attributes of a node besides class and id: name in the node, name in the element.
type AttributeMapping = &'static [(&'static str, &'static str)];

/// Element and attributes of the nodes that need no other code.
fn simple_element(kind: NodeType) -> Option<(&'static str, AttributeMapping)> {
    const CELL_ATTRIBUTES: AttributeMapping = &[
        ("align", "align"),
        ("colspan", "colSpan"),
        ("rowspan", "rowSpan"),
        // The number in a cell of a `data` rune.
        ("data-value", "data-value"),
    ];
    const HEADER_CELL_ATTRIBUTES: AttributeMapping =
        &[("width", "width"), ("align", "align"), ("colspan", "colSpan"), ("rowspan", "rowSpan")];
    Some(match kind {
        NodeType::Document => ("article", &[]),
        NodeType::Paragraph => ("p", &[("property", "property")]),
        NodeType::Item => ("li", &[("property", "property"), ("typeof", "typeof")]),
        NodeType::Em => ("em", &[("marker", "marker")]),
        NodeType::Strong => ("strong", &[("marker", "marker")]),
        NodeType::Strikethrough => ("s", &[]),
        NodeType::Blockquote => ("blockquote", &[]),
        NodeType::Hr => ("hr", &[]),
        NodeType::Hardbreak => ("br", &[]),
        NodeType::Thead => ("thead", &[]),
        NodeType::Tbody => ("tbody", &[]),
        NodeType::Tr => ("tr", &[]),
        NodeType::Th => ("th", HEADER_CELL_ATTRIBUTES),
        NodeType::Td => ("td", CELL_ATTRIBUTES),
        _ => return None,
    })
}

fn render_simple(
    name: &str,
    attributes: AttributeMapping,
    node: MarkdocNode,
    cx: &mut RenderContext<'_>,
) -> Result<RenderNode> {
    let attributes = mapped_attributes(&node, attributes);
    let children = cx.render_nodes(node.children)?;
    Ok(Element { name: Some(name.to_owned()), attributes, children, ..Element::default() }.into())
}

fn mapped_attributes(node: &MarkdocNode, names: &[(&str, &str)]) -> Attributes {
    let mut attributes = Attributes::new();
    for &(name, as_name) in [("class", "class"), ("id", "id")].iter().chain(names) {
        if let Some(value) = node.attributes.get(name).and_then(|value| class_or_json_value(name, value)) {
            attributes.insert(as_name.to_owned(), value);
        }
    }
    attributes
}

fn render_text(node: &MarkdocNode) -> RenderNode {
    let content = builtin_tags::content_node(node.attributes.get("content"));
    match node.attributes.get("property").map(to_json_value).filter(is_truthy) {
        Some(property) => {
            Element::new("span").with_attr("data-field", property).with_children([content]).into()
        }
        None => content,
    }
}

/// The id of a heading is the author's, or the slug of its direct text.
fn render_heading(node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let level = node_ext::heading_level(&node).unwrap_or(1);
    let mut attributes = mapped_attributes(&node, &[("property", "property")]);
    let children = cx.render_nodes(node.children)?;
    if attributes.get("id").and_then(Value::as_str).is_none_or(str::is_empty) {
        let texts = children.iter().filter_map(|child| match child {
            RenderNode::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let id = slug::heading_id(&texts.collect::<Vec<_>>().join(" "));
        attributes.insert("id".to_owned(), id.into());
    }
    Ok(Element { name: Some(format!("h{level}")), attributes, children, ..Element::default() }.into())
}

/// A link keeps every attribute that it was given.
pub(super) fn render_link(node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let attributes =
        node.attributes.iter().map(|(name, value)| (name.to_owned(), to_json_value(value))).collect();
    let children = cx.render_nodes(node.children)?;
    Ok(Element { name: Some("a".to_owned()), attributes, children, ..Element::default() }.into())
}

fn render_image(node: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let label = node.attributes.get_str("alt").unwrap_or_default();
    let placeholder_image =
        node.attributes.get_str("src").and_then(|source| placeholder::placeholder_or_icon(source, label));
    let Some(mut placeholder_image) = placeholder_image else {
        const IMAGE_ATTRIBUTES: AttributeMapping =
            &[("src", "src"), ("alt", "alt"), ("title", "title"), ("property", "property")];
        return render_simple("img", IMAGE_ATTRIBUTES, node, cx);
    };
    if let Some(property) = node.attributes.get("property").map(to_json_value).filter(is_truthy) {
        placeholder_image.set_attr("data-field", property);
    }
    Ok(placeholder_image)
}

/// A fence, with the annotations of its author: source file, shown lines, highlighted lines.
pub(crate) fn render_fence(node: &MarkdocNode) -> RenderNode {
    let attributes = &node.attributes;
    let non_empty_text = |name: &str| attributes.get_str(name).filter(|text| !text.is_empty());
    let language = attributes
        .get("language")
        .map(to_json_value)
        .filter(is_truthy)
        .unwrap_or_else(|| DEFAULT_CODE_LANGUAGE.into());
    let mut pre = Element::new("pre").with_attr("data-language", language.clone());
    let mut code = Element::new("code").with_attr("data-language", language);
    let mut set_on_both = |name: &str, value: Value| {
        pre.attributes.insert(name.to_owned(), value.clone());
        code.attributes.insert(name.to_owned(), value);
    };
    if let Some(source) = non_empty_text("source") {
        set_on_both("data-source", source.into());
    }
    if let Some(lines) = non_empty_text("lines") {
        set_on_both("data-lines", lines.into());
        let starts_with_digit = lines.js_trim_start().starts_with(|c: char| c.is_ascii_digit());
        if let Some(first) = parse_int(lines).filter(|first| starts_with_digit && *first > 0.0) {
            pre.attributes.insert("style".to_owned(), format!("--rf-start-line: {}", first - 1.0).into());
        }
    }
    let mut set_on_both = |name: &str, value: Value| {
        pre.attributes.insert(name.to_owned(), value.clone());
        code.attributes.insert(name.to_owned(), value);
    };
    if attributes.get("linenumbers") == Some(&MarkdocValue::Bool(true)) {
        set_on_both("data-linenumbers", "true".into());
    }
    if let Some(highlight) = non_empty_text("highlight") {
        set_on_both("data-highlight-lines", highlight.into());
    }
    for (name, value) in attributes.iter().filter(|(name, _)| name.starts_with("data-")) {
        set_on_both(name, to_json_value(value));
    }
    let code = code.with_children([builtin_tags::content_node(attributes.get("content"))]);
    Element::new("div").with_attr("class", "rf-codeblock").with_children([wrap_element(pre, code)]).into()
}

fn wrap_element(outer: Element, inner: Element) -> RenderNode {
    outer.with_children([inner.into()]).into()
}

/// All headings of a document, in order.
pub(super) fn collect_headings(root: &MarkdocNode) -> Vec<HeadingEntry> {
    let entry = |node: &MarkdocNode| {
        let text = node_ext::joined_text(node, " ");
        let id = match node.attributes.get_str("id").filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => slug::toc_id(&text),
        };
        Some(HeadingEntry { level: node_ext::heading_level(node)?, text, id })
    };
    root.descendants().filter_map(entry).collect()
}
