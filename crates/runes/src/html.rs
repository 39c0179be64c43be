//! Prints the tree as HTML: indented by two spaces; an element with only text is one line.
//!
//! Every text and attribute is escaped here. The exception are elements with `data-codeblock` or `data-raw-html`, whose
//! text is already markup. Only the engine sets those, never the author of a page.

use serde_json::Value;

use crate::js_value::{format_js_number, is_truthy, to_js_string};
use crate::render_tree::{Attributes, Element, RenderNode};

/// Elements without content and closing tag.
pub(crate) const VOID_ELEMENTS: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

const INDENT: &str = "  ";

/// Prints a tree as HTML.
pub fn to_html(node: &RenderNode) -> String {
    let mut out = String::new();
    write_indented(node, 0, &mut out);
    out
}

/// Prints a node on its own lines; an empty node prints nothing.
fn write_indented(node: &RenderNode, depth: usize, out: &mut String) {
    match node {
        RenderNode::Null => {}
        RenderNode::Text(_) | RenderNode::Number(_) => {
            write_indent(depth, out);
            write_inline(node, out);
        }
        RenderNode::Element(tag) => match element_name(tag) {
            None => write_lines(&tag.children, depth, out),
            Some(name) => {
                write_indent(depth, out);
                write_element(tag, name, depth, out);
            }
        },
    }
}

fn write_element(tag: &Element, name: &str, depth: usize, out: &mut String) {
    if !write_open_tag(name, &tag.attributes, out) {
        return;
    }
    if is_raw(tag) {
        write_raw(&tag.children, out);
    } else if name == "pre" || fits_on_one_line(&tag.children) {
        tag.children.iter().for_each(|child| write_inline(child, out));
    } else {
        out.push('\n');
        write_lines(&tag.children, depth + 1, out);
        out.push('\n');
        write_indent(depth, out);
    }
    write_close_tag(name, out);
}

/// Prints nodes below each other, without empty ones.
fn write_lines(nodes: &[RenderNode], depth: usize, out: &mut String) {
    let mut is_first = true;
    for node in nodes {
        let before = out.len();
        if !is_first {
            out.push('\n');
        }
        let start = out.len();
        write_indented(node, depth, out);
        if out.len() == start {
            out.truncate(before);
        } else {
            is_first = false;
        }
    }
}

/// Prints a node without added white space.
fn write_inline(node: &RenderNode, out: &mut String) {
    match node {
        RenderNode::Null => {}
        RenderNode::Text(text) => write_escaped(text, out),
        RenderNode::Number(number) => out.push_str(&format_js_number(*number)),
        RenderNode::Element(tag) => match element_name(tag) {
            None => tag.children.iter().for_each(|child| write_inline(child, out)),
            Some(name) => {
                if !write_open_tag(name, &tag.attributes, out) {
                    return;
                }
                if is_raw(tag) {
                    write_raw(&tag.children, out);
                } else {
                    tag.children.iter().for_each(|child| write_inline(child, out));
                }
                write_close_tag(name, out);
            }
        },
    }
}

/// Prints text that is already markup, and the nodes between.
fn write_raw(children: &[RenderNode], out: &mut String) {
    for child in children {
        match child {
            RenderNode::Text(markup) => out.push_str(markup),
            child => write_inline(child, out),
        }
    }
}

/// Prints the opening tag. Returns whether content follows.
fn write_open_tag(name: &str, attributes: &Attributes, out: &mut String) -> bool {
    out.push('<');
    out.push_str(name);
    for (key, value) in attributes {
        write_attribute(key, value, out);
    }
    let has_content = !VOID_ELEMENTS.contains(&name);
    out.push_str(if has_content { ">" } else { " />" });
    has_content
}

fn write_attribute(key: &str, value: &Value, out: &mut String) {
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
        Value::String(text) => write_escaped(text, out),
        value => write_escaped(&to_js_string(value), out),
    }
    out.push('"');
}

fn write_close_tag(name: &str, out: &mut String) {
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

fn is_raw(tag: &Element) -> bool {
    ["data-codeblock", "data-raw-html"]
        .iter()
        .any(|attribute| tag.attributes.get(*attribute).is_some_and(is_truthy))
}

/// The name of an element; `None` if only its children are printed.
fn element_name(tag: &Element) -> Option<&str> {
    tag.name.as_deref().filter(|name| !name.is_empty())
}

/// Whether there is no child, or only text.
fn fits_on_one_line(children: &[RenderNode]) -> bool {
    matches!(children, [] | [RenderNode::Text(_) | RenderNode::Number(_)])
}

fn write_indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str(INDENT));
}

/// Escapes text for element content and for quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    write_escaped(text, &mut out);
    out
}

fn write_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(index) = rest.find(['&', '<', '>', '"']) {
        let (plain, tail) = rest.split_at(index);
        out.push_str(plain);
        let mut chars = tail.chars();
        out.push_str(match chars.next() {
            Some('&') => "&amp;",
            Some('<') => "&lt;",
            Some('>') => "&gt;",
            _ => "&quot;",
        });
        rest = chars.as_str();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn assert_html(tag: Element, expect: &str) {
        assert_eq!(to_html(&tag.into()), expect);
    }

    #[test]
    fn single_text_child_stays_on_one_line() {
        assert_html(Element::new("p"), "<p></p>");
        assert_html(Element::new("p").with_children(["a".into()]), "<p>a</p>");
        assert_html(Element::new("p").with_children([RenderNode::Number(1.5)]), "<p>1.5</p>");
        assert_html(Element::new("p").with_children(["a".into(), "b".into()]), "<p>\n  a\n  b\n</p>");
        assert_html(Element::new("p").with_children([RenderNode::Null]), "<p>\n\n</p>");
        assert_html(Element::new("p").with_children([Element::new("b").into()]), "<p>\n  <b></b>\n</p>");
    }

    #[test]
    fn unnamed_element_renders_only_its_children() {
        let inner =
            Element::default().with_children(["a".into(), RenderNode::Null, Element::new("br").into()]);
        assert_html(
            Element::new("p").with_children([inner.into(), "b".into()]),
            "<p>\n  a\n  <br />\n  b\n</p>",
        );
        assert_eq!(to_html(&Element::default().with_children(["".into(), "a".into()]).into()), "a");
    }

    #[test]
    fn pre_content_is_not_indented() {
        let code = Element::new("code").with_children(["a\n".into(), Element::new("i").into()]);
        assert_html(
            Element::new("div").with_children([Element::new("pre").with_children([code.into()]).into()]),
            "<div>\n  <pre><code>a\n<i></i></code></pre>\n</div>",
        );
    }

    #[test]
    fn attributes_are_formatted_by_value_type() {
        let tag = Element::new("input")
            .with_attr("a", true)
            .with_attr("b", false)
            .with_attr("c", Value::Null)
            .with_attr("d", json!([1, 2]))
            .with_attr("e", "<\"&'>")
            .with_attr("f", 2.0);
        assert_html(tag, "<input a d=\"1,2\" e=\"&lt;&quot;&amp;'&gt;\" f=\"2\" />");
    }

    #[test]
    fn raw_html_needs_the_raw_attribute() {
        assert_html(Element::new("p").with_children(["<b>".into()]), "<p>&lt;b&gt;</p>");
        let raw = Element::new("div").with_attr("data-raw-html", true);
        let inner: RenderNode = Element::new("p").with_children(["<".into()]).into();
        assert_html(raw.with_children(["<b>".into(), inner]), "<div data-raw-html><b><p>&lt;</p></div>");
        assert_html(
            Element::new("div").with_attr("data-raw-html", "").with_children(["<".into()]),
            "<div data-raw-html=\"\">&lt;</div>",
        );
    }
}
