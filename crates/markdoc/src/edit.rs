//! Edits of a source that keep all other bytes.
//!
//! ```
//! use quad_markdoc::{edit, parse};
//!
//! let source = "{% work status=\"ready\" tags=\"a\" %}\r\n{% /work %}\r\n";
//! let document = parse(source)?;
//! let work = &document.root.children[0];
//! let edits = [edit::set_attribute(source, work, "status", &edit::quote("done"))]
//!     .into_iter()
//!     .flatten()
//!     .chain(edit::remove_attribute(source, work, "tags"));
//! assert_eq!(edit::apply(source, edits), "{% work status=\"done\" %}\r\n{% /work %}\r\n");
//! # Ok::<(), quad_markdoc::SourceTooLong>(())
//! ```

use std::ops::Range;

use crate::node::{Annotation, AnnotationKind, Node};

/// A replacement of a byte range of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace; empty for an insertion.
    pub range: Range<usize>,
    /// The new text.
    pub replacement: String,
}

impl Edit {
    /// Inserts a text before the byte at `offset`.
    pub fn insert(offset: usize, text: impl Into<String>) -> Edit {
        Edit { range: offset..offset, replacement: text.into() }
    }
}

/// The source with these edits. Their ranges must not overlap. Insertions at one offset keep their order.
pub fn apply(source: &str, edits: impl IntoIterator<Item = Edit>) -> String {
    let mut edits: Vec<Edit> = edits.into_iter().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut edited = String::with_capacity(source.len());
    let mut copied = 0;
    for Edit { range, replacement } in edits {
        edited.push_str(source.get(copied..range.start).unwrap_or_default());
        edited.push_str(&replacement);
        copied = range.end;
    }
    edited.push_str(source.get(copied..).unwrap_or_default());
    edited
}

/// Sets an attribute in an opening tag to a literal. Replaces the last one of this name, or adds one behind the
/// others. The short form `#id` and a value without a name become `name=value`. `None` if the node has no opening tag.
pub fn set_attribute(source: &str, tag: &Node, name: &str, literal: &str) -> Option<Edit> {
    let opening = tag.opening()?;
    if let Some(last) = attributes(tag, name).last() {
        let is_named = last.span.slice(source).starts_with(name);
        return Some(if is_named {
            Edit { range: last.value_span.range(), replacement: literal.to_owned() }
        } else {
            Edit { range: last.span.range(), replacement: format!("{name}={literal}") }
        });
    }
    let text = opening.slice(source);
    let inner = text.strip_suffix("%}").map(|inner| inner.strip_suffix('/').unwrap_or(inner));
    let end = opening.range().start + inner.unwrap_or(text).trim_end().len();
    Some(Edit::insert(end, format!(" {name}={literal}")))
}

/// Removes every attribute of this name from an opening tag, with the white space before it.
pub fn remove_attribute(source: &str, tag: &Node, name: &str) -> Vec<Edit> {
    let remove = |annotation: &Annotation| {
        let Range { start, end } = annotation.span.range();
        let start = source.get(..start).map_or(start, |before| before.trim_end().len());
        Edit { range: start..end, replacement: String::new() }
    };
    attributes(tag, name).map(remove).collect()
}

/// A string literal. Control characters other than `\n`, `\r` and `\t` have no literal form and are left out.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for ch in text.chars() {
        match ch {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            ch if u32::from(ch) < 0x20 => {}
            ch => quoted.push(ch),
        }
    }
    quoted.push('"');
    quoted
}

/// The attributes of a name in the opening tag. Annotations elsewhere in the node's text are not part of the tag.
fn attributes<'n>(tag: &'n Node, name: &'n str) -> impl Iterator<Item = &'n Annotation> {
    let opening = tag.opening();
    tag.annotations.iter().filter(move |annotation| {
        annotation.kind == AnnotationKind::Attribute
            && annotation.name == name
            && opening.is_some_and(|opening| opening.contains(annotation.span))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn edited(source: &str, edits: impl Fn(&Node) -> Vec<Edit>) -> String {
        let document = parse(source).unwrap();
        let tag = document.root.descendants().find(|node| node.opening().is_some()).unwrap();
        apply(source, edits(tag))
    }

    #[test]
    fn set_attribute_replaces_last_value_or_appends() {
        for (source, expected) in [
            ("{% a b=1 %}\n{% /a %}", "{% a b=2 %}\n{% /a %}"),
            ("{% a b=1   b=3 /%}", "{% a b=1   b=2 /%}"),
            ("{% a c=1  /%}", "{% a c=1 b=2  /%}"),
            ("{% a %}{% /a %}", "{% a b=2 %}{% /a %}"),
            ("{% a c=\"120%\" /%}", "{% a c=\"120%\" b=2 /%}"),
        ] {
            let actual = edited(source, |tag| set_attribute(source, tag, "b", "2").into_iter().collect());
            assert_eq!(actual, expected, "{source}");
        }
        let source = "{% a #x /%}";
        let actual = edited(source, |tag| set_attribute(source, tag, "id", "\"y\"").into_iter().collect());
        assert_eq!(actual, "{% a id=\"y\" /%}");
    }

    #[test]
    fn remove_attribute_removes_duplicates_with_white_space() {
        let source = "{% a b=1  c=2\n b=3 /%}";
        assert_eq!(edited(source, |tag| remove_attribute(source, tag, "b")), "{% a  c=2 /%}");
    }

    #[test]
    fn insertions_at_one_offset_keep_their_order() {
        let edits =
            [Edit::insert(1, "x"), Edit { range: 0..1, replacement: "A".into() }, Edit::insert(1, "y")];
        assert_eq!(apply("abc", edits), "Axybc");
    }

    #[test]
    fn quoted_text_parses_to_the_same_text() {
        for text in ["say \"hi\"", "a\\b", "%}", "{% x %}", "two\nlines\r\n\t", ""] {
            let source = format!("{{% a b={} /%}}", quote(text));
            let document = parse(&source).unwrap();
            let tag = document.root.descendants().find(|node| node.is_tag("a")).unwrap();
            assert_eq!(tag.attributes.get_str("b"), Some(text), "{source}");
        }
    }
}
