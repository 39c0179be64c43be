//! Parts of an entity that are parsed by line and not from the tree: criteria and the resolution.
//!
//! Lines end in `\n` or `\r\n`.

use super::entity::{Criterion, Resolution};

/// The criteria: list items that begin with a checkbox. A checkbox in a code block counts, as in the npm package.
pub(crate) fn parse_criteria(text: &str) -> Vec<Criterion> {
    text.lines().filter_map(parse_criterion).collect()
}

/// The criteria, each with the offset of the mark in its checkbox.
pub(crate) fn checkbox_offsets(text: &str) -> Vec<(Criterion, usize)> {
    let mut checkboxes = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(criterion) = parse_criterion(line.trim_end_matches(['\n', '\r']))
            && let Some(bracket) = line.find('[')
        {
            checkboxes.push((criterion, start + bracket + 1));
        }
        start += line.len();
    }
    checkboxes
}

/// `- [ ] text` or `- [x] text`, with any indentation.
fn parse_criterion(line: &str) -> Option<Criterion> {
    let item = line.trim_start().strip_prefix('-')?;
    let after_dash = item.trim_start();
    if after_dash.len() == item.len() {
        return None;
    }
    let (mark, text) = after_dash.strip_prefix('[')?.split_once(']')?;
    let checked = match mark {
        " " => false,
        "x" | "X" => true,
        _ => return None,
    };
    let trimmed = text.trim();
    (text.starts_with(char::is_whitespace) && !trimmed.is_empty())
        .then(|| Criterion { text: trimmed.into(), checked })
}

/// The first section called Resolution, and the number of such sections.
pub(crate) fn parse_resolution(text: &str) -> (Option<Resolution>, usize) {
    let mut count = 0;
    let mut lines: Option<Vec<&str>> = None;
    let mut in_resolution = false;
    let mut fence = Fence::default();
    for line in text.lines() {
        let in_code = fence.is_code_line(line);
        if let Some(heading) = parse_heading(line).filter(|_| !in_code) {
            in_resolution = false;
            if heading == "Resolution" {
                count += 1;
                in_resolution = lines.is_none();
                lines.get_or_insert_default();
            }
            continue;
        }
        if in_resolution && let Some(lines) = &mut lines {
            lines.push(line);
        }
    }
    (lines.map(|lines| parse_resolution_fields(&lines)), count)
}

/// Where the first section called Resolution ends, and the number of such sections.
pub(crate) fn resolution_end(text: &str) -> (Option<usize>, usize) {
    let (mut count, mut end, mut start) = (0, None, 0);
    let mut is_inside = false;
    let mut fence = Fence::default();
    for line in text.split_inclusive('\n') {
        let bare_line = line.trim_end_matches(['\n', '\r']);
        let in_code = fence.is_code_line(bare_line);
        if let Some(heading) = parse_heading(bare_line).filter(|_| !in_code) {
            if std::mem::take(&mut is_inside) {
                end = Some(start);
            }
            if heading == "Resolution" {
                count += 1;
                is_inside = count == 1;
            }
        }
        start += line.len();
    }
    (if is_inside { Some(text.len()) } else { end }, count)
}

/// The text of a heading of level 1 or 2. Deeper headings belong to their section.
fn parse_heading(line: &str) -> Option<&str> {
    let text = line.strip_prefix("##").or_else(|| line.strip_prefix('#'))?;
    text.starts_with([' ', '\t']).then(|| text.trim())
}

fn parse_resolution_fields(lines: &[&str]) -> Resolution {
    let mut resolution = Resolution::default();
    let mut rest: Vec<&str> = Vec::new();
    for line in lines {
        let fields = [
            ("Completed:", &mut resolution.date),
            ("Branch:", &mut resolution.branch),
            ("PR:", &mut resolution.pr),
        ];
        let field =
            fields.into_iter().find_map(|(name, field)| Some((field, line.strip_prefix(name)?.trim())));
        match field {
            Some((field, value)) if field.is_none() && !value.is_empty() => {
                let bare = value.strip_prefix('`').and_then(|value| value.strip_suffix('`')).unwrap_or(value);
                *field = Some(bare.to_owned());
            }
            _ => rest.push(line),
        }
    }
    resolution.body = rest.join("\n").trim().to_owned();
    resolution
}

/// Tracks whether a line is inside a code block: a heading there is not a heading.
#[derive(Default)]
struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Consumes the next line. Returns whether it is part of a code block.
    fn is_code_line(&mut self, line: &str) -> bool {
        let text = line.trim_start();
        let marker = text.chars().next().filter(|ch| matches!(ch, '`' | '~'));
        let length = marker.map_or(0, |marker| text.chars().take_while(|ch| *ch == marker).count());
        match (self.open, marker) {
            (None, Some(marker)) if length >= 3 => {
                self.open = Some((marker, length));
                true
            }
            (None, _) => false,
            (Some((open, min_length)), Some(marker)) if marker == open && length >= min_length => {
                if text[length..].trim().is_empty() {
                    self.open = None;
                }
                true
            }
            (Some(_), _) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkbox_items_are_criteria() {
        let assert_criterion = |line: &str, expected: Option<(&str, bool)>| {
            let parsed = parse_criterion(line);
            assert_eq!(
                parsed.as_ref().map(|criterion| (criterion.text.as_str(), criterion.checked)),
                expected,
                "{line}"
            );
        };
        assert_criterion("- [ ] plain", Some(("plain", false)));
        assert_criterion("- [x] lower", Some(("lower", true)));
        assert_criterion("- [X] upper\r", Some(("upper", true)));
        assert_criterion("    - [ ] nested", Some(("nested", false)));
        assert_criterion("-  [ ]  wide", Some(("wide", false)));
        for none in [
            "* [ ] star",
            "+ [ ] plus",
            "- [] none",
            "- [>] arrow",
            "-[ ] tight",
            "- [ ]tight",
            "- [ ] ",
            "- text",
        ] {
            assert_criterion(none, None);
        }
    }

    #[test]
    fn resolution_has_fields_and_body() {
        let text = "## A\n\n## Resolution\n\nCompleted: 2024-02-20\nBranch: `x/y`\nPR:a/b#1\n\nWords.\n\n### Detail\n\nMore.\n\n## B\nEnd.\n";
        let (resolution, count) = parse_resolution(text);
        let expected = Resolution {
            date: Some("2024-02-20".into()),
            branch: Some("x/y".into()),
            pr: Some("a/b#1".into()),
            body: "Words.\n\n### Detail\n\nMore.".into(),
        };
        assert_eq!((resolution, count), (Some(expected), 1));
    }

    #[test]
    fn first_resolution_is_parsed_and_all_are_counted() {
        let (resolution, count) =
            parse_resolution("## Resolution\r\nCompleted: 1\r\n## Resolution\r\nCompleted: 2\r\n");
        assert_eq!((resolution.unwrap().date.as_deref(), count), (Some("1"), 2));
        assert_eq!(super::parse_resolution("# Title\n"), (None, 0));
    }

    #[test]
    fn resolution_ends_at_next_heading_or_at_the_end() {
        assert_eq!(resolution_end("## A\n\n## Resolution\nx\n\n### y\n## B\n"), (Some(29), 1));
        assert_eq!(resolution_end("## Resolution\nx\n```\n# y\n```\n"), (Some(28), 1));
        assert_eq!(resolution_end("## Resolution\n## Resolution\n"), (Some(14), 2));
        assert_eq!(resolution_end("# T\n"), (None, 0));
    }

    #[test]
    fn headings_in_code_blocks_are_ignored() {
        let (resolution, count) =
            parse_resolution("```\n## Resolution\n```\n## Resolution\n~~~\n## B\n~~~\nx\n");
        assert_eq!((resolution.unwrap().body.as_str(), count), ("~~~\n## B\n~~~\nx", 1));
    }
}
