//! The order of a search's best hits, from their texts and the texts beside them.
//!
//! One memory rarely has all words of a question: in a conversation the question is one node and its answer the next,
//! and neither repeats the other's words. So a word of the question counts for a node if the node has it, and counts
//! half if a node beside it in the same session has it. Nodes beside a hit are found even if they have no word of the
//! question, unless it has one word only.
//!
//! The order is computed for a fixed number of hits, whatever the caller asks for. So a list of results begins with
//! each shorter one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use quad_core::Result;

use super::bm25::{self, TermStats};
use super::docs::{Doc, DocSnapshot};
use super::filter::Filter;
use super::limits::{CONTEXT_DISTANCE, LABEL_BYTES, WORD_BYTES};
use super::query::Clause;
use super::question::{Part, Question};
use super::words::WordScanner;

/// What a word counts for a node that lacks it but stands beside a node that has it.
const CONTEXT_WEIGHT: f32 = 0.5;

/// What a label with a word of the question counts, in average words of the question.
const LABEL_WEIGHT: f32 = 0.5;

/// A node with its score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankedDoc {
    pub doc: Doc,
    pub score: f32,
    /// The score by its own words; `None` if it has no word of the question.
    pub own_score: Option<f32>,
    /// The parts of the question that it contains.
    pub matched: Vec<String>,
}

/// The hits and the visible nodes beside them, best first.
pub(crate) fn rank_with_context(
    snapshot: &mut dyn DocSnapshot,
    question: &Question,
    stats: &TermStats,
    filter: &Filter,
    hits: &[u64],
) -> Result<Vec<RankedDoc>> {
    let context_of = read_context(snapshot, hits)?;
    let candidates: BTreeSet<u64> = hits.iter().chain(context_of.values().flatten()).copied().collect();
    let candidates: Vec<u64> = candidates.into_iter().collect();
    let scorer = PartScorer::new(question, stats);
    let mut docs: BTreeMap<u64, (Doc, PartScores)> = BTreeMap::new();
    for doc in snapshot.get_visible(&candidates)? {
        if filter.matches(&doc.meta()) {
            let scores = scorer.score(&doc.content);
            // A question of one word asks for the nodes that have it.
            if question.parts().len() > 1 || scores.has_any() {
                docs.insert(doc.id, (doc, scores));
            }
        }
    }
    // For each node beside a hit and each part, the best score of the hits beside it.
    let mut beside: HashMap<u64, Vec<f32>> = HashMap::new();
    for (hit, neighbors) in &context_of {
        let Some((_, hit_scores)) = docs.get(hit) else { continue };
        for neighbor in neighbors.iter().filter(|id| docs.contains_key(*id)) {
            let best = beside.entry(*neighbor).or_insert_with(|| vec![0.0; question.parts().len()]);
            for (best, score) in best.iter_mut().zip(&hit_scores.parts) {
                *best = best.max(*score);
            }
        }
    }
    let mut ranked: Vec<RankedDoc> = docs
        .into_iter()
        .map(|(id, (doc, scores))| {
            let context = beside.get(&id);
            let mut score = if scores.has_label { LABEL_WEIGHT * scorer.average_weight() } else { 0.0 };
            for (part, own) in scores.parts.iter().enumerate() {
                let near = context.and_then(|context| context.get(part)).copied().unwrap_or_default();
                score += own.max(CONTEXT_WEIGHT * near);
            }
            let own_score = scores.parts.iter().sum::<f32>();
            RankedDoc {
                doc,
                score: bm25::round_score(score),
                own_score: (own_score > 0.0).then(|| bm25::round_score(own_score)),
                matched: scores.matched(question),
            }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.id.cmp(&b.doc.id)));
    Ok(ranked)
}

/// For each hit, the nodes up to [`CONTEXT_DISTANCE`] places before and after it in its session.
fn read_context(snapshot: &mut dyn DocSnapshot, hits: &[u64]) -> Result<BTreeMap<u64, Vec<u64>>> {
    let mut beside: HashMap<u64, (Option<u64>, Option<u64>)> = HashMap::new();
    let mut context_of: BTreeMap<u64, Vec<u64>> = hits.iter().map(|hit| (*hit, Vec::new())).collect();
    // The last node reached from each hit, before it and after it.
    let mut ends: Vec<(u64, Option<u64>, Option<u64>)> =
        hits.iter().map(|hit| (*hit, Some(*hit), Some(*hit))).collect();
    for _ in 0..CONTEXT_DISTANCE {
        let reached = ends.iter().flat_map(|(_, before, after)| [*before, *after]).flatten();
        let unknown: BTreeSet<u64> = reached.filter(|id| !beside.contains_key(id)).collect();
        let unknown: Vec<u64> = unknown.into_iter().collect();
        for place in snapshot.session_neighbors(&unknown)? {
            beside.insert(place.id, (place.previous, place.next));
        }
        for (hit, before, after) in &mut ends {
            *before = before.and_then(|id| beside.get(&id)?.0);
            *after = after.and_then(|id| beside.get(&id)?.1);
            if let Some(context) = context_of.get_mut(hit) {
                context.extend(before.iter().chain(after.iter()));
            }
        }
    }
    Ok(context_of)
}

/// Scores texts for each part of a question.
struct PartScorer<'a> {
    parts: Vec<ScoredPart<'a>>,
    /// For each word of the question or of its phrases, its number.
    number_of: HashMap<&'a str, u32>,
    /// For each number, the part that the word belongs to; `None` for a word that is in a phrase only.
    part_of: Vec<Option<usize>>,
    has_phrases: bool,
    average_length: f32,
}

/// A part of the question with its weight: the idf of its word or the sum over its phrase.
struct ScoredPart<'a> {
    kind: PartKind<'a>,
    weight: f32,
}

enum PartKind<'a> {
    Word,
    Phrase(Vec<u32>),
    Prefix(&'a str),
}

/// What a text has of a question.
struct PartScores {
    /// A score for each part.
    parts: Vec<f32>,
    /// Whether its label contains a word of the question.
    has_label: bool,
}

impl PartScores {
    fn has_any(&self) -> bool {
        self.parts.iter().any(|score| *score > 0.0)
    }

    fn matched(&self, question: &Question) -> Vec<String> {
        let matched = question.parts().iter().zip(&self.parts).filter(|(_, score)| **score > 0.0);
        matched.map(|(part, _)| part.text.clone()).collect()
    }
}

/// The number of a word that is not in the question.
const OTHER_WORD: u32 = u32::MAX;

impl<'a> PartScorer<'a> {
    fn new(question: &'a Question, stats: &TermStats) -> PartScorer<'a> {
        let query = question.query();
        let number_of = query.terms().iter().zip(0..).map(|(term, number)| (term.as_str(), number)).collect();
        let mut part_of = vec![None; query.terms().len()];
        let mut parts = Vec::with_capacity(question.parts().len());
        for (part_number, part) in question.parts().iter().enumerate() {
            for clause in query.clauses().get(part.clauses.clone()).unwrap_or_default() {
                if let Clause::Word(term) = clause
                    && let Some(slot) = part_of.get_mut(*term)
                {
                    *slot = Some(part_number);
                }
            }
            parts.push(ScoredPart::new(part, query, stats));
        }
        let has_phrases = parts.iter().any(|part| matches!(part.kind, PartKind::Phrase(_)));
        PartScorer { parts, number_of, part_of, has_phrases, average_length: stats.average_doc_length() }
    }

    /// The average weight of the parts.
    fn average_weight(&self) -> f32 {
        self.parts.iter().map(|part| part.weight).sum::<f32>() / self.parts.len().max(1) as f32
    }

    fn score(&self, text: &str) -> PartScores {
        let label_end = text.find(": ").filter(|end| *end <= LABEL_BYTES).unwrap_or_default();
        let mut counts = vec![0_u32; self.parts.len()];
        let (mut length, mut numbers, mut has_label) = (0, Vec::new(), false);
        let mut scanner = WordScanner::new(text);
        while scanner.advance() {
            let word = scanner.word();
            let number = self.number_of.get(word).copied().unwrap_or(OTHER_WORD);
            length += u32::from(word.len() <= WORD_BYTES);
            if self.has_phrases {
                numbers.push(number);
            }
            if let Some(part) = self.part_of.get(number as usize).copied().flatten()
                && let Some(count) = counts.get_mut(part)
            {
                *count += 1;
                has_label |= scanner.span().end <= label_end;
            }
            for (part, count) in self.parts.iter().zip(&mut counts) {
                if let PartKind::Prefix(prefix) = part.kind
                    && word.starts_with(prefix)
                {
                    *count = 1;
                }
            }
        }
        let parts = self.parts.iter().zip(counts).map(|(part, count)| {
            let count = match &part.kind {
                PartKind::Phrase(phrase) => {
                    numbers.windows(phrase.len()).filter(|window| window == phrase).count() as u32
                }
                PartKind::Word | PartKind::Prefix(_) => count,
            };
            match part.kind {
                _ if count == 0 => 0.0,
                PartKind::Prefix(_) => part.weight,
                _ => bm25::score_short_text(part.weight, count, length, self.average_length),
            }
        });
        PartScores { parts: parts.collect(), has_label }
    }
}

impl<'a> ScoredPart<'a> {
    fn new(part: &Part, query: &'a super::query::Query, stats: &TermStats) -> ScoredPart<'a> {
        match query.clauses().get(part.clauses.start) {
            Some(Clause::Word(term)) => ScoredPart { kind: PartKind::Word, weight: stats.idf(*term) },
            Some(Clause::Phrase(terms)) => ScoredPart {
                kind: PartKind::Phrase(terms.iter().map(|term| *term as u32).collect()),
                weight: terms.iter().map(|term| stats.idf(*term)).sum(),
            },
            // As in a search by words, a prefix scores one, whatever words begin with it.
            Some(Clause::Prefix(prefix)) => ScoredPart { kind: PartKind::Prefix(prefix), weight: 1.0 },
            None => ScoredPart { kind: PartKind::Word, weight: 0.0 },
        }
    }
}
