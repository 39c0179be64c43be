//! Finding nodes by their words, by likeness, or by both.
//!
//! The [`Engine`] knows nodes only as a [`Corpus`]: ids that grow, texts that never change, and a list of what was
//! forgotten. Everything that it keeps, on disk or in memory, is derived from that, can be thrown away at any moment, and
//! is never trusted further than it says it reaches: each search reads from the database what is newer.

pub mod corpus;
pub mod embedder;
pub mod engine;
pub mod filter;
pub mod hits;
pub mod limits;
pub mod query;
pub mod vector;

mod best;
mod bm25;
mod index;
mod layers;
mod matrix;
mod ranking;
mod stamp;
mod tail;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod upkeep;
mod vectors;
mod word_stream;
mod words;

pub use corpus::{PageRequest, DocSnapshot, Doc, DocPage, DocSource};
pub use engine::{Engine, SimilarityQuery};
pub use filter::{DocMeta, Filter};
pub use hits::{Evidence, FusedHit, Grounding, Page, SimilarHit, TextHit, TextPage};
pub use query::Query;
pub use vector::Vector;
