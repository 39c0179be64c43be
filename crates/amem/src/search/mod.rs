//! Search: finds nodes by their words, by similarity, or by both.
//!
//! The [`Engine`] knows nodes only as a [`DocSnapshot`]: ids that grow, texts that never change, and a list of
//! deleted ids. Everything that it stores on disk or caches in memory is derived from that and can be deleted at
//! any time. Each index and cache records up to which node it is complete; each search reads newer nodes from the
//! database.

pub mod docs;
pub mod embedder;
pub mod engine;
pub mod filter;
pub mod hits;
pub mod limits;
pub mod query;
pub mod vector;

mod background_indexer;
mod bm25;
mod context_ranking;
mod index;
mod index_stat;
mod language;
mod matrix;
mod memory_segment;
mod memory_segments;
mod question;
mod ranking;
mod spelling;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text_index;
mod tokenizer;
mod top_k;
mod user_vectors;
mod vector_cache;
mod words;

pub use docs::{Doc, DocPage, DocSnapshot, DocSource, PageRequest, SessionPlace};
pub use engine::{Engine, SimilarityQuery};
pub use filter::{DocMeta, Filter};
pub use hits::{Evidence, FusedHit, Grounding, Page, SimilarHit, TextHit, TextPage};
pub use query::Query;
pub use vector::Vector;
