//! Attributes written into the first tag of a rune in a document; all other bytes stay as they are.

use std::ops::Range;

use quad_markdoc::{Node, parse};
use serde_json::Value;

use super::attributes::Values;
use crate::value::number_text;

/// The document with these attributes in the first tag of this name: a value that is there is replaced, one that is not is
/// added behind the others. A document without such a tag is given back unchanged.
///
/// ```
/// use quad_runes::inspect::splice;
///
/// let values = [("depth".to_owned(), 2.into()), ("title".to_owned(), "say \"hi\"".into())].into_iter().collect();
/// assert_eq!(splice("{% toc depth=3 /%}", "toc", &values), r#"{% toc depth=2 title="say \"hi\"" /%}"#);
/// ```
pub fn splice(source: &str, rune: &str, values: &Values) -> String {
    if values.is_empty() {
        return source.to_owned();
    }
    let Ok(document) = parse(source) else { return source.to_owned() };
    let mut tags = document.root.walk().filter(|node| node.is_tag(rune) && node.opening().is_some());
    let Some(tag) = tags.next() else { return source.to_owned() };
    let mut edits = Vec::new();
    let mut added = String::new();
    for (name, value) in values {
        match replacement(source, tag, name, value) {
            Some(edit) => edits.push(edit),
            None => added.push_str(&format!(" {name}={}", literal(value))),
        }
    }
    if !added.is_empty() {
        edits.extend(room(source, tag).map(|range| (range, added + " ")));
    }
    // From the back, so that what is still to come keeps its place.
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut spliced = source.to_owned();
    for (range, text) in edits {
        spliced.replace_range(range, &text);
    }
    spliced
}

/// Where an attribute stands and what replaces it.
fn replacement(source: &str, tag: &Node, name: &str, value: &Value) -> Option<(Range<usize>, String)> {
    let annotation = tag.annotation(name)?;
    if annotation.span.of(source).starts_with('#') {
        // An id in short form can hold only a word.
        return Some((annotation.span.range(), format!("{name}={}", literal(value))));
    }
    Some((annotation.value_span.range(), literal(value)))
}

/// The space between the last attribute and the end of an opening tag.
fn room(source: &str, tag: &Node) -> Option<Range<usize>> {
    let opening = tag.opening()?;
    let text = opening.of(source);
    let inner = text.strip_suffix("/%}").or_else(|| text.strip_suffix("%}"))?;
    let start = opening.range().start;
    Some(start + inner.trim_end().len()..start + inner.len())
}

/// A value as a document holds it.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), number_text),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", quoted(key), literal(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for sign in text.chars() {
        match sign {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Nothing else below a space can be written in a document.
            sign if u32::from(sign) < 0x20 => {}
            sign => quoted.push(sign),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, rune: &str, values: &[(&str, Value)], expect: &str) {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        assert_eq!(splice(source, rune, &values), expect);
    }

    #[test]
    fn only_the_rune_that_is_meant_is_changed() {
        let source = "{% steps %}\n{% step %}\nx\n{% /step %}\n{% /steps %}";
        let expect = "{% steps %}\n{% step valign=\"top\" %}\nx\n{% /step %}\n{% /steps %}";
        check(source, "step", &[("valign", "top".into())], expect);
        check(source, "hint", &[("valign", "top".into())], source);
    }

    #[test]
    fn only_the_attribute_that_is_meant_is_changed() {
        let source = "{% hero content-height=\"sm\" height=\"md\" %}{% /hero %}";
        check(source, "hero", &[("height", "lg".into())], &source.replace("md", "lg"));
    }

    #[test]
    fn whatever_stands_there_is_replaced() {
        check(
            "{% a b=true c=[1, 2] /%}",
            "a",
            &[("b", false.into()), ("c", "d".into())],
            "{% a b=false c=\"d\" /%}",
        );
        check("{% a #x /%}", "a", &[("id", "y z".into())], "{% a id=\"y z\" /%}");
        check("{% ref \"W-1\" /%}", "ref", &[("primary", "W-2".into())], "{% ref \"W-2\" /%}");
        check("{% a b=\"120%\" %}{% /a %}", "a", &[("c", 1.into())], "{% a b=\"120%\" c=1 %}{% /a %}");
    }

    #[test]
    fn any_text_can_be_a_value() {
        for text in ["say \"hi\"", "a\\b", "%}", "{% x %}", "$& $1 $$", "two\nlines", ""] {
            let spliced = splice("{% a /%}", "a", &[("b".to_owned(), text.into())].into_iter().collect());
            let document = parse(&spliced).unwrap();
            let tag = document.root.walk().find(|node| node.is_tag("a")).unwrap();
            assert_eq!(tag.attributes.text("b"), Some(text), "{spliced}");
        }
    }
}
