//! Prefetching: the next files are read and parsed while earlier ones are posted.
//!
//! A file that is posted in between may change the defaults that a prefetched file was parsed with, such as the column
//! mapping. The import job compares them and parses again if they differ.

use std::sync::Arc;

use quad_core::{Error, Result};
use quad_store::{Store, WriteContext};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::spawn_blocking;

use super::job::{ImportJob, Origin};
use super::parse::{load_defaults, mime_type, parse};
use super::{ImportFile, OPERATOR};
use crate::account::Account;
use crate::upload::Upload;
use crate::{entity, limits};

/// A parsed file.
pub(super) struct ParsedFile {
    pub(super) job: Arc<ImportJob>,
    /// The memory that it takes, in the budget of [`PREFETCHED_KIB`](limits::PREFETCHED_KIB).
    _permit: OwnedSemaphorePermit,
}

/// The files of an import, in order.
pub(super) struct Prefetcher {
    files: mpsc::Receiver<Result<ParsedFile>>,
    /// A file that was received but did not fit into the last batch.
    peeked: Option<Result<ParsedFile>>,
}

impl Prefetcher {
    pub(super) fn start(
        store: &Store,
        writer: &WriteContext,
        actor: &str,
        sources: impl Iterator<Item = Result<ImportFile>> + Send + 'static,
    ) -> Prefetcher {
        let (sender, files) = mpsc::channel(limits::PREFETCHED_FILES);
        let memory = Arc::new(Semaphore::new(limits::PREFETCHED_KIB as usize));
        let (store, writer, actor) = (store.clone(), writer.clone(), actor.to_owned());
        tokio::spawn(async move {
            let mut sources = sources;
            // The iterator may read files from a disk.
            while let Ok((Some(file), rest)) = spawn_blocking(move || (sources.next(), sources)).await {
                sources = rest;
                let parsed_file = match file {
                    Ok(file) => parse_file(&store, &writer, &actor, file, &memory).await,
                    Err(error) => Err(error),
                };
                let is_last = parsed_file.is_err();
                if sender.send(parsed_file).await.is_err() || is_last {
                    return;
                }
            }
        });
        Prefetcher { files, peeked: None }
    }

    /// The next file, or the error of reading or parsing it.
    pub(super) async fn next(&mut self) -> Option<Result<ParsedFile>> {
        match self.peeked.take() {
            Some(peeked) => Some(peeked),
            None => self.files.recv().await,
        }
    }

    /// `first` and the small files after it that are parsed already and fit into the same commit.
    pub(super) fn take_batch(&mut self, first: ParsedFile) -> Vec<ParsedFile> {
        let (mut entries, mut bytes) = (first.job.entry_count(), first.job.byte_count());
        let mut batch = vec![first];
        while let Ok(next) = self.files.try_recv() {
            match next {
                Ok(next) if next.job.fits_with(entries, bytes) => {
                    entries += next.job.entry_count();
                    bytes += next.job.byte_count();
                    batch.push(next);
                }
                other => {
                    self.peeked = Some(other);
                    break;
                }
            }
        }
        batch
    }
}

async fn parse_file(
    store: &Store,
    writer: &WriteContext,
    actor: &str,
    file: ImportFile,
    memory: &Arc<Semaphore>,
) -> Result<ParsedFile> {
    let kib = u32::try_from(file.bytes.len() / 1_024 + 1).unwrap_or(u32::MAX).min(limits::PREFETCHED_KIB);
    let permit = memory.clone().acquire_many_owned(kib).await.map_err(Error::internal)?;
    let account = file.options.account.clone();
    let defaults = store.read(&writer.tenant, move |sql| {
        if let Some(account) = &account {
            entity::get::<Account>(sql, account)?;
        }
        load_defaults(sql, account.as_deref())
    });
    let (defaults, actor) = (defaults.await?, actor.to_owned());
    let job = spawn_blocking(move || {
        let ImportFile { name, bytes, options } = file;
        let parsed = parse(&bytes, &options, &defaults)?;
        let upload = Upload::new(&actor, &name, mime_type(&parsed.document), bytes)?;
        let parsed = Arc::new(parsed);
        let origin = Origin::Upload { upload: Box::new(upload), defaults };
        Ok::<_, Error>(ImportJob { origin, parsed, options, trust: OPERATOR, actor })
    });
    let job = job.await.map_err(Error::internal)??;
    Ok(ParsedFile { job: Arc::new(job), _permit: permit })
}
