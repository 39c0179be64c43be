//! Design tokens as they are written: headings, and lists of `name: value`.

use quad_markdoc::{Node as MarkdocNode, NodeType};

use crate::content::node_ext;
use crate::expand::RuneUse;
use crate::expand::root_builder::named_element;
use crate::render_tree::RenderNode;

/// One line of a rune of tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenLine {
    /// A heading, which opens a group.
    Heading(String),
    /// An item of a list: its name and its value. Items without a colon are no tokens.
    Token(String, String),
}

/// The lines of a rune, in order. Everything that is neither heading nor list is not read.
pub(super) fn read_lines(nodes: &[MarkdocNode]) -> Vec<TokenLine> {
    let mut lines = Vec::new();
    for node in nodes {
        match node.kind {
            NodeType::Heading => lines.push(TokenLine::Heading(node_ext::joined_text(node, ""))),
            NodeType::List => {
                let items = node.children.iter().filter(|item| item.kind == NodeType::Item);
                lines.extend(items.filter_map(|item| parse_token(&node_ext::joined_text(item, ""))));
            }
            _ => {}
        }
    }
    lines
}

fn parse_token(text: &str) -> Option<TokenLine> {
    let (name, value) = text.split_once(':')?;
    Some(TokenLine::Token(name.trim().to_owned(), value.trim().to_owned()))
}

/// The heading above the tokens, if the author gives one.
pub(super) fn title_element(rune_use: &RuneUse<'_>) -> Option<RenderNode> {
    rune_use.arguments.text("title").map(|title| named_element("h3", "title", [title.into()]))
}

/// A part with a text in it.
pub(super) fn text_part(element: &str, name: &str, text: impl Into<String>) -> RenderNode {
    named_element(element, name, [text.into().into()])
}

/// A part with a style and nothing in it.
pub(super) fn styled_part(element: &str, name: &str, style: String) -> RenderNode {
    named_element(element, name, []).with_attr("style", style)
}
