//! One tenant's full text: the last commit of the index, the newer nodes in memory segments and, if there are too
//! many for those, the rest read from the database page by page. All three parts are scored with one set of
//! statistics.
//!
//! # Why a search misses nothing
//!
//! Searches share one immutable value, [`SharedState`]. Its invariant: **it has every node up to `last_id`, except
//! those deleted up to position `deletions_seen`.** A search takes the current value and adds to a copy what *its
//! own snapshot* has after that id and that position. It works on the copy only, so concurrent searches cannot
//! change its input, and it sees every node of its snapshot.
//!
//! Afterwards the copy may replace the shared value. Any copy satisfies the invariant, so the choice affects only
//! speed: a copy is taken if the shared value has not changed meanwhile, or if the copy covers more. Two facts make
//! each copy valid:
//!
//! - Ids and deletion positions are assigned in commit order. A snapshot with node 7 has all nodes below it that
//!   are not deleted, and one with deletion 3 has deletions 1 and 2.
//! - A copy is shared only if its snapshot has the deletion at `deletions_seen` of the value it started from. An
//!   older snapshot may still contain a node deleted since. Its own result may show that node, but the copy must
//!   not be shared, since no later search would read that deletion again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use quad_core::Result;
use quad_core::lock::MutexExt as _;
use tantivy::DocAddress;

use super::bm25::TermStats;
use super::docs::DocSnapshot;
use super::filter::Filter;
use super::index::{self, IndexError, IndexSearcher, OpenResult};
use super::index_stat::IndexFileStat;
use super::limits::{MEMORY_OVERRUN, PAGE_DELETIONS, PAGE_DOCS, SYNC_VERIFY_BYTES};
use super::memory_segment::MemorySegment;
use super::memory_segments::MemorySegments;
use super::query::Query;
use super::top_k::{ScoredDoc, TopK};

/// The amount of text beyond the index that triggers a flush.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlushThreshold {
    pub docs: usize,
    pub bytes: usize,
}

impl FlushThreshold {
    pub fn is_reached(&self, docs: usize, bytes: usize) -> bool {
        docs >= self.docs || bytes >= self.bytes
    }

    fn is_overrun(&self, memory: &MemorySegments) -> bool {
        memory.len() >= self.docs * MEMORY_OVERRUN || memory.bytes() >= self.bytes * MEMORY_OVERRUN
    }
}

/// Work for the background indexer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MaintenanceTask {
    /// Write the memory segments into the index, if they are large enough.
    pub flush: bool,
    /// Read the whole index and compare its checksums.
    pub verify: bool,
    /// Rebuild the index, if this is still the commit that was found damaged.
    pub rebuild: Option<IndexFileStat>,
}

impl MaintenanceTask {
    pub fn is_empty(&self) -> bool {
        self == &MaintenanceTask::default()
    }
}

/// A tenant's full text.
pub(crate) struct TextIndex {
    pub folder: PathBuf,
    pub threshold: FlushThreshold,
    state: Mutex<Arc<SharedState>>,
    /// Whether this process has verified the checksums.
    verified: AtomicBool,
    /// The first node id that the index does not have, as far as known; only decides when to flush.
    indexed_up_to: AtomicU64,
}

/// All nodes up to `last_id`: see the module documentation. Cloning it is cheap.
#[derive(Clone)]
struct SharedState {
    /// The file status of the commit in `searcher`, or of the commit that was rejected.
    index_stat: Option<IndexFileStat>,
    /// Whether that commit was rejected as damaged.
    is_corrupt: bool,
    searcher: Option<Arc<IndexSearcher>>,
    /// The nodes above the commit's watermark.
    memory: MemorySegments,
    /// The last node in `memory`, or the last one below the commit's watermark while `memory` is empty.
    last_id: Option<u64>,
    /// Nodes of the commit that were deleted after it.
    deleted: Arc<HashSet<u64>>,
    /// Nodes deleted up to this position are removed from all of this.
    deletions_seen: i64,
}

impl SharedState {
    /// The state of a commit without newer nodes; empty without a commit.
    fn new(searcher: Option<IndexSearcher>, index_stat: Option<IndexFileStat>) -> SharedState {
        let (next_id, deletions_seen) = searcher.as_ref().map_or((0, i64::MIN), |searcher| {
            (searcher.watermark.next_id, searcher.watermark.deletions_seen)
        });
        SharedState {
            index_stat,
            is_corrupt: false,
            searcher: searcher.map(Arc::new),
            memory: MemorySegments::default(),
            last_id: next_id.checked_sub(1),
            deleted: Arc::default(),
            deletions_seen,
        }
    }

    /// The first node id that is not in the commit.
    fn next_id(&self) -> u64 {
        self.searcher.as_ref().map_or(0, |searcher| searcher.watermark.next_id)
    }

    fn is_ahead_of(&self, other: &SharedState) -> bool {
        (self.next_id(), self.last_id, self.deletions_seen)
            > (other.next_id(), other.last_id, other.deletions_seen)
    }

    /// Adds the newer nodes of the snapshot while there is room. Returns whether it has all of them.
    fn read_new_docs(&mut self, snapshot: &mut dyn DocSnapshot, threshold: FlushThreshold) -> Result<bool> {
        loop {
            if threshold.is_overrun(&self.memory) {
                return Ok(false);
            }
            let docs = snapshot.docs_after(self.last_id, PAGE_DOCS)?;
            self.memory.push(&docs);
            self.last_id = docs.last().map(|doc| doc.id).or(self.last_id);
            if docs.len() < PAGE_DOCS {
                return Ok(true);
            }
        }
    }

    /// Removes the nodes that the snapshot has as deleted. Returns whether the snapshot has all deletions known
    /// before.
    fn read_deletions(&mut self, snapshot: &mut dyn DocSnapshot) -> Result<bool> {
        let known_position = self.deletions_seen;
        let mut is_new_enough = known_position == i64::MIN;
        // Reads from the last known position on: if that deletion is missing, the snapshot is an older one.
        let mut after_position = known_position.saturating_sub(1);
        loop {
            let deleted = snapshot.deleted_after(after_position, PAGE_DELETIONS)?;
            for (position, id) in &deleted {
                after_position = *position;
                is_new_enough |= *position == known_position;
                if *position <= known_position {
                    continue;
                }
                self.deletions_seen = *position;
                if *id < self.next_id() {
                    Arc::make_mut(&mut self.deleted).insert(*id);
                } else {
                    self.memory.remove(*id);
                }
            }
            if deleted.len() < PAGE_DELETIONS {
                return Ok(is_new_enough);
            }
        }
    }
}

/// The input of one search; it never changes.
pub(crate) struct TextView {
    state: SharedState,
    /// The node after which the database is read page by page, if `state` does not have all nodes.
    scan_after: Option<Option<u64>>,
    /// Work for the background indexer.
    pub task: MaintenanceTask,
}

/// Where a hit was found, to look up its matched clauses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HitLocation {
    Index(DocAddress),
    Memory,
    Database,
}

impl TextIndex {
    pub fn new(folder: PathBuf, threshold: FlushThreshold) -> TextIndex {
        TextIndex {
            folder,
            threshold,
            state: Mutex::new(Arc::new(SharedState::new(None, None))),
            verified: AtomicBool::new(false),
            indexed_up_to: AtomicU64::new(0),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, Arc<SharedState>> {
        self.state.lock_unpoisoned()
    }

    /// Whether a flush is due if `newest` is the last node.
    pub fn needs_flush(&self, newest: u64) -> bool {
        newest.saturating_sub(self.indexed_up_to.load(Ordering::Relaxed)) >= self.threshold.docs as u64
    }

    /// Records how far the index is complete.
    pub fn set_indexed_up_to(&self, next_id: u64) {
        self.indexed_up_to.fetch_max(next_id, Ordering::Relaxed);
    }

    /// Opens the current state: loads a new commit of the index if there is one, and adds the newer nodes and
    /// deletions of the snapshot.
    pub fn view(&self, snapshot: &mut dyn DocSnapshot) -> Result<TextView> {
        let mut task = MaintenanceTask::default();
        let base = self.lock_state().clone();
        let state = match self.reload_if_changed(&base, snapshot, &mut task)? {
            Some(reloaded) => reloaded,
            None => SharedState::clone(&base),
        };
        self.complete_view(Some(&base), state, snapshot, task)
    }

    /// A view without the index, for a search that has found it damaged.
    pub fn view_without_index(&self, snapshot: &mut dyn DocSnapshot) -> Result<TextView> {
        self.complete_view(None, SharedState::new(None, None), snapshot, MaintenanceTask::default())
    }

    /// Adds the snapshot's newer nodes and deletions, and shares the result if it started from `base`.
    fn complete_view(
        &self,
        base: Option<&Arc<SharedState>>,
        mut state: SharedState,
        snapshot: &mut dyn DocSnapshot,
        mut task: MaintenanceTask,
    ) -> Result<TextView> {
        let is_complete = state.read_new_docs(snapshot, self.threshold)?;
        let is_new_enough = state.read_deletions(snapshot)?;
        let scan_after = (!is_complete).then_some(state.last_id);
        if state.is_corrupt {
            task.rebuild = state.index_stat.clone();
        }
        task.flush |=
            self.threshold.is_reached(state.memory.len().max(state.deleted.len()), state.memory.bytes());
        self.set_indexed_up_to(state.next_id());
        if let Some(base) = base
            && is_new_enough
        {
            self.publish(base, &state);
        }
        Ok(TextView { state, scan_after, task })
    }

    /// Shares a state with later searches, unless another one covers more.
    fn publish(&self, base: &Arc<SharedState>, state: &SharedState) {
        let mut current = self.lock_state();
        if Arc::ptr_eq(&current, base) || state.is_ahead_of(&current) {
            *current = Arc::new(state.clone());
        }
    }

    /// The state of a new commit by this or another process; `None` if the commit of `base` is still the current
    /// one.
    fn reload_if_changed(
        &self,
        base: &SharedState,
        snapshot: &mut dyn DocSnapshot,
        task: &mut MaintenanceTask,
    ) -> Result<Option<SharedState>> {
        // Read before the index is opened: if a commit happens in between, the next search opens it again.
        let index_stat = IndexFileStat::read(&self.folder);
        if base.index_stat == index_stat {
            return Ok(None);
        }
        if !self.verified.load(Ordering::Relaxed) {
            if folder_bytes(&self.folder) > SYNC_VERIFY_BYTES {
                task.verify = true;
            } else if let Err(damage) = index::verify_checksums(&self.folder) {
                return Ok(Some(self.corrupt_state(&damage, index_stat)));
            }
        }
        match IndexSearcher::open(&self.folder) {
            Err(damage) => Ok(Some(self.corrupt_state(&damage, index_stat))),
            Ok(OpenResult::Changed) => Ok(None),
            Ok(OpenResult::NoIndex) => Ok(Some(SharedState::new(None, index_stat))),
            Ok(OpenResult::Ready(searcher)) => {
                if searcher.watermark.matches_database(snapshot)? {
                    self.verified.store(true, Ordering::Relaxed);
                    Ok(Some(SharedState::new(Some(searcher), index_stat)))
                } else {
                    // The index was built from other nodes, or this snapshot is older than its last commit. The
                    // background indexer finds out which; the commit that was open before stays valid.
                    task.verify = true;
                    Ok(None)
                }
            }
        }
    }

    /// A state without an index, until the background indexer has rebuilt it.
    fn corrupt_state(&self, damage: &IndexError, index_stat: Option<IndexFileStat>) -> SharedState {
        tracing::warn!(folder = %self.folder.display(), %damage, "the text index is damaged and will be rebuilt");
        SharedState { is_corrupt: true, ..SharedState::new(None, index_stat) }
    }

    /// Called when a search finds the index damaged; later searches do not use it.
    pub fn disable_index(&self, view: &TextView, damage: &IndexError) {
        let corrupt = self.corrupt_state(damage, view.state.index_stat.clone());
        *self.lock_state() = Arc::new(corrupt);
    }
}

impl TextView {
    /// The number of nodes, including deleted ones that are still in the index; `None` if the view does not have
    /// all nodes.
    pub fn doc_count(&self) -> Option<u64> {
        let indexed_docs = self.state.searcher.as_ref().map_or(0, |searcher| searcher.doc_count());
        self.scan_after.is_none().then_some(indexed_docs + self.state.memory.len() as u64)
    }

    /// Calls `on_word` for each word of any node that begins with one of the prefixes; more than once for some.
    pub fn words_with_prefixes(
        &self,
        snapshot: &mut dyn DocSnapshot,
        prefixes: &[String],
        on_word: &mut dyn FnMut(&str),
    ) -> Result<std::result::Result<(), IndexError>> {
        if let Some(searcher) = &self.state.searcher
            && let Err(damage) = searcher.words_with_prefixes(prefixes, on_word)
        {
            return Ok(Err(damage));
        }
        self.state.memory.words_with_prefixes(prefixes, on_word);
        self.for_each_database_page(snapshot, &mut |segment| segment.words_with_prefixes(prefixes, on_word))?;
        Ok(Ok(()))
    }

    /// The statistics of all nodes for these terms.
    pub fn stats(
        &self,
        snapshot: &mut dyn DocSnapshot,
        terms: &[String],
    ) -> Result<std::result::Result<TermStats, IndexError>> {
        let mut stats = TermStats { doc_freq: vec![0; terms.len()], ..TermStats::default() };
        if let Some(searcher) = &self.state.searcher {
            match searcher.stats(terms) {
                Ok(index_stats) => stats.add(&index_stats),
                Err(damage) => return Ok(Err(damage)),
            }
        }
        stats.add(&self.state.memory.stats(terms));
        self.for_each_database_page(snapshot, &mut |segment| {
            stats.add(&segment.stats(terms));
        })?;
        Ok(Ok(stats))
    }

    /// The statistics without nodes that are only in the database: good enough for weights.
    pub fn approximate_stats(&self, terms: &[String]) -> std::result::Result<TermStats, IndexError> {
        let mut stats = match &self.state.searcher {
            Some(searcher) => searcher.stats(terms)?,
            None => TermStats { doc_freq: vec![0; terms.len()], ..TermStats::default() },
        };
        stats.add(&self.state.memory.stats(terms));
        Ok(stats)
    }

    /// The best `limit` nodes.
    pub fn rank(
        &self,
        snapshot: &mut dyn DocSnapshot,
        query: &Query,
        stats: &TermStats,
        filter: &Filter,
        limit: usize,
    ) -> Result<std::result::Result<Vec<ScoredDoc<HitLocation>>, IndexError>> {
        let mut best = TopK::new(limit);
        if let Some(searcher) = &self.state.searcher {
            match searcher.search(query, stats, filter, &self.state.deleted, limit) {
                Ok(hits) => {
                    for hit in hits {
                        best.push(hit.id, hit.score, HitLocation::Index(hit.location));
                    }
                }
                Err(damage) => return Ok(Err(damage)),
            }
        }
        self.state
            .memory
            .scan(query, stats, filter, &mut |id, score| best.push(id, score, HitLocation::Memory));
        self.for_each_database_page(snapshot, &mut |segment| {
            segment.scan(query, stats, filter, &mut |id, score| best.push(id, score, HitLocation::Database));
        })?;
        Ok(Ok(best.into_sorted()))
    }

    /// For each hit, which clauses it matches.
    pub fn matched_clauses(
        &self,
        snapshot: &mut dyn DocSnapshot,
        query: &Query,
        hits: &[ScoredDoc<HitLocation>],
    ) -> Result<std::result::Result<Vec<Vec<bool>>, IndexError>> {
        let mut addresses = Vec::new();
        let mut memory_ids = Vec::new();
        let mut database_ids = Vec::new();
        for hit in hits {
            match hit.location {
                HitLocation::Index(address) => addresses.push(address),
                HitLocation::Memory => memory_ids.push(hit.id),
                HitLocation::Database => database_ids.push(hit.id),
            }
        }
        let in_index = match &self.state.searcher {
            Some(searcher) if !addresses.is_empty() => match searcher.matched_clauses(query, &addresses) {
                Ok(matched) => matched,
                Err(damage) => return Ok(Err(damage)),
            },
            _ => HashMap::new(),
        };
        let mut database_segment = MemorySegment::default();
        for ids in database_ids.chunks(PAGE_DOCS) {
            snapshot.get(ids)?.iter().for_each(|doc| database_segment.push(doc));
        }
        let in_memory = self.state.memory.matched_clauses(query, &memory_ids);
        let in_database = database_segment.matched_clauses_unsorted(query);
        let matched = hits.iter().map(|hit| match hit.location {
            HitLocation::Index(address) => in_index.get(&address).cloned().unwrap_or_default(),
            HitLocation::Memory => in_memory.get(&hit.id).cloned().unwrap_or_default(),
            HitLocation::Database => in_database.get(&hit.id).cloned().unwrap_or_default(),
        });
        Ok(Ok(matched.collect()))
    }

    /// Calls `on_page` for each page of nodes that are only in the database.
    fn for_each_database_page(
        &self,
        snapshot: &mut dyn DocSnapshot,
        on_page: &mut dyn FnMut(&MemorySegment),
    ) -> Result<()> {
        let Some(mut after_id) = self.scan_after else { return Ok(()) };
        loop {
            let docs = snapshot.docs_after(after_id, PAGE_DOCS)?;
            let mut segment = MemorySegment::default();
            docs.iter().for_each(|doc| segment.push(doc));
            on_page(&segment);
            match docs.last() {
                Some(last) if docs.len() == PAGE_DOCS => after_id = Some(last.id),
                _ => return Ok(()),
            }
        }
    }
}

fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
