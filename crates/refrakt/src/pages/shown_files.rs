//! The runes that show a file of the project, `snippet` and `data`, replaced by what they show: a code block, a table.
//!
//! The engine of the runes reads no files, so a site does this between parsing and rendering. A file that cannot be shown
//! becomes a visible message on the page, as in the npm package, and the rest of the page is rendered.

use std::collections::HashMap;
use std::io;

use quad_markdoc::{AttributeMap, Node, NodeType, Value};
use quad_runes::content::node_ext::{new_node, new_tag};

use super::data_table::{self, DataTable};
use super::front_matter::Problem;
use crate::limits::{SHOWN_FILES_BYTES_MAX, SHOWN_TABLE_CELLS_MAX, SHOWN_TABLE_ROWS_MAX};
use crate::project::project_dir::ProjectDir;

/// What was replaced in a document.
#[derive(Debug, Default)]
pub struct ShownFiles {
    /// Whether the document shows a file. The answer then depends on more than the content folder.
    pub any: bool,
    /// The first file that cannot be shown.
    pub problem: Option<Problem>,
}

/// Replaces the runes below a node. `line_offset` is the number of lines above the text that was parsed.
pub fn replace_shown_files(root: &mut Node, project_dir: &ProjectDir, line_offset: usize) -> ShownFiles {
    let mut reader = FileReader { project_dir, texts: HashMap::new(), bytes: 0, cells: 0 };
    let mut shown = ShownFiles::default();
    // An explicit stack: documents nest as deep as their author likes.
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        for child in &mut node.children {
            let replacement = match child.tag.as_deref().filter(|_| child.kind == NodeType::Tag) {
                Some("snippet") => code_block(child, &mut reader),
                Some("data") => table(child, &mut reader),
                _ => continue,
            };
            shown.any = true;
            *child = replacement.unwrap_or_else(|message| {
                let line = child.lines.first().map_or(1, |line| *line as usize + 1 + line_offset);
                let tag = child.tag.clone().unwrap_or_default();
                shown.problem.get_or_insert_with(|| Problem {
                    line,
                    column: 1,
                    message: format!("{tag}: {message}"),
                });
                error_node(&tag, child, &message)
            });
        }
        nodes.extend(node.children.iter_mut());
    }
    shown
}

/// Reads files below the project's folder, each once for a page.
struct FileReader<'d> {
    project_dir: &'d ProjectDir,
    texts: HashMap<String, Option<String>>,
    /// Bytes of all texts that are shown, a file as often as it is shown.
    bytes: usize,
    /// Cells of all tables that were parsed.
    cells: usize,
}

impl FileReader<'_> {
    fn read(&mut self, path: &str) -> Result<&str, String> {
        if !self.texts.contains_key(path) {
            let text = self.project_dir.read_shown_file(path).map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => format!("{path} may not be shown"),
                _ => format!("{path} cannot be read: {error}"),
            })?;
            self.texts.insert(path.to_owned(), text);
        }
        self.bytes += self.texts.get(path).and_then(Option::as_ref).map_or(0, String::len);
        if self.bytes > SHOWN_FILES_BYTES_MAX {
            return Err(format!("the page shows more than {SHOWN_FILES_BYTES_MAX} bytes of files"));
        }
        let text = self.texts.get(path).and_then(Option::as_deref);
        text.ok_or_else(|| format!("there is no file {path} in the project"))
    }

    /// Counts the cells of a parsed table.
    fn count_cells(&mut self, table: &DataTable) -> Result<(), String> {
        self.cells += table.rows.len() * table.headers.len();
        if self.cells > SHOWN_TABLE_CELLS_MAX {
            return Err(format!("the tables of the page have more than {SHOWN_TABLE_CELLS_MAX} cells"));
        }
        Ok(())
    }
}

fn attribute(node: &Node, name: &str) -> Option<String> {
    match node.attributes.get(name)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The code block that a `snippet` stands for.
fn code_block(tag: &Node, reader: &mut FileReader<'_>) -> Result<Node, String> {
    let path = attribute(tag, "path").ok_or("the attribute path is missing")?;
    let lines = attribute(tag, "lines");
    let text = reader.read(&path)?;
    let content = match &lines {
        Some(lines) => select_lines(text, lines)?,
        None => text.to_owned(),
    };
    let language = attribute(tag, "lang").unwrap_or_else(|| language_of(&path).to_owned());
    let mut attributes = AttributeMap::new();
    attributes.insert("content", Value::String(content));
    attributes.insert("language", Value::String(language));
    attributes.insert("source", Value::String(path));
    if let Some(lines) = lines {
        attributes.insert("lines", Value::String(lines));
    }
    if tag.attributes.get("linenumbers") == Some(&Value::Bool(true)) {
        attributes.insert("linenumbers", Value::Bool(true));
    }
    if let Some(highlight) = attribute(tag, "highlight") {
        attributes.insert("highlight", Value::String(highlight));
    }
    Ok(new_node(NodeType::Fence, attributes, Vec::new()))
}

/// The lines that `10-25`, `10-`, `-20` or `10` selects, counted from 1.
fn select_lines(text: &str, range: &str) -> Result<String, String> {
    let malformed = || format!("lines is {range:?}, not a range such as 10-25, 10-, -20 or 10");
    let number = |digits: &str| digits.parse::<usize>().ok().filter(|number| *number > 0);
    let trimmed = range.trim();
    let (first, last) = match trimmed.split_once('-') {
        None => {
            let line = number(trimmed).ok_or_else(malformed)?;
            (line, Some(line))
        }
        Some(("", "")) => (1, None),
        Some((first, "")) => (number(first).ok_or_else(malformed)?, None),
        Some(("", last)) => (1, Some(number(last).ok_or_else(malformed)?)),
        Some((first, last)) => {
            (number(first).ok_or_else(malformed)?, Some(number(last).ok_or_else(malformed)?))
        }
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let last = last.unwrap_or(lines.len()).min(lines.len());
    match lines.get(first - 1..last) {
        Some(selected) if !selected.is_empty() => Ok(selected.join("\n")),
        _ if first > lines.len() => {
            Err(format!("lines begins at {first}, but the file has {} lines", lines.len()))
        }
        _ => Err(malformed()),
    }
}

/// The language of a file for highlighting, by the end of its name.
fn language_of(path: &str) -> &'static str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let extension = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    match extension.as_str() {
        "ts" | "tsx" => "typescript",
        "js" | "jsx" | "mjs" | "cjs" => "javascript",
        "svelte" => "svelte",
        "vue" => "vue",
        "md" | "markdoc" => "markdoc",
        "json" => "json",
        "jsonc" => "jsonc",
        "html" => "html",
        "css" => "css",
        "yml" | "yaml" => "yaml",
        "toml" => "toml",
        "sh" | "bash" => "bash",
        _ => "text",
    }
}

/// The table that a `data` stands for.
fn table(tag: &Node, reader: &mut FileReader<'_>) -> Result<Node, String> {
    let src = attribute(tag, "src").ok_or("the attribute src is missing")?;
    let text = reader.read(&src)?;
    let options = data_table::Options::from_attributes(&src, |name| attribute(tag, name))?;
    let table = options.parse(text)?;
    reader.count_cells(&table)?;
    let table = options.project(table)?;
    if table.rows.len() > SHOWN_TABLE_ROWS_MAX {
        return Err(format!("{src} has more than {SHOWN_TABLE_ROWS_MAX} rows; set limit"));
    }
    Ok(table_node(&table, &options.numeric_columns(&table)))
}

fn table_node(table: &DataTable, numeric: &[bool]) -> Node {
    let text_node = |text: &str| {
        let mut attributes = AttributeMap::new();
        attributes.insert("content", Value::String(text.to_owned()));
        new_node(
            NodeType::Inline,
            AttributeMap::new(),
            vec![new_node(NodeType::Text, attributes, Vec::new())],
        )
    };
    let cell = |kind: NodeType, attributes: AttributeMap, text: &str| {
        new_node(kind, attributes, vec![text_node(text)])
    };
    let row = |cells: Vec<Node>| new_node(NodeType::Tr, AttributeMap::new(), cells);
    let header =
        table.headers.iter().map(|header| cell(NodeType::Th, AttributeMap::new(), &header.name)).collect();
    let body = table.rows.iter().map(|values| {
        let cells = values.iter().zip(numeric).map(|(value, is_numeric)| {
            let mut attributes = AttributeMap::new();
            if let Some(number) = data_table::number(value).filter(|_| *is_numeric) {
                attributes
                    .insert("data-value", Value::String(quad_runes::js_value::format_js_number(number)));
            }
            cell(NodeType::Td, attributes, value)
        });
        row(cells.collect())
    });
    let head = new_node(NodeType::Thead, AttributeMap::new(), vec![row(header)]);
    let body = new_node(NodeType::Tbody, AttributeMap::new(), body.collect());
    new_node(NodeType::Table, AttributeMap::new(), vec![head, body])
}

/// What stands on the page instead of a file that cannot be shown.
fn error_node(tag: &str, node: &Node, message: &str) -> Node {
    let text = |text: String| {
        let mut attributes = AttributeMap::new();
        attributes.insert("content", Value::String(text));
        attributes
    };
    if tag == "snippet" {
        let mut attributes = text(format!("snippet error: {message}\n"));
        attributes.insert("language", Value::String("text".to_owned()));
        let source = attribute(node, "path").unwrap_or_else(|| "(unresolved)".to_owned());
        attributes.insert("source", Value::String(source));
        attributes.insert("data-snippet-error", Value::String(message.to_owned()));
        return new_node(NodeType::Fence, attributes, Vec::new());
    }
    let content = new_node(NodeType::Text, text(format!("data error: {message}")), Vec::new());
    let inline = new_node(NodeType::Inline, AttributeMap::new(), vec![content]);
    let paragraph = new_node(NodeType::Paragraph, AttributeMap::new(), vec![inline]);
    let mut attributes = AttributeMap::new();
    attributes.insert("type", Value::String("caution".to_owned()));
    new_tag("hint", attributes, vec![paragraph])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ranges_select_lines_from_one() {
        let text = "a\nb\nc\nd";
        for (range, selected) in
            [("2-3", "b\nc"), ("3-", "c\nd"), ("-2", "a\nb"), ("4", "d"), ("2-99", "b\nc\nd")]
        {
            assert_eq!(select_lines(text, range).as_deref(), Ok(selected), "{range}");
        }
        for range in ["0", "x", "3-2", "5", "5-", "1-2-3", "-0"] {
            assert!(select_lines(text, range).is_err(), "{range}");
        }
    }

    #[test]
    fn language_follows_the_file_name() {
        for (path, language) in
            [("src/a.TS", "typescript"), ("b.yml", "yaml"), ("x/Makefile", "text"), ("a.rs", "text")]
        {
            assert_eq!(language_of(path), language, "{path}");
        }
    }
}
