//! The scope of negations, conditions and contrasts within a sentence.

use std::ops::Range;

use super::lexer::{RawSentence, Token, TokenKind};
use super::{Mark, cues};

/// The mark of each token.
pub(super) fn marks(sentence: &RawSentence) -> Vec<Mark> {
    let mut marks = vec![Mark { is_hedged: sentence.is_question, ..Mark::default() }; sentence.tokens.len()];
    for clause in clauses(&sentence.tokens) {
        Clause { tokens: &sentence.tokens, range: clause, marks: &mut marks }.apply();
    }
    marks
}

/// The clauses of a sentence. A comma begins one only if a subject or a finite verb follows; otherwise it separates the
/// parts of a list, which a negation covers together.
fn clauses(tokens: &[Token]) -> Vec<Range<usize>> {
    let word = |at: usize| tokens.get(at).filter(|token| token.kind == TokenKind::Word);
    let is_word =
        |at: usize, list: &[&str]| word(at).is_some_and(|token| list.contains(&token.text.as_str()));
    let mut starts = vec![0];
    for (at, token) in tokens.iter().enumerate() {
        let begins = match token.kind {
            TokenKind::Break => true,
            TokenKind::Comma => {
                let opener = starts.last().copied().unwrap_or_default();
                comma_begins_clause(tokens, at) || (opener == 0 && is_word(opener, &cues::OPENERS))
            }
            TokenKind::Word => {
                let is_pair = cues::noun_negation(&token.text, word(at + 1).map(|next| next.text.as_str()));
                let follows_not = at > 0 && is_word(at - 1, &["not"]);
                (is_pair.is_none() && !follows_not && cues::CLAUSE_WORDS.contains(&token.text.as_str()))
                    || cues::CONDITIONS.contains(&token.text.as_str())
                    || token.text == "when"
                    || (cues::CONJUNCTIONS.contains(&token.text.as_str()) && is_word(at + 1, &cues::SUBJECTS))
            }
        };
        if begins && at > 0 {
            starts.push(at);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([tokens.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

fn comma_begins_clause(tokens: &[Token], comma: usize) -> bool {
    let rest = tokens.get(comma + 1..).unwrap_or_default();
    let part: Vec<&Token> = rest.iter().take_while(|token| token.kind == TokenKind::Word).collect();
    let first = part.first().map_or("", |token| token.text.as_str());
    let negates = part.iter().any(|token| cues::is_clause_negation(&token.text));
    cues::SUBJECTS.contains(&first)
        || (!negates && part.iter().any(|token| cues::AUXILIARIES.contains(&token.text.as_str())))
        || cues::NOUN_ENDS.contains(&first)
}

/// One clause, and the marks of the sentence.
struct Clause<'a> {
    tokens: &'a [Token],
    range: Range<usize>,
    marks: &'a mut [Mark],
}

impl Clause<'_> {
    fn text(&self, at: usize) -> Option<&str> {
        let token = self.tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
        self.range.contains(&at).then_some(token.text.as_str())
    }

    fn stem(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.stem.as_str())
    }

    fn negate(&mut self, range: Range<usize>) {
        for mark in self.marks.get_mut(range).into_iter().flatten() {
            mark.is_negated = !mark.is_negated;
        }
    }

    fn hedge(&mut self, range: Range<usize>) {
        self.marks.get_mut(range).into_iter().flatten().for_each(|mark| mark.is_hedged = true);
    }

    /// The first position from `from` on where the clause has a comma, or a word for which `ends` holds.
    fn end_of(&self, from: usize, ends: impl Fn(&str) -> bool) -> usize {
        let mut positions = from..self.range.end;
        positions.find(|at| self.text(*at).is_none_or(&ends)).unwrap_or(self.range.end)
    }

    /// The nouns of a contrast that begins at `from`, also after a preposition: "except in tests".
    fn nouns(&self, from: usize) -> Range<usize> {
        let is_end = |word: &str| cues::NOUN_ENDS.contains(&word);
        let first = from + usize::from(self.text(from).is_some_and(is_end));
        from..self.end_of(first, is_end)
    }

    fn apply(mut self) {
        let positions = self.range.clone();
        let has = |clause: &Self, class: fn(&str) -> bool| {
            clause.range.clone().any(|at| clause.text(at).is_some() && class(clause.stem(at)))
        };
        let changes = has(&self, cues::is_change);
        let prefers = has(&self, cues::is_preference);
        let decides = has(&self, cues::is_decision);
        self.negate_exception();
        let mut is_negated_before = false;
        for at in positions {
            let Some(word) = self.text(at).map(str::to_owned) else { continue };
            let next = self.text(at + 1).map(str::to_owned);
            let (word, next) = (word.as_str(), next.as_deref());
            let whole = self.range.clone();
            if cues::is_clause_negation(word) {
                self.negate_by(at, word, next);
                is_negated_before = true;
            } else if cues::is_forward_negation(word) {
                // "Neither … nor …" and "not … nor …" are one negation, and "No, …" answers something else.
                if next.is_some() && !(word == "nor" && is_negated_before) {
                    self.negate(at + 1..whole.end);
                    is_negated_before = true;
                }
            } else if let Some(words) = cues::noun_negation(word, next) {
                let nouns = self.nouns(at + words);
                self.negate(nouns);
            } else if word == "used" && next == Some("to") {
                self.hedge(whole);
            } else if word == "from" && changes {
                let end = self.end_of(at + 1, |word| matches!(word, "to" | "into" | "onto"));
                self.negate(at + 1..end);
            } else if (word == "over" && prefers) || (word == "against" && decides) {
                let nouns = self.nouns(at + 1);
                self.negate(nouns);
            } else if cues::is_replacement(self.stem(at)) {
                self.negate_replaced(at);
            } else if cues::is_negative(self.stem(at), next) {
                self.negate(whole);
            } else if cues::is_hedge(self.stem(at)) {
                self.hedge(whole);
            } else if cues::CONDITIONS.contains(&word) {
                let end = self.end_of(at, |_| false);
                self.hedge(at..end);
            } else if cues::PIVOTS.contains(&word) {
                let end = self.end_of(at, |_| false);
                let side = self.marks.get_mut(at + 1..end).into_iter().flatten();
                side.for_each(|mark| mark.is_second_side = true);
            }
        }
    }

    /// "Not" after a verb negates the clause; after a noun, a comma or "and" it contrasts what follows.
    fn negate_by(&mut self, at: usize, word: &str, next: Option<&str>) {
        if word == "not" && next.is_some_and(|next| ["only", "just", "merely", "simply"].contains(&next)) {
            return;
        }
        if word == "non" {
            self.negate(at + 1..(at + 2).min(self.range.end));
            return;
        }
        let before = at.checked_sub(1).filter(|before| self.range.contains(before));
        let contrasts = before.is_some_and(|before| match self.text(before) {
            None => matches!(word, "not" | "never"),
            Some(before) => {
                word == "not"
                    && !cues::AUXILIARIES.contains(&before)
                    && !cues::SUBJECTS.contains(&before)
                    && before != "but"
            }
        });
        if contrasts {
            let nouns = self.nouns(at + 1);
            self.negate(nouns);
        } else {
            self.negate(self.range.clone());
        }
    }

    /// "Every day but Friday": a `but` without a verb makes an exception from a quantifier before it.
    fn negate_exception(&mut self) {
        let start = self.range.start;
        let before = self.tokens.get(..start).unwrap_or_default();
        let follows_quantifier = before.iter().any(|token| cues::QUANTIFIERS.contains(&token.text.as_str()));
        let has_verb = self.range.clone().any(|at| {
            self.text(at)
                .is_some_and(|word| cues::AUXILIARIES.contains(&word) || cues::SUBJECTS.contains(&word))
        });
        if self.text(start) == Some("but") && follows_quantifier && !has_verb {
            let nouns = self.nouns(start + 1);
            self.negate(nouns);
        }
    }

    /// "X replaces Y", "X replaced Y with X", "Y was replaced by X": Y is what was before.
    fn negate_replaced(&mut self, at: usize) {
        let before = at.checked_sub(1).and_then(|before| self.text(before));
        let is_passive = before.is_some_and(|word| cues::PASSIVE.contains(&word));
        let replaced = if is_passive {
            self.range.start..at
        } else {
            at + 1..self.end_of(at + 1, |word| matches!(word, "with" | "by"))
        };
        self.negate(replaced);
    }
}
