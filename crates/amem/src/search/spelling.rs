//! Words of the memory that are spelled like a word that the memory does not have.
//!
//! A typing error must not hide a memory. Only an unknown word is compared, so a word that a memory has is never
//! replaced. Numbers are never similar: 1234 is not 1235.

use std::collections::BTreeSet;

use super::language::char_prefix;

/// Words shorter than this have too many similar ones.
const MIN_CHARS: usize = 4;

/// Words from this length on may have two errors.
const TWO_ERRORS_CHARS: usize = 8;

/// Letters that a similar word begins with. Errors are rare there, and few words are compared.
const SAME_CHARS: usize = 2;

/// The words of the memory that are most similar to unknown words.
pub(crate) struct SimilarWords {
    unknown: Vec<UnknownWord>,
}

struct UnknownWord {
    word: String,
    /// The errors that a similar word may have; after the first similar word, the errors of the best one.
    max_errors: usize,
    similar: BTreeSet<String>,
}

impl SimilarWords {
    /// Compares with those of the words that are long enough.
    pub fn new<'a>(unknown: impl IntoIterator<Item = &'a str>) -> SimilarWords {
        let is_comparable =
            |word: &&str| word.chars().count() >= MIN_CHARS && word.chars().all(char::is_alphabetic);
        let unknown = unknown.into_iter().filter(is_comparable).map(|word| UnknownWord {
            word: word.to_owned(),
            max_errors: if word.chars().count() < TWO_ERRORS_CHARS { 1 } else { 2 },
            similar: BTreeSet::new(),
        });
        SimilarWords { unknown: unknown.collect() }
    }

    /// The beginnings of all words that can be similar.
    pub fn prefixes(&self) -> Vec<String> {
        let prefixes: BTreeSet<&str> =
            self.unknown.iter().map(|unknown| char_prefix(&unknown.word, SAME_CHARS)).collect();
        prefixes.into_iter().map(str::to_owned).collect()
    }

    /// Compares a word of the memory.
    pub fn add(&mut self, word: &str) {
        for unknown in &mut self.unknown {
            let length_difference = word.chars().count().abs_diff(unknown.word.chars().count());
            if length_difference > unknown.max_errors
                || !word.starts_with(char_prefix(&unknown.word, SAME_CHARS))
                || !word.chars().all(char::is_alphabetic)
            {
                continue;
            }
            let errors = strsim::osa_distance(&unknown.word, word);
            if errors < unknown.max_errors {
                unknown.similar.clear();
                unknown.max_errors = errors;
            }
            if errors == unknown.max_errors {
                unknown.similar.insert(word.to_owned());
            }
        }
    }

    /// Each unknown word with the words that have the fewest errors.
    pub fn into_similar(self) -> impl Iterator<Item = (String, BTreeSet<String>)> {
        self.unknown.into_iter().map(|unknown| (unknown.word, unknown.similar))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar_to(word: &str, vocabulary: &[&str]) -> Vec<String> {
        let mut similar = SimilarWords::new([word]);
        let prefixes = similar.prefixes();
        for known in
            vocabulary.iter().filter(|known| prefixes.iter().any(|prefix| known.starts_with(prefix.as_str())))
        {
            similar.add(known);
        }
        similar.into_similar().flat_map(|(_, words)| words).collect()
    }

    #[test]
    fn words_with_fewest_errors_are_similar() {
        let vocabulary = ["connection", "connections", "correction", "collection", "conection2"];
        assert_eq!(similar_to("conection", &vocabulary), ["connection"]);
        assert_eq!(similar_to("connnections", &vocabulary), ["connections"]);
        assert_eq!(similar_to("postgrsql", &["postgres", "postgresql"]), ["postgresql"]);
        assert_eq!(similar_to("tabel", &["table", "tables", "tale"]), ["table"]);
        assert_eq!(similar_to("grün", &["grüne", "grau"]), ["grüne"]);
    }

    #[test]
    fn short_words_and_numbers_are_not_compared() {
        assert!(similar_to("cat", &["cut", "cats"]).is_empty());
        assert!(similar_to("12345", &["12346"]).is_empty());
        assert!(similar_to("port8080", &["port8081"]).is_empty());
        assert!(similar_to("gateway", &["getaway"]).is_empty(), "the second letter differs");
    }
}
