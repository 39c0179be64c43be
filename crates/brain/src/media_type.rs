//! Media types of evidence.

use quad_core::Result;
use quad_core::text::truncate;

use crate::errors::invalid;
use crate::limits;

/// Names that callers send instead of a media type, each with the media type of such a document.
const COMMON_NAMES: [(&str, &str); 16] = [
    ("camt", "application/xml"),
    ("csv", "text/csv"),
    ("eml", "message/rfc822"),
    ("hledger", "text/plain"),
    ("html", "text/html"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("ledger", "text/plain"),
    ("md", "text/markdown"),
    ("ofx", "application/x-ofx"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("qfx", "application/x-ofx"),
    ("text", "text/plain"),
    ("txt", "text/plain"),
    ("xml", "application/xml"),
];

/// The media type, if the text is one: `type/subtype`, with parameters after semicolons.
pub(crate) fn check(field: &str, text: &str) -> Result<String> {
    let text = text.trim();
    if text.chars().count() > limits::MEDIA_TYPE_CHARS {
        return Err(invalid(field, format!("must have at most {} characters", limits::MEDIA_TYPE_CHARS))
            .hint(EXAMPLES_HINT));
    }
    if is_media_type(text) {
        return Ok(text.to_owned());
    }
    let name = text.trim_start_matches('.').to_ascii_lowercase();
    let hint = COMMON_NAMES
        .iter()
        .find(|(common, _)| *common == name)
        .map_or_else(|| EXAMPLES_HINT.to_owned(), |(_, media_type)| format!("Use {media_type}"));
    Err(invalid(field, format!("'{}' is not a media type", truncate(text, 80))).hint(hint))
}

const EXAMPLES_HINT: &str =
    "Use a media type such as text/csv, application/x-ofx, application/xml, application/pdf or text/plain";

fn is_media_type(text: &str) -> bool {
    let mut parts = text.split(';');
    let Some((kind, subtype)) = parts.next().and_then(|essence| essence.trim_end().split_once('/')) else {
        return false;
    };
    is_name(kind) && is_name(subtype) && parts.all(is_parameter)
}

/// Whether a text is a type or a subtype as in RFC 6838.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c))
}

/// Whether a text is `name=value`; the value may be in quotes.
fn is_parameter(text: &str) -> bool {
    let Some((name, value)) = text.trim().split_once('=') else { return false };
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let is_value = match quoted {
        Some(value) => value.chars().all(|c| !c.is_control() && c != '"'),
        None => !value.is_empty() && value.chars().all(|c| c.is_ascii_graphic() && c != '"'),
    };
    is_name(name) && is_value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_accepted_with_parameters() {
        for text in [
            "text/csv",
            "text/csv; charset=utf-8",
            "text/csv;charset=\"utf-8\";header=present",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "image/svg+xml",
            "Application/JSON",
        ] {
            assert_eq!(check("mime_type", text).unwrap(), text);
        }
        assert_eq!(check("mime_type", " text/csv ").unwrap(), "text/csv");
    }

    #[test]
    fn other_texts_are_refused_with_a_media_type_to_use() {
        for (text, expected) in [
            ("csv", "Use text/csv"),
            (".CSV", "Use text/csv"),
            ("PDF", "Use application/pdf"),
            ("bank statement", EXAMPLES_HINT),
            ("", EXAMPLES_HINT),
            ("text/", EXAMPLES_HINT),
            ("/csv", EXAMPLES_HINT),
            ("text/csv/x", EXAMPLES_HINT),
            ("text/csv;", EXAMPLES_HINT),
            ("text/csv; charset", EXAMPLES_HINT),
            ("text/csv; charset=\"a", EXAMPLES_HINT),
            ("text/c\u{0}", EXAMPLES_HINT),
            ("texte/é", EXAMPLES_HINT),
            (&format!("text/{}", "x".repeat(limits::MEDIA_TYPE_CHARS)), EXAMPLES_HINT),
        ] {
            let error = check("mime_type", text).unwrap_err();
            assert_eq!(error.hint_text(), Some(expected), "{text}");
        }
    }
}
