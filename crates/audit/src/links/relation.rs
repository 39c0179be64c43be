//! The relation of a link.
//!
//! Some relations are predefined, so that independent agents use the same ones; any other short lowercase name is
//! accepted. A link reads from its source to its target: `from` *supports* `to`.

use quad_core::{Error, Result};

/// The predefined relations with their descriptions.
pub(crate) const KNOWN: [(&str, &str); 10] = [
    ("cites", "the source refers to the target"),
    ("supports", "the source is evidence for the target"),
    ("contradicts", "the source speaks against the target"),
    ("derived_from", "the source was made from the target"),
    ("explains", "the source says why the target is as it is"),
    ("about", "the source is about the target"),
    ("implements", "the source carries out the target"),
    ("depends_on", "the source needs the target"),
    ("supersedes", "the source replaces the target"),
    ("related_to", "any other association"),
];

/// The relation of a link without an explicit one.
pub(crate) const DEFAULT: &str = KNOWN[0].0;

/// The grammar of a relation, as a regular expression.
pub(crate) const PATTERN: &str = "^[a-z][a-z0-9_]{0,31}$";

const RELATION_LEN_MAX: usize = 32;

/// A relation that matches the grammar.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Relation(Box<str>);

impl Relation {
    /// Parses a relation.
    pub(crate) fn parse(text: &str) -> Result<Relation> {
        let mut bytes = text.bytes();
        let starts_with_letter = bytes.next().is_some_and(|first| first.is_ascii_lowercase());
        let rest_is_valid =
            bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if starts_with_letter && rest_is_valid && text.len() <= RELATION_LEN_MAX {
            return Ok(Relation(text.into()));
        }
        let words = KNOWN.map(|(word, _)| word);
        let hint = match quad_core::closest(text, words) {
            Some(near) => format!("The nearest known relation is {near}"),
            None => format!("Use one of {}, or another such name", words.join(", ")),
        };
        Err(Error::bad_input(
            "A relation must be 1 to 32 characters of a-z, 0-9 and _, and begin with a letter",
        )
        .hint(hint))
    }

    /// A relation from the database.
    pub(crate) fn from_db(text: &str) -> Relation {
        Relation(text.into())
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_accepts_known_words_and_rejects_malformed() {
        let longest = "a".repeat(RELATION_LEN_MAX);
        for good in KNOWN.iter().map(|(word, _)| *word).chain(["x", "paid_by_2", longest.as_str()]) {
            assert_eq!(Relation::parse(good).unwrap().as_str(), good);
        }
        let long = "a".repeat(RELATION_LEN_MAX + 1);
        for bad in ["", "Cites", "1st", "_x", "a b", "a-b", "é", long.as_str()] {
            assert_eq!(Relation::parse(bad).unwrap_err().code(), "VALIDATION_ERROR", "{bad}");
        }
        let near = Relation::parse("Cites").unwrap_err();
        assert_eq!(near.hint_text(), Some("The nearest known relation is cites"));
    }
}
