//! Properties of any document: it renders without a panic, to well-formed HTML, and always to the same HTML.

use std::sync::LazyLock;

use proptest::prelude::*;
use quad_runes::catalogue::Catalogue;
use quad_runes::expand::PageVariables;
use quad_runes::render::render;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::all_builtin);

/// Elements without a closing tag.
const VOID_ELEMENTS: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Pieces of documents: tags of every rune, valid and invalid, and Markdown.
fn piece() -> impl Strategy<Value = String> {
    let names: Vec<String> = CATALOGUE.runes().map(|rune| rune.name.clone()).collect();
    let attributes = prop::sample::select(vec![
        "",
        " width=\"wide\"",
        " tint=\"<x>\" tint-mode=\"dark\"",
        " scrim=\"left\" bg=\"a&b\"",
        " media-position=\"cover\" content-place=\"start end\"",
        " columns=3 name=\"\\\"q\\\"\"",
        " frame=\"f\" frame-place=\"top left\" substrate=\"dots\"",
        " title=\"a > b\" id=\"x y\" href=\"javascript:alert(1)\"",
        " open=true stagger=true rating=99999999",
        " #id .class",
        " broken=",
        " type=[1, {a: null}] value=$page.url",
    ]);
    let tag =
        (prop::sample::select(names), attributes, 0..4_u8).prop_map(|(name, attributes, form)| match form {
            0 => format!("{{% {name}{attributes} %}}\n"),
            1 => format!("{{% /{name} %}}\n"),
            2 => format!("{{% {name}{attributes} /%}}\n"),
            _ => format!("{{% {name}{attributes} %}}\n## Head\n\nText\n\n- a\n- **b** c\n{{% /{name} %}}\n"),
        });
    let text = prop::sample::select(vec![
        "# A <b> & \"c\"\n",
        "Some *text* with `code` and <script>alert(1)</script>.\n",
        "- [x] done\n- [ ] open\n",
        "1. one\n2. two\n\n",
        "![alt \"x\"](/a.png \"t\") [link](/b?c=1&d=2)\n\n",
        "---\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        "```js {% process=false %}\nlet a = \"<b>\";\n```\n",
        "> quoted\n\n",
        "\n",
        "{% if true %}\nyes\n{% /if %}\n",
    ]);
    prop_oneof![3 => tag, 2 => text.prop_map(str::to_owned), 1 => "[ -~\n]{0,40}"]
}

/// The first error in HTML: a tag that is not closed, or an attribute that is not quoted or escaped.
fn html_error(html: &str) -> Option<String> {
    let mut open = Vec::new();
    let mut rest = html;
    while let Some(index) = rest.find('<') {
        rest = &rest[index + 1..];
        let end = tag_end(rest)?;
        let (tag, tail) = rest.split_at(end);
        rest = &tail[1..];
        if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some(opened) if opened == name => {}
                opened => return Some(format!("</{name}> closes {opened:?}")),
            }
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if name.is_empty() || tag.contains('<') {
            return Some(format!("<{tag}> is no tag"));
        }
        if !tag.ends_with('/') && !VOID_ELEMENTS.contains(&name) {
            open.push(name);
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} are never closed"))
}

/// Index of the end of a tag: the first `>` outside quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    text.char_indices().find_map(|(index, ch)| {
        is_quoted ^= ch == '"';
        (ch == '>' && !is_quoted).then_some(index)
    })
}

#[test]
fn html_error_detects_malformed_markup() {
    assert_eq!(html_error("<a b=\"c > d\"><br /><i>x</i></a>"), None);
    for broken in ["<a>", "<a></b>", "</a>", "<a><b></a></b>", "<a b=\"<\"></a>"] {
        assert!(html_error(broken).is_some(), "{broken}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn any_document_renders_well_formed_and_deterministic(pieces in prop::collection::vec(piece(), 0..12)) {
        let source = pieces.concat();
        let page = PageVariables::default();
        // A rune may reject its document, but must not panic.
        let Ok(rendered) = render(&CATALOGUE, &source, &page) else { return Ok(()) };
        // Markup that the engine prints unescaped, such as an inline image, does not come from the author.
        prop_assert_eq!(html_error(&rendered.html), None, "{}", source);
        prop_assert!(!rendered.html.contains("<script>alert"), "{}", source);
        prop_assert_eq!(render(&CATALOGUE, &source, &page).ok(), Some(rendered));
    }
}
