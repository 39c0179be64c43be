//! The writer: one thread a process that turns a queue into commits.
//!
//! The next group is what queued during the last commit, and whoever of the crowd comes back while the writer rests for a moment;
//! a lone caller waits for nothing. On SQLite it runs everything that writes. On
//! PostgreSQL it runs the audit events of reads, while each mutation commits on a connection of its own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::{Error, Result};
use tokio::sync::mpsc;

use crate::audit_mode::Chosen;
use crate::checkpointer::Log;
use crate::commit::{self, Job};
use crate::connection::Connection;
use crate::feed::Mirror;
use crate::limits;

/// Where jobs go in.
#[derive(Clone)]
pub(crate) struct Queue {
    sender: mpsc::Sender<Job>,
}

impl Queue {
    /// Hands a job to the writer, waiting while the queue is full.
    pub(crate) async fn push(&self, job: Job) -> Result<()> {
        self.sender.send(job).await.map_err(|_| Error::internal("the database writer has stopped"))
    }
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

/// Takes what has queued. A commit costs about as much for one as for many, and those whom the last one has answered are likely
/// to be back at once: as long as some are missing and more come in, the writer rests for a moment.
fn gather(receiver: &mut mpsc::Receiver<Job>, waiting: &mut VecDeque<Job>, crowd: &Crowd) {
    take(receiver, waiting);
    let patience = crowd.patience();
    let step = patience / limits::GATHER_STEPS;
    let start = Instant::now();
    while waiting.len() < crowd.callers.min(limits::GROUP_JOBS) && start.elapsed() < patience {
        let before = waiting.len();
        std::thread::sleep(step);
        take(receiver, waiting);
        if waiting.len() == before {
            return;
        }
    }
}

fn take(receiver: &mut mpsc::Receiver<Job>, waiting: &mut VecDeque<Job>) {
    while waiting.len() < limits::GROUP_JOBS
        && let Ok(job) = receiver.try_recv()
    {
        waiting.push_back(job);
    }
}

/// Starts the writer. It ends when every queue handle is gone and the last job is done.
pub(crate) fn start(
    mut connect: impl FnMut() -> Result<Connection> + Send + 'static,
    connection: Connection,
    mirror: Arc<Mirror>,
    mode: Arc<Chosen>,
    log: Option<Arc<Log>>,
) -> Result<Queue> {
    let (sender, mut receiver) = mpsc::channel(limits::QUEUE_JOBS);
    let run = move || {
        let mut connection = connection;
        let mut waiting: VecDeque<Job> = VecDeque::new();
        let mut crowd = Crowd::default();
        loop {
            if waiting.is_empty() {
                match receiver.blocking_recv() {
                    Some(job) => waiting.push_back(job),
                    None => return,
                }
            }
            gather(&mut receiver, &mut waiting, &crowd);
            if !connection.is_alive() {
                match connect() {
                    Ok(fresh) => connection = fresh,
                    Err(error) => tracing::error!(cause = error.causes(), "the database cannot be reached"),
                }
            }
            let (group, start) = (waiting.len(), Instant::now());
            let later = commit::run(&mut connection, &mirror, mode.get(), waiting.drain(..).collect());
            crowd = Crowd { callers: group + receiver.len(), commit: start.elapsed() };
            waiting.extend(later);
            if let Some(log) = &log {
                log.committed(&mut connection);
            }
        }
    };
    std::thread::Builder::new().name("quad-writer".to_owned()).spawn(run).map_err(Error::internal)?;
    Ok(Queue { sender })
}
