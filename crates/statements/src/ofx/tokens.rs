//! Tags and values of OFX, whether 1.x, SGML whose values end where the next tag begins, or 2.x, XML.
//!
//! Both are read alike: a tag, then the text behind it. Nothing is expanded but the five entities of XML, `&nbsp;` and
//! character numbers, so no file can grow by being read.

use std::borrow::Cow;

/// One tag and the text behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// Without brackets, slash, prefix and attributes.
    pub name: &'a str,
    pub closing: bool,
    /// The text up to the next tag, trimmed, with its entities still in it.
    pub value: &'a str,
    /// The line of the tag, from one.
    pub line: u32,
}

/// Reads tokens from a text.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0, line: 1 }
    }

    fn advance(&mut self, to: usize) {
        let passed = self.text.as_bytes().get(self.at..to).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u32;
        self.at = to;
    }

    fn place_of(&self, from: usize, needle: &str) -> Option<usize> {
        let rest = self.text.as_bytes().get(from..)?;
        memchr::memmem::find(rest, needle.as_bytes()).map(|found| from + found)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let start = self.place_of(self.at, "<")?;
            self.advance(start);
            let rest = self.text.get(start..)?;
            if rest.starts_with("<!--") {
                let end = self.place_of(start, "-->").map_or(self.text.len(), |found| found + 3);
                self.advance(end);
                continue;
            }
            let Some(length) = memchr::memchr(b'>', rest.as_bytes()) else {
                self.advance(self.text.len());
                return None;
            };
            let line = self.line;
            let inside = rest.get(1..length)?;
            let after = start + length + 1;
            if inside.starts_with(['?', '!']) {
                self.advance(after);
                continue;
            }
            let (inside, closing) = match inside.strip_prefix('/') {
                Some(name) => (name, true),
                None => (inside.strip_suffix('/').unwrap_or(inside), false),
            };
            let name = inside.split_ascii_whitespace().next().unwrap_or_default();
            let name = name.rsplit(':').next().unwrap_or(name);
            let text = self.text.get(after..)?;
            let (value, end) = match text.trim_start().strip_prefix("<![CDATA[") {
                Some(data) => {
                    let from = self.text.len() - data.len();
                    let end = self.place_of(from, "]]>").unwrap_or(self.text.len());
                    (self.text.get(from..end)?, (end + 3).min(self.text.len()))
                }
                None => {
                    let end =
                        memchr::memchr(b'<', text.as_bytes()).map_or(self.text.len(), |found| after + found);
                    (self.text.get(after..end)?, end)
                }
            };
            self.advance(end);
            return Some(Token { name, closing, value: value.trim(), line });
        }
    }
}

/// A value with its entities replaced.
pub(crate) fn unescape(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut plain = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        let (before, behind) = rest.split_at(at);
        plain.push_str(before);
        let entity = behind.get(1..).unwrap_or_default();
        // The longest is `#x10ffff`.
        let end = entity.bytes().take(10).position(|byte| byte == b';');
        let known = end.and_then(|end| Some((character(entity.get(..end)?)?, end + 2)));
        match known {
            Some((letter, length)) => {
                plain.push(letter);
                rest = behind.get(length..).unwrap_or_default();
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

/// What an entity stands for.
pub(crate) fn character(entity: &str) -> Option<char> {
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
    fn sgml_and_xml_read_alike() {
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
    fn lines_are_those_of_the_tags() {
        let lines: Vec<u32> = Tokens::new("<A>\n\n<B>x\n<C>y").map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }

    #[test]
    fn entities() {
        assert_eq!(
            unescape("a &amp; b &lt;c&gt; &#228;&#x20ac; &unknown; & &"),
            "a & b <c> ä€ &unknown; & &"
        );
        assert_eq!(unescape("&#xd800;"), "&#xd800;");
    }

    proptest! {
        #[test]
        fn always_ends(text in "[<>/!?&;#x\\[\\]CDAT \n-]{0,80}") {
            let lengths: Vec<usize> = Tokens::new(&text).map(|token| unescape(token.value).len()).collect();
            prop_assert!(lengths.len() <= text.len());
        }
    }
}
