//! Moments within a recording, written as a list below it: lines of a song, or chapters.

use quad_markdoc::{Node as Parsed, NodeType};

use super::duration;
use crate::content::ast;
use crate::schema::component::{element, part};
use crate::tree::{Node, Tag};

/// The longest line that counts as one of a song, in units of UTF-16.
const LYRIC_LENGTH_MAX: usize = 99;

/// One moment.
pub(super) struct Cue {
    time: Option<String>,
    label: Option<String>,
    text: String,
}

impl Cue {
    /// The moments below a list item: of the first list within it.
    pub fn below(item: &Parsed) -> Vec<Cue> {
        let list = ast::inline_children(item).find(|node| node.kind == NodeType::List);
        list.map(|list| list.children.iter().map(Cue::read).collect()).unwrap_or_default()
    }

    /// Bold words are the label; the time is taken out of the other words.
    fn read(item: &Parsed) -> Cue {
        let nodes: Vec<&Parsed> = ast::inline_children(item).collect();
        let label = nodes.iter().enumerate().find_map(|(at, node)| Some((at, strong_within(node)?)));
        let labelled = label.map(|(at, _)| at);
        let left = nodes.iter().enumerate().filter(|(at, _)| Some(*at) != labelled).map(|(_, node)| node);
        let texts = left.filter(|node| node.kind == NodeType::Text);
        let text: String = texts.filter_map(|node| node.attributes.text("content")).collect();
        let (time, text) = take_time(text.trim());
        Cue { time, label: label.map(|(_, strong)| ast::text_of(strong, "")), text: text.trim().to_owned() }
    }

    fn item(&self, children: impl IntoIterator<Item = Node>) -> Node {
        let item = Tag::new("li").holding(children);
        match &self.time {
            Some(time) => {
                let mut item = item;
                item.attributes.insert("data-time".to_owned(), duration::seconds(time).to_string().into());
                item.into()
            }
            None => item.into(),
        }
    }

    fn chapter(&self) -> Node {
        let label = self.label.as_deref().filter(|label| !label.is_empty()).unwrap_or(&self.text);
        let name = (!label.is_empty()).then(|| part("span", "chapter-name", [Node::from(label)]));
        let time = self.time.as_deref().map(|time| part("span", "chapter-time", [Node::from(time)]));
        self.item(name.into_iter().chain(time))
    }

    fn lyric(&self) -> Node {
        self.item([part("p", "lyric", [Node::from(self.text.as_str())])])
    }
}

/// Emphasis may stand alone or within a link or other emphasis.
fn strong_within(node: &Parsed) -> Option<&Parsed> {
    match node.kind {
        NodeType::Strong => Some(node),
        NodeType::Link | NodeType::Em => node.children.iter().find(|node| node.kind == NodeType::Strong),
        _ => None,
    }
}

/// The list of a recording's moments. `mode` is `lyrics`, `chapters`, or `auto`: short lines that all have a time are lyrics.
pub(super) fn list(cues: &[Cue], mode: &str) -> Option<Node> {
    if cues.is_empty() {
        return None;
    }
    let is_line = |cue: &Cue| cue.time.is_some() && cue.text.encode_utf16().count() <= LYRIC_LENGTH_MAX;
    let (name, items): (_, Vec<Node>) = if mode == "lyrics" || mode == "auto" && cues.iter().all(is_line) {
        ("lyrics", cues.iter().map(Cue::lyric).collect())
    } else {
        ("chapters", cues.iter().map(Cue::chapter).collect())
    };
    let mut list = element("ol", items);
    list.set("data-name", name);
    Some(list)
}

/// The first time in a text, and the text without it and without the brackets around it.
fn take_time(text: &str) -> (Option<String>, String) {
    for (at, _) in text.char_indices().filter(|(_, c)| *c == '(' || c.is_ascii_digit()) {
        let (before, rest) = text.split_at(at);
        let inner = rest.strip_prefix('(').unwrap_or(rest);
        let Some(length) = time_length(inner) else { continue };
        let (time, after) = inner.split_at(length);
        let after = after.strip_prefix(')').unwrap_or(after);
        return (Some(time.to_owned()), [before, after].concat());
    }
    (None, text.to_owned())
}

/// How much of a text is a time: digits, a colon, digits, and perhaps the same again.
fn time_length(text: &str) -> Option<usize> {
    let digits = |from: usize| {
        let count = text.bytes().skip(from).take_while(u8::is_ascii_digit).count();
        (count > 0).then_some(from + count)
    };
    let after_colon = |at: usize| if text.as_bytes().get(at) == Some(&b':') { digits(at + 1) } else { None };
    let minutes = digits(0).and_then(after_colon)?;
    Some(after_colon(minutes).unwrap_or(minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_taken_out_of_its_text() {
        let take = |text: &str| take_time(text);
        assert_eq!(take("(0:10) Opening"), (Some("0:10".into()), " Opening".into()));
        assert_eq!(take("Part 2 1:02:03 end"), (Some("1:02:03".into()), "Part 2  end".into()));
        assert_eq!(take("no (time) here: 3"), (None, "no (time) here: 3".into()));
        assert_eq!(take("1:2:"), (Some("1:2".into()), ":".into()));
    }
}
