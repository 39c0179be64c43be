//! Reading ahead: while files are posted, the next are read and parsed.
//!
//! What is known of an account beforehand, such as how its last table was read, may be changed by a file in between; whoever posts
//! looks again.

use std::sync::Arc;

use quad_core::{Error, Result};
use quad_store::{Store, Writer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::spawn_blocking;

use super::filing::{Brought, Filing, Origin};
use super::reading::{known, mime_type, parse};
use super::{BY_PERSON, Source};
use crate::account::Account;
use crate::evidence::Evidence;
use crate::{limits, noun};

/// A file that is read.
pub(super) struct Opened {
    pub(super) filing: Arc<Filing>,
    /// The memory that it takes.
    _room: OwnedSemaphorePermit,
}

/// The files of an import in their order.
pub(super) struct Ahead {
    files: mpsc::Receiver<Result<Opened>>,
    /// One that was taken too early.
    held: Option<Result<Opened>>,
}

impl Ahead {
    pub(super) fn start(
        store: &Store,
        writer: &Writer,
        actor: &str,
        sources: impl Iterator<Item = Result<Source>> + Send + 'static,
    ) -> Ahead {
        let (sender, files) = mpsc::channel(limits::FILES_AHEAD);
        let room = Arc::new(Semaphore::new(limits::KIB_AHEAD as usize));
        let (store, writer, actor) = (store.clone(), writer.clone(), actor.to_owned());
        tokio::spawn(async move {
            let mut sources = sources;
            // Whoever lists the files may read them from a disk.
            while let Ok((Some(source), rest)) = spawn_blocking(move || (sources.next(), sources)).await {
                sources = rest;
                let opened = match source {
                    Ok(source) => open(&store, &writer, &actor, source, &room).await,
                    Err(error) => Err(error),
                };
                let is_last = opened.is_err();
                if sender.send(opened).await.is_err() || is_last {
                    return;
                }
            }
        });
        Ahead { files, held: None }
    }

    /// The next file, or why it is none.
    pub(super) async fn next(&mut self) -> Option<Result<Opened>> {
        match self.held.take() {
            Some(held) => Some(held),
            None => self.files.recv().await,
        }
    }

    /// A small file and those small ones behind it that are read already and fit into the same commit.
    pub(super) fn small_ones_behind(&mut self, first: Opened) -> Vec<Opened> {
        let (mut entries, mut bytes) = (first.filing.entries(), first.filing.bytes());
        let mut together = vec![first];
        while let Ok(next) = self.files.try_recv() {
            match next {
                Ok(next) if next.filing.shares(entries, bytes) => {
                    entries += next.filing.entries();
                    bytes += next.filing.bytes();
                    together.push(next);
                }
                other => {
                    self.held = Some(other);
                    break;
                }
            }
        }
        together
    }
}

async fn open(
    store: &Store,
    writer: &Writer,
    actor: &str,
    source: Source,
    room: &Arc<Semaphore>,
) -> Result<Opened> {
    let kib = u32::try_from(source.bytes.len() / 1_024 + 1).unwrap_or(u32::MAX).min(limits::KIB_AHEAD);
    let room = room.clone().acquire_many_owned(kib).await.map_err(Error::internal)?;
    let account = source.request.account.clone();
    let known = store.read(&writer.tenant, move |sql| {
        if let Some(account) = &account {
            noun::expect::<Account>(sql, account)?;
        }
        known(sql, account.as_deref())
    });
    let (known, actor) = (known.await?, actor.to_owned());
    let filing = spawn_blocking(move || {
        let Source { name, bytes, request } = source;
        let read = parse(&bytes, &request, &known)?;
        let evidence = Evidence::of(&actor, &name, mime_type(&read.document), bytes)?;
        let read = Arc::new(read);
        let origin = Origin::Brought(Box::new(Brought { evidence, known }));
        Ok::<_, Error>(Filing { origin, read, request, trust: BY_PERSON, actor })
    });
    let filing = filing.await.map_err(Error::internal)??;
    Ok(Opened { filing: Arc::new(filing), _room: room })
}
