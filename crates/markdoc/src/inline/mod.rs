//! The second stage: the text of a block becomes words, emphasis, links, code, and tags.
//!
//! The stage goes through a text once and asks the rule of each character whether something begins there. What only might
//! become emphasis is noted as a *delimiter*; when the text is through, `emphasis` decides which delimiters belong together. A
//! tag has delimiters of its own, so emphasis never begins outside of a tag and ends within it.

mod delimiter;
mod link_rule;
mod rule;
mod token;

use std::cell::OnceCell;
use std::collections::HashMap;

pub(crate) use token::{Content, InlineToken};

use crate::Options;
use crate::block::Definition;
use crate::comment_ends::CommentEnds;
use crate::limits::NESTING_MAX;
use crate::node::NodeType;
use crate::tag_ends::TagEnds;
use crate::text::Text;
use delimiter::Delimiter;

/// What every text of a document is read with.
pub(crate) struct Context<'d> {
    pub(crate) definitions: &'d HashMap<String, Definition>,
    pub(crate) options: &'d Options,
}

/// What the second stage makes of one text.
pub(crate) struct Inlines {
    pub(crate) tokens: Vec<InlineToken>,
    /// Where tags nest too deep to be read.
    pub(crate) too_deep: Option<usize>,
    pub(crate) steps: u64,
}

/// Reads one text.
pub(crate) fn parse(text: &Text<'_>, context: &Context<'_>) -> Inlines {
    let mut walk = Walk {
        text: &text.text,
        context,
        at: 0,
        max: text.len(),
        level: 0,
        pending: String::new(),
        pending_start: 0,
        tokens: Vec::new(),
        lists: vec![Vec::new()],
        list: 0,
        outer_lists: Vec::new(),
        opened_lists: Vec::new(),
        skipped: Vec::new(),
        backticks: HashMap::new(),
        backticks_are_known: false,
        tag_ends: OnceCell::new(),
        comment_ends: OnceCell::new(),
        too_deep: None,
        steps: text.len() as u64,
    };
    walk.run();
    walk.finish()
}

/// The walk through one text.
struct Walk<'t> {
    text: &'t str,
    context: &'t Context<'t>,
    at: usize,
    /// The end of the text, or of the link text that is being read.
    max: usize,
    level: i32,
    /// Plain text that is not a token yet, and where it began.
    pending: String,
    pending_start: usize,
    tokens: Vec<InlineToken>,
    /// The delimiters: the first list is the text's own, each tag or link adds one.
    lists: Vec<Vec<Delimiter>>,
    /// Which list is being filled.
    list: usize,
    outer_lists: Vec<usize>,
    /// The lists of all tags and links, in the order in which they were opened.
    opened_lists: Vec<usize>,
    /// Where the thing at a place ends, plus one; zero if that is not known yet.
    skipped: Vec<u32>,
    /// The last place at which a run of so many backticks was seen.
    backticks: HashMap<usize, usize>,
    backticks_are_known: bool,
    tag_ends: OnceCell<TagEnds>,
    comment_ends: OnceCell<CommentEnds>,
    too_deep: Option<usize>,
    steps: u64,
}

/// Whether a rule writes tokens, or only finds out where the thing ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Write,
    Skip,
}

impl Walk<'_> {
    /// Reads up to `max`.
    fn run(&mut self) {
        while self.at < self.max {
            if self.level >= NESTING_MAX {
                self.too_deep.get_or_insert(self.at);
                self.keep(self.at, self.max);
                self.at = self.max;
                break;
            }
            if !self.rule(Mode::Write) {
                let end = self.at + self.character_length(self.at);
                self.keep(self.at, end);
                self.at = end;
            }
        }
        self.flush();
    }

    /// Goes over one thing without writing anything. What was found is remembered: brackets within brackets ask again and
    /// again.
    fn skip(&mut self) {
        let start = self.at;
        self.steps += 1;
        if self.skipped.is_empty() {
            self.skipped = vec![0; self.text.len() + 1];
        }
        if self.skipped[start] > 0 {
            self.at = self.skipped[start] as usize - 1;
            return;
        }
        let mut found = false;
        if self.level < NESTING_MAX {
            self.level += 1;
            found = self.rule(Mode::Skip);
            self.level -= 1;
        } else {
            self.at = self.max;
        }
        if !found {
            self.at += self.character_length(self.at);
        }
        self.skipped[start] = self.at as u32 + 1;
    }

    /// Asks the rule of the character at the current place. One that says yes has moved on.
    fn rule(&mut self, mode: Mode) -> bool {
        self.steps += 1;
        match self.text.as_bytes()[self.at] {
            b'\n' => self.line_break(mode),
            b'\\' => self.escape(mode),
            b'`' => self.code(mode),
            b'~' => mode == Mode::Write && self.strikethrough(),
            b'*' | b'_' => mode == Mode::Write && self.emphasis(),
            b'[' => self.link(mode),
            b'!' => self.image(mode),
            b'<' => self.autolink(mode) || self.comment(mode),
            b'&' => self.reference(mode),
            b'{' => self.tag(mode),
            b'#' | b'$' | b'%' | b'+' | b'-' | b':' | b'=' | b'>' | b'@' | b']' | b'^' | b'}' => false,
            _ => self.plain(mode),
        }
    }

    fn character_length(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }

    fn next_byte(&self, at: usize) -> Option<u8> {
        if at < self.max { self.text.as_bytes().get(at).copied() } else { None }
    }

    /// Keeps a part of the text as it is.
    fn keep(&mut self, start: usize, end: usize) {
        if self.pending.is_empty() {
            self.pending_start = start;
        }
        let part = self.text.get(start..end).unwrap_or("");
        self.pending.push_str(part);
    }

    /// Keeps `replacement` for what stands at `start`.
    fn keep_instead(&mut self, start: usize, replacement: &str) {
        if self.pending.is_empty() {
            self.pending_start = start;
        }
        self.pending.push_str(replacement);
    }

    fn flush(&mut self) {
        self.flush_until(self.at);
    }

    fn flush_until(&mut self, end: usize) {
        if self.pending.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.pending);
        let start = self.pending_start;
        self.tokens.push(InlineToken::text(text.into(), start..end.max(start)));
    }

    /// Writes a token that stands at `start..end`; pending text comes before it.
    fn push(&mut self, kind: NodeType, nesting: i8, start: usize, end: usize, content: Content) {
        self.flush_until(start);
        if nesting < 0 {
            self.level -= 1;
            // A tag that closes what is not open leaves the delimiters before it without a partner.
            self.list = self.outer_lists.pop().unwrap_or_else(|| self.new_list());
        }
        if nesting > 0 {
            self.level += 1;
            self.outer_lists.push(self.list);
            self.list = self.new_list();
            self.opened_lists.push(self.list);
        }
        self.tokens.push(InlineToken { kind, nesting, start, end, content });
    }

    fn new_list(&mut self) -> usize {
        self.lists.push(Vec::new());
        self.lists.len() - 1
    }

    fn finish(mut self) -> Inlines {
        self.resolve_delimiters();
        let tokens = token::joined(self.tokens);
        Inlines { tokens, too_deep: self.too_deep, steps: self.steps }
    }
}
