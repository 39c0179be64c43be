//! The writer: one thread a process that turns a queue into commits.
//!
//! The next group is what queued during the last commit, and whoever of the crowd comes back while the writer rests for a moment;
//! a lone caller waits for nothing. On SQLite it runs everything that writes. On
//! PostgreSQL it runs the audit events of reads, while each mutation commits on a connection of its own. The events of calls that
//! have been answered already ([`DeferredEvents`]) ride with whatever is committed next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::{Error, Result};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::audit_mode::AtomicAuditMode;
use crate::commit::{self, AuditJob, CommitJob};
use crate::connection::Connection;
use crate::deferred_audit::{DeferredEvents, FlushSignal};
use crate::head_lease::{self, LeaseRequest};
use crate::limits;
use crate::recent_changes::RecentChanges;
use crate::wal_checkpoint::CheckpointSignal;

/// Where jobs go in.
#[derive(Clone)]
pub(crate) struct CommitQueue {
    sender: mpsc::Sender<CommitCommand>,
    deferred: Arc<DeferredEvents>,
    runtime: Handle,
}

/// What the writer is told.
enum CommitCommand {
    /// To do a job.
    Run(CommitJob),
    /// To hold the head for an answer.
    Lease(LeaseRequest),
    /// To write what waits, and to tell somebody when that is done.
    Flush(Option<oneshot::Sender<()>>),
}

impl CommitQueue {
    /// Hands a job to the writer, or gives it back if there is no room in the queue or no writer any more.
    pub(crate) fn try_push(&self, job: CommitJob) -> Result<(), CommitJob> {
        match self.sender.try_reserve() {
            Ok(permit) => {
                permit.send(CommitCommand::Run(job));
                Ok(())
            }
            Err(_) => Err(job),
        }
    }

    /// Hands a job to the writer, waiting while the queue is full.
    pub(crate) async fn push(&self, job: CommitJob) -> Result<()> {
        self.sender.send(CommitCommand::Run(job)).await.map_err(|_| writer_stopped())
    }

    /// Asks the writer to hold the head.
    pub(crate) async fn request_lease(&self, request: LeaseRequest) -> Result<()> {
        self.sender.send(CommitCommand::Lease(request)).await.map_err(|_| writer_stopped())
    }

    /// Takes the event of a call that is about to be answered. Gives it back where the call must wait for it.
    pub(crate) fn push_deferred(&self, job: Box<AuditJob>) -> Result<(), Box<AuditJob>> {
        match self.deferred.push(job)? {
            FlushSignal::None => {}
            FlushSignal::Delayed => {
                flush_after(limits::DEFERRED_FLUSH_DELAY, self.sender.downgrade(), &self.runtime)
            }
            // A queue that is full has a commit ahead of it anyway.
            FlushSignal::Now => drop(self.sender.try_send(CommitCommand::Flush(None))),
        }
        Ok(())
    }

    /// Returns when every event that has been taken so far is written, or could not be.
    pub(crate) async fn flush_audit(&self) -> Result<()> {
        let (reply, flushed) = oneshot::channel();
        self.sender.send(CommitCommand::Flush(Some(reply))).await.map_err(|_| writer_stopped())?;
        flushed.await.map_err(|_| writer_stopped())
    }
}

fn flush_after(delay: Duration, sender: mpsc::WeakSender<CommitCommand>, runtime: &Handle) {
    runtime.spawn(async move {
        tokio::time::sleep(delay).await;
        if let Some(sender) = sender.upgrade() {
            // Gone only with the store, and then the writer has written everything.
            let _ = sender.send(CommitCommand::Flush(None)).await;
        }
    });
}

fn writer_stopped() -> Error {
    Error::internal("the database writer has stopped")
}

/// How many callers there seem to be, and how long a commit takes: what tells whether waiting for the rest is worth while.
#[derive(Default)]
struct LoadEstimate {
    /// Those of the last group and those who queued while it was committed.
    callers: usize,
    /// How long the last commit took.
    last_commit: Duration,
}

impl LoadEstimate {
    /// How long to let the rest come in: no longer than two commits take, which is what those pay who come a moment too late.
    fn max_batch_wait(&self) -> Duration {
        (2 * self.last_commit).min(limits::BATCH_WAIT_MAX)
    }
}

/// What has been taken from the queue and is not done yet.
#[derive(Default)]
struct PendingBatch {
    jobs: VecDeque<CommitJob>,
    lease_requests: Vec<LeaseRequest>,
    flush_waiters: Vec<oneshot::Sender<()>>,
    /// Whether there is a reason to write although no job asks for it.
    flush_requested: bool,
}

impl PendingBatch {
    fn add(&mut self, command: CommitCommand) {
        match command {
            CommitCommand::Run(job) => self.jobs.push_back(job),
            CommitCommand::Lease(request) => self.lease_requests.push(request),
            CommitCommand::Flush(reply) => {
                self.flush_waiters.extend(reply);
                self.flush_requested = true;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.lease_requests.is_empty() && !self.flush_requested
    }

    fn drain_queue(&mut self, receiver: &mut mpsc::Receiver<CommitCommand>) {
        while self.jobs.len().max(self.lease_requests.len()) < limits::BATCH_JOBS_MAX
            && let Ok(command) = receiver.try_recv()
        {
            self.add(command);
        }
    }

    /// Takes what has queued. A commit costs about as much for one as for many, and those whom the last one has answered are likely
    /// to be back at once: as long as some are missing and more come in, the writer rests for a moment, but not while somebody wants a
    /// hold.
    fn fill_batch(&mut self, receiver: &mut mpsc::Receiver<CommitCommand>, load: &LoadEstimate) {
        self.drain_queue(receiver);
        if !self.lease_requests.is_empty() {
            return;
        }
        let max_wait = load.max_batch_wait();
        let step = max_wait / limits::BATCH_WAIT_STEPS;
        let start = Instant::now();
        while self.jobs.len() < load.callers.min(limits::BATCH_JOBS_MAX) && start.elapsed() < max_wait {
            let jobs_before = self.jobs.len();
            std::thread::sleep(step);
            self.drain_queue(receiver);
            if self.jobs.len() == jobs_before {
                return;
            }
        }
    }
}

/// Starts the writer. It ends when every queue handle is gone and the last job is done.
pub(crate) fn start(
    mut connect: impl FnMut() -> Result<Connection> + Send + 'static,
    connection: Connection,
    recent_changes: Arc<RecentChanges>,
    mode: Arc<AtomicAuditMode>,
    checkpoint_signal: Option<Arc<CheckpointSignal>>,
    runtime: Handle,
) -> Result<CommitQueue> {
    let (sender, mut receiver) = mpsc::channel(limits::QUEUE_JOBS_MAX);
    let deferred = Arc::new(DeferredEvents::default());
    let queue = CommitQueue { sender, deferred: deferred.clone(), runtime: runtime.clone() };
    let retry_sender = queue.sender.downgrade();
    let run = move || {
        let mut connection = connection;
        let mut batch = PendingBatch::default();
        let mut load = LoadEstimate::default();
        loop {
            if batch.is_idle() {
                match receiver.blocking_recv() {
                    Some(command) => batch.add(command),
                    // Nobody can ask any more; what was answered is still written.
                    None if deferred.is_empty() || deferred.is_failing() => return,
                    None => batch.flush_requested = true,
                }
            }
            batch.fill_batch(&mut receiver, &load);
            if !connection.is_alive() {
                match connect() {
                    Ok(fresh) => connection = fresh,
                    Err(error) => {
                        tracing::error!(cause = error.cause_chain(), "the database cannot be reached")
                    }
                }
            }
            if !batch.lease_requests.is_empty() {
                head_lease::grant_leases(
                    &mut connection,
                    &recent_changes,
                    std::mem::take(&mut batch.lease_requests),
                );
            }
            let deferred_jobs = deferred.take();
            let has_more = deferred_jobs.len() == limits::BATCH_JOBS_MAX;
            let (batch_size, start) = (batch.jobs.len(), Instant::now());
            let jobs: Vec<CommitJob> =
                deferred_jobs.into_iter().map(CommitJob::AuditEvent).chain(batch.jobs.drain(..)).collect();
            let has_jobs = !jobs.is_empty();
            let remainder = match has_jobs {
                true => commit::commit_batch(&mut connection, &recent_changes, mode.get(), jobs),
                false => commit::BatchRemainder::default(),
            };
            load = LoadEstimate { callers: batch_size + receiver.len(), last_commit: start.elapsed() };
            batch.jobs.extend(remainder.requeue);
            if remainder.unwritten_events.is_empty() {
                deferred.mark_flushed();
            } else {
                deferred.requeue(remainder.unwritten_events);
                flush_after(limits::DEFERRED_RETRY_DELAY, retry_sender.clone(), &runtime);
            }
            batch.flush_requested = has_more && !deferred.is_failing();
            if !batch.flush_requested {
                for waiter in batch.flush_waiters.drain(..) {
                    // Whoever has gone away need not know.
                    let _ = waiter.send(());
                }
            }
            if let (Some(signal), true) = (&checkpoint_signal, has_jobs) {
                signal.on_commit(&mut connection);
            }
        }
    };
    std::thread::Builder::new().name("quad-writer".to_owned()).spawn(run).map_err(Error::internal)?;
    Ok(queue)
}
