//! The tree as HTML: two spaces a level, one line for an element that holds nothing but one text.
//!
//! Every text and every attribute is escaped here and nowhere else. The one exception are elements that say of themselves that
//! their text is markup already (`data-codeblock`, `data-raw-html`); the engine sets those, never the author of a page.

use serde_json::Value;

use crate::tree::{Attributes, Node, Tag};
use crate::value::{number_text, to_text, truthy};

/// Elements that hold nothing and have no closing tag.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

const INDENT: &str = "  ";

/// A tree as HTML.
pub fn print(node: &Node) -> String {
    let mut out = String::new();
    pretty(node, 0, &mut out);
    out
}

/// A node on lines of its own; nothing at all for a node that prints as nothing.
fn pretty(node: &Node, depth: usize, out: &mut String) {
    match node {
        Node::Null => {}
        Node::Text(_) | Node::Number(_) => {
            indent(depth, out);
            flat(node, out);
        }
        Node::Tag(tag) => match name(tag) {
            None => lines(&tag.children, depth, out),
            Some(name) => {
                indent(depth, out);
                element(tag, name, depth, out);
            }
        },
    }
}

fn element(tag: &Tag, name: &str, depth: usize, out: &mut String) {
    if !open(name, &tag.attributes, out) {
        return;
    }
    if is_raw(tag) {
        raw(&tag.children, out);
    } else if name == "pre" || is_one_line(&tag.children) {
        tag.children.iter().for_each(|child| flat(child, out));
    } else {
        out.push('\n');
        lines(&tag.children, depth + 1, out);
        out.push('\n');
        indent(depth, out);
    }
    close(name, out);
}

/// Nodes one below the other, without those that print as nothing.
fn lines(nodes: &[Node], depth: usize, out: &mut String) {
    let mut is_first = true;
    for node in nodes {
        let before = out.len();
        if !is_first {
            out.push('\n');
        }
        let start = out.len();
        pretty(node, depth, out);
        if out.len() == start {
            out.truncate(before);
        } else {
            is_first = false;
        }
    }
}

/// A node without any space that is not in it.
fn flat(node: &Node, out: &mut String) {
    match node {
        Node::Null => {}
        Node::Text(text) => escape(text, out),
        Node::Number(number) => out.push_str(&number_text(*number)),
        Node::Tag(tag) => match name(tag) {
            None => tag.children.iter().for_each(|child| flat(child, out)),
            Some(name) => {
                if !open(name, &tag.attributes, out) {
                    return;
                }
                if is_raw(tag) {
                    raw(&tag.children, out);
                } else {
                    tag.children.iter().for_each(|child| flat(child, out));
                }
                close(name, out);
            }
        },
    }
}

/// Texts that are markup already, and whatever stands between them.
fn raw(children: &[Node], out: &mut String) {
    for child in children {
        match child {
            Node::Text(markup) => out.push_str(markup),
            other => flat(other, out),
        }
    }
}

/// The opening tag, and whether anything follows it.
fn open(name: &str, attributes: &Attributes, out: &mut String) -> bool {
    out.push('<');
    out.push_str(name);
    for (key, value) in attributes {
        attribute(key, value, out);
    }
    let holds = !VOID.contains(&name);
    out.push_str(if holds { ">" } else { " />" });
    holds
}

fn attribute(key: &str, value: &Value, out: &mut String) {
    if matches!(value, Value::Null | Value::Bool(false)) {
        return;
    }
    out.push(' ');
    out.push_str(key);
    if *value == Value::Bool(true) {
        return;
    }
    out.push_str("=\"");
    match value {
        Value::String(text) => escape(text, out),
        other => escape(&to_text(other), out),
    }
    out.push('"');
}

fn close(name: &str, out: &mut String) {
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

fn is_raw(tag: &Tag) -> bool {
    ["data-codeblock", "data-raw-html"].iter().any(|mark| tag.attributes.get(*mark).is_some_and(truthy))
}

/// The name of an element; one without is only its children.
fn name(tag: &Tag) -> Option<&str> {
    tag.name.as_deref().filter(|name| !name.is_empty())
}

/// Nothing, or one text.
fn is_one_line(children: &[Node]) -> bool {
    matches!(children, [] | [Node::Text(_) | Node::Number(_)])
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str(INDENT));
}

fn escape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"']) {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let mut letters = tail.chars();
        out.push_str(match letters.next() {
            Some('&') => "&amp;",
            Some('<') => "&lt;",
            Some('>') => "&gt;",
            _ => "&quot;",
        });
        rest = letters.as_str();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(tag: Tag, expect: &str) {
        assert_eq!(print(&tag.into()), expect);
    }

    #[test]
    fn one_text_stays_on_the_line() {
        check(Tag::new("p"), "<p></p>");
        check(Tag::new("p").holding(["a".into()]), "<p>a</p>");
        check(Tag::new("p").holding([Node::Number(1.5)]), "<p>1.5</p>");
        check(Tag::new("p").holding(["a".into(), "b".into()]), "<p>\n  a\n  b\n</p>");
        check(Tag::new("p").holding([Node::Null]), "<p>\n\n</p>");
        check(Tag::new("p").holding([Tag::new("b").into()]), "<p>\n  <b></b>\n</p>");
    }

    #[test]
    fn a_tag_without_a_name_is_its_children() {
        let inner = Tag::default().holding(["a".into(), Node::Null, Tag::new("br").into()]);
        check(Tag::new("p").holding([inner.into(), "b".into()]), "<p>\n  a\n  <br />\n  b\n</p>");
        assert_eq!(print(&Tag::default().holding(["".into(), "a".into()]).into()), "a");
    }

    #[test]
    fn preformatted_text_gets_no_space() {
        let code = Tag::new("code").holding(["a\n".into(), Tag::new("i").into()]);
        check(
            Tag::new("div").holding([Tag::new("pre").holding([code.into()]).into()]),
            "<div>\n  <pre><code>a\n<i></i></code></pre>\n</div>",
        );
    }

    #[test]
    fn attributes_are_written_as_values_are() {
        let tag = Tag::new("input")
            .with("a", true)
            .with("b", false)
            .with("c", Value::Null)
            .with("d", json!([1, 2]))
            .with("e", "<\"&'>")
            .with("f", 2.0);
        check(tag, "<input a d=\"1,2\" e=\"&lt;&quot;&amp;'&gt;\" f=\"2\" />");
    }

    #[test]
    fn markup_is_passed_on_only_where_the_element_says_so() {
        check(Tag::new("p").holding(["<b>".into()]), "<p>&lt;b&gt;</p>");
        let raw = Tag::new("div").with("data-raw-html", true);
        let inner: Node = Tag::new("p").holding(["<".into()]).into();
        check(raw.holding(["<b>".into(), inner]), "<div data-raw-html><b><p>&lt;</p></div>");
        check(
            Tag::new("div").with("data-raw-html", "").holding(["<".into()]),
            "<div data-raw-html=\"\">&lt;</div>",
        );
    }
}
