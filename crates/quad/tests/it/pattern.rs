//! Patterns: JSON that says what a reply must look like, and no more than that.
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
//! Requests are written in the same language, without what stands for several values.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

/// What has been kept so far, by name.
pub type Kept = BTreeMap<String, Value>;

/// What a value must look like.
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
    Sort(Sort),
    /// An array, element by element.
    Array(Vec<Element>),
    /// `each P`.
    Each(Box<Pattern>),
    /// An object.
    Object { members: Vec<Member>, exact: bool },
    /// `not P`.
    Not(Box<Pattern>),
    /// `P as $name`.
    Keep(Box<Pattern>, String),
    /// `$name`.
    Kept(String),
}

/// A part of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// `…`.
    Run,
    /// One element.
    One(Pattern),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Whether its string is looked at as JSON.
    pub as_json: bool,
    /// What it must look like.
    pub pattern: Pattern,
}

/// The sorts of values that have a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    String,
    Integer,
    Number,
    Boolean,
    /// A UTC time with milliseconds.
    Time,
    /// A prefix, an underscore and a ULID.
    Id,
}

impl Sort {
    pub(crate) fn parse(word: &str) -> Option<Sort> {
        Some(match word {
            "string" => Sort::String,
            "integer" => Sort::Integer,
            "number" => Sort::Number,
            "boolean" => Sort::Boolean,
            "time" => Sort::Time,
            "id" => Sort::Id,
            _ => return None,
        })
    }

    fn holds(self, value: &Value) -> bool {
        match self {
            Sort::String => value.is_string(),
            Sort::Integer => value.is_i64() || value.is_u64(),
            Sort::Number => value.is_number(),
            Sort::Boolean => value.is_boolean(),
            Sort::Time => value.as_str().is_some_and(is_time),
            Sort::Id => value.as_str().is_some_and(is_id),
        }
    }
}

/// `2026-02-12T00:00:00.000Z`.
pub fn is_time(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let fits = |(byte, shape): (u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == *shape };
    text.len() == SHAPE.len() && text.bytes().zip(SHAPE).all(fits)
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

/// Where a value differs from its pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The way to the value: `contents[0].text:json`.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the whole" } else { self.path.trim_start_matches('.') };
        write!(f, "{path}: {}", self.reason)
    }
}

impl Pattern {
    /// Compares, and keeps what the pattern wants kept.
    pub fn check(&self, value: &Value, kept: &mut Kept) -> Result<(), Mismatch> {
        let mut trial = kept.clone();
        self.compare(value, "", &mut trial)?;
        *kept = trial;
        Ok(())
    }

    /// The value that a request means.
    pub fn fill(&self, kept: &Kept) -> Result<Value, String> {
        Ok(match self {
            Pattern::Literal(value) => value.clone(),
            Pattern::Text(text) => {
                let filled = fill_text(text, kept);
                if filled.contains('…') {
                    return Err(format!("a request cannot hold `…`: {filled:?}"));
                }
                Value::String(filled)
            }
            Pattern::Kept(name) => {
                kept.get(name).cloned().ok_or_else(|| format!("nothing is kept as ${name}"))?
            }
            Pattern::Array(elements) => {
                let each = elements.iter().map(|element| match element {
                    Element::One(pattern) => pattern.fill(kept),
                    Element::Run => Err("a request cannot hold `…`".to_owned()),
                });
                Value::Array(each.collect::<Result<_, _>>()?)
            }
            Pattern::Object { members, .. } => {
                let each = members
                    .iter()
                    .map(|member| Ok((fill_text(&member.name, kept), member.pattern.fill(kept)?)));
                Value::Object(each.collect::<Result<Map<_, _>, String>>()?)
            }
            other => return Err(format!("a request cannot hold {other:?}")),
        })
    }

    fn compare(&self, value: &Value, path: &str, kept: &mut Kept) -> Result<(), Mismatch> {
        let differs = |reason: String| Mismatch { path: path.to_owned(), reason };
        let expected = |what: &dyn fmt::Display| differs(format!("expected {what}, got {}", short(value)));
        match self {
            Pattern::Any => Ok(()),
            Pattern::Absent => Err(expected(&"nothing")),
            Pattern::Literal(literal) if equal(literal, value) => Ok(()),
            Pattern::Literal(literal) => Err(expected(literal)),
            Pattern::Sort(sort) if sort.holds(value) => Ok(()),
            Pattern::Sort(sort) => Err(expected(&format!("{sort:?}").to_lowercase())),
            Pattern::Text(pattern) => {
                let pattern = fill_text(pattern, kept);
                match value.as_str() {
                    Some(text) if glob(&pattern, text) => Ok(()),
                    _ => Err(expected(&Value::String(pattern))),
                }
            }
            Pattern::Kept(name) => match kept.get(name) {
                None => Err(differs(format!("nothing is kept as ${name}"))),
                Some(known) if equal(known, value) => Ok(()),
                Some(known) => Err(expected(known)),
            },
            Pattern::Keep(pattern, name) => {
                pattern.compare(value, path, kept)?;
                kept.insert(name.clone(), value.clone());
                Ok(())
            }
            Pattern::Not(pattern) => match pattern.compare(value, path, &mut kept.clone()) {
                Ok(()) => Err(differs(format!("this must not be there: {}", short(value)))),
                Err(_) => Ok(()),
            },
            Pattern::Each(pattern) => {
                let Value::Array(values) = value else { return Err(expected(&"an array")) };
                let mut all = values.iter().enumerate();
                all.try_for_each(|(index, value)| pattern.compare(value, &format!("{path}[{index}]"), kept))
            }
            Pattern::Array(elements) => {
                let Value::Array(values) = value else { return Err(expected(&"an array")) };
                compare_elements(elements, values, 0, path, kept)
            }
            Pattern::Object { members, exact } => {
                let Value::Object(object) = value else { return Err(expected(&"an object")) };
                for member in members {
                    member.compare(object, path, kept)?;
                }
                let is_wanted = |name: &String| members.iter().any(|member| member.name == *name);
                match object.keys().find(|name| *exact && !is_wanted(name)) {
                    Some(name) => Err(differs(format!("has a member {name:?} too many"))),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Member {
    fn compare(&self, object: &Map<String, Value>, path: &str, kept: &mut Kept) -> Result<(), Mismatch> {
        let (name, suffix) = (&self.name, if self.as_json { ":json" } else { "" });
        let path = format!("{path}.{name}{suffix}");
        let Some(value) = object.get(name) else {
            let is_fine = self.pattern == Pattern::Absent;
            let reason = "is missing".to_owned();
            return if is_fine { Ok(()) } else { Err(Mismatch { path, reason }) };
        };
        if !self.as_json {
            return self.pattern.compare(value, &path, kept);
        }
        match value.as_str().map(serde_json::from_str::<Value>) {
            Some(Ok(parsed)) => self.pattern.compare(&parsed, &path, kept),
            _ => Err(Mismatch { path, reason: format!("expected JSON in a string, got {}", short(value)) }),
        }
    }
}

/// Elements against values, the first of which is number `index` of its array. A run is tried from its shortest on.
fn compare_elements(
    elements: &[Element],
    values: &[Value],
    index: usize,
    path: &str,
    kept: &mut Kept,
) -> Result<(), Mismatch> {
    let differs = |reason: String| Mismatch { path: path.to_owned(), reason };
    match elements {
        [] if values.is_empty() => Ok(()),
        [] => Err(differs(format!("has {} elements too many, from {}", values.len(), short(&values[0])))),
        [Element::One(pattern), rest @ ..] => {
            let [value, others @ ..] = values else {
                return Err(differs(format!(
                    "has no element {index}, but {} more are expected",
                    elements.len()
                )));
            };
            pattern.compare(value, &format!("{path}[{index}]"), kept)?;
            compare_elements(rest, others, index + 1, path, kept)
        }
        [Element::Run, rest @ ..] => {
            let mut nearest = None;
            for skipped in 0..=values.len() {
                let mut trial = kept.clone();
                match compare_elements(rest, &values[skipped..], index + skipped, path, &mut trial) {
                    Ok(()) => {
                        *kept = trial;
                        return Ok(());
                    }
                    // The mismatch that lies deepest is the one that almost matched.
                    Err(mismatch) => {
                        let is_deeper = |best: &Mismatch| mismatch.path.len() > best.path.len();
                        if nearest.as_ref().is_none_or(is_deeper) {
                            nearest = Some(mismatch);
                        }
                    }
                }
            }
            Err(nearest.unwrap_or_else(|| differs("does not match".to_owned())))
        }
    }
}

/// Numbers are equal by value, whatever their spelling.
fn equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(a), Some(b)) if one.as_i64().is_none() || other.as_i64().is_none() => a == b,
        _ => one == other,
    }
}

/// Replaces the names of kept values by their text. A `$` before anything else stays: filters have `$gte`.
pub fn fill_text(text: &str, kept: &Kept) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(place) = rest.find('$') {
        let (before, after) = rest.split_at(place);
        filled.push_str(before);
        let end = after[1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .map_or(after.len(), |end| end + 1);
        match kept.get(&after[1..end]) {
            Some(Value::String(value)) => filled.push_str(value),
            Some(value) => filled.push_str(&value.to_string()),
            None => filled.push_str(&after[..end]),
        }
        rest = &after[end..];
    }
    filled + rest
}

/// Whether the text has the pattern's parts in their order.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            match rest.find(middle) {
                Some(place) => rest = &rest[place + middle.len()..],
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

fn short(value: &Value) -> String {
    const LONGEST: usize = 300;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
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
        let mismatch = parse(pattern).unwrap().check(&value, &mut Kept::new()).err();
        let got = mismatch.map(|mismatch| mismatch.to_string());
        assert_eq!(got.as_deref(), expect, "{pattern} against {value}");
    }

    #[test]
    fn an_object_is_a_subset_unless_it_is_exact() {
        check(r#"{"a": 1}"#, json!({"a": 1, "b": 2}), None);
        check(r#"exactly {"a": 1}"#, json!({"a": 1, "b": 2}), Some("the whole: has a member \"b\" too many"));
        check(r#"{"a": {"b": null}}"#, json!({"a": {}}), Some("a.b: is missing"));
        check(r#"{"a": absent}"#, json!({"b": 1}), None);
        check(r#"{"a": absent}"#, json!({"a": 1}), Some("a: expected nothing, got 1"));
    }

    #[test]
    fn an_array_is_exact_but_for_its_runs() {
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
    fn a_string_may_have_gaps() {
        check(r#""tbl_…""#, json!("tbl_1"), None);
        check(r#""…b…d""#, json!("abcd"), None);
        check(r#""…b…d""#, json!("abcde"), Some("the whole: expected \"…b…d\", got \"abcde\""));
        check(r#""a…a""#, json!("a"), Some("the whole: expected \"a…a\", got \"a\""));
        check(r#""ab""#, json!("abc"), Some("the whole: expected \"ab\", got \"abc\""));
        check(r#""…""#, json!(1), Some("the whole: expected \"…\", got 1"));
    }

    #[test]
    fn a_string_may_hold_json() {
        check(r#"{"text:json": [{"id": "a"}]}"#, json!({"text": "[{\"id\":\"a\",\"b\":1}]"}), None);
        check(
            r#"{"text:json": […]}"#,
            json!({"text": "["}),
            Some("text:json: expected JSON in a string, got \"[\""),
        );
    }

    #[test]
    fn words_name_sorts_of_values() {
        check("time", json!("2026-02-12T00:00:00.000Z"), None);
        check("time", json!("2026-02-12"), Some("the whole: expected time, got \"2026-02-12\""));
        check("id", json!("tbl_01HQ7K3AAAAAAAAAAAAAAAAAAA"), None);
        check("id", json!("tbl_users"), Some("the whole: expected id, got \"tbl_users\""));
        check("1", json!(1.0), None);
        check("number", json!(1.5), None);
        check("integer", json!(1.5), Some("the whole: expected integer, got 1.5"));
    }

    #[test]
    fn what_is_kept_can_be_used_again() {
        let mut kept = Kept::new();
        parse(r#"[…, {"id": "b…" as $b}, …]"#)
            .unwrap()
            .check(&json!([{"id": "a"}, {"id": "b1"}]), &mut kept)
            .unwrap();
        assert_eq!(kept["b"], "b1");
        parse(r#"[$b, "x/$b/y", {"$gte": 1}]"#)
            .unwrap()
            .check(&json!(["b1", "x/b1/y", {"$gte": 1}]), &mut kept)
            .unwrap();
        let filled = parse(r#"{"uri": "x://$b", "n": [$b, 1], "$gte": "$c"}"#).unwrap().fill(&kept).unwrap();
        assert_eq!(filled, json!({"uri": "x://b1", "n": ["b1", 1], "$gte": "$c"}));
        assert!(parse(r#"{"a": …}"#).unwrap().fill(&kept).is_err());
    }

    #[test]
    fn a_failed_match_keeps_nothing() {
        let mut kept = Kept::new();
        assert!(parse("[1 as $a, 2]").unwrap().check(&json!([1, 3]), &mut kept).is_err());
        assert!(kept.is_empty());
    }
}
