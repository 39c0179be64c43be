//! A parser for [Markdoc](https://markdoc.dev): Markdown with tags, annotations, variables and functions.
//!
//! [`parse`] turns a source into a [`Document`]: the same tree of [`Node`]s that Markdoc 0.4 builds, with the exact
//! bytes of every node, tag, attribute and checkbox.
//!
//! ```
//! use quad_markdoc::{NodeType, Value, parse};
//!
//! let document = parse("# Title {% #top %}\n\n{% callout type=\"note\" level=2 %}\nRead *this* first.\n{% /callout %}\n")?;
//!
//! let [heading, callout] = &document.root.children[..] else { panic!("two blocks") };
//! assert_eq!(heading.kind, NodeType::Heading);
//! assert_eq!(heading.attributes.get_str("id"), Some("top"));
//! assert!(callout.is_tag("callout"));
//! assert_eq!(callout.attributes.get("level"), Some(&Value::Number(2.0)));
//! assert_eq!(*callout.lines, [2, 3, 4, 5], "first line and the line after the last, of both tags");
//! # Ok::<(), quad_markdoc::SourceTooLong>(())
//! ```
//!
//! # Every source is parsed
//! Errors are part of the tree. A tag that cannot be parsed is a node of type [`Error`](NodeType::Error); an unclosed
//! tag has an error. [`Document::errors`] returns all errors, with lines and columns. Only a source longer than
//! [`limits::SOURCE_BYTES_MAX`] is rejected.
//!
//! ```
//! use quad_markdoc::{ErrorId, parse};
//!
//! let document = parse("{% note %}\n\nSee {% link to= /%}.\n")?;
//! let errors: Vec<(ErrorId, String)> = document.errors().map(|(_, error)| (error.id, error.to_string())).collect();
//! assert_eq!(errors[0].0, ErrorId::MissingClosing);
//! assert_eq!(errors[0].1, "1:1: `{% note %}` is never closed; add `{% /note %}` or close it with `/%}`");
//! assert_eq!(errors[1].1, "3:16: white space does not fit in this tag; expected a value");
//! # Ok::<(), quad_markdoc::SourceTooLong>(())
//! ```
//!
//! # Editing a source in place
//! Spans are bytes of the original source, whatever its line endings. Replace these bytes to change an attribute or to
//! check a checkbox; all other bytes stay. [`edit`] does this for attributes.
//!
//! ```
//! use quad_markdoc::parse;
//!
//! let source = "{% work id=\"W-1\" status=\"ready\" %}\r\n- [ ] first\r\n- [ ] second\r\n{% /work %}\r\n";
//! let document = parse(source)?;
//! let work = &document.root.children[0];
//!
//! let status = work.annotation("status").ok_or("no status")?;
//! let mut edited = source.to_owned();
//! edited.replace_range(status.value_span.range(), "\"done\"");
//! assert_eq!(edited, source.replace("ready", "done"));
//!
//! let second = work.descendants().filter_map(|node| node.task()).nth(1).ok_or("no second task")?;
//! let mut checked = source.to_owned();
//! checked.replace_range(second.span.range(), "[x]");
//! assert!(checked.contains("- [ ] first\r\n- [x] second"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which Markdown it is
//! CommonMark as markdown-it 12 reads it, with tables and strikethrough; without setext headings, indented code, HTML
//! and bare URLs as links. A tag alone on its line is a block, any other tag is inline. Tags in a fence are parsed,
//! unless the fence has `{% process=false %}` or [`Options::tags_in_fences`] is off.
//!
//! Where the npm package crashes or hangs, this parser returns a tree; the README lists every difference with its
//! reason.
//!
//! # How it works
//! Three stages, each a module: `block` splits lines into blocks and collects link definitions, `inline` parses the
//! text of each block, `tree` builds the nodes. The stages exchange flat lists of tokens, because a tag may begin in
//! one block and end in another, and only the last stage can resolve that. Every stage takes time in proportion to the
//! source ([`Document::steps`]); [`limits`] names what is bounded.
//!
//! This crate does no I/O. It knows neither what tags mean nor how a document is rendered.

#![forbid(unsafe_code)]

mod attribute_map;
mod block;
mod char_class;
mod comment_close_index;
pub mod edit;
mod entity;
mod error;
mod inline;
pub mod limits;
mod link;
mod mapped_text;
mod node;
mod punycode;
mod source;
mod span;
mod stage;
mod table_tag;
mod tag;
mod tag_close_index;
mod tree;
mod url;
mod value;

pub use attribute_map::AttributeMap;
pub use error::{ErrorId, Level, ParseError, SourceTooLong, Warning, WarningId};
pub use node::{Annotation, AnnotationKind, Descendants, LineNumbers, Node, NodeType, SourceParts, Task};
pub use span::{LineIndex, Position, Span};
pub use value::{Function, PathPart, Value, Variable};

/// Options of a parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Puts `{% slot "name" %}` into [`Node::slots`] of the surrounding tag, instead of among its children.
    pub slots: bool,
    /// Parses `<!-- … -->` as a comment. Without it, it is text.
    pub comments: bool,
    /// Parses `{% … %}`. Without it, tags, annotations and variables are text: the source is plain Markdown.
    pub tags: bool,
    /// Parses tags in fences and in their info strings, as Markdoc does. Without it, a fence is literal: its node has
    /// no tag and no annotations, and its content is one text.
    pub tags_in_fences: bool,
}

impl Default for Options {
    /// The options of Markdoc: no slots, no comments, tags everywhere.
    fn default() -> Options {
        Options { slots: false, comments: false, tags: true, tags_in_fences: true }
    }
}

/// A parsed document.
#[derive(Clone, Debug)]
pub struct Document {
    /// The root, of type [`NodeType::Document`].
    pub root: Node,
    /// The text between two lines of `---` at the beginning; also in the root's attribute `frontmatter`.
    pub front_matter: Option<FrontMatter>,
    /// What the tree leaves out or moves.
    pub warnings: Vec<Warning>,
    /// Lines and columns of the source.
    pub lines: LineIndex,
    steps: u64,
}

/// The front matter of a document. The parser does not interpret it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    /// The text between the two lines of dashes, trimmed.
    pub content: String,
    /// All bytes, including both lines of dashes.
    pub span: Span,
}

impl Document {
    /// All errors in the tree, each with its node.
    pub fn errors(&self) -> impl Iterator<Item = (&Node, &ParseError)> {
        std::iter::once(&self.root)
            .chain(self.root.descendants())
            .flat_map(|node| node.errors.iter().map(move |error| (node, error)))
    }

    /// The amount of work of the parse: the number of bytes, lines and tokens that it looked at. It is proportional to
    /// the length of the source, which tests check.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// Parses a source. Only an over-long source is an error; other problems are in the tree.
pub fn parse(source: &str) -> Result<Document, SourceTooLong> {
    parse_with(source, &Options::default())
}

/// Parses a source with options.
pub fn parse_with(source: &str, options: &Options) -> Result<Document, SourceTooLong> {
    if source.len() > limits::SOURCE_BYTES_MAX {
        return Err(SourceTooLong { bytes: source.len() });
    }
    let lines = LineIndex::new(source);
    let normalized = source::NormalizedSource::new(source);
    let blocks = block::parse(&normalized.text, options);
    let tree::Tree { root, front_matter, warnings, steps } =
        tree::build(blocks, &normalized, &lines, options, source.len());
    Ok(Document { root, front_matter, warnings, lines, steps })
}

#[cfg(doctest)]
mod readme {
    //! Runs the README's example as a test.
    #[doc = include_str!("../README.md")]
    struct Readme;
}
