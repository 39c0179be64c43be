//! Limits of length, and the kinds of pages.

use super::{markdown, pages};

/// Characters of the longest paragraph. The eye loses its line in a longer one.
const PARAGRAPH_CHARS: usize = 700;

/// Words of the longest ARCHITECTURE.md that is read in ten minutes.
const ARCHITECTURE_WORDS: usize = 2_600;

/// Pages that each kind of documentation has at least.
const PAGES_OF_A_KIND: usize = 3;

#[test]
fn paragraphs_are_short() {
    let mut long = Vec::new();
    for page in pages::all() {
        for (line, paragraph) in markdown::paragraphs(&page.text) {
            let length = paragraph.chars().count();
            if length > PARAGRAPH_CHARS {
                let start: String = paragraph.chars().take(60).collect();
                long.push(format!("{}:{line}: {length} characters: {start}…", page.name));
            }
        }
    }
    assert!(long.is_empty(), "longer than {PARAGRAPH_CHARS} characters:\n{}", long.join("\n"));
}

#[test]
fn architecture_page_is_short() {
    let text = std::fs::read_to_string(pages::root().join("ARCHITECTURE.md")).unwrap();
    let words = text.split_whitespace().count();
    println!("ARCHITECTURE.md has {words} words");
    assert!(words < ARCHITECTURE_WORDS, "{words} words; at most {ARCHITECTURE_WORDS}");
}

#[test]
fn each_kind_of_documentation_has_pages() {
    let names: Vec<String> = pages::all().into_iter().map(|page| page.name).collect();
    for kind in ["tutorials", "how-to", "reference", "explanation"] {
        let folder = format!("docs/{kind}/");
        let count = names.iter().filter(|name| name.starts_with(&folder)).count();
        assert!(count >= PAGES_OF_A_KIND, "{folder} has {count} pages; at least {PAGES_OF_A_KIND}");
    }
}
