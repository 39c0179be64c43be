//! A unified diff of a change to a file.

use std::fmt::Write as _;

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// The difference between two texts; empty if they are equal.
///
/// An update replaces lines or inserts lines at one place. So the common start and end are removed, and if equally many
/// lines remain on both sides, they are compared one by one. Otherwise the remaining lines are one change. A general
/// diff, as of the crate `similar`, would split that change at lines that happen to be equal, and give another text.
pub fn unified_diff(file: &str, before: Option<&str>, after: &str) -> String {
    let old: Vec<&str> = before.unwrap_or_default().split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    if before.is_some() && old == new {
        return String::new();
    }
    let from = if before.is_some() { format!("a/{file}") } else { "/dev/null".to_owned() };
    let mut diff = format!("--- {from}\n+++ b/{file}\n");
    for hunk in group_hunks(&changed_ranges(&old, &new), old.len(), new.len()) {
        write_hunk(&mut diff, &hunk, &old, &new);
    }
    diff
}

/// Lines of the old text and the lines that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChangedRange {
    old: std::ops::Range<usize>,
    new: std::ops::Range<usize>,
}

fn changed_ranges(old: &[&str], new: &[&str]) -> Vec<ChangedRange> {
    let common_prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let is_equal_pair = |(a, b): &(&&str, &&str)| a == b;
    let common_suffix = old[common_prefix..]
        .iter()
        .rev()
        .zip(new[common_prefix..].iter().rev())
        .take_while(is_equal_pair)
        .count();
    let (old_end, new_end) = (old.len() - common_suffix, new.len() - common_suffix);
    if old_end - common_prefix != new_end - common_prefix {
        return vec![ChangedRange { old: common_prefix..old_end, new: common_prefix..new_end }];
    }
    let mut changes: Vec<ChangedRange> = Vec::new();
    for line in (common_prefix..old_end).filter(|&line| old[line] != new[line]) {
        match changes.last_mut().filter(|change| change.old.end == line) {
            Some(change) => (change.old.end, change.new.end) = (line + 1, line + 1),
            None => changes.push(ChangedRange { old: line..line + 1, new: line..line + 1 }),
        }
    }
    changes
}

/// Changes with overlapping context, and that context.
struct Hunk {
    old: std::ops::Range<usize>,
    new: std::ops::Range<usize>,
    changes: Vec<ChangedRange>,
}

fn group_hunks(changes: &[ChangedRange], old_len: usize, new_len: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for change in changes {
        let context_start = |range: &std::ops::Range<usize>| range.start.saturating_sub(CONTEXT_LINES);
        let (old_end, new_end) =
            ((change.old.end + CONTEXT_LINES).min(old_len), (change.new.end + CONTEXT_LINES).min(new_len));
        match hunks.last_mut().filter(|hunk| context_start(&change.old) <= hunk.old.end) {
            Some(hunk) => {
                (hunk.old.end, hunk.new.end) = (old_end, new_end);
                hunk.changes.push(change.clone());
            }
            None => hunks.push(Hunk {
                old: context_start(&change.old)..old_end,
                new: context_start(&change.new)..new_end,
                changes: vec![change.clone()],
            }),
        }
    }
    hunks
}

fn write_hunk(diff: &mut String, hunk: &Hunk, old: &[&str], new: &[&str]) {
    let format_range = |range: &std::ops::Range<usize>| {
        let first = if range.is_empty() { range.start } else { range.start + 1 };
        format!("{first},{}", range.len())
    };
    // Writing to a `String` cannot fail.
    let _ = writeln!(diff, "@@ -{} +{} @@", format_range(&hunk.old), format_range(&hunk.new));
    let mut old_index = hunk.old.start;
    let mut push_line = |prefix: char, text: &str| {
        diff.push(prefix);
        diff.push_str(text);
        if !text.ends_with('\n') {
            diff.push_str("\n\\ No newline at end of file\n");
        }
    };
    for change in &hunk.changes {
        old[old_index..change.old.start].iter().for_each(|text| push_line(' ', text));
        old[change.old.clone()].iter().for_each(|text| push_line('-', text));
        new[change.new.clone()].iter().for_each(|text| push_line('+', text));
        old_index = change.old.end;
    }
    old[old_index..hunk.old.end].iter().for_each(|text| push_line(' ', text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered_lines(lines: usize) -> String {
        (1..=lines).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn diff_contains_changes_with_context() {
        let old = numbered_lines(20);
        let new = old.replace("\n3\n", "\nthree\n").replace("\n16\n", "\nsixteen\n");
        let expected = "--- a/x.md\n+++ b/x.md\n@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n\
                      @@ -13,7 +13,7 @@\n 13\n 14\n 15\n-16\n+sixteen\n 17\n 18\n 19\n";
        assert_eq!(unified_diff("x.md", Some(&old), &new), expected);
    }

    #[test]
    fn near_changes_share_one_hunk() {
        let old = numbered_lines(9);
        let new = old.replace("\n3\n", "\nthree\n").replace("\n6\n", "\nsix\n");
        let diff = unified_diff("x.md", Some(&old), &new);
        assert_eq!(diff.matches("@@ -").count(), 1, "{diff}");
        assert!(diff.contains("-3\n+three\n 4\n 5\n-6\n+six\n"), "{diff}");
    }

    #[test]
    fn diff_handles_insertions_and_missing_final_newline() {
        let diff = unified_diff("x.md", Some("a\nb\nc"), "a\nb\nnew\nc");
        assert!(
            diff.ends_with("@@ -1,3 +1,4 @@\n a\n b\n+new\n c\n\\ No newline at end of file\n"),
            "{diff}"
        );
        assert_eq!(unified_diff("x.md", Some("a\n"), "a\n"), "");
        assert_eq!(
            unified_diff("x.md", None, "a\nb\n"),
            "--- /dev/null\n+++ b/x.md\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        );
    }
}
