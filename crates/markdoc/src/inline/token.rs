//! The tokens that the second stage produces.

use std::borrow::Cow;
use std::ops::Range;

use crate::node::NodeType;
use crate::stage::Nesting;
use crate::tag::{SyntaxError, TagSyntax};

/// The beginning or the end of an inline element, or an element without children. Positions are bytes of the block's
/// text.
#[derive(Debug)]
pub(crate) struct InlineToken {
    pub(crate) kind: NodeType,
    /// Whether it opens or closes an element, or is complete.
    pub(crate) nesting: Nesting,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) data: InlineData,
}

/// Data of particular kinds of tokens.
#[derive(Debug)]
pub(crate) enum InlineData {
    None,
    Text(Cow<'static, str>),
    /// The characters around an `em` or `strong`.
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
            nesting: Nesting::Leaf,
            start: range.start,
            end: range.end,
            data: InlineData::Text(text),
        }
    }
}

/// Joins adjacent texts and removes empty ones.
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
