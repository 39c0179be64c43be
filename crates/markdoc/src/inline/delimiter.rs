//! Emphasis and strikethrough: pairs opening and closing delimiters.

use std::collections::HashMap;

use super::InlineParser;
use super::token::{InlineData, InlineToken};
use crate::char_class::{is_flanking_punctuation, is_flanking_whitespace};
use crate::node::NodeType;
use crate::stage::Nesting;

/// A delimiter that may begin or end emphasis. It is a token of its own until it is paired.
#[derive(Clone, Debug)]
pub(super) struct Delimiter {
    marker: u8,
    /// Length of its run of equal characters.
    run_len: usize,
    token: usize,
    /// The delimiter that closes this one.
    partner: Option<usize>,
    can_open: bool,
    can_close: bool,
}

struct DelimiterRun {
    length: usize,
    can_open: bool,
    can_close: bool,
}

impl InlineParser<'_> {
    /// `*` or `_`
    pub(super) fn parse_emphasis(&mut self) -> bool {
        let start = self.pos;
        let marker = self.text.as_bytes()[start];
        let run = self.scan_run(marker == b'*');
        let mark = if marker == b'*' { "*" } else { "_" };
        for pos in start..start + run.length {
            self.push_marker(mark, pos);
            self.push_delimiter(marker, run.length, &run);
        }
        self.pos = start + run.length;
        true
    }

    /// `~~`
    pub(super) fn parse_strikethrough(&mut self) -> bool {
        let start = self.pos;
        let run = self.scan_run(true);
        if run.length < 2 {
            return false;
        }
        let end = start + run.length;
        let mut pos = start;
        if run.length % 2 == 1 {
            self.push_marker("~", pos);
            pos += 1;
        }
        while pos < end {
            self.push_marker("~~", pos);
            // Strikethrough delimiters come in pairs. The rule about lengths applies to emphasis only.
            self.push_delimiter(b'~', 0, &run);
            pos += 2;
        }
        self.pos = end;
        true
    }

    fn push_marker(&mut self, mark: &'static str, pos: usize) {
        self.flush_text_until(pos);
        self.tokens.push(InlineToken::text(mark.into(), pos..pos + mark.len()));
    }

    fn push_delimiter(&mut self, marker: u8, length: usize, run: &DelimiterRun) {
        let token = self.tokens.len() - 1;
        let (can_open, can_close) = (run.can_open, run.can_close);
        self.delimiter_stacks[self.current_stack].push(Delimiter {
            marker,
            run_len: length,
            token,
            partner: None,
            can_open,
            can_close,
        });
    }

    /// Scans the run at the current position and the characters around it.
    fn scan_run(&mut self, may_split_words: bool) -> DelimiterRun {
        let start = self.pos;
        let marker = self.text.as_bytes()[start];
        let marks = self.text.as_bytes()[start..self.limit].iter().take_while(|byte| **byte == marker);
        let length = marks.count();
        self.steps += length as u64;
        let before = self.text.get(..start).and_then(|text| text.chars().next_back()).unwrap_or(' ');
        let after =
            self.text.get(start + length..self.limit).and_then(|text| text.chars().next()).unwrap_or(' ');
        let (space_before, space_after) = (is_flanking_whitespace(before), is_flanking_whitespace(after));
        let (punctuation_before, punctuation_after) =
            (is_flanking_punctuation(before), is_flanking_punctuation(after));
        let is_left_flanking = !space_after && (!punctuation_after || space_before || punctuation_before);
        let is_right_flanking = !space_before && (!punctuation_before || space_after || punctuation_after);
        DelimiterRun {
            length,
            can_open: is_left_flanking && (may_split_words || !is_right_flanking || punctuation_before),
            can_close: is_right_flanking && (may_split_words || !is_left_flanking || punctuation_after),
        }
    }

    /// Pairs the delimiters of every list and turns their tokens into emphasis.
    pub(super) fn resolve_delimiters(&mut self) {
        let mut stacks = std::mem::take(&mut self.delimiter_stacks);
        // The list that is current at the end comes first, and a second time if it belongs to an unclosed tag. The
        // second pass may pair delimiters anew.
        let mut stack_order = vec![self.current_stack];
        stack_order.append(&mut self.opened_stacks);
        for index in &stack_order {
            self.steps += match_delimiters(&mut stacks[*index]);
        }
        for index in &stack_order {
            self.write_strikethrough(&stacks[*index]);
        }
        for index in &stack_order {
            self.write_emphasis(&stacks[*index]);
        }
    }

    fn write_strikethrough(&mut self, delimiters: &[Delimiter]) {
        let mut odd_tildes = Vec::new();
        for delimiter in delimiters.iter().filter(|delimiter| delimiter.marker == b'~') {
            let Some(partner) = delimiter.partner.and_then(|index| delimiters.get(index)) else { continue };
            self.retag(delimiter.token, NodeType::Strikethrough, Nesting::Open, InlineData::None);
            self.retag(partner.token, NodeType::Strikethrough, Nesting::Close, InlineData::None);
            let before = partner.token.wrapping_sub(1);
            let is_odd_tilde = self.tokens.get(before).is_some_and(|token| {
                token.kind == NodeType::Text && matches!(&token.data, InlineData::Text(text) if text == "~")
            });
            if is_odd_tilde {
                odd_tildes.push(before);
            }
        }
        // The odd tilde of a run comes first. If the others close, it belongs behind them.
        while let Some(odd) = odd_tildes.pop() {
            let closing = |token: &InlineToken| {
                token.kind == NodeType::Strikethrough && token.nesting == Nesting::Close
            };
            let count = self.tokens[odd + 1..].iter().take_while(|token| closing(token)).count();
            self.steps += count as u64;
            let InlineToken { mut start, end, .. } = self.tokens[odd];
            self.tokens.swap(odd, odd + count);
            // The npm package takes an escaped tilde for the odd one. The text moves as it does there, but the source
            // positions of all tokens stay correct.
            if end - start > 1 {
                continue;
            }
            for token in &mut self.tokens[odd..=odd + count] {
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
            // Two directly nested pairs are strong emphasis.
            let outer = index.checked_sub(1).map(|outer_index| &delimiters[outer_index]).filter(|outer| {
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
            self.retag(open.token, kind, Nesting::Open, InlineData::Marker(marker));
            self.retag(close.token, kind, Nesting::Close, InlineData::Marker(marker));
            if let Some(outer) = outer {
                let outer_close = close.token + 1;
                self.tokens[open.token].start = self.tokens[outer.token].start;
                self.tokens[close.token].end = self.tokens[outer_close].end;
                self.clear_text(outer.token);
                self.clear_text(outer_close);
                index -= 1;
            }
        }
    }

    fn retag(&mut self, token: usize, kind: NodeType, nesting: Nesting, data: InlineData) {
        let token = &mut self.tokens[token];
        token.kind = kind;
        token.nesting = nesting;
        token.data = data;
    }

    fn clear_text(&mut self, token: usize) {
        if let InlineData::Text(text) = &mut self.tokens[token].data {
            *text = "".into();
        }
    }
}

/// Finds the opener of every delimiter that can close. Returns the number of steps.
///
/// Two rules keep this linear: after a failed search, later searches of the same kind stop at the same point, and pairs
/// that were found are skipped.
fn match_delimiters(delimiters: &mut [Delimiter]) -> u64 {
    let mut steps = delimiters.len() as u64;
    /// Where a search stops, by character, whether the closer can also open, and its run length modulo three.
    type OpenersBottom = HashMap<(u8, bool, usize), Option<usize>>;
    let mut openers_bottom: OpenersBottom = HashMap::new();
    let mut skip_distance: Vec<usize> = Vec::with_capacity(delimiters.len());
    let mut run_start = 0;
    let mut last_token = None;
    for closer_index in 0..delimiters.len() {
        let closer = delimiters[closer_index].clone();
        skip_distance.push(0);
        let same_run = delimiters[run_start].marker == closer.marker
            && last_token.is_some_and(|last| last + 1 == closer.token);
        if !same_run {
            run_start = closer_index;
        }
        last_token = Some(closer.token);
        if !closer.can_close {
            continue;
        }
        let closer_class = (closer.marker, closer.can_open, closer.run_len % 3);
        let bottom = openers_bottom.get(&closer_class).copied().flatten();
        let first_candidate = run_start.checked_sub(skip_distance[run_start] + 1);
        let mut candidate = first_candidate;
        let mut matched = false;
        while let Some(opener_index) =
            candidate.filter(|candidate| bottom.is_none_or(|floor| *candidate > floor))
        {
            steps += 1;
            let opener = &delimiters[opener_index];
            let fits = opener.marker == closer.marker && opener.can_open && opener.partner.is_none();
            if fits && !violates_rule_of_three(opener, &closer) {
                // A run before the opener that cannot open is skipped later.
                let before = opener_index.checked_sub(1).filter(|before| !delimiters[*before].can_open);
                let distance = before.map_or(0, |before| skip_distance[before] + 1);
                skip_distance[closer_index] = closer_index - opener_index + distance;
                skip_distance[opener_index] = distance;
                delimiters[closer_index].can_open = false;
                delimiters[opener_index].partner = Some(closer_index);
                delimiters[opener_index].can_close = false;
                // The next delimiter begins a new run.
                last_token = None;
                matched = true;
                break;
            }
            candidate = opener_index.checked_sub(skip_distance[opener_index] + 1);
        }
        if !matched && let Some(first) = first_candidate {
            openers_bottom.insert(closer_class, Some(first));
        }
    }
    steps
}

/// CommonMark's rule of three: if one of two runs can both open and close, the sum of their lengths must not be a
/// multiple of three unless both are.
fn violates_rule_of_three(opener: &Delimiter, closer: &Delimiter) -> bool {
    (opener.can_close || closer.can_open)
        && (opener.run_len + closer.run_len).is_multiple_of(3)
        && !(opener.run_len.is_multiple_of(3) && closer.run_len.is_multiple_of(3))
}
