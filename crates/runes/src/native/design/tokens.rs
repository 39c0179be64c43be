//! Parses design tokens: headings, and lists of `name: value`.

use quad_markdoc::{Node as MarkdocNode, NodeType};

use crate::content::node_ext;
use crate::expand::RuneUse;
use crate::expand::root_builder::named_element;
use crate::js_value::JsTrim;
use crate::render_tree::RenderNode;

/// One line of a token rune.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenLine {
    /// A heading, which starts a group.
    Heading(String),
    /// A list item: name and value. Items without a colon are skipped.
    Token(String, String),
}

/// The lines of a rune in order. Nodes other than headings and lists are skipped.
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
    Some(TokenLine::Token(name.js_trim().to_owned(), value.js_trim().to_owned()))
}

/// The heading above the tokens, if any.
pub(super) fn title_element(rune_use: &RuneUse<'_>) -> Option<RenderNode> {
    rune_use.arguments.text("title").map(|title| named_element("h3", "title", [title.into()]))
}

/// A named element with text.
pub(super) fn text_part(element: &str, name: &str, text: impl Into<String>) -> RenderNode {
    named_element(element, name, [text.into().into()])
}

/// A named element with a style and no content.
pub(super) fn styled_part(element: &str, name: &str, style: String) -> RenderNode {
    named_element(element, name, []).with_attr("style", style)
}
