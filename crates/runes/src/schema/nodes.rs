//! Markdown as elements.

use quad_markdoc::{Node as Parsed, NodeType, Value as Written};
use serde_json::Value;

use super::arguments::{class_or_value, json};
use super::context::{Context, HeadingEntry, Result};
use super::{markdoc, placeholder, slug};
use crate::content::ast;
use crate::tree::{Attributes, Node, Tag};
use crate::value::{leading_integer, truthy};

/// Language of a fence that names none.
const PLAIN_LANGUAGE: &str = "shell";

/// Renders a node that is no tag.
pub(super) fn render(node: Parsed, context: &mut Context<'_>, rendered: &mut Vec<Node>) -> Result<()> {
    let element = match node.kind {
        NodeType::Text => text(&node),
        NodeType::Softbreak => Node::from(" "),
        NodeType::Heading => heading(node, context)?,
        NodeType::Fence => fence(&node),
        NodeType::Link => link(node, context)?,
        NodeType::Image => image(node, context)?,
        NodeType::Table => {
            let table = plain("table", &[], node, context)?;
            Tag::new("div").with("class", "rf-table-wrapper").holding([table]).into()
        }
        NodeType::List => {
            let name = if ast::list_is_ordered(&node) == Some(true) { "ol" } else { "ul" };
            plain(name, &[("start", "start")], node, context)?
        }
        NodeType::Code => {
            let content = markdoc::content(node.attributes.get("content"));
            Node::from(Tag { attributes: shown(&node, &[]), ..Tag::new("code") }.holding([content]))
        }
        kind => match markup(kind) {
            Some((name, attributes)) => plain(name, attributes, node, context)?,
            None => {
                rendered.extend(context.nodes(node.children)?);
                return Ok(());
            }
        },
    };
    match element {
        // A variable that is a list stands for its values.
        Node::Tag(list) if list.name.is_none() => rendered.extend(list.children),
        element => rendered.push(element),
    }
    Ok(())
}

/// Attributes that a node shows, beside class and id: its own name for each, and the element's.
type Shown = &'static [(&'static str, &'static str)];

/// Element and attributes of the nodes that need nothing more.
fn markup(kind: NodeType) -> Option<(&'static str, Shown)> {
    const CELL: Shown = &[("align", "align"), ("colspan", "colSpan"), ("rowspan", "rowSpan")];
    const HEAD: Shown =
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
        NodeType::Th => ("th", HEAD),
        NodeType::Td => ("td", CELL),
        _ => return None,
    })
}

fn plain(name: &str, attributes: Shown, node: Parsed, context: &mut Context<'_>) -> Result<Node> {
    let attributes = shown(&node, attributes);
    let children = context.nodes(node.children)?;
    Ok(Tag { name: Some(name.to_owned()), attributes, children }.into())
}

fn shown(node: &Parsed, names: &[(&str, &str)]) -> Attributes {
    let mut attributes = Attributes::new();
    for &(name, as_name) in [("class", "class"), ("id", "id")].iter().chain(names) {
        if let Some(value) = node.attributes.get(name).and_then(|value| class_or_value(name, value)) {
            attributes.insert(as_name.to_owned(), value);
        }
    }
    attributes
}

fn text(node: &Parsed) -> Node {
    let content = markdoc::content(node.attributes.get("content"));
    match node.attributes.get("property").map(json).filter(truthy) {
        Some(property) => Tag::new("span").with("data-field", property).holding([content]).into(),
        None => content,
    }
}

/// A heading has an id: the author's, else one that is made of the texts directly in it.
fn heading(node: Parsed, context: &mut Context<'_>) -> Result<Node> {
    let level = ast::heading_level(&node).unwrap_or(1);
    let mut attributes = shown(&node, &[("property", "property")]);
    let children = context.nodes(node.children)?;
    if attributes.get("id").and_then(Value::as_str).is_none_or(str::is_empty) {
        let texts = children.iter().filter_map(|child| match child {
            Node::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let id = slug::heading_id(&texts.collect::<Vec<_>>().join(" "));
        attributes.insert("id".to_owned(), id.into());
    }
    Ok(Tag { name: Some(format!("h{level}")), attributes, children }.into())
}

/// A link shows whatever it was given.
pub(super) fn link(node: Parsed, context: &mut Context<'_>) -> Result<Node> {
    let attributes = node.attributes.iter().map(|(name, value)| (name.to_owned(), json(value))).collect();
    let children = context.nodes(node.children)?;
    Ok(Tag { name: Some("a".to_owned()), attributes, children }.into())
}

fn image(node: Parsed, context: &mut Context<'_>) -> Result<Node> {
    let label = node.attributes.text("alt").unwrap_or_default();
    let drawn = node.attributes.text("src").and_then(|source| placeholder::picture(source, label));
    let Some(mut drawn) = drawn else {
        const SHOWN: Shown = &[("src", "src"), ("alt", "alt"), ("title", "title"), ("property", "property")];
        return plain("img", SHOWN, node, context);
    };
    if let Some(property) = node.attributes.get("property").map(json).filter(truthy) {
        drawn.set("data-field", property);
    }
    Ok(drawn)
}

/// A code block, with what its author noted: where it comes from, which lines it shows, which of them to mark.
pub(crate) fn fence(node: &Parsed) -> Node {
    let written = &node.attributes;
    let noted = |name: &str| written.text(name).filter(|text| !text.is_empty());
    let language = written.get("language").map(json).filter(truthy).unwrap_or_else(|| PLAIN_LANGUAGE.into());
    let mut pre = Tag::new("pre").with("data-language", language.clone());
    let mut code = Tag::new("code").with("data-language", language);
    let mut both = |name: &str, value: Value| {
        pre.attributes.insert(name.to_owned(), value.clone());
        code.attributes.insert(name.to_owned(), value);
    };
    if let Some(source) = noted("source") {
        both("data-source", source.into());
    }
    if let Some(lines) = noted("lines") {
        both("data-lines", lines.into());
        let digits = lines.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if let Some(first) = leading_integer(lines).filter(|first| digits && *first > 0.0) {
            pre.attributes.insert("style".to_owned(), format!("--rf-start-line: {}", first - 1.0).into());
        }
    }
    let mut both = |name: &str, value: Value| {
        pre.attributes.insert(name.to_owned(), value.clone());
        code.attributes.insert(name.to_owned(), value);
    };
    if written.get("linenumbers") == Some(&Written::Bool(true)) {
        both("data-linenumbers", "true".into());
    }
    if let Some(highlight) = noted("highlight") {
        both("data-highlight-lines", highlight.into());
    }
    for (name, value) in written.iter().filter(|(name, _)| name.starts_with("data-")) {
        both(name, json(value));
    }
    let code = code.holding([markdoc::content(written.get("content"))]);
    Tag::new("div").with("class", "rf-codeblock").holding([element_of(pre, code)]).into()
}

fn element_of(outer: Tag, inner: Tag) -> Node {
    outer.holding([inner.into()]).into()
}

/// All headings of a document, in order.
pub(super) fn headings(root: &Parsed) -> Vec<HeadingEntry> {
    let entry = |node: &Parsed| {
        let text = ast::text_of(node, " ");
        let id = match node.attributes.text("id").filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => slug::contents_id(&text),
        };
        Some(HeadingEntry { level: ast::heading_level(node)?, text, id })
    };
    root.walk().filter_map(entry).collect()
}
