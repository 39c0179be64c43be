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

use super::best::{Best, Scored};
use super::bm25::Counts;
use super::corpus::Corpus;
use super::filter::Filter;
use super::index::{self, Commit, Damage, Opened};
use super::layers::Layers;
use super::limits::{CHECKED_AT_ONCE_BYTES, PAGE_DOCS, PAGE_ERASED, TAIL_SLACK};
use super::query::Query;
use super::stamp::Stamp;
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

    fn is_full(&self, tail: &Layers) -> bool {
        tail.len() >= self.docs * TAIL_SLACK || tail.bytes() >= self.bytes * TAIL_SLACK
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
    held: Mutex<Arc<Held>>,
    /// Whether this process has compared the checksums, or has left that to the background.
    verified: AtomicBool,
    /// The first node that the index does not have, as far as is known; for those who only want to know whether it is due.
    known_next: AtomicU64,
}

/// All nodes up to an end, as the module's page says it. Cloning it is cheap.
#[derive(Clone)]
struct Held {
    /// Which commit `commit` is, or which one was refused.
    stamp: Option<Stamp>,
    /// Whether that one was refused.
    damaged: bool,
    commit: Option<Arc<Commit>>,
    /// The nodes above the commit's reach.
    tail: Layers,
    /// The last node of the tail, or, as long as that is empty, the last that the commit reaches.
    end: Option<u64>,
    /// Nodes of the commit that were forgotten after it.
    gone: Arc<HashSet<u64>>,
    /// Up to which mark forgotten nodes are out of all of this.
    mark: i64,
}

impl Held {
    /// What a commit holds, or what nothing holds.
    fn of(commit: Option<Commit>, stamp: Option<Stamp>) -> Held {
        let (next, mark) =
            commit.as_ref().map_or((0, i64::MIN), |commit| (commit.reach.next, commit.reach.mark));
        Held {
            stamp,
            damaged: false,
            commit: commit.map(Arc::new),
            tail: Layers::default(),
            end: next.checked_sub(1),
            gone: Arc::default(),
            mark,
        }
    }

    /// The first node that is not in the commit.
    fn next(&self) -> u64 {
        self.commit.as_ref().map_or(0, |commit| commit.reach.next)
    }

    fn reaches_further_than(&self, other: &Held) -> bool {
        (self.next(), self.end, self.mark) > (other.next(), other.end, other.mark)
    }

    /// Reads what the snapshot has beyond the end, as long as there is room. Says whether that was all.
    fn read_added(&mut self, corpus: &mut dyn Corpus, size: TailSize) -> Result<bool> {
        loop {
            if size.is_full(&self.tail) {
                return Ok(false);
            }
            let docs = corpus.after(self.end, PAGE_DOCS)?;
            self.tail.push(&docs);
            self.end = docs.last().map(|doc| doc.id).or(self.end);
            if docs.len() < PAGE_DOCS {
                return Ok(true);
            }
        }
    }

    /// Drops what the snapshot knows to be forgotten. Says whether the snapshot knows as much as was known already.
    fn read_erased(&mut self, corpus: &mut dyn Corpus) -> Result<bool> {
        let known = self.mark;
        let mut is_new_enough = known == i64::MIN;
        // Beginning with the mark that is known: if that is not there, the snapshot is an older one.
        let mut after = known.saturating_sub(1);
        loop {
            let erased = corpus.erased(after, PAGE_ERASED)?;
            for (mark, id) in &erased {
                after = *mark;
                is_new_enough |= *mark == known;
                if *mark <= known {
                    continue;
                }
                self.mark = *mark;
                if *id < self.next() {
                    Arc::make_mut(&mut self.gone).insert(*id);
                } else {
                    self.tail.remove(*id);
                }
            }
            if erased.len() < PAGE_ERASED {
                return Ok(is_new_enough);
            }
        }
    }
}

/// What one search works on; it does not change under its eyes.
pub(crate) struct View {
    held: Held,
    /// After which node the database has to be read page by page, if the tail is too long to hold.
    beyond: Option<Option<u64>>,
    /// What the background should do next.
    pub chore: Chore,
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
        Text {
            folder,
            size,
            held: Mutex::new(Arc::new(Held::of(None, None))),
            verified: AtomicBool::new(false),
            known_next: AtomicU64::new(0),
        }
    }

    fn held(&self) -> MutexGuard<'_, Arc<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
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
        let base = self.held().clone();
        let held = match self.newer_commit(&base, corpus, &mut chore)? {
            Some(newer) => newer,
            None => Held::clone(&base),
        };
        self.view_from(Some(&base), held, corpus, chore)
    }

    /// The same without the index, for a search that has just stumbled over it.
    pub fn view_without_index(&self, corpus: &mut dyn Corpus) -> Result<View> {
        self.view_from(None, Held::of(None, None), corpus, Chore::default())
    }

    /// Adds the snapshot's share, and hands the result on if it grew from what all share.
    fn view_from(
        &self,
        base: Option<&Arc<Held>>,
        mut held: Held,
        corpus: &mut dyn Corpus,
        mut chore: Chore,
    ) -> Result<View> {
        let all = held.read_added(corpus, self.size)?;
        let is_new_enough = held.read_erased(corpus)?;
        let beyond = (!all).then_some(held.end);
        if held.damaged {
            chore.damaged = held.stamp.clone();
        }
        chore.write |= self.size.is_due(held.tail.len().max(held.gone.len()), held.tail.bytes());
        self.reaches(held.next());
        if let Some(base) = base
            && is_new_enough
        {
            self.offer(base, &held);
        }
        Ok(View { held, beyond, chore })
    }

    /// Hands a value on to the searches that follow, unless it was overtaken.
    fn offer(&self, base: &Arc<Held>, held: &Held) {
        let mut current = self.held();
        if Arc::ptr_eq(&current, base) || held.reaches_further_than(&current) {
            *current = Arc::new(held.clone());
        }
    }

    /// What a commit holds that this or another process made, if it is another one than what is held begins with.
    fn newer_commit(&self, base: &Held, corpus: &mut dyn Corpus, chore: &mut Chore) -> Result<Option<Held>> {
        // Before the index is opened: if a commit comes between, the next search opens it again.
        let stamp = Stamp::of(&self.folder);
        if base.stamp == stamp {
            return Ok(None);
        }
        if !self.verified.load(Ordering::Relaxed) {
            if folder_bytes(&self.folder) > CHECKED_AT_ONCE_BYTES {
                chore.verify = true;
            } else if let Err(damage) = index::verify(&self.folder) {
                return Ok(Some(self.refused(&damage, stamp)));
            }
        }
        match Commit::open(&self.folder) {
            Err(damage) => Ok(Some(self.refused(&damage, stamp))),
            Ok(Opened::Restless) => Ok(None),
            Ok(Opened::Nothing) => Ok(Some(Held::of(None, stamp))),
            Ok(Opened::Commit(commit)) => {
                if commit.reach.belongs_to(corpus)? {
                    self.verified.store(true, Ordering::Relaxed);
                    Ok(Some(Held::of(Some(commit), stamp)))
                } else {
                    // Either it was built from other nodes, or this snapshot is older than its last commit. The
                    // background finds out which; meanwhile what was open before is still right.
                    chore.verify = true;
                    Ok(None)
                }
            }
        }
    }

    /// Nothing, until the background has built another index.
    fn refused(&self, damage: &Damage, stamp: Option<Stamp>) -> Held {
        tracing::warn!(folder = %self.folder.display(), %damage, "the text index is damaged and will be built anew");
        Held { damaged: true, ..Held::of(None, stamp) }
    }

    /// Called when a search stumbles over the index; those that follow do without it.
    pub fn abandon(&self, view: &View, damage: &Damage) {
        let refused = self.refused(damage, view.held.stamp.clone());
        *self.held() = Arc::new(refused);
    }
}

impl View {
    /// How many nodes there are, the forgotten ones included that the index still has; unknown if they were not all read.
    pub fn docs(&self) -> Option<u64> {
        let indexed = self.held.commit.as_ref().map_or(0, |commit| commit.docs());
        self.beyond.is_none().then_some(indexed + self.held.tail.len() as u64)
    }

    /// The statistics of all nodes for these terms.
    pub fn counts(
        &self,
        corpus: &mut dyn Corpus,
        terms: &[String],
    ) -> Result<std::result::Result<Counts, Damage>> {
        let mut counts = Counts { having: vec![0; terms.len()], ..Counts::default() };
        if let Some(commit) = &self.held.commit {
            match commit.counts(terms) {
                Ok(more) => counts.add(&more),
                Err(damage) => return Ok(Err(damage)),
            }
        }
        counts.add(&self.held.tail.counts(terms));
        self.for_each_page(corpus, &mut |page| {
            counts.add(&page.counts(terms));
        })?;
        Ok(Ok(counts))
    }

    /// The same without what is neither in the index nor held: near enough where only weights depend on it.
    pub fn counts_nearly(&self, terms: &[String]) -> std::result::Result<Counts, Damage> {
        let mut counts = match &self.held.commit {
            Some(commit) => commit.counts(terms)?,
            None => Counts { having: vec![0; terms.len()], ..Counts::default() },
        };
        counts.add(&self.held.tail.counts(terms));
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
        if let Some(commit) = &self.held.commit {
            match commit.search(query, counts, filter, &self.held.gone, limit) {
                Ok(hits) => {
                    for hit in hits {
                        best.offer(hit.id, hit.score, Place::Index(hit.place));
                    }
                }
                Err(damage) => return Ok(Err(damage)),
            }
        }
        self.held.tail.scan(query, counts, filter, &mut |id, score| best.offer(id, score, Place::Tail));
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
        let indexed = match &self.held.commit {
            Some(commit) if !places.is_empty() => match commit.matched(query, &places) {
                Ok(matched) => matched,
                Err(damage) => return Ok(Err(damage)),
            },
            _ => HashMap::new(),
        };
        let held = self.held.tail.matched(query, &held);
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
