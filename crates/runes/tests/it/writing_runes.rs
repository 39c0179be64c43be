//! The worked example of docs/how-to/write-runes.md produces what the page says.

use std::sync::Arc;

use quad_runes::catalogue::{Catalogue, LOCAL, Package, RunePreferences};
use quad_runes::contracts::contracts;
use quad_runes::expand::PageVariables;
use quad_runes::render::render;

const PAGE: &str = include_str!("../../../../docs/how-to/write-runes.md");

fn example_package() -> Package {
    let (_, after) = PAGE.split_once("```toml\n").unwrap();
    let (source, _) = after.split_once("\n```").unwrap();
    Package::parse("refrakt.runes.toml", source, LOCAL).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn documented_example_parses_with_expected_contract() {
    let (catalogue, problems) = Catalogue::merge(&[Arc::new(example_package())], &RunePreferences::default());
    assert_eq!(problems, []);
    assert_eq!(catalogue.rune("mooring").unwrap().name, "berth");
    let contract = &contracts(&catalogue)["runes"]["Berth"];
    assert_eq!(contract["root"], ".rf-berth");
    assert_eq!(contract["modifiers"]["side"]["classPattern"], ".rf-berth--{value}");
    assert_eq!(contract["modifiers"]["side"]["dataAttribute"], "data-side");
    assert_eq!(contract["elements"]["head"]["selector"], ".rf-berth__head");
}

#[test]
fn documented_example_renders_documented_html() {
    let (catalogue, _) = Catalogue::merge(&[Arc::new(example_package())], &RunePreferences::default());
    let source = catalogue.rune("berth").unwrap().example.clone().unwrap();
    let rendered = render(&catalogue, &source, &PageVariables::default()).unwrap();
    let (_, after) = PAGE.split_once("```html\n").unwrap();
    let (documented_html, _) = after.split_once("\n```").unwrap();
    assert_eq!(rendered.html, documented_html);
}

#[test]
fn rune_without_template_renders_its_fields() {
    let source = "[runes.pier]\ndescription = 'x'\ncontent = ['title: heading?', 'body: any*']\n\
                  [runes.pier.attributes]\nside = { description = 'x' }\n[engine.Pier]\n[engine.Pier.modifiers]\nside = {}\n";
    let package = Package::parse("refrakt.runes.toml", source, LOCAL).unwrap();
    let (catalogue, _) = Catalogue::merge(&[Arc::new(package)], &RunePreferences::default());
    let document = "{% pier side=\"port\" %}\n# East\n\nLong.\n{% /pier %}\n";
    let html = render(&catalogue, document, &PageVariables::default()).unwrap().html;
    assert!(html.contains("<section class=\"rf-pier rf-pier--port\" data-side=\"port\""), "{html}");
    assert!(html.contains("<div data-name=\"title\" class=\"rf-pier__title\">"), "{html}");
    assert!(html.contains("<div data-name=\"body\" class=\"rf-pier__body\">"), "{html}");
}

#[test]
fn template_with_unknown_names_is_rejected() {
    let parse_error = |emit: &str| {
        let source = format!(
            "[runes.a]\ndescription = ''\ncontent = 'body: any*'\n[runes.a.emit]\nelement = 'p'\n{emit}"
        );
        Package::parse("f.toml", &source, LOCAL).unwrap_err().to_string()
    };
    assert!(
        parse_error("values = { size = '$size' }").contains("`$size` is not one of the rune's attributes")
    );
    assert!(
        parse_error("children = [{ holds = 'head' }]").contains("`head` is not a field of the content model")
    );
    assert!(parse_error("children = [{ text = '{size} m' }]").contains("`$size` is not one"));
    assert!(parse_error("children = [{ when = 'size' }]").contains("`size` is not one"));
}

#[test]
fn documentation_lists_every_node_pattern() {
    let words = ["any", "paragraph", "heading", "list", "image", "blockquote", "fence", "hr", "table", "tag"];
    for word in words {
        assert!(PAGE.contains(&format!("`{word}`")), "{word}");
        let source = format!("[runes.a]\ndescription = ''\ncontent = 'x: {word}'\n");
        assert!(Package::parse("f.toml", &source, LOCAL).is_ok(), "{word}");
    }
}
