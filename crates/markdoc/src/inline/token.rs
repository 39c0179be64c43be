//! What the second stage hands to the tree.

use std::borrow::Cow;
use std::ops::Range;

use crate::node::NodeType;
use crate::tag::{Syntax, SyntaxError};

/// The beginning of something inline, its end, or something that is one piece. Places are bytes of the block's text.
#[derive(Debug)]
pub(crate) struct InlineToken {
    pub(crate) kind: NodeType,
    /// 1 opens, −1 closes, 0 is one piece.
    pub(crate) nesting: i8,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) content: Content,
}

/// What only some kinds of tokens have.
#[derive(Debug)]
pub(crate) enum Content {
    None,
    Text(Cow<'static, str>),
    /// The marks around an `em` or `strong`.
    Marker(&'static str),
    Link { href: String, title: String },
    Image { alt: String, src: String, title: String },
    /// With spans of the block's text.
    Tag(Box<Result<Syntax, SyntaxError>>),
}

impl InlineToken {
    pub(crate) fn text(text: Cow<'static, str>, place: Range<usize>) -> InlineToken {
        InlineToken {
            kind: NodeType::Text,
            nesting: 0,
            start: place.start,
            end: place.end,
            content: Content::Text(text),
        }
    }
}

/// Joins pieces of text that follow on each other, and drops empty ones.
pub(super) fn joined(tokens: Vec<InlineToken>) -> Vec<InlineToken> {
    let mut joined: Vec<InlineToken> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let (NodeType::Text, Content::Text(text)) = (token.kind, &token.content) {
            if text.is_empty() {
                continue;
            }
            if let Some(InlineToken { kind: NodeType::Text, end, content: Content::Text(before), .. }) = joined.last_mut() {
                before.to_mut().push_str(text);
                *end = token.end;
                continue;
            }
        }
        joined.push(token);
    }
    joined
}
