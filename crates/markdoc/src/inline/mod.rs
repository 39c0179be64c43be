//! The second stage: the text of a block becomes text, emphasis, links, code and tags.
//!
//! One pass over the text runs the rule of each special character. Characters that may become emphasis are recorded as
//! *delimiters*; after the pass, the module `delimiter` pairs them. Every tag has its own delimiters, so emphasis never
//! begins outside a tag and ends inside it.

mod delimiter;
mod links;
mod simple;
mod token;

use std::cell::OnceCell;
use std::collections::HashMap;

pub(crate) use token::{InlineData, InlineToken};

use crate::Options;
use crate::block::LinkDefinition;
use crate::comment_close_index::CommentCloseIndex;
use crate::limits::NESTING_MAX;
use crate::mapped_text::MappedText;
use crate::node::NodeType;
use crate::stage::{Mode, Nesting};
use crate::tag_close_index::TagCloseIndex;
use delimiter::Delimiter;

/// What all texts of a document share.
pub(crate) struct InlineContext<'d> {
    pub(crate) definitions: &'d HashMap<String, LinkDefinition>,
    pub(crate) options: &'d Options,
}

/// The output of the second stage for one text.
pub(crate) struct InlineOutput {
    pub(crate) tokens: Vec<InlineToken>,
    /// Where tags nest too deep.
    pub(crate) too_deep: Option<usize>,
    pub(crate) steps: u64,
}

/// Parses one text.
pub(crate) fn parse(text: &MappedText<'_>, context: &InlineContext<'_>) -> InlineOutput {
    let mut parser = InlineParser {
        text: &text.text,
        context,
        pos: 0,
        limit: text.len(),
        level: 0,
        text_buffer: String::new(),
        text_buffer_start: 0,
        tokens: Vec::new(),
        delimiter_stacks: vec![Vec::new()],
        current_stack: 0,
        enclosing_stacks: Vec::new(),
        opened_stacks: Vec::new(),
        skip_cache: Vec::new(),
        last_backtick_run: HashMap::new(),
        all_backticks_indexed: false,
        tag_close_index: OnceCell::new(),
        comment_close_index: OnceCell::new(),
        too_deep: None,
        steps: text.len() as u64,
    };
    parser.parse_until_limit();
    parser.finish()
}

/// The state of the second stage.
struct InlineParser<'t> {
    text: &'t str,
    context: &'t InlineContext<'t>,
    pos: usize,
    /// The end of the text, or of the current link text.
    limit: usize,
    level: i32,
    /// Plain text that is not yet a token, and its start.
    text_buffer: String,
    text_buffer_start: usize,
    tokens: Vec<InlineToken>,
    /// The delimiters. The first list belongs to the text; each tag or link adds one.
    delimiter_stacks: Vec<Vec<Delimiter>>,
    /// The list that receives new delimiters.
    current_stack: usize,
    enclosing_stacks: Vec<usize>,
    /// The lists of all tags and links, in the order in which they were opened.
    opened_stacks: Vec<usize>,
    /// For each position, the end of the element there plus one; zero if unknown.
    skip_cache: Vec<u32>,
    /// For each length, the last position of a run of that many backticks.
    last_backtick_run: HashMap<usize, usize>,
    all_backticks_indexed: bool,
    tag_close_index: OnceCell<TagCloseIndex>,
    comment_close_index: OnceCell<CommentCloseIndex>,
    too_deep: Option<usize>,
    steps: u64,
}

impl InlineParser<'_> {
    /// Parses up to `limit`.
    fn parse_until_limit(&mut self) {
        while self.pos < self.limit {
            if self.level >= NESTING_MAX {
                self.too_deep.get_or_insert(self.pos);
                self.push_text(self.pos, self.limit);
                self.pos = self.limit;
                break;
            }
            if !self.parse_one(Mode::Emit) {
                let end = self.pos + self.char_len_at(self.pos);
                self.push_text(self.pos, end);
                self.pos = end;
            }
        }
        self.flush_text();
    }

    /// Skips one element without emitting tokens. The result is cached, because nested brackets ask repeatedly.
    fn skip_one(&mut self) {
        let start = self.pos;
        self.steps += 1;
        if self.skip_cache.is_empty() {
            self.skip_cache = vec![0; self.text.len() + 1];
        }
        if self.skip_cache[start] > 0 {
            self.pos = self.skip_cache[start] as usize - 1;
            return;
        }
        let mut matched = false;
        if self.level < NESTING_MAX {
            self.level += 1;
            matched = self.parse_one(Mode::Probe);
            self.level -= 1;
        } else {
            self.pos = self.limit;
        }
        if !matched {
            self.pos += self.char_len_at(self.pos);
        }
        self.skip_cache[start] = self.pos as u32 + 1;
    }

    /// Runs the rule of the current character. A rule that matches advances the position.
    fn parse_one(&mut self, mode: Mode) -> bool {
        self.steps += 1;
        match self.text.as_bytes()[self.pos] {
            b'\n' => self.parse_line_break(mode),
            b'\\' => self.parse_escape(mode),
            b'`' => self.parse_code(mode),
            b'~' => mode == Mode::Emit && self.parse_strikethrough(),
            b'*' | b'_' => mode == Mode::Emit && self.parse_emphasis(),
            b'[' => self.parse_link(mode),
            b'!' => self.parse_image(mode),
            b'<' => self.parse_autolink(mode) || self.parse_comment(mode),
            b'&' => self.parse_entity(mode),
            b'{' => self.parse_tag(mode),
            b'#' | b'$' | b'%' | b'+' | b'-' | b':' | b'=' | b'>' | b'@' | b']' | b'^' | b'}' => false,
            _ => self.parse_plain_text(mode),
        }
    }

    fn char_len_at(&self, pos: usize) -> usize {
        self.text.get(pos..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }

    fn byte_at(&self, pos: usize) -> Option<u8> {
        if pos < self.limit { self.text.as_bytes().get(pos).copied() } else { None }
    }

    /// Adds a part of the text unchanged.
    fn push_text(&mut self, start: usize, end: usize) {
        if self.text_buffer.is_empty() {
            self.text_buffer_start = start;
        }
        let part = self.text.get(start..end).unwrap_or("");
        self.text_buffer.push_str(part);
    }

    /// Adds `replacement` for the text at `start`.
    fn push_replacement(&mut self, start: usize, replacement: &str) {
        if self.text_buffer.is_empty() {
            self.text_buffer_start = start;
        }
        self.text_buffer.push_str(replacement);
    }

    fn flush_text(&mut self) {
        self.flush_text_until(self.pos);
    }

    fn flush_text_until(&mut self, end: usize) {
        if self.text_buffer.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text_buffer);
        let start = self.text_buffer_start;
        self.tokens.push(InlineToken::text(text.into(), start..end.max(start)));
    }

    /// Emits a token for `start..end`, after pending text.
    fn push(&mut self, kind: NodeType, nesting: Nesting, start: usize, end: usize, data: InlineData) {
        self.flush_text_until(start);
        if nesting == Nesting::Close {
            self.level -= 1;
            // A closing tag without an opening one leaves the delimiters before it unpaired.
            self.current_stack = self.enclosing_stacks.pop().unwrap_or_else(|| self.new_delimiter_stack());
        }
        if nesting == Nesting::Open {
            self.level += 1;
            self.enclosing_stacks.push(self.current_stack);
            self.current_stack = self.new_delimiter_stack();
            self.opened_stacks.push(self.current_stack);
        }
        self.tokens.push(InlineToken { kind, nesting, start, end, data });
    }

    fn new_delimiter_stack(&mut self) -> usize {
        self.delimiter_stacks.push(Vec::new());
        self.delimiter_stacks.len() - 1
    }

    fn finish(mut self) -> InlineOutput {
        self.resolve_delimiters();
        let tokens = token::merge_adjacent_text(self.tokens);
        InlineOutput { tokens, too_deep: self.too_deep, steps: self.steps }
    }
}
