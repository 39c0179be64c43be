//! Splits a text into sentences, and sentences into words, commas and breaks.

use std::ops::Range;

use super::{cues, stem};

/// A line that is shorter was broken by its author, not by an editor that wraps lines.
const WRAPPED_LINE_CHARS: usize = 40;

/// A longer line before a colon is no heading.
const HEADING_TOKENS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Comma,
    /// A bracket, dash, colon or semicolon: a new clause begins.
    Break,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub kind: TokenKind,
    /// In lower case, without a final `'s`; empty except for words.
    pub text: String,
    pub stem: String,
}

/// A sentence before its words have marks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawSentence {
    pub span: Range<usize>,
    pub tokens: Vec<Token>,
    pub is_question: bool,
    pub continues: Option<usize>,
}

/// The sentences that have words.
pub(super) fn sentences(text: &str) -> Vec<RawSentence> {
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    let mut scan = Scan { text, characters: &characters, position: 0, sentences: Vec::new(), heading: None };
    scan.run();
    scan.sentences
}

struct Scan<'t> {
    text: &'t str,
    characters: &'t [(usize, char)],
    position: usize,
    sentences: Vec<RawSentence>,
    /// The sentence before a colon at the end of a line: a heading of the lines below.
    heading: Option<usize>,
}

impl Scan<'_> {
    fn at(&self, position: usize) -> Option<char> {
        self.characters.get(position).map(|(_, character)| *character)
    }

    fn offset(&self, position: usize) -> usize {
        self.characters.get(position).map_or(self.text.len(), |(offset, _)| *offset)
    }

    fn run(&mut self) {
        let (mut start, mut tokens) = (0, Vec::new());
        while let Some(character) = self.at(self.position) {
            if character.is_alphanumeric() {
                tokens.push(self.word());
                continue;
            }
            let ends = match character {
                '\n' => self.newline_ends_sentence(tokens.last()),
                '.' | '!' | '?' | '…' | '。' | '！' | '？' => self.mark_ends_sentence(character),
                _ => false,
            };
            self.position += 1;
            if ends {
                self.finish(start, std::mem::take(&mut tokens), matches!(character, '?' | '？'));
                start = self.position;
                if character == '\n' && self.at(self.position) == Some('\n') {
                    self.heading = None;
                }
                continue;
            }
            let kind = match character {
                ',' | '、' | '，' => TokenKind::Comma,
                '(' | ')' | '[' | ']' | ':' | ';' | '–' | '—' => TokenKind::Break,
                '-' if self.is_dash() => TokenKind::Break,
                _ => continue,
            };
            tokens.push(Token { kind, text: String::new(), stem: String::new() });
        }
        self.finish(start, tokens, false);
    }

    fn finish(&mut self, start: usize, tokens: Vec<Token>, is_question: bool) {
        let Some(first) = tokens.iter().find(|token| token.kind == TokenKind::Word) else { return };
        let number = self.sentences.len();
        let follows = cues::REFERRING.contains(&first.text.as_str());
        let continues = if follows { number.checked_sub(1) } else { self.heading };
        let span = self.offset(start)..self.offset(self.position);
        let written = self.text.get(span.clone()).unwrap_or_default();
        let leading = written.len() - written.trim_start().len();
        let trimmed = written.trim();
        if trimmed.ends_with(':') && tokens.len() <= HEADING_TOKENS {
            self.heading = Some(number);
        }
        let span = span.start + leading..span.start + leading + trimmed.len();
        self.sentences.push(RawSentence { span, tokens, is_question, continues });
    }

    /// Reads a word: letters and digits, apostrophes between letters, and separators between digits.
    fn word(&mut self) -> Token {
        let start = self.position;
        let mut text = String::new();
        while let Some(character) = self.at(self.position) {
            let before = self.position.checked_sub(1).and_then(|position| self.at(position));
            let after = self.at(self.position + 1);
            let between = |class: fn(char) -> bool| {
                self.position > start && before.is_some_and(class) && after.is_some_and(class)
            };
            match character {
                _ if character.is_alphanumeric() => text.extend(character.to_lowercase()),
                '\'' | '’' if between(char::is_alphabetic) => text.push('\''),
                // 14,000 is 14000.
                ',' if between(|c| c.is_ascii_digit()) => {}
                '.' | ':' | '/' | '-' if between(|c| c.is_ascii_digit()) => text.push(character),
                _ => break,
            }
            self.position += 1;
        }
        let text = text.strip_suffix("'s").map(str::to_owned).unwrap_or(text);
        let stem = stem(&text);
        Token { kind: TokenKind::Word, text, stem }
    }

    /// A hyphen between spaces is a dash.
    fn is_dash(&self) -> bool {
        let is_space = |position: usize| self.at(position).is_none_or(char::is_whitespace);
        self.position >= 2 && is_space(self.position - 2) && is_space(self.position)
    }

    /// A full stop within a name or an abbreviation ends nothing.
    fn mark_ends_sentence(&self, mark: char) -> bool {
        let mut next = self.position + 1;
        while self.at(next).is_some_and(|c| matches!(c, '"' | '\'' | '”' | '’' | ')' | '.' | '!' | '?')) {
            next += 1;
        }
        match self.at(next) {
            None => true,
            Some(character) if !character.is_whitespace() => matches!(mark, '。' | '！' | '？'),
            Some(_) if mark != '.' => true,
            Some(_) => {
                let rest = self.characters.get(next..).unwrap_or_default();
                let first = rest.iter().map(|(_, character)| *character).find(|c| !c.is_whitespace());
                !first.is_some_and(char::is_lowercase)
            }
        }
    }

    /// A line break ends a sentence unless the line was wrapped: it is long, or ends with a word like "the", and the next
    /// line goes on in lower case.
    fn newline_ends_sentence(&self, last: Option<&Token>) -> bool {
        let before = self.characters.get(..self.position).unwrap_or_default();
        let line_chars = before.iter().rev().take_while(|(_, character)| *character != '\n').count();
        let goes_on = self.at(self.position + 1).is_some_and(char::is_lowercase);
        let is_open = last.is_some_and(|token| {
            token.kind == TokenKind::Word
                && (cues::is_function_word(&token.text) || cues::is_negation(&token.text))
        });
        !(goes_on && (line_chars >= WRAPPED_LINE_CHARS || is_open))
    }
}
