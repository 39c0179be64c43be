//! What the second stage hands to the tree.

use std::borrow::Cow;
use std::ops::Range;

use crate::node::NodeType;
use crate::tag::{SyntaxError, TagSyntax};

/// The beginning of something inline, its end, or something that is one piece. Places are bytes of the block's text.
#[derive(Debug)]
pub(crate) struct InlineToken {
    pub(crate) kind: NodeType,
    /// 1 opens, −1 closes, 0 is one piece.
    pub(crate) nesting: i8,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) data: InlineData,
}

/// What only some kinds of tokens have.
#[derive(Debug)]
pub(crate) enum InlineData {
    None,
    Text(Cow<'static, str>),
    /// The marks around an `em` or `strong`.
    Marker(&'static str),
    Link {
        href: String,
        title: String,
    },
    Image {
        alt: String,
        src: String,
        title: String,
    },
    /// With spans of the block's text.
    Tag(Box<Result<TagSyntax, SyntaxError>>),
}

impl InlineToken {
    pub(crate) fn text(text: Cow<'static, str>, range: Range<usize>) -> InlineToken {
        InlineToken {
            kind: NodeType::Text,
            nesting: 0,
            start: range.start,
            end: range.end,
            data: InlineData::Text(text),
        }
    }
}

/// Joins pieces of text that follow on each other, and drops empty ones.
pub(super) fn merge_adjacent_text(tokens: Vec<InlineToken>) -> Vec<InlineToken> {
    let mut merged: Vec<InlineToken> = Vec::with_capacity(tokens.len());
    for token in tokens {
        if let (NodeType::Text, InlineData::Text(text)) = (token.kind, &token.data) {
            if text.is_empty() {
                continue;
            }
            if let Some(InlineToken { kind: NodeType::Text, end, data: InlineData::Text(before), .. }) =
                merged.last_mut()
            {
                before.to_mut().push_str(text);
                *end = token.end;
                continue;
            }
        }
        merged.push(token);
    }
    merged
}
