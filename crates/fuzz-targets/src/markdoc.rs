//! Markdoc: any text becomes a tree whose parts lie where they say, in work that grows with the text and no faster.
//!
//! The first byte chooses whether slots and comments are read; the rest is the text.

use quad_markdoc::{Node, Options, Span, limits, parse_with};

/// Most steps of the parser for a byte: several times what the costliest known text takes.
const STEPS_PER_BYTE: u64 = 2_000;

/// What even an empty text may take.
const STEPS_BASE: u64 = 50_000;

/// Any bytes as a document.
pub fn markdoc(data: &[u8]) {
    let (flags, text) = data.split_first().unwrap_or((&0, &[]));
    let source = String::from_utf8_lossy(text);
    let options = Options { slots: flags & 1 == 1, comments: flags & 2 == 2, tags_in_fences: flags & 4 == 0 };
    let document = match parse_with(&source, &options) {
        Ok(document) => document,
        Err(error) => {
            assert!(source.len() > limits::SOURCE_BYTES_MAX, "{error}");
            return;
        }
    };
    let step_limit = STEPS_BASE + STEPS_PER_BYTE * source.len() as u64;
    assert!(document.steps() <= step_limit, "{} steps for {} bytes", document.steps(), source.len());
    for node in std::iter::once(&document.root).chain(document.root.descendants()) {
        check_spans(&source, node);
    }
    for (_, error) in document.errors() {
        assert!(!error.to_string().is_empty());
    }
    let reparsed = parse_with(&source, &options).expect("a text that was read is refused");
    let to_json = |node: &Node| serde_json::to_string(node).expect("a tree is JSON");
    assert_eq!(to_json(&document.root), to_json(&reparsed.root), "the same text became two trees");
}

fn check_spans(source: &str, node: &Node) {
    let is_valid_span = |span: Span| span.start <= span.end && source.get(span.range()).is_some();
    assert!(is_valid_span(node.span), "{:?} of {} is no place", node.span, node.kind.as_str());
    for child in &node.children {
        assert!(node.span.contains(child.span), "{} lies outside of its parent", child.kind.as_str());
    }
    for error in &node.errors {
        assert!(is_valid_span(error.span), "an error is at no place");
    }
}
