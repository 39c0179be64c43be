//! BM25 with k1 = 1.2 and b = 0.75, the same to the last step as the text index computes it, so that a node has one score
//! whether it is in the index yet or not. A text's length is rounded as the index does it: exact up to 40 words, then in
//! steps of about a sixteenth.

use tantivy::fieldnorm::FieldNormReader;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Scores are rounded to this, so that two paths that add the same numbers in another order agree on ties.
const STEP: f32 = 1.0 / 8_192.0;

/// A score as it is compared and shown.
pub(crate) fn rounded(score: f32) -> f32 {
    (score / STEP).round() * STEP
}

/// The greatest score that may still round to something below `floor`: all that is above must be looked at.
pub(crate) fn just_below(floor: f32) -> f32 {
    floor - STEP
}

/// What BM25 needs to know of all nodes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Nodes.
    pub docs: u64,
    /// Words of all nodes.
    pub words: u64,
    /// For each term of the query, the nodes that have it.
    pub having: Vec<u64>,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.docs += other.docs;
        self.words += other.words;
        self.having.resize(self.having.len().max(other.having.len()), 0);
        for (sum, more) in self.having.iter_mut().zip(&other.having) {
            *sum += more;
        }
    }

    /// How much a term tells.
    pub fn idf(&self, term: usize) -> f32 {
        idf(self.having.get(term).copied().unwrap_or_default(), self.docs)
    }

    /// How much a term tells that no node has.
    pub fn idf_most(&self) -> f32 {
        idf(0, self.docs)
    }

    pub fn average_words(&self) -> f32 {
        self.words as f32 / self.docs.max(1) as f32
    }
}

fn idf(having: u64, docs: u64) -> f32 {
    let without = docs.saturating_sub(having) as f32;
    (1.0 + (without + 0.5) / (having as f32 + 0.5)).ln()
}

/// What one node gets for a word or phrase that it has `times` times, if the summed idf is `idf`.
pub(crate) fn score(idf: f32, times: u32, words: u32, average_words: f32) -> f32 {
    let length = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(words));
    let norm = K1 * (1.0 - B + B * length as f32 / average_words);
    let times = times as f32;
    idf * (1.0 + K1) * (times / (times + norm))
}
