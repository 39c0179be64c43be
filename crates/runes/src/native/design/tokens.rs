//! Design tokens as they are written: headings, and lists of `name: value`.

use quad_markdoc::{Node as Parsed, NodeType};

use crate::content::ast;
use crate::schema::Call;
use crate::schema::component::part;
use crate::tree::Node;

/// One line of a rune of tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A heading, which opens a group.
    Heading(String),
    /// An item of a list: its name and its value. Items without a colon are no tokens.
    Token(String, String),
}

/// The lines of a rune, in order. Everything that is neither heading nor list is not read.
pub(super) fn lines(nodes: &[Parsed]) -> Vec<Line> {
    let mut lines = Vec::new();
    for node in nodes {
        match node.kind {
            NodeType::Heading => lines.push(Line::Heading(ast::text_of(node, ""))),
            NodeType::List => {
                let items = node.children.iter().filter(|item| item.kind == NodeType::Item);
                lines.extend(items.filter_map(|item| token(&ast::text_of(item, ""))));
            }
            _ => {}
        }
    }
    lines
}

fn token(text: &str) -> Option<Line> {
    let (name, value) = text.split_once(':')?;
    Some(Line::Token(name.trim().to_owned(), value.trim().to_owned()))
}

/// The heading above the tokens, if the author gives one.
pub(super) fn title(call: &Call<'_>) -> Option<Node> {
    call.arguments.text("title").map(|title| part("h3", "title", [title.into()]))
}

/// A part with a text in it.
pub(super) fn text_part(element: &str, name: &str, text: impl Into<String>) -> Node {
    part(element, name, [text.into().into()])
}

/// A part with a style and nothing in it.
pub(super) fn styled_part(element: &str, name: &str, style: String) -> Node {
    part(element, name, []).having("style", style)
}
