//! What the source says: limits with their reasons, codes of errors, scopes and metrics; and that each is documented.

use std::collections::{BTreeMap, BTreeSet};

use super::pages;

/// Crates that are no part of the program.
const NOT_SERVED: [&str; 3] = ["sim", "probes", "fuzz-targets"];

/// The source files of the program without their tests: path and text.
fn files() -> Vec<(String, String)> {
    let root = pages::root();
    let mut files = Vec::new();
    for folder in pages::folders(&root.join("crates")) {
        if NOT_SERVED.contains(&folder.file_name().unwrap().to_str().unwrap()) {
            continue;
        }
        for file in pages::files_below(&folder.join("src"), "rs") {
            let text = std::fs::read_to_string(&file).unwrap();
            files.push((pages::relative(&root, &file), without_tests(&text).to_owned()));
        }
    }
    files
}

/// A file up to its module of tests. A line such as `#[cfg(test)] mod model;` does not end it.
fn without_tests(text: &str) -> &str {
    let mut from = 0;
    while let Some(at) = text[from..].find("#[cfg(test)]") {
        let after = text[from + at..].split_once("]").map_or("", |(_, after)| after).trim_start();
        if after.lines().next().is_some_and(|line| line.starts_with("mod ") && line.ends_with('{')) {
            return &text[..from + at];
        }
        from += at + 1;
    }
    text
}

/// The plain string literals of a text, each with what stands before it.
fn literals(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim_start().starts_with("//") {
            let mut parts = line.split('"');
            let mut offset = at + parts.next().map_or(0, str::len) + 1;
            let mut is_inside = true;
            for part in parts {
                if is_inside {
                    found.push((part, text[..offset - 1].trim_end()));
                }
                is_inside = !is_inside;
                offset += part.len() + 1;
            }
        }
        at += line.len();
    }
    found
}

fn documented(page: &str, what: &str, required: &BTreeMap<String, String>) {
    let text = std::fs::read_to_string(pages::root().join("docs/reference").join(page)).unwrap();
    let missing: Vec<String> = required
        .iter()
        .filter(|(name, _)| !text.contains(&format!("`{name}`")))
        .map(|(name, file)| format!("{name} ({file})"))
        .collect();
    assert!(missing.is_empty(), "docs/reference/{page} lacks {what}:\n{}", missing.join("\n"));
}

// --- codes of errors -----------------------------------------------------------------------------------------------

#[test]
fn every_error_code_is_documented() {
    let codes = error_codes();
    assert!(codes.len() > 100, "only {} codes were found: the search no longer fits the source", codes.len());
    documented("errors.md", "the codes", &codes);
}

/// Words in capitals that are no codes of errors.
const NOT_CODES: [&str; 6] = ["QUAD_", "XDG_", "CARGO_", "GIT_", "LC_ALL", "AUTH_HEADER"];

/// Calls whose first text is a code.
const TAKES_A_CODE: [&str; 5] = ["limit(", "conflict(", "with_code(", "contradiction(", "absent("];

fn error_codes() -> BTreeMap<String, String> {
    let mut codes = BTreeMap::new();
    let files = files();
    for (file, text) in &files {
        for (literal, before) in literals(text) {
            let is_word = literal.len() > 3
                && literal.chars().all(|letter| letter.is_ascii_alphabetic() || "_-/".contains(letter));
            if !is_word {
                continue;
            }
            let in_capitals = literal.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
            let is_named = in_capitals
                && literal.contains('_')
                && (literal.starts_with("QUAD_KEY_") || !NOT_CODES.iter().any(|no| literal.starts_with(no)));
            let is_of_a_credential =
                before.ends_with("=>") && (literal.starts_with("auth_") || literal.starts_with("agent_"));
            let is_given = is_argument_of_error(before)
                || TAKES_A_CODE.iter().any(|call| before.ends_with(call)) && !literal.contains(' ');
            if is_named || is_of_a_credential || is_given {
                codes.insert(literal.to_owned(), file.clone());
            }
        }
        for name in text.split("Kind::").skip(1).filter_map(named_constant) {
            let declared = format!("const {name}: &str = \"");
            let value = files.iter().find_map(|(_, text)| text.split_once(declared.as_str()));
            if let Some((_, value)) = value {
                codes.insert(value.split('"').next().unwrap_or_default().to_owned(), file.clone());
            }
        }
    }
    codes
}

/// The constant in `Limit, NAME,`, which is what stands after `Kind::` where a code has a name.
fn named_constant(text: &str) -> Option<&str> {
    let (kind, rest) = text.split_once(',')?;
    let name = rest.trim_start().split(',').next()?;
    let is_name = name.len() > 3 && name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
    (is_name && kind.chars().all(|letter| letter.is_ascii_alphabetic())).then_some(name)
}

/// Whether a text ends with `Error::new(Kind::…,`.
fn is_argument_of_error(before: &str) -> bool {
    let Some(before) = before.strip_suffix(',') else { return false };
    let kind = before.rfind(|letter: char| !letter.is_ascii_alphanumeric()).map_or("", |at| &before[..=at]);
    let Some(call) = kind.strip_suffix("Kind::") else { return false };
    call.trim_end().trim_end_matches("quad_core::").trim_end().ends_with("Error::new(")
}

// --- scopes --------------------------------------------------------------------------------------------------------

#[test]
fn every_scope_is_documented() {
    let matrix = pages::root().join("crates/quad/tests/it/authorization-matrix.txt");
    let matrix = std::fs::read_to_string(matrix).unwrap();
    let mut scopes: BTreeMap<String, String> = BTreeMap::new();
    for row in matrix.lines().filter(|row| !row.starts_with('#')) {
        let opens = row.split(": ").last().unwrap_or_default().split(" | ").next().unwrap_or_default();
        for scope in opens.split_whitespace().filter(|word| word.contains(':')) {
            scopes.insert(scope.to_owned(), "authorization-matrix.txt".to_owned());
        }
    }
    // Scopes that open no address or tool by themselves have a layer that others have, or a sibling.
    let layers: BTreeSet<String> =
        scopes.keys().filter_map(|scope| scope.rsplit_once(':')).map(|(layer, _)| layer.to_owned()).collect();
    for (file, text) in files() {
        for (literal, _) in literals(&text) {
            let Some((layer, verb)) = literal.rsplit_once(':') else { continue };
            let is_word =
                |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_lowercase());
            if layers.contains(layer) && is_word(verb) {
                scopes.insert(literal.to_owned(), file.clone());
            }
        }
    }
    assert!(scopes.len() > 20, "only {} scopes were found", scopes.len());
    documented("scopes.md", "the scopes", &scopes);
}

// --- metrics -------------------------------------------------------------------------------------------------------

#[test]
fn every_metric_is_documented() {
    let page = std::fs::read_to_string(pages::root().join("docs/reference/metrics.md")).unwrap();
    let mut metrics = BTreeMap::new();
    for (file, text) in files().into_iter().filter(|(file, _)| file.ends_with("metrics.rs")) {
        for (literal, _) in literals(&text) {
            let is_name = literal.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
            if is_name && (literal.starts_with("quad_") || literal.starts_with("process_")) {
                metrics.insert(literal.to_owned(), file.clone());
            }
        }
    }
    assert!(metrics.len() > 20, "only {} metrics were found", metrics.len());
    // The library appends `_total`, `_seconds` and `_info`.
    let is_documented = |name: &str| {
        ["", "_total", "_seconds", "_info"].iter().any(|suffix| page.contains(&format!("`{name}{suffix}`")))
    };
    let missing: Vec<&String> = metrics.keys().filter(|name| !is_documented(name)).collect();
    assert!(missing.is_empty(), "docs/reference/metrics.md lacks {missing:?}");
}

// --- limits --------------------------------------------------------------------------------------------------------

/// The limits of one `limits.rs`.
pub struct Limits {
    /// The crate's folder.
    pub of: String,
    /// The part of the crate, if the file is not that of the whole crate.
    pub part: String,
    pub all: Vec<Limit>,
}

/// A named limit.
pub struct Limit {
    pub name: String,
    pub value: String,
    pub reason: String,
}

/// A constant as it stands in the source.
struct Constant {
    name: String,
    is_duration: bool,
    expression: String,
    reason: String,
}

/// All limits of the program.
pub fn all_limits() -> Vec<Limits> {
    let mut read = Vec::new();
    for (file, text) in files() {
        let parts: Vec<&str> = file.split('/').collect();
        if parts.last() == Some(&"limits.rs") {
            let (of, part) = (parts[1].to_owned(), parts[3..parts.len() - 1].join(" "));
            read.push((of, part, constants(&text)));
        }
    }
    let known: BTreeMap<(String, String), String> = read
        .iter()
        .flat_map(|(of, _, all)| {
            all.iter().map(|one| ((of.clone(), one.name.clone()), one.expression.clone()))
        })
        .collect();
    read.iter()
        .map(|(of, part, all)| Limits {
            of: of.clone(),
            part: part.clone(),
            all: all.iter().filter_map(|one| limit(of, one, &known)).collect(),
        })
        .collect()
}

/// The constants of a file, with their comments.
fn constants(text: &str) -> Vec<Constant> {
    let mut constants = Vec::new();
    let mut reason: Vec<&str> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if let Some(comment) = trimmed.strip_prefix("///") {
            reason.push(comment.trim());
            continue;
        }
        let declared = trimmed.strip_prefix("pub(crate) ").or(trimmed.strip_prefix("pub(super) "));
        let declared = declared.or(trimmed.strip_prefix("pub ")).unwrap_or(trimmed);
        if let Some(constant) = declared.strip_prefix("const ") {
            let mut whole = constant.to_owned();
            while !whole.ends_with(';') {
                let Some(next) = lines.next() else { break };
                whole.push(' ');
                whole.push_str(next.trim());
            }
            if let Some((head, expression)) = whole.trim_end_matches(';').split_once(" = ")
                && let Some((name, kind)) = head.split_once(": ")
            {
                constants.push(Constant {
                    name: name.to_owned(),
                    is_duration: kind.ends_with("Duration"),
                    expression: expression.trim().to_owned(),
                    reason: reason.join(" "),
                });
            }
        }
        reason.clear();
    }
    constants
}

/// A limit as the page shows it. A constant without a comment is a part of others.
fn limit(of: &str, constant: &Constant, known: &BTreeMap<(String, String), String>) -> Option<Limit> {
    if constant.reason.is_empty() {
        return None;
    }
    let value = evaluate(&constant.expression, of, known, 0);
    let value = match value {
        Some(value) => with_unit(&constant.name, constant.is_duration, value),
        None => format!("`{}`", constant.expression),
    };
    Some(Limit { name: constant.name.clone(), value, reason: without_references(&constant.reason) })
}

/// A comment without the brackets of its references to other items.
fn without_references(comment: &str) -> String {
    let mut text = comment.to_owned();
    while let (Some(start), Some(end)) =
        (text.find("](crate"), text.find("](crate").and_then(|at| text[at..].find(')')))
    {
        text.replace_range(start..=start + end, "");
    }
    text.replace("[`", "`").replace("`]", "`")
}

/// A number as a person reads it. Durations are in microseconds.
fn with_unit(name: &str, is_duration: bool, value: i128) -> String {
    let is = |unit: &str| name.split('_').any(|word| word == unit);
    if is_duration {
        time(value)
    } else if is("MS") {
        time(value * 1_000)
    } else if is("KIB") {
        bytes(value * 1_024)
    } else if is("BYTES") {
        bytes(value)
    } else {
        grouped(value)
    }
}

fn time(microseconds: i128) -> String {
    let units = [
        (86_400_000_000, "day"),
        (3_600_000_000, "h"),
        (60_000_000, "min"),
        (1_000_000, "s"),
        (1_000, "ms"),
        (1, "µs"),
    ];
    for (size, unit) in units {
        if microseconds >= size && microseconds % size == 0 {
            let count = microseconds / size;
            let plural = if unit == "day" && count != 1 { "s" } else { "" };
            return format!("{} {unit}{plural}", grouped(count));
        }
    }
    format!("{microseconds} µs")
}

fn bytes(count: i128) -> String {
    for (size, unit) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if count >= size && count % size == 0 {
            return format!("{} {unit}", grouped(count / size));
        }
    }
    format!("{} bytes", grouped(count))
}

fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// The value of a constant expression: numbers, other limits, `+ - * / <<`, parentheses, `as`, and `Duration::from_…`.
fn evaluate(
    expression: &str,
    of: &str,
    known: &BTreeMap<(String, String), String>,
    depth: usize,
) -> Option<i128> {
    let mut reader = Reader { rest: expression.trim(), of, known, depth };
    let value = reader.sum()?;
    reader.rest.trim().is_empty().then_some(value)
}

struct Reader<'e> {
    rest: &'e str,
    of: &'e str,
    known: &'e BTreeMap<(String, String), String>,
    depth: usize,
}

impl Reader<'_> {
    fn takes(&mut self, mark: &str) -> bool {
        match self.rest.trim_start().strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        loop {
            if self.takes("<<") {
                value <<= self.product()?;
            } else if self.takes("+") {
                value += self.product()?;
            } else if self.takes("-") {
                value -= self.product()?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.one()?;
        loop {
            if self.takes("*") {
                value *= self.one()?;
            } else if self.takes("/") {
                value = value.checked_div(self.one()?)?;
            } else if self.takes("as ") {
                let end = self.rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
            } else {
                return Some(value);
            }
        }
    }

    fn one(&mut self) -> Option<i128> {
        if self.takes("(") {
            let value = self.sum()?;
            return self.takes(")").then_some(value);
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':');
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = after;
        if word.starts_with(|letter: char| letter.is_ascii_digit()) {
            return word.replace('_', "").parse().ok();
        }
        if let Some(unit) = word.strip_prefix("Duration::from_") {
            let size = match unit {
                "secs" => 1_000_000,
                "millis" => 1_000,
                "micros" => 1,
                _ => return None,
            };
            let value = self.takes("(").then(|| self.sum()).flatten()?;
            return self.takes(")").then_some(value * size);
        }
        if self.depth > 8 {
            return None;
        }
        // `quad_core::limits::NAME` is a limit of the crate `core`.
        let mut parts = word.split("::");
        let name = word.rsplit("::").next()?;
        let of = parts.next().and_then(|first| first.strip_prefix("quad_")).unwrap_or(self.of);
        let expression = self.known.get(&(of.to_owned(), name.to_owned()))?;
        evaluate(expression, of, self.known, self.depth + 1)
    }
}

#[test]
fn expressions_of_limits_are_evaluated() {
    let known: BTreeMap<(String, String), String> = [("core", "A", "4 << 20"), ("x", "DAY", "24 * 60")]
        .into_iter()
        .map(|(of, name, value)| ((of.to_owned(), name.to_owned()), value.to_owned()))
        .collect();
    let value = |text: &str| evaluate(text, "x", &known, 0);
    assert_eq!(value("64 * 1_024"), Some(65_536));
    assert_eq!(value("4 * quad_core::limits::A as u64"), Some(16 << 20));
    assert_eq!(value("365 * DAY"), Some(365 * 1_440));
    assert_eq!(value("Duration::from_millis(250)"), Some(250_000));
    assert_eq!(value("2.5"), None);
    assert_eq!(with_unit("BODY_BYTES", false, 4 << 20), "4 MiB");
    assert_eq!(with_unit("AGE_MS", false, 60_000), "1 min");
    assert_eq!(with_unit("ROWS", false, 2_000), "2,000");
}

#[test]
fn without_tests_cuts_at_the_test_module_only() {
    let text = "#[cfg(test)]\nmod model;\nfn a() {}\n";
    assert_eq!(without_tests(text), text);
    assert_eq!(without_tests("fn a() {}\n#[cfg(test)]\nmod tests {\n}\n"), "fn a() {}\n");
}

#[test]
fn finds_codes_in_error_constructors() {
    let text = "Error::new(\n    Kind::Limit,\n    \"SOME_CODE\",\n    \"A sentence\")";
    let found: Vec<(&str, bool)> =
        literals(text).into_iter().map(|(literal, before)| (literal, is_argument_of_error(before))).collect();
    assert_eq!(found, [("SOME_CODE", true), ("A sentence", false)]);
}
