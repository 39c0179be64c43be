//! The commit thread: one per process, turns a queue of jobs into group commits.
//!
//! A batch is everything queued during the last commit, plus what arrives within
//! [`BATCH_WAIT_MAX`](limits::BATCH_WAIT_MAX). A lone caller does not wait. On SQLite this thread runs all
//! transactions. On PostgreSQL it commits the audit events of reads, and each transaction commits on a connection of
//! its own. The events of calls that are already answered ([`DeferredEvents`]) go into the next commit, whatever it
//! is for.

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
use crate::metrics::CommitMetrics;
use crate::recent_changes::RecentChanges;
use crate::wal_checkpoint::CheckpointSignal;

/// The handle of the commit thread.
#[derive(Clone)]
pub(crate) struct CommitQueue {
    sender: mpsc::Sender<CommitCommand>,
    deferred: Arc<DeferredEvents>,
    runtime: Handle,
}

/// A message to the commit thread.
enum CommitCommand {
    /// Commit a job.
    Run(CommitJob),
    /// Grant a head lease.
    Lease(LeaseRequest),
    /// Write the deferred events, and reply when that is done.
    Flush(Option<oneshot::Sender<()>>),
    /// Commit something small, and reply whether that worked.
    CheckWritable(oneshot::Sender<Result<()>>),
}

impl CommitQueue {
    /// Queues a job, or returns it if the queue is full or the thread has ended.
    pub(crate) fn try_push(&self, job: CommitJob) -> Result<(), CommitJob> {
        match self.sender.try_reserve() {
            Ok(permit) => {
                permit.send(CommitCommand::Run(job));
                Ok(())
            }
            Err(_) => Err(job),
        }
    }

    /// Queues a job; waits while the queue is full.
    pub(crate) async fn push(&self, job: CommitJob) -> Result<()> {
        self.sender.send(CommitCommand::Run(job)).await.map_err(|_| writer_stopped())
    }

    /// Queues a request for a head lease.
    pub(crate) async fn request_lease(&self, request: LeaseRequest) -> Result<()> {
        self.sender.send(CommitCommand::Lease(request)).await.map_err(|_| writer_stopped())
    }

    /// Accepts the event of a call that is about to be answered, or returns it if the call must wait for the commit.
    pub(crate) fn push_deferred(&self, job: Box<AuditJob>) -> Result<(), Box<AuditJob>> {
        match self.deferred.push(job)? {
            FlushSignal::None => {}
            FlushSignal::Delayed => {
                flush_after(limits::DEFERRED_FLUSH_DELAY, self.sender.downgrade(), &self.runtime)
            }
            // If the queue is full, a commit follows anyway.
            FlushSignal::Now => drop(self.sender.try_send(CommitCommand::Flush(None))),
        }
        Ok(())
    }

    /// Commits something small on the connection of the commit thread.
    pub(crate) async fn check_writable(&self) -> Result<()> {
        let (reply, checked) = oneshot::channel();
        self.sender.send(CommitCommand::CheckWritable(reply)).await.map_err(|_| writer_stopped())?;
        checked.await.map_err(|_| writer_stopped())?
    }

    /// Events of answered calls that are not written yet.
    pub(crate) fn deferred_len(&self) -> usize {
        self.deferred.len()
    }

    /// Commands in the queue.
    pub(crate) fn len(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }

    /// Returns when an attempt was made to write every event that was accepted before the call.
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
            // The thread ends only with the store, after it has written everything.
            let _ = sender.send(CommitCommand::Flush(None)).await;
        }
    });
}

fn writer_stopped() -> Error {
    Error::internal("the commit thread has stopped")
}

/// An estimate of the load, which decides whether waiting for a larger batch is worth it.
#[derive(Default)]
struct LoadEstimate {
    /// Jobs of the last batch, plus those queued during its commit.
    callers: usize,
    /// Duration of the last commit.
    last_commit: Duration,
}

impl LoadEstimate {
    /// At most two commits: that is what a caller waits that just misses this batch.
    fn max_batch_wait(&self) -> Duration {
        (2 * self.last_commit).min(limits::BATCH_WAIT_MAX)
    }
}

/// The batch that is being filled.
#[derive(Default)]
struct PendingBatch {
    jobs: VecDeque<CommitJob>,
    lease_requests: Vec<LeaseRequest>,
    flush_waiters: Vec<oneshot::Sender<()>>,
    writable_checks: Vec<oneshot::Sender<Result<()>>>,
    /// Commit deferred events even if there is no job.
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
            CommitCommand::CheckWritable(reply) => self.writable_checks.push(reply),
        }
    }

    fn is_idle(&self) -> bool {
        self.jobs.is_empty()
            && self.lease_requests.is_empty()
            && self.writable_checks.is_empty()
            && !self.flush_requested
    }

    fn drain_queue(&mut self, receiver: &mut mpsc::Receiver<CommitCommand>) {
        while self.jobs.len().max(self.lease_requests.len()) < limits::BATCH_JOBS_MAX
            && let Ok(command) = receiver.try_recv()
        {
            self.add(command);
        }
    }

    /// Takes what is queued, then waits for more. A commit costs about the same for one job as for many, and the
    /// callers of the last batch are likely to return at once. The wait ends when as many jobs are here as in the
    /// last batch, when a step brings no new job, or after `max_batch_wait`. With a lease request there is no wait.
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

/// The state of the thread.
struct CommitThread<C> {
    connect: C,
    connection: Connection,
    recent_changes: Arc<RecentChanges>,
    mode: Arc<AtomicAuditMode>,
    deferred: Arc<DeferredEvents>,
    checkpoint_signal: Option<Arc<CheckpointSignal>>,
    metrics: CommitMetrics,
    /// Weak, so that the thread does not keep its own queue open.
    retry_sender: mpsc::WeakSender<CommitCommand>,
    runtime: Handle,
}

/// Starts the thread. It ends when every queue handle is dropped and the last job is done.
pub(crate) fn start(
    connect: impl FnMut() -> Result<Connection> + Send + 'static,
    connection: Connection,
    recent_changes: Arc<RecentChanges>,
    mode: Arc<AtomicAuditMode>,
    checkpoint_signal: Option<Arc<CheckpointSignal>>,
    metrics: CommitMetrics,
    runtime: Handle,
) -> Result<CommitQueue> {
    let (sender, receiver) = mpsc::channel(limits::QUEUE_JOBS_MAX);
    let deferred = Arc::new(DeferredEvents::default());
    let queue = CommitQueue { sender, deferred: deferred.clone(), runtime: runtime.clone() };
    let retry_sender = queue.sender.downgrade();
    let thread = CommitThread {
        connect,
        connection,
        recent_changes,
        mode,
        deferred,
        checkpoint_signal,
        metrics,
        retry_sender,
        runtime,
    };
    std::thread::Builder::new()
        .name("quad-writer".to_owned())
        .spawn(move || thread.run(receiver))
        .map_err(Error::internal)?;
    Ok(queue)
}

impl<C: FnMut() -> Result<Connection>> CommitThread<C> {
    fn run(mut self, mut receiver: mpsc::Receiver<CommitCommand>) {
        let mut batch = PendingBatch::default();
        let mut load = LoadEstimate::default();
        loop {
            if batch.is_idle() {
                match receiver.blocking_recv() {
                    Some(command) => batch.add(command),
                    // All handles are dropped. Deferred events are still written, unless that keeps failing.
                    None if self.deferred.is_empty() || self.deferred.is_failing() => return,
                    None => batch.flush_requested = true,
                }
            }
            batch.fill_batch(&mut receiver, &load);
            let connected = self.reconnect_if_dead();
            self.check_writable(std::mem::take(&mut batch.writable_checks), &connected);
            let requests = std::mem::take(&mut batch.lease_requests);
            // Without a connection the requests are dropped, and the reads are computed without a lease.
            if !requests.is_empty() && connected.is_ok() {
                head_lease::grant_leases(&mut self.connection, &self.recent_changes, requests);
            }
            load = self.commit(&mut batch, &receiver, connected);
        }
    }

    /// One commit for all checks whose callers still wait.
    fn check_writable(&mut self, mut checks: Vec<oneshot::Sender<Result<()>>>, connected: &Result<()>) {
        checks.retain(|reply| !reply.is_closed());
        if checks.is_empty() {
            return;
        }
        let outcome = match connected {
            Ok(()) => self.connection.probe_commit().map_err(Error::from),
            Err(error) => Err(error.duplicate()),
        };
        for reply in checks {
            // The caller may be gone.
            let _ = reply.send(outcome.as_ref().copied().map_err(Error::duplicate));
        }
    }

    /// The error says why there is no connection.
    fn reconnect_if_dead(&mut self) -> Result<()> {
        if !self.connection.is_alive() {
            self.connection = (self.connect)().inspect_err(|error| {
                tracing::error!(cause = error.cause_chain(), "cannot connect to the database");
            })?;
        }
        Ok(())
    }

    /// Commits the oldest deferred events together with the jobs of the batch.
    fn commit(
        &mut self,
        batch: &mut PendingBatch,
        receiver: &mpsc::Receiver<CommitCommand>,
        connected: Result<()>,
    ) -> LoadEstimate {
        let (batch_size, start) = (batch.jobs.len(), Instant::now());
        let deferred_jobs = self.deferred.take();
        let has_more = deferred_jobs.len() == limits::BATCH_JOBS_MAX;
        let jobs: Vec<CommitJob> =
            deferred_jobs.into_iter().map(CommitJob::AuditEvent).chain(batch.jobs.drain(..)).collect();
        let (has_jobs, job_count) = (!jobs.is_empty(), jobs.len());
        let remainder = match connected {
            _ if !has_jobs => commit::BatchRemainder::default(),
            Ok(()) => commit::commit_batch(&mut self.connection, &self.recent_changes, self.mode.get(), jobs),
            Err(error) => commit::BatchRemainder {
                requeue: Vec::new(),
                unwritten_events: commit::fail_all(jobs, error),
            },
        };
        let load = LoadEstimate { callers: batch_size + receiver.len(), last_commit: start.elapsed() };
        if has_jobs {
            self.metrics.record(job_count, load.last_commit);
        }
        batch.jobs.extend(remainder.requeue);
        if remainder.unwritten_events.is_empty() {
            self.deferred.mark_flushed();
        } else {
            self.deferred.requeue(remainder.unwritten_events);
            flush_after(limits::DEFERRED_RETRY_DELAY, self.retry_sender.clone(), &self.runtime);
        }
        batch.flush_requested = has_more && !self.deferred.is_failing();
        if !batch.flush_requested {
            for waiter in batch.flush_waiters.drain(..) {
                // The caller may be gone.
                let _ = waiter.send(());
            }
        }
        if let (Some(signal), true) = (&self.checkpoint_signal, has_jobs) {
            signal.on_commit(&mut self.connection);
        }
        load
    }
}
