//! BM25 with k1 = 1.2 and b = 0.75, computed exactly as the text index does it, so that a node has the same score
//! whether it is in the index or not. The length of a text is rounded as in the index: exact up to 40 words, then
//! in steps of about a sixteenth.

use tantivy::fieldnorm::FieldNormReader;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Scores are rounded to this step, so that sums of the same numbers in another order still tie.
const SCORE_STEP: f32 = 1.0 / 8_192.0;

/// A score for comparison and output.
pub(crate) fn round_score(score: f32) -> f32 {
    (score / SCORE_STEP).round() * SCORE_STEP
}

/// The lowest unrounded score that may still round to `threshold`.
pub(crate) fn lower_bound(threshold: f32) -> f32 {
    threshold - SCORE_STEP
}

/// The statistics over all nodes that BM25 needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TermStats {
    /// The number of nodes.
    pub docs: u64,
    /// The number of words in all nodes.
    pub total_tokens: u64,
    /// For each term of the query, the number of nodes that contain it.
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

    /// The inverse document frequency of a term: higher for rarer terms.
    pub fn idf(&self, term: usize) -> f32 {
        idf(self.doc_freq.get(term).copied().unwrap_or_default(), self.docs)
    }

    /// The inverse document frequency of a term that no node contains.
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

/// The score of a node for a word or phrase that occurs `term_freq` times, given its (summed) idf.
pub(crate) fn score(idf: f32, term_freq: u32, doc_length: u32, average_doc_length: f32) -> f32 {
    let rounded_length = FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(doc_length));
    let norm = K1 * (1.0 - B + B * rounded_length as f32 / average_doc_length);
    let term_freq = term_freq as f32;
    idf * (1.0 + K1) * (term_freq / (term_freq + norm))
}

/// The influence of the length on the score of a hit beside others. Half, since a longer memory says more; BM25 was
/// made for pages, which repeat themselves.
const SHORT_TEXT_B: f32 = 0.5;

/// The score of a node among the best hits, by the exact length of its text.
pub(crate) fn score_short_text(idf: f32, term_freq: u32, doc_length: u32, average_doc_length: f32) -> f32 {
    let norm = K1 * (1.0 - SHORT_TEXT_B + SHORT_TEXT_B * doc_length as f32 / average_doc_length);
    let term_freq = term_freq as f32;
    idf * (1.0 + K1) * (term_freq / (term_freq + norm))
}
