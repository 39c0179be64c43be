//! The simple rules: plain text, line breaks, escapes, code, addresses in angle brackets, character references,
//! comments, tags.

use super::token::Content;
use super::{Mode, Walk};
use crate::characters::{is_blank, trim};
use crate::comment_ends::CommentEnds;
use crate::entity;
use crate::node::NodeType;
use crate::tag;
use crate::tag_ends::TagEnds;
use crate::{link, url};

/// The bytes at which something other than plain text may begin.
const BREAKS: [bool; 256] = {
    let mut breaks = [false; 256];
    let bytes = b"\n!#$%&*+-:<=>@[\\]^_`{}~";
    let mut at = 0;
    while at < bytes.len() {
        breaks[bytes[at] as usize] = true;
        at += 1;
    }
    breaks
};

impl Walk<'_> {
    pub(super) fn plain(&mut self, mode: Mode) -> bool {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..self.max];
        let length = rest.iter().take_while(|byte| !BREAKS[usize::from(**byte)]).count();
        self.steps += length as u64;
        if length == 0 {
            return false;
        }
        if mode == Mode::Write {
            self.keep(start, start + length);
        }
        self.at += length;
        true
    }

    /// The end of a line: hard if two spaces stand before it.
    pub(super) fn line_break(&mut self, mode: Mode) -> bool {
        let start = self.at;
        if mode == Mode::Write {
            let kept = self.pending.trim_end_matches(' ').len();
            let spaces = self.pending.len() - kept;
            self.pending.truncate(kept);
            let kind = if spaces >= 2 { NodeType::Hardbreak } else { NodeType::Softbreak };
            let text_end = start.saturating_sub(spaces);
            self.push(kind, 0, text_end, start + 1, Content::None);
        }
        self.at = self.skip_blanks(start + 1);
        true
    }

    /// A backslash.
    pub(super) fn escape(&mut self, mode: Mode) -> bool {
        let start = self.at;
        match self.next_byte(start + 1) {
            Some(byte) if byte.is_ascii_punctuation() => {
                if mode == Mode::Write {
                    self.keep_instead(start, char::from(byte).encode_utf8(&mut [0; 4]));
                }
                self.at += 2;
            }
            Some(b'\n') => {
                if mode == Mode::Write {
                    self.push(NodeType::Hardbreak, 0, start, start + 2, Content::None);
                }
                self.at = self.skip_blanks(start + 2);
            }
            _ => {
                if mode == Mode::Write {
                    self.keep(start, start + 1);
                }
                self.at += 1;
            }
        }
        true
    }

    fn skip_blanks(&self, from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..self.max).unwrap_or_default();
        from + rest.iter().take_while(|byte| is_blank(**byte)).count()
    }

    /// Code between runs of equally many backticks.
    pub(super) fn code(&mut self, mode: Mode) -> bool {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let run = |from: usize, max: usize| {
            bytes.get(from..max).unwrap_or_default().iter().take_while(|byte| **byte == b'`').count()
        };
        let length = run(start, self.max);
        let content = start + length;
        let mut close_end = content;
        let may_close =
            !self.backticks_are_known || self.backticks.get(&length).is_some_and(|last| *last > start);
        loop {
            if !may_close {
                break;
            }
            let Some(offset) = self.text.get(close_end..).and_then(|rest| rest.find('`')) else {
                // Every run up to the end has been seen now.
                self.steps += (self.text.len() - close_end) as u64;
                self.backticks_are_known = true;
                break;
            };
            let close = close_end + offset;
            self.steps += offset as u64 + 1;
            let close_length = run(close, self.max).max(1);
            close_end = close + close_length;
            if close_length == length {
                if mode == Mode::Write {
                    let text = code_text(self.text.get(content..close).unwrap_or(""));
                    self.push(NodeType::Code, 0, start, close_end, Content::Text(text.into()));
                }
                self.at = close_end;
                return true;
            }
            self.backticks.insert(close_length, close);
        }
        if mode == Mode::Write {
            self.keep(start, content);
        }
        self.at = content;
        true
    }

    /// `<https://example.org>` or `<somebody@example.org>`
    pub(super) fn autolink(&mut self, mode: Mode) -> bool {
        let start = self.at;
        let rest = self.text.get(start + 1..self.max).unwrap_or("");
        let length = rest.bytes().take_while(|byte| !matches!(byte, b'<' | b'>')).count();
        self.steps += length as u64;
        if rest.as_bytes().get(length) != Some(&b'>') {
            return false;
        }
        let address = rest.get(..length).unwrap_or("");
        let href = if is_absolute_url(address) {
            link::allowed(address)
        } else if is_email(address) {
            link::allowed(&format!("mailto:{address}"))
        } else {
            None
        };
        let Some(href) = href else { return false };
        let end = start + length + 2;
        if mode == Mode::Write {
            let text = url::readable(address);
            self.push(NodeType::Link, 1, start, start + 1, Content::Link { href, title: String::new() });
            self.push(NodeType::Text, 0, start + 1, end - 1, Content::Text(text.into()));
            self.push(NodeType::Link, -1, end - 1, end, Content::None);
        }
        self.at = end;
        true
    }

    /// `&amp;`
    pub(super) fn reference(&mut self, mode: Mode) -> bool {
        let start = self.at;
        match entity::reference(self.text.get(start..).unwrap_or("")) {
            Some((text, length)) => {
                if mode == Mode::Write {
                    self.keep_instead(start, &text);
                }
                self.at += length;
            }
            None => {
                if mode == Mode::Write {
                    self.keep(start, start + 1);
                }
                self.at += 1;
            }
        }
        true
    }

    /// `<!-- … -->`, if the option is on.
    pub(super) fn comment(&mut self, mode: Mode) -> bool {
        let start = self.at;
        let begins = self.text.get(start..).is_some_and(|rest| rest.starts_with("<!--"));
        if !self.context.options.comments || !begins {
            return false;
        }
        let ends = self.comment_ends.get_or_init(|| CommentEnds::new(self.text));
        let Some(close) = ends.of(start) else { return false };
        let end = close.at + "-->".len();
        if mode == Mode::Write {
            let content = trim(self.text.get(start + "<!--".len()..close.at).unwrap_or("")).to_owned();
            self.push(NodeType::Comment, 0, start, end, Content::Text(content.into()));
        }
        self.at = end;
        true
    }

    /// `{% … %}`
    pub(super) fn tag(&mut self, mode: Mode) -> bool {
        let start = self.at;
        if !self.text.get(start..).is_some_and(|rest| rest.starts_with("{%")) {
            return false;
        }
        let Some(close) = self.tag_ends.get_or_init(|| TagEnds::new(self.text)).of(start) else {
            return false;
        };
        let end = close + "%}".len();
        if mode == Mode::Write {
            self.steps += (end - start) as u64;
            let syntax = tag::between(self.text, start, close);
            let (kind, nesting) = tag::shape(&syntax);
            self.push(kind, nesting, start, end, Content::Tag(Box::new(syntax)));
        }
        self.at = end;
        true
    }
}

/// The text of a code span: on one line, and without one space on either side if both are there.
fn code_text(text: &str) -> String {
    let line = text.replace('\n', " ");
    let inner = line.strip_prefix(' ').and_then(|line| line.strip_suffix(' '));
    match inner {
        // JavaScript's `.` stops at these two.
        Some(inner) if !inner.is_empty() && !inner.contains(['\u{2028}', '\u{2029}']) => inner.to_owned(),
        _ => line,
    }
}

fn is_absolute_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    (2..=32).contains(&scheme.len())
        && scheme.as_bytes()[0].is_ascii_alphabetic()
        && scheme.bytes().all(fits)
        && rest.bytes().all(|byte| byte > b' ' && !matches!(byte, b'<' | b'>'))
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else { return false };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    !name.is_empty() && name.bytes().all(fits) && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_angle_brackets() {
        assert!(is_absolute_url("https://a.example/?q=ä") && is_absolute_url("made-up.scheme+1:"));
        assert!(!is_absolute_url("x:y") && !is_absolute_url("a b:c") && !is_absolute_url("https://a b"));
        assert!(is_email("a.b+c@d-e.example") && !is_email("a@-b") && !is_email("a@b..c") && !is_email("@b"));
    }

    #[test]
    fn code_loses_one_space_on_either_side() {
        assert_eq!(
            [code_text(" a "), code_text("  "), code_text("   "), code_text("a\nb"), code_text(" a")],
            ["a", "  ", " ", "a b", " a"]
        );
    }
}
