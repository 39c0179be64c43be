//! One tenant's vectors: loaded at the first similarity search, then updated by every later one.
//!
//! There are two kinds, which are never compared with each other: the built-in embedding of each text, and the
//! vectors that callers supplied from models of their own. A query by text uses the first kind, a query by vector
//! the second.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::mpsc::{self, TrySendError};
use std::sync::{Mutex, RwLock};
use std::thread;

use quad_core::lock::{MutexExt as _, RwLockExt as _};
use quad_core::{Error, Result};

use super::docs::{Doc, DocSnapshot};
use super::embedder;
use super::filter::Filter;
use super::limits::{PAGE_DELETIONS, PAGE_DOCS, SCAN_THREADS};
use super::matrix::Matrix;
use super::top_k::{ScoredDoc, TopK};
use super::user_vectors::{UserVector, UserVectors};
use super::vector::Vector;

/// The vector to compare with, and the kind of vectors that it is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum QueryVector<'a> {
    /// The built-in embeddings of the texts.
    BuiltIn(&'a Vector),
    /// The vectors that callers supplied.
    User(&'a UserVector),
}

/// A tenant's vectors, shared by all searches.
pub(crate) struct VectorCache {
    /// Held while new nodes are read, so that two searches do not embed the same ones.
    fill_lock: Mutex<()>,
    state: RwLock<CacheState>,
    max_rows_per_space: usize,
}

#[derive(Default)]
struct CacheState {
    built_in: Matrix,
    user: UserVectors,
    /// The last node that was read.
    last_read_id: Option<u64>,
    /// The position of the last deletion that was applied.
    deletions_seen: Option<i64>,
    /// Deleted nodes that were not read yet: a search in an older snapshot may still read them.
    pending_deletions: BTreeSet<u64>,
}

impl VectorCache {
    /// An empty cache for at most `max_rows_per_space` rows of each kind.
    pub fn new(max_rows_per_space: usize) -> VectorCache {
        VectorCache { fill_lock: Mutex::default(), state: RwLock::default(), max_rows_per_space }
    }

    /// The number of rows in memory; a long vector counts as several.
    pub fn row_count(&self) -> usize {
        let state = self.state.read_unpoisoned();
        state.built_in.len() + state.user.weight()
    }

    /// The best `limit` rows by cosine among those that pass the filter.
    pub fn search(
        &self,
        snapshot: &mut dyn DocSnapshot,
        query: QueryVector<'_>,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<ScoredDoc>> {
        let all_cached = self.read_changes(snapshot)?;
        let mut best = TopK::new(limit);
        let scan_after = {
            let state = self.state.read_unpoisoned();
            match query {
                QueryVector::BuiltIn(vector) => state.built_in.scan(vector, filter, &mut best),
                QueryVector::User(vector) => state.user.scan(vector, filter, &mut best),
            }
            (!all_cached).then_some(state.last_read_id)
        };
        if let Some(after_id) = scan_after {
            scan_uncached(snapshot, after_id, VectorComparison { query, filter }, &mut best)?;
        }
        Ok(best.into_sorted())
    }

    /// Reads the nodes added and deleted since the last search. Returns whether all nodes are cached.
    fn read_changes(&self, snapshot: &mut dyn DocSnapshot) -> Result<bool> {
        let (last_read_id, deletions_seen, full) = self.read_position();
        let mut all_cached = !full;
        if !full && !snapshot.docs_after(last_read_id, 1)?.is_empty() {
            let _fill_guard = self.fill_lock.lock_unpoisoned();
            loop {
                let (last_read_id, _, full) = self.read_position();
                let page_size = PAGE_DOCS.min(self.max_rows_per_space.saturating_sub(self.max_rows()));
                if full || page_size == 0 {
                    all_cached = false;
                    break;
                }
                let docs = snapshot.docs_after(last_read_id, page_size)?;
                let is_last_page = docs.len() < page_size;
                // Embedding takes the time, so it happens before the write lock is taken.
                let rows: Vec<(Doc, Option<Vector>, Option<UserVector>)> =
                    docs.into_iter().map(to_rows).collect();
                self.state.write_unpoisoned().append(rows);
                if is_last_page {
                    break;
                }
            }
        }
        let mut position = deletions_seen.unwrap_or(i64::MIN);
        loop {
            let deleted = snapshot.deleted_after(position, PAGE_DELETIONS)?;
            let Some((newest, _)) = deleted.last() else { return Ok(all_cached) };
            position = *newest;
            self.state.write_unpoisoned().delete(&deleted, self.max_rows_per_space);
            if deleted.len() < PAGE_DELETIONS {
                return Ok(all_cached);
            }
        }
    }

    fn max_rows(&self) -> usize {
        let state = self.state.read_unpoisoned();
        state.built_in.len().max(state.user.weight())
    }

    fn read_position(&self) -> (Option<u64>, Option<i64>, bool) {
        let state = self.state.read_unpoisoned();
        (state.last_read_id, state.deletions_seen, state.is_full(self.max_rows_per_space))
    }
}

impl CacheState {
    fn is_full(&self, limit: usize) -> bool {
        self.built_in.len() >= limit || self.user.weight() >= limit
    }

    fn append(&mut self, rows: Vec<(Doc, Option<Vector>, Option<UserVector>)>) {
        for (doc, built_in, user) in rows {
            if self.last_read_id.is_some_and(|read_to| doc.id <= read_to) {
                continue;
            }
            self.last_read_id = Some(doc.id);
            if self.pending_deletions.remove(&doc.id) {
                continue;
            }
            if let Some(vector) = built_in {
                self.built_in.push(doc.id, doc.meta(), vector);
            }
            if let Some(vector) = user {
                self.user.push(doc.id, doc.meta(), vector);
            }
        }
        if let Some(last_read_id) = self.last_read_id {
            self.pending_deletions = self.pending_deletions.split_off(&last_read_id);
        }
    }

    fn delete(&mut self, deleted: &[(i64, u64)], limit: usize) {
        for (position, id) in deleted {
            self.deletions_seen = self.deletions_seen.max(Some(*position));
            self.built_in.delete(*id);
            self.user.delete(*id);
            if self.last_read_id.is_none_or(|read_to| *id > read_to) && !self.is_full(limit) {
                self.pending_deletions.insert(*id);
            }
        }
    }
}

fn to_rows(mut doc: Doc) -> (Doc, Option<Vector>, Option<UserVector>) {
    let built_in = embedder::embed(&doc.content);
    let user = user_vector(&doc);
    // A queued row does not need its text.
    doc.content = String::new();
    doc.vector = None;
    (doc, built_in, user)
}

fn user_vector(doc: &Doc) -> Option<UserVector> {
    let numbers = doc.vector.as_deref()?;
    match UserVector::new(numbers) {
        Ok(vector) => Some(vector),
        Err(error) => {
            tracing::warn!(node = doc.id, %error, "a stored vector is not used");
            None
        }
    }
}

/// A query for the nodes that are not cached.
#[derive(Clone, Copy)]
struct VectorComparison<'a> {
    query: QueryVector<'a>,
    filter: &'a Filter,
}

impl VectorComparison<'_> {
    fn push_scores(self, docs: &[Doc], best: &mut TopK) {
        for doc in docs.iter().filter(|doc| self.filter.matches(&doc.meta())) {
            let score = match self.query {
                QueryVector::BuiltIn(query) => embedder::embed(&doc.content).map(|vector| query.dot(&vector)),
                QueryVector::User(query) => user_vector(doc).and_then(|vector| query.dot(&vector)),
            };
            if let Some(score) = score {
                best.push(doc.id, score, ());
            }
        }
    }
}

/// Scores the nodes that are not cached, page by page. Embedding takes longer than reading, so helper threads do
/// it; a page that no helper takes at once is scored on this thread. The result does not depend on which thread
/// scores a page.
fn scan_uncached(
    snapshot: &mut dyn DocSnapshot,
    after_id: Option<u64>,
    comparison: VectorComparison<'_>,
    best: &mut TopK,
) -> Result<()> {
    let mut docs = snapshot.docs_after(after_id, PAGE_DOCS)?;
    if docs.len() < PAGE_DOCS {
        comparison.push_scores(&docs, best);
        return Ok(());
    }
    let helper_count = thread::available_parallelism().map_or(1, NonZero::get).min(SCAN_THREADS) - 1;
    let (sender, receiver) = mpsc::sync_channel::<Vec<Doc>>(helper_count);
    let (receiver, limit) = (Mutex::new(receiver), best.limit());
    thread::scope(|scope| {
        let scan_pages = || {
            let mut best = TopK::new(limit);
            loop {
                let page = receiver.lock_unpoisoned().recv();
                let Ok(page) = page else { return best.into_sorted() };
                comparison.push_scores(&page, &mut best);
            }
        };
        // Without helper threads this thread does all the work.
        let handles: Vec<_> = (0..helper_count)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, scan_pages).ok())
            .collect();
        let mut read_pages = || -> Result<()> {
            loop {
                let next = docs.last().map(|last| last.id).filter(|_| docs.len() == PAGE_DOCS);
                if let Err(TrySendError::Full(page) | TrySendError::Disconnected(page)) =
                    sender.try_send(std::mem::take(&mut docs))
                {
                    comparison.push_scores(&page, best);
                }
                match next {
                    Some(next) => docs = snapshot.docs_after(Some(next), PAGE_DOCS)?,
                    None => return Ok(()),
                }
            }
        };
        let read_result = read_pages();
        drop(sender);
        for handle in handles {
            let hits = handle.join().map_err(|_| Error::internal("a comparison of vectors panicked"))?;
            hits.into_iter().for_each(|hit| best.push(hit.id, hit.score, ()));
        }
        read_result
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::TestDocs;
    use super::*;

    fn ids_of(hits: &[ScoredDoc]) -> Vec<u64> {
        hits.iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn old_snapshot_does_not_restore_deleted_doc() {
        let mut nodes = TestDocs::default();
        nodes.add("first");
        let mut old = nodes.clone();
        old.add("second thing");
        nodes.add("second thing");
        nodes.delete(1);
        let vectors = VectorCache::new(100);
        let query = embedder::embed("second").unwrap();
        let search = |nodes: &mut TestDocs| {
            ids_of(&vectors.search(nodes, QueryVector::BuiltIn(&query), &Filter::default(), 10).unwrap())
        };
        assert_eq!(search(&mut nodes), [0]);
        assert_eq!(search(&mut old), [0]);
    }

    #[test]
    fn user_vectors_are_searched_separately() {
        let mut nodes = TestDocs::default();
        nodes.add("text only");
        nodes.add_with_vector("text and vector", vec![1.0; 128]);
        nodes.add_with_vector("a vector of another dimension", vec![1.0; 3]);
        let vectors = VectorCache::new(100);
        let query = UserVector::new(&[2.0; 128]).unwrap();
        let hits = vectors.search(&mut nodes, QueryVector::User(&query), &Filter::default(), 10).unwrap();
        assert_eq!(ids_of(&hits), [1]);
        assert!((hits[0].score - 1.0).abs() < 1e-6);
        let text_query = embedder::embed("vector").unwrap();
        let hits =
            vectors.search(&mut nodes, QueryVector::BuiltIn(&text_query), &Filter::default(), 10).unwrap();
        assert_eq!(hits.len(), 3);
    }

    #[test]
    fn uncached_pages_match_naive_scan() {
        let words = ["alpha", "beta", "gamma", "delta", "alphabet", "betatron", "deltoid"];
        let mut nodes = TestDocs::default();
        for number in 0..5 * PAGE_DOCS + 7 {
            nodes.add(&format!("{} {}", words[number % 7], words[number / 7 % 7]));
        }
        let query = embedder::embed("alpha deltoid").unwrap();
        let score = |doc: &Doc| query.dot(&embedder::embed(&doc.content).unwrap());
        let mut expected: Vec<(u64, f32)> = nodes.docs().map(|doc| (doc.id, score(doc))).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for max_cached in [0, 1, PAGE_DOCS, 3 * PAGE_DOCS + 1] {
            let vectors = VectorCache::new(max_cached);
            let hits =
                vectors.search(&mut nodes, QueryVector::BuiltIn(&query), &Filter::default(), 600).unwrap();
            let actual: Vec<(u64, f32)> = hits.iter().map(|hit| (hit.id, hit.score)).collect();
            assert_eq!(actual, expected[..600], "{max_cached} cached");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        /// The result is that of a fresh scan, whatever fits into the cache and in whatever order nodes are added
        /// and deleted.
        #[test]
        fn cache_and_database_agree(
            steps in prop::collection::vec((0u8..4, 0usize..40), 1..120),
            limit in 0usize..40,
        ) {
            let words = ["alpha", "beta", "gamma", "delta", "alphabet", "betatron"];
            let vectors = VectorCache::new(limit);
            let mut nodes = TestDocs::default();
            let query = embedder::embed("alpha beta").unwrap();
            for (step, number) in steps {
                match step {
                    0 | 1 => nodes.add(&format!("{} {}", words[number % 6], words[number / 6 % 6])),
                    2 => nodes.delete(number as u64),
                    _ => {
                        let hits =
                            vectors.search(&mut nodes, QueryVector::BuiltIn(&query), &Filter::default(), 7).unwrap();
                        let mut expected: Vec<(u64, f32)> = nodes
                            .docs()
                            .map(|doc| (doc.id, query.dot(&embedder::embed(&doc.content).unwrap())))
                            .collect();
                        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                        expected.truncate(7);
                        let actual: Vec<(u64, f32)> = hits.iter().map(|hit| (hit.id, hit.score)).collect();
                        prop_assert_eq!(actual, expected);
                    }
                }
            }
        }
    }
}
