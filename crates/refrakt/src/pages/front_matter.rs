//! Front matter: YAML between two lines of three dashes at the top of a page.
//!
//! Values follow the core schema of YAML 1.2: dates and times are strings, and `yes` is a string. An error is reported
//! with its position in the file, and the page then has no front matter at all.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value, json};

use crate::limits::{FRONT_MATTER_BYTES_MAX, FRONT_MATTER_DEPTH_MAX, FRONT_MATTER_EXPANDED_SIZE_MAX};

/// An error in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// One sentence.
    pub message: String,
}

impl Problem {
    /// A problem of the file as a whole.
    pub fn for_file(message: impl Into<String>) -> Problem {
        Problem { line: 1, column: 1, message: message.into() }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({ "line": self.line, "column": self.column, "message": self.message })
    }
}

/// The front matter of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
    /// The values, in the order of the file.
    pub values: Map<String, Value>,
    /// Why it could not be parsed.
    pub problem: Option<Problem>,
}

impl FrontMatter {
    /// A string value that is not empty.
    pub fn get_str(&self, key: &str) -> Option<&str> {
        self.values.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Whether the page is a draft.
    pub fn is_draft(&self) -> bool {
        self.values.get("draft") == Some(&Value::Bool(true))
    }
}

/// A page's front matter, and the text below it. Without a first line of dashes, or without a closing one, there is
/// none.
pub fn parse_front_matter(text: &str) -> (FrontMatter, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((yaml, body)) = split_front_matter(text) else { return (FrontMatter::default(), text) };
    let values = if yaml.len() > FRONT_MATTER_BYTES_MAX {
        Err(Problem::for_file(format!("the front matter is longer than {FRONT_MATTER_BYTES_MAX} bytes")))
    } else {
        parse_yaml(yaml)
    };
    let front_matter = match values {
        Ok(values) => FrontMatter { values, problem: None },
        Err(problem) => FrontMatter { values: Map::new(), problem: Some(problem) },
    };
    (front_matter, body)
}

/// The YAML and the text below it.
fn split_front_matter(text: &str) -> Option<(&str, &str)> {
    let is_fence = |line: &str| line.strip_suffix('\n').is_some_and(|line| line.trim_end() == "---");
    let opening = text.split_inclusive('\n').next().filter(|line| is_fence(line))?;
    let rest = text.get(opening.len()..)?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        // The last line of a file may lack its newline.
        if is_fence(line) || line.trim_end() == "---" {
            return Some((rest.get(..end)?, rest.get(end + line.len()..)?));
        }
        end += line.len();
    }
    None
}

fn parse_yaml(yaml: &str) -> Result<Map<String, Value>, Problem> {
    let mut builder = ValueBuilder::default();
    for event in Parser::new_from_str(yaml) {
        let (event, span) =
            event.map_err(|error| problem_at(error.marker(), format!("invalid YAML: {}", error.info())))?;
        builder.handle_event(event, span)?;
    }
    match builder.root {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(values)) => Ok(values),
        Some(_) => Err(Problem {
            line: 2,
            column: 1,
            message: "front matter must be a mapping of keys to values".into(),
        }),
    }
}

/// Adds the line of dashes above the YAML. The parser counts columns from 0.
fn problem_at(marker: &Marker, message: impl Into<String>) -> Problem {
    Problem { line: marker.line() + 1, column: marker.col() + 1, message: message.into() }
}

/// A collection that is still open, with its anchor (0 for none).
enum OpenCollection {
    Sequence(usize, Vec<Value>),
    Mapping(usize, Map<String, Value>, Option<String>),
}

/// Builds the value from the events of the parser.
#[derive(Default)]
struct ValueBuilder {
    open_collections: Vec<OpenCollection>,
    root: Option<Value>,
    /// The anchored values, each with its expanded size and depth.
    anchors: HashMap<usize, (Value, usize, usize)>,
    expanded_size: usize,
}

impl ValueBuilder {
    fn handle_event(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => Err(problem_at(
                &span.start,
                "front matter must be one YAML document, and this begins another",
            )),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Scalar(text, style, anchor, tag) => {
                let value = parse_scalar(&text, style, tag.as_deref());
                self.charge(1 + text.len(), 1, span)?;
                self.insert_value(value, anchor, span)
            }
            Event::SequenceStart(anchor, _) => {
                self.open_collection(OpenCollection::Sequence(anchor, Vec::new()), span)
            }
            Event::MappingStart(anchor, _) => {
                self.open_collection(OpenCollection::Mapping(anchor, Map::new(), None), span)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open_collections.pop() {
                Some(OpenCollection::Sequence(anchor, items)) => {
                    self.insert_value(Value::Array(items), anchor, span)
                }
                Some(OpenCollection::Mapping(anchor, map, _)) => {
                    self.insert_value(Value::Object(map), anchor, span)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some((value, size, depth)) = self.anchors.get(&anchor).cloned() else {
                    return Err(problem_at(&span.start, "this alias refers to a value that contains it"));
                };
                self.charge(size, depth, span)?;
                self.insert_value(value, 0, span)
            }
        }
    }

    fn open_collection(&mut self, collection: OpenCollection, span: Span) -> Result<(), Problem> {
        self.charge(1, 1, span)?;
        self.open_collections.push(collection);
        Ok(())
    }

    fn charge(&mut self, size: usize, depth: usize, span: Span) -> Result<(), Problem> {
        self.expanded_size = self.expanded_size.saturating_add(size);
        if self.expanded_size > FRONT_MATTER_EXPANDED_SIZE_MAX {
            let message = format!(
                "with its aliases expanded, the front matter is longer than {FRONT_MATTER_EXPANDED_SIZE_MAX}"
            );
            return Err(problem_at(&span.start, format!("{message} bytes")));
        }
        if self.open_collections.len() + depth > FRONT_MATTER_DEPTH_MAX {
            let message = format!("the front matter nests deeper than {FRONT_MATTER_DEPTH_MAX} levels");
            return Err(problem_at(&span.start, message));
        }
        Ok(())
    }

    /// Adds a complete value to the collection that contains it.
    fn insert_value(&mut self, value: Value, anchor: usize, span: Span) -> Result<(), Problem> {
        if anchor > 0 {
            let (size, depth) = value_size(&value);
            self.anchors.insert(anchor, (value.clone(), size, depth));
        }
        match self.open_collections.last_mut() {
            Some(OpenCollection::Sequence(_, items)) => items.push(value),
            Some(OpenCollection::Mapping(_, map, key)) => match key.take() {
                Some(key) => {
                    map.insert(key, value);
                }
                None => {
                    let name = key_to_string(value).ok_or_else(|| {
                        problem_at(&span.start, "a key must be a string, a number or a boolean")
                    })?;
                    if map.contains_key(&name) {
                        return Err(problem_at(&span.start, format!("the key {name} is duplicated")));
                    }
                    *key = Some(name);
                }
            },
            None => self.root = Some(value),
        }
        Ok(())
    }
}

fn key_to_string(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null => Some(String::new()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// The expanded size and the depth of a value. Recursion is safe: the depth limit applied when the value was built.
fn value_size(value: &Value) -> (usize, usize) {
    let sum_of_parts = |parts: &mut dyn Iterator<Item = &Value>| {
        parts.map(value_size).fold((1, 1), |(size, depth), (part_size, part_depth)| {
            (size + part_size, depth.max(part_depth + 1))
        })
    };
    match value {
        Value::String(text) => (1 + text.len(), 1),
        Value::Array(items) => sum_of_parts(&mut items.iter()),
        Value::Object(map) => {
            let (size, depth) = sum_of_parts(&mut map.values());
            (size + map.keys().map(|key| 1 + key.len()).sum::<usize>(), depth)
        }
        _ => (1, 1),
    }
}

/// The value of a scalar: a quoted scalar is a string, a plain one follows the core schema.
fn parse_scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    if style != ScalarStyle::Plain || is_text {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => parse_number(text).map_or_else(|| text.into(), Value::Number),
    }
}

/// A number of the core schema. Infinity and NaN have no form in JSON and stay strings.
fn parse_number(text: &str) -> Option<Number> {
    let parse_radix = |digits: &str, radix| {
        let is_unsigned = !digits.starts_with('+') && !digits.starts_with('-');
        is_unsigned.then(|| u64::from_str_radix(digits, radix).ok()).flatten().map(Number::from)
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return parse_radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return parse_radix(digits, 8);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.trim_start_matches('.');
    // Rust would also parse `inf`, `nan` and `infinity`.
    if !digits.starts_with(|ch: char| ch.is_ascii_digit()) {
        return None;
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(whole) = text.parse::<i64>()
    {
        return Some(whole.into());
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(yaml: &str) -> Value {
        let text = format!("---\n{yaml}\n---\nbody");
        let (front_matter, body) = parse_front_matter(&text);
        assert_eq!((front_matter.problem, body), (None, "body"), "{yaml}");
        Value::Object(front_matter.values)
    }

    fn problem_of(yaml: &str) -> (usize, usize, String) {
        let text = format!("---\n{yaml}\n---\nbody");
        let (front_matter, body) = parse_front_matter(&text);
        assert_eq!((front_matter.values.len(), body), (0, "body"), "{yaml}");
        let problem = front_matter.problem.unwrap_or_else(|| panic!("no problem in {yaml}"));
        (problem.line, problem.column, problem.message)
    }

    #[test]
    fn front_matter_uses_yaml_core_schema() {
        assert_eq!(
            values(
                "title: A page\ndraft: true\norder: 3\nat: 2024-05-01\nyes: yes\nhex: 0x1F\noct: 0o17\nf: -1.5e3\ninf: .inf\nnan: nan\n\
                 none:\ntilde: ~\nq: \"7\"\nt: !!str 7\nbig: 99999999999999999999\nversion: 1.2.3"
            ),
            json!({
                "title": "A page", "draft": true, "order": 3, "at": "2024-05-01", "yes": "yes", "hex": 31, "oct": 15,
                "f": -1500.0, "inf": ".inf", "nan": "nan", "none": null, "tilde": null, "q": "7", "t": "7",
                "big": 1e20, "version": "1.2.3",
            })
        );
        assert_eq!(
            values(
                "tags: [a, b]\nseo:\n  image: /x.png\n  list:\n    - k: 1\n    - 2\n7: seven\ntext: |\n  a\n  b"
            ),
            json!({ "tags": ["a", "b"], "seo": { "image": "/x.png", "list": [{ "k": 1 }, 2] }, "7": "seven", "text": "a\nb\n" })
        );
        assert_eq!(values("a: &x {k: [1]}\nb: *x"), json!({ "a": { "k": [1] }, "b": { "k": [1] } }));
        assert_eq!(values("# nothing"), json!({}));
    }

    #[test]
    fn front_matter_must_be_a_closed_block_at_the_top() {
        for text in [
            "",
            "a",
            "---",
            "---\n",
            "---\na: 1\n",
            "\n---\na: 1\n---\n",
            "----\na: 1\n---\n",
            "--- a\n---\n",
        ] {
            assert_eq!(parse_front_matter(text), (FrontMatter::default(), text), "{text:?}");
        }
        for text in ["---\r\na: 1\r\n---\r\nb", "\u{feff}---\na: 1\n---\nb", "---  \na: 1\n--- \nb"] {
            let (front_matter, body) = parse_front_matter(text);
            assert_eq!((front_matter.values.get("a"), body), (Some(&json!(1)), "b"), "{text:?}");
        }
        assert_eq!(parse_front_matter("---\n---").1, "");
        assert_eq!(parse_front_matter("---\n---\nx\n---\n").1, "x\n---\n");
    }

    #[test]
    fn front_matter_errors_have_line_and_column() {
        let (line, column, message) = problem_of("title: A\ntags: [a, b\nx: 1");
        assert!(line >= 3 && column >= 1 && message.starts_with("invalid YAML"), "{line}:{column} {message}");
        assert_eq!(problem_of("a: 1\nb: 2\na: 3"), (4, 1, "the key a is duplicated".into()));
        assert_eq!(problem_of("a: 1\n? [b]\n: 2").0, 3);
        assert_eq!(problem_of("- a").0, 2);
        assert_eq!(problem_of("just words").0, 2);
        assert_eq!(problem_of("a: &x [*x]").0, 2);
        assert_eq!(problem_of("a: *x").0, 2);
        assert_eq!(problem_of("a: 1\n...\n- b").0, 4);
    }

    #[test]
    fn front_matter_limits_size_depth_and_aliases() {
        let mut bomb = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let aliases = vec![format!("*l{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("l{level}: &l{level} [{aliases}]\n"));
        }
        assert!(problem_of(&bomb).2.contains("aliases"), "{:?}", problem_of(&bomb));
        assert!(problem_of(&format!("a: {}{}", "[".repeat(40), "]".repeat(40))).2.contains("deeper"));
        let mut ladder = String::from("l0: &l0 [x]\n");
        for level in 1..60 {
            ladder.push_str(&format!("l{level}: &l{level} [*l{}]\n", level - 1));
        }
        assert!(problem_of(&ladder).2.contains("deeper"));
        assert!(problem_of(&format!("a: {}", "x".repeat(FRONT_MATTER_BYTES_MAX))).2.contains("longer"));
    }
}
