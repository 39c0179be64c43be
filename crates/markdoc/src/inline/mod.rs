//! The second stage: the text of a block becomes words, emphasis, links, code, and tags.
//!
//! The stage goes through a text once and asks the rule of each character whether something begins there. What only
//! might become emphasis is noted as a *delimiter*; when the text is through, `emphasis` decides which delimiters
//! belong together. A tag has delimiters of its own, so emphasis never begins outside of a tag and ends within it.

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
use crate::tag_close_index::TagCloseIndex;
use delimiter::Delimiter;

/// What every text of a document is read with.
pub(crate) struct InlineContext<'d> {
    pub(crate) definitions: &'d HashMap<String, LinkDefinition>,
    pub(crate) options: &'d Options,
}

/// What the second stage makes of one text.
pub(crate) struct InlineOutput {
    pub(crate) tokens: Vec<InlineToken>,
    /// Where tags nest too deep to be read.
    pub(crate) too_deep: Option<usize>,
    pub(crate) steps: u64,
}

/// Reads one text.
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

/// The walk through one text.
struct InlineParser<'t> {
    text: &'t str,
    context: &'t InlineContext<'t>,
    pos: usize,
    /// The end of the text, or of the link text that is being read.
    limit: usize,
    level: i32,
    /// Plain text that is not a token yet, and where it began.
    text_buffer: String,
    text_buffer_start: usize,
    tokens: Vec<InlineToken>,
    /// The delimiters: the first list is the text's own, each tag or link adds one.
    delimiter_stacks: Vec<Vec<Delimiter>>,
    /// Which list is being filled.
    current_stack: usize,
    enclosing_stacks: Vec<usize>,
    /// The lists of all tags and links, in the order in which they were opened.
    opened_stacks: Vec<usize>,
    /// Where the thing at a place ends, plus one; zero if that is not known yet.
    skip_cache: Vec<u32>,
    /// The last place at which a run of so many backticks was seen.
    last_backtick_run: HashMap<usize, usize>,
    all_backticks_indexed: bool,
    tag_close_index: OnceCell<TagCloseIndex>,
    comment_close_index: OnceCell<CommentCloseIndex>,
    too_deep: Option<usize>,
    steps: u64,
}

/// Whether a rule writes tokens, or only finds out where the thing ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Emit,
    Probe,
}

impl InlineParser<'_> {
    /// Reads up to `max`.
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

    /// Goes over one thing without writing anything. What was found is remembered: brackets within brackets ask again
    /// and again.
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

    /// Asks the rule of the character at the current place. One that says yes has moved on.
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

    /// Keeps a part of the text as it is.
    fn push_text(&mut self, start: usize, end: usize) {
        if self.text_buffer.is_empty() {
            self.text_buffer_start = start;
        }
        let part = self.text.get(start..end).unwrap_or("");
        self.text_buffer.push_str(part);
    }

    /// Keeps `replacement` for what stands at `start`.
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

    /// Writes a token that stands at `start..end`; pending text comes before it.
    fn push(&mut self, kind: NodeType, nesting: i8, start: usize, end: usize, data: InlineData) {
        self.flush_text_until(start);
        if nesting < 0 {
            self.level -= 1;
            // A tag that closes what is not open leaves the delimiters before it without a partner.
            self.current_stack = self.enclosing_stacks.pop().unwrap_or_else(|| self.new_delimiter_stack());
        }
        if nesting > 0 {
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
