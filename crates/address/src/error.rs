//! What can be wrong with a URI that a caller sent.
//!
//! Display is one sentence about the caller's string; [`AddressError::hint`] is what to do next.
//! Neither repeats more than a few words of the input, nor any control character: an error is read
//! by a model, and must not carry text that a stranger put into a URI.

use thiserror::Error;

use crate::limits::ECHO_CHARS_MAX;

/// Why a URI is not an address. Offsets are bytes of the string as sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Longer than any address may be, as sent or in canonical form.
    #[error("the URI is {bytes} bytes long when percent-encoded, more than the {max} allowed")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// Not `scheme://path` at all.
    #[error("the URI is malformed: {reason}")]
    NotAUri {
        /// What is malformed.
        reason: UriSyntaxError,
    },
    /// A `%` without two hexadecimal digits.
    #[error("the URI has a `%` without two hexadecimal digits at byte {offset}")]
    BadEscape {
        /// Where the `%` is.
        offset: usize,
    },
    /// Escapes that spell no UTF-8.
    #[error("the URI's percent escapes are not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// Where the invalid sequence begins.
        offset: usize,
    },
    /// A control character, raw or escaped.
    #[error("the URI has a control character at byte {offset}")]
    ControlCharacter {
        /// Where it is.
        offset: usize,
    },
    /// A `#`.
    #[error("the URI has a fragment (`#`)")]
    Fragment,
    /// An `@` before the first slash.
    #[error("the URI has user information (`@`) before its first slash")]
    UserInfo,
    /// A doubled, leading or trailing slash.
    #[error("the URI has an empty path segment at byte {offset}")]
    EmptySegment {
        /// Where the segment would be.
        offset: usize,
    },
    /// `.` or `..` as a path segment, also if escaped.
    #[error("the URI has a `.` or `..` path segment at byte {offset}")]
    DotSegment {
        /// Where the segment begins.
        offset: usize,
    },
    /// No template has this scheme.
    #[error("the scheme `{}` is not served here", sanitize(scheme))]
    UnknownScheme {
        /// The scheme, lower-case, cut to a bounded length.
        scheme: String,
        /// The scheme that it resembles.
        closest: Option<String>,
        /// All schemes that are served, sorted.
        schemes: Vec<String>,
    },
    /// The scheme is known, but no template matches the path.
    #[error("the URI matches no template of its scheme")]
    NoTemplate {
        /// Up to three templates that it resembles.
        closest: Vec<String>,
    },
    /// More query keys than any address has.
    #[error("the URI has more than {max} query keys")]
    TooManyKeys {
        /// How many it may have.
        max: usize,
    },
    /// A query key that the template does not declare.
    #[error("`{}` is not a query key of this address", sanitize(key))]
    UnknownKey {
        /// The key, cut to a bounded length.
        key: String,
        /// The keys that the template declares.
        declared: Vec<String>,
        /// The one that it resembles.
        closest: Option<String>,
    },
    /// A query key given twice.
    #[error("the query key `{}` is given more than once", sanitize(key))]
    DuplicateKey {
        /// The key, cut to a bounded length.
        key: String,
    },
    /// A value outside its grammar.
    #[error("`{}` must be {expected}", sanitize(name))]
    BadVariable {
        /// The variable's name in the template, or the query key.
        name: String,
        /// What the grammar wants.
        expected: String,
        /// Where the vocabulary is closed, the word that the value resembles.
        closest: Option<String>,
    },
}

/// What makes a string no URI of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UriSyntaxError {
    /// The empty string.
    #[error("it is empty")]
    Empty,
    /// No `://`.
    #[error("it has no `://`")]
    NoScheme,
    /// Something else than a scheme before `://`.
    #[error("what stands before `://` is not a scheme")]
    BadScheme,
    /// A raw space.
    #[error("it has a space at byte {offset}")]
    Space {
        /// Where it is.
        offset: usize,
    },
    /// A raw brace in the path: most often a template that was not expanded.
    #[error("it has an unexpanded `{{` or `}}` at byte {offset}")]
    Brace {
        /// Where it is.
        offset: usize,
    },
}

impl AddressError {
    /// What the caller can do next, where that is more than reading the message.
    pub fn hint(&self) -> Option<String> {
        match self {
            AddressError::TooLong { .. } | AddressError::TooManyKeys { .. } => None,
            AddressError::NotAUri { reason } => Some(reason.hint().to_owned()),
            AddressError::BadEscape { .. } => Some("write a percent sign itself as %25".to_owned()),
            AddressError::NotUtf8 { .. } => Some("percent-encode the UTF-8 bytes of the text".to_owned()),
            AddressError::ControlCharacter { .. } => Some("remove it; no address holds one".to_owned()),
            AddressError::Fragment => {
                Some("remove the fragment, or write the character as %23 if it is part of a value".to_owned())
            }
            AddressError::UserInfo => {
                Some("remove it; who asks is known from the credential alone".to_owned())
            }
            AddressError::EmptySegment { .. } => {
                Some("remove the doubled or trailing slash, or fill in the missing value".to_owned())
            }
            AddressError::DotSegment { .. } => Some("write the address in full".to_owned()),
            AddressError::UnknownScheme { closest: Some(nearest), .. } => Some(did_you_mean(nearest)),
            AddressError::UnknownScheme { schemes, .. } => {
                Some(format!("the schemes are {}", schemes.join(", ")))
            }
            AddressError::NoTemplate { closest: nearest } => (!nearest.is_empty()).then(|| {
                let noun = if nearest.len() == 1 { "template" } else { "templates" };
                format!("nearest {noun}: {}", nearest.join(", "))
            }),
            AddressError::UnknownKey { closest: Some(nearest), .. } => Some(did_you_mean(nearest)),
            AddressError::UnknownKey { declared, .. } if declared.is_empty() => {
                Some("this address takes no query".to_owned())
            }
            AddressError::UnknownKey { declared, .. } => {
                Some(format!("its query keys: {}", declared.join(", ")))
            }
            AddressError::DuplicateKey { .. } => Some("give each query key once".to_owned()),
            AddressError::BadVariable { closest: nearest, .. } => nearest.as_deref().map(did_you_mean),
        }
    }
}

impl UriSyntaxError {
    fn hint(self) -> &'static str {
        match self {
            UriSyntaxError::Empty | UriSyntaxError::NoScheme => "an address is written scheme://path",
            UriSyntaxError::BadScheme => "a scheme is a letter, then letters, digits, +, - or .",
            UriSyntaxError::Space { .. } => "write a space as %20",
            UriSyntaxError::Brace { .. } => "replace each {name} of the template by a value",
        }
    }
}

fn did_you_mean(word: &str) -> String {
    format!("did you mean `{word}`?")
}

/// The caller's words, fit to be repeated: cut, and without characters that do not show.
pub(crate) fn sanitize(text: &str) -> String {
    let mut characters = text.chars();
    let mut sanitized: String = characters
        .by_ref()
        .take(ECHO_CHARS_MAX)
        .map(|c| if is_invisible(c) { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if characters.next().is_some() {
        sanitized.push('…');
    }
    sanitized
}

/// Control characters, and the marks that reorder or hide the text around them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_truncates_and_sanitizes_input() {
        let long = "k".repeat(5000);
        let error = AddressError::DuplicateKey { key: long };
        assert!(error.to_string().chars().count() < 130, "{error}");
        let hidden = AddressError::DuplicateKey { key: "a\n\u{202e}b".to_owned() };
        assert_eq!(hidden.to_string(), "the query key `a\u{fffd}\u{fffd}b` is given more than once");
    }

    #[test]
    fn sanitize_is_idempotent() {
        let sanitized = sanitize(&"x".repeat(100));
        assert_eq!(sanitized.chars().count(), ECHO_CHARS_MAX + 1);
        assert_eq!(sanitize(&sanitized), sanitized);
        assert_eq!(sanitize(&"x".repeat(ECHO_CHARS_MAX)), "x".repeat(ECHO_CHARS_MAX));
    }
}
