//! Suggestions: the words of a vocabulary that are closest to a misspelled word.
//!
//! The measure is the optimal string alignment distance, ignoring case: the number of insertions,
//! deletions, replacements and swaps of neighbours. A suggestion may differ by one edit per three
//! characters and by at most three edits. Of equally close words, the one that sorts first wins, so
//! the order of the candidates (often a hash map's) does not matter.

use crate::limits::{COMPARED_WORD_CHARS_MAX, SUGGESTIONS_MAX};

/// Most edits between a word and a suggestion.
const EDITS_MAX: usize = 3;

/// The candidate that is closest to `word`, if any is close enough.
///
/// ```
/// use quad_address::closest;
/// assert_eq!(closest("decison", ["fact", "decision"]), Some("decision"));
/// assert_eq!(closest("banana", ["fact", "decision"]), None);
/// ```
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = fold_case(word)?;
    candidates
        .into_iter()
        .filter_map(|candidate| Some((edit_distance_if_close(&word, candidate)?, candidate)))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Up to three candidates that are close to `word`, the closest first.
pub fn closest_few<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let Some(word) = fold_case(word) else { return Vec::new() };
    let mut matches: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| Some((edit_distance_if_close(&word, candidate)?, candidate)))
        .collect();
    matches.sort_unstable();
    matches.dedup();
    matches.truncate(SUGGESTIONS_MAX);
    matches.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The edit distance of two words, if they are close.
pub(crate) fn edit_distance(word: &str, candidate: &str) -> Option<usize> {
    edit_distance_if_close(&fold_case(word)?, candidate)
}

/// The word in lower case; `None` if it is empty or too long to compare.
fn fold_case(word: &str) -> Option<Vec<char>> {
    let folded: Vec<char> =
        word.chars().flat_map(char::to_lowercase).take(COMPARED_WORD_CHARS_MAX + 1).collect();
    (1..=COMPARED_WORD_CHARS_MAX).contains(&folded.len()).then_some(folded)
}

fn edit_distance_if_close(word: &[char], candidate: &str) -> Option<usize> {
    let candidate = fold_case(candidate)?;
    let allowed = (word.len().max(candidate.len()) / 3).clamp(1, EDITS_MAX);
    // Two short words without a common character are not close.
    let allowed = allowed.min(word.len().min(candidate.len()) - 1);
    if word.len().abs_diff(candidate.len()) > allowed {
        return None;
    }
    let edits = osa_distance(word, &candidate);
    (edits <= allowed).then_some(edits)
}

/// Damerau's edit distance in the form that never edits a swapped pair again. Three rows are
/// enough: a swap looks two rows back.
fn osa_distance(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        for (j, b) in right.iter().enumerate() {
            let mut edits = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                edits = edits.min(before_last[j - 1] + 1);
            }
            row.push(edits);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [&str; 6] = ["fact", "decision", "inference", "correction", "skill", "episode"];

    #[test]
    fn closest_finds_misspelled_word() {
        let check = |word: &str, expect: Option<&str>| assert_eq!(closest(word, TYPES), expect, "{word}");
        check("facts", Some("fact"));
        check("FATC", Some("fact"));
        check("deciison", Some("decision"));
        check("decision", Some("decision"));
        check("inferrense", Some("inference"));
        check("", None);
        check("x", None);
        check("weather", None);
        check(&"fact".repeat(10_000), None);
        check("\u{0}\u{1}", None);
    }

    #[test]
    fn ties_go_to_alphabetically_first() {
        assert_eq!(closest("bat", ["rat", "cat", "hat"]), Some("cat"));
        assert_eq!(closest_few("bat", ["rat", "cat", "hat", "bar", "cat"]), ["bar", "cat", "hat"]);
        assert_eq!(closest("a", ["b"]), None);
    }

    #[test]
    fn osa_distance_counts_single_edits() {
        let check = |left: &str, right: &str, expect: usize| {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            assert_eq!(osa_distance(&letters(left), &letters(right)), expect, "{left} {right}");
            assert_eq!(osa_distance(&letters(right), &letters(left)), expect, "{right} {left}");
        };
        check("", "abc", 3);
        check("abc", "abc", 0);
        check("ab", "ba", 1);
        check("ca", "abc", 3);
        check("kitten", "sitting", 3);
        check("naïve", "naive", 1);
    }
}
