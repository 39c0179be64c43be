//! Compares a claim with what a text says. The time is linear in the length of the text.

use std::collections::{HashMap, HashSet};

use super::{Mark, Sentence, Word, cues, parse};
use crate::limits;

/// Sentences before one that it may continue.
const CONTEXT_SENTENCES: usize = 3;

/// The sentence of a text that is closest to a claim, and how they differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// The sentence, as written.
    pub sentence: String,
    /// The words of the claim that the sentence has.
    pub matched: Vec<String>,
    /// Those that it lacks.
    pub missing: Vec<String>,
    /// Words of the claim that the whole text has.
    pub matched_in_text: usize,
    /// Why the sentence says something else; `None` if it does not.
    pub difference: Option<Difference>,
}

/// Why a sentence with the words of a claim says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// A negation, a contrast or an opposite.
    Opposite,
    /// It asks, supposes, plans or remembers.
    Hedged,
    /// It has another number.
    OtherNumber,
}

impl Comparison {
    /// Whether the sentence says all of the claim.
    pub(crate) fn is_complete(&self) -> bool {
        self.difference.is_none() && self.missing.is_empty()
    }
}

/// Finds the sentence of a text that has most words of a claim; of equal ones, the one that uses them as the claim does.
/// `None` if no sentence has any.
pub(crate) fn compare(claim_text: &str, text: &str) -> Option<Comparison> {
    let claim = Claim::new(claim_text);
    let sentences = parse(text);
    let mut best: Option<(usize, usize, usize)> = None;
    for number in 0..sentences.len() {
        let (matched, differing) = claim.count_in(words_in_context(&sentences, number));
        let is_better = best.is_none_or(|(_, best_matched, best_differing)| {
            matched > best_matched || (matched == best_matched && differing < best_differing)
        });
        if matched > 0 && is_better {
            best = Some((number, matched, differing));
        }
    }
    let (number, ..) = best?;
    let sentence = sentences.get(number)?;
    let written = text.get(sentence.span.clone()).unwrap_or_default();
    let uses = Uses::new(words_in_context(&sentences, number));
    let (matched, missing): (Vec<&Word>, Vec<&Word>) = claim.words.iter().partition(|word| uses.has(word));
    let (matched_in_text, _) = claim.count_in(sentences.iter().flat_map(|sentence| &sentence.words));
    let may_be_swapped = [claim_text, written].iter().all(|text| !has_word(text, &["by", "of"]));
    let difference = uses.difference(&matched, &missing).or_else(|| {
        (may_be_swapped && is_swapped(&claim.words, &sentence.words)).then_some(Difference::Opposite)
    });
    let texts = |words: &[&Word]| words.iter().map(|word| word.text.clone()).collect::<Vec<String>>();
    Some(Comparison {
        sentence: written.to_owned(),
        matched_in_text,
        difference,
        matched: texts(&matched),
        missing: texts(&missing).into_iter().chain(claim.first_cut).collect(),
    })
}

/// The words of a sentence and of those that it continues.
fn words_in_context(sentences: &[Sentence], number: usize) -> impl Iterator<Item = &Word> {
    let first = sentences.get(number);
    let chain = std::iter::successors(first, |sentence| sentences.get(sentence.continues?));
    chain.take(1 + CONTEXT_SENTENCES).flat_map(|sentence| &sentence.words)
}

/// The words of a claim, each once for each use.
struct Claim {
    words: Vec<Word>,
    positions_by_stem: HashMap<String, Vec<usize>>,
    /// The first word beyond the limit: such a claim is never complete.
    first_cut: Option<String>,
}

impl Claim {
    /// A question is taken as the claim that it asks about.
    fn new(text: &str) -> Claim {
        let mut seen: HashSet<(String, Mark)> = HashSet::new();
        let mut positions_by_stem: HashMap<String, Vec<usize>> = HashMap::new();
        let mut words = Vec::new();
        let sentences = parse(text.trim_end().trim_end_matches('?'));
        for word in sentences.into_iter().flat_map(|sentence| sentence.words) {
            if words.len() == limits::CLAIM_WORDS {
                return Claim { words, positions_by_stem, first_cut: Some(word.text) };
            }
            if seen.insert((word.stem.clone(), word.mark)) {
                positions_by_stem.entry(word.stem.clone()).or_default().push(words.len());
                words.push(word);
            }
        }
        Claim { words, positions_by_stem, first_cut: None }
    }

    /// How many of the claim's words are among these, and how many of them are never used as in the claim.
    fn count_in<'w>(&self, words: impl Iterator<Item = &'w Word>) -> (usize, usize) {
        let mut is_same_use: HashMap<usize, bool> = HashMap::new();
        for word in words {
            for position in self.positions_by_stem.get(&word.stem).into_iter().flatten() {
                let is_same = self.words.get(*position).is_some_and(|wanted| wanted.mark == word.mark);
                *is_same_use.entry(*position).or_default() |= is_same;
            }
        }
        (is_same_use.len(), is_same_use.values().filter(|is_same| !**is_same).count())
    }
}

/// How a sentence uses its words.
struct Uses<'w> {
    marks_by_stem: HashMap<&'w str, Vec<Mark>>,
    numbers: HashSet<&'w str>,
}

impl<'w> Uses<'w> {
    fn new(words: impl Iterator<Item = &'w Word>) -> Uses<'w> {
        let mut uses = Uses { marks_by_stem: HashMap::new(), numbers: HashSet::new() };
        for word in words {
            let marks = uses.marks_by_stem.entry(word.stem.as_str()).or_default();
            if !marks.contains(&word.mark) {
                marks.push(word.mark);
            }
            if word.is_number {
                uses.numbers.insert(&word.stem);
            }
        }
        uses
    }

    fn marks(&self, stem: &str) -> &[Mark] {
        self.marks_by_stem.get(stem).map_or(&[], Vec::as_slice)
    }

    fn has(&self, word: &Word) -> bool {
        !self.marks(&word.stem).is_empty()
    }

    fn difference(&self, matched: &[&Word], missing: &[&Word]) -> Option<Difference> {
        let mut is_hedged = false;
        for wanted in matched {
            let marks = self.marks(&wanted.stem);
            if marks.contains(&wanted.mark) {
                continue;
            }
            let differs_in_hedge_only =
                |mark: &Mark| Mark { is_hedged: wanted.mark.is_hedged, ..*mark } == wanted.mark;
            if !marks.iter().any(differs_in_hedge_only) {
                return Some(Difference::Opposite);
            }
            is_hedged = true;
        }
        let is_denied = |wanted: &&Word| {
            let same_sign = |mark: &Mark| mark.is_negated == wanted.mark.is_negated;
            cues::opposites(&wanted.stem).iter().any(|stem| self.marks(stem).iter().any(same_sign))
        };
        if missing.iter().any(is_denied) {
            return Some(Difference::Opposite);
        }
        if is_hedged {
            return Some(Difference::Hedged);
        }
        let matched_numbers = matched.iter().filter(|word| word.is_number).map(|word| word.stem.as_str());
        let has_other_number = self.numbers.len() > matched_numbers.collect::<HashSet<_>>().len();
        let lacks_number = missing.iter().any(|word| word.is_number);
        (lacks_number && has_other_number).then_some(Difference::OtherNumber)
    }
}

/// Whether a sentence has three words in a row of the claim in the opposite order: "Alice pays Bob", "Bob pays Alice".
fn is_swapped(claim: &[Word], sentence: &[Word]) -> bool {
    let mut positions: HashMap<&str, usize> = HashMap::new();
    for (position, word) in sentence.iter().enumerate() {
        positions.entry(&word.stem).or_insert(position);
    }
    claim.windows(3).any(|words| {
        let found: Vec<usize> =
            words.iter().filter_map(|word| positions.get(word.stem.as_str()).copied()).collect();
        found.len() == 3 && found.is_sorted_by(|a, b| a > b)
    })
}

fn has_word(text: &str, words: &[&str]) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word.to_lowercase().as_str()))
}
