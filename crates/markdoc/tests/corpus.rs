//! The repository's own cases: an input and its tree.
//!
//! Each file of `corpus/` holds the cases of one topic:
//!
//! ```text
//! # what the case shows
//! the input
//! ----
//! the tree, one node per line
//! ```
//!
//! Cases are separated by a line of `====`. In an input, `→` is a tab, `␣` a space, `␍` a carriage return and `␀` a
//! NUL. A node is its type and tag, `~` if it is inline, its lines, its attributes as JSON, its annotations after `@`
//! and its errors after `!`. `QUAD_TEST_BLESS=1` writes the trees anew; review the diff before committing it.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;

use quad_markdoc::{AnnotationKind, Node, parse};

#[test]
fn corpus_trees_match() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10, "the corpus is missing");
    let bless = std::env::var_os("QUAD_TEST_BLESS").is_some();
    let mut failures = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut blessed = Vec::new();
        for case in text.trim_end().split("\n====\n") {
            let (input, expected) = case.split_once("\n----").unwrap_or((case, ""));
            let (title, source) = input.split_once('\n').unwrap_or((input, ""));
            assert!(title.starts_with("# "), "{}: a case without a title: {title}", file.display());
            let tree = tree_outline(&decode_visible_whitespace(source));
            if tree != expected.trim_start_matches('\n') {
                failures.push(format!("{}: {title}\n{tree}", file.file_name().unwrap().display()));
            }
            let tree = if tree.is_empty() { tree } else { format!("\n{tree}") };
            blessed.push(format!("{input}\n----{tree}"));
        }
        if bless {
            std::fs::write(&file, blessed.join("\n====\n") + "\n").unwrap();
        }
    }
    assert!(bless || failures.is_empty(), "{}", failures.join("\n\n"));
}

fn decode_visible_whitespace(text: &str) -> String {
    text.replace('→', "\t").replace('␣', " ").replace('␍', "\r").replace('␀', "\0")
}

fn tree_outline(source: &str) -> String {
    let document = parse(source).unwrap();
    let mut lines = Vec::new();
    write_node(&document.root, 0, &mut lines);
    // A root without attributes and errors is not printed.
    if lines[0] == "document" {
        lines.remove(0);
        lines.iter_mut().for_each(|line| *line = line.strip_prefix("  ").unwrap_or(line).to_owned());
    }
    lines.join("\n")
}

fn write_node(node: &Node, depth: usize, lines: &mut Vec<String>) {
    let mut line = "  ".repeat(depth) + node.kind.as_str();
    if let Some(tag) = &node.tag {
        write!(line, ":{tag}").unwrap();
    }
    if node.inline {
        line.push_str(" ~");
    } else if !node.lines.is_empty() {
        write!(line, " {:?}", &*node.lines).unwrap();
    }
    if !node.attributes.is_empty() {
        write!(line, " {}", serde_json::to_string(&node.attributes).unwrap()).unwrap();
    }
    if !node.annotations.is_empty() {
        line.push_str(" @");
    }
    for annotation in &node.annotations {
        match annotation.kind {
            AnnotationKind::Class => write!(line, " .{}", annotation.name).unwrap(),
            AnnotationKind::Attribute => {
                write!(line, " {}={}", annotation.name, serde_json::to_string(&annotation.value).unwrap())
                    .unwrap();
            }
        }
    }
    if !node.errors.is_empty() {
        line.push_str(" !");
    }
    for error in &node.errors {
        write!(line, " {}", error.id.as_str()).unwrap();
    }
    lines.push(line);
    for child in &node.children {
        write_node(child, depth + 1, lines);
    }
}
