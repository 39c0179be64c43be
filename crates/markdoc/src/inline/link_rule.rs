//! Links and images: in place (`[text](destination "title")`) or by a definition elsewhere (`[text][label]`).

use super::token::Content;
use super::{Mode, Walk};
use crate::characters::is_blank;
use crate::link;
use crate::node::NodeType;

/// Where a link leads, and where it ends in the text.
struct Target {
    href: String,
    title: String,
    end: usize,
}

/// What came of reading `(destination "title")`.
enum InPlace {
    Target(Target),
    /// Nothing but white space up to the end of the text.
    Unfinished,
    /// It failed at this place.
    No(usize),
}

impl Walk<'_> {
    /// `[`
    pub(super) fn link(&mut self, mode: Mode) -> bool {
        let start = self.at;
        let text_start = start + 1;
        let Some(text_end) = self.label_end(start, true) else { return false };
        let mut after = text_end + 1;
        let mut target = None;
        if self.next_byte(after) == Some(b'(') {
            match self.in_place(after, true) {
                InPlace::Target(found) => target = Some(found),
                InPlace::Unfinished => return false,
                // The original goes on one byte behind the failure, where a label would be a surprise but counts.
                InPlace::No(failed) => after = failed + 1,
            }
        }
        let target = target.or_else(|| self.by_definition(text_start, text_end, after));
        let Some(Target { href, title, end }) = target else { return false };
        if mode == Mode::Write {
            let max = std::mem::replace(&mut self.max, text_end);
            self.push(NodeType::Link, 1, start, text_start, Content::Link { href, title });
            self.at = text_start;
            self.run();
            self.push(NodeType::Link, -1, text_end, end, Content::None);
            self.max = max;
        }
        self.at = end;
        true
    }

    /// `![`
    pub(super) fn image(&mut self, mode: Mode) -> bool {
        let start = self.at;
        if self.text.as_bytes().get(start + 1) != Some(&b'[') {
            return false;
        }
        let text_start = start + 2;
        let Some(text_end) = self.label_end(start + 1, false) else { return false };
        let after = text_end + 1;
        let target = if self.next_byte(after) == Some(b'(') {
            match self.in_place(after, false) {
                InPlace::Target(target) => Some(target),
                InPlace::Unfinished | InPlace::No(_) => None,
            }
        } else {
            self.by_definition(text_start, text_end, after)
        };
        let Some(Target { href, title, end }) = target else { return false };
        if mode == Mode::Write {
            // The alternative text stays as it was written; an image has no nodes within it.
            let alt = self.text.get(text_start..text_end).unwrap_or("").to_owned();
            self.push(NodeType::Image, 0, start, end, Content::Image { alt, src: href, title });
        }
        self.at = end;
        true
    }

    /// The place of the bracket that closes the one at `open`. The text of a link must not hold another link.
    fn label_end(&mut self, open: usize, is_link_text: bool) -> Option<usize> {
        let at = self.at;
        self.at = open + 1;
        let mut depth = 1;
        let mut end = None;
        while self.at < self.max {
            let byte = self.text.as_bytes()[self.at];
            if byte == b']' {
                depth -= 1;
                if depth == 0 {
                    end = Some(self.at);
                    break;
                }
            }
            let before = self.at;
            self.skip();
            if byte == b'[' {
                if self.at == before + 1 {
                    depth += 1;
                } else if is_link_text {
                    break;
                }
            }
        }
        self.at = at;
        end
    }

    /// Reads `(destination "title")` at `open`. An image may have a title after a destination that fails; a link may
    /// not.
    fn in_place(&mut self, open: usize, is_link: bool) -> InPlace {
        let mut at = self.skip_space(open + 1);
        if at >= self.max {
            return InPlace::Unfinished;
        }
        let mut href = String::new();
        let mut title = String::new();
        let destination = link::destination(self.text, at, self.max, &mut self.steps);
        let has_destination = destination.is_some();
        if let Some(destination) = destination
            && let Some(allowed) = link::allowed(&destination.text)
        {
            href = allowed;
            at = destination.end;
        }
        if has_destination || !is_link {
            let title_start = self.skip_space(at);
            let found = if title_start > at {
                link::title(self.text, title_start, self.max, &mut self.steps)
            } else {
                None
            };
            at = title_start;
            if let Some(found) = found {
                title = found.text;
                at = self.skip_space(found.end);
            }
        }
        if self.next_byte(at) != Some(b')') {
            return InPlace::No(at);
        }
        InPlace::Target(Target { href, title, end: at + 1 })
    }

    /// Reads `[label]` at `after`, or takes the text itself as label, and looks for its definition.
    fn by_definition(&mut self, text_start: usize, text_end: usize, after: usize) -> Option<Target> {
        let definitions = self.context.definitions;
        if definitions.is_empty() {
            return None;
        }
        let mut end = text_end + 1;
        let mut label = "";
        if self.next_byte(after) == Some(b'[')
            && let Some(label_end) = self.label_end(after, false)
        {
            label = self.text.get(after + 1..label_end).unwrap_or("");
            end = label_end + 1;
        }
        if label.is_empty() {
            label = self.text.get(text_start..text_end).unwrap_or("");
        }
        self.steps += label.len() as u64;
        let definition = definitions.get(&link::normalised_label(label))?;
        Some(Target { href: definition.href.clone(), title: definition.title.clone(), end })
    }

    fn skip_space(&mut self, from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..self.max).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_blank(**byte) || **byte == b'\n').count();
        self.steps += length as u64;
        from + length
    }
}
