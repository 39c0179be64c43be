//! What the sentences of a text say: their words, and for each word whether it is negated, only considered, or on the
//! other side of a comparison. "We use Valkey, not Redis" has the words of "we use Redis" and says the opposite.
//!
//! [`lexer`] splits a text into sentences and tokens, [`marks`] finds the scope of negations and contrasts, [`cues`] lists
//! the words that start one, and [`compare`] compares a claim with a text. All of it is a heuristic for English, with the
//! most frequent negations of some other languages. Where it errs, it must err towards "says something else".

mod compare;
mod cues;
mod lexer;
mod marks;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};

pub(crate) use compare::{Comparison, Difference, compare};
use lexer::{RawSentence, TokenKind};

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::new(Algorithm::English));

/// How a sentence uses a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    /// An odd number of negations applies.
    pub is_negated: bool,
    /// The sentence asks, supposes, plans or remembers it.
    pub is_hedged: bool,
    /// It follows `than`, `before` or `after`: the other side of a comparison.
    pub is_second_side: bool,
}

/// A word that carries meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    /// As written, in lower case.
    pub text: String,
    /// Equal for the forms of one word.
    pub stem: String,
    pub is_number: bool,
    pub mark: Mark,
}

/// A sentence, or a line of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sentence {
    /// The bytes of the text.
    pub span: Range<usize>,
    pub words: Vec<Word>,
    /// The sentence that this one continues: it starts with a pronoun, or is a line below a heading.
    pub continues: Option<usize>,
}

/// The sentences of a text that have words.
pub(crate) fn parse(text: &str) -> Vec<Sentence> {
    lexer::sentences(text).into_iter().map(sentence).collect()
}

fn sentence(raw: RawSentence) -> Sentence {
    let marks = marks::marks(&raw);
    // "The light is on": at the end, a preposition is what is said.
    let is_particle = |at: usize| {
        matches!(raw.tokens[at].text.as_str(), "on" | "in")
            && raw.tokens.get(at + 1).is_none_or(|next| next.kind != TokenKind::Word)
    };
    let words = raw.tokens.iter().zip(marks).enumerate();
    let content = words.filter(|(at, (token, _))| {
        token.kind == TokenKind::Word && (!cues::is_function_word(&token.text) || is_particle(*at))
    });
    let words = content.map(|(_, (token, mark))| Word {
        is_number: token.text.bytes().any(|byte| byte.is_ascii_digit()),
        text: token.text.clone(),
        stem: token.stem.clone(),
        mark,
    });
    Sentence { span: raw.span, words: words.collect(), continues: raw.continues }
}

/// The stem of a word in lower case.
fn stem(word: &str) -> String {
    match cues::NUMBER_WORDS.iter().position(|name| *name == word) {
        Some(number) => number.to_string(),
        None => cues::irregular(word).map_or_else(|| STEMMER.stem(word).into_owned(), str::to_owned),
    }
}

/// The different stems of the words of a text, for comparing whole texts.
pub(crate) fn stems(text: &str) -> std::collections::BTreeSet<String> {
    parse(text).into_iter().flat_map(|sentence| sentence.words).map(|word| word.stem).collect()
}
