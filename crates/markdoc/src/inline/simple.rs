//! The simple rules: plain text, line breaks, escapes, code, autolinks, character references, comments, tags.

use super::InlineParser;
use super::token::InlineData;
use crate::char_class::{is_space_or_tab, trim};
use crate::comment_close_index::CommentCloseIndex;
use crate::entity;
use crate::node::NodeType;
use crate::stage::{Mode, Nesting};
use crate::tag;
use crate::tag_close_index::TagCloseIndex;
use crate::{link, url};

/// The bytes that may begin something other than plain text.
const SPECIAL_BYTES: [bool; 256] = {
    let mut special = [false; 256];
    let bytes = b"\n!#$%&*+-:<=>@[\\]^_`{}~";
    let mut index = 0;
    while index < bytes.len() {
        special[bytes[index] as usize] = true;
        index += 1;
    }
    special
};

impl InlineParser<'_> {
    pub(super) fn parse_plain_text(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        let rest = &self.text.as_bytes()[start..self.limit];
        let length = rest.iter().take_while(|byte| !SPECIAL_BYTES[usize::from(**byte)]).count();
        self.steps += length as u64;
        if length == 0 {
            return false;
        }
        if mode == Mode::Emit {
            self.push_text(start, start + length);
        }
        self.pos += length;
        true
    }

    /// A line ending: a hard break if two spaces precede it.
    pub(super) fn parse_line_break(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        if mode == Mode::Emit {
            let text_len = self.text_buffer.trim_end_matches(' ').len();
            let spaces = self.text_buffer.len() - text_len;
            self.text_buffer.truncate(text_len);
            let kind = if spaces >= 2 { NodeType::Hardbreak } else { NodeType::Softbreak };
            let text_end = start.saturating_sub(spaces);
            self.push(kind, Nesting::Leaf, text_end, start + 1, InlineData::None);
        }
        self.pos = self.skip_spaces_and_tabs(start + 1);
        true
    }

    /// A backslash.
    pub(super) fn parse_escape(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        match self.byte_at(start + 1) {
            Some(byte) if byte.is_ascii_punctuation() => {
                if mode == Mode::Emit {
                    self.push_replacement(start, char::from(byte).encode_utf8(&mut [0; 4]));
                }
                self.pos += 2;
            }
            Some(b'\n') => {
                if mode == Mode::Emit {
                    self.push(NodeType::Hardbreak, Nesting::Leaf, start, start + 2, InlineData::None);
                }
                self.pos = self.skip_spaces_and_tabs(start + 2);
            }
            _ => {
                if mode == Mode::Emit {
                    self.push_text(start, start + 1);
                }
                self.pos += 1;
            }
        }
        true
    }

    fn skip_spaces_and_tabs(&self, from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..self.limit).unwrap_or_default();
        from + rest.iter().take_while(|byte| is_space_or_tab(**byte)).count()
    }

    /// Code between two runs of the same number of backticks.
    pub(super) fn parse_code(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        let bytes = self.text.as_bytes();
        let run_len = |from: usize, max: usize| {
            bytes.get(from..max).unwrap_or_default().iter().take_while(|byte| **byte == b'`').count()
        };
        let length = run_len(start, self.limit);
        let content = start + length;
        let mut close_end = content;
        let may_close = !self.all_backticks_indexed
            || self.last_backtick_run.get(&length).is_some_and(|last| *last > start);
        loop {
            if !may_close {
                break;
            }
            let Some(offset) = self.text.get(close_end..).and_then(|rest| rest.find('`')) else {
                // All runs up to the end are now recorded.
                self.steps += (self.text.len() - close_end) as u64;
                self.all_backticks_indexed = true;
                break;
            };
            let close = close_end + offset;
            self.steps += offset as u64 + 1;
            let close_length = run_len(close, self.limit).max(1);
            close_end = close + close_length;
            if close_length == length {
                if mode == Mode::Emit {
                    let text = normalize_code_text(self.text.get(content..close).unwrap_or(""));
                    self.push(NodeType::Code, Nesting::Leaf, start, close_end, InlineData::Text(text.into()));
                }
                self.pos = close_end;
                return true;
            }
            self.last_backtick_run.insert(close_length, close);
        }
        if mode == Mode::Emit {
            self.push_text(start, content);
        }
        self.pos = content;
        true
    }

    /// `<https://example.org>` or `<name@example.org>`
    pub(super) fn parse_autolink(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        let rest = self.text.get(start + 1..self.limit).unwrap_or("");
        let length = rest.bytes().take_while(|byte| !matches!(byte, b'<' | b'>')).count();
        self.steps += length as u64;
        if rest.as_bytes().get(length) != Some(&b'>') {
            return false;
        }
        let address = rest.get(..length).unwrap_or("");
        let href = if is_absolute_url(address) {
            link::sanitize_href(address)
        } else if is_email(address) {
            link::sanitize_href(&format!("mailto:{address}"))
        } else {
            None
        };
        let Some(href) = href else { return false };
        let end = start + length + 2;
        if mode == Mode::Emit {
            let text = url::display_href(address);
            self.push(
                NodeType::Link,
                Nesting::Open,
                start,
                start + 1,
                InlineData::Link { href, title: String::new() },
            );
            self.push(NodeType::Text, Nesting::Leaf, start + 1, end - 1, InlineData::Text(text.into()));
            self.push(NodeType::Link, Nesting::Close, end - 1, end, InlineData::None);
        }
        self.pos = end;
        true
    }

    /// `&amp;`
    pub(super) fn parse_entity(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        match entity::decode_entity(self.text.get(start..).unwrap_or("")) {
            Some((text, length)) => {
                if mode == Mode::Emit {
                    self.push_replacement(start, &text);
                }
                self.pos += length;
            }
            None => {
                if mode == Mode::Emit {
                    self.push_text(start, start + 1);
                }
                self.pos += 1;
            }
        }
        true
    }

    /// `<!-- … -->`, if the option is set.
    pub(super) fn parse_comment(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        let begins = self.text.get(start..).is_some_and(|rest| rest.starts_with("<!--"));
        if !self.context.options.comments || !begins {
            return false;
        }
        let closes = self.comment_close_index.get_or_init(|| CommentCloseIndex::new(self.text));
        let Some(close) = closes.close_of(start) else { return false };
        let end = close.offset + "-->".len();
        if mode == Mode::Emit {
            let content = trim(self.text.get(start + "<!--".len()..close.offset).unwrap_or("")).to_owned();
            self.push(NodeType::Comment, Nesting::Leaf, start, end, InlineData::Text(content.into()));
        }
        self.pos = end;
        true
    }

    /// `{% … %}`
    pub(super) fn parse_tag(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        let begins = self.text.get(start..).is_some_and(|rest| rest.starts_with("{%"));
        if !self.context.options.tags || !begins {
            return false;
        }
        let Some(close) = self.tag_close_index.get_or_init(|| TagCloseIndex::new(self.text)).close_of(start)
        else {
            return false;
        };
        let end = close + "%}".len();
        if mode == Mode::Emit {
            self.steps += (end - start) as u64;
            let syntax = tag::parse_between(self.text, start, close);
            let (kind, nesting) = tag::node_kind(&syntax);
            self.push(kind, nesting, start, end, InlineData::Tag(Box::new(syntax)));
        }
        self.pos = end;
        true
    }
}

/// The text of a code span: on one line, and without one space on each side if both are present.
fn normalize_code_text(text: &str) -> String {
    let line = text.replace('\n', " ");
    let inner = line.strip_prefix(' ').and_then(|line| line.strip_suffix(' '));
    match inner {
        // JavaScript's `.` does not match these two characters.
        Some(inner) if !inner.is_empty() && !inner.contains(['\u{2028}', '\u{2029}']) => inner.to_owned(),
        _ => line,
    }
}

fn is_absolute_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    (2..=32).contains(&scheme.len())
        && scheme.as_bytes()[0].is_ascii_alphabetic()
        && scheme.bytes().all(is_scheme_byte)
        && rest.bytes().all(|byte| byte > b' ' && !matches!(byte, b'<' | b'>'))
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else { return false };
    let is_local_part_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    !name.is_empty() && name.bytes().all(is_local_part_byte) && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autolink_accepts_urls_and_emails() {
        assert!(is_absolute_url("https://a.example/?q=ä") && is_absolute_url("made-up.scheme+1:"));
        assert!(!is_absolute_url("x:y") && !is_absolute_url("a b:c") && !is_absolute_url("https://a b"));
        assert!(is_email("a.b+c@d-e.example") && !is_email("a@-b") && !is_email("a@b..c") && !is_email("@b"));
    }

    #[test]
    fn code_span_strips_one_space_on_each_side() {
        assert_eq!(
            [
                normalize_code_text(" a "),
                normalize_code_text("  "),
                normalize_code_text("   "),
                normalize_code_text("a\nb"),
                normalize_code_text(" a")
            ],
            ["a", "  ", " ", "a b", " a"]
        );
    }
}
