//! Hostile input: parsing a package never panics, and rendering stays within its limits.

use proptest::prelude::*;
use quad_runes::catalogue::{Catalogue, Package};
use quad_runes::expand::{PageVariables, RenderError};
use quad_runes::limits::{DIFF_CELLS_MAX, RUNE_DEPTH_MAX};
use quad_runes::render::render;

/// Fragments of valid files in any order, with random text between them.
fn text_from_pieces(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![4 => proptest::sample::select(pieces).prop_map(str::to_owned), 1 => any::<String>()];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

const RUNES: &[&str] = &[
    "[runes.a]\n",
    "[engine.A]\n",
    "description = 'x'\n",
    "content = 'b: any*'\n",
    "content = { kind = 'when' }\n",
    "[runes.a.attributes]\n",
    "b = { default = 1, description = '' }\n",
    "[",
    "=",
    "'''",
    "\u{0}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn parse_package_never_panics(text in text_from_pieces(RUNES)) {
        if let Err(error) = Package::parse("refrakt.runes.toml", &text, "local") {
            prop_assert!(error.line >= 1 && error.line <= text.matches('\n').count() + 1);
        }
    }
}

/// Renders a document on a stack as small as that of a server's worker thread.
fn render_on_small_stack(source: String) -> Result<usize, RenderError> {
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        let catalogue = Catalogue::all_builtin();
        render(&catalogue, &source, &PageVariables::default()).map(|rendered| rendered.html.len())
    });
    worker.unwrap().join().expect("the worker neither overflows its stack nor panics")
}

#[test]
fn nested_runes_are_bounded() {
    let nested = |rune: &str, depth: usize| {
        render_on_small_stack(
            format!("{{% {rune} %}}\n").repeat(depth) + &format!("{{% /{rune} %}}\n").repeat(depth),
        )
    };
    for rune in ["hint", "section", "card", "accordion", "tabs", "grid", "nav", "details", "feature", "bento"]
    {
        assert!(nested(rune, 10).is_ok(), "{rune}");
        for depth in [RUNE_DEPTH_MAX, 90, 2_000] {
            let result = nested(rune, depth);
            assert!(matches!(result, Ok(_) | Err(RenderError::RunesNestedTooDeep)), "{rune} {depth}");
        }
    }
    assert_eq!(nested("hint", RUNE_DEPTH_MAX + 1), Err(RenderError::RunesNestedTooDeep));
    assert_eq!(RenderError::RunesNestedTooDeep.to_string(), "more than 40 runes are nested in one another");
}

#[test]
fn nested_tabs_from_headings_are_bounded() {
    // Each level makes tabs of its headings. Runes that repeat content must not multiply it at every level.
    let mut source = String::from("deep\n");
    for level in 0..60 {
        source = format!("{{% tabs %}}\n## A{level}\n\n{source}\n## B{level}\n\nx\n{{% /tabs %}}\n");
    }
    assert_eq!(render_on_small_stack(source), Err(RenderError::RunesNestedTooDeep));
}

#[test]
fn nested_markdown_is_bounded() {
    assert!(render_on_small_stack("> ".repeat(5_000) + "x").is_ok());
    assert!(render_on_small_stack("- ".repeat(5_000) + "x").is_ok());
    assert!(render_on_small_stack("*a ".repeat(5_000)).is_ok());
    assert!(render_on_small_stack("{% if true %}".repeat(500)).is_ok());
    assert_eq!(render_on_small_stack("{% hint %}".repeat(500)), Err(RenderError::RunesNestedTooDeep));
}

#[test]
fn diff_rejects_oversized_code_blocks() {
    let lines = "a\n".repeat((DIFF_CELLS_MAX as f64).sqrt() as usize + 1);
    let fence = format!("```txt\n{lines}```\n\n");
    let error = render_on_small_stack(format!("{{% diff %}}\n{fence}{fence}{{% /diff %}}\n")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "diff: the two code blocks have too many lines to compare; show less of them"
    );
}

#[test]
fn nested_previews_are_bounded() {
    let nested = |depth: usize| {
        render_on_small_stack(
            "{% preview source=true %}\n".repeat(depth) + "x\n" + &"{% /preview %}\n".repeat(depth),
        )
    };
    assert!(nested(4).is_ok());
    let error = nested(RUNE_DEPTH_MAX).unwrap_err().to_string();
    assert!(error.starts_with("preview: previews show more than 524288 bytes of markup"), "{error}");
}

#[test]
fn runes_that_repeat_content_are_bounded() {
    let deep = |open: &str, close: &str, depth: usize| {
        let indented = |text: &str, level: usize| format!("{}{text}\n", "  ".repeat(level));
        let opening: String = (0..depth).map(|level| indented(open, level)).collect();
        let closing: String = (0..depth).rev().map(|level| indented(close, level)).collect();
        render_on_small_stack(opening + "x\n" + &closing)
    };
    let assert_bounded = |result: Result<usize, RenderError>| match result {
        Ok(bytes) => assert!(bytes < 64 << 20, "{bytes}"),
        Err(error) => {
            assert!(matches!(error, RenderError::TooLarge | RenderError::RunesNestedTooDeep), "{error}")
        }
    };
    for depth in [4, 24] {
        assert_bounded(deep("{% preview source=true %}", "{% /preview %}", depth));
    }
    for depth in [4, 20] {
        let mut source = String::new();
        for level in 0..depth {
            let space = " ".repeat(level * 2);
            source += &format!("{space}{{% breadcrumb %}}\n{space}- {{% link href=\"/\" %}}\n");
        }
        for level in (0..depth).rev() {
            let space = " ".repeat(level * 2);
            source += &format!("{space}  {{% /link %}}\n{space}{{% /breadcrumb %}}\n");
        }
        assert_bounded(render_on_small_stack(source));
    }
}
