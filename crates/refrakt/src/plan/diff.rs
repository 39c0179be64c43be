//! What a change does to a text, as a unified diff: the form that people and agents read.

use std::fmt::Write as _;

/// Lines shown around a change.
const AROUND: usize = 3;

/// The difference between two texts; empty where there is none. An edit here replaces lines or puts some in at one place, so lines
/// are compared from both ends, and one by one where equally many lie between.
pub fn unified(file: &str, before: Option<&str>, after: &str) -> String {
    let old: Vec<&str> = before.unwrap_or_default().split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    if before.is_some() && old == new {
        return String::new();
    }
    let from = if before.is_some() { format!("a/{file}") } else { "/dev/null".to_owned() };
    let mut diff = format!("--- {from}\n+++ b/{file}\n");
    for hunk in hunks(&changes(&old, &new), old.len(), new.len()) {
        write_hunk(&mut diff, &hunk, &old, &new);
    }
    diff
}

/// Lines of the old text that other lines of the new one replace: both as ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Replaced {
    old: std::ops::Range<usize>,
    new: std::ops::Range<usize>,
}

fn changes(old: &[&str], new: &[&str]) -> Vec<Replaced> {
    let first = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let same_end = |(a, b): &(&&str, &&str)| a == b;
    let last = old[first..].iter().rev().zip(new[first..].iter().rev()).take_while(same_end).count();
    let (old_end, new_end) = (old.len() - last, new.len() - last);
    if old_end - first != new_end - first {
        return vec![Replaced { old: first..old_end, new: first..new_end }];
    }
    let mut changes: Vec<Replaced> = Vec::new();
    for line in (first..old_end).filter(|&line| old[line] != new[line]) {
        match changes.last_mut().filter(|change| change.old.end == line) {
            Some(change) => (change.old.end, change.new.end) = (line + 1, line + 1),
            None => changes.push(Replaced { old: line..line + 1, new: line..line + 1 }),
        }
    }
    changes
}

/// Changes whose surroundings touch, with these surroundings.
struct Hunk {
    old: std::ops::Range<usize>,
    new: std::ops::Range<usize>,
    changes: Vec<Replaced>,
}

fn hunks(changes: &[Replaced], old_len: usize, new_len: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for change in changes {
        let start = |range: &std::ops::Range<usize>| range.start.saturating_sub(AROUND);
        let (old_end, new_end) =
            ((change.old.end + AROUND).min(old_len), (change.new.end + AROUND).min(new_len));
        match hunks.last_mut().filter(|hunk| start(&change.old) <= hunk.old.end) {
            Some(hunk) => {
                (hunk.old.end, hunk.new.end) = (old_end, new_end);
                hunk.changes.push(change.clone());
            }
            None => hunks.push(Hunk {
                old: start(&change.old)..old_end,
                new: start(&change.new)..new_end,
                changes: vec![change.clone()],
            }),
        }
    }
    hunks
}

fn write_hunk(diff: &mut String, hunk: &Hunk, old: &[&str], new: &[&str]) {
    let place = |range: &std::ops::Range<usize>| {
        let first = if range.is_empty() { range.start } else { range.start + 1 };
        format!("{first},{}", range.len())
    };
    // Writing to a text cannot fail.
    let _ = writeln!(diff, "@@ -{} +{} @@", place(&hunk.old), place(&hunk.new));
    let mut at = hunk.old.start;
    let mut line = |sign: char, text: &str| {
        diff.push(sign);
        diff.push_str(text);
        if !text.ends_with('\n') {
            diff.push_str("\n\\ No newline at end of file\n");
        }
    };
    for change in &hunk.changes {
        old[at..change.old.start].iter().for_each(|text| line(' ', text));
        old[change.old.clone()].iter().for_each(|text| line('-', text));
        new[change.new.clone()].iter().for_each(|text| line('+', text));
        at = change.old.end;
    }
    old[at..hunk.old.end].iter().for_each(|text| line(' ', text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(lines: usize) -> String {
        (1..=lines).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn a_diff_shows_what_changed_and_a_little_around_it() {
        let old = numbered(20);
        let new = old.replace("\n3\n", "\nthree\n").replace("\n16\n", "\nsixteen\n");
        let expect = "--- a/x.md\n+++ b/x.md\n@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n\
                      @@ -13,7 +13,7 @@\n 13\n 14\n 15\n-16\n+sixteen\n 17\n 18\n 19\n";
        assert_eq!(unified("x.md", Some(&old), &new), expect);
    }

    #[test]
    fn near_changes_are_one_piece() {
        let old = numbered(9);
        let new = old.replace("\n3\n", "\nthree\n").replace("\n6\n", "\nsix\n");
        let diff = unified("x.md", Some(&old), &new);
        assert_eq!(diff.matches("@@ -").count(), 1, "{diff}");
        assert!(diff.contains("-3\n+three\n 4\n 5\n-6\n+six\n"), "{diff}");
    }

    #[test]
    fn lines_that_come_in_and_texts_without_an_end() {
        let diff = unified("x.md", Some("a\nb\nc"), "a\nb\nnew\nc");
        assert!(
            diff.ends_with("@@ -1,3 +1,4 @@\n a\n b\n+new\n c\n\\ No newline at end of file\n"),
            "{diff}"
        );
        assert_eq!(unified("x.md", Some("a\n"), "a\n"), "");
        assert_eq!(unified("x.md", None, "a\nb\n"), "--- /dev/null\n+++ b/x.md\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    }
}
