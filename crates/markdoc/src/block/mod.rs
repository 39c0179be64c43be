//! The first stage: lines become blocks.
//!
//! The stage walks through the lines and asks one rule after the other whether a block of its kind begins there. A
//! rule that says yes writes tokens and says how many lines it took; quotes and lists call the walk again for what
//! lies within them. The text within a block is not looked at yet: link definitions may follow later in the document,
//! so the second stage (`inline`) starts when this one is through.
//!
//! The output is flat: a list of opening, closing and single tokens. The tree is made from it by `tree`, because a
//! Markdoc tag may begin in one block and end in another.

mod block_tag;
mod leaf;
mod lines;
mod link_definition;
mod list;
mod quote;
mod table;
mod token;

use std::cell::OnceCell;
use std::collections::HashMap;

pub(crate) use lines::Line;
pub(crate) use token::{Alignment, BlockData, TagToken, Token};

use crate::Options;
use crate::char_class::is_js_whitespace;
use crate::comment_close_index::CommentCloseIndex;
use crate::error::WarningId;
use crate::limits::NESTING_MAX;
use crate::node::NodeType;
use crate::span::Span;
use crate::tag_close_index::TagCloseIndex;

/// What a link definition says.
#[derive(Clone, Debug)]
pub(crate) struct LinkDefinition {
    pub(crate) href: String,
    pub(crate) title: String,
}

/// What the first stage makes of a source.
pub(crate) struct BlockOutput<'s> {
    pub(crate) tokens: Vec<Token<'s>>,
    pub(crate) definitions: HashMap<String, LinkDefinition>,
    /// Byte ranges of the normalised source.
    pub(crate) warnings: Vec<(WarningId, Span)>,
    pub(crate) steps: u64,
}

/// Which block the walk is in; a list may interrupt a paragraph under stricter rules than anything else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParentBlock {
    Paragraph,
    Other,
}

/// The blocks that can end another one without a blank line between.
#[derive(Clone, Copy)]
enum InterruptibleBlock {
    Paragraph,
    Definition,
    /// Quotes and tables.
    Quote,
    List,
}

/// The walk through the lines.
struct BlockParser<'s> {
    source: &'s str,
    options: &'s Options,
    lines: Vec<Line>,
    /// The line that the next block begins at.
    next_line: usize,
    /// The line after the last one that a paragraph may reach.
    line_max: usize,
    /// The column at which the content of the innermost list item begins.
    indent: i32,
    /// The column at which the innermost list stands, or −1.
    list_indent: i32,
    /// Whether the blocks of the current container follow on each other without blank lines.
    tight: bool,
    parent: ParentBlock,
    level: i32,
    output: BlockOutput<'s>,
    /// How many UTF-16 units of white space the source begins with; see `tag_line`.
    leading_whitespace_utf16: usize,
    tag_close_index: OnceCell<TagCloseIndex>,
    comment_close_index: OnceCell<CommentCloseIndex>,
}

/// Reads the blocks of a normalised source.
pub(crate) fn parse<'s>(source: &'s str, options: &'s Options) -> BlockOutput<'s> {
    let lines = lines::split(source);
    let line_max = lines.len() - 1;
    let output = BlockOutput {
        tokens: Vec::new(),
        definitions: HashMap::new(),
        warnings: Vec::new(),
        steps: source.len() as u64,
    };
    let mut parser = BlockParser {
        source,
        options,
        lines,
        next_line: 0,
        line_max,
        indent: 0,
        list_indent: -1,
        tight: false,
        parent: ParentBlock::Other,
        level: 0,
        output,
        leading_whitespace_utf16: source
            .chars()
            .take_while(|c| is_js_whitespace(*c))
            .map(char::len_utf16)
            .sum(),
        tag_close_index: OnceCell::new(),
        comment_close_index: OnceCell::new(),
    };
    parser.parse_blocks(0, line_max);
    parser.output
}

impl<'s> BlockParser<'s> {
    /// Reads the blocks of the lines from `start` to `end`, or until a line lies further left than this container's
    /// content.
    fn parse_blocks(&mut self, start: usize, end: usize) {
        let mut line = start;
        let mut has_blank_lines = false;
        while line < end {
            line = self.skip_blank_lines(line);
            self.next_line = line;
            if line >= end || self.lines[line].indent < self.indent {
                break;
            }
            if self.level >= NESTING_MAX {
                let span = Span::new(self.lines[line].text_start() as u32, self.lines[end - 1].end as u32);
                self.warn(WarningId::BlocksTooDeep, span);
                self.next_line = end;
                break;
            }
            self.parse_block(line, end);
            self.tight = !has_blank_lines;
            if self.is_blank_line(self.next_line - 1) {
                has_blank_lines = true;
            }
            line = self.next_line;
            if line < end && self.is_blank_line(line) {
                has_blank_lines = true;
                line += 1;
                self.next_line = line;
            }
        }
    }

    /// Reads one block. The order is the order in which the kinds win over each other; a paragraph always fits.
    fn parse_block(&mut self, line: usize, end: usize) {
        self.count_steps(1);
        let _ = self.parse_comment(line, false)
            || self.parse_table(line, end, false)
            || self.parse_fence(line, end, false)
            || self.parse_quote(line, end, false)
            || self.parse_front_matter(line, end)
            || self.parse_thematic_break(line, false)
            || self.parse_list(line, end, false)
            || self.parse_definition(line)
            || self.parse_heading(line, false)
            || self.parse_tag(line, false)
            || self.parse_paragraph(line);
    }

    /// Whether a block begins at `line` that ends an `interrupted` one which reaches there.
    fn interrupts(&mut self, interrupted: InterruptibleBlock, line: usize, end: usize) -> bool {
        use InterruptibleBlock::{Definition, List, Paragraph, Quote};
        self.count_steps(1);
        (matches!(interrupted, Paragraph) && self.parse_comment(line, true))
            || (matches!(interrupted, Paragraph | Definition) && self.parse_table(line, end, true))
            || self.parse_fence(line, end, true)
            || self.parse_quote(line, end, true)
            || self.parse_thematic_break(line, true)
            || (!matches!(interrupted, List)
                && (self.parse_list(line, end, true) || self.parse_heading(line, true)))
            || (matches!(interrupted, Paragraph | Quote) && self.parse_tag(line, true))
    }

    /// The line after the last one that belongs to a paragraph which begins at `start`, looking no further than
    /// `end`.
    fn paragraph_end(&mut self, start: usize, end: usize, interrupted: InterruptibleBlock) -> usize {
        let line_max = self.line_max;
        let mut next = start + 1;
        while next < end && !self.is_blank_line(next) {
            self.count_steps(1);
            let indent = self.lines[next].indent;
            // Further right it would be code, and further left than zero is what a quote has marked as its own
            // already.
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
        let token = Token {
            kind,
            nesting,
            hidden: false,
            level: self.level,
            lines: None,
            span,
            data: BlockData::None,
        };
        if nesting > 0 {
            self.level += 1;
        }
        let index = self.output.tokens.len();
        self.output.tokens.push(token);
        &mut self.output.tokens[index]
    }

    fn tag_close(&self, start: usize) -> Option<usize> {
        self.tag_close_index.get_or_init(|| TagCloseIndex::new(self.source)).close_of(start)
    }

    fn warn(&mut self, id: WarningId, span: Span) {
        self.output.warnings.push((id, span));
    }

    fn count_steps(&mut self, count: usize) {
        self.output.steps += count as u64;
    }

    fn bytes(&self) -> &'s [u8] {
        self.source.as_bytes()
    }
}
