//! A list of immutable memory segments, so that a search can add the nodes that it has read without copying
//! segments that other searches use.
//!
//! A segment that is not much larger than the next one is merged with it. So there are only a few, and each node is
//! copied only a few times.

use std::collections::HashMap;
use std::sync::Arc;

use super::bm25::TermStats;
use super::docs::Doc;
use super::filter::Filter;
use super::memory_segment::MemorySegment;
use super::query::Query;

/// Nodes by ascending id, oldest segment first. Cloning costs a few reference counts.
#[derive(Clone, Default)]
pub(crate) struct MemorySegments {
    segments: Vec<Arc<MemorySegment>>,
}

impl MemorySegments {
    pub fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.len()).sum()
    }

    /// The bytes of the texts.
    pub fn bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.bytes()).sum()
    }

    /// Adds nodes whose ids are above all others.
    pub fn push(&mut self, docs: &[Doc]) {
        if docs.is_empty() {
            return;
        }
        let mut newest = MemorySegment::default();
        docs.iter().for_each(|doc| newest.push(doc));
        while let Some(older) = self.segments.pop_if(|older| older.len() <= 2 * newest.len()) {
            let mut merged = Arc::unwrap_or_clone(older);
            merged.append(&newest);
            newest = merged;
        }
        self.segments.push(Arc::new(newest));
    }

    pub fn remove(&mut self, id: u64) {
        if let Some(segment) = self.segments.iter_mut().find(|segment| segment.contains(id)) {
            Arc::make_mut(segment).remove(id);
        }
    }

    /// Calls `on_word` for each word that begins with one of the prefixes.
    pub fn words_with_prefixes(&self, prefixes: &[String], on_word: &mut dyn FnMut(&str)) {
        self.segments.iter().for_each(|segment| segment.words_with_prefixes(prefixes, on_word));
    }

    /// The segments' part of the statistics for these words.
    pub fn stats(&self, terms: &[String]) -> TermStats {
        let mut stats = TermStats { doc_freq: vec![0; terms.len()], ..TermStats::default() };
        self.segments.iter().for_each(|segment| stats.add(&segment.stats(terms)));
        stats
    }

    /// Calls `on_match` for each node that matches any clause, with its rounded score by the statistics of all
    /// nodes.
    pub fn scan(&self, query: &Query, stats: &TermStats, filter: &Filter, on_hit: &mut dyn FnMut(u64, f32)) {
        self.segments.iter().for_each(|segment| segment.scan(query, stats, filter, on_hit));
    }

    /// For those of the nodes that are in a segment, which clauses of the query they match.
    pub fn matched_clauses(&self, query: &Query, ids: &[u64]) -> HashMap<u64, Vec<bool>> {
        let mut matched = HashMap::new();
        if !ids.is_empty() {
            self.segments.iter().for_each(|segment| matched.extend(segment.matched_clauses(query, ids)));
        }
        matched
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn doc(id: u64) -> Doc {
        let content = format!("word{} common {}", id % 7, "again ".repeat(id as usize % 4));
        Doc { id, event_type: 0, session_id: 0, created_at: 0, content, vector: None }
    }

    proptest! {
        #[test]
        fn merged_segments_equal_one_segment(pages in prop::collection::vec(0u64..20, 0..40), deleted_ids in prop::collection::vec(0u64..300, 0..9)) {
            let (mut segments, mut expected, mut next) = (MemorySegments::default(), MemorySegment::default(), 0);
            let mut earlier_clones = Vec::new();
            for page in pages {
                let docs: Vec<Doc> = (next..next + page).map(doc).collect();
                next += page;
                segments.push(&docs);
                docs.iter().for_each(|doc| expected.push(doc));
                earlier_clones.push((segments.clone(), segments.len()));
            }
            for id in deleted_ids {
                segments.remove(id);
                expected.remove(id);
            }
            prop_assert!(segments.segments.len() <= 12);
            prop_assert!(earlier_clones.iter().all(|(earlier, len)| earlier.len() == *len));
            prop_assert_eq!((segments.len(), segments.bytes()), (expected.len(), expected.bytes()));
            let query = Query::parse("word3 again \"common again\" wor*").unwrap();
            let stats = expected.stats(query.terms());
            prop_assert_eq!(&segments.stats(query.terms()), &stats);
            let (mut from_segments, mut from_expected) = (Vec::new(), Vec::new());
            segments.scan(&query, &stats, &Filter::default(), &mut |id, score| from_segments.push((id, score)));
            expected.scan(&query, &stats, &Filter::default(), &mut |id, score| from_expected.push((id, score)));
            prop_assert_eq!(from_segments, from_expected);
            let ids: Vec<u64> = (0..300).collect();
            prop_assert_eq!(segments.matched_clauses(&query, &ids), expected.matched_clauses(&query, &ids));
        }
    }
}
