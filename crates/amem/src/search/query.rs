//! The query language of text search: `word`, `"an exact phrase"` and `prefix*`, any of which may match.
//!
//! Everything else separates words; there are no operators and no syntax errors. An unpaired quote is a separator
//! too.

use std::ops::Range;

use quad_core::{Error, Result};

use super::bm25::TermStats;
use super::limits::{COMPARED_TEXT_BYTES, PHRASE_WORDS, QUERY_BYTES, QUERY_CLAUSES};
use super::words::{self, WordScanner};

/// A part of a query. Words are indexes into [`Query::terms`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Word(usize),
    Phrase(Vec<usize>),
    Prefix(String),
}

/// A parsed query with at least one clause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    clauses: Vec<Clause>,
    terms: Vec<String>,
    /// Groups of terms that are forms of one word: each is as rare as all of them together.
    forms: Vec<Vec<usize>>,
}

impl Query {
    /// Parses a query.
    pub fn parse(text: &str) -> Result<Query> {
        if text.len() > QUERY_BYTES {
            return Err(Error::bad_input(format!(
                "The query has {} bytes; the maximum is {QUERY_BYTES}",
                text.len()
            ))
            .hint("Search for a few words of it"));
        }
        let mut query = Query::default();
        let mut stop_words = Vec::new();
        let mut rest = text;
        while let Some((unquoted, quoted, tail)) = split_at_quotes(rest) {
            query.add_words(unquoted, &mut stop_words);
            query.add_phrase(quoted)?;
            rest = tail;
        }
        query.add_words(rest, &mut stop_words);
        if query.clauses.is_empty() {
            for word in stop_words {
                query.add_word(&word);
            }
        }
        query.validated()
    }

    /// Makes every word of a claim a clause, up to the maximum number.
    pub fn from_claim(claim: &str) -> Result<Query> {
        if claim.len() > COMPARED_TEXT_BYTES {
            return Err(Error::bad_input(format!(
                "The text has {} bytes; the maximum is {COMPARED_TEXT_BYTES}",
                claim.len()
            ))
            .hint("Shorten the text"));
        }
        let mut query = Query::default();
        let all = words::collect_words(claim);
        let significant = all.iter().filter(|word| !words::is_stop_word(word));
        for word in significant {
            if query.clauses.len() < QUERY_CLAUSES {
                query.add_word(word);
            }
        }
        if query.clauses.is_empty() {
            for word in all.iter().take(QUERY_CLAUSES) {
                query.add_word(word);
            }
        }
        query.validated()
    }

    fn validated(self) -> Result<Query> {
        if self.clauses.is_empty() {
            return Err(Error::bad_input("The query contains no word")
                .hint("Use words, \"a phrase\" or a prefix*; words are letters and digits"));
        }
        if self.clauses.len() > QUERY_CLAUSES {
            return Err(Error::bad_input(format!(
                "The query has {} different words and phrases; the maximum is {QUERY_CLAUSES}",
                self.clauses.len()
            ))
            .hint("Leave out common words"));
        }
        Ok(self)
    }

    fn add_words(&mut self, text: &str, stop_words: &mut Vec<String>) {
        let mut scanner = WordScanner::new(text);
        while scanner.advance() {
            let word = scanner.word();
            if text.get(scanner.span().end..).is_some_and(|rest| rest.starts_with('*')) {
                let clause = Clause::Prefix(word.to_owned());
                self.add(clause);
            } else if words::is_stop_word(word) {
                stop_words.push(word.to_owned());
            } else {
                let word = word.to_owned();
                self.add_word(&word);
            }
        }
    }

    fn add_phrase(&mut self, text: &str) -> Result<()> {
        let phrase = words::collect_words(text);
        match phrase.as_slice() {
            [] => {}
            [word] => self.add_word(word),
            _ if phrase.len() > PHRASE_WORDS => {
                return Err(Error::bad_input(format!(
                    "A phrase has {} words; the maximum is {PHRASE_WORDS}",
                    phrase.len()
                ))
                .hint("Shorten the phrase, or remove its quotes"));
            }
            _ => {
                let terms = phrase.iter().map(|word| self.term_index(word)).collect();
                self.add(Clause::Phrase(terms));
            }
        }
        Ok(())
    }

    fn add_word(&mut self, word: &str) {
        let term = self.term_index(word);
        self.add(Clause::Word(term));
    }

    fn add(&mut self, clause: Clause) {
        if !self.clauses.contains(&clause) {
            self.clauses.push(clause);
        }
    }

    fn term_index(&mut self, word: &str) -> usize {
        match self.terms.iter().position(|term| term == word) {
            Some(index) => index,
            None => {
                self.terms.push(word.to_owned());
                self.terms.len() - 1
            }
        }
    }

    /// Adds a clause for each form of one word. Returns the clauses, by their position.
    pub(crate) fn add_forms(&mut self, forms: &[String]) -> Range<usize> {
        let first = self.clauses.len();
        let terms: Vec<usize> = forms.iter().map(|form| self.term_index(form)).collect();
        self.clauses.extend(terms.iter().map(|term| Clause::Word(*term)));
        self.forms.push(terms);
        first..self.clauses.len()
    }

    /// Adds a clause of another query. Returns its position.
    pub(crate) fn add_clause_of(&mut self, other: &Query, clause: &Clause) -> usize {
        let mut own_term = |term: &usize| self.term_index(other.terms.get(*term).map_or("", String::as_str));
        let clause = match clause {
            Clause::Word(term) => Clause::Word(own_term(term)),
            Clause::Phrase(terms) => Clause::Phrase(terms.iter().map(own_term).collect()),
            Clause::Prefix(prefix) => Clause::Prefix(prefix.clone()),
        };
        self.clauses.push(clause);
        self.clauses.len() - 1
    }

    /// Replaces the frequency of each form of a word by the frequency of the word: the sum over its forms.
    pub(crate) fn merge_forms(&self, stats: &mut TermStats) {
        let doc_freq = stats.doc_freq.clone();
        let of = |term: &usize| doc_freq.get(*term).copied().unwrap_or_default();
        for forms in &self.forms {
            let sum = forms.iter().map(of).sum::<u64>().min(stats.docs);
            for term in forms {
                if let Some(slot) = stats.doc_freq.get_mut(*term) {
                    *slot = sum;
                }
            }
        }
    }

    pub(crate) fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The distinct terms of all words and phrases.
    pub(crate) fn terms(&self) -> &[String] {
        &self.terms
    }

    /// A clause in the query language.
    pub(crate) fn clause_text(&self, clause: &Clause) -> String {
        let word = |term: &usize| self.terms.get(*term).map_or("", String::as_str);
        match clause {
            Clause::Word(term) => word(term).to_owned(),
            Clause::Phrase(terms) => format!("\"{}\"", terms.iter().map(word).collect::<Vec<_>>().join(" ")),
            Clause::Prefix(prefix) => format!("{prefix}*"),
        }
    }
}

/// The text before, within and after the first pair of quotes.
fn split_at_quotes(text: &str) -> Option<(&str, &str, &str)> {
    let (unquoted, rest) = text.split_once('"')?;
    let (quoted, tail) = rest.split_once('"')?;
    Some((unquoted, quoted, tail))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse_to_texts(text: &str) -> Vec<String> {
        let query = Query::parse(text).unwrap();
        query.clauses.iter().map(|clause| query.clause_text(clause)).collect()
    }

    #[test]
    fn words_phrases_and_prefixes() {
        assert_eq!(parse_to_texts("The Rate limit"), ["rate", "limit"]);
        assert_eq!(
            parse_to_texts(r#"api "The Rate-Limit" conf* api"#),
            ["api", "\"the rate limit\"", "conf*"]
        );
        assert_eq!(parse_to_texts(r#""the" x"#), ["the"]);
        assert_eq!(parse_to_texts("to be or not to be"), ["not"]);
        assert_eq!(parse_to_texts("to be"), ["to", "be"]);
        assert_eq!(parse_to_texts("a*"), ["a*"]);
    }

    #[test]
    fn unpaired_quote_separates_words() {
        assert_eq!(parse_to_texts(r#"5" disk"#), ["disk"]);
        assert_eq!(parse_to_texts(r#""one two" three" four"#), ["\"one two\"", "three", "four"]);
    }

    #[test]
    fn invalid_queries_return_specific_errors() {
        let error_message = |text: &str| Query::parse(text).unwrap_err().message().to_owned();
        assert!(error_message("").contains("no word"));
        assert!(error_message("\"\" ?! **").contains("no word"));
        assert!(error_message(&"!".repeat(10_000)).contains("10000 bytes"));
        let many_words: Vec<String> = (0..100).map(|n| format!("word{n}")).collect();
        assert!(error_message(&many_words.join(" ")).contains("100 different"));
        assert!(error_message(&format!("\"{}\"", "w ".repeat(50))).contains("50 words"));
        assert!(Query::from_claim(&"x".repeat(70_000)).is_err());
        assert_eq!(Query::from_claim(&many_words.join(" ")).unwrap().clauses().len(), QUERY_CLAUSES);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in any::<String>()) {
            let _ = Query::parse(&text);
            let _ = Query::from_claim(&text);
        }

        #[test]
        fn arbitrary_syntax_does_not_panic(text in "[\"* a-cé]{0,40}") {
            let _ = Query::parse(&text);
        }
    }
}
