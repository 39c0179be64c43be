//! A component beside its source.
//!
//! Native: the source is a code block of the content, or the source text between the tags; the markup of the content is
//! shown as text too.

use quad_markdoc::{Node as MarkdocNode, NodeType};
use serde_json::Value;

use crate::expand::render_context::Result;
use crate::expand::root_builder::RootBuilder;
use crate::expand::{RenderContext, RuneUse};
use crate::html::{VOID_ELEMENTS, escape};
use crate::js_value::{JsTrim, format_js_number, to_js_string};
use crate::limits::PREVIEW_MARKUP_BYTES_MAX;
use crate::render_tree::{Element, RenderNode};

/// Language of a code block without one.
const DEFAULT_CODE_LANGUAGE: &str = "shell";

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut children = rune_use.content.take("children");
    let source = take_source(&mut children).or_else(|| source_between_tags(&rune_use, cx));
    let content = cx.render_nodes(children)?;
    let markup = source.as_ref().map(|_| to_markup(&content, 0)).filter(|markup| !markup.is_empty());
    if !cx.reserve_markup(markup.as_ref().map_or(0, String::len)) {
        let message = format!(
            "previews show more than {PREVIEW_MARKUP_BYTES_MAX} bytes of markup; take `source` or the code block from some"
        );
        return Err(rune_use.error(message));
    }
    let root = RootBuilder::new("preview", "div")
        .value_if("title", rune_use.arguments.truthy("title").cloned())
        .value("theme", rune_use.arguments.non_null_or("theme", "auto"))
        .value_if("responsive", rune_use.arguments.truthy("responsive").cloned())
        .child_if(source.map(|(language, text)| code_block("source", &language, text)))
        .child_if(markup.map(|markup| code_block("html-source", "html", markup)));
    Ok(root.children(content).build())
}

fn code_block(name: &str, language: &str, text: String) -> RenderNode {
    let code = Element::new("code").with_attr("data-language", language).with_children([text.into()]);
    Element::new("pre")
        .with_attr("data-language", language)
        .with_attr("data-name", name)
        .with_children([code.into()])
        .into()
}

/// Takes the code block that is the source, with its language: the second one, or the only one.
fn take_source(nodes: &mut Vec<MarkdocNode>) -> Option<(String, String)> {
    let is_fence = |node: &MarkdocNode| node.kind == NodeType::Fence;
    let first = nodes.iter().position(is_fence)?;
    let first = nodes.remove(first);
    let fence = match nodes.iter().position(is_fence) {
        Some(second) => {
            nodes.push(first);
            nodes.remove(second)
        }
        None => first,
    };
    let text = |name: &str| fence.attributes.get_str(name).unwrap_or_default().to_owned();
    let language = Some(text("language")).filter(|language| !language.is_empty());
    Some((language.unwrap_or_else(|| DEFAULT_CODE_LANGUAGE.to_owned()), text("content")))
}

/// The source text between the rune's tags, if the author wants it shown.
fn source_between_tags(rune_use: &RuneUse<'_>, cx: &RenderContext<'_>) -> Option<(String, String)> {
    let ([first, .., last], true) = (&*rune_use.node.lines, rune_use.arguments.is_truthy("source")) else {
        return None;
    };
    let (first, last) = (usize::try_from(*first).ok()?, usize::try_from(*last).ok()?);
    let count = last.checked_sub(first + 2)?;
    let lines: Vec<&str> = cx.source.split('\n').skip(first + 1).take(count).collect();
    let text = lines.join("\n");
    let text = text.js_trim();
    (!text.is_empty()).then(|| ("markdoc".to_owned(), text.to_owned()))
}

/// The markup of nodes in readable form: one element a line, text trimmed.
fn to_markup(nodes: &[RenderNode], depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut lines = Vec::new();
    for node in nodes {
        match node {
            RenderNode::Null => {}
            RenderNode::Number(number) => lines.push(format!("{indent}{}", format_js_number(*number))),
            RenderNode::Text(text) => {
                let text = text.js_trim();
                if !text.is_empty() {
                    lines.push(format!("{indent}{}", escape(text)));
                }
            }
            RenderNode::Element(tag) => write_element(tag, depth, &mut lines),
        }
    }
    lines.join("\n")
}

fn write_element(tag: &Element, depth: usize, lines: &mut Vec<String>) {
    // As in npm: a list within the children, such as the texts of a tab's heading, is not shown.
    let Some(name) = &tag.name else { return };
    let indent = "  ".repeat(depth);
    let open = format!("{indent}<{name}{}>", attributes_markup(tag));
    if VOID_ELEMENTS.contains(&name.as_str()) {
        lines.push(open);
        return;
    }
    match tag.children.as_slice() {
        [] => lines.push(format!("{open}</{name}>")),
        [RenderNode::Text(text)] => lines.push(format!("{open}{}</{name}>", escape(text))),
        [RenderNode::Number(number)] => lines.push(format!("{open}{}</{name}>", format_js_number(*number))),
        children => {
            lines.push(open);
            let inner = to_markup(children, depth + 1);
            lines.extend(Some(inner).filter(|inner| !inner.is_empty()));
            lines.push(format!("{indent}</{name}>"));
        }
    }
}

fn attributes_markup(tag: &Element) -> String {
    let text = |(name, value): (&String, &Value)| match value {
        Value::Null | Value::Bool(false) => String::new(),
        Value::Bool(true) => format!(" {name}"),
        value => format!(" {name}=\"{}\"", escape(&to_js_string(value))),
    };
    tag.attributes_with_fields().iter().map(text).collect()
}
