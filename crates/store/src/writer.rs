//! The writer: one thread a process that turns a queue into commits.
//!
//! The next group is what queued during the last commit; there is no timer. On SQLite it runs everything that writes. On
//! PostgreSQL it runs the audit events of reads, while each mutation commits on a connection of its own.

use std::collections::VecDeque;
use std::sync::Arc;

use quad_core::{Error, Result};
use tokio::sync::mpsc;

use crate::audit_mode::Chosen;
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

/// Takes what has queued. Whoever is about to queue more is let go first, as long as more comes: a commit costs about as
/// much for one as for many, and on a busy machine the callers that the last commit has woken are just behind.
fn gather(receiver: &mut mpsc::Receiver<Job>, waiting: &mut VecDeque<Job>) {
    for _ in 0..limits::GATHER_TURNS {
        let before = waiting.len();
        while waiting.len() < limits::GROUP_JOBS
            && let Ok(job) = receiver.try_recv()
        {
            waiting.push_back(job);
        }
        if waiting.len() == before || waiting.len() == limits::GROUP_JOBS {
            return;
        }
        std::thread::yield_now();
    }
}

/// Starts the writer. It ends when every queue handle is gone and the last job is done.
pub(crate) fn start(
    mut connect: impl FnMut() -> Result<Connection> + Send + 'static,
    connection: Connection,
    mirror: Arc<Mirror>,
    mode: Arc<Chosen>,
    committed: impl Fn() + Send + 'static,
) -> Result<Queue> {
    let (sender, mut receiver) = mpsc::channel(limits::QUEUE_JOBS);
    let run = move || {
        let mut connection = connection;
        let mut waiting: VecDeque<Job> = VecDeque::new();
        loop {
            if waiting.is_empty() {
                match receiver.blocking_recv() {
                    Some(job) => waiting.push_back(job),
                    None => return,
                }
            }
            gather(&mut receiver, &mut waiting);
            if !connection.is_alive() {
                match connect() {
                    Ok(fresh) => connection = fresh,
                    Err(error) => tracing::error!(cause = error.causes(), "the database cannot be reached"),
                }
            }
            let later = commit::run(&mut connection, &mirror, mode.get(), waiting.drain(..).collect());
            waiting.extend(later);
            committed();
        }
    };
    std::thread::Builder::new().name("quad-writer".to_owned()).spawn(run).map_err(Error::internal)?;
    Ok(Queue { sender })
}
