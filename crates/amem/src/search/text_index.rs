//! One tenant's full text: the last commit of the index, the tail that it does not have yet, and, if even that is too
//! long to hold, the rest read page by page. All three are scored by one set of statistics.
//!
//! # Why a search misses nothing
//!
//! What is held between searches is one immutable value, [`Held`], which is true by itself: **it has every node up to its
//! `end`, except those that were forgotten by its `mark`.** A search takes the value that is there, adds to a copy of its own what
//! *its own snapshot* has after that `end` and that `mark`, and works on that copy. So it sees every node of its snapshot, whatever
//! other searches do meanwhile: nothing that it relies on can be taken from under it.
//!
//! Afterwards the copy is offered to those that follow. Any copy is as true as any other, so which one wins is a matter of
//! speed only: the one that nobody has overtaken, or the one that reaches further. Two things make each copy true:
//!
//! - Ids and marks are given in the order of the commits. A snapshot with node 7 has all nodes below it that are not
//!   forgotten, and one with mark 3 knows of marks 1 and 2.
//! - A copy is offered only by a snapshot that knows the `mark` of the value it began with. An older one may still have a
//!   node that was forgotten since; its own answer may show it, but it must not be handed on, for nobody would look at
//!   that mark again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::Result;
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

/// How much lies beyond the index before it is written.
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

/// What the background should do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MaintenanceTask {
    /// Write the tail into the index, if it is long.
    pub flush: bool,
    /// Read all of the index and compare its checksums.
    pub verify: bool,
    /// Build it anew, if this is still the commit that was found damaged.
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
    /// Whether this process has compared the checksums, or has left that to the background.
    verified: AtomicBool,
    /// The first node that the index does not have, as far as is known; for those who only want to know whether it is due.
    indexed_up_to: AtomicU64,
}

/// All nodes up to an end, as the module's page says it. Cloning it is cheap.
#[derive(Clone)]
struct SharedState {
    /// Which commit `commit` is, or which one was refused.
    index_stat: Option<IndexFileStat>,
    /// Whether that one was refused.
    is_corrupt: bool,
    searcher: Option<Arc<IndexSearcher>>,
    /// The nodes above the commit's reach.
    memory: MemorySegments,
    /// The last node of the tail, or, as long as that is empty, the last that the commit reaches.
    last_id: Option<u64>,
    /// Nodes of the commit that were forgotten after it.
    deleted: Arc<HashSet<u64>>,
    /// Up to which mark forgotten nodes are out of all of this.
    deletions_seen: i64,
}

impl SharedState {
    /// What a commit holds, or what nothing holds.
    fn new(searcher: Option<IndexSearcher>, index_stat: Option<IndexFileStat>) -> SharedState {
        let (next_id, deletions_seen) = searcher
            .as_ref()
            .map_or((0, i64::MIN), |searcher| (searcher.watermark.next, searcher.watermark.mark));
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

    /// The first node that is not in the commit.
    fn next_id(&self) -> u64 {
        self.searcher.as_ref().map_or(0, |searcher| searcher.watermark.next)
    }

    fn is_ahead_of(&self, other: &SharedState) -> bool {
        (self.next_id(), self.last_id, self.deletions_seen)
            > (other.next_id(), other.last_id, other.deletions_seen)
    }

    /// Reads what the snapshot has beyond the end, as long as there is room. Says whether that was all.
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

    /// Drops what the snapshot knows to be forgotten. Says whether the snapshot knows as much as was known already.
    fn read_deletions(&mut self, snapshot: &mut dyn DocSnapshot) -> Result<bool> {
        let known_position = self.deletions_seen;
        let mut is_new_enough = known_position == i64::MIN;
        // Beginning with the mark that is known: if that is not there, the snapshot is an older one.
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

/// What one search works on; it does not change under its eyes.
pub(crate) struct TextView {
    state: SharedState,
    /// After which node the database has to be read page by page, if the tail is too long to hold.
    scan_after: Option<Option<u64>>,
    /// What the background should do next.
    pub task: MaintenanceTask,
}

/// A hit and where its words can be looked up.
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the index is worth writing if `newest` is the last node.
    pub fn needs_flush(&self, newest: u64) -> bool {
        newest.saturating_sub(self.indexed_up_to.load(Ordering::Relaxed)) >= self.threshold.docs as u64
    }

    /// Notes how far the index reaches.
    pub fn set_indexed_up_to(&self, next_id: u64) {
        self.indexed_up_to.fetch_max(next_id, Ordering::Relaxed);
    }

    /// Looks at the index as it is now, reads what was added and forgotten since, and gives what to search in.
    pub fn view(&self, snapshot: &mut dyn DocSnapshot) -> Result<TextView> {
        let mut task = MaintenanceTask::default();
        let base = self.lock_state().clone();
        let state = match self.reload_if_changed(&base, snapshot, &mut task)? {
            Some(reloaded) => reloaded,
            None => SharedState::clone(&base),
        };
        self.complete_view(Some(&base), state, snapshot, task)
    }

    /// The same without the index, for a search that has just stumbled over it.
    pub fn view_without_index(&self, snapshot: &mut dyn DocSnapshot) -> Result<TextView> {
        self.complete_view(None, SharedState::new(None, None), snapshot, MaintenanceTask::default())
    }

    /// Adds the snapshot's share, and hands the result on if it grew from what all share.
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

    /// Hands a value on to the searches that follow, unless it was overtaken.
    fn publish(&self, base: &Arc<SharedState>, state: &SharedState) {
        let mut current = self.lock_state();
        if Arc::ptr_eq(&current, base) || state.is_ahead_of(&current) {
            *current = Arc::new(state.clone());
        }
    }

    /// What a commit holds that this or another process made, if it is another one than what is held begins with.
    fn reload_if_changed(
        &self,
        base: &SharedState,
        snapshot: &mut dyn DocSnapshot,
        task: &mut MaintenanceTask,
    ) -> Result<Option<SharedState>> {
        // Before the index is opened: if a commit comes between, the next search opens it again.
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
                    // Either it was built from other nodes, or this snapshot is older than its last commit. The
                    // background finds out which; meanwhile what was open before is still right.
                    task.verify = true;
                    Ok(None)
                }
            }
        }
    }

    /// Nothing, until the background has built another index.
    fn corrupt_state(&self, damage: &IndexError, index_stat: Option<IndexFileStat>) -> SharedState {
        tracing::warn!(folder = %self.folder.display(), %damage, "the text index is damaged and will be built anew");
        SharedState { is_corrupt: true, ..SharedState::new(None, index_stat) }
    }

    /// Called when a search stumbles over the index; those that follow do without it.
    pub fn disable_index(&self, view: &TextView, damage: &IndexError) {
        let corrupt = self.corrupt_state(damage, view.state.index_stat.clone());
        *self.lock_state() = Arc::new(corrupt);
    }
}

impl TextView {
    /// How many nodes there are, the forgotten ones included that the index still has; unknown if they were not all read.
    pub fn doc_count(&self) -> Option<u64> {
        let indexed_docs = self.state.searcher.as_ref().map_or(0, |searcher| searcher.doc_count());
        self.scan_after.is_none().then_some(indexed_docs + self.state.memory.len() as u64)
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

    /// The same without what is neither in the index nor held: near enough where only weights depend on it.
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

    /// For each hit, which clauses it has.
    pub fn matched_clauses(
        &self,
        snapshot: &mut dyn DocSnapshot,
        query: &Query,
        hits: &[ScoredDoc<HitLocation>],
    ) -> Result<std::result::Result<Vec<Vec<bool>>, IndexError>> {
        let mut addresses = Vec::new();
        let mut memory_ids = Vec::new();
        let mut database_segment = MemorySegment::default();
        for hit in hits {
            match hit.location {
                HitLocation::Index(address) => addresses.push(address),
                HitLocation::Memory => memory_ids.push(hit.id),
                HitLocation::Database => {
                    let docs = snapshot.docs_after(hit.id.checked_sub(1), 1)?;
                    docs.iter().for_each(|doc| database_segment.push(doc));
                }
            }
        }
        let in_index = match &self.state.searcher {
            Some(searcher) if !addresses.is_empty() => match searcher.matched_clauses(query, &addresses) {
                Ok(matched) => matched,
                Err(damage) => return Ok(Err(damage)),
            },
            _ => HashMap::new(),
        };
        let in_memory = self.state.memory.matched_clauses(query, &memory_ids);
        let in_database = database_segment.matched_clauses_unsorted(query);
        let matched = hits.iter().map(|hit| match hit.location {
            HitLocation::Index(address) => in_index.get(&address).cloned().unwrap_or_default(),
            HitLocation::Memory => in_memory.get(&hit.id).cloned().unwrap_or_default(),
            HitLocation::Database => in_database.get(&hit.id).cloned().unwrap_or_default(),
        });
        Ok(Ok(matched.collect()))
    }

    /// What is neither in the index nor held, a page at a time.
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
