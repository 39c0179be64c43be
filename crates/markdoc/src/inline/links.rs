//! Links and images: inline (`[text](destination "title")`) or by reference (`[text][label]`).

use super::InlineParser;
use super::token::InlineData;
use crate::char_class::is_space_or_tab;
use crate::link;
use crate::node::NodeType;
use crate::stage::{Mode, Nesting};

/// The target of a link, and where the link ends in the text.
struct LinkTarget {
    href: String,
    title: String,
    end: usize,
}

/// The result of parsing `(destination "title")`.
enum InlineTarget {
    Target(LinkTarget),
    /// Only white space up to the end of the text.
    Incomplete,
    /// Parsing failed at this position.
    Failed(usize),
}

impl InlineParser<'_> {
    /// `[`
    pub(super) fn parse_link(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        let text_start = start + 1;
        let Some(text_end) = self.find_label_end(start, true) else { return false };
        let mut after = text_end + 1;
        let mut target = None;
        if self.byte_at(after) == Some(b'(') {
            match self.parse_inline_target(after, true) {
                InlineTarget::Target(parsed) => target = Some(parsed),
                InlineTarget::Incomplete => return false,
                // As in the npm package, parsing goes on one byte behind the failure, so a label there counts.
                InlineTarget::Failed(failed_pos) => after = failed_pos + 1,
            }
        }
        let target = target.or_else(|| self.resolve_reference(text_start, text_end, after));
        let Some(LinkTarget { href, title, end }) = target else { return false };
        if mode == Mode::Emit {
            let saved_limit = std::mem::replace(&mut self.limit, text_end);
            self.push(NodeType::Link, Nesting::Open, start, text_start, InlineData::Link { href, title });
            self.pos = text_start;
            self.parse_until_limit();
            self.push(NodeType::Link, Nesting::Close, text_end, end, InlineData::None);
            self.limit = saved_limit;
        }
        self.pos = end;
        true
    }

    /// `![`
    pub(super) fn parse_image(&mut self, mode: Mode) -> bool {
        let start = self.pos;
        if self.text.as_bytes().get(start + 1) != Some(&b'[') {
            return false;
        }
        let text_start = start + 2;
        let Some(text_end) = self.find_label_end(start + 1, false) else { return false };
        let after = text_end + 1;
        let target = if self.byte_at(after) == Some(b'(') {
            match self.parse_inline_target(after, false) {
                InlineTarget::Target(target) => Some(target),
                InlineTarget::Incomplete | InlineTarget::Failed(_) => None,
            }
        } else {
            self.resolve_reference(text_start, text_end, after)
        };
        let Some(LinkTarget { href, title, end }) = target else { return false };
        if mode == Mode::Emit {
            // The alternative text stays as written: an image has no child nodes.
            let alt = self.text.get(text_start..text_end).unwrap_or("").to_owned();
            self.push(
                NodeType::Image,
                Nesting::Leaf,
                start,
                end,
                InlineData::Image { alt, src: href, title },
            );
        }
        self.pos = end;
        true
    }

    /// The bracket that closes the one at `open`. The text of a link must not contain another link.
    fn find_label_end(&mut self, open: usize, is_link_text: bool) -> Option<usize> {
        let saved_pos = self.pos;
        self.pos = open + 1;
        let mut depth = 1;
        let mut end = None;
        while self.pos < self.limit {
            let byte = self.text.as_bytes()[self.pos];
            if byte == b']' {
                depth -= 1;
                if depth == 0 {
                    end = Some(self.pos);
                    break;
                }
            }
            let before = self.pos;
            self.skip_one();
            if byte == b'[' {
                if self.pos == before + 1 {
                    depth += 1;
                } else if is_link_text {
                    break;
                }
            }
        }
        self.pos = saved_pos;
        end
    }

    /// Parses `(destination "title")` at `open`. After an invalid destination an image may still have a title; a link
    /// may not.
    fn parse_inline_target(&mut self, open: usize, is_link: bool) -> InlineTarget {
        let mut pos = self.skip_whitespace(open + 1);
        if pos >= self.limit {
            return InlineTarget::Incomplete;
        }
        let mut href = String::new();
        let mut title = String::new();
        let destination = link::parse_destination(self.text, pos, self.limit, &mut self.steps);
        let has_destination = destination.is_some();
        if let Some(destination) = destination
            && let Some(sanitized) = link::sanitize_href(&destination.text)
        {
            href = sanitized;
            pos = destination.end;
        }
        if has_destination || !is_link {
            let title_start = self.skip_whitespace(pos);
            let title_part = if title_start > pos {
                link::parse_title(self.text, title_start, self.limit, &mut self.steps)
            } else {
                None
            };
            pos = title_start;
            if let Some(title_part) = title_part {
                title = title_part.text;
                pos = self.skip_whitespace(title_part.end);
            }
        }
        if self.byte_at(pos) != Some(b')') {
            return InlineTarget::Failed(pos);
        }
        InlineTarget::Target(LinkTarget { href, title, end: pos + 1 })
    }

    /// Parses `[label]` at `after`, or uses the text as label, and looks up its definition.
    fn resolve_reference(&mut self, text_start: usize, text_end: usize, after: usize) -> Option<LinkTarget> {
        let definitions = self.context.definitions;
        if definitions.is_empty() {
            return None;
        }
        let mut end = text_end + 1;
        let mut label = "";
        if self.byte_at(after) == Some(b'[')
            && let Some(label_end) = self.find_label_end(after, false)
        {
            label = self.text.get(after + 1..label_end).unwrap_or("");
            end = label_end + 1;
        }
        if label.is_empty() {
            label = self.text.get(text_start..text_end).unwrap_or("");
        }
        self.steps += label.len() as u64;
        let definition = definitions.get(&link::label_key(label))?;
        Some(LinkTarget { href: definition.href.clone(), title: definition.title.clone(), end })
    }

    fn skip_whitespace(&mut self, from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..self.limit).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_space_or_tab(**byte) || **byte == b'\n').count();
        self.steps += length as u64;
        from + length
    }
}
