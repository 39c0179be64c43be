//! One tenant's full text: the last commit of the index, the tail that it does not have yet, and, if even that is too
//! long to hold, the rest read page by page. All three are scored by one set of statistics.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::Result;
use tantivy::DocAddress;

use super::best::{Best, Scored};
use super::bm25::Counts;
use super::corpus::Corpus;
use super::filter::Filter;
use super::index::{self, Commit, Damage};
use super::limits::{CHECKED_AT_ONCE_BYTES, PAGE_DOCS, PAGE_ERASED, TAIL_SLACK};
use super::query::Query;
use super::tail::Tail;

/// How much lies beyond the index before it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailSize {
    pub docs: usize,
    pub bytes: usize,
}

impl TailSize {
    pub fn is_due(&self, docs: usize, bytes: usize) -> bool {
        docs >= self.docs || bytes >= self.bytes
    }

    fn is_full(&self, tail: &Tail) -> bool {
        tail.len() >= self.docs * TAIL_SLACK || tail.bytes() >= self.bytes * TAIL_SLACK
    }
}

/// Which commit a folder has: changes with each one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// None if there is no index.
    pub fn of(folder: &Path) -> Option<Stamp> {
        let metadata: Metadata = std::fs::metadata(folder.join("meta.json")).ok()?;
        Some(Stamp {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}

/// What the background should do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chore {
    /// Write the tail into the index, if it is long.
    pub write: bool,
    /// Read all of the index and compare its checksums.
    pub verify: bool,
    /// Build it anew, if this is still the commit that was found damaged.
    pub damaged: Option<Stamp>,
}

impl Chore {
    pub fn is_none(&self) -> bool {
        self == &Chore::default()
    }
}

/// A tenant's full text.
pub(crate) struct Text {
    pub folder: PathBuf,
    pub size: TailSize,
    state: Mutex<State>,
    /// The first node that the index does not have, as far as is known; for those who only want to know whether it is due.
    known_next: AtomicU64,
}

#[derive(Default)]
struct State {
    stamp: Option<Stamp>,
    commit: Option<Arc<Commit>>,
    tail: Arc<Tail>,
    /// The last node that was read into the tail, or that is in the index.
    end: Option<u64>,
    /// Forgotten nodes that may still be in the index or come with an older snapshot, by mark and by id.
    gone_by_mark: BTreeMap<i64, u64>,
    gone: Arc<HashSet<u64>>,
    mark: Option<i64>,
    /// Whether this process has compared the checksums.
    verified: bool,
    /// Whether the index that is there cannot be used.
    damaged: bool,
}

/// What one search works on; it does not change under its eyes.
pub(crate) struct View {
    commit: Option<Arc<Commit>>,
    tail: Arc<Tail>,
    gone: Arc<HashSet<u64>>,
    /// After which node the database has to be read page by page, if the tail is too long to hold.
    beyond: Option<Option<u64>>,
    /// What the background should do next.
    pub chore: Chore,
    stamp: Option<Stamp>,
}

/// A hit and where its words can be looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Index(DocAddress),
    Tail,
    Beyond,
}

impl Text {
    pub fn new(folder: PathBuf, size: TailSize) -> Text {
        Text { folder, size, state: Mutex::default(), known_next: AtomicU64::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the index is worth writing if `newest` is the last node.
    pub fn is_due(&self, newest: u64) -> bool {
        newest.saturating_sub(self.known_next.load(Ordering::Relaxed)) >= self.size.docs as u64
    }

    /// Notes how far the index reaches.
    pub fn reaches(&self, next: u64) {
        self.known_next.fetch_max(next, Ordering::Relaxed);
    }

    /// Looks at the index as it is now, reads what was added and forgotten since, and gives what to search in.
    pub fn view(&self, corpus: &mut dyn Corpus) -> Result<View> {
        let mut chore = Chore::default();
        self.reopen(corpus, &mut chore)?;
        self.read_added(corpus)?;
        self.read_erased(corpus)?;
        let state = self.state();
        let beyond = self.size.is_full(&state.tail).then_some(state.end);
        if state.damaged {
            chore.damaged = state.stamp.clone();
        }
        chore.write |= self.size.is_due(state.tail.len().max(state.gone.len()), state.tail.bytes());
        Ok(View {
            commit: state.commit.clone(),
            tail: state.tail.clone(),
            gone: state.gone.clone(),
            beyond,
            chore,
            stamp: state.stamp.clone(),
        })
    }

    /// Takes up a commit that this or another process made.
    fn reopen(&self, corpus: &mut dyn Corpus, chore: &mut Chore) -> Result<()> {
        let stamp = Stamp::of(&self.folder);
        let (changed, verified) = {
            let state = self.state();
            (state.stamp != stamp, state.verified)
        };
        if !changed {
            return Ok(());
        }
        if !verified {
            if folder_bytes(&self.folder) > CHECKED_AT_ONCE_BYTES {
                chore.verify = true;
            } else if let Err(damage) = index::verify(&self.folder) {
                self.refuse(&damage, stamp);
                return Ok(());
            }
        }
        match Commit::open(&self.folder) {
            Err(damage) => self.refuse(&damage, stamp),
            Ok(None) => self.take(None, stamp),
            Ok(Some(commit)) => {
                if commit.reach.belongs_to(corpus)? {
                    self.take(Some(commit), stamp);
                } else {
                    // Either it was built from other nodes, or this snapshot is older than its last commit. The
                    // background finds out which; meanwhile what was open before is still right.
                    chore.verify = true;
                }
            }
        }
        Ok(())
    }

    fn take(&self, commit: Option<Commit>, stamp: Option<Stamp>) {
        let mut state = self.state();
        let next = commit.as_ref().map_or(0, |commit| commit.next);
        let mark = commit.as_ref().map_or(i64::MIN, |commit| commit.reach.mark);
        state.end = next.checked_sub(1);
        state.tail = Arc::default();
        state.gone_by_mark = match mark.checked_add(1) {
            Some(first) => state.gone_by_mark.split_off(&first),
            None => BTreeMap::new(),
        };
        state.gone = Arc::new(state.gone_by_mark.values().copied().collect());
        state.mark = state.mark.max(Some(mark));
        if commit.is_none() {
            // Without an index there is nothing from which a forgotten node could come back.
            state.mark = None;
            state.gone_by_mark.clear();
            state.gone = Arc::default();
        }
        state.verified |= commit.is_some();
        state.commit = commit.map(Arc::new);
        state.damaged = false;
        state.stamp = stamp;
        drop(state);
        self.reaches(next);
    }

    /// Does without a damaged index until the background has built another.
    fn refuse(&self, damage: &Damage, stamp: Option<Stamp>) {
        tracing::warn!(folder = %self.folder.display(), %damage, "the text index is damaged and will be built anew");
        self.take(None, stamp);
        self.state().damaged = true;
    }

    /// Called when a search stumbles over the index; the next view does without it.
    pub fn abandon(&self, view: &View, damage: &Damage) {
        self.refuse(damage, view.stamp.clone());
    }

    fn read_added(&self, corpus: &mut dyn Corpus) -> Result<()> {
        loop {
            let (end, full) = {
                let state = self.state();
                (state.end, self.size.is_full(&state.tail))
            };
            if full {
                return Ok(());
            }
            let docs = corpus.after(end, PAGE_DOCS)?;
            let Some(last) = docs.last() else { return Ok(()) };
            let mut state = self.state();
            // Another search may have read the same ones, or taken up another commit.
            if state.end == end {
                state.end = Some(last.id);
                let gone = state.gone.clone();
                let tail = Arc::make_mut(&mut state.tail);
                for doc in docs.iter().filter(|doc| !gone.contains(&doc.id)) {
                    tail.push(doc);
                }
                if docs.len() < PAGE_DOCS {
                    return Ok(());
                }
            }
        }
    }

    fn read_erased(&self, corpus: &mut dyn Corpus) -> Result<()> {
        loop {
            let mark = self.state().mark.unwrap_or(i64::MIN);
            let erased = corpus.erased(mark, PAGE_ERASED)?;
            if erased.is_empty() {
                return Ok(());
            }
            let mut state = self.state();
            let next = state.commit.as_ref().map_or(0, |commit| commit.next);
            let full = self.size.is_full(&state.tail);
            for (mark, id) in &erased {
                if state.mark.is_some_and(|seen| *mark <= seen) {
                    continue;
                }
                state.mark = Some(*mark);
                let ahead = state.end.is_none_or(|end| *id > end);
                if *id < next || (ahead && !full) {
                    state.gone_by_mark.insert(*mark, *id);
                    Arc::make_mut(&mut state.gone).insert(*id);
                } else if !ahead {
                    Arc::make_mut(&mut state.tail).remove(*id);
                }
            }
            if erased.len() < PAGE_ERASED {
                return Ok(());
            }
        }
    }
}

impl View {
    /// The statistics of all nodes for these terms.
    pub fn counts(
        &self,
        corpus: &mut dyn Corpus,
        terms: &[String],
    ) -> Result<std::result::Result<Counts, Damage>> {
        let mut counts = Counts { having: vec![0; terms.len()], ..Counts::default() };
        if let Some(commit) = &self.commit {
            match commit.counts(terms) {
                Ok(more) => counts.add(&more),
                Err(damage) => return Ok(Err(damage)),
            }
        }
        counts.add(&self.tail.counts(terms));
        self.for_each_page(corpus, &mut |page| {
            counts.add(&page.counts(terms));
        })?;
        Ok(Ok(counts))
    }

    /// The same without what is neither in the index nor held: near enough where only weights depend on it.
    pub fn counts_nearly(&self, terms: &[String]) -> std::result::Result<Counts, Damage> {
        let mut counts = match &self.commit {
            Some(commit) => commit.counts(terms)?,
            None => Counts { having: vec![0; terms.len()], ..Counts::default() },
        };
        counts.add(&self.tail.counts(terms));
        Ok(counts)
    }

    /// The best `limit` nodes.
    pub fn rank(
        &self,
        corpus: &mut dyn Corpus,
        query: &Query,
        counts: &Counts,
        filter: &Filter,
        limit: usize,
    ) -> Result<std::result::Result<Vec<Scored<Place>>, Damage>> {
        let mut best = Best::new(limit);
        if let Some(commit) = &self.commit {
            match commit.search(query, counts, filter, &self.gone, limit) {
                Ok(hits) => {
                    for hit in hits {
                        best.offer(hit.id, hit.score, Place::Index(hit.place));
                    }
                }
                Err(damage) => return Ok(Err(damage)),
            }
        }
        self.tail.scan(query, counts, filter, &mut |id, score| best.offer(id, score, Place::Tail));
        self.for_each_page(corpus, &mut |page| {
            page.scan(query, counts, filter, &mut |id, score| best.offer(id, score, Place::Beyond));
        })?;
        Ok(Ok(best.into_sorted()))
    }

    /// For each hit, which clauses it has.
    pub fn matched(
        &self,
        corpus: &mut dyn Corpus,
        query: &Query,
        hits: &[Scored<Place>],
    ) -> Result<std::result::Result<Vec<Vec<bool>>, Damage>> {
        let mut places = Vec::new();
        let mut held = Vec::new();
        let mut beyond = Tail::default();
        for hit in hits {
            match hit.place {
                Place::Index(place) => places.push(place),
                Place::Tail => held.push(hit.id),
                Place::Beyond => {
                    let found = corpus.after(hit.id.checked_sub(1), 1)?;
                    found.iter().for_each(|doc| beyond.push(doc));
                }
            }
        }
        let indexed = match &self.commit {
            Some(commit) if !places.is_empty() => match commit.matched(query, &places) {
                Ok(matched) => matched,
                Err(damage) => return Ok(Err(damage)),
            },
            _ => HashMap::new(),
        };
        let held = self.tail.matched(query, &held);
        let beyond = beyond.matched_in_any_order(query);
        let matched = hits.iter().map(|hit| match hit.place {
            Place::Index(place) => indexed.get(&place).cloned().unwrap_or_default(),
            Place::Tail => held.get(&hit.id).cloned().unwrap_or_default(),
            Place::Beyond => beyond.get(&hit.id).cloned().unwrap_or_default(),
        });
        Ok(Ok(matched.collect()))
    }

    /// What is neither in the index nor held, a page at a time.
    fn for_each_page(&self, corpus: &mut dyn Corpus, work: &mut dyn FnMut(&Tail)) -> Result<()> {
        let Some(mut after) = self.beyond else { return Ok(()) };
        loop {
            let docs = corpus.after(after, PAGE_DOCS)?;
            let mut page = Tail::default();
            docs.iter().for_each(|doc| page.push(doc));
            work(&page);
            match docs.last() {
                Some(last) if docs.len() == PAGE_DOCS => after = Some(last.id),
                _ => return Ok(()),
            }
        }
    }
}

fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
