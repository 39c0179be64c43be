//! Front matter: what stands between two lines of three dashes at the top of a page, as YAML.
//!
//! Values are read by the core schema of YAML 1.2: dates and times stay texts, `yes` is a word. What cannot be read is reported
//! with its place in the file, and the page then has no front matter at all rather than half of one.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value, json};

use crate::limits::{FRONT_MATTER_BYTES_MAX, FRONT_MATTER_DEPTH_MAX, FRONT_MATTER_WEIGHT_MAX};

/// What keeps a page from being what it was meant to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// One sentence.
    pub message: String,
}

impl Problem {
    /// A problem of the file as a whole.
    pub fn of_file(message: impl Into<String>) -> Problem {
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
    /// Its values, in the order in which they are written.
    pub values: Map<String, Value>,
    /// Why it could not be read.
    pub problem: Option<Problem>,
}

impl FrontMatter {
    /// A text that is not empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Whether the page is one that is not to be published yet.
    pub fn is_draft(&self) -> bool {
        self.values.get("draft") == Some(&Value::Bool(true))
    }
}

/// A page's front matter, and the text below it. A text that does not begin with it, or never ends it, has none.
pub fn split(text: &str) -> (FrontMatter, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((yaml, body)) = halves(text) else { return (FrontMatter::default(), text) };
    let read = if yaml.len() > FRONT_MATTER_BYTES_MAX {
        Err(Problem::of_file(format!("the front matter is longer than {FRONT_MATTER_BYTES_MAX} bytes")))
    } else {
        read(yaml)
    };
    let front_matter = match read {
        Ok(values) => FrontMatter { values, problem: None },
        Err(problem) => FrontMatter { values: Map::new(), problem: Some(problem) },
    };
    (front_matter, body)
}

/// What stands between the dashes, and what stands below them.
fn halves(text: &str) -> Option<(&str, &str)> {
    let is_fence = |line: &str| line.strip_suffix('\n').is_some_and(|line| line.trim_end() == "---");
    let opening = text.split_inclusive('\n').next().filter(|line| is_fence(line))?;
    let rest = text.get(opening.len()..)?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        // The last line of a file may lack its end.
        if is_fence(line) || line.trim_end() == "---" {
            return Some((rest.get(..end)?, rest.get(end + line.len()..)?));
        }
        end += line.len();
    }
    None
}

fn read(yaml: &str) -> Result<Map<String, Value>, Problem> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(yaml) {
        let (event, span) =
            event.map_err(|error| problem(error.marker(), format!("this is no YAML: {}", error.info())))?;
        builder.take(event, span)?;
    }
    match builder.root {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(values)) => Ok(values),
        Some(_) => {
            Err(Problem { line: 2, column: 1, message: "front matter is a list of keys with values".into() })
        }
    }
}

/// The dashes above are a line of the file, and the parser counts columns from nought.
fn problem(at: &Marker, message: impl Into<String>) -> Problem {
    Problem { line: at.line() + 1, column: at.col() + 1, message: message.into() }
}

/// A value that is not complete yet, with the anchor that it can be called by (nought for none).
enum Open {
    Sequence(usize, Vec<Value>),
    Mapping(usize, Map<String, Value>, Option<String>),
}

/// The value that a stream of events describes.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Value>,
    /// Each with what it weighs and how deep it is.
    anchors: HashMap<usize, (Value, usize, usize)>,
    weight: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(problem(&span.start, "front matter is one document, and this begins another"))
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref());
                self.weigh(1 + text.len(), 1, span)?;
                self.place(value, anchor, span)
            }
            Event::SequenceStart(anchor, _) => self.enter(Open::Sequence(anchor, Vec::new()), span),
            Event::MappingStart(anchor, _) => self.enter(Open::Mapping(anchor, Map::new(), None), span),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::Sequence(anchor, items)) => self.place(Value::Array(items), anchor, span),
                Some(Open::Mapping(anchor, map, _)) => self.place(Value::Object(map), anchor, span),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some((value, weight, depth)) = self.anchors.get(&anchor).cloned() else {
                    return Err(problem(&span.start, "this alias stands within what it stands for"));
                };
                self.weigh(weight, depth, span)?;
                self.place(value, 0, span)
            }
        }
    }

    fn enter(&mut self, open: Open, span: Span) -> Result<(), Problem> {
        self.weigh(1, 1, span)?;
        self.open.push(open);
        Ok(())
    }

    fn weigh(&mut self, weight: usize, depth: usize, span: Span) -> Result<(), Problem> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight > FRONT_MATTER_WEIGHT_MAX {
            let message = format!("with its aliases the front matter is more than {FRONT_MATTER_WEIGHT_MAX}");
            return Err(problem(&span.start, format!("{message} bytes")));
        }
        if self.open.len() + depth > FRONT_MATTER_DEPTH_MAX {
            let message = format!("the front matter nests deeper than {FRONT_MATTER_DEPTH_MAX} levels");
            return Err(problem(&span.start, message));
        }
        Ok(())
    }

    /// Puts a complete value where it belongs.
    fn place(&mut self, value: Value, anchor: usize, span: Span) -> Result<(), Problem> {
        if anchor > 0 {
            let (weight, depth) = measure(&value);
            self.anchors.insert(anchor, (value.clone(), weight, depth));
        }
        match self.open.last_mut() {
            Some(Open::Sequence(_, items)) => items.push(value),
            Some(Open::Mapping(_, map, key)) => match key.take() {
                Some(key) => {
                    map.insert(key, value);
                }
                None => {
                    let name = key_text(value)
                        .ok_or_else(|| problem(&span.start, "a key must be a text, a number or a word"))?;
                    if map.contains_key(&name) {
                        return Err(problem(&span.start, format!("the key {name} is there twice")));
                    }
                    *key = Some(name);
                }
            },
            None => self.root = Some(value),
        }
        Ok(())
    }
}

fn key_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null => Some(String::new()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// What a value weighs, and how deep it is. No deeper than the limit, since it was built within it.
fn measure(value: &Value) -> (usize, usize) {
    let all = |parts: &mut dyn Iterator<Item = &Value>| {
        parts.map(measure).fold((1, 1), |(weight, depth), (more, deep)| (weight + more, depth.max(deep + 1)))
    };
    match value {
        Value::String(text) => (1 + text.len(), 1),
        Value::Array(items) => all(&mut items.iter()),
        Value::Object(map) => {
            let (weight, depth) = all(&mut map.values());
            (weight + map.keys().map(|key| 1 + key.len()).sum::<usize>(), depth)
        }
        _ => (1, 1),
    }
}

/// A scalar's value: quoted ones are texts, plain ones what they look like.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    if style != ScalarStyle::Plain || is_text {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

/// A number of the core schema. Infinity and what is no number have no spelling in JSON, and stay texts.
fn number(text: &str) -> Option<Number> {
    let radix = |digits: &str, radix| {
        let plain = !digits.starts_with('+') && !digits.starts_with('-');
        plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten().map(Number::from)
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = bare.trim_start_matches('.');
    // Rust would also take `inf`, `nan` and `infinity` for numbers.
    if !digits.starts_with(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    if bare.bytes().all(|byte| byte.is_ascii_digit())
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
        let (front_matter, body) = split(&text);
        assert_eq!((front_matter.problem, body), (None, "body"), "{yaml}");
        Value::Object(front_matter.values)
    }

    fn place_of(yaml: &str) -> (usize, usize, String) {
        let text = format!("---\n{yaml}\n---\nbody");
        let (front_matter, body) = split(&text);
        assert_eq!((front_matter.values.len(), body), (0, "body"), "{yaml}");
        let problem = front_matter.problem.unwrap_or_else(|| panic!("no problem in {yaml}"));
        (problem.line, problem.column, problem.message)
    }

    #[test]
    fn values_are_those_of_the_core_schema() {
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
    fn only_a_whole_block_at_the_top_is_front_matter() {
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
            assert_eq!(split(text), (FrontMatter::default(), text), "{text:?}");
        }
        for text in ["---\r\na: 1\r\n---\r\nb", "\u{feff}---\na: 1\n---\nb", "---  \na: 1\n--- \nb"] {
            let (front_matter, body) = split(text);
            assert_eq!((front_matter.values.get("a"), body), (Some(&json!(1)), "b"), "{text:?}");
        }
        assert_eq!(split("---\n---").1, "");
        assert_eq!(split("---\n---\nx\n---\n").1, "x\n---\n");
    }

    #[test]
    fn mistakes_are_placed() {
        let (line, column, message) = place_of("title: A\ntags: [a, b\nx: 1");
        assert!(
            line >= 3 && column >= 1 && message.starts_with("this is no YAML"),
            "{line}:{column} {message}"
        );
        assert_eq!(place_of("a: 1\nb: 2\na: 3"), (4, 1, "the key a is there twice".into()));
        assert_eq!(place_of("a: 1\n? [b]\n: 2").0, 3);
        assert_eq!(place_of("- a").0, 2);
        assert_eq!(place_of("just words").0, 2);
        assert_eq!(place_of("a: &x [*x]").0, 2);
        assert_eq!(place_of("a: *x").0, 2);
        assert_eq!(place_of("a: 1\n...\n- b").0, 4);
    }

    #[test]
    fn limits_hold() {
        let mut bomb = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let aliases = vec![format!("*l{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("l{level}: &l{level} [{aliases}]\n"));
        }
        assert!(place_of(&bomb).2.contains("aliases"), "{:?}", place_of(&bomb));
        assert!(place_of(&format!("a: {}{}", "[".repeat(40), "]".repeat(40))).2.contains("deeper"));
        let mut ladder = String::from("l0: &l0 [x]\n");
        for level in 1..60 {
            ladder.push_str(&format!("l{level}: &l{level} [*l{}]\n", level - 1));
        }
        assert!(place_of(&ladder).2.contains("deeper"));
        assert!(place_of(&format!("a: {}", "x".repeat(FRONT_MATTER_BYTES_MAX))).2.contains("longer"));
    }
}
