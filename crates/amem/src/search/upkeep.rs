//! Writing the text index: off the path of any search, by whichever process gets the lock.
//!
//! One thread a process at most; it ends when there is nothing left to do. The writer's memory goes with it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quad_core::{Error, Result, TenantId};
use tantivy::indexer::IndexWriterOptions;
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

use super::corpus::{Ask, Extract, Fresh, Source};
use super::index::{self, Anchor, Damage, Fields, Outcome, Reach, guarded};
use super::limits::{COMMIT_DOCS, PAGE_DOCS, PAGE_ERASED, PROGRESS_DOCS, UPKEEP_PAUSE, WRITER_BYTES};
use super::stamp::Stamp;
use super::text::{Chore, TailSize, Text};

/// The queue of chores and the thread that does them.
pub(crate) struct Upkeep {
    shared: Arc<Shared>,
}

struct Shared {
    source: Arc<dyn Source>,
    queue: Mutex<Queue>,
    idle: Condvar,
    closing: AtomicBool,
}

#[derive(Default)]
struct Queue {
    waiting: BTreeMap<TenantId, (Arc<Text>, Chore)>,
    /// When a tenant whose chore failed may be tried again, so that a full disk is not met with a thread a search.
    pauses: BTreeMap<TenantId, Instant>,
    running: bool,
}

impl Upkeep {
    pub fn new(source: Arc<dyn Source>) -> Upkeep {
        let shared =
            Shared { source, queue: Mutex::default(), idle: Condvar::new(), closing: AtomicBool::new(false) };
        Upkeep { shared: Arc::new(shared) }
    }

    /// Asks for a chore. Returns at once.
    pub fn ask(&self, tenant: &TenantId, text: &Arc<Text>, chore: Chore) {
        if chore.is_none() {
            return;
        }
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.pauses.get(tenant).is_some_and(|until| Instant::now() < *until) {
            return;
        }
        let (_, asked) =
            queue.waiting.entry(tenant.clone()).or_insert_with(|| (text.clone(), Chore::default()));
        asked.write |= chore.write;
        asked.verify |= chore.verify;
        asked.damaged = chore.damaged.or(asked.damaged.take());
        if !queue.running {
            let shared = self.shared.clone();
            let thread =
                std::thread::Builder::new().name("text-index".to_owned()).spawn(move || shared.work());
            match thread {
                Ok(_) => queue.running = true,
                Err(error) => tracing::warn!(%error, "the text index waits: no thread can be started"),
            }
        }
    }

    /// Waits until nothing is left to do.
    pub fn settle(&self) {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        while queue.running {
            queue = self.shared.idle.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        // The thread stops at its next page. A commit is made or not, never half.
        self.shared.closing.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn work(&self) {
        loop {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let next = queue.waiting.pop_first();
            let Some((tenant, (text, chore))) = next.filter(|_| !self.closing.load(Ordering::Relaxed)) else {
                queue.waiting.clear();
                queue.running = false;
                self.idle.notify_all();
                return;
            };
            drop(queue);
            let round = Round {
                source: &*self.source,
                tenant: &tenant,
                folder: &text.folder,
                size: text.size,
                closing: &self.closing,
            };
            match guarded(|| Ok(round.run(&chore))) {
                Ok(Ok(next)) => next.into_iter().for_each(|next| text.reaches(next)),
                Ok(Err(error)) => self.pause(&tenant, &format!("{error}: {}", error.cause_chain())),
                Err(panic) => self.pause(&tenant, &panic.to_string()),
            }
        }
    }

    fn pause(&self, tenant: &TenantId, error: &str) {
        tracing::warn!(%tenant, error, "the text index could not be written; searches read the database meanwhile");
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pauses.retain(|_, until| *until > Instant::now());
        queue.pauses.insert(tenant.clone(), Instant::now() + Duration::from_secs(UPKEEP_PAUSE));
    }
}

/// One tenant's turn.
struct Round<'a> {
    source: &'a dyn Source,
    tenant: &'a TenantId,
    folder: &'a Path,
    size: TailSize,
    closing: &'a AtomicBool,
}

impl Round<'_> {
    /// Does the chore. Gives the first node that the index does not have, if that is known.
    fn run(&self, chore: &Chore) -> Result<Option<u64>> {
        make_folder(self.folder)?;
        let Some(_lock) = Lock::take(self.folder)? else {
            // Whoever has it does the same work.
            return Ok(None);
        };
        let sound = self.is_sound(chore)?;
        if !sound {
            wipe(self.folder)?;
        }
        let found = match index::open(self.folder) {
            Ok(found) => found,
            Err(damage) => {
                self.tell(&damage);
                wipe(self.folder)?;
                None
            }
        };
        let (reach, index) = match found {
            Some((index, fields, reach)) => (reach, Some((index, fields))),
            None => (Reach::nothing(), None),
        };
        let first = self.first_pages(&reach)?;
        let docs: usize = first.iter().map(|page| page.docs.len()).sum();
        let bytes: usize = first.iter().flat_map(|page| &page.docs).map(|doc| doc.content.len()).sum();
        let erased: usize = first.iter().map(|page| page.erased.len()).sum();
        if !self.size.is_due(docs.max(erased), bytes) {
            return Ok(Some(reach.next));
        }
        let (index, fields) = match index {
            Some(index) => index,
            None => {
                // What a builder left that never came to a commit.
                wipe(self.folder)?;
                index::create(self.folder).map_err(internal)?
            }
        };
        self.write(&index, fields, reach, first).map(Some)
    }

    /// Whether the index may stay.
    fn is_sound(&self, chore: &Chore) -> Result<bool> {
        if chore.damaged.is_some() && chore.damaged == Stamp::of(self.folder) {
            return Ok(false);
        }
        if !chore.verify {
            return Ok(true);
        }
        if let Err(damage) = index::verify(self.folder) {
            self.tell(&damage);
            return Ok(false);
        }
        let Ok(Some((_, _, reach))) = index::open(self.folder) else { return Ok(true) };
        let belongs = reach.belongs_to(&mut Fresh { source: self.source, tenant: self.tenant })?;
        if !belongs {
            self.tell(&Damage("it was built from other nodes than the database has".to_owned()));
        }
        Ok(belongs)
    }

    fn tell(&self, damage: &Damage) {
        tracing::warn!(tenant = %self.tenant, %damage, "the text index is damaged and is built anew");
    }

    /// Reads until it is clear whether there is enough to write.
    fn first_pages(&self, reach: &Reach) -> Result<Vec<Extract>> {
        let mut pages = Vec::new();
        let (mut next, mut mark, mut docs, mut bytes) = (reach.next, reach.mark, 0, 0);
        loop {
            let page = self.read(next, mark)?;
            docs += page.docs.len();
            bytes += page.docs.iter().map(|doc| doc.content.len()).sum::<usize>();
            (next, mark) = page.reach(next, mark);
            let last = page.is_last();
            pages.push(page);
            if last || self.size.is_due(docs, bytes) {
                return Ok(pages);
            }
        }
    }

    /// Added and forgotten nodes of one snapshot: what is forgotten later comes with a later page.
    fn read(&self, next: u64, mark: i64) -> Result<Extract> {
        let ask = Ask { after: next.checked_sub(1), docs: PAGE_DOCS, after_mark: mark, erased: PAGE_ERASED };
        self.source.extract(self.tenant, ask)
    }

    fn write(&self, index: &Index, fields: Fields, mut reach: Reach, first: Vec<Extract>) -> Result<u64> {
        let begun = Instant::now();
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build();
        let mut writer: IndexWriter =
            index.writer_with_options(options).map_err(|error| internal(error.into()))?;
        let mut waiting = first.into_iter();
        let (mut written, mut uncommitted, mut told) = (0_u64, 0_usize, 0_u64);
        loop {
            let page = match waiting.next() {
                Some(page) => page,
                None => self.read(reach.next, reach.mark)?,
            };
            let last = waiting.len() == 0 && page.is_last();
            self.add(&writer, fields, &mut reach, &page).map_err(internal)?;
            written += page.docs.len() as u64;
            uncommitted += page.docs.len() + page.erased.len();
            let closing = self.closing.load(Ordering::Relaxed);
            if uncommitted > 0 && (last || closing || uncommitted >= COMMIT_DOCS) {
                commit(&mut writer, &reach).map_err(internal)?;
                uncommitted = 0;
            }
            if written - told >= PROGRESS_DOCS {
                told = written;
                tracing::info!(tenant = %self.tenant, nodes = written, up_to = reach.next, "the text index is being written");
            }
            if last || closing {
                break;
            }
        }
        // Merges that were begun are finished, so that the number of segments stays small.
        guarded(|| Ok(writer.wait_merging_threads()?)).map_err(internal)?;
        tracing::debug!(
            tenant = %self.tenant, nodes = written, up_to = reach.next, ms = begun.elapsed().as_millis() as u64,
            "the text index was written"
        );
        Ok(reach.next)
    }

    fn add(&self, writer: &IndexWriter, fields: Fields, reach: &mut Reach, page: &Extract) -> Outcome<()> {
        for doc in &page.docs {
            let mut document = TantivyDocument::default();
            document.add_u64(fields.id, doc.id);
            document.add_u64(fields.event_type, u64::from(doc.event_type));
            document.add_u64(fields.session_id, u64::from(doc.session_id));
            document.add_i64(fields.created_at, doc.created_at);
            document.add_text(fields.content, &doc.content);
            writer.add_document(document)?;
        }
        if let Some(last) = page.docs.last() {
            reach.anchor = Some(Anchor::of(last));
        }
        for (_, id) in &page.erased {
            // Later ones were never added: this page's nodes are of the same snapshot.
            if *id < reach.next {
                writer.delete_term(Term::from_field_u64(fields.id, *id));
            }
            if reach.anchor.as_ref().is_some_and(|anchor| anchor.id == *id) {
                reach.anchor = None;
            }
        }
        (reach.next, reach.mark) = page.reach(reach.next, reach.mark);
        Ok(())
    }
}

impl Extract {
    /// How far an index reaches with this page, that reached so far without it.
    fn reach(&self, next: u64, mark: i64) -> (u64, i64) {
        let mut next = self.docs.last().map_or(next, |last| next.max(last.id + 1));
        if self.docs.len() < PAGE_DOCS {
            // All nodes of the snapshot are in, so those that are forgotten are done with as well, even the newest.
            let newest = self.erased.iter().map(|(_, id)| id + 1).max();
            next = next.max(newest.unwrap_or_default());
        }
        (next, self.erased.last().map_or(mark, |(newest, _)| *newest))
    }

    fn is_last(&self) -> bool {
        self.docs.len() < PAGE_DOCS && self.erased.len() < PAGE_ERASED
    }
}

fn commit(writer: &mut IndexWriter, reach: &Reach) -> Outcome<()> {
    guarded(|| {
        let payload = serde_json::to_string(reach).map_err(|error| Damage(error.to_string()))?;
        let mut prepared = writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        Ok(())
    })
}

fn internal(damage: Damage) -> Error {
    Error::internal(damage.0)
}

/// The folder is its owner's alone: words are as private as the texts they come from.
fn make_folder(folder: &Path) -> Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::internal)
}

/// Removes all files of an index. Who has them open keeps what it has mapped.
fn wipe(folder: &Path) -> Result<()> {
    // First the file that names the others, so that nobody opens half an index.
    let _ = fs::remove_file(folder.join("meta.json"));
    for entry in fs::read_dir(folder).map_err(Error::internal)? {
        let path = entry.map_err(Error::internal)?.path();
        if path.is_file() {
            fs::remove_file(path).map_err(Error::internal)?;
        }
    }
    Ok(())
}

/// The right to write a tenant's index, over all processes. The system takes it back when a process dies.
struct Lock {
    _file: File,
}

impl Lock {
    /// None if somebody else has it.
    fn take(folder: &Path) -> Result<Option<Lock>> {
        let mut name = folder.as_os_str().to_owned();
        name.push(".lock");
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(PathBuf::from(name))
            .map_err(Error::internal)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(Error::internal(error)),
        }
    }
}
