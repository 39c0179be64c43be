//! Grammars: the values that a variable accepts, after decoding.
//!
//! A grammar returns the canonical form of a value or rejects it. It does not check whether a
//! resource exists.

use std::borrow::Cow;

use crate::limits::{ID_BYTES_MAX, NAME_BYTES_MAX, TEXT_BYTES_MAX};

/// The values that a variable accepts, after decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// An opaque id: 1 to 64 of `A-Z a-z 0-9 _ -`. The default for a variable of one segment.
    Id,
    /// A name: the characters of an id and `.`, 1 to 128 bytes, not beginning with a dot.
    Name,
    /// A path: names joined by `/`. One leading `/` is accepted and dropped in the canonical form.
    /// The default for `{+x}`. Otherwise only for a query key, or for a whole segment `{x}` next to a
    /// `{+x}` route: a client that escapes slashes matches `{x}`, and the canonical form, with plain
    /// slashes, routes to `{+x}`.
    Slug,
    /// An unsigned 64-bit decimal number without sign or leading zeros.
    Integer,
    /// One of these words, exactly.
    OneOf(&'static [&'static str]),
    /// One of these lower-case words in any case. The canonical form is lower case.
    OneOfAnyCase(&'static [&'static str]),
    /// Any text without control characters, at most 4096 bytes. Empty only in a query.
    Text,
}

impl Grammar {
    /// The canonical form of `value`, or `None` if the grammar rejects it.
    pub fn canonicalize<'v>(&self, value: &'v str) -> Option<Cow<'v, str>> {
        let is_valid = match self {
            Grammar::Id => is_id(value),
            Grammar::Name => is_name(value),
            Grammar::Slug => {
                let path = value.strip_prefix('/').unwrap_or(value);
                return path.split('/').all(is_name).then_some(Cow::Borrowed(path));
            }
            Grammar::Integer => is_integer(value),
            Grammar::OneOf(words) => words.contains(&value),
            Grammar::OneOfAnyCase(words) => {
                let word = words.iter().find(|word| word.eq_ignore_ascii_case(value))?;
                return Some(Cow::Borrowed(*word));
            }
            Grammar::Text => value.len() <= TEXT_BYTES_MAX && !value.contains(char::is_control),
        };
        is_valid.then_some(Cow::Borrowed(value))
    }

    /// What the grammar accepts, as the end of a sentence with "must be".
    pub fn expected(&self) -> String {
        match self {
            Grammar::Id => format!("an id: 1 to {ID_BYTES_MAX} characters of A-Z, a-z, 0-9, _ and -"),
            Grammar::Name => format!(
                "a name: 1 to {NAME_BYTES_MAX} characters of A-Z, a-z, 0-9, _, - and ., not beginning with a dot"
            ),
            Grammar::Slug => "a path: names of A-Z, a-z, 0-9, _, - and . joined by /".to_owned(),
            Grammar::Integer => format!("a whole number from 0 to {}, without leading zeros", u64::MAX),
            Grammar::OneOf(words) | Grammar::OneOfAnyCase(words) => format!("one of {}", words.join(", ")),
            Grammar::Text => format!("at most {TEXT_BYTES_MAX} bytes of text without control characters"),
        }
    }

    /// The closed vocabulary, empty for an open grammar: for completions and hints.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Grammar::OneOf(words) | Grammar::OneOfAnyCase(words) => words,
            _ => &[],
        }
    }
}

fn is_id(value: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&value.len()) && value.bytes().all(is_id_byte)
}

fn is_name(value: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&value.len())
        && !value.starts_with('.')
        && value.bytes().all(|byte| is_id_byte(byte) || byte == b'.')
}

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_integer(value: &str) -> bool {
    // `parse` alone would accept `+1` and `007`: one number would have several addresses.
    value.bytes().all(|byte| byte.is_ascii_digit())
        && (value == "0" || !value.starts_with('0'))
        && value.parse::<u64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(grammar: Grammar, value: &str, expect: Option<&str>) {
        assert_eq!(grammar.canonicalize(value).as_deref(), expect, "{grammar:?} {value:?}");
    }

    #[test]
    fn accepts_valid_ids_and_names() {
        check(Grammar::Id, "org_01-X", Some("org_01-X"));
        check(Grammar::Id, &"x".repeat(64), Some(&"x".repeat(64)));
        for bad in ["", "a.b", "a/b", "a b", "é", &"x".repeat(65)] {
            check(Grammar::Id, bad, None);
        }
        check(Grammar::Name, "v1.2_final", Some("v1.2_final"));
        for bad in ["", ".hidden", "..", "a\\b", "a/b", &"x".repeat(129)] {
            check(Grammar::Name, bad, None);
        }
    }

    #[test]
    fn slugs_drop_one_leading_slash() {
        check(Grammar::Slug, "monthly-summaries/2025-09", Some("monthly-summaries/2025-09"));
        check(Grammar::Slug, "/monthly-summaries/2025-09", Some("monthly-summaries/2025-09"));
        for bad in ["", "/", "//a", "a//b", "a/", "a/../b", "./a", "a\\b", "a/.b"] {
            check(Grammar::Slug, bad, None);
        }
    }

    #[test]
    fn integers_reject_signs_and_leading_zeros() {
        for good in ["0", "7", "18446744073709551615"] {
            check(Grammar::Integer, good, Some(good));
        }
        for bad in ["", "00", "07", "+1", "-1", "1.0", "18446744073709551616", "٣", "abc"] {
            check(Grammar::Integer, bad, None);
        }
    }

    #[test]
    fn accepts_listed_words_and_bounded_text() {
        check(Grammar::OneOf(&["fact", "skill"]), "fact", Some("fact"));
        check(Grammar::OneOf(&["fact", "skill"]), "FACT", None);
        check(Grammar::OneOfAnyCase(&["fact", "skill"]), "FACT", Some("fact"));
        check(Grammar::OneOfAnyCase(&["fact", "skill"]), "facts", None);
        check(Grammar::Text, "", Some(""));
        check(Grammar::Text, "naïve / text?", Some("naïve / text?"));
        check(Grammar::Text, "a\u{7f}", None);
        check(Grammar::Text, &"x".repeat(4097), None);
    }
}
