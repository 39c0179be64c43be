//! A parser for [Markdoc](https://markdoc.dev): Markdown with tags, annotations, variables and functions.
#![forbid(unsafe_code)]

mod block;
mod characters;
mod comment_ends;
mod entity;
mod error;
mod fence_tags;
mod inline;
pub mod limits;
mod link;
mod map;
mod node;
mod punycode;
mod source;
mod span;
mod table_tag;
mod tag;
mod tag_ends;
mod text;
mod tree;
mod url;
mod value;

pub use error::{ErrorId, Level, ParseError, SourceTooLong, Warning, WarningId};
pub use map::Map;
pub use node::{Annotation, AnnotationType, Lines, Node, NodeType, Parts, Task, Walk};
pub use span::{LineIndex, Position, Span};
pub use value::{Function, PathPart, Value, Variable};

/// What Markdoc can be told about a parse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Puts `{% slot "name" %}` into [`Node::slots`] of the tag around it, instead of among its children.
    pub slots: bool,
    /// Makes `<!-- … -->` a comment. Without it, it is text.
    pub comments: bool,
}

/// A document: its tree, and what the tree does not say.
#[derive(Clone, Debug)]
pub struct Document {
    /// The node of type [`NodeType::Document`].
    pub root: Node,
    /// What stands between two lines of `---` at the beginning; also the root's attribute `frontmatter`.
    pub front_matter: Option<FrontMatter>,
    /// What was left out of the tree or moved within it.
    pub warnings: Vec<Warning>,
    /// Lines and columns of the source.
    pub lines: LineIndex,
    steps: u64,
}

/// The front matter of a document. What language it is in, the parser does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    /// The text between the two lines, without the white space around it.
    pub content: String,
    /// All bytes, with both lines of dashes.
    pub span: Span,
}

impl Document {
    /// All errors in the tree, each with the node that it stands on.
    pub fn errors(&self) -> impl Iterator<Item = (&Node, &ParseError)> {
        std::iter::once(&self.root).chain(self.root.walk()).flat_map(|node| node.errors.iter().map(move |error| (node, error)))
    }

    /// How much work the parse was: looks at a byte, a line, a token. It grows in proportion to the source, whatever the source
    /// is; tests hold it to that.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// Parses a source. Whatever is wrong in it stands in the tree; only its length can be refused.
pub fn parse(source: &str) -> Result<Document, SourceTooLong> {
    parse_with(source, &Options::default())
}

/// Parses a source with options.
pub fn parse_with(source: &str, options: &Options) -> Result<Document, SourceTooLong> {
    if source.len() > limits::SOURCE_BYTES_MAX {
        return Err(SourceTooLong { bytes: source.len() });
    }
    let lines = LineIndex::new(source);
    let normalised = source::Source::new(source);
    let blocks = block::parse(&normalised.text, options);
    let tree::Tree { root, front_matter, warnings, steps } =
        tree::build(blocks, &normalised, &lines, options, source.len());
    Ok(Document { root, front_matter, warnings, lines, steps })
}
