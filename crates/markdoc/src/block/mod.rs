//! The first stage: lines become blocks.
//!
//! For each line the stage tries one rule after another. A rule that matches emits tokens and advances past its lines;
//! quotes and lists parse the blocks in them recursively. The text of a block is not parsed here, because link
//! definitions may follow later in the document: the second stage (`inline`) runs after this one.
//!
//! The output is a flat list of tokens that open a block, close one, or are complete. `tree` builds the tree from it,
//! because a Markdoc tag may begin in one block and end in another.

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
use crate::stage::{Mode, Nesting};
use crate::tag_close_index::TagCloseIndex;

/// The target of a link definition.
#[derive(Clone, Debug)]
pub(crate) struct LinkDefinition {
    pub(crate) href: String,
    pub(crate) title: String,
}

/// The output of the first stage.
pub(crate) struct BlockOutput<'s> {
    pub(crate) tokens: Vec<Token<'s>>,
    pub(crate) definitions: HashMap<String, LinkDefinition>,
    /// Byte ranges of the normalised source.
    pub(crate) warnings: Vec<(WarningId, Span)>,
    pub(crate) steps: u64,
}

/// The block that contains the current one. The rules for a list that interrupts a paragraph are stricter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParentBlock {
    Paragraph,
    Other,
}

/// The blocks that another block can end without a blank line.
#[derive(Clone, Copy)]
enum InterruptibleBlock {
    Paragraph,
    Definition,
    /// Quotes and tables.
    Quote,
    List,
}

/// The state of the first stage.
struct BlockParser<'s> {
    source: &'s str,
    options: &'s Options,
    lines: Vec<Line>,
    /// The line at which the next block begins.
    next_line: usize,
    /// The line after the last one that a paragraph may reach.
    line_max: usize,
    /// The column at which the content of the innermost list item begins.
    indent: i32,
    /// The column of the innermost list, or −1.
    list_indent: i32,
    /// Whether no blank line separates the blocks of the current container.
    tight: bool,
    parent: ParentBlock,
    level: i32,
    output: BlockOutput<'s>,
    /// White space at the beginning of the source, in UTF-16 units; see `is_alone_on_line`.
    leading_whitespace_utf16: usize,
    tag_close_index: OnceCell<TagCloseIndex>,
    comment_close_index: OnceCell<CommentCloseIndex>,
}

/// Parses the blocks of a normalised source.
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
    /// Parses the blocks of the lines from `start` to `end`, or until a line is left of this container's content.
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

    /// Parses one block. The rules are tried in order of precedence; a paragraph always matches.
    fn parse_block(&mut self, line: usize, end: usize) {
        self.count_steps(1);
        let _ = self.parse_comment(line, Mode::Emit)
            || self.parse_table(line, end, Mode::Emit)
            || self.parse_fence(line, end, Mode::Emit)
            || self.parse_quote(line, end, Mode::Emit)
            || self.parse_front_matter(line, end)
            || self.parse_thematic_break(line, Mode::Emit)
            || self.parse_list(line, end, Mode::Emit)
            || self.parse_definition(line)
            || self.parse_heading(line, Mode::Emit)
            || self.parse_tag(line, Mode::Emit)
            || self.parse_paragraph(line);
    }

    /// Whether a block begins at `line` that ends the `interrupted` block.
    fn interrupts(&mut self, interrupted: InterruptibleBlock, line: usize, end: usize) -> bool {
        use InterruptibleBlock::{Definition, List, Paragraph, Quote};
        self.count_steps(1);
        (matches!(interrupted, Paragraph) && self.parse_comment(line, Mode::Probe))
            || (matches!(interrupted, Paragraph | Definition) && self.parse_table(line, end, Mode::Probe))
            || self.parse_fence(line, end, Mode::Probe)
            || self.parse_quote(line, end, Mode::Probe)
            || self.parse_thematic_break(line, Mode::Probe)
            || (!matches!(interrupted, List)
                && (self.parse_list(line, end, Mode::Probe) || self.parse_heading(line, Mode::Probe)))
            || (matches!(interrupted, Paragraph | Quote) && self.parse_tag(line, Mode::Probe))
    }

    /// The line after the paragraph that begins at `start`, at most `end`.
    fn paragraph_end(&mut self, start: usize, end: usize, interrupted: InterruptibleBlock) -> usize {
        let line_max = self.line_max;
        let mut next = start + 1;
        while next < end && !self.is_blank_line(next) {
            self.count_steps(1);
            let indent = self.lines[next].indent;
            // Further right the line would be code. A negative indent means that a quote has claimed it.
            let may_interrupt = indent - self.indent <= 3 && indent >= 0;
            if may_interrupt && self.interrupts(interrupted, next, line_max) {
                break;
            }
            next += 1;
        }
        next
    }

    /// Whether the line is indented too far to begin a block other than a paragraph or a tag.
    fn is_code_indented(&self, line: usize) -> bool {
        self.lines[line].indent - self.indent >= 4
    }

    fn push(&mut self, kind: NodeType, nesting: Nesting, span: Span) -> &mut Token<'s> {
        if nesting == Nesting::Close {
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
        if nesting == Nesting::Open {
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
