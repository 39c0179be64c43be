//! Regular expressions whose `\s` is JavaScript's white space, which includes the byte order mark.

use regex::{Captures, Regex};

/// JavaScript's white space as a class. A class may be nested in another.
const WHITE_SPACE: &str = r"[\s\x{feff}--\x{85}]";

/// A pattern with its source.
#[derive(Clone, Debug)]
pub struct JsRegex {
    source: String,
    regex: Regex,
}

impl JsRegex {
    /// Compiles a pattern.
    pub fn new(source: &str) -> Result<JsRegex, regex::Error> {
        Ok(JsRegex { source: source.to_owned(), regex: Regex::new(&with_js_white_space(source))? })
    }

    /// The source of the pattern.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The groups of the first match.
    pub fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.regex.captures(text)
    }
}

fn with_js_white_space(source: &str) -> String {
    let mut pattern = String::with_capacity(source.len());
    let mut chars = source.chars();
    while let Some(ch) = chars.next() {
        if ch != '\\' {
            pattern.push(ch);
            continue;
        }
        match chars.next() {
            Some('s') => pattern.push_str(WHITE_SPACE),
            Some(escaped) => pattern.extend([ch, escaped]),
            None => pattern.push(ch),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_that_of_javascript() {
        let source = r"^[x\s]\\s\.\s$";
        let pattern = JsRegex::new(source).unwrap();
        assert_eq!(pattern.as_str(), source);
        let is_match = |text: &str| pattern.captures(text).is_some();
        assert!(is_match("\u{feff}\\s.\u{a0}"));
        assert!(is_match("x\\s.\n"));
        assert!(!is_match("x\\s.\u{85}"));
        assert!(!is_match("x .\n"));
        assert!(JsRegex::new("(").is_err());
    }
}
