//! Splits text into words: lower case, runs of Unicode letters and digits, none left out.
//!
//! Every word is indexed, including short and common ones, so that a phrase is found exactly as written. Only a
//! *query* leaves out stop words.

use std::ops::Range;

/// Words without meaning of their own, sorted. Negations are not included: "not" reverses a statement.
const STOP_WORDS: [&str; 60] = [
    "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "if", "in", "into",
    "is", "it", "its", "of", "on", "or", "our", "she", "should", "so", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "was", "we", "were", "what", "when", "which",
    "will", "with", "you",
];

/// Whether a query that has other words leaves this one out: a single byte or a stop word.
pub(crate) fn is_stop_word(word: &str) -> bool {
    word.len() < 2 || STOP_WORDS.binary_search(&word).is_ok()
}

/// Finds the words of a text one by one, in one buffer.
pub(crate) struct WordScanner<'a> {
    text: &'a str,
    offset: usize,
    word: String,
    span: Range<usize>,
}

impl<'a> WordScanner<'a> {
    pub fn new(text: &'a str) -> WordScanner<'a> {
        WordScanner { text, offset: 0, word: String::new(), span: 0..0 }
    }

    /// Moves to the next word, if there is one.
    pub fn advance(&mut self) -> bool {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        let Some(start) = rest.find(char::is_alphanumeric) else {
            self.offset = self.text.len();
            return false;
        };
        let run = rest.get(start..).unwrap_or_default();
        let length = run.find(|c: char| !c.is_alphanumeric()).unwrap_or(run.len());
        let run = run.get(..length).unwrap_or_default();
        self.span = self.offset + start..self.offset + start + length;
        self.offset = self.span.end;
        self.word.clear();
        if run.is_ascii() {
            self.word.push_str(run);
            self.word.make_ascii_lowercase();
        } else {
            self.word.extend(run.chars().flat_map(char::to_lowercase));
        }
        true
    }

    /// The current word, in lower case.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The byte range of the current word.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

/// All words of a text, in order.
pub(crate) fn collect_words(text: &str) -> Vec<String> {
    let mut words = WordScanner::new(text);
    let mut collected = Vec::new();
    while words.advance() {
        collected.push(words.word().to_owned());
    }
    collected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        assert_eq!(
            collect_words("The API's rate-limit: 100/min!"),
            ["the", "api", "s", "rate", "limit", "100", "min"]
        );
        assert_eq!(collect_words("Straße ÉCOLE 東京タワー ǅ"), ["straße", "école", "東京タワー", "ǆ"]);
        assert_eq!(collect_words(" \"--\" "), Vec::<String>::new());
        assert_eq!(collect_words(""), Vec::<String>::new());
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && is_stop_word("x") && !is_stop_word("not") && !is_stop_word("é"));
    }

    #[test]
    fn spans_are_byte_ranges_of_words() {
        let text = "ÄÖ ü";
        let mut words = WordScanner::new(text);
        assert!(words.advance());
        assert_eq!(&text[words.span()], "ÄÖ");
        assert!(words.advance());
        assert_eq!(&text[words.span()], "ü");
        assert!(!words.advance() && !words.advance());
    }
}
