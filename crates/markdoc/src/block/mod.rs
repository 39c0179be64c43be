//! The first stage: lines become blocks.
//!
//! The stage walks through the lines and asks one rule after the other whether a block of its kind begins there. A rule that
//! says yes writes tokens and says how many lines it took; quotes and lists call the walk again for what lies within them. The
//! text within a block is not looked at yet: link definitions may follow later in the document, so the second stage
//! (`inline`) starts when this one is through.
//!
//! The output is flat: a list of opening, closing and single tokens. The tree is made from it by `tree`, because a Markdoc tag
//! may begin in one block and end in another.

mod definition;
mod leaf;
mod lines;
mod list;
mod quote;
mod table;
mod tag_line;
mod token;

use std::cell::OnceCell;
use std::collections::HashMap;

pub(crate) use lines::Line;
pub(crate) use token::{Alignment, Payload, TagToken, Token};

use crate::Options;
use crate::characters::is_space;
use crate::comment_ends::CommentEnds;
use crate::error::WarningId;
use crate::limits::NESTING_MAX;
use crate::node::NodeType;
use crate::span::Span;
use crate::tag_ends::TagEnds;

/// What a link definition says.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) href: String,
    pub(crate) title: String,
}

/// What the first stage makes of a source.
pub(crate) struct Blocks<'s> {
    pub(crate) tokens: Vec<Token<'s>>,
    pub(crate) definitions: HashMap<String, Definition>,
    /// Byte ranges of the normalised source.
    pub(crate) warnings: Vec<(WarningId, Span)>,
    pub(crate) steps: u64,
}

/// Which block the walk is in; a list may interrupt a paragraph under stricter rules than anything else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Paragraph,
    Other,
}

/// The blocks that can end another one without a blank line between.
#[derive(Clone, Copy)]
enum Interrupted {
    Paragraph,
    Definition,
    /// Quotes and tables.
    Quote,
    List,
}

/// The walk through the lines.
struct Walk<'s> {
    source: &'s str,
    options: &'s Options,
    lines: Vec<Line>,
    /// The line that the next block begins at.
    at: usize,
    /// The line after the last one that a paragraph may reach.
    line_max: usize,
    /// The column at which the content of the innermost list item begins.
    indent: i32,
    /// The column at which the innermost list stands, or −1.
    list_indent: i32,
    /// Whether the blocks of the current container follow on each other without blank lines.
    tight: bool,
    within: Within,
    level: i32,
    out: Blocks<'s>,
    /// How many UTF-16 units of white space the source begins with; see `tag_line`.
    leading_space: usize,
    tag_ends: OnceCell<TagEnds>,
    comment_ends: OnceCell<CommentEnds>,
}

/// Reads the blocks of a normalised source.
pub(crate) fn parse<'s>(source: &'s str, options: &'s Options) -> Blocks<'s> {
    let lines = lines::split(source);
    let line_max = lines.len() - 1;
    let out = Blocks { tokens: Vec::new(), definitions: HashMap::new(), warnings: Vec::new(), steps: source.len() as u64 };
    let mut walk = Walk {
        source,
        options,
        lines,
        at: 0,
        line_max,
        indent: 0,
        list_indent: -1,
        tight: false,
        within: Within::Other,
        level: 0,
        out,
        leading_space: source.chars().take_while(|c| is_space(*c)).map(char::len_utf16).sum(),
        tag_ends: OnceCell::new(),
        comment_ends: OnceCell::new(),
    };
    walk.blocks(0, line_max);
    walk.out
}

impl<'s> Walk<'s> {
    /// Reads the blocks of the lines from `start` to `end`, or until a line lies further left than this container's content.
    fn blocks(&mut self, start: usize, end: usize) {
        let mut line = start;
        let mut has_blank_lines = false;
        while line < end {
            line = self.skip_blank_lines(line);
            self.at = line;
            if line >= end || self.lines[line].indent < self.indent {
                break;
            }
            if self.level >= NESTING_MAX {
                let span = Span::new(self.lines[line].text() as u32, self.lines[end - 1].end as u32);
                self.warn(WarningId::BlocksTooDeep, span);
                self.at = end;
                break;
            }
            self.block(line, end);
            self.tight = !has_blank_lines;
            if self.is_blank(self.at - 1) {
                has_blank_lines = true;
            }
            line = self.at;
            if line < end && self.is_blank(line) {
                has_blank_lines = true;
                line += 1;
                self.at = line;
            }
        }
    }

    /// Reads one block. The order is the order in which the kinds win over each other; a paragraph always fits.
    fn block(&mut self, line: usize, end: usize) {
        self.step(1);
        let _ = self.comment(line, false)
            || self.table(line, end, false)
            || self.fence(line, end, false)
            || self.quote(line, end, false)
            || self.front_matter(line, end)
            || self.rule(line, false)
            || self.list(line, end, false)
            || self.definition(line)
            || self.heading(line, false)
            || self.tag(line, false)
            || self.paragraph(line);
    }

    /// Whether a block begins at `line` that ends an `interrupted` one which reaches there.
    fn interrupts(&mut self, interrupted: Interrupted, line: usize, end: usize) -> bool {
        use Interrupted::{Definition, List, Paragraph, Quote};
        self.step(1);
        (matches!(interrupted, Paragraph) && self.comment(line, true))
            || (matches!(interrupted, Paragraph | Definition) && self.table(line, end, true))
            || self.fence(line, end, true)
            || self.quote(line, end, true)
            || self.rule(line, true)
            || (!matches!(interrupted, List) && (self.list(line, end, true) || self.heading(line, true)))
            || (matches!(interrupted, Paragraph | Quote) && self.tag(line, true))
    }

    /// The line after the last one that belongs to a paragraph which begins at `start`, looking no further than `end`.
    fn paragraph_end(&mut self, start: usize, end: usize, interrupted: Interrupted) -> usize {
        let line_max = self.line_max;
        let mut next = start + 1;
        while next < end && !self.is_blank(next) {
            self.step(1);
            let indent = self.lines[next].indent;
            // Further right it would be code, and further left than zero is what a quote has marked as its own already.
            let may_interrupt = indent - self.indent <= 3 && indent >= 0;
            if may_interrupt && self.interrupts(interrupted, next, line_max) {
                break;
            }
            next += 1;
        }
        next
    }

    /// Whether the line is too far right to begin a block of its own, other than a paragraph or a tag.
    fn is_code_indented(&self, line: usize) -> bool {
        self.lines[line].indent - self.indent >= 4
    }

    fn push(&mut self, kind: NodeType, nesting: i8, span: Span) -> &mut Token<'s> {
        if nesting < 0 {
            self.level -= 1;
        }
        let token = Token { kind, nesting, hidden: false, level: self.level, lines: None, span, payload: Payload::None };
        if nesting > 0 {
            self.level += 1;
        }
        let index = self.out.tokens.len();
        self.out.tokens.push(token);
        &mut self.out.tokens[index]
    }

    fn tag_end(&self, start: usize) -> Option<usize> {
        self.tag_ends.get_or_init(|| TagEnds::new(self.source)).of(start)
    }

    fn warn(&mut self, id: WarningId, span: Span) {
        self.out.warnings.push((id, span));
    }

    fn step(&mut self, count: usize) {
        self.out.steps += count as u64;
    }

    fn bytes(&self) -> &'s [u8] {
        self.source.as_bytes()
    }
}
