//! Sets attributes in the first tag of a rune in a document. All other bytes stay unchanged.

use std::ops::Range;

use quad_markdoc::edit::{self, Edit};
use quad_markdoc::{Document, Node, parse};
use serde_json::Value;

use super::attributes::AttributeValues;
use crate::js_value::format_js_number;

/// A document whose attributes are to be set. Parsed once, edited any number of times.
///
/// ```
/// use quad_runes::inspect::AttributeEditor;
///
/// let values = [("depth".to_owned(), 2.into()), ("title".to_owned(), "say \"hi\"".into())].into_iter().collect();
/// let editor = AttributeEditor::new("{% toc depth=3 /%}");
/// assert_eq!(editor.set_attributes("toc", &values), r#"{% toc depth=2 title="say \"hi\"" /%}"#);
/// ```
pub struct AttributeEditor<'s> {
    source: &'s str,
    /// `None` if the source is longer than the parser's limit.
    document: Option<Document>,
}

impl<'s> AttributeEditor<'s> {
    /// Parses a document.
    pub fn new(source: &'s str) -> AttributeEditor<'s> {
        AttributeEditor { source, document: parse(source).ok() }
    }

    /// The document with attributes set in the first tag of this name: existing values are replaced, new attributes are
    /// appended. Without such a tag the document is unchanged.
    pub fn set_attributes(&self, rune: &str, values: &AttributeValues) -> String {
        edit::apply(self.source, self.edits(rune, values).unwrap_or_default())
    }

    fn edits(&self, rune: &str, values: &AttributeValues) -> Option<Vec<Edit>> {
        let nodes = self.document.as_ref()?.root.descendants();
        let tag = nodes.into_iter().find(|node| node.is_tag(rune) && node.opening().is_some())?;
        let mut edits = Vec::new();
        let mut insertion = String::new();
        for (name, value) in values {
            match attribute_edit(self.source, tag, name, value) {
                Some(edit) => edits.push(edit),
                None => insertion.push_str(&format!(" {name}={}", to_markdoc_literal(value))),
            }
        }
        if !insertion.is_empty() {
            edits.extend(
                insertion_range(self.source, tag).map(|range| Edit { range, replacement: insertion + " " }),
            );
        }
        Some(edits)
    }
}

/// The range of an attribute and its replacement.
///
/// [`edit::set_attribute`] is not used: npm keeps a value without a name in its form, and puts one space before the end
/// of the tag.
fn attribute_edit(source: &str, tag: &Node, name: &str, value: &Value) -> Option<Edit> {
    let annotation = tag.annotation(name)?;
    if annotation.span.slice(source).starts_with('#') {
        // The short form of an id allows only a word.
        let replacement = format!("{name}={}", to_markdoc_literal(value));
        return Some(Edit { range: annotation.span.range(), replacement });
    }
    Some(Edit { range: annotation.value_span.range(), replacement: to_markdoc_literal(value) })
}

/// The white space between the last attribute and the end of the opening tag.
fn insertion_range(source: &str, tag: &Node) -> Option<Range<usize>> {
    let opening = tag.opening()?;
    let text = opening.slice(source);
    let inner = text.strip_suffix("/%}").or_else(|| text.strip_suffix("%}"))?;
    let start = opening.range().start;
    Some(start + inner.trim_end().len()..start + inner.len())
}

/// A value in Markdoc syntax.
fn to_markdoc_literal(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), format_js_number),
        Value::String(text) => edit::quote(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(to_markdoc_literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", edit::quote(key), to_markdoc_literal(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_set_attributes(source: &str, rune: &str, values: &[(&str, Value)], expect: &str) {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        assert_eq!(AttributeEditor::new(source).set_attributes(rune, &values), expect);
    }

    #[test]
    fn only_the_named_rune_is_changed() {
        let source = "{% steps %}\n{% step %}\nx\n{% /step %}\n{% /steps %}";
        let expect = "{% steps %}\n{% step valign=\"top\" %}\nx\n{% /step %}\n{% /steps %}";
        assert_set_attributes(source, "step", &[("valign", "top".into())], expect);
        assert_set_attributes(source, "hint", &[("valign", "top".into())], source);
    }

    #[test]
    fn only_the_named_attribute_is_changed() {
        let source = "{% hero content-height=\"sm\" height=\"md\" %}{% /hero %}";
        assert_set_attributes(source, "hero", &[("height", "lg".into())], &source.replace("md", "lg"));
    }

    #[test]
    fn existing_value_of_any_type_is_replaced() {
        assert_set_attributes(
            "{% a b=true c=[1, 2] /%}",
            "a",
            &[("b", false.into()), ("c", "d".into())],
            "{% a b=false c=\"d\" /%}",
        );
        assert_set_attributes("{% a #x /%}", "a", &[("id", "y z".into())], "{% a id=\"y z\" /%}");
        assert_set_attributes(
            "{% ref \"W-1\" /%}",
            "ref",
            &[("primary", "W-2".into())],
            "{% ref \"W-2\" /%}",
        );
        assert_set_attributes(
            "{% a b=\"120%\" %}{% /a %}",
            "a",
            &[("c", 1.into())],
            "{% a b=\"120%\" c=1 %}{% /a %}",
        );
    }

    #[test]
    fn any_string_round_trips_as_a_value() {
        for text in ["say \"hi\"", "a\\b", "%}", "{% x %}", "$& $1 $$", "two\nlines", ""] {
            let values = [("b".to_owned(), text.into())].into_iter().collect();
            let spliced = AttributeEditor::new("{% a /%}").set_attributes("a", &values);
            let document = parse(&spliced).unwrap();
            let tag = document.root.descendants().find(|node| node.is_tag("a")).unwrap();
            assert_eq!(tag.attributes.get_str("b"), Some(text), "{spliced}");
        }
    }
}
