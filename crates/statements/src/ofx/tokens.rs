//! Tags and values of OFX: 1.x is SGML, where a value ends at the next tag, and 2.x is XML.
//!
//! Both are tokenized alike: a tag, then the text after it. Only the five entities of XML, `&nbsp;` and character
//! numbers are expanded, so parsing never enlarges a file.

use std::borrow::Cow;

/// One tag and the text after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// Without brackets, slash, prefix and attributes.
    pub name: &'a str,
    pub closing: bool,
    /// The text up to the next tag, trimmed, with entities unexpanded.
    pub value: &'a str,
    /// The line of the tag, from one.
    pub line: u32,
}

/// Iterates over the tokens of a text.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    position: usize,
    line: u32,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text, position: 0, line: 1 }
    }

    fn advance(&mut self, to: usize) {
        let skipped = self.text.as_bytes().get(self.position..to).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', skipped).count() as u32;
        self.position = to;
    }

    fn find_from(&self, from: usize, needle: &str) -> Option<usize> {
        let rest = self.text.as_bytes().get(from..)?;
        memchr::memmem::find(rest, needle.as_bytes()).map(|offset| from + offset)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let start = self.find_from(self.position, "<")?;
            self.advance(start);
            let rest = self.text.get(start..)?;
            if rest.starts_with("<!--") {
                let end = self.find_from(start, "-->").map_or(self.text.len(), |index| index + 3);
                self.advance(end);
                continue;
            }
            let Some(length) = memchr::memchr(b'>', rest.as_bytes()) else {
                self.advance(self.text.len());
                return None;
            };
            let line = self.line;
            let tag = rest.get(1..length)?;
            let after = start + length + 1;
            if tag.starts_with(['?', '!']) {
                self.advance(after);
                continue;
            }
            let (tag, closing) = match tag.strip_prefix('/') {
                Some(name) => (name, true),
                None => (tag.strip_suffix('/').unwrap_or(tag), false),
            };
            let name = tag.split_ascii_whitespace().next().unwrap_or_default();
            let name = name.rsplit(':').next().unwrap_or(name);
            let text = self.text.get(after..)?;
            let (value, end) = match text.trim_start().strip_prefix("<![CDATA[") {
                Some(data) => {
                    let from = self.text.len() - data.len();
                    let end = self.find_from(from, "]]>").unwrap_or(self.text.len());
                    (self.text.get(from..end)?, (end + 3).min(self.text.len()))
                }
                None => {
                    let end =
                        memchr::memchr(b'<', text.as_bytes()).map_or(self.text.len(), |index| after + index);
                    (self.text.get(after..end)?, end)
                }
            };
            self.advance(end);
            return Some(Token { name, closing, value: value.trim(), line });
        }
    }
}

/// A value with its entities expanded.
pub(crate) fn unescape(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut plain = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        let (before, entity_and_rest) = rest.split_at(at);
        plain.push_str(before);
        let entity = entity_and_rest.get(1..).unwrap_or_default();
        // The longest is `#x10ffff`.
        let end = entity.bytes().take(10).position(|byte| byte == b';');
        let decoded = end.and_then(|end| Some((decode_entity(entity.get(..end)?)?, end + 2)));
        match decoded {
            Some((letter, length)) => {
                plain.push(letter);
                rest = entity_and_rest.get(length..).unwrap_or_default();
            }
            None => {
                plain.push('&');
                rest = entity;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The text of an entity.
pub(crate) fn decode_entity(entity: &str) -> Option<char> {
    Some(match entity {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            return char::from_u32(code);
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sgml_and_xml_give_same_tokens() {
        let tokens = |text: &'static str| -> Vec<(String, String)> {
            let show = |token: Token<'_>| {
                (format!("{}{}", if token.closing { "/" } else { "" }, token.name), token.value.to_owned())
            };
            Tokens::new(text).map(show).collect()
        };
        let sgml = tokens("<A>\n<B>one two\n<C>3</A>");
        assert_eq!(sgml[1], ("B".into(), "one two".into()));
        assert_eq!(sgml[3], ("/A".into(), "".into()));
        let xml = tokens("<?xml?><x:A a='1'><B>one</B><!-- <N> --><C/><D><![CDATA[a<b]]></D></A>");
        let names: Vec<&str> = xml.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "B", "/B", "C", "D", "/D", "/A"]);
        assert_eq!(xml[4].1, "a<b");
    }

    #[test]
    fn token_lines_are_tag_lines() {
        let lines: Vec<u32> = Tokens::new("<A>\n\n<B>x\n<C>y").map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }

    #[test]
    fn unescapes_known_entities() {
        assert_eq!(
            unescape("a &amp; b &lt;c&gt; &#228;&#x20ac; &unknown; & &"),
            "a & b <c> ä€ &unknown; & &"
        );
        assert_eq!(unescape("&#xd800;"), "&#xd800;");
    }

    proptest! {
        #[test]
        fn tokenizer_terminates(text in "[<>/!?&;#x\\[\\]CDAT \n-]{0,80}") {
            let lengths: Vec<usize> = Tokens::new(&text).map(|token| unescape(token.value).len()).collect();
            prop_assert!(lengths.len() <= text.len());
        }
    }
}
