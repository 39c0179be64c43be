//! Linear time for every source, and the limits that guarantee it.
//!
//! The tests count steps, not seconds: twice the source may take about twice the steps, for every kind of text that is
//! known to make some Markdown parser slow.

#![allow(clippy::unwrap_used)]

use quad_markdoc::{NodeType, Options, WarningId, limits, parse, parse_with};

/// Texts of about `size` bytes, each a different worst case.
fn adversarial_inputs(size: usize) -> Vec<(&'static str, String)> {
    let repeat = |text: &str| text.repeat(size / text.len() + 1);
    let half = |first: &str, second: &str| {
        let count = size / (first.len() + second.len()) + 1;
        first.repeat(count) + "a" + &second.repeat(count)
    };
    let numbered = |make: fn(usize) -> String| (0..size / make(0).len()).map(make).collect::<String>();
    vec![
        ("words", repeat("word and word\n\n")),
        ("one long line", repeat("word ")),
        ("open brackets", repeat("[")),
        ("open brackets with text", repeat("[a ")),
        ("nested brackets", half("[", "]")),
        ("nested links", half("[", "](/u)")),
        ("open links", repeat("[a](")),
        ("open links in angles", repeat("[a](<b")),
        ("open titles", repeat("[a](b \"")),
        ("open titles of both kinds", repeat("[a](b 'x\" [c](d \"")),
        ("open images", repeat("![")),
        ("nested images", half("![", "](/u)")),
        ("images in links", repeat("[![a](b)](c")),
        ("references", repeat("[a][b] ") + "\n\n[a]: /x\n"),
        ("open references", repeat("[a][") + "\n\n[a]: /x\n"),
        ("definitions", numbered(|n| format!("[a{n}]: /x\n"))),
        ("definitions with open titles", repeat("[a]: /x\n\"t\n")),
        ("open definitions", repeat("[a\n")),
        ("definitions on many lines", repeat("[a]:\n/x\n't'\n")),
        ("stars", repeat("*")),
        ("spaced stars", repeat("* a ")),
        ("opening stars", repeat("*a ")),
        ("closing stars", repeat("a* ")),
        ("mixed emphasis", repeat("*a _b ")),
        ("alternating emphasis", repeat("*_")),
        ("nested emphasis", half("*a **b ", " c** d*")),
        ("stars of three lengths", repeat("a**b*c***d")),
        ("stars around brackets", repeat("**[a](**b)**")),
        ("tildes", repeat("~~~ ~~a~~~ ")),
        ("backticks", numbered(|n| format!("{:`<1$} ", "", n % 97 + 1))),
        ("single backticks", repeat("`a ``b ")),
        ("angles", repeat("<")),
        ("angles with text", repeat("<a:b ")),
        ("ampersands", repeat("&#x")),
        ("backslashes", repeat("\\")),
        ("quotes", repeat(">")),
        ("spaced quotes", repeat("> ")),
        ("lazy quotes", "> ".repeat(90) + &repeat("a\n")),
        ("quotes of growing depth", numbered(|n| ">".repeat(n % 120) + "a\n")),
        ("nested lists", repeat("- ")),
        ("numbered lists", repeat("1. ")),
        ("lists of growing depth", numbered(|n| " ".repeat(n % 200) + "- a\n")),
        ("empty items", repeat("-\n\n")),
        ("lists and quotes", repeat("- > ")),
        ("rules", repeat("- - -\n* * *\n")),
        ("headings", repeat("# a #\n")),
        ("fences", repeat("```\n")),
        ("open fences in quotes", repeat("> ```\n")),
        ("fences of growing length", numbered(|n| format!("{:~<1$}\n", "", n % 300 + 3))),
        ("tables", repeat("|a|b|\n|-|-|\n|c|\n\n")),
        (
            "a wide table",
            "|".to_owned()
                + &"a|".repeat(size / 8)
                + "\n|"
                + &"-|".repeat(size / 8)
                + "\n"
                + &"|\n".repeat(size / 8),
        ),
        ("rows that are no table", repeat("|-\n")),
        ("pipes", repeat("|")),
        ("open tags", repeat("{% ")),
        ("open tags on lines", repeat("{%\n")),
        ("open tags with quotes", repeat("{% \"\n")),
        ("open tags in a paragraph", repeat("a {% \"")),
        ("variables over many lines", repeat("{% $a\n") + &repeat(" ") + "%}"),
        ("tags never closed", repeat("{% a %}\n")),
        ("tags never closed, others closed", repeat("{% a %}\n{% /b %}\n")),
        ("inline tags never closed", repeat("{% a %} ")),
        ("inline tags never closed in paragraphs", repeat("x {% a %}\n\n")),
        ("inline tags closed as blocks", repeat("x {% a %}\n\n") + &repeat("{% /a %}\n\n")),
        ("closing tags", repeat("{% /a %} ")),
        ("nested tags", half("{% a %}\n", "\n{% /a %}")),
        ("tags over many lines", "{% a\n".to_owned() + &repeat("b=1\n") + "%}"),
        ("bad tags", repeat("{% a= %} ")),
        ("many attributes", format!("{{% a {} /%}}", numbered(|n| format!("k{n}=1 ")))),
        ("one attribute many times", format!("{{% a {} /%}}", repeat("k=1 "))),
        ("many classes", format!("a {{% {} %}}", numbered(|n| format!(".k{n} ")))),
        ("annotations", repeat("a {% .b %} ")),
        ("a long string", format!("{{% a k=\"{}\" /%}}", repeat("x\\\""))),
        ("a long array", format!("{{% a k=[{}1] /%}}", repeat("1, "))),
        ("a long hash", format!("{{% a k={{{}z: 1}} /%}}", numbered(|n| format!("k{n}: 1, ")))),
        ("deep arrays", format!("{{% a k={} /%}}", half("[", "]"))),
        ("deep functions", format!("{{% a k={} /%}}", half("f(", ")"))),
        ("open arrays", repeat("{% a [ %} ")),
        ("a long path", format!("{{% $a{} %}}", repeat(".b"))),
        ("tags in a fence", "```\n".to_owned() + &repeat("{% a /%} ")),
        ("open tags in a fence", "```\n".to_owned() + &repeat("{% \" ")),
        ("tags and spaces in a fence", "```\n".to_owned() + &repeat("{% a /%}          ")),
        ("white space before tags", repeat(" ") + "\n" + &repeat("{% a %} x\n")),
        ("comments", repeat("<!-- a -->\n")),
        ("open comments", repeat("<!--\n")),
        ("comments with text after them", repeat("<!--\n") + "--> x"),
        ("carriage returns", repeat("a\r")),
        ("zeros", repeat("\0")),
        ("tabs", repeat("\t- a\n")),
        ("astral letters", repeat("😀*")),
        ("front matter", "---\n".to_owned() + &repeat("a: 1\n")),
        ("markdoc tables", "{% table %}\n".to_owned() + &repeat("* a\n* b\n---\n") + "{% /table %}\n"),
    ]
}

#[test]
fn parse_cost_is_linear() {
    // The longer text may reach a limit that the shorter one does not. Quadratic growth would double the ratio once
    // more.
    const GROWTH_MAX: f64 = 2.6;
    let options = Options { slots: true, comments: true, ..Options::default() };
    let steps = |source: &str| parse_with(source, &options).unwrap().steps() as f64;
    let mut slow = Vec::new();
    for ((name, source), (_, doubled)) in
        adversarial_inputs(24_000).into_iter().zip(adversarial_inputs(48_000))
    {
        let (small, large) = (steps(&source), steps(&doubled));
        let growth = (large / small) / (doubled.len() as f64 / source.len() as f64) * 2.0;
        let steps_per_byte = large / doubled.len() as f64;
        if growth > GROWTH_MAX || steps_per_byte > 450.0 {
            slow.push(format!("{name}: {growth:.2} times the work, {steps_per_byte:.0} steps a byte"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

#[test]
fn node_count_is_linear_in_source_size() {
    for (name, source) in adversarial_inputs(48_000) {
        let document = parse(&source).unwrap();
        let count = document.root.descendants().count();
        // Added empty cells are the only nodes that are not in the source.
        let count_max = 4 * source.len() + 2 * limits::FILLED_CELLS_MAX;
        assert!(count <= count_max, "{name}: {count} nodes of {} bytes", source.len());
        assert!(depth(&document.root) <= 3 * limits::TREE_DEPTH_MAX, "{name}");
    }
}

fn depth(node: &quad_markdoc::Node) -> usize {
    1 + node.children.iter().map(depth).max().unwrap_or(0)
}

#[test]
fn parse_rejects_too_long_source() {
    let longest = "a".repeat(limits::SOURCE_BYTES_MAX);
    assert!(parse(&longest).is_ok());
    let error = parse(&(longest + "a")).unwrap_err();
    assert_eq!(error.bytes, limits::SOURCE_BYTES_MAX + 1);
    assert!(error.to_string().contains("2097153 bytes long, more than the 2097152"), "{error}");
}

fn warnings(source: &str) -> Vec<(WarningId, u32)> {
    parse(source).unwrap().warnings.iter().map(|warning| (warning.id, warning.position.line)).collect()
}

#[test]
fn too_deep_blocks_are_dropped_with_warning() {
    let tags = |count: usize| "{% a %}\n".repeat(count) + "text\n";
    assert_eq!(warnings(&tags(99)), []);
    assert_eq!(warnings(&tags(100)), [(WarningId::BlocksTooDeep, 100)]);
    assert!(parse(&tags(99)).unwrap().root.descendants().any(|node| node.kind == NodeType::Text));
}

#[test]
fn too_deep_inline_tags_become_text_with_warning() {
    let document = parse(&("{% a %}".repeat(101) + "*x*")).unwrap();
    assert_eq!(document.warnings.len(), 1);
    assert_eq!(document.warnings[0].id, WarningId::InlineTooDeep);
    let last = document.root.descendants().find(|node| node.kind == NodeType::Text).unwrap();
    assert_eq!(last.attributes.get_str("content"), Some("{% a %}*x*"));
}

#[test]
fn too_deep_tree_is_flattened_with_warning() {
    let source = "{% a %}\n{% /b %}\n".repeat(400) + "text\n";
    let document = parse(&source).unwrap();
    assert_eq!(
        document.warnings.iter().map(|warning| warning.id).collect::<Vec<_>>(),
        [WarningId::TreeTooDeep]
    );
    assert!(depth(&document.root) <= limits::TREE_DEPTH_MAX + 3);
    assert!(document.root.descendants().any(|node| node.attributes.get_str("content") == Some("text")));
}

#[test]
fn filled_table_cells_are_limited() {
    let columns = 700;
    let rows = 200;
    let source = format!("{}|\n{}|\n{}", "|a".repeat(columns), "|-".repeat(columns), "|b|\n".repeat(rows));
    let document = parse(&source).unwrap();
    assert_eq!(
        document.warnings.iter().map(|warning| warning.id).collect::<Vec<_>>(),
        [WarningId::TableTooWide]
    );
    let cells = document.root.descendants().filter(|node| node.kind == NodeType::Td).count();
    assert!(
        cells >= limits::FILLED_CELLS_MAX - columns && cells <= limits::FILLED_CELLS_MAX + rows,
        "{cells}"
    );
    let row_count = document.root.descendants().filter(|node| node.kind == NodeType::Tr).count();
    assert_eq!(row_count, rows + 1, "no row is lost");
}

#[test]
fn dropped_trailing_text_emits_warning() {
    assert_eq!(warnings("{% a\nb=1 %} tail\nnext\n"), [(WarningId::TextAfterTag, 1)]);
    assert_eq!(warnings("\n\n\n\n\n\n{% a /%} x\n"), [(WarningId::TextAfterTag, 6)]);
    assert_eq!(warnings("{% a\nb=1 %}\u{a0}\nnext\n{% a /%} x\n"), []);
}
