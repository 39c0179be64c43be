//! The language of a question: its function words, and how the forms of its words are recognised.
//!
//! The language is that of the question, not of the memories, since a question is a sentence more often. Nothing on
//! disk depends on it: forms are compared with the words of the index when a question is asked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

use super::words;

/// A language with a stemmer and a list of function words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Language {
    code: &'static str,
    algorithm: Algorithm,
}

const ENGLISH: Language = Language { code: "en", algorithm: Algorithm::English };

/// The languages that are recognised. English is first, so it wins a tie.
const LANGUAGES: [Language; 14] = [
    ENGLISH,
    Language { code: "da", algorithm: Algorithm::Danish },
    Language { code: "de", algorithm: Algorithm::German },
    Language { code: "es", algorithm: Algorithm::Spanish },
    Language { code: "fi", algorithm: Algorithm::Finnish },
    Language { code: "fr", algorithm: Algorithm::French },
    Language { code: "hu", algorithm: Algorithm::Hungarian },
    Language { code: "it", algorithm: Algorithm::Italian },
    Language { code: "nl", algorithm: Algorithm::Dutch },
    Language { code: "no", algorithm: Algorithm::Norwegian },
    Language { code: "pt", algorithm: Algorithm::Portuguese },
    Language { code: "ru", algorithm: Algorithm::Russian },
    Language { code: "sv", algorithm: Algorithm::Swedish },
    Language { code: "tr", algorithm: Algorithm::Turkish },
];

/// For each function word, a bit for each language that has it.
static FUNCTION_WORDS: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
    let mut languages_of: HashMap<&'static str, u16> = HashMap::new();
    for (number, language) in LANGUAGES.iter().enumerate() {
        for word in stop_words::lookup(language.code).unwrap_or_default() {
            *languages_of.entry(word).or_default() |= 1 << number;
        }
    }
    languages_of
});

impl Language {
    /// The language that most of the words are function words of; English if no other has more.
    pub fn detect(words: &[String]) -> Language {
        let mut counts = [0_usize; LANGUAGES.len()];
        for word in words {
            let languages = FUNCTION_WORDS.get(word.as_str()).copied().unwrap_or_default();
            for (number, count) in counts.iter_mut().enumerate() {
                *count += usize::from(languages >> number & 1);
            }
        }
        let mut best = (0, ENGLISH);
        for (count, language) in counts.into_iter().zip(LANGUAGES) {
            if count > best.0 {
                best = (count, language);
            }
        }
        best.1
    }

    /// Whether a question that has other words leaves this one out. English has a shorter list of its own, which
    /// every kind of search uses.
    pub fn is_stop_word(self, word: &str) -> bool {
        words::is_stop_word(word)
            || (self != ENGLISH
                && stop_words::lookup(self.code).is_some_and(|function_words| function_words.contains(&word)))
    }

    /// A stemmer for the language.
    pub fn stemmer(self) -> WordStemmer {
        WordStemmer(Stemmer::new(self.algorithm))
    }
}

/// Reduces words to the stem that all forms of a word share.
pub(crate) struct WordStemmer(Stemmer);

impl WordStemmer {
    /// The stem of a word in lower case.
    pub fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        self.0.stem(word)
    }

    /// The beginning that a word has in common with its other forms: one letter less than with its stem, since the
    /// last letter of a stem may change ("studies" and "study" have the stem "studi"). `None` if it is so short that
    /// too many words begin with it.
    pub fn common_prefix<'a>(&self, word: &'a str) -> Option<&'a str> {
        const MIN_CHARS: usize = 2;
        let stem = self.stem(word);
        let common = word.chars().zip(stem.chars()).take_while(|(a, b)| a == b).count();
        (common >= MIN_CHARS).then(|| char_prefix(word, common.saturating_sub(1).max(MIN_CHARS)))
    }
}

/// The first characters of a word, at most `count`.
pub(crate) fn char_prefix(word: &str, count: usize) -> &str {
    let end = word.char_indices().nth(count).map_or(word.len(), |(at, _)| at);
    word.get(..end).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::super::words::collect_words;
    use super::*;

    fn language_of(text: &str) -> &'static str {
        Language::detect(&collect_words(text)).code
    }

    #[test]
    fn question_words_show_language() {
        for (text, code) in [
            ("When did Caroline go to the support group?", "en"),
            ("rate limit postgres", "en"),
            ("", "en"),
            ("Wann war das letzte Treffen mit der Gruppe?", "de"),
            ("¿Cuándo fue la última reunión con el grupo?", "es"),
            ("Quelle est la limite de nos serveurs ?", "fr"),
            ("Когда была последняя встреча с группой?", "ru"),
        ] {
            assert_eq!(language_of(text), code, "{text}");
        }
    }

    #[test]
    fn every_language_has_function_words() {
        for language in LANGUAGES {
            assert!(stop_words::lookup(language.code).is_some_and(|words| words.len() > 40), "{language:?}");
        }
    }

    #[test]
    fn stop_words_are_those_of_the_language() {
        let german = Language::detect(&collect_words("Wann war das letzte Treffen mit der Gruppe?"));
        assert!(german.is_stop_word("mit") && !german.is_stop_word("gruppe"));
        assert!(ENGLISH.is_stop_word("with") && !ENGLISH.is_stop_word("mit") && !ENGLISH.is_stop_word("not"));
    }

    #[test]
    fn forms_share_a_prefix() {
        let stemmer = ENGLISH.stemmer();
        for forms in
            [["study", "studies", "studying"], ["use", "used", "using"], ["carry", "carried", "carrying"]]
        {
            for word in forms {
                let prefix = stemmer.common_prefix(word).unwrap();
                assert!(forms.iter().all(|form| form.starts_with(prefix)), "{word} {prefix}");
                assert_eq!(stemmer.stem(word), stemmer.stem(forms[0]));
            }
        }
        assert_eq!(stemmer.common_prefix("x"), None);
        assert_eq!(stemmer.common_prefix("東京"), Some("東京"));
    }
}
