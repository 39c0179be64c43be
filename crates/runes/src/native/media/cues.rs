//! Cues: times within a recording, written as a list below it; lyrics or chapters.

use quad_markdoc::{Node as MarkdocNode, NodeType};

use super::duration;
use crate::content::node_ext;
use crate::expand::root_builder::{named_element, new_element};
use crate::js_value::JsTrim;
use crate::render_tree::{Element, RenderNode};

/// Longest lyrics line, in UTF-16 units.
const LYRIC_LENGTH_MAX: usize = 99;

/// One cue.
pub(super) struct Cue {
    time: Option<String>,
    label: Option<String>,
    text: String,
}

impl Cue {
    /// The cues in the first list of a list item.
    pub fn read_all(item: &MarkdocNode) -> Vec<Cue> {
        let list = node_ext::inline_children(item).find(|node| node.kind == NodeType::List);
        list.map(|list| list.children.iter().map(Cue::parse).collect()).unwrap_or_default()
    }

    /// Bold text is the label; the time is removed from the remaining text.
    fn parse(item: &MarkdocNode) -> Cue {
        let nodes: Vec<&MarkdocNode> = node_ext::inline_children(item).collect();
        let label = nodes.iter().enumerate().find_map(|(index, node)| Some((index, find_strong(node)?)));
        let label_index = label.map(|(index, _)| index);
        let others =
            nodes.iter().enumerate().filter(|(index, _)| Some(*index) != label_index).map(|(_, node)| node);
        let texts = others.filter(|node| node.kind == NodeType::Text);
        let text: String = texts.filter_map(|node| node.attributes.get_str("content")).collect();
        let (time, text) = take_time(text.js_trim());
        Cue {
            time,
            label: label.map(|(_, strong)| node_ext::joined_text(strong, "")),
            text: text.js_trim().to_owned(),
        }
    }

    fn list_item(&self, children: impl IntoIterator<Item = RenderNode>) -> RenderNode {
        let item = Element::new("li").with_children(children);
        match &self.time {
            Some(time) => {
                let mut item = item;
                item.attributes.insert("data-time".to_owned(), duration::seconds(time).to_string().into());
                item.into()
            }
            None => item.into(),
        }
    }

    fn chapter_item(&self) -> RenderNode {
        let label = self.label.as_deref().filter(|label| !label.is_empty()).unwrap_or(&self.text);
        let name =
            (!label.is_empty()).then(|| named_element("span", "chapter-name", [RenderNode::from(label)]));
        let time =
            self.time.as_deref().map(|time| named_element("span", "chapter-time", [RenderNode::from(time)]));
        self.list_item(name.into_iter().chain(time))
    }

    fn lyric_item(&self) -> RenderNode {
        self.list_item([named_element("p", "lyric", [RenderNode::from(self.text.as_str())])])
    }
}

/// Bold text, directly or within a link or emphasis.
fn find_strong(node: &MarkdocNode) -> Option<&MarkdocNode> {
    match node.kind {
        NodeType::Strong => Some(node),
        NodeType::Link | NodeType::Em => node.children.iter().find(|node| node.kind == NodeType::Strong),
        _ => None,
    }
}

/// The list of cues. `mode` is `lyrics`, `chapters` or `auto`: short lines that all have a time are lyrics.
pub(super) fn cue_list(cues: &[Cue], mode: &str) -> Option<RenderNode> {
    if cues.is_empty() {
        return None;
    }
    let is_lyric = |cue: &Cue| cue.time.is_some() && cue.text.encode_utf16().count() <= LYRIC_LENGTH_MAX;
    let (name, items): (_, Vec<RenderNode>) =
        if mode == "lyrics" || mode == "auto" && cues.iter().all(is_lyric) {
            ("lyrics", cues.iter().map(Cue::lyric_item).collect())
        } else {
            ("chapters", cues.iter().map(Cue::chapter_item).collect())
        };
    let mut list = new_element("ol", items);
    list.set_attr("data-name", name);
    Some(list)
}

/// The first time in a text, and the text without it and its brackets.
fn take_time(text: &str) -> (Option<String>, String) {
    for (index, _) in text.char_indices().filter(|(_, c)| *c == '(' || c.is_ascii_digit()) {
        let (before, rest) = text.split_at(index);
        let inner = rest.strip_prefix('(').unwrap_or(rest);
        let Some(length) = time_length(inner) else { continue };
        let (time, after) = inner.split_at(length);
        let after = after.strip_prefix(')').unwrap_or(after);
        return (Some(time.to_owned()), [before, after].concat());
    }
    (None, text.to_owned())
}

/// Length of a time at the start of a text: digits, a colon, digits, optionally repeated.
fn time_length(text: &str) -> Option<usize> {
    let digits = |start: usize| {
        let count = text.bytes().skip(start).take_while(u8::is_ascii_digit).count();
        (count > 0).then_some(start + count)
    };
    let after_colon =
        |index: usize| if text.as_bytes().get(index) == Some(&b':') { digits(index + 1) } else { None };
    let minutes = digits(0).and_then(after_colon)?;
    Some(after_colon(minutes).unwrap_or(minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_time_removes_the_first_time() {
        let take = |text: &str| take_time(text);
        assert_eq!(take("(0:10) Opening"), (Some("0:10".into()), " Opening".into()));
        assert_eq!(take("Part 2 1:02:03 end"), (Some("1:02:03".into()), "Part 2  end".into()));
        assert_eq!(take("no (time) here: 3"), (None, "no (time) here: 3".into()));
        assert_eq!(take("1:2:"), (Some("1:2".into()), ":".into()));
    }
}
