//! The tail as a pile of immutable layers, so that a search can add what it has read without copying what others look at.
//!
//! A layer that is not much larger than the one on top of it is merged with it: there are never more than a handful, and
//! each node is copied only a few times on its way down.

use std::collections::HashMap;
use std::sync::Arc;

use super::bm25::Counts;
use super::corpus::Doc;
use super::filter::Filter;
use super::query::Query;
use super::tail::Tail;

/// Nodes by ascending id, oldest layer first. Cloning it costs a few counters.
#[derive(Clone, Default)]
pub(crate) struct Layers {
    layers: Vec<Arc<Tail>>,
}

impl Layers {
    pub fn len(&self) -> usize {
        self.layers.iter().map(|layer| layer.len()).sum()
    }

    /// Bytes of the texts.
    pub fn bytes(&self) -> usize {
        self.layers.iter().map(|layer| layer.bytes()).sum()
    }

    /// Adds nodes whose ids are above all that are here.
    pub fn push(&mut self, docs: &[Doc]) {
        if docs.is_empty() {
            return;
        }
        let mut top = Tail::default();
        docs.iter().for_each(|doc| top.push(doc));
        while let Some(below) = self.layers.pop_if(|below| below.len() <= 2 * top.len()) {
            let mut merged = Arc::unwrap_or_clone(below);
            merged.append(&top);
            top = merged;
        }
        self.layers.push(Arc::new(top));
    }

    pub fn remove(&mut self, id: u64) {
        if let Some(layer) = self.layers.iter_mut().find(|layer| layer.contains(id)) {
            Arc::make_mut(layer).remove(id);
        }
    }

    /// The nodes' share of the statistics for these words.
    pub fn counts(&self, terms: &[String]) -> Counts {
        let mut counts = Counts { having: vec![0; terms.len()], ..Counts::default() };
        self.layers.iter().for_each(|layer| counts.add(&layer.counts(terms)));
        counts
    }

    /// Offers each node that has any clause, with its rounded score by the statistics of all nodes.
    pub fn scan(&self, query: &Query, counts: &Counts, filter: &Filter, offer: &mut dyn FnMut(u64, f32)) {
        self.layers.iter().for_each(|layer| layer.scan(query, counts, filter, offer));
    }

    /// For those of the nodes that are here, which clauses of the query they have.
    pub fn matched(&self, query: &Query, ids: &[u64]) -> HashMap<u64, Vec<bool>> {
        let mut matched = HashMap::new();
        if !ids.is_empty() {
            self.layers.iter().for_each(|layer| matched.extend(layer.matched(query, ids)));
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
        fn layers_are_one_tail(pages in prop::collection::vec(0u64..20, 0..40), gone in prop::collection::vec(0u64..300, 0..9)) {
            let (mut layers, mut tail, mut next) = (Layers::default(), Tail::default(), 0);
            let mut seen_before = Vec::new();
            for page in pages {
                let docs: Vec<Doc> = (next..next + page).map(doc).collect();
                next += page;
                layers.push(&docs);
                docs.iter().for_each(|doc| tail.push(doc));
                seen_before.push((layers.clone(), layers.len()));
            }
            for id in gone {
                layers.remove(id);
                tail.remove(id);
            }
            prop_assert!(layers.layers.len() <= 12);
            prop_assert!(seen_before.iter().all(|(layers, len)| layers.len() == *len));
            prop_assert_eq!((layers.len(), layers.bytes()), (tail.len(), tail.bytes()));
            let query = Query::parse("word3 again \"common again\" wor*").unwrap();
            let counts = tail.counts(query.terms());
            prop_assert_eq!(&layers.counts(query.terms()), &counts);
            let (mut from_layers, mut from_tail) = (Vec::new(), Vec::new());
            layers.scan(&query, &counts, &Filter::default(), &mut |id, score| from_layers.push((id, score)));
            tail.scan(&query, &counts, &Filter::default(), &mut |id, score| from_tail.push((id, score)));
            prop_assert_eq!(from_layers, from_tail);
            let ids: Vec<u64> = (0..300).collect();
            prop_assert_eq!(layers.matched(&query, &ids), tail.matched(&query, &ids));
        }
    }
}
