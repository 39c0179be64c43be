//! Tables from files of comma-separated values and JSON, for the rune `data`.
//!
//! Each format becomes a [`DataTable`] of texts. Then, in this order: rows are kept by `where`, sorted, columns are
//! selected and renamed, and a range of rows is taken.

use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use crate::limits::{PATTERN_BYTES_MAX, SHOWN_TABLE_CELLS_MAX, WHERE_VALUES_MAX};

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The name that is shown.
    pub name: String,
    /// The name in the file.
    pub source: String,
}

/// A table of texts. Every row has a cell for each column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DataTable {
    pub headers: Vec<Header>,
    pub rows: Vec<Vec<String>>,
}

/// The attributes of a `data`.
#[derive(Clone, Debug)]
pub(super) struct Options {
    format: Format,
    delimiter: u8,
    has_header: bool,
    root: String,
    orient: Option<String>,
    key_column: String,
    columns: String,
    filter: String,
    sort: String,
    limit: Option<usize>,
    offset: usize,
    numeric: Vec<String>,
    text: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Delimited,
    Json,
    JsonLines,
}

impl DataTable {
    fn new(headers: Vec<String>, rows: Vec<Vec<String>>) -> DataTable {
        let headers = headers.into_iter().map(|name| Header { source: name.clone(), name }).collect();
        DataTable { headers, rows }
    }

    fn column(&self, source: &str) -> Option<usize> {
        self.headers.iter().position(|header| header.source == source)
    }
}

impl Options {
    pub(super) fn from_attributes(
        src: &str,
        attribute: impl Fn(&str) -> Option<String>,
    ) -> Result<Options, String> {
        let extension = src.rsplit('.').next().unwrap_or_default().to_lowercase();
        let name = attribute("format").unwrap_or(extension);
        let (format, usual_delimiter) = match name.as_str() {
            "csv" => (Format::Delimited, b','),
            "tsv" => (Format::Delimited, b'\t'),
            "json" => (Format::Json, b','),
            "ndjson" | "jsonl" => (Format::JsonLines, b','),
            _ => {
                return Err(format!(
                    "the format of {src} is unknown; set format to csv, tsv, json or ndjson"
                ));
            }
        };
        let delimiter = match attribute("delimiter").as_deref().map(str::as_bytes) {
            None => usual_delimiter,
            Some([byte]) => *byte,
            Some(_) => return Err("delimiter must be one ASCII character".to_owned()),
        };
        let list = |name: &str| -> Vec<String> {
            let names = attribute(name).unwrap_or_default();
            names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let count = |name: &str| {
            attribute(name).and_then(|number| number.parse::<f64>().ok()).filter(|count| *count >= 0.0)
        };
        // A fraction is cut off, and a count beyond any table is as good as none.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
        let whole = |count: f64| count.min(f64::from(u32::MAX)) as usize;
        let text = |name: &str| attribute(name).unwrap_or_default();
        Ok(Options {
            format,
            delimiter,
            has_header: attribute("header").as_deref() != Some("false"),
            root: text("root"),
            orient: attribute("orient"),
            key_column: attribute("key-column").unwrap_or_else(|| "key".to_owned()),
            columns: text("columns"),
            filter: text("where"),
            sort: text("sort"),
            limit: count("limit").map(whole),
            offset: count("offset").map_or(0, whole),
            numeric: list("numeric"),
            text: list("text"),
        })
    }

    /// The table in a file.
    pub(super) fn parse(&self, text: &str) -> Result<DataTable, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table = match self.format {
            Format::Delimited => self.parse_delimited(text)?,
            Format::Json => self.parse_json(text)?,
            Format::JsonLines => parse_json_lines(text)?,
        };
        if table.rows.is_empty() { Err("the file has no rows".to_owned()) } else { Ok(table) }
    }

    fn parse_delimited(&self, text: &str) -> Result<DataTable, String> {
        let mut reader = csv::ReaderBuilder::new();
        let mut reader =
            reader.has_headers(false).flexible(true).delimiter(self.delimiter).from_reader(text.as_bytes());
        let mut rows: Vec<Vec<String>> = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| format!("the file cannot be read: {error}"))?;
            rows.push(record.iter().map(str::to_owned).collect());
        }
        let headers: Vec<String> = if self.has_header && !rows.is_empty() {
            rows.remove(0).into_iter().map(|header| header.trim().to_owned()).collect()
        } else {
            let width = rows.iter().map(Vec::len).max().unwrap_or(0);
            (1..=width).map(|number| format!("col{number}")).collect()
        };
        check_cells(rows.len(), headers.len())?;
        rows.iter_mut().for_each(|row| row.resize(headers.len(), String::new()));
        Ok(DataTable::new(headers, rows))
    }

    fn parse_json(&self, text: &str) -> Result<DataTable, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?;
        let root = find_root(&document, &self.root)?;
        let orient = match (self.orient.as_deref(), root) {
            (Some(orient), _) => orient,
            (None, Value::Array(items)) if items.first().is_some_and(Value::is_array) => "values",
            (None, Value::Array(_)) => "records",
            (None, Value::Object(_)) => {
                return Err("the JSON is an object; set orient to index, or root to a list in it".to_owned());
            }
            (None, _) => return Err("the JSON is neither a list nor an object".to_owned()),
        };
        match (orient, root) {
            ("values", Value::Array(items)) => {
                let mut rows = items.iter().map(|row| row.as_array().map(Vec::as_slice).unwrap_or_default());
                let headers: Vec<String> = rows.next().unwrap_or_default().iter().map(cell_text).collect();
                let width = headers.len();
                check_cells(items.len(), width)?;
                let cells = |row: &[Value]| {
                    (0..width).map(|at| row.get(at).map_or_else(String::new, cell_text)).collect()
                };
                Ok(DataTable::new(headers, rows.map(cells).collect()))
            }
            ("records", Value::Array(items)) => table_of_records(items, None),
            ("index", Value::Object(entries)) => {
                let keys = entries.keys().cloned().collect();
                table_of_records(entries.values(), Some((self.key_column.clone(), keys)))
            }
            ("index", _) => Err("orient is index, but the JSON is no object".to_owned()),
            _ => Err(format!("orient is {orient}, but the JSON is no list")),
        }
    }

    /// Keeps, sorts, selects and cuts.
    pub(super) fn project(&self, mut table: DataTable) -> Result<DataTable, String> {
        let clauses = parse_filter(&self.filter)?;
        for clause in &clauses {
            let column = self.known_column(&table, "where", &clause.field)?;
            table.rows.retain(|row| clause.patterns.iter().any(|pattern| pattern.matches(&row[column])));
        }
        if !self.sort.trim().is_empty() {
            let name = self.sort.trim();
            let (name, is_descending) =
                name.strip_prefix('-').map_or((name, false), |name| (name.trim(), true));
            let column = self.known_column(&table, "sort", name)?;
            let is_numeric = is_numeric(&table.rows, column);
            table.rows.sort_by(|a, b| compare_cells(&a[column], &b[column], is_numeric, is_descending));
        }
        let selections = parse_columns(&self.columns);
        if !selections.is_empty() {
            check_cells(table.rows.len(), selections.len())?;
            let mut columns = Vec::with_capacity(selections.len());
            for selection in &selections {
                columns.push(self.known_column(&table, "columns", &selection.source)?);
            }
            for row in &mut table.rows {
                *row = columns.iter().map(|column| row[*column].clone()).collect();
            }
            table.headers = selections;
        }
        let rows = std::mem::take(&mut table.rows).into_iter().skip(self.offset);
        table.rows = rows.take(self.limit.unwrap_or(usize::MAX)).collect();
        Ok(table)
    }

    fn known_column(&self, table: &DataTable, attribute: &str, name: &str) -> Result<usize, String> {
        table.column(name).ok_or_else(|| {
            let known: Vec<&str> = table.headers.iter().map(|header| header.source.as_str()).collect();
            format!("{attribute} names the column {name:?}; the file has {}", known.join(", "))
        })
    }

    /// Which columns hold numbers: those that `numeric` names, and those whose cells are all numbers, unless `text`
    /// names them.
    pub(super) fn numeric_columns(&self, table: &DataTable) -> Vec<bool> {
        let names =
            |list: &[String], header: &Header| list.contains(&header.name) || list.contains(&header.source);
        let is_numeric = |(column, header): (usize, &Header)| {
            !names(&self.text, header) && (names(&self.numeric, header) || is_numeric(&table.rows, column))
        };
        table.headers.iter().enumerate().map(is_numeric).collect()
    }
}

/// An error if a table would have too many cells. Checked before they are made.
fn check_cells(rows: usize, columns: usize) -> Result<(), String> {
    if rows.saturating_mul(columns) > SHOWN_TABLE_CELLS_MAX {
        return Err(format!(
            "the table has {rows} rows and {columns} columns, more than {SHOWN_TABLE_CELLS_MAX} cells"
        ));
    }
    Ok(())
}

/// A value within a document: `a.b` or `/a/b`; the document itself if the path is empty.
fn find_root<'v>(document: &'v Value, path: &str) -> Result<&'v Value, String> {
    let found = match path {
        "" => Some(document),
        pointer if pointer.starts_with('/') => document.pointer(pointer),
        dotted => dotted.split('.').try_fold(document, |value, key| match value {
            Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
            value => value.get(key),
        }),
    };
    found.ok_or_else(|| format!("the JSON has nothing at {path}"))
}

fn parse_json_lines(text: &str) -> Result<DataTable, String> {
    let mut records = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let record: Value = serde_json::from_str(line)
            .map_err(|error| format!("invalid JSON in line {}: {error}", number + 1))?;
        records.push(record);
    }
    table_of_records(&records, None)
}

/// A table with a column for each key, in the order in which the keys occur. Nested objects give keys with dots.
fn table_of_records<'v>(
    records: impl IntoIterator<Item = &'v Value>,
    keys: Option<(String, Vec<String>)>,
) -> Result<DataTable, String> {
    let records: Vec<Map<String, Value>> = records
        .into_iter()
        .map(|record| {
            let mut flat = Map::new();
            match record {
                Value::Object(object) => flatten("", object, &mut flat),
                value => {
                    flat.insert("value".to_owned(), value.clone());
                }
            }
            flat
        })
        .collect();
    let mut columns: indexmap::IndexSet<&str> = indexmap::IndexSet::new();
    records.iter().for_each(|record| columns.extend(record.keys().map(String::as_str)));
    let (key_column, keys) = keys.map_or((None, Vec::new()), |(column, keys)| (Some(column), keys));
    columns.shift_remove(key_column.as_deref().unwrap_or_default());
    check_cells(records.len(), columns.len() + 1)?;
    let rows = records.iter().enumerate().map(|(index, record)| {
        let key = key_column.as_ref().map(|_| keys.get(index).cloned().unwrap_or_default());
        let cells = columns.iter().map(|column| record.get(*column).map_or_else(String::new, cell_text));
        key.into_iter().chain(cells).collect()
    });
    let rows = rows.collect();
    let headers = key_column.iter().cloned().chain(columns.iter().map(|column| (*column).to_owned()));
    Ok(DataTable::new(headers.collect(), rows))
}

/// Recursion is safe: the JSON parser limits the depth.
fn flatten(prefix: &str, object: &Map<String, Value>, flat: &mut Map<String, Value>) {
    for (key, value) in object {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Object(inner) => flatten(&key, inner, flat),
            value => {
                flat.insert(key, value.clone());
            }
        }
    }
}

fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(cell_text).collect::<Vec<_>>().join(", "),
        value => value.to_string(),
    }
}

/// The columns of `name as Product, "height" as 'Height (m)'`.
fn parse_columns(spec: &str) -> Vec<Header> {
    let mut parts: Vec<String> = vec![String::new()];
    let mut quote = None;
    for ch in spec.chars() {
        match quote {
            Some(open) if ch == open => quote = None,
            None if ch == '"' || ch == '\'' => quote = Some(ch),
            None if ch == ',' => parts.push(String::new()),
            _ => parts.last_mut().into_iter().for_each(|part| part.push(ch)),
        }
    }
    let header = |part: &String| {
        let part = part.trim();
        let (source, name) = part.split_once(" as ").unwrap_or((part, part));
        Header { name: name.trim().to_owned(), source: source.trim().to_owned() }
    };
    parts.iter().filter(|part| !part.trim().is_empty()).map(header).collect()
}

/// One column of `where`, and the values that it may have.
struct Clause {
    field: String,
    patterns: Vec<Pattern>,
}

/// A value in `where`: exact, with `*` for any text, or a regular expression between slashes.
enum Pattern {
    Exact(String),
    Matches(Regex),
}

impl Pattern {
    fn parse(value: &str) -> Result<Pattern, String> {
        let regex = |pattern: &str, flags: &str| {
            let built = RegexBuilder::new(pattern)
                .case_insensitive(flags.contains('i'))
                .multi_line(flags.contains('m'))
                .dot_matches_new_line(flags.contains('s'))
                .size_limit(PATTERN_BYTES_MAX)
                .build();
            built.map(Pattern::Matches).map_err(|error| format!("where: {error}"))
        };
        let literal = value.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
        let is_flag = |ch: char| "gimsuy".contains(ch);
        match literal.filter(|(pattern, flags)| !pattern.is_empty() && flags.chars().all(is_flag)) {
            Some((pattern, flags))
                if !flags.is_empty() || pattern.contains(|ch| r"\^$.+?()[]{}|".contains(ch)) =>
            {
                regex(pattern, flags)
            }
            _ if value.contains('*') => {
                let parts: Vec<String> = value.split('*').map(regex::escape).collect();
                regex(&format!("^{}$", parts.join(".*")), "")
            }
            _ => Ok(Pattern::Exact(value.to_owned())),
        }
    }

    fn matches(&self, cell: &str) -> bool {
        match self {
            Pattern::Exact(value) => cell == value,
            Pattern::Matches(regex) => regex.is_match(cell),
        }
    }
}

/// `field:value` clauses. Several values of one field are alternatives.
fn parse_filter(spec: &str) -> Result<Vec<Clause>, String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut is_quoted = false;
    for ch in spec.chars() {
        match ch {
            '"' => is_quoted = !is_quoted,
            ch if ch.is_whitespace() && !is_quoted => words.push(String::new()),
            ch => words.last_mut().into_iter().for_each(|word| word.push(ch)),
        }
    }
    let mut clauses: Vec<Clause> = Vec::new();
    let mut value_count = 0;
    for word in words.iter().filter(|word| !word.is_empty()) {
        let clause = word.split_once(':').filter(|(field, _)| !field.is_empty());
        let (field, value) = clause.ok_or_else(|| format!("where has {word:?}, which is not field:value"))?;
        value_count += 1;
        if value_count > WHERE_VALUES_MAX {
            return Err(format!("where has more than {WHERE_VALUES_MAX} values"));
        }
        let pattern = Pattern::parse(value)?;
        match clauses.iter_mut().find(|clause| clause.field == field) {
            Some(clause) => clause.patterns.push(pattern),
            None => clauses.push(Clause { field: field.to_owned(), patterns: vec![pattern] }),
        }
    }
    Ok(clauses)
}

/// The number in a cell, which may have a currency sign and separators of thousands.
pub(super) fn number(cell: &str) -> Option<f64> {
    let is_decoration = |ch: char| "$£€¥₹,".contains(ch) || ch.is_whitespace();
    let bare: String = cell.chars().filter(|ch| !is_decoration(*ch)).collect();
    let unsigned = bare.trim_start_matches(['+', '-']);
    // Rust would also parse `inf`, `nan` and `infinity`.
    let is_number =
        unsigned.starts_with(|ch: char| ch.is_ascii_digit() || ch == '.') && bare.len() - unsigned.len() <= 1;
    bare.parse::<f64>().ok().filter(|number| is_number && number.is_finite())
}

/// Whether a column has numbers and nothing else.
fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let mut cells =
        rows.iter().map(|row| row[column].as_str()).filter(|cell| !cell.trim().is_empty()).peekable();
    cells.peek().is_some() && cells.all(|cell| number(cell).is_some())
}

fn compare_cells(a: &str, b: &str, is_numeric: bool, is_descending: bool) -> Ordering {
    let directed = |order: Ordering| if is_descending { order.reverse() } else { order };
    if !is_numeric {
        return directed(compare_naturally(a, b));
    }
    // A cell without a number comes last in both directions.
    match (number(a), number(b)) {
        (Some(a), Some(b)) => directed(a.total_cmp(&b)),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Compares texts without regard to case, and numbers in them by value.
fn compare_naturally(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let (mut a, mut b) = (a.as_str(), b.as_str());
    loop {
        let digits = |text: &str| text.len() - text.trim_start_matches(|ch: char| ch.is_ascii_digit()).len();
        let order = match (digits(a), digits(b)) {
            (a_digits, b_digits) if a_digits > 0 && b_digits > 0 => {
                let (a_number, b_number) =
                    (a[..a_digits].trim_start_matches('0'), b[..b_digits].trim_start_matches('0'));
                (a, b) = (&a[a_digits..], &b[b_digits..]);
                a_number.len().cmp(&b_number.len()).then_with(|| a_number.cmp(b_number))
            }
            _ => {
                let (mut a_chars, mut b_chars) = (a.chars(), b.chars());
                let (first, second) = (a_chars.next(), b_chars.next());
                (a, b) = (a_chars.as_str(), b_chars.as_str());
                if first.is_none() && second.is_none() {
                    return Ordering::Equal;
                }
                first.cmp(&second)
            }
        };
        if order.is_ne() {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(src: &str, attributes: &[(&str, &str)], text: &str) -> Result<DataTable, String> {
        let attribute = |name: &str| {
            attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let options = Options::from_attributes(src, attribute)?;
        options.project(options.parse(text)?)
    }

    fn lines(table: &DataTable) -> Vec<String> {
        let headers = table.headers.iter().map(|header| header.name.as_str()).collect::<Vec<_>>().join("|");
        std::iter::once(headers).chain(table.rows.iter().map(|row| row.join("|"))).collect()
    }

    const BOATS: &str = "name,length,berth\nMara,\"1,200\",A10\nAda,9,A9\n\"Li, the\",,B1\n";

    #[test]
    fn csv_is_filtered_sorted_selected_and_cut() {
        let boats = |attributes: &[(&str, &str)]| lines(&table("boats.csv", attributes, BOATS).unwrap());
        assert_eq!(boats(&[]), ["name|length|berth", "Mara|1,200|A10", "Ada|9|A9", "Li, the||B1"]);
        assert_eq!(
            boats(&[("where", "berth:A*"), ("sort", "-length"), ("columns", "name as Boat, berth")]),
            ["Boat|berth", "Mara|A10", "Ada|A9"]
        );
        for (sort, last) in [("length", "Li, the"), ("-length", "Li, the")] {
            assert_eq!(boats(&[("sort", sort), ("columns", "name")])[3], last, "no number, {sort}");
        }
        assert_eq!(
            boats(&[("sort", "berth"), ("limit", "1"), ("offset", "1"), ("columns", "berth")]),
            ["berth", "A10"]
        );
        assert_eq!(boats(&[("where", "name:Ada name:/^m/i"), ("columns", "name")]), ["name", "Mara", "Ada"]);
        assert_eq!(boats(&[("header", "false"), ("limit", "1")])[0], "col1|col2|col3");
        for wrong in
            [("where", "nme:Ada"), ("sort", "nme"), ("columns", "nme"), ("where", "Ada"), ("format", "xml")]
        {
            assert!(table("boats.csv", &[wrong], BOATS).is_err(), "{wrong:?}");
        }
        assert!(table("boats.csv", &[], "name\n").is_err());
    }

    #[test]
    fn tables_with_too_many_cells_are_refused() {
        let wide = ",".repeat(1_000);
        let csv = format!("{wide}\n{}", "x\n".repeat(1_000));
        let values = format!("[[{}],{}[1]]", vec!["1"; 1_000].join(","), "[1],".repeat(1_000));
        let json_lines: String = (0..1_000).map(|number| format!("{{\"k{number}\": 1}}\n")).collect();
        for (name, text) in [("a.csv", &csv), ("a.json", &values), ("a.ndjson", &json_lines)] {
            assert!(table(name, &[], text).unwrap_err().contains("cells"), "{name}");
        }
        let columns = vec!["name"; SHOWN_TABLE_CELLS_MAX].join(",");
        assert!(table("boats.csv", &[("columns", &columns)], BOATS).unwrap_err().contains("cells"));
        let values = "name:/x.y/ ".repeat(WHERE_VALUES_MAX + 1);
        assert!(table("boats.csv", &[("where", &values)], BOATS).is_err());
    }

    #[test]
    fn json_shapes_become_tables() {
        let records = r#"{"all": [{"a": 1, "b": {"c": true}}, {"a": null, "d": ["x", 2]}]}"#;
        assert_eq!(
            lines(&table("x.json", &[("root", "all")], records).unwrap()),
            ["a|b.c|d", "1|true|", "||x, 2"]
        );
        assert_eq!(lines(&table("x.json", &[("root", "/all")], records).unwrap()).len(), 3);
        assert_eq!(lines(&table("x.json", &[], r#"[["a", "b"], [1]]"#).unwrap()), ["a|b", "1|"]);
        let index = [("orient", "index"), ("key-column", "day")];
        assert_eq!(
            lines(&table("x.json", &index, r#"{"mon": {"t": 3}, "tue": 4}"#).unwrap()),
            ["day|t|value", "mon|3|", "tue||4"]
        );
        assert_eq!(lines(&table("x.jsonl", &[], "{\"a\": 1}\n\n{\"a\": 2}\n").unwrap()), ["a", "1", "2"]);
        for (attributes, text) in
            [(&[][..], "{}"), (&[], "nonsense"), (&[("root", "x")], "{}"), (&[("orient", "records")], "{}")]
        {
            assert!(table("x.json", attributes, text).is_err(), "{text}");
        }
    }

    #[test]
    fn numeric_columns_are_found_or_named() {
        let options = |attributes: &'static [(&'static str, &'static str)]| {
            Options::from_attributes("x.csv", |name| {
                attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
            .unwrap()
        };
        let plain = options(&[]);
        let boats = plain.parse(BOATS).unwrap();
        assert_eq!(plain.numeric_columns(&boats), [false, true, false]);
        assert_eq!(
            options(&[("text", "length"), ("numeric", "name")]).numeric_columns(&boats),
            [true, false, false]
        );
        for (cell, value) in
            [("$1,200", Some(1200.0)), ("-.5", Some(-0.5)), ("5 %", None), ("inf", None), ("+-1", None)]
        {
            assert_eq!(number(cell), value, "{cell}");
        }
    }
}
