//! Properties of the parser for generated sources.

// clippy does not recognise helper functions outside `#[test]` functions as test code.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use quad_markdoc::{Document, Node, NodeType, Options, Span, parse, parse_with};

/// Fragments of documents. Random combinations of them meet in every way.
const FRAGMENTS: &[&str] = &[
    "a",
    "word ",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "- ",
    "* ",
    "1. ",
    "> ",
    "# ",
    "---\n",
    "```",
    "~~~",
    "`",
    "*",
    "**",
    "_",
    "~~",
    "[",
    "](/u)",
    "![",
    "]",
    "[r]",
    "\n\n[r]: /x \"t\"\n",
    "<https://a.b>",
    "&amp;",
    "\\",
    "  \n",
    "|",
    "\n|a|b|\n|-|-|\n|c|\n",
    "{% a %}",
    "{% /a %}",
    "\n{% a %}\n",
    "\n{% /a %}\n",
    "{% b x=1 y=\"z\" /%}",
    "{% .c #d k=[1] %}",
    "{% $v.w[0] %}",
    "{% f(1, k=2) %}",
    "{% bad= %}",
    "{% a \"p\" %}",
    "{% table %}\n",
    "{% /table %}\n",
    "{%",
    "%}",
    "\"",
    "é",
    "日本",
    "😀",
    "—",
    "\u{a0}",
    "\r\n",
    "\r",
    "\0",
    "- [ ] t\n",
    "- [x] t\n",
    "<!-- c -->",
    "{% slot \"s\" %}",
    "{% /slot %}",
    "\n    ",
    "\n  ",
    "```js {% process=false %}\n",
    "{% x\n y={k: \"v\"} %}",
    "\u{feff}",
];

fn any_source() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => proptest::collection::vec(proptest::sample::select(FRAGMENTS), 0..40).prop_map(|pieces| pieces.concat()),
        1 => ".{0,80}",
        1 => "[-*_`~\\[\\]()<>{}%\"$./#|\\\\ \n\ta1]{0,120}",
    ]
}

fn all_nodes(document: &Document) -> impl Iterator<Item = &Node> {
    std::iter::once(&document.root).chain(document.root.descendants())
}

fn is_valid_span(source: &str, span: Span) -> bool {
    span.start <= span.end && source.get(span.range()).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn spans_are_within_source_and_nested(
        source in any_source(), slots: bool, comments: bool, tags_in_fences: bool
    ) {
        let document = parse_with(&source, &Options { slots, comments, tags_in_fences, ..Options::default() }).unwrap();
        for node in all_nodes(&document) {
            prop_assert!(is_valid_span(&source, node.span), "{:?} of {}", node.span, node.kind.as_str());
            for child in node.children.iter().chain(node.slots.values()) {
                prop_assert!(node.span.contains(child.span), "{} {:?} in {} {:?}", child.kind.as_str(), child.span, node.kind.as_str(), node.span);
            }
            for span in [node.opening(), node.closing()].into_iter().flatten() {
                let tag = span.slice(&source);
                prop_assert!(tag.starts_with("{%") && tag.ends_with("%}"), "{tag:?}");
            }
            for error in &node.errors {
                prop_assert!(is_valid_span(&source, error.span));
                prop_assert_eq!(error.position, document.lines.position(error.span.start));
            }
            if let Some(task) = node.task() {
                prop_assert!(matches!((task.span.slice(&source), task.checked), ("[ ]", false) | ("[x]" | "[X]", true)));
            }
        }
        for warning in &document.warnings {
            prop_assert!(is_valid_span(&source, warning.span) && !warning.span.is_empty());
        }
    }

    #[test]
    fn literal_fences_contain_no_tags(source in any_source()) {
        let options = Options { tags_in_fences: false, ..Options::default() };
        let document = parse_with(&source, &options).unwrap();
        for fence in all_nodes(&document).filter(|node| node.kind == NodeType::Fence) {
            prop_assert!(fence.tag.is_none() && fence.annotations.is_empty() && fence.opening().is_none());
            prop_assert!(fence.children.iter().all(|child| child.kind == NodeType::Text));
        }
    }

    #[test]
    fn plain_markdown_has_no_tags(source in any_source()) {
        let document = parse_with(&source, &Options { tags: false, ..Options::default() }).unwrap();
        for node in all_nodes(&document) {
            let is_plain = node.tag.is_none() && node.annotations.is_empty() && node.kind != NodeType::Tag;
            prop_assert!(is_plain && node.errors.is_empty(), "{node:?}");
        }
    }

    #[test]
    fn node_lines_match_span_positions(source in any_source()) {
        let document = parse(&source).unwrap();
        let count = source.replace("\r\n", "\n").replace('\r', "\n").lines().count() as u32;
        for node in all_nodes(&document) {
            prop_assert!(node.lines.iter().all(|line| *line <= count), "{:?} of {count}", node.lines);
            prop_assert!(node.lines.chunks(2).all(|pair| pair[0] <= pair[1]));
            if let (NodeType::Paragraph | NodeType::Heading | NodeType::Hr | NodeType::Fence | NodeType::List, [first, ..]) = (node.kind, &*node.lines)
                && node.errors.is_empty()
            {
                prop_assert_eq!(document.lines.position(node.span.start).line, *first, "{}", node.kind.as_str());
            }
        }
    }

    #[test]
    fn text_content_equals_source_of_its_span(source in any_source()) {
        let document = parse(&source).unwrap();
        for node in all_nodes(&document).filter(|node| node.kind == NodeType::Text && node.inline) {
            let Some(content) = node.attributes.get_str("content") else { continue };
            let written = node.span.slice(&source);
            // Escapes, references and replaced bytes differ from the source. The text of an autolink is decoded.
            if !written.contains(['\\', '&', '\r', '\0']) && !written.contains("://") {
                prop_assert_eq!(content, written);
            }
        }
    }

    #[test]
    fn annotation_source_reparses_to_same_value(source in any_source()) {
        let document = parse(&source).unwrap();
        for annotation in all_nodes(&document).flat_map(|node| &node.annotations) {
            let written = annotation.span.slice(&source);
            let again = parse(&format!("{{% t {written} /%}}")).unwrap();
            let tag = &again.root.children[0];
            prop_assert_eq!(&tag.annotations[0].value, &annotation.value, "{}", written);
            prop_assert_eq!(&tag.annotations[0].name, &annotation.name);
            prop_assert!(written.ends_with(annotation.value_span.slice(&source)));
        }
    }

    #[test]
    fn tree_is_independent_of_line_endings(source in any_source()) {
        let source = source.replace(['\r', '\0'], "");
        let document = parse(&source).unwrap();
        let windows = parse(&source.replace('\n', "\r\n")).unwrap();
        let old = parse(&source.replace('\n', "\r")).unwrap();
        let json = |document: &Document| serde_json::to_value(&document.root).map(without_error_locations).unwrap();
        prop_assert_eq!(json(&windows), json(&document));
        prop_assert_eq!(json(&old), json(&document));
    }
}

fn without_error_locations(mut node: serde_json::Value) -> serde_json::Value {
    for error in node["errors"].as_array_mut().unwrap() {
        error.as_object_mut().unwrap().remove("location");
    }
    for child in node["children"].as_array_mut().unwrap() {
        *child = without_error_locations(child.take());
    }
    node
}

#[test]
fn replacing_value_span_changes_only_the_value() {
    let source = "> {% work id=\"W-1\"\tstatus=\"ready\" tags=[\"a\", \"b\"] /%} tail\r\n> - x\r\n";
    let document = parse(source).unwrap();
    let tag = document.root.descendants().find(|node| node.is_tag("work")).unwrap();
    let mut edited = source.to_owned();
    edited.replace_range(tag.annotation("tags").unwrap().value_span.range(), "[]");
    assert_eq!(edited, source.replace("[\"a\", \"b\"]", "[]"));
    assert_eq!(
        tag.opening().unwrap().slice(source),
        "{% work id=\"W-1\"\tstatus=\"ready\" tags=[\"a\", \"b\"] /%}"
    );
}

#[test]
fn checkboxes_are_found_in_nested_lists_and_quotes() {
    let source = "{% w %}\n1. [X] one\n   - [ ] two\n> * [x]\n\n- [x]no\n- x [ ] no\n{% /w %}\n";
    let document = parse(source).unwrap();
    let tasks: Vec<(bool, u32)> = document
        .root
        .descendants()
        .filter_map(|node| node.task())
        .map(|task| (task.checked, document.lines.position(task.span.start).line))
        .collect();
    assert_eq!(tasks, [(true, 1), (false, 2), (true, 3)]);
}

#[test]
fn options_enable_slots_and_comments() {
    let source =
        "{% card %}\n{% slot \"side\" %}\ns\n{% /slot %}\n\n<!-- a\nb -->\nx <!-- c --> y\n{% /card %}\n";
    let plain = parse(source).unwrap();
    assert!(plain.root.descendants().all(|node| node.kind != NodeType::Comment && node.slots.is_empty()));
    let document =
        parse_with(source, &Options { slots: true, comments: true, ..Options::default() }).unwrap();
    let card = &document.root.children[0];
    assert!(card.slots["side"].is_tag("slot"));
    let comments: Vec<(&str, bool)> = card
        .descendants()
        .filter(|node| node.kind == NodeType::Comment)
        .map(|node| (node.attributes.get_str("content").unwrap(), node.inline))
        .collect();
    assert_eq!(comments, [("a\nb", false), ("c", true)]);
    assert!(!card.children.iter().any(|node| node.is_tag("slot")));
}

#[test]
fn escaped_tilde_keeps_its_span() {
    let source = "~~a **b**\\~~~ c";
    let document = parse(source).unwrap();
    let span_of = |kind: NodeType, content: Option<&str>| {
        let mut nodes = document.root.descendants();
        let fits = |node: &Node| node.kind == kind && node.attributes.get_str("content") == content;
        nodes.find(|node| fits(node)).unwrap().span.slice(source)
    };
    // As in the npm package, it is within the delimiters and yet not struck.
    assert_eq!(span_of(NodeType::Strikethrough, None), "~~a **b**\\~~~");
    assert_eq!(span_of(NodeType::Text, Some("~ c")), "\\~~~ c");
}
