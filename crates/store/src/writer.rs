//! The writer: one thread a process that turns a queue into commits.
//!
//! The next group is what queued during the last commit, and whoever of the crowd comes back while the writer rests for a moment;
//! a lone caller waits for nothing. On SQLite it runs everything that writes. On
//! PostgreSQL it runs the audit events of reads, while each mutation commits on a connection of its own. The events of calls that
//! have been answered already ([`Later`]) ride with whatever is committed next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::{Error, Result};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::audit_mode::Chosen;
use crate::checkpointer::Log;
use crate::commit::{self, Job, Record};
use crate::connection::Connection;
use crate::feed::Mirror;
use crate::hold::{self, Wanted};
use crate::later::{Later, Needs};
use crate::limits;

/// Where jobs go in.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: mpsc::Sender<Order>,
    later: Arc<Later>,
    runtime: Handle,
}

/// What the writer is told.
enum Order {
    /// To do a job.
    Do(Job),
    /// To hold the head for an answer.
    Hold(Wanted),
    /// To write what waits, and to tell somebody when that is done.
    Settle(Option<oneshot::Sender<()>>),
}

impl Queue {
    /// Hands a job to the writer, or gives it back if there is no room in the queue or no writer any more.
    pub(crate) fn try_push(&self, job: Job) -> Result<(), Job> {
        match self.sender.try_reserve() {
            Ok(place) => {
                place.send(Order::Do(job));
                Ok(())
            }
            Err(_) => Err(job),
        }
    }

    /// Hands a job to the writer, waiting while the queue is full.
    pub(crate) async fn push(&self, job: Job) -> Result<()> {
        self.sender.send(Order::Do(job)).await.map_err(|_| stopped())
    }

    /// Asks the writer to hold the head.
    pub(crate) async fn push_hold(&self, wanted: Wanted) -> Result<()> {
        self.sender.send(Order::Hold(wanted)).await.map_err(|_| stopped())
    }

    /// Takes the event of a call that is about to be answered. Gives it back where the call must wait for it.
    pub(crate) fn push_later(&self, record: Box<Record>) -> Result<(), Box<Record>> {
        match self.later.push(record)? {
            Needs::Nothing => {}
            Needs::Wait => settle_after(limits::LATER_WAIT, self.sender.downgrade(), &self.runtime),
            // A queue that is full has a commit ahead of it anyway.
            Needs::Commit => drop(self.sender.try_send(Order::Settle(None))),
        }
        Ok(())
    }

    /// Returns when every event that has been taken so far is written, or could not be.
    pub(crate) async fn settle(&self) -> Result<()> {
        let (reply, settled) = oneshot::channel();
        self.sender.send(Order::Settle(Some(reply))).await.map_err(|_| stopped())?;
        settled.await.map_err(|_| stopped())
    }
}

fn settle_after(wait: Duration, sender: mpsc::WeakSender<Order>, runtime: &Handle) {
    runtime.spawn(async move {
        tokio::time::sleep(wait).await;
        if let Some(sender) = sender.upgrade() {
            // Gone only with the store, and then the writer has written everything.
            let _ = sender.send(Order::Settle(None)).await;
        }
    });
}

fn stopped() -> Error {
    Error::internal("the database writer has stopped")
}

/// How many callers there seem to be, and how long a commit takes: what tells whether waiting for the rest is worth while.
#[derive(Default)]
struct Crowd {
    /// Those of the last group and those who queued while it was committed.
    callers: usize,
    /// How long the last commit took.
    commit: Duration,
}

impl Crowd {
    /// How long to let the rest come in: no longer than two commits take, which is what those pay who come a moment too late.
    fn patience(&self) -> Duration {
        (2 * self.commit).min(limits::GATHER_WAIT_MAX)
    }
}

/// What has been taken from the queue and is not done yet.
#[derive(Default)]
struct Taken {
    jobs: VecDeque<Job>,
    holds: Vec<Wanted>,
    settling: Vec<oneshot::Sender<()>>,
    /// Whether there is a reason to write although no job asks for it.
    is_told_to_settle: bool,
}

impl Taken {
    fn add(&mut self, order: Order) {
        match order {
            Order::Do(job) => self.jobs.push_back(job),
            Order::Hold(wanted) => self.holds.push(wanted),
            Order::Settle(reply) => {
                self.settling.extend(reply);
                self.is_told_to_settle = true;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.jobs.is_empty() && self.holds.is_empty() && !self.is_told_to_settle
    }

    fn take(&mut self, receiver: &mut mpsc::Receiver<Order>) {
        while self.jobs.len().max(self.holds.len()) < limits::GROUP_JOBS
            && let Ok(order) = receiver.try_recv()
        {
            self.add(order);
        }
    }

    /// Takes what has queued. A commit costs about as much for one as for many, and those whom the last one has answered are likely
    /// to be back at once: as long as some are missing and more come in, the writer rests for a moment, but not while somebody wants a
    /// hold.
    fn gather(&mut self, receiver: &mut mpsc::Receiver<Order>, crowd: &Crowd) {
        self.take(receiver);
        if !self.holds.is_empty() {
            return;
        }
        let patience = crowd.patience();
        let step = patience / limits::GATHER_STEPS;
        let start = Instant::now();
        while self.jobs.len() < crowd.callers.min(limits::GROUP_JOBS) && start.elapsed() < patience {
            let before = self.jobs.len();
            std::thread::sleep(step);
            self.take(receiver);
            if self.jobs.len() == before {
                return;
            }
        }
    }
}

/// Starts the writer. It ends when every queue handle is gone and the last job is done.
pub(crate) fn start(
    mut connect: impl FnMut() -> Result<Connection> + Send + 'static,
    connection: Connection,
    mirror: Arc<Mirror>,
    mode: Arc<Chosen>,
    log: Option<Arc<Log>>,
    runtime: Handle,
) -> Result<Queue> {
    let (sender, mut receiver) = mpsc::channel(limits::QUEUE_JOBS);
    let later = Arc::new(Later::default());
    let queue = Queue { sender, later: later.clone(), runtime: runtime.clone() };
    let again = queue.sender.downgrade();
    let run = move || {
        let mut connection = connection;
        let mut taken = Taken::default();
        let mut crowd = Crowd::default();
        loop {
            if taken.is_idle() {
                match receiver.blocking_recv() {
                    Some(order) => taken.add(order),
                    // Nobody can ask any more; what was answered is still written.
                    None if later.is_empty() || later.is_failing() => return,
                    None => taken.is_told_to_settle = true,
                }
            }
            taken.gather(&mut receiver, &crowd);
            if !connection.is_alive() {
                match connect() {
                    Ok(fresh) => connection = fresh,
                    Err(error) => tracing::error!(cause = error.cause_chain(), "the database cannot be reached"),
                }
            }
            if !taken.holds.is_empty() {
                hold::run(&mut connection, &mirror, std::mem::take(&mut taken.holds));
            }
            let answered = later.take();
            let is_more = answered.len() == limits::GROUP_JOBS;
            let (group, start) = (taken.jobs.len(), Instant::now());
            let jobs: Vec<Job> = answered.into_iter().map(Job::Record).chain(taken.jobs.drain(..)).collect();
            let has_committed = !jobs.is_empty();
            let left = match has_committed {
                true => commit::run(&mut connection, &mirror, mode.get(), jobs),
                false => commit::Left::default(),
            };
            crowd = Crowd { callers: group + receiver.len(), commit: start.elapsed() };
            taken.jobs.extend(left.undone);
            if left.unwritten.is_empty() {
                later.written();
            } else {
                later.put_back(left.unwritten);
                settle_after(limits::LATER_WAIT_FAILED, again.clone(), &runtime);
            }
            taken.is_told_to_settle = is_more && !later.is_failing();
            if !taken.is_told_to_settle {
                for settled in taken.settling.drain(..) {
                    // Whoever has gone away need not know.
                    let _ = settled.send(());
                }
            }
            if let (Some(log), true) = (&log, has_committed) {
                log.committed(&mut connection);
            }
        }
    };
    std::thread::Builder::new().name("quad-writer".to_owned()).spawn(run).map_err(Error::internal)?;
    Ok(queue)
}
