//! What searches answer.

use quad_core::{Error, Result};

use super::limits::{MAX_OFFSET, PAGE_HITS};

/// Which part of the hits is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many hits to skip: what [`TextPage::next_offset`] said.
    pub offset: usize,
    /// How many to give.
    pub limit: usize,
}

impl Page {
    pub(crate) fn validated(self) -> Result<Page> {
        if self.limit == 0 || self.limit > PAGE_HITS {
            return Err(Error::bad_input(format!(
                "A page of hits has from 1 to {PAGE_HITS} entries, not {}",
                self.limit
            ))
            .hint("Choose another limit"));
        }
        if self.offset >= MAX_OFFSET {
            return Err(Error::bad_input(format!("A search is read up to its {MAX_OFFSET}th hit"))
                .hint("Search for more words, or filter by type, session or time"));
        }
        Ok(self)
    }
}

/// A node with the query's words.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHit {
    /// The node.
    pub id: u64,
    /// Its BM25 score.
    pub score: f32,
    /// The words, "phrases" and prefixes* of the query that it has.
    pub matched: Vec<String>,
}

/// Some hits, the best first, ties by the lower id.
#[derive(Clone, Debug, PartialEq)]
pub struct TextPage {
    /// The hits.
    pub hits: Vec<TextHit>,
    /// Where the next page begins, if there is one.
    pub next_offset: Option<usize>,
}

/// A node that is like the probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarHit {
    /// The node.
    pub id: u64,
    /// The cosine, −1 to 1.
    pub similarity: f32,
}

/// A node that two searches found, or one.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedHit {
    /// The node.
    pub id: u64,
    /// The sum of 1 / (60 + rank) over the lists that have it.
    pub score: f64,
    /// Its BM25 score, if it has any of the words.
    pub text_score: Option<f32>,
    /// Its cosine, if it is among the most alike.
    pub similarity: Option<f32>,
    /// The words of the query that it has.
    pub matched: Vec<String>,
}

impl FusedHit {
    pub(crate) fn new(id: u64) -> FusedHit {
        FusedHit { id, score: 0.0, text_score: None, similarity: None, matched: Vec::new() }
    }
}

/// A node that says some of what a claim says.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The node.
    pub id: u64,
    /// Its BM25 score.
    pub score: f32,
    /// The share of the claim's words that it has, 0 to 1, each word counting by how rare it is.
    pub coverage: f32,
    /// The claim's words that it has.
    pub matched: Vec<String>,
    /// The claim's words that it lacks.
    pub missing: Vec<String>,
}

/// How far evidence carries a claim. Whether the node was superseded is for the graph to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grounding {
    /// One node says nearly all of it.
    Verified,
    /// One node says a part of it.
    Partial,
    /// No node does.
    Ungrounded,
}

impl Grounding {
    /// The coverage from which a claim counts as verified: one telling word in five may be put in other words.
    pub const VERIFIED_COVERAGE: f32 = 0.8;

    /// By the best coverage, if less than `threshold` counts as nothing.
    pub fn from_coverage(coverage: f32, threshold: f32) -> Grounding {
        if coverage < threshold || coverage == 0.0 {
            Grounding::Ungrounded
        } else if coverage < Grounding::VERIFIED_COVERAGE {
            Grounding::Partial
        } else {
            Grounding::Verified
        }
    }
}
