//! What the first stage hands to the tree.

use crate::mapped_text::MappedText;
use crate::node::{NodeType, Task};
use crate::span::Span;
use crate::tag::{SyntaxError, TagSyntax};

/// The beginning of a block, its end, or a block that is one piece.
#[derive(Debug)]
pub(crate) struct Token<'s> {
    pub(crate) kind: NodeType,
    /// 1 opens, −1 closes, 0 is one piece.
    pub(crate) nesting: i8,
    /// A paragraph of a tight list: its text stands in the item itself.
    pub(crate) hidden: bool,
    /// How deep it stands, to find the paragraphs of a list.
    pub(crate) level: i32,
    /// First line, and the line after the last one. Cells of a table have none of their own.
    pub(crate) lines: Option<[u32; 2]>,
    /// Bytes of the normalised source.
    pub(crate) span: Span,
    pub(crate) data: BlockData<'s>,
}

/// What only some kinds of tokens have.
#[derive(Debug)]
pub(crate) enum BlockData<'s> {
    None,
    FrontMatter(&'s str),
    Heading { level: u8 },
    List { ordered: bool, start: u32, marker: char },
    Item { task: Option<Task> },
    Cell(Alignment),
    Inline(MappedText<'s>),
    Fence { info: MappedText<'s>, content: MappedText<'s> },
    Tag(Box<TagToken>),
    Comment(&'s str),
}

/// A tag that is alone on its line.
#[derive(Debug)]
pub(crate) struct TagToken {
    /// With spans of the normalised source.
    pub(crate) syntax: Result<TagSyntax, SyntaxError>,
}

/// How a column of a table is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alignment {
    None,
    Left,
    Center,
    Right,
}

impl Alignment {
    pub(crate) fn as_str(self) -> Option<&'static str> {
        match self {
            Alignment::None => None,
            Alignment::Left => Some("left"),
            Alignment::Center => Some("center"),
            Alignment::Right => Some("right"),
        }
    }
}
