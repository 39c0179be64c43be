//! The errors of a URI that a caller sent.
//!
//! `Display` is one sentence about the URI; [`AddressError::hint`] says what to do next. Both repeat
//! at most [`ECHO_CHARS_MAX`] characters of the input and no control characters: a model reads the
//! error, so it must not carry injected text.

use thiserror::Error;

use crate::limits::ECHO_CHARS_MAX;

/// Why a URI is not an address. Offsets are bytes of the URI as sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Longer than the limit, as sent or in canonical form.
    #[error("The URI is {bytes} bytes long when percent-encoded, more than the {max} allowed")]
    TooLong {
        /// The length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// Not of the form `scheme://path`.
    #[error("The URI is malformed: {reason}")]
    NotAUri {
        /// The syntax error.
        reason: UriSyntaxError,
    },
    /// A `%` without two hexadecimal digits.
    #[error("The URI has a `%` without two hexadecimal digits at byte {offset}")]
    BadEscape {
        /// The offset of the `%`.
        offset: usize,
    },
    /// Escapes that do not decode to UTF-8.
    #[error("The URI's percent escapes are not UTF-8 at byte {offset}")]
    NotUtf8 {
        /// The offset of the invalid sequence.
        offset: usize,
    },
    /// A control character, raw or escaped.
    #[error("The URI has a control character at byte {offset}")]
    ControlCharacter {
        /// Its offset.
        offset: usize,
    },
    /// A `#`.
    #[error("The URI has a fragment (`#`)")]
    Fragment,
    /// An `@` before the first slash.
    #[error("The URI has user information (`@`) before its first slash")]
    UserInfo,
    /// A doubled, leading or trailing slash.
    #[error("The URI has an empty path segment at byte {offset}")]
    EmptySegment {
        /// The offset of the empty segment.
        offset: usize,
    },
    /// `.` or `..` as a path segment, escaped or not.
    #[error("The URI has a `.` or `..` path segment at byte {offset}")]
    DotSegment {
        /// The offset of the segment.
        offset: usize,
    },
    /// No template has this scheme.
    #[error("The scheme `{}` is not served here", sanitize(scheme))]
    UnknownScheme {
        /// The scheme in lower case, truncated.
        scheme: String,
        /// The closest known scheme.
        closest: Option<String>,
        /// All known schemes, sorted.
        schemes: Vec<String>,
    },
    /// The scheme is known, but no template matches the path.
    #[error("The URI matches no template of its scheme")]
    NoTemplate {
        /// Up to three similar templates.
        closest: Vec<String>,
        /// Templates of the scheme, the nearest first.
        templates: Vec<String>,
    },
    /// More query keys than the limit.
    #[error("The URI has more than {max} query keys")]
    TooManyKeys {
        /// The limit.
        max: usize,
    },
    /// A query key that the template does not declare.
    #[error("`{}` is not a query key of this address", sanitize(key))]
    UnknownKey {
        /// The key, truncated.
        key: String,
        /// The keys that the template declares.
        declared: Vec<String>,
        /// The closest declared key.
        closest: Option<String>,
    },
    /// A query key given twice.
    #[error("The query key `{}` is given more than once", sanitize(key))]
    DuplicateKey {
        /// The key, truncated.
        key: String,
    },
    /// A value that does not match its grammar.
    #[error("`{}` must be {expected}", sanitize(name))]
    BadVariable {
        /// The variable's name in the template, or the query key.
        name: String,
        /// What the grammar accepts.
        expected: String,
        /// The closest word of the grammar, if it has a closed vocabulary.
        closest: Option<String>,
    },
}

/// Why a string is not of the form `scheme://path`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UriSyntaxError {
    /// The empty string.
    #[error("it is empty")]
    Empty,
    /// No `://`.
    #[error("it has no `://`")]
    NoScheme,
    /// No valid scheme before `://`.
    #[error("the text before `://` is not a scheme")]
    BadScheme,
    /// A raw space.
    #[error("it has a space at byte {offset}")]
    Space {
        /// Its offset.
        offset: usize,
    },
    /// A raw brace in the path: usually a template that was not expanded.
    #[error("it has an unexpanded `{{` or `}}` at byte {offset}")]
    Brace {
        /// Its offset.
        offset: usize,
    },
}

impl AddressError {
    /// What the caller can do next; `None` if the message says it all.
    pub fn hint(&self) -> Option<String> {
        match self {
            AddressError::TooLong { .. } | AddressError::TooManyKeys { .. } => None,
            AddressError::NotAUri { reason } => Some(reason.hint().to_owned()),
            AddressError::BadEscape { .. } => Some("Write a percent sign itself as %25".to_owned()),
            AddressError::NotUtf8 { .. } => Some("Percent-encode the UTF-8 bytes of the text".to_owned()),
            AddressError::ControlCharacter { .. } => {
                Some("Remove it; addresses have no control characters".to_owned())
            }
            AddressError::Fragment => {
                Some("Remove the fragment, or write the character as %23 if it is part of a value".to_owned())
            }
            AddressError::UserInfo => Some("Remove it; the credential identifies the caller".to_owned()),
            AddressError::EmptySegment { .. } => {
                Some("Remove the doubled or trailing slash, or fill in the missing value".to_owned())
            }
            AddressError::DotSegment { .. } => {
                Some("Write the path without `.` and `..` segments".to_owned())
            }
            AddressError::UnknownScheme { closest: Some(closest), .. } => Some(did_you_mean(closest)),
            AddressError::UnknownScheme { schemes, .. } => {
                Some(format!("Use one of the schemes {}", schemes.join(", ")))
            }
            AddressError::NoTemplate { closest, templates } => match closest.as_slice() {
                [] => Some(format!("Use one of the templates {}", templates.join(", "))),
                [one] => Some(format!("Use {one}, the nearest template")),
                several => Some(format!("Use one of the nearest templates {}", several.join(", "))),
            },
            AddressError::UnknownKey { closest: Some(closest), .. } => Some(did_you_mean(closest)),
            AddressError::UnknownKey { declared, .. } if declared.is_empty() => {
                Some("Remove the query; this address has none".to_owned())
            }
            AddressError::UnknownKey { declared, .. } => {
                Some(format!("Use one of the query keys {}", declared.join(", ")))
            }
            AddressError::DuplicateKey { .. } => Some("Give each query key once".to_owned()),
            AddressError::BadVariable { closest, .. } => closest.as_deref().map(did_you_mean),
        }
    }
}

impl UriSyntaxError {
    fn hint(self) -> &'static str {
        match self {
            UriSyntaxError::Empty | UriSyntaxError::NoScheme => "Write the address as scheme://path",
            UriSyntaxError::BadScheme => {
                "Start the scheme with a letter; letters, digits, +, - and . may follow"
            }
            UriSyntaxError::Space { .. } => "Write a space as %20",
            UriSyntaxError::Brace { .. } => "Replace each {name} of the template by a value",
        }
    }
}

fn did_you_mean(word: &str) -> String {
    format!("Did you mean `{word}`?")
}

/// Text of the caller for use in an error: truncated, with invisible characters replaced.
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

/// Whether a character is a control character or a mark that hides or reorders text.
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
        assert_eq!(hidden.to_string(), "The query key `a\u{fffd}\u{fffd}b` is given more than once");
    }

    #[test]
    fn sanitize_is_idempotent() {
        let sanitized = sanitize(&"x".repeat(100));
        assert_eq!(sanitized.chars().count(), ECHO_CHARS_MAX + 1);
        assert_eq!(sanitize(&sanitized), sanitized);
        assert_eq!(sanitize(&"x".repeat(ECHO_CHARS_MAX)), "x".repeat(ECHO_CHARS_MAX));
    }
}
