//! What is read from an entity's lines rather than from its tree: things to tick, and how it ended.
//!
//! Lines may end in `\n` or `\r\n`; both are read alike.

use super::entity::{Criterion, Resolution};

/// The things to tick: list items that begin with a box. A box in a code block counts, as in the original.
pub(crate) fn criteria(text: &str) -> Vec<Criterion> {
    text.lines().filter_map(criterion).collect()
}

/// The same, each with the place of the sign in its box.
pub(crate) fn boxes(text: &str) -> Vec<(Criterion, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(criterion) = criterion(line.trim_end_matches(['\n', '\r']))
            && let Some(bracket) = line.find('[')
        {
            found.push((criterion, start + bracket + 1));
        }
        start += line.len();
    }
    found
}

/// `- [ ] text` or `- [x] text`, however far it is indented.
fn criterion(line: &str) -> Option<Criterion> {
    let item = line.trim_start().strip_prefix('-')?;
    let boxed = item.trim_start();
    if boxed.len() == item.len() {
        return None;
    }
    let (mark, text) = boxed.strip_prefix('[')?.split_once(']')?;
    let checked = match mark {
        " " => false,
        "x" | "X" => true,
        _ => return None,
    };
    let words = text.trim();
    (text.starts_with(char::is_whitespace) && !words.is_empty())
        .then(|| Criterion { text: words.into(), checked })
}

/// The first section called Resolution, and how many there are.
pub(crate) fn resolution(text: &str) -> (Option<Resolution>, usize) {
    let mut count = 0;
    let mut lines: Option<Vec<&str>> = None;
    let mut within = false;
    let mut fence = Fence::default();
    for line in text.lines() {
        let in_code = fence.passes(line);
        if let Some(heading) = heading(line).filter(|_| !in_code) {
            within = false;
            if heading == "Resolution" {
                count += 1;
                within = lines.is_none();
                lines.get_or_insert_default();
            }
            continue;
        }
        if within && let Some(lines) = &mut lines {
            lines.push(line);
        }
    }
    (lines.map(|lines| parts(&lines)), count)
}

/// The text of a heading of level 1 or 2. Deeper ones belong to their section.
fn heading(line: &str) -> Option<&str> {
    let text = line.strip_prefix("##").or_else(|| line.strip_prefix('#'))?;
    text.starts_with([' ', '\t']).then(|| text.trim())
}

fn parts(lines: &[&str]) -> Resolution {
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

/// Whether a line lies in a code block: a heading there is no heading.
#[derive(Default)]
struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Takes the next line; says whether it is part of a code block.
    fn passes(&mut self, line: &str) -> bool {
        let text = line.trim_start();
        let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'));
        let length = sign.map_or(0, |sign| text.chars().take_while(|one| *one == sign).count());
        match (self.open, sign) {
            (None, Some(sign)) if length >= 3 => {
                self.open = Some((sign, length));
                true
            }
            (None, _) => false,
            (Some((open, least)), Some(sign)) if sign == open && length >= least => {
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
    fn a_box_is_a_criterion() {
        let check = |line: &str, expect: Option<(&str, bool)>| {
            let found = criterion(line);
            assert_eq!(found.as_ref().map(|one| (one.text.as_str(), one.checked)), expect, "{line}");
        };
        check("- [ ] plain", Some(("plain", false)));
        check("- [x] lower", Some(("lower", true)));
        check("- [X] upper\r", Some(("upper", true)));
        check("    - [ ] nested", Some(("nested", false)));
        check("-  [ ]  wide", Some(("wide", false)));
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
            check(none, None);
        }
    }

    #[test]
    fn a_resolution_is_its_fields_and_the_rest() {
        let text = "## A\n\n## Resolution\n\nCompleted: 2024-02-20\nBranch: `x/y`\nPR:a/b#1\n\nWords.\n\n### Detail\n\nMore.\n\n## B\nEnd.\n";
        let (resolution, count) = resolution(text);
        let expect = Resolution {
            date: Some("2024-02-20".into()),
            branch: Some("x/y".into()),
            pr: Some("a/b#1".into()),
            body: "Words.\n\n### Detail\n\nMore.".into(),
        };
        assert_eq!((resolution, count), (Some(expect), 1));
    }

    #[test]
    fn only_the_first_resolution_is_read_and_all_are_counted() {
        let (resolution, count) =
            resolution("## Resolution\r\nCompleted: 1\r\n## Resolution\r\nCompleted: 2\r\n");
        assert_eq!((resolution.unwrap().date.as_deref(), count), (Some("1"), 2));
        assert_eq!(super::resolution("# Title\n"), (None, 0));
    }

    #[test]
    fn a_heading_in_code_is_no_heading() {
        let (resolution, count) = resolution("```\n## Resolution\n```\n## Resolution\n~~~\n## B\n~~~\nx\n");
        assert_eq!((resolution.unwrap().body.as_str(), count), ("~~~\n## B\n~~~\nx", 1));
    }
}
