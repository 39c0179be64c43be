//! Patterns: JSON that describes the expected parts of a reply.
//!
//! A pattern is JSON, with these additions:
//!
//! | written | matches |
//! | --- | --- |
//! | `{"id": 1}` | an object with at least these members; `exactly {"id": 1}` has no others |
//! | `[1, 2]` | an array of exactly these; `…` inside stands for any run of elements, none included |
//! | `each P` | an array whose every element matches `P` |
//! | `"tbl_…"` | a string; `…` stands for any part of it |
//! | `"text:json": P` | the member `text`, whose string is JSON that matches `P` |
//! | `…` or `any` | any value |
//! | `absent` | no such member |
//! | `string`, `integer`, `number`, `boolean`, `time`, `id` | a value of that sort |
//! | `not P` | what does not match `P` |
//! | `P as $name` | what matches `P`, kept under that name |
//! | `$name` | the kept value; inside a string, its text |
//!
//! Requests use the same language, without wildcards.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

/// The captured values by name.
pub type Captures = BTreeMap<String, Value>;

/// A pattern of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// `…` or `any`.
    Any,
    /// `absent`.
    Absent,
    /// `null`, a boolean or a number.
    Literal(Value),
    /// A string with `…` and `$name` in it.
    Text(String),
    /// `string`, `integer` and so on.
    Kind(ValueKind),
    /// An array, element by element.
    Array(Vec<Element>),
    /// `each P`.
    Each(Box<Pattern>),
    /// An object.
    Object { members: Vec<Member>, exact: bool },
    /// `not P`.
    Not(Box<Pattern>),
    /// `P as $name`.
    Capture(Box<Pattern>, String),
    /// `$name`.
    Reference(String),
}

/// A part of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// `…`.
    Wildcard,
    /// One element.
    Item(Pattern),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Whether its string is parsed as JSON.
    pub as_json: bool,
    /// The pattern of its value.
    pub pattern: Pattern,
}

/// The kinds of values that have a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    String,
    Integer,
    Number,
    Boolean,
    /// A UTC time with milliseconds.
    Time,
    /// A prefix, an underscore and a ULID.
    Id,
}

impl ValueKind {
    pub(crate) fn parse(word: &str) -> Option<ValueKind> {
        Some(match word {
            "string" => ValueKind::String,
            "integer" => ValueKind::Integer,
            "number" => ValueKind::Number,
            "boolean" => ValueKind::Boolean,
            "time" => ValueKind::Time,
            "id" => ValueKind::Id,
            _ => return None,
        })
    }

    fn matches(self, value: &Value) -> bool {
        match self {
            ValueKind::String => value.is_string(),
            ValueKind::Integer => value.is_i64() || value.is_u64(),
            ValueKind::Number => value.is_number(),
            ValueKind::Boolean => value.is_boolean(),
            ValueKind::Time => value.as_str().is_some_and(is_time),
            ValueKind::Id => value.as_str().is_some_and(is_id),
        }
    }
}

/// `2026-02-12T00:00:00.000Z`.
pub fn is_time(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let matches_shape =
        |(byte, shape): (u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == *shape };
    text.len() == SHAPE.len() && text.bytes().zip(SHAPE).all(matches_shape)
}

/// `tbl_01HQ7K3AAAAAAAAAAAAAAAAAAA`.
pub fn is_id(text: &str) -> bool {
    const ULID_CHARS: usize = 26;
    let is_ulid = |c: u8| c.is_ascii_digit() || c.is_ascii_uppercase() && !b"ILOU".contains(&c);
    text.rsplit_once('_').is_some_and(|(prefix, ulid)| {
        !prefix.is_empty()
            && prefix.bytes().all(|c| c.is_ascii_lowercase())
            && ulid.len() == ULID_CHARS
            && ulid.bytes().all(is_ulid)
    })
}

/// A difference between a value and its pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The path to the value: `contents[0].text:json`.
    pub path: String,
    /// The problem.
    pub reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the whole" } else { self.path.trim_start_matches('.') };
        write!(f, "{path}: {}", self.reason)
    }
}

impl Pattern {
    /// Compares a value, and captures the named parts.
    pub fn check(&self, value: &Value, captures: &mut Captures) -> Result<(), Mismatch> {
        let mut trial = captures.clone();
        self.compare(value, "", &mut trial)?;
        *captures = trial;
        Ok(())
    }

    /// The value of a pattern in a request.
    pub fn fill(&self, captures: &Captures) -> Result<Value, String> {
        Ok(match self {
            Pattern::Literal(value) => value.clone(),
            Pattern::Text(text) => {
                let filled = fill_text(text, captures);
                if filled.contains('…') {
                    return Err(format!("a request cannot hold `…`: {filled:?}"));
                }
                Value::String(filled)
            }
            Pattern::Reference(name) => {
                captures.get(name).cloned().ok_or_else(|| format!("nothing is kept as ${name}"))?
            }
            Pattern::Array(elements) => {
                let values = elements.iter().map(|element| match element {
                    Element::Item(pattern) => pattern.fill(captures),
                    Element::Wildcard => Err("a request cannot hold `…`".to_owned()),
                });
                Value::Array(values.collect::<Result<_, _>>()?)
            }
            Pattern::Object { members, .. } => {
                let entries = members
                    .iter()
                    .map(|member| Ok((fill_text(&member.name, captures), member.pattern.fill(captures)?)));
                Value::Object(entries.collect::<Result<Map<_, _>, String>>()?)
            }
            other => return Err(format!("a request cannot hold {other:?}")),
        })
    }

    fn compare(&self, value: &Value, path: &str, captures: &mut Captures) -> Result<(), Mismatch> {
        let to_mismatch = |reason: String| Mismatch { path: path.to_owned(), reason };
        let expected = |description: &dyn fmt::Display| {
            to_mismatch(format!("expected {description}, got {}", truncate(value)))
        };
        match self {
            Pattern::Any => Ok(()),
            Pattern::Absent => Err(expected(&"nothing")),
            Pattern::Literal(literal) if values_equal(literal, value) => Ok(()),
            Pattern::Literal(literal) => Err(expected(literal)),
            Pattern::Kind(kind) if kind.matches(value) => Ok(()),
            Pattern::Kind(kind) => Err(expected(&format!("{kind:?}").to_lowercase())),
            Pattern::Text(pattern) => {
                let pattern = fill_text(pattern, captures);
                match value.as_str() {
                    Some(text) if glob(&pattern, text) => Ok(()),
                    _ => Err(expected(&Value::String(pattern))),
                }
            }
            Pattern::Reference(name) => match captures.get(name) {
                None => Err(to_mismatch(format!("nothing is kept as ${name}"))),
                Some(captured) if values_equal(captured, value) => Ok(()),
                Some(captured) => Err(expected(captured)),
            },
            Pattern::Capture(pattern, name) => {
                pattern.compare(value, path, captures)?;
                captures.insert(name.clone(), value.clone());
                Ok(())
            }
            Pattern::Not(pattern) => match pattern.compare(value, path, &mut captures.clone()) {
                Ok(()) => Err(to_mismatch(format!("this must not be there: {}", truncate(value)))),
                Err(_) => Ok(()),
            },
            Pattern::Each(pattern) => {
                let Value::Array(values) = value else { return Err(expected(&"an array")) };
                let mut enumerated = values.iter().enumerate();
                enumerated.try_for_each(|(index, value)| {
                    pattern.compare(value, &format!("{path}[{index}]"), captures)
                })
            }
            Pattern::Array(elements) => {
                let Value::Array(values) = value else { return Err(expected(&"an array")) };
                compare_elements(elements, values, 0, path, captures)
            }
            Pattern::Object { members, exact } => {
                let Value::Object(object) = value else { return Err(expected(&"an object")) };
                for member in members {
                    member.compare(object, path, captures)?;
                }
                let is_expected = |name: &String| members.iter().any(|member| member.name == *name);
                match object.keys().find(|name| *exact && !is_expected(name)) {
                    Some(name) => Err(to_mismatch(format!("has a member {name:?} too many"))),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Member {
    fn compare(
        &self,
        object: &Map<String, Value>,
        path: &str,
        captures: &mut Captures,
    ) -> Result<(), Mismatch> {
        let (name, suffix) = (&self.name, if self.as_json { ":json" } else { "" });
        let path = format!("{path}.{name}{suffix}");
        let Some(value) = object.get(name) else {
            let may_be_missing = self.pattern == Pattern::Absent;
            let reason = "is missing".to_owned();
            return if may_be_missing { Ok(()) } else { Err(Mismatch { path, reason }) };
        };
        if !self.as_json {
            return self.pattern.compare(value, &path, captures);
        }
        match value.as_str().map(serde_json::from_str::<Value>) {
            Some(Ok(parsed)) => self.pattern.compare(&parsed, &path, captures),
            _ => {
                Err(Mismatch { path, reason: format!("expected JSON in a string, got {}", truncate(value)) })
            }
        }
    }
}

/// Matches elements against values; `index` is the position of the first. `…` matches as few values as possible.
fn compare_elements(
    elements: &[Element],
    values: &[Value],
    index: usize,
    path: &str,
    captures: &mut Captures,
) -> Result<(), Mismatch> {
    let to_mismatch = |reason: String| Mismatch { path: path.to_owned(), reason };
    match elements {
        [] if values.is_empty() => Ok(()),
        [] => {
            Err(to_mismatch(format!("has {} elements too many, from {}", values.len(), truncate(&values[0]))))
        }
        [Element::Item(pattern), rest @ ..] => {
            let [value, others @ ..] = values else {
                return Err(to_mismatch(format!(
                    "has no element {index}, but {} more are expected",
                    elements.len()
                )));
            };
            pattern.compare(value, &format!("{path}[{index}]"), captures)?;
            compare_elements(rest, others, index + 1, path, captures)
        }
        [Element::Wildcard, rest @ ..] => {
            let mut deepest = None;
            for skipped in 0..=values.len() {
                let mut trial = captures.clone();
                match compare_elements(rest, &values[skipped..], index + skipped, path, &mut trial) {
                    Ok(()) => {
                        *captures = trial;
                        return Ok(());
                    }
                    // Reports the deepest mismatch, since that candidate almost matched.
                    Err(mismatch) => {
                        let is_deeper = |best: &Mismatch| mismatch.path.len() > best.path.len();
                        if deepest.as_ref().is_none_or(is_deeper) {
                            deepest = Some(mismatch);
                        }
                    }
                }
            }
            Err(deepest.unwrap_or_else(|| to_mismatch("does not match".to_owned())))
        }
    }
}

/// Numbers are equal by value, whatever their spelling.
fn values_equal(left: &Value, right: &Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(a), Some(b)) if left.as_i64().is_none() || right.as_i64().is_none() => a == b,
        _ => left == right,
    }
}

/// Replaces the names of captured values by their text. Other `$` signs stay, such as `$gte` in filters.
pub fn fill_text(text: &str, captures: &Captures) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(index) = rest.find('$') {
        let (before, after) = rest.split_at(index);
        filled.push_str(before);
        let end = after[1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .map_or(after.len(), |end| end + 1);
        match captures.get(&after[1..end]) {
            Some(Value::String(value)) => filled.push_str(value),
            Some(value) => filled.push_str(&value.to_string()),
            None => filled.push_str(&after[..end]),
        }
        rest = &after[end..];
    }
    filled + rest
}

/// Whether the text contains the pattern's parts in order.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            match rest.find(middle) {
                Some(index) => rest = &rest[index + middle.len()..],
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

fn truncate(value: &Value) -> String {
    const CHARS_MAX: usize = 300;
    let text = value.to_string();
    match text.char_indices().nth(CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern_parser::parse;
    use serde_json::json;

    fn check(pattern: &str, value: Value, expect: Option<&str>) {
        let mismatch = parse(pattern).unwrap().check(&value, &mut Captures::new()).err();
        let got = mismatch.map(|mismatch| mismatch.to_string());
        assert_eq!(got.as_deref(), expect, "{pattern} against {value}");
    }

    #[test]
    fn object_allows_extra_members_unless_exact() {
        check(r#"{"a": 1}"#, json!({"a": 1, "b": 2}), None);
        check(r#"exactly {"a": 1}"#, json!({"a": 1, "b": 2}), Some("the whole: has a member \"b\" too many"));
        check(r#"{"a": {"b": null}}"#, json!({"a": {}}), Some("a.b: is missing"));
        check(r#"{"a": absent}"#, json!({"b": 1}), None);
        check(r#"{"a": absent}"#, json!({"a": 1}), Some("a: expected nothing, got 1"));
    }

    #[test]
    fn array_is_exact_except_for_wildcards() {
        check("[1, 2]", json!([1, 2]), None);
        check("[1]", json!([1, 2]), Some("the whole: has 1 elements too many, from 2"));
        check("[1, 2]", json!([1]), Some("the whole: has no element 1, but 1 more are expected"));
        check("[1, …]", json!([1, 2, 3]), None);
        check("[…, 3]", json!([1, 2, 3]), None);
        check("[…, 2, …]", json!([1, 2, 3]), None);
        check("[…]", json!([]), None);
        check("[…, 2, …]", json!([1, 3]), Some("[0]: expected 2, got 1"));
        check("[…, 1, …, 1, …]", json!([1, 2]), Some("[1]: expected 1, got 2"));
        check("not […, 2, …]", json!([1, 3]), None);
        check(
            r#"each {"a": integer}"#,
            json!([{"a": 1}, {"a": "1"}]),
            Some("[1].a: expected integer, got \"1\""),
        );
    }

    #[test]
    fn ellipsis_matches_any_substring() {
        check(r#""tbl_…""#, json!("tbl_1"), None);
        check(r#""…b…d""#, json!("abcd"), None);
        check(r#""…b…d""#, json!("abcde"), Some("the whole: expected \"…b…d\", got \"abcde\""));
        check(r#""a…a""#, json!("a"), Some("the whole: expected \"a…a\", got \"a\""));
        check(r#""ab""#, json!("abc"), Some("the whole: expected \"ab\", got \"abc\""));
        check(r#""…""#, json!(1), Some("the whole: expected \"…\", got 1"));
    }

    #[test]
    fn json_suffix_parses_string_as_json() {
        check(r#"{"text:json": [{"id": "a"}]}"#, json!({"text": "[{\"id\":\"a\",\"b\":1}]"}), None);
        check(
            r#"{"text:json": […]}"#,
            json!({"text": "["}),
            Some("text:json: expected JSON in a string, got \"[\""),
        );
    }

    #[test]
    fn keywords_match_value_kinds() {
        check("time", json!("2026-02-12T00:00:00.000Z"), None);
        check("time", json!("2026-02-12"), Some("the whole: expected time, got \"2026-02-12\""));
        check("id", json!("tbl_01HQ7K3AAAAAAAAAAAAAAAAAAA"), None);
        check("id", json!("tbl_users"), Some("the whole: expected id, got \"tbl_users\""));
        check("1", json!(1.0), None);
        check("number", json!(1.5), None);
        check("integer", json!(1.5), Some("the whole: expected integer, got 1.5"));
    }

    #[test]
    fn captured_value_can_be_referenced() {
        let mut captures = Captures::new();
        parse(r#"[…, {"id": "b…" as $b}, …]"#)
            .unwrap()
            .check(&json!([{"id": "a"}, {"id": "b1"}]), &mut captures)
            .unwrap();
        assert_eq!(captures["b"], "b1");
        parse(r#"[$b, "x/$b/y", {"$gte": 1}]"#)
            .unwrap()
            .check(&json!(["b1", "x/b1/y", {"$gte": 1}]), &mut captures)
            .unwrap();
        let filled =
            parse(r#"{"uri": "x://$b", "n": [$b, 1], "$gte": "$c"}"#).unwrap().fill(&captures).unwrap();
        assert_eq!(filled, json!({"uri": "x://b1", "n": ["b1", 1], "$gte": "$c"}));
        assert!(parse(r#"{"a": …}"#).unwrap().fill(&captures).is_err());
    }

    #[test]
    fn failed_match_captures_nothing() {
        let mut captures = Captures::new();
        assert!(parse("[1 as $a, 2]").unwrap().check(&json!([1, 3]), &mut captures).is_err());
        assert!(captures.is_empty());
    }
}
