//! Line diff of two texts, by the longest common subsequence. The output must equal npm's, so no diff crate is used.

use crate::limits::DIFF_CELLS_MAX;

/// How a line changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Equal,
    Add,
    Remove,
}

impl Change {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Change::Equal => "equal",
            Change::Add => "add",
            Change::Remove => "remove",
        }
    }
}

/// A line, with its number in each text that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiffLine<'t> {
    pub(super) change: Change,
    pub(super) text: &'t str,
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
}

/// The lines of both texts in order, removed lines before the added lines in their place. `None` if the table would be
/// larger than [`DIFF_CELLS_MAX`].
pub(super) fn line_diff<'t>(before: &'t str, after: &'t str) -> Option<Vec<DiffLine<'t>>> {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
    let width = b.len() + 1;
    let cells = width.checked_mul(a.len() + 1).filter(|cells| *cells <= DIFF_CELLS_MAX)?;
    // Length of the longest common subsequence of the first `i` and the first `j` lines.
    let mut lengths = vec![0_u32; cells];
    let length_at = |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or(0);
    for (i, before_line) in a.iter().enumerate() {
        for (j, after_line) in b.iter().enumerate() {
            let length = if before_line == after_line {
                length_at(&lengths, i, j) + 1
            } else {
                length_at(&lengths, i, j + 1).max(length_at(&lengths, i + 1, j))
            };
            if let Some(cell) = lengths.get_mut((i + 1) * width + j + 1) {
                *cell = length;
            }
        }
    }
    let mut lines = Vec::with_capacity(a.len().max(b.len()));
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 || j > 0 {
        let before_line = i.checked_sub(1).and_then(|i| a.get(i)).copied();
        let after_line = j.checked_sub(1).and_then(|j| b.get(j)).copied();
        match (before_line, after_line) {
            (Some(text), Some(after_text)) if text == after_text => {
                lines.push(DiffLine { change: Change::Equal, text, before: Some(i), after: Some(j) });
                (i, j) = (i - 1, j - 1);
            }
            (_, Some(text)) if i == 0 || length_at(&lengths, i, j - 1) >= length_at(&lengths, i - 1, j) => {
                lines.push(DiffLine { change: Change::Add, text, before: None, after: Some(j) });
                j -= 1;
            }
            (before_text, _) => {
                lines.push(DiffLine {
                    change: Change::Remove,
                    text: before_text.unwrap_or_default(),
                    before: Some(i),
                    after: None,
                });
                i -= 1;
            }
        }
    }
    lines.reverse();
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff_marks(before: &str, after: &str) -> String {
        let lines = line_diff(before, after).unwrap();
        let mark = |line: &DiffLine<'_>| match line.change {
            Change::Equal => format!(" {}", line.text),
            Change::Add => format!("+{}", line.text),
            Change::Remove => format!("-{}", line.text),
        };
        lines.iter().map(mark).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn removed_lines_precede_added_lines() {
        assert_eq!(diff_marks("a\nb\nc", "a\nx\nc"), " a -b +x  c");
        assert_eq!(diff_marks("a", ""), "-a +");
        assert_eq!(diff_marks("a\nb\nc\nd", "x\na\nd\ny\nz"), "+x  a -b -c  d +y +z");
    }

    #[test]
    fn oversized_diff_returns_none() {
        let text = "\n".repeat(10_000);
        assert!(line_diff(&text, &text).is_none());
    }
}
