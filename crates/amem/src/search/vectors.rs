//! One tenant's vectors: read from the nodes at the first vector search, then kept up by every later one.
//!
//! There are two kinds, which are never compared with each other: each text's built-in embedding, and what callers gave
//! from models of their own. A query in words is answered from the first, a query by vector from the second.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::mpsc::{self, TrySendError};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;

use quad_core::{Error, Result};

use super::best::{Best, Scored};
use super::corpus::{Corpus, Doc};
use super::embedder;
use super::filter::Filter;
use super::limits::{PAGE_DOCS, PAGE_ERASED, SCAN_THREADS};
use super::matrix::Matrix;
use super::vector::Vector;

/// Which vectors a probe is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// The built-in embeddings of the texts.
    Embedded,
    /// The vectors that callers gave.
    Given,
}

/// A tenant's vectors, shared by all searches.
pub(crate) struct Vectors {
    /// Held by whoever reads new nodes, so that two do not embed the same ones.
    growing: Mutex<()>,
    held: RwLock<Held>,
    limit: usize,
}

#[derive(Default)]
struct Held {
    embedded: Matrix,
    given: Matrix,
    /// The last node that was read.
    read_to: Option<u64>,
    /// Up to which mark forgotten nodes were dropped.
    mark: Option<i64>,
    /// Forgotten nodes that were not read yet: a search in an older snapshot may still bring them.
    erased_ahead: BTreeSet<u64>,
}

impl Vectors {
    /// None yet; at most `limit` of a kind are held.
    pub fn new(limit: usize) -> Vectors {
        Vectors { growing: Mutex::default(), held: RwLock::default(), limit }
    }

    /// How many rows are in memory.
    pub fn rows(&self) -> usize {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.embedded.len() + held.given.len()
    }

    /// The best `limit` rows by cosine among those that pass the filter.
    pub fn search(
        &self,
        corpus: &mut dyn Corpus,
        space: Space,
        probe: &Vector,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Scored>> {
        let all_held = self.catch_up(corpus)?;
        let mut best = Best::new(limit);
        let beyond = {
            let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
            let matrix = match space {
                Space::Embedded => &held.embedded,
                Space::Given => &held.given,
            };
            matrix.scan(probe, filter, &mut best);
            (!all_held).then_some(held.read_to)
        };
        if let Some(after) = beyond {
            scan_beyond(corpus, after, Comparison { space, probe, filter }, &mut best)?;
        }
        Ok(best.into_sorted())
    }

    /// Reads what was added and forgotten since the last search. Says whether all nodes are in memory.
    fn catch_up(&self, corpus: &mut dyn Corpus) -> Result<bool> {
        let (read_to, mark, full) = self.position();
        let mut all_held = !full;
        if !full && !corpus.after(read_to, 1)?.is_empty() {
            let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                let (read_to, _, full) = self.position();
                let wanted = PAGE_DOCS.min(self.limit.saturating_sub(self.rows_of_the_fuller()));
                if full || wanted == 0 {
                    all_held = false;
                    break;
                }
                let docs = corpus.after(read_to, wanted)?;
                let last = docs.len() < wanted;
                // Embedding is the work; it happens before the lock.
                let rows: Vec<(Doc, Option<Vector>, Option<Vector>)> =
                    docs.into_iter().map(rows_of).collect();
                self.held.write().unwrap_or_else(PoisonError::into_inner).append(rows);
                if last {
                    break;
                }
            }
        }
        let mut mark = mark.unwrap_or(i64::MIN);
        loop {
            let erased = corpus.erased(mark, PAGE_ERASED)?;
            let Some((newest, _)) = erased.last() else { return Ok(all_held) };
            mark = *newest;
            self.held.write().unwrap_or_else(PoisonError::into_inner).forget(&erased, self.limit);
            if erased.len() < PAGE_ERASED {
                return Ok(all_held);
            }
        }
    }

    fn rows_of_the_fuller(&self) -> usize {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.embedded.len().max(held.given.len())
    }

    fn position(&self) -> (Option<u64>, Option<i64>, bool) {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        (held.read_to, held.mark, held.is_full(self.limit))
    }
}

impl Held {
    fn is_full(&self, limit: usize) -> bool {
        self.embedded.len() >= limit || self.given.len() >= limit
    }

    fn append(&mut self, rows: Vec<(Doc, Option<Vector>, Option<Vector>)>) {
        for (doc, embedded, given) in rows {
            if self.read_to.is_some_and(|read_to| doc.id <= read_to) {
                continue;
            }
            self.read_to = Some(doc.id);
            if self.erased_ahead.remove(&doc.id) {
                continue;
            }
            if let Some(vector) = embedded {
                self.embedded.push(doc.id, doc.facts(), vector);
            }
            if let Some(vector) = given {
                self.given.push(doc.id, doc.facts(), vector);
            }
        }
        if let Some(read_to) = self.read_to {
            self.erased_ahead = self.erased_ahead.split_off(&read_to);
        }
    }

    fn forget(&mut self, erased: &[(i64, u64)], limit: usize) {
        for (mark, id) in erased {
            self.mark = self.mark.max(Some(*mark));
            self.embedded.erase(*id);
            self.given.erase(*id);
            if self.read_to.is_none_or(|read_to| *id > read_to) && !self.is_full(limit) {
                self.erased_ahead.insert(*id);
            }
        }
    }
}

fn rows_of(mut doc: Doc) -> (Doc, Option<Vector>, Option<Vector>) {
    let embedded = embedder::embed(&doc.content);
    let given = given(&doc);
    // What is kept of a page until it is appended should not include its texts.
    doc.content = String::new();
    doc.vector = None;
    (doc, embedded, given)
}

fn given(doc: &Doc) -> Option<Vector> {
    let numbers = doc.vector.as_deref()?;
    match Vector::from_caller(numbers) {
        Ok(vector) => Some(vector),
        Err(error) => {
            tracing::warn!(node = doc.id, %error, "a stored vector is not used");
            None
        }
    }
}

/// What the nodes that are not in memory are compared with.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    space: Space,
    probe: &'a Vector,
    filter: &'a Filter,
}

impl Comparison<'_> {
    fn offer(self, docs: &[Doc], best: &mut Best) {
        for doc in docs.iter().filter(|doc| self.filter.admits(&doc.facts())) {
            let vector = match self.space {
                Space::Embedded => embedder::embed(&doc.content),
                Space::Given => given(doc),
            };
            if let Some(vector) = vector {
                best.offer(doc.id, self.probe.dot(&vector), ());
            }
        }
    }
}

/// Compares with the nodes that are not in memory, page by page. To embed takes longer than to read, so others help with it; a page
/// that nobody takes at once is done here. Which of them does it makes no difference to what is best.
fn scan_beyond(
    corpus: &mut dyn Corpus,
    after: Option<u64>,
    compared: Comparison<'_>,
    best: &mut Best,
) -> Result<()> {
    let mut docs = corpus.after(after, PAGE_DOCS)?;
    if docs.len() < PAGE_DOCS {
        compared.offer(&docs, best);
        return Ok(());
    }
    let helpers = thread::available_parallelism().map_or(1, NonZero::get).min(SCAN_THREADS) - 1;
    let (sender, pages) = mpsc::sync_channel::<Vec<Doc>>(helpers);
    let (pages, limit) = (Mutex::new(pages), best.limit());
    thread::scope(|scope| {
        let help = || {
            let mut best = Best::new(limit);
            loop {
                let page = pages.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(page) = page else { return best.into_sorted() };
                compared.offer(&page, &mut best);
            }
        };
        // Where no thread can be had there is one to do it.
        let helping: Vec<_> =
            (0..helpers).filter_map(|_| thread::Builder::new().spawn_scoped(scope, help).ok()).collect();
        let mut read = || -> Result<()> {
            loop {
                let next = docs.last().map(|last| last.id).filter(|_| docs.len() == PAGE_DOCS);
                if let Err(TrySendError::Full(page) | TrySendError::Disconnected(page)) =
                    sender.try_send(std::mem::take(&mut docs))
                {
                    compared.offer(&page, best);
                }
                match next {
                    Some(next) => docs = corpus.after(Some(next), PAGE_DOCS)?,
                    None => return Ok(()),
                }
            }
        };
        let read = read();
        drop(sender);
        for helper in helping {
            let found = helper.join().map_err(|_| Error::internal("a comparison of vectors panicked"))?;
            found.into_iter().for_each(|hit| best.offer(hit.id, hit.score, ()));
        }
        read
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::Nodes;
    use super::*;

    fn ids(found: &[Scored]) -> Vec<u64> {
        found.iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn an_old_snapshot_does_not_bring_a_forgotten_node_back() {
        let mut nodes = Nodes::default();
        nodes.add("first");
        let mut old = nodes.clone();
        old.add("second thing");
        nodes.add("second thing");
        nodes.forget(1);
        let vectors = Vectors::new(100);
        let probe = embedder::embed("second").unwrap();
        let search = |nodes: &mut Nodes| {
            ids(&vectors.search(nodes, Space::Embedded, &probe, &Filter::default(), 10).unwrap())
        };
        assert_eq!(search(&mut nodes), [0]);
        assert_eq!(search(&mut old), [0]);
    }

    #[test]
    fn given_vectors_are_a_space_of_their_own() {
        let mut nodes = Nodes::default();
        nodes.add("text only");
        nodes.add_with_vector("text and vector", vec![1.0; 128]);
        nodes.add_with_vector("a vector of the wrong length", vec![1.0; 3]);
        let vectors = Vectors::new(100);
        let probe = Vector::from_caller(&[2.0; 128]).unwrap();
        let found = vectors.search(&mut nodes, Space::Given, &probe, &Filter::default(), 10).unwrap();
        assert_eq!(ids(&found), [1]);
        assert!((found[0].score - 1.0).abs() < 1e-6);
        let text = embedder::embed("vector").unwrap();
        let found = vectors.search(&mut nodes, Space::Embedded, &text, &Filter::default(), 10).unwrap();
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn many_pages_beyond_memory_are_compared_as_in_one_loop() {
        let words = ["alpha", "beta", "gamma", "delta", "alphabet", "betatron", "deltoid"];
        let mut nodes = Nodes::default();
        for number in 0..5 * PAGE_DOCS + 7 {
            nodes.add(&format!("{} {}", words[number % 7], words[number / 7 % 7]));
        }
        let probe = embedder::embed("alpha deltoid").unwrap();
        let score = |doc: &Doc| probe.dot(&embedder::embed(&doc.content).unwrap());
        let mut plain: Vec<(u64, f32)> = nodes.docs().map(|doc| (doc.id, score(doc))).collect();
        plain.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for held in [0, 1, PAGE_DOCS, 3 * PAGE_DOCS + 1] {
            let vectors = Vectors::new(held);
            let found = vectors.search(&mut nodes, Space::Embedded, &probe, &Filter::default(), 600).unwrap();
            let found: Vec<(u64, f32)> = found.iter().map(|hit| (hit.id, hit.score)).collect();
            assert_eq!(found, plain[..600], "{held} held");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        /// Whatever fits into memory, and in whatever order nodes come and go, the answer is that of a fresh scan.
        #[test]
        fn memory_and_database_agree(
            steps in prop::collection::vec((0u8..4, 0usize..40), 1..120),
            limit in 0usize..40,
        ) {
            let words = ["alpha", "beta", "gamma", "delta", "alphabet", "betatron"];
            let vectors = Vectors::new(limit);
            let mut nodes = Nodes::default();
            let probe = embedder::embed("alpha beta").unwrap();
            for (step, number) in steps {
                match step {
                    0 | 1 => nodes.add(&format!("{} {}", words[number % 6], words[number / 6 % 6])),
                    2 => nodes.forget(number as u64),
                    _ => {
                        let found =
                            vectors.search(&mut nodes, Space::Embedded, &probe, &Filter::default(), 7).unwrap();
                        let mut plain: Vec<(u64, f32)> = nodes
                            .docs()
                            .map(|doc| (doc.id, probe.dot(&embedder::embed(&doc.content).unwrap())))
                            .collect();
                        plain.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                        plain.truncate(7);
                        let found: Vec<(u64, f32)> = found.iter().map(|hit| (hit.id, hit.score)).collect();
                        prop_assert_eq!(found, plain);
                    }
                }
            }
        }
    }
}
