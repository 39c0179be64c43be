//! The tokens that the first stage produces.

use crate::mapped_text::MappedText;
use crate::node::{NodeType, Task};
use crate::span::Span;
use crate::stage::Nesting;
use crate::tag::{SyntaxError, TagSyntax};

/// The beginning or the end of a block, or a block without children.
#[derive(Debug)]
pub(crate) struct Token<'s> {
    pub(crate) kind: NodeType,
    /// Whether it opens or closes a block, or is complete.
    pub(crate) nesting: Nesting,
    /// A paragraph of a tight list: its text is placed in the item itself.
    pub(crate) hidden: bool,
    /// Its depth, used to find the paragraphs of a list.
    pub(crate) level: i32,
    /// The first line, and the line after the last one. Table cells have no lines of their own.
    pub(crate) lines: Option<[u32; 2]>,
    /// Bytes of the normalised source.
    pub(crate) span: Span,
    pub(crate) data: BlockData<'s>,
}

/// Data of particular kinds of tokens.
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

/// The alignment of a table column.
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
