//! The few parts of Markdown that the tests of the documentation look at: fences, headings, links and paragraphs.

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block<'t> {
    /// The word after the opening fence, such as `console`.
    pub language: &'t str,
    /// The line number of the first line inside, from 1.
    pub line: usize,
    pub lines: Vec<&'t str>,
}

/// Splits a page into its fenced blocks and the lines outside them (with their numbers, from 1).
pub fn split(text: &str) -> (Vec<Block<'_>>, Vec<(usize, &str)>) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut prose = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let marks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match fence {
            Some(open) if marks >= open.len() && trimmed.trim_end().trim_start_matches('`').is_empty() => {
                fence = None;
            }
            Some(_) => blocks.last_mut().unwrap().lines.push(line),
            None if marks >= 3 => {
                fence = Some(&trimmed[..marks]);
                let language = trimmed[marks..].trim();
                blocks.push(Block { language, line: index + 2, lines: Vec::new() });
            }
            None => prose.push((index + 1, line)),
        }
    }
    (blocks, prose)
}

/// The anchors that a page has, spelt as GitHub spells them: one for each heading, and every `<a id="…">`.
pub fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in split(text).1 {
        let marks = line.len() - line.trim_start_matches('#').len();
        if (1..=6).contains(&marks) && line[marks..].starts_with(' ') {
            let plain = slug(line[marks..].trim());
            let same = |anchor: &&String| **anchor == plain || anchor.starts_with(&format!("{plain}-"));
            let repeated = anchors.iter().filter(same).count();
            let taken = anchors.contains(&plain);
            anchors.push(if taken { format!("{plain}-{repeated}") } else { plain });
        }
        for part in line.split("<a id=\"").skip(1) {
            anchors.extend(part.split('"').next().map(str::to_owned));
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let mut slug = String::new();
    for letter in visible(heading).chars() {
        match letter {
            ' ' | '-' => slug.push('-'),
            '_' => slug.push('_'),
            letter if letter.is_alphanumeric() => slug.extend(letter.to_lowercase()),
            _ => {}
        }
    }
    slug
}

/// A heading without the targets of its links.
fn visible(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    while let Some(at) = rest.find("](") {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once(')').map_or("", |(_, after)| after);
    }
    text + rest
}

/// The targets of all links of a page, each with its line number.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in split(text).1 {
        let line = without_code(line);
        for part in line.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default();
            found.push((number, target.split_whitespace().next().unwrap_or_default().to_owned()));
        }
        if let Some((_, target)) = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "))
        {
            found.push((number, target.trim().to_owned()));
        }
    }
    found
}

/// A line without its inline code, which may hold what looks like a link.
fn without_code(line: &str) -> String {
    let mut kept = String::new();
    let mut parts = line.split('`');
    while let Some(part) = parts.next() {
        kept.push_str(part);
        parts.next();
    }
    kept
}

/// The paragraphs of a page, each with the number of its first line. A list item is a paragraph of its own; tables,
/// headings and code are left out.
pub fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    let mut previous = 0;
    for (number, line) in split(text).1 {
        let trimmed = line.trim();
        let begins_item = trimmed.starts_with("- ") || trimmed.starts_with("* ") || is_numbered(trimmed);
        let is_prose = !(trimmed.is_empty() || trimmed.starts_with('|') || trimmed.starts_with('#'));
        // A fence between two lines ends a paragraph.
        let continues = is_open && number == previous + 1 && !begins_item;
        match found.last_mut() {
            Some((_, paragraph)) if is_prose && continues => {
                paragraph.push(' ');
                paragraph.push_str(trimmed);
            }
            _ if is_prose => found.push((number, trimmed.to_owned())),
            _ => {}
        }
        is_open = is_prose;
        previous = number;
    }
    found
}

fn is_numbered(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    digits > 0 && line[digits..].starts_with(". ")
}

#[test]
fn split_separates_fenced_blocks() {
    let text = "one\n\n```console\n$ two\n```\nthree\n";
    let (blocks, prose) = split(text);
    assert_eq!(blocks, [Block { language: "console", line: 4, lines: vec!["$ two"] }]);
    assert_eq!(prose, [(1, "one"), (2, ""), (6, "three")]);
}

#[test]
fn anchors_match_github() {
    let text = "# Read, then `quad read`\n## What's new?\n## Rows_and [links](x.md)\n## What's new?\n";
    assert_eq!(anchors(text), ["read-then-quad-read", "whats-new", "rows_and-links", "whats-new-1"]);
}

#[test]
fn links_in_code_are_ignored() {
    let text = "[a](b.md#c) and `[d](e.md)`\n[f]: g.md\n";
    assert_eq!(links(text), [(1, "b.md#c".to_owned()), (2, "g.md".to_owned())]);
}

#[test]
fn list_items_are_paragraphs_and_tables_are_not() {
    let text = "one\ntwo\n\n- three\n  four\n- five\n\n| six |\n";
    let expected = [(1, "one two"), (4, "- three four"), (6, "- five")];
    assert_eq!(paragraphs(text), expected.map(|(line, text)| (line, text.to_owned())));
}
