//! BM25 with k1 = 1.2 and b = 0.75, the same to the last step as the text index computes it, so that a node has one score
//! whether it is in the index yet or not. A text's length is rounded as the index does it: exact up to 40 words, then in
//! steps of about a sixteenth.

use tantivy::fieldnorm::FieldNormReader;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Scores are rounded to this, so that two paths that add the same numbers in another order agree on ties.
const SCORE_STEP: f32 = 1.0 / 8_192.0;

/// A score as it is compared and shown.
pub(crate) fn round_score(score: f32) -> f32 {
    (score / SCORE_STEP).round() * SCORE_STEP
}

/// The greatest score that may still round to something below `floor`: all that is above must be looked at.
pub(crate) fn lower_bound(threshold: f32) -> f32 {
    threshold - SCORE_STEP
}

/// What BM25 needs to know of all nodes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TermStats {
    /// Nodes.
    pub docs: u64,
    /// Words of all nodes.
    pub total_tokens: u64,
    /// For each term of the query, the nodes that have it.
    pub doc_freq: Vec<u64>,
}

impl TermStats {
    pub fn add(&mut self, other: &TermStats) {
        self.docs += other.docs;
        self.total_tokens += other.total_tokens;
        self.doc_freq.resize(self.doc_freq.len().max(other.doc_freq.len()), 0);
        for (sum, more) in self.doc_freq.iter_mut().zip(&other.doc_freq) {
            *sum += more;
        }
    }

    /// How much a term tells.
    pub fn idf(&self, term: usize) -> f32 {
        idf(self.doc_freq.get(term).copied().unwrap_or_default(), self.docs)
    }

    /// How much a term tells that no node has.
    pub fn max_idf(&self) -> f32 {
        idf(0, self.docs)
    }

    pub fn average_doc_length(&self) -> f32 {
        self.total_tokens as f32 / self.docs.max(1) as f32
    }
}

fn idf(doc_freq: u64, docs: u64) -> f32 {
    let without = docs.saturating_sub(doc_freq) as f32;
    (1.0 + (without + 0.5) / (doc_freq as f32 + 0.5)).ln()
}

/// What one node gets for a word or phrase that it has `times` times, if the summed idf is `idf`.
pub(crate) fn score(idf: f32, term_freq: u32, doc_length: u32, average_doc_length: f32) -> f32 {
    let rounded_length = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(doc_length));
    let norm = K1 * (1.0 - B + B * rounded_length as f32 / average_doc_length);
    let term_freq = term_freq as f32;
    idf * (1.0 + K1) * (term_freq / (term_freq + norm))
}
