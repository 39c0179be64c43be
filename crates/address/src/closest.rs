//! Suggestions: the words of a vocabulary that are closest to a misspelled word.
//!
//! The measure is the optimal string alignment distance, ignoring case: the number of insertions,
//! deletions, replacements and swaps of neighbours. A suggestion may differ by one edit per three
//! characters and by at most three edits. Of equally close words, the one that sorts first wins, so
//! the order of the candidates (often a hash map's) does not matter.

use strsim::osa_distance;

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

/// All candidates, those that resemble `word` most first. Equally distant ones keep their order.
///
/// ```
/// use quad_address::nearest_first;
/// assert_eq!(nearest_first("close", ["open", "frozen", "closed"]), ["closed", "open", "frozen"]);
/// ```
pub fn nearest_first<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut sorted: Vec<&str> = candidates.into_iter().collect();
    if let Some(word) = fold_case(word) {
        sorted.sort_by_cached_key(|candidate| osa_distance(&word.text, &candidate.to_lowercase()));
    }
    sorted
}

/// The edit distance of two words, if they are close.
pub(crate) fn edit_distance(word: &str, candidate: &str) -> Option<usize> {
    edit_distance_if_close(&fold_case(word)?, candidate)
}

/// A word in lower case.
struct FoldedWord {
    text: String,
    chars: usize,
}

/// The word in lower case; `None` if it is empty or too long to compare.
fn fold_case(word: &str) -> Option<FoldedWord> {
    let mut chars = 0;
    let folded = word.chars().flat_map(char::to_lowercase).take(COMPARED_WORD_CHARS_MAX + 1);
    let text: String = folded.inspect(|_| chars += 1).collect();
    (1..=COMPARED_WORD_CHARS_MAX).contains(&chars).then_some(FoldedWord { text, chars })
}

fn edit_distance_if_close(word: &FoldedWord, candidate: &str) -> Option<usize> {
    let candidate = fold_case(candidate)?;
    let allowed = (word.chars.max(candidate.chars) / 3).clamp(1, EDITS_MAX);
    // Two short words without a common character are not close.
    let allowed = allowed.min(word.chars.min(candidate.chars) - 1);
    if word.chars.abs_diff(candidate.chars) > allowed {
        return None;
    }
    let edits = osa_distance(&word.text, &candidate.text);
    (edits <= allowed).then_some(edits)
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
    fn edit_distance_counts_single_edits() {
        let check = |a: &str, b: &str, expect: Option<usize>| {
            assert_eq!(edit_distance(a, b), expect, "{a} {b}");
            assert_eq!(edit_distance(b, a), expect, "{b} {a}");
        };
        check("abc", "ABC", Some(0));
        check("ab", "ba", Some(1));
        // A swapped pair is not edited again.
        check("ca", "abc", None);
        check("caxxxxxxx", "abcxxxxxxx", Some(3));
        check("kitten", "sitting", None);
        check("naïve", "naive", Some(1));
        check("", "abc", None);
    }
}
