//! A component at work, beside its source.
//!
//! Native because the source is a code block among the content or the text of the document itself, and because the markup that
//! the content becomes is shown as text too.

use quad_markdoc::{Node as Parsed, NodeType};
use serde_json::Value;

use crate::limits::SHOWN_MARKUP_BYTES_MAX;
use crate::schema::component::Component;
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{number_text, to_text};

/// Language of a code block that names none.
const PLAIN_LANGUAGE: &str = "shell";

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut children = call.content.take("children");
    let source = take_source(&mut children).or_else(|| written_source(&call, out));
    let content = out.nodes(children)?;
    let markup = source.as_ref().map(|_| markup(&content, 0)).filter(|markup| !markup.is_empty());
    if !out.shows_markup(markup.as_ref().map_or(0, String::len)) {
        let message = format!(
            "previews show more than {SHOWN_MARKUP_BYTES_MAX} bytes of markup; take `source` or the code block from some"
        );
        return Err(call.error(message));
    }
    let root = Component::new("preview", "div")
        .value_if("title", call.arguments.given("title").cloned())
        .value("theme", call.arguments.value_or("theme", "auto"))
        .value_if("responsive", call.arguments.given("responsive").cloned())
        .child_if(source.map(|(language, text)| code("source", &language, text)))
        .child_if(markup.map(|markup| code("html-source", "html", markup)));
    Ok(root.children(content).build())
}

fn code(name: &str, language: &str, text: String) -> Node {
    let code = Tag::new("code").with("data-language", language).holding([text.into()]);
    Tag::new("pre").with("data-language", language).with("data-name", name).holding([code.into()]).into()
}

/// The code block that is the source, with its language: the second one, or the only one.
fn take_source(nodes: &mut Vec<Parsed>) -> Option<(String, String)> {
    let is_fence = |node: &Parsed| node.kind == NodeType::Fence;
    let first = nodes.iter().position(is_fence)?;
    let first = nodes.remove(first);
    let fence = match nodes.iter().position(is_fence) {
        Some(second) => {
            nodes.push(first);
            nodes.remove(second)
        }
        None => first,
    };
    let text = |name: &str| fence.attributes.text(name).unwrap_or_default().to_owned();
    let language = Some(text("language")).filter(|language| !language.is_empty());
    Some((language.unwrap_or_else(|| PLAIN_LANGUAGE.to_owned()), text("content")))
}

/// The text between the tags of the rune, if the author wants it shown.
fn written_source(call: &Call<'_>, out: &Context<'_>) -> Option<(String, String)> {
    let ([first, .., last], true) = (&*call.node.lines, call.arguments.is_given("source")) else {
        return None;
    };
    let (first, last) = (usize::try_from(*first).ok()?, usize::try_from(*last).ok()?);
    let count = last.checked_sub(first + 2)?;
    let lines: Vec<&str> = out.source.split('\n').skip(first + 1).take(count).collect();
    let text = lines.join("\n");
    let text = text.trim();
    (!text.is_empty()).then(|| ("markdoc".to_owned(), text.to_owned()))
}

/// The markup of nodes, as a reader expects to see it: one element a line, text without the white space around it.
fn markup(nodes: &[Node], depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut lines = Vec::new();
    for node in nodes {
        match node {
            Node::Null => {}
            Node::Number(number) => lines.push(format!("{indent}{}", number_text(*number))),
            Node::Text(text) => {
                let text = text.trim();
                if !text.is_empty() {
                    lines.push(format!("{indent}{}", escaped(text)));
                }
            }
            Node::Tag(tag) => element_markup(tag, depth, &mut lines),
        }
    }
    lines.join("\n")
}

fn element_markup(tag: &Tag, depth: usize, lines: &mut Vec<String>) {
    let Some(name) = &tag.name else {
        lines.push(markup(&tag.children, depth));
        return;
    };
    let indent = "  ".repeat(depth);
    let open = format!("{indent}<{name}{}>", attributes(tag));
    if is_void(name) {
        lines.push(open);
        return;
    }
    match tag.children.as_slice() {
        [] => lines.push(format!("{open}</{name}>")),
        [Node::Text(text)] => lines.push(format!("{open}{}</{name}>", escaped(text))),
        [Node::Number(number)] => lines.push(format!("{open}{}</{name}>", number_text(*number))),
        children => {
            lines.push(open);
            let inner = markup(children, depth + 1);
            lines.extend(Some(inner).filter(|inner| !inner.is_empty()));
            lines.push(format!("{indent}</{name}>"));
        }
    }
}

fn attributes(tag: &Tag) -> String {
    let text = |(name, value): (&String, &Value)| match value {
        Value::Null | Value::Bool(false) => String::new(),
        Value::Bool(true) => format!(" {name}"),
        value => format!(" {name}=\"{}\"", escaped(&to_text(value))),
    };
    tag.attributes.iter().map(text).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn is_void(element: &str) -> bool {
    const VOID: [&str; 14] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
        "track", "wbr",
    ];
    VOID.contains(&element)
}
