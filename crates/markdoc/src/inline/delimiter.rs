//! Emphasis and strikethrough: which of the marks in a text belong together.

use std::collections::HashMap;

use super::Walk;
use super::token::{Content, InlineToken};
use crate::characters::{flanks_as_punctuation, flanks_as_space};
use crate::node::NodeType;

/// A mark that may begin or end emphasis. Each is a token of its own until it is known what it does.
#[derive(Clone, Debug)]
pub(super) struct Delimiter {
    marker: u8,
    /// How many marks stand together with it.
    run: usize,
    token: usize,
    /// The delimiter that closes what this one opens.
    partner: Option<usize>,
    can_open: bool,
    can_close: bool,
}

struct Run {
    length: usize,
    can_open: bool,
    can_close: bool,
}

impl Walk<'_> {
    /// `*` or `_`
    pub(super) fn emphasis(&mut self) -> bool {
        let start = self.at;
        let marker = self.text.as_bytes()[start];
        let run = self.scan_run(marker == b'*');
        let mark = if marker == b'*' { "*" } else { "_" };
        for at in start..start + run.length {
            self.push_mark(mark, at);
            self.push_delimiter(marker, run.length, &run);
        }
        self.at = start + run.length;
        true
    }

    /// `~~`
    pub(super) fn strikethrough(&mut self) -> bool {
        let start = self.at;
        let run = self.scan_run(true);
        if run.length < 2 {
            return false;
        }
        let end = start + run.length;
        let mut at = start;
        if run.length % 2 == 1 {
            self.push_mark("~", at);
            at += 1;
        }
        while at < end {
            self.push_mark("~~", at);
            // Marks of strikethrough come in pairs; the rule about lengths is for emphasis only.
            self.push_delimiter(b'~', 0, &run);
            at += 2;
        }
        self.at = end;
        true
    }

    fn push_mark(&mut self, mark: &'static str, at: usize) {
        self.flush_until(at);
        self.tokens.push(InlineToken::text(mark.into(), at..at + mark.len()));
    }

    fn push_delimiter(&mut self, marker: u8, length: usize, run: &Run) {
        let token = self.tokens.len() - 1;
        let (can_open, can_close) = (run.can_open, run.can_close);
        self.lists[self.list].push(Delimiter {
            marker,
            run: length,
            token,
            partner: None,
            can_open,
            can_close,
        });
    }

    /// Looks at the marks at the current place and at the characters around them.
    fn scan_run(&mut self, may_split_words: bool) -> Run {
        let start = self.at;
        let marker = self.text.as_bytes()[start];
        let marks = self.text.as_bytes()[start..self.max].iter().take_while(|byte| **byte == marker);
        let length = marks.count();
        self.steps += length as u64;
        let before = self.text.get(..start).and_then(|text| text.chars().next_back()).unwrap_or(' ');
        let after =
            self.text.get(start + length..self.max).and_then(|text| text.chars().next()).unwrap_or(' ');
        let (space_before, space_after) = (flanks_as_space(before), flanks_as_space(after));
        let (sign_before, sign_after) = (flanks_as_punctuation(before), flanks_as_punctuation(after));
        let opens = !space_after && (!sign_after || space_before || sign_before);
        let closes = !space_before && (!sign_before || space_after || sign_after);
        Run {
            length,
            can_open: opens && (may_split_words || !closes || sign_before),
            can_close: closes && (may_split_words || !opens || sign_after),
        }
    }

    /// Pairs the delimiters of every list and turns their tokens into what they mean.
    pub(super) fn resolve_delimiters(&mut self) {
        let mut lists = std::mem::take(&mut self.lists);
        // The list that is current at the end comes first, and once more if it belongs to a tag that was never
        // closed: the second time, marks that found a partner may find another.
        let mut order = vec![self.list];
        order.append(&mut self.opened_lists);
        for index in &order {
            self.steps += pair(&mut lists[*index]);
        }
        for index in &order {
            self.write_strikethrough(&lists[*index]);
        }
        for index in &order {
            self.write_emphasis(&lists[*index]);
        }
    }

    fn write_strikethrough(&mut self, delimiters: &[Delimiter]) {
        let mut lone = Vec::new();
        for delimiter in delimiters.iter().filter(|it| it.marker == b'~') {
            let Some(partner) = delimiter.partner.and_then(|at| delimiters.get(at)) else { continue };
            self.make(delimiter.token, NodeType::Strikethrough, 1, Content::None);
            self.make(partner.token, NodeType::Strikethrough, -1, Content::None);
            let before = partner.token.wrapping_sub(1);
            let is_lone = self.tokens.get(before).is_some_and(|token| {
                token.kind == NodeType::Text && matches!(&token.content, Content::Text(text) if text == "~")
            });
            if is_lone {
                lone.push(before);
            }
        }
        // Of an odd number of tildes the odd one stands first; where the others close, it belongs behind them.
        while let Some(first) = lone.pop() {
            let closing = |token: &InlineToken| token.kind == NodeType::Strikethrough && token.nesting < 0;
            let count = self.tokens[first + 1..].iter().take_while(|token| closing(token)).count();
            self.steps += count as u64;
            let InlineToken { mut start, end, .. } = self.tokens[first];
            self.tokens.swap(first, first + count);
            // The original takes an escaped tilde for the odd one. It goes where the original has it, but no mark
            // can stand for it: every place stays what it is.
            if end - start > 1 {
                continue;
            }
            for token in &mut self.tokens[first..=first + count] {
                let length = token.end - token.start;
                (token.start, token.end) = (start, start + length);
                start += length;
            }
        }
    }

    fn write_emphasis(&mut self, delimiters: &[Delimiter]) {
        let mut index = delimiters.len();
        while index > 0 {
            index -= 1;
            let open = &delimiters[index];
            if !matches!(open.marker, b'*' | b'_') {
                continue;
            }
            let Some(partner) = open.partner else { continue };
            let close = &delimiters[partner];
            // Two pairs right within each other are strong.
            let outer = index.checked_sub(1).map(|at| &delimiters[at]).filter(|outer| {
                outer.partner == Some(partner + 1)
                    && outer.marker == open.marker
                    && outer.token + 1 == open.token
                    && delimiters
                        .get(partner + 1)
                        .is_some_and(|outer_close| outer_close.token == close.token + 1)
            });
            let (kind, marker) = match (outer.is_some(), open.marker) {
                (true, b'*') => (NodeType::Strong, "**"),
                (true, _) => (NodeType::Strong, "__"),
                (false, b'*') => (NodeType::Em, "*"),
                (false, _) => (NodeType::Em, "_"),
            };
            self.make(open.token, kind, 1, Content::Marker(marker));
            self.make(close.token, kind, -1, Content::Marker(marker));
            if let Some(outer) = outer {
                let outer_close = close.token + 1;
                self.tokens[open.token].start = self.tokens[outer.token].start;
                self.tokens[close.token].end = self.tokens[outer_close].end;
                self.empty(outer.token);
                self.empty(outer_close);
                index -= 1;
            }
        }
    }

    fn make(&mut self, token: usize, kind: NodeType, nesting: i8, content: Content) {
        let token = &mut self.tokens[token];
        token.kind = kind;
        token.nesting = nesting;
        token.content = content;
    }

    fn empty(&mut self, token: usize) {
        if let Content::Text(text) = &mut self.tokens[token].content {
            *text = "".into();
        }
    }
}

/// Finds a partner for every delimiter that can close; says how many steps that took.
///
/// Two things keep this linear: behind a failed search for one sort of closer, later searches of the same sort do not
/// look again; and what lies within a found pair is jumped over.
fn pair(delimiters: &mut [Delimiter]) -> u64 {
    let mut steps = delimiters.len() as u64;
    /// How far back a search may go, for each marker, whether the closer can also open, and its run's length modulo
    /// three.
    type Floors = HashMap<(u8, bool, usize), Option<usize>>;
    let mut floors: Floors = HashMap::new();
    let mut jumps: Vec<usize> = Vec::with_capacity(delimiters.len());
    let mut head = 0;
    let mut last_token = None;
    for closer_at in 0..delimiters.len() {
        let closer = delimiters[closer_at].clone();
        jumps.push(0);
        let same_run = delimiters[head].marker == closer.marker
            && last_token.is_some_and(|last| last + 1 == closer.token);
        if !same_run {
            head = closer_at;
        }
        last_token = Some(closer.token);
        if !closer.can_close {
            continue;
        }
        let sort = (closer.marker, closer.can_open, closer.run % 3);
        let floor = floors.get(&sort).copied().flatten();
        let first = head.checked_sub(jumps[head] + 1);
        let mut at = first;
        let mut found = false;
        while let Some(opener_at) = at.filter(|at| floor.is_none_or(|floor| *at > floor)) {
            steps += 1;
            let opener = &delimiters[opener_at];
            let fits = opener.marker == closer.marker && opener.can_open && opener.partner.is_none();
            if fits && !lengths_forbid(opener, &closer) {
                // A run before the opener that cannot open need not be looked at again.
                let before = opener_at.checked_sub(1).filter(|before| !delimiters[*before].can_open);
                let jump = before.map_or(0, |before| jumps[before] + 1);
                jumps[closer_at] = closer_at - opener_at + jump;
                jumps[opener_at] = jump;
                delimiters[closer_at].can_open = false;
                delimiters[opener_at].partner = Some(closer_at);
                delimiters[opener_at].can_close = false;
                // What follows is a new run.
                last_token = None;
                found = true;
                break;
            }
            at = opener_at.checked_sub(jumps[opener_at] + 1);
        }
        if !found && let Some(first) = first {
            floors.insert(sort, Some(first));
        }
    }
    steps
}

/// CommonMark's rule of three: where one of two runs can both open and close, the sum of their lengths must not be a
/// multiple of three unless both are.
fn lengths_forbid(opener: &Delimiter, closer: &Delimiter) -> bool {
    (opener.can_close || closer.can_open)
        && (opener.run + closer.run).is_multiple_of(3)
        && !(opener.run.is_multiple_of(3) && closer.run.is_multiple_of(3))
}
