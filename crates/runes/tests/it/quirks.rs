//! Our own output where npm loses text or fails: the cases of `parity::DIFFERENT_ON_PURPOSE`.

use quad_runes::catalogue::Catalogue;
use quad_runes::expand::PageVariables;
use quad_runes::render::{Rendered, render};

use crate::parity::DIFFERENT_ON_PURPOSE;

fn render_page(source: &str) -> Rendered {
    render(&Catalogue::all_builtin(), source, &PageVariables::default()).unwrap()
}

/// The items of a nav without links, as HTML without indentation.
fn nav_items(source: &str) -> String {
    let html = render_page(&format!("{{% nav %}}\n{source}\n{{% /nav %}}\n")).html;
    let lines = html.lines().map(str::trim_start);
    let items =
        lines.skip_while(|line| !line.starts_with("<ul>")).skip(1).take_while(|line| *line != "</rf-nav>");
    let items =
        items.collect::<Vec<_>>().join("\n").replace(" data-rune=\"nav-item\" data-density=\"full\"", "");
    items
        .replace("<li data-field=\"item\" class=\"rf-nav-item\"", "<li")
        .trim_end_matches("\n</ul>")
        .to_owned()
}

const ICON: &str = "<span class=\"rf-icon\" data-icon=\"star\"></span>";

fn badge(text: &str) -> String {
    format!(
        "<span class=\"rf-badge rf-nav-item__badge rf-badge\" data-meta-sentiment=\"neutral\" \
         data-meta-type=\"tag\" data-name=\"badge\" data-rune=\"badge\" data-density=\"full\">\n\
         <span data-field=\"slug\">{text}</span>\n</span>"
    )
}

#[test]
fn nav_item_without_link_keeps_its_icon() {
    let icon = "{% icon name=\"star\" /%}";
    assert_eq!(nav_items(&format!("- {icon}")), format!("<li>\n{ICON}\n</li>"));
    assert_eq!(nav_items(&format!("- {icon} rope")), format!("<li data-slug=\"rope\">\n{ICON}\nrope\n</li>"));
    assert_eq!(
        nav_items(&format!("- {icon}\n  - jute")),
        format!("<li>\n{ICON}\n<ul>\n<li data-slug=\"jute\">jute</li>\n</ul>\n</li>")
    );
}

#[test]
fn nav_item_without_link_keeps_badges_references_and_text_in_order() {
    assert_eq!(
        nav_items("- {% badge %}low{% /badge %} rope"),
        format!("<li data-slug=\"rope\">\n{}\nrope\n</li>", badge("low"))
    );
    assert_eq!(
        nav_items("- rope {% badge %}low{% /badge %}"),
        format!("<li data-slug=\"rope\">\nrope \n{}\n</li>", badge("low"))
    );
    assert_eq!(
        nav_items("- {% badge %}a{% /badge %} rope {% icon name=\"star\" /%} end"),
        format!("<li data-slug=\"rope end\">\n{}\nrope \n{ICON}\nend\n</li>", badge("a"))
    );
    assert_eq!(
        nav_items("- see {% ref \"WORK-1\" /%}"),
        "<li data-slug=\"see\">\nsee \n<span data-rune=\"xref\" data-xref-id=\"WORK-1\">WORK-1</span>\n</li>"
    );
}

#[test]
fn comparison_with_an_empty_item_after_a_rune_renders_as_without_it() {
    let with_item = render_page("{% comparison %}\n{% hint %}\nh\n{% /hint %}\n- \n{% /comparison %}\n");
    let without = render_page("{% comparison %}\n{% hint %}\nh\n{% /hint %}\n{% /comparison %}\n");
    assert_eq!(with_item.html, without.html);
    assert!(with_item.html.contains("rf-comparison__table-wrapper"), "{}", with_item.html);
}

#[test]
fn line_separators_do_not_hide_the_role_of_a_member() {
    for separator in ['\u{2028}', '\u{2029}'] {
        let html =
            render_page(&format!("{{% cast %}}\n- Ola - rower{separator}of boats\n{{% /cast %}}\n")).html;
        assert!(html.contains(">Ola</span>"), "{html}");
        assert!(html.contains(&format!(">rower{separator}of boats</span>")), "{html}");
    }
}

#[test]
fn rare_characters_sort_after_common_scripts_by_code_point() {
    let refs = ["𝐀b", "ａ-1", "٣", "日", "f", "é", "e", "2"];
    let source: Vec<String> = refs.iter().map(|id| format!("{{% ref \"{id}\" /%}}")).collect();
    let selectors = render_page(&source.join(", ")).selectors;
    let ids: Vec<&str> = selectors
        .iter()
        .filter_map(|selector| selector.strip_prefix("[data-xref-id=\"")?.strip_suffix("\"]"))
        .collect();
    assert_eq!(ids, ["2", "e", "é", "f", "٣", "日", "ａ-1", "𝐀b"]);
}

#[test]
fn every_choice_is_documented() {
    let readme = include_str!("../../README.md");
    for (id, _) in DIFFERENT_ON_PURPOSE {
        let case = id.strip_prefix("quirks/").unwrap();
        assert!(readme.contains(&format!("`{case}`")), "README.md explains {case}");
    }
}
