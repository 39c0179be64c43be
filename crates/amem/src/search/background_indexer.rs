//! Writes text indexes in the background, in whichever process gets the lock.
//!
//! At most one thread per process. It ends when the queue is empty, which frees the writer's memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quad_core::lock::MutexExt as _;
use quad_core::{Error, Result, TenantId};
use tantivy::indexer::IndexWriterOptions;
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

use super::docs::{DocPage, DocSource, PageRequest, SnapshotPerCall};
use super::index::{self, Fields, IndexError, IndexResult, LastDoc, Watermark, catch_panic};
use super::index_stat::IndexFileStat;
use super::limits::{BACKOFF_SECONDS, COMMIT_DOCS, PAGE_DELETIONS, PAGE_DOCS, PROGRESS_DOCS, WRITER_BYTES};
use super::text_index::{FlushThreshold, MaintenanceTask, TextIndex};

/// The queue of maintenance tasks and the thread that runs them.
pub(crate) struct BackgroundIndexer {
    shared: Arc<IndexerState>,
}

struct IndexerState {
    source: Arc<dyn DocSource>,
    queue: Mutex<Queue>,
    idle: Condvar,
    closing: AtomicBool,
}

#[derive(Default)]
struct Queue {
    pending: BTreeMap<TenantId, (Arc<TextIndex>, MaintenanceTask)>,
    /// The earliest time of the next attempt for tenants whose task failed. Without it, a full disk would start a
    /// thread on every search.
    retry_after: BTreeMap<TenantId, Instant>,
    running: bool,
}

impl BackgroundIndexer {
    pub fn new(source: Arc<dyn DocSource>) -> BackgroundIndexer {
        let shared = IndexerState {
            source,
            queue: Mutex::default(),
            idle: Condvar::new(),
            closing: AtomicBool::new(false),
        };
        BackgroundIndexer { shared: Arc::new(shared) }
    }

    /// Queues a task and returns at once.
    pub fn enqueue(&self, tenant: &TenantId, text_index: &Arc<TextIndex>, task: MaintenanceTask) {
        if task.is_empty() {
            return;
        }
        let mut queue = self.shared.queue.lock_unpoisoned();
        if queue.retry_after.get(tenant).is_some_and(|retry_at| Instant::now() < *retry_at) {
            return;
        }
        let (_, pending_task) = queue
            .pending
            .entry(tenant.clone())
            .or_insert_with(|| (text_index.clone(), MaintenanceTask::default()));
        pending_task.flush |= task.flush;
        pending_task.verify |= task.verify;
        pending_task.rebuild = task.rebuild.or(pending_task.rebuild.take());
        if !queue.running {
            let shared = self.shared.clone();
            let thread =
                std::thread::Builder::new().name("text-index".to_owned()).spawn(move || shared.run_queue());
            match thread {
                Ok(_) => queue.running = true,
                Err(error) => {
                    tracing::warn!(%error, "the text index is not written: no thread can be started")
                }
            }
        }
    }

    /// Waits until the queue is empty.
    pub fn wait_idle(&self) {
        let mut queue = self.shared.queue.lock_unpoisoned();
        while queue.running {
            queue = self.shared.idle.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for BackgroundIndexer {
    fn drop(&mut self) {
        // The thread stops at its next page. Commits are atomic, so none is half written.
        self.shared.closing.store(true, Ordering::Relaxed);
    }
}

impl IndexerState {
    fn run_queue(&self) {
        loop {
            let mut queue = self.queue.lock_unpoisoned();
            let next = queue.pending.pop_first();
            let Some((tenant, (text_index, task))) = next.filter(|_| !self.closing.load(Ordering::Relaxed))
            else {
                queue.pending.clear();
                queue.running = false;
                self.idle.notify_all();
                return;
            };
            drop(queue);
            let job = IndexJob {
                source: &*self.source,
                tenant: &tenant,
                folder: &text_index.folder,
                threshold: text_index.threshold,
                closing: &self.closing,
            };
            match catch_panic(|| Ok(job.run(&task))) {
                Ok(Ok(indexed_up_to)) => {
                    indexed_up_to.into_iter().for_each(|next_id| text_index.set_indexed_up_to(next_id))
                }
                Ok(Err(error)) => self.back_off(&tenant, &format!("{error}: {}", error.cause_chain())),
                Err(panic) => self.back_off(&tenant, &panic.to_string()),
            }
        }
    }

    fn back_off(&self, tenant: &TenantId, error: &str) {
        tracing::warn!(%tenant, error, "the text index could not be written; searches read the database meanwhile");
        let mut queue = self.queue.lock_unpoisoned();
        queue.retry_after.retain(|_, retry_at| *retry_at > Instant::now());
        queue.retry_after.insert(tenant.clone(), Instant::now() + Duration::from_secs(BACKOFF_SECONDS));
    }
}

/// One task of one tenant.
struct IndexJob<'a> {
    source: &'a dyn DocSource,
    tenant: &'a TenantId,
    folder: &'a Path,
    threshold: FlushThreshold,
    closing: &'a AtomicBool,
}

impl IndexJob<'_> {
    /// Runs the task. Returns the first node id that the index does not have, if known.
    fn run(&self, task: &MaintenanceTask) -> Result<Option<u64>> {
        create_folder(self.folder)?;
        let Some(_lock) = IndexLock::try_acquire(self.folder)? else {
            // The holder of the lock does the same work.
            return Ok(None);
        };
        let is_valid = self.validate(task)?;
        if !is_valid {
            remove_files(self.folder)?;
        }
        let opened = match index::open(self.folder) {
            Ok(found) => found,
            Err(damage) => {
                self.log_corrupt(&damage);
                remove_files(self.folder)?;
                None
            }
        };
        let (watermark, index) = match opened {
            Some((index, fields, watermark)) => (watermark, Some((index, fields))),
            None => (Watermark::empty(), None),
        };
        let pages = self.read_pending(&watermark)?;
        let doc_count: usize = pages.iter().map(|page| page.docs.len()).sum();
        let bytes: usize = pages.iter().flat_map(|page| &page.docs).map(|doc| doc.content.len()).sum();
        let deletion_count: usize = pages.iter().map(|page| page.deleted.len()).sum();
        if !self.threshold.is_reached(doc_count.max(deletion_count), bytes) {
            return Ok(Some(watermark.next_id));
        }
        let (index, fields) = match index {
            Some(index) => index,
            None => {
                // Removes the files of a build that was interrupted before its first commit.
                remove_files(self.folder)?;
                index::create(self.folder).map_err(internal_error)?
            }
        };
        self.write_pages(&index, fields, watermark, pages).map(Some)
    }

    /// Whether the index is valid and can be kept.
    fn validate(&self, task: &MaintenanceTask) -> Result<bool> {
        if task.rebuild.is_some() && task.rebuild == IndexFileStat::read(self.folder) {
            return Ok(false);
        }
        if !task.verify {
            return Ok(true);
        }
        if let Err(damage) = index::verify_checksums(self.folder) {
            self.log_corrupt(&damage);
            return Ok(false);
        }
        let Ok(Some((_, _, watermark))) = index::open(self.folder) else { return Ok(true) };
        let matches_database =
            watermark.matches_database(&mut SnapshotPerCall { source: self.source, tenant: self.tenant })?;
        if !matches_database {
            self.log_corrupt(&IndexError("it was built from other nodes than the database has".to_owned()));
        }
        Ok(matches_database)
    }

    fn log_corrupt(&self, damage: &IndexError) {
        tracing::warn!(tenant = %self.tenant, %damage, "the text index is damaged and is being rebuilt");
    }

    /// Reads pages until there is enough to write, or nothing more.
    fn read_pending(&self, watermark: &Watermark) -> Result<Vec<DocPage>> {
        let mut pages = Vec::new();
        let (mut next_id, mut position, mut doc_count, mut bytes) =
            (watermark.next_id, watermark.deletions_seen, 0, 0);
        loop {
            let page = self.read_page(next_id, position)?;
            doc_count += page.docs.len();
            bytes += page.docs.iter().map(|doc| doc.content.len()).sum::<usize>();
            (next_id, position) = page.watermark_after(next_id, position);
            let is_last = page.is_last();
            pages.push(page);
            if is_last || self.threshold.is_reached(doc_count, bytes) {
                return Ok(pages);
            }
        }
    }

    /// Added and deleted nodes from one snapshot. A node deleted later appears in a later page.
    fn read_page(&self, next_id: u64, position: i64) -> Result<DocPage> {
        let request = PageRequest {
            after_id: next_id.checked_sub(1),
            max_docs: PAGE_DOCS,
            after_position: position,
            max_deleted: PAGE_DELETIONS,
        };
        self.source.read_page(self.tenant, request)
    }

    fn write_pages(
        &self,
        index: &Index,
        fields: Fields,
        mut watermark: Watermark,
        first_pages: Vec<DocPage>,
    ) -> Result<u64> {
        let started_at = Instant::now();
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .build();
        let mut writer: IndexWriter =
            index.writer_with_options(options).map_err(|error| internal_error(error.into()))?;
        let mut pages = first_pages.into_iter();
        let (mut written, mut uncommitted, mut last_logged) = (0_u64, 0_usize, 0_u64);
        loop {
            let page = match pages.next() {
                Some(page) => page,
                None => self.read_page(watermark.next_id, watermark.deletions_seen)?,
            };
            let is_last = pages.len() == 0 && page.is_last();
            self.add_page(&writer, fields, &mut watermark, &page).map_err(internal_error)?;
            written += page.docs.len() as u64;
            uncommitted += page.docs.len() + page.deleted.len();
            let closing = self.closing.load(Ordering::Relaxed);
            if uncommitted > 0 && (is_last || closing || uncommitted >= COMMIT_DOCS) {
                commit(&mut writer, &watermark).map_err(internal_error)?;
                uncommitted = 0;
            }
            if written - last_logged >= PROGRESS_DOCS {
                last_logged = written;
                tracing::info!(tenant = %self.tenant, nodes = written, up_to = watermark.next_id, "the text index is being written");
            }
            if is_last || closing {
                break;
            }
        }
        // Waits for running merges, which keep the number of segments small.
        catch_panic(|| Ok(writer.wait_merging_threads()?)).map_err(internal_error)?;
        tracing::debug!(
            tenant = %self.tenant, nodes = written, up_to = watermark.next_id, ms = started_at.elapsed().as_millis() as u64,
            "the text index was written"
        );
        Ok(watermark.next_id)
    }

    fn add_page(
        &self,
        writer: &IndexWriter,
        fields: Fields,
        watermark: &mut Watermark,
        page: &DocPage,
    ) -> IndexResult<()> {
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
            watermark.last_doc = Some(LastDoc::from_doc(last));
        }
        for (_, id) in &page.deleted {
            // Deleted nodes above this id were never added: the page's nodes are from the same snapshot.
            if *id < watermark.next_id {
                writer.delete_term(Term::from_field_u64(fields.id, *id));
            }
            if watermark.last_doc.as_ref().is_some_and(|doc| doc.id == *id) {
                watermark.last_doc = None;
            }
        }
        (watermark.next_id, watermark.deletions_seen) =
            page.watermark_after(watermark.next_id, watermark.deletions_seen);
        Ok(())
    }
}

impl DocPage {
    /// The watermark of an index after it took in this page.
    fn watermark_after(&self, next_id: u64, position: i64) -> (u64, i64) {
        let mut next_id = self.docs.last().map_or(next_id, |last| next_id.max(last.id + 1));
        if self.docs.len() < PAGE_DOCS {
            // The page has all nodes of the snapshot, so the deleted ids up to its end are done, including the
            // largest.
            let end_of_deletions = self.deleted.iter().map(|(_, id)| id + 1).max();
            next_id = next_id.max(end_of_deletions.unwrap_or_default());
        }
        (next_id, self.deleted.last().map_or(position, |(newest, _)| *newest))
    }

    fn is_last(&self) -> bool {
        self.docs.len() < PAGE_DOCS && self.deleted.len() < PAGE_DELETIONS
    }
}

fn commit(writer: &mut IndexWriter, watermark: &Watermark) -> IndexResult<()> {
    catch_panic(|| {
        let payload = serde_json::to_string(watermark).map_err(|error| IndexError(error.to_string()))?;
        let mut prepared = writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        Ok(())
    })
}

fn internal_error(damage: IndexError) -> Error {
    Error::internal(damage.0)
}

/// Only the owner may read the folder: an index reveals as much as the texts.
fn create_folder(folder: &Path) -> Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::internal)
}

/// Removes all files of an index. A process that has them mapped can still read them.
fn remove_files(folder: &Path) -> Result<()> {
    // The file that lists the others goes first, so that no process opens a part of an index.
    let _ = fs::remove_file(folder.join("meta.json"));
    for entry in fs::read_dir(folder).map_err(Error::internal)? {
        let path = entry.map_err(Error::internal)?.path();
        if path.is_file() {
            fs::remove_file(path).map_err(Error::internal)?;
        }
    }
    Ok(())
}

/// The lock for writing a tenant's index, across processes. The operating system releases it when a process dies.
struct IndexLock {
    _file: File,
}

impl IndexLock {
    /// `None` if another process or thread holds it.
    fn try_acquire(folder: &Path) -> Result<Option<IndexLock>> {
        let mut path = folder.as_os_str().to_owned();
        path.push(".lock");
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(PathBuf::from(path))
            .map_err(Error::internal)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(IndexLock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(Error::internal(error)),
        }
    }
}
