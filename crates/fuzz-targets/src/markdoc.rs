//! Target `markdoc`: any text becomes a tree with valid spans, in a number of steps that is linear in its length.
//!
//! The first byte selects whether slots and comments are parsed; the rest is the text.

use quad_markdoc::{Node, Options, Span, limits, parse_with};

/// The most parser steps per byte: several times what the costliest known text needs.
const STEPS_PER_BYTE: u64 = 2_000;

/// The parser steps that even an empty text may need.
const STEPS_BASE: u64 = 50_000;

/// Parses any bytes as a document.
pub fn markdoc(data: &[u8]) {
    let (flags, text) = data.split_first().unwrap_or((&0, &[]));
    let source = String::from_utf8_lossy(text);
    let options = Options {
        slots: flags & 1 == 1,
        comments: flags & 2 == 2,
        tags_in_fences: flags & 4 == 0,
        tags: flags & 8 == 0,
    };
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
    let reparsed = parse_with(&source, &options).expect("the second parse failed");
    let to_json = |node: &Node| serde_json::to_string(node).expect("a tree serializes");
    assert_eq!(to_json(&document.root), to_json(&reparsed.root), "two parses of one text differ");
}

/// Checks that the spans of a node, its children and its errors are valid and nested.
fn check_spans(source: &str, node: &Node) {
    let is_valid_span = |span: Span| span.start <= span.end && source.get(span.range()).is_some();
    assert!(is_valid_span(node.span), "{:?} of {} is not a valid span", node.span, node.kind.as_str());
    for child in &node.children {
        assert!(node.span.contains(child.span), "{} is outside of its parent", child.kind.as_str());
    }
    for error in &node.errors {
        assert!(is_valid_span(error.span), "an error has no valid span");
    }
}
