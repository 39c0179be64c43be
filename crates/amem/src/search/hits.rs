//! The results of searches.

use quad_core::{Error, Result};

use super::limits::{MAX_OFFSET, PAGE_HITS};

/// Which part of the hits to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The number of hits to skip: [`TextPage::next_offset`] of the previous page.
    pub offset: usize,
    /// The maximum number of hits.
    pub limit: usize,
}

impl Page {
    pub(crate) fn validated(self) -> Result<Page> {
        if self.limit == 0 || self.limit > PAGE_HITS {
            return Err(Error::bad_input(format!(
                "A page of hits has from 1 to {PAGE_HITS} entries, not {}",
                self.limit
            ))
            .hint(format!("Give a limit from 1 to {PAGE_HITS}")));
        }
        if self.offset >= MAX_OFFSET {
            return Err(Error::bad_input(format!("A search is read up to its {MAX_OFFSET}th hit"))
                .hint("Search for more words, or filter by type, session or time"));
        }
        Ok(self)
    }
}

/// A hit of a text search.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHit {
    /// The node.
    pub id: u64,
    /// The BM25 score.
    pub score: f32,
    /// The words, "phrases" and prefixes* of the query that the node contains.
    pub matched: Vec<String>,
}

/// A page of hits, best first, ties by the lower id.
#[derive(Clone, Debug, PartialEq)]
pub struct TextPage {
    /// The hits.
    pub hits: Vec<TextHit>,
    /// The offset of the next page, if there is one.
    pub next_offset: Option<usize>,
}

/// A hit of a similarity search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimilarHit {
    /// The node.
    pub id: u64,
    /// The cosine, −1 to 1.
    pub similarity: f32,
}

/// A hit of a hybrid search.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedHit {
    /// The node.
    pub id: u64,
    /// Its score with the nodes beside it; never more than the score of the hit before.
    pub score: f64,
    /// The BM25 score by its own words, if it contains any of the question's.
    pub text_score: Option<f32>,
    /// The cosine, if the text is similar to the question.
    pub similarity: Option<f32>,
    /// The words of the question that the node contains, in any form.
    pub matched: Vec<String>,
}

/// A node that contains some of a claim's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The node.
    pub id: u64,
    /// The BM25 score.
    pub score: f32,
    /// The share of the claim's words that it contains, 0 to 1, weighted by rarity.
    pub coverage: f32,
    /// The claim's words that it contains.
    pub matched: Vec<String>,
    /// The claim's words that it lacks.
    pub missing: Vec<String>,
}

/// How far evidence supports a claim. Whether the node was superseded is decided by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grounding {
    /// One node contains nearly all of it.
    Verified,
    /// One node contains a part of it.
    Partial,
    /// No node does.
    Ungrounded,
}

impl Grounding {
    /// The coverage from which a claim counts as verified: one significant word in five may be missing.
    pub const VERIFIED_COVERAGE: f32 = 0.8;

    /// The grounding for the best coverage; less than `threshold` counts as ungrounded.
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
