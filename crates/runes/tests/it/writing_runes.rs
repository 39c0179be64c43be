//! The worked example of docs/refrakt/writing-runes.md does what the page says.

use std::sync::Arc;

use quad_runes::catalogue::{Catalogue, LOCAL, Package, RuneRules};
use quad_runes::contracts::contracts;

const PAGE: &str = include_str!("../../../../docs/refrakt/writing-runes.md");

fn example() -> Package {
    let (_, after) = PAGE.split_once("```toml\n").unwrap();
    let (source, _) = after.split_once("\n```").unwrap();
    Package::parse("refrakt.runes.toml", source, LOCAL).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_worked_example_works() {
    let (catalogue, problems) = Catalogue::merge(&[Arc::new(example())], &RuneRules::default());
    assert_eq!(problems, []);
    assert_eq!(catalogue.rune("mooring").unwrap().name, "berth");
    let contract = &contracts(&catalogue)["runes"]["Berth"];
    assert_eq!(contract["root"], ".rf-berth");
    assert_eq!(contract["modifiers"]["side"]["classPattern"], ".rf-berth--{value}");
    assert_eq!(contract["modifiers"]["side"]["dataAttribute"], "data-side");
    assert_eq!(contract["elements"]["head"]["selector"], ".rf-berth__head");
}

#[test]
fn the_page_names_every_kind_of_match() {
    let words = ["any", "paragraph", "heading", "list", "image", "blockquote", "fence", "hr", "table", "tag"];
    for word in words {
        assert!(PAGE.contains(&format!("`{word}`")), "{word}");
        let source = format!("[runes.a]\ndescription = ''\ncontent = 'x: {word}'\n");
        assert!(Package::parse("f.toml", &source, LOCAL).is_ok(), "{word}");
    }
}
