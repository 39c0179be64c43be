//! What a caller may ask for in words: `word`, `"an exact phrase"` and `prefix*`, any of which may match.
//!
//! Everything else in a query separates words; there is no operator to get wrong. A quote without its partner is such a
//! separator.

use quad_core::{Error, Result};

use super::limits::{PHRASE_WORDS, PROBE_BYTES, QUERY_BYTES, QUERY_CLAUSES};
use super::words::{self, Words};

/// One thing to look for. Words are numbers into [`Query::terms`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Word(usize),
    Phrase(Vec<usize>),
    Prefix(String),
}

/// A parsed query: at least one clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    clauses: Vec<Clause>,
    terms: Vec<String>,
}

impl Query {
    /// Reads a query.
    pub fn parse(text: &str) -> Result<Query> {
        if text.len() > QUERY_BYTES {
            return Err(Error::bad_input(format!(
                "The query has {} bytes; at most {QUERY_BYTES} are searched for",
                text.len()
            ))
            .hint("Search for a few words of it"));
        }
        let mut query = Query { clauses: Vec::new(), terms: Vec::new() };
        let mut little = Vec::new();
        let mut rest = text;
        while let Some((loose, quoted, tail)) = split_at_quotes(rest) {
            query.add_loose(loose, &mut little);
            query.add_phrase(quoted)?;
            rest = tail;
        }
        query.add_loose(rest, &mut little);
        if query.clauses.is_empty() {
            for word in little {
                query.add_word(&word);
            }
        }
        query.checked()
    }

    /// Takes every word of a claim as a clause of its own, the first ones if they are very many.
    pub fn of_claim(claim: &str) -> Result<Query> {
        if claim.len() > PROBE_BYTES {
            return Err(Error::bad_input(format!(
                "The text has {} bytes; at most {PROBE_BYTES} can be compared",
                claim.len()
            ))
            .hint("Shorten it to what matters"));
        }
        let mut query = Query { clauses: Vec::new(), terms: Vec::new() };
        let all = words::all(claim);
        let telling = all.iter().filter(|word| !words::says_little(word));
        for word in telling {
            if query.clauses.len() < QUERY_CLAUSES {
                query.add_word(word);
            }
        }
        if query.clauses.is_empty() {
            for word in all.iter().take(QUERY_CLAUSES) {
                query.add_word(word);
            }
        }
        query.checked()
    }

    fn checked(self) -> Result<Query> {
        if self.clauses.is_empty() {
            return Err(Error::bad_input("There is no word to search for")
                .hint("Use words, \"a phrase\" or a prefix*; words are letters and digits"));
        }
        if self.clauses.len() > QUERY_CLAUSES {
            return Err(Error::bad_input(format!(
                "The query has {} different words and phrases; at most {QUERY_CLAUSES} are searched for at once",
                self.clauses.len()
            ))
            .hint("Leave out the common ones"));
        }
        Ok(self)
    }

    fn add_loose(&mut self, text: &str, little: &mut Vec<String>) {
        let mut found = Words::of(text);
        while found.advance() {
            let word = found.word();
            if text.get(found.span().end..).is_some_and(|rest| rest.starts_with('*')) {
                let clause = Clause::Prefix(word.to_owned());
                self.add(clause);
            } else if words::says_little(word) {
                little.push(word.to_owned());
            } else {
                let word = word.to_owned();
                self.add_word(&word);
            }
        }
    }

    fn add_phrase(&mut self, text: &str) -> Result<()> {
        let phrase = words::all(text);
        match phrase.as_slice() {
            [] => {}
            [word] => self.add_word(word),
            _ if phrase.len() > PHRASE_WORDS => {
                return Err(Error::bad_input(format!(
                    "A phrase has {} words; at most {PHRASE_WORDS} are searched for",
                    phrase.len()
                ))
                .hint("Shorten the phrase, or leave its quotes out"));
            }
            _ => {
                let terms = phrase.iter().map(|word| self.term(word)).collect();
                self.add(Clause::Phrase(terms));
            }
        }
        Ok(())
    }

    fn add_word(&mut self, word: &str) {
        let term = self.term(word);
        self.add(Clause::Word(term));
    }

    fn add(&mut self, clause: Clause) {
        if !self.clauses.contains(&clause) {
            self.clauses.push(clause);
        }
    }

    fn term(&mut self, word: &str) -> usize {
        match self.terms.iter().position(|term| term == word) {
            Some(at) => at,
            None => {
                self.terms.push(word.to_owned());
                self.terms.len() - 1
            }
        }
    }

    pub(crate) fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The different words of words and phrases.
    pub(crate) fn terms(&self) -> &[String] {
        &self.terms
    }

    /// A clause as a caller would write it.
    pub(crate) fn spelling(&self, clause: &Clause) -> String {
        let word = |term: &usize| self.terms.get(*term).map_or("", String::as_str);
        match clause {
            Clause::Word(term) => word(term).to_owned(),
            Clause::Phrase(terms) => format!("\"{}\"", terms.iter().map(word).collect::<Vec<_>>().join(" ")),
            Clause::Prefix(prefix) => format!("{prefix}*"),
        }
    }
}

/// What stands before, within and after the first pair of quotes.
fn split_at_quotes(text: &str) -> Option<(&str, &str, &str)> {
    let (loose, rest) = text.split_once('"')?;
    let (quoted, tail) = rest.split_once('"')?;
    Some((loose, quoted, tail))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Vec<String> {
        let query = Query::parse(text).unwrap();
        query.clauses.iter().map(|clause| query.spelling(clause)).collect()
    }

    #[test]
    fn words_phrases_and_prefixes() {
        assert_eq!(parsed("The Rate limit"), ["rate", "limit"]);
        assert_eq!(parsed(r#"api "The Rate-Limit" conf* api"#), ["api", "\"the rate limit\"", "conf*"]);
        assert_eq!(parsed(r#""the" x"#), ["the"]);
        assert_eq!(parsed("to be or not to be"), ["not"]);
        assert_eq!(parsed("to be"), ["to", "be"]);
        assert_eq!(parsed("a*"), ["a*"]);
    }

    #[test]
    fn an_unpaired_quote_separates_words() {
        assert_eq!(parsed(r#"5" disk"#), ["disk"]);
        assert_eq!(parsed(r#""one two" three" four"#), ["\"one two\"", "three", "four"]);
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused_with_a_reason() {
        let refused = |text: &str| Query::parse(text).unwrap_err().message().to_owned();
        assert!(refused("").contains("no word"));
        assert!(refused("\"\" ?! **").contains("no word"));
        assert!(refused(&"!".repeat(10_000)).contains("10000 bytes"));
        let many: Vec<String> = (0..100).map(|n| format!("word{n}")).collect();
        assert!(refused(&many.join(" ")).contains("100 different"));
        assert!(refused(&format!("\"{}\"", "w ".repeat(50))).contains("50 words"));
        assert!(Query::of_claim(&"x".repeat(70_000)).is_err());
        assert_eq!(Query::of_claim(&many.join(" ")).unwrap().clauses().len(), QUERY_CLAUSES);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in any::<String>()) {
            let _ = Query::parse(&text);
            let _ = Query::of_claim(&text);
        }

        #[test]
        fn nothing_panics_on_syntax(text in "[\"* a-cé]{0,40}") {
            let _ = Query::parse(&text);
        }
    }
}
