//! A pipe: lines in, lines out, requests side by side.
//!
//! The two eras share the pipe. A request with a revision in its `_meta` stands alone; `initialize` says what the others
//! speak. Reading and writing the lines themselves is somebody else's work.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::tool::{NoProgress, Progress};
use quad_core::{Error, Principal};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use crate::dispatch::Exchange;
use crate::envelope::{self, Incoming, Message, UNREAD, text_of};
use crate::meta::Meta;
use crate::params::{self, Params};
use crate::progress::ProgressMessages;
use crate::watcher::{Command, Watcher};
use crate::{
    Endpoint, Era, Fault, Method, Revision, Transport, initialize, limits, listen, post, session_stream,
};

/// One pipe and its state.
pub struct Pipe {
    shared: Arc<Shared>,
    slots: Arc<Semaphore>,
    requests: JoinSet<()>,
    streams: JoinSet<()>,
    /// What `initialize` agreed on.
    revision: Option<Revision>,
}

struct Shared {
    endpoint: Endpoint,
    caller: Principal,
    out: mpsc::Sender<Vec<u8>>,
    in_flight: Mutex<HashMap<String, AbortHandle>>,
    subscriptions: Mutex<Subscriptions>,
}

/// What the legacy half of the pipe subscribes to.
#[derive(Default)]
struct Subscriptions {
    uris: HashSet<String>,
    commands: Option<mpsc::Sender<Command>>,
}

/// A request that owns its parts, so that it can run beside others.
struct Job {
    id: Box<RawValue>,
    method: String,
    params: Option<Box<RawValue>>,
    revision: Revision,
}

/// A message of a batch that was refused before it could become a job.
struct Refused {
    id: Option<Box<RawValue>>,
    method: String,
    fault: Fault,
}

impl Pipe {
    /// A pipe of `caller`, whose answers go to `out`.
    pub fn new(endpoint: Endpoint, caller: Principal, out: mpsc::Sender<Vec<u8>>) -> Pipe {
        let shared =
            Shared { endpoint, caller, out, in_flight: Mutex::default(), subscriptions: Mutex::default() };
        Pipe {
            shared: Arc::new(shared),
            slots: Arc::new(Semaphore::new(limits::PIPE_REQUESTS)),
            requests: JoinSet::new(),
            streams: JoinSet::new(),
            revision: None,
        }
    }

    /// Takes one line. Returns when the line has been understood, not when it has been answered.
    pub async fn line(&mut self, line: &[u8]) {
        while self.requests.try_join_next().is_some() {}
        while self.streams.try_join_next().is_some() {}
        match envelope::read(line) {
            Err(unreadable) => self.shared.refuse(UNREAD, unreadable.id.as_deref(), unreadable.fault).await,
            Ok(Incoming::Batch(messages)) => self.batch(&messages).await,
            Ok(Incoming::One(message)) => self.message(message).await,
        }
    }

    /// Answers a line that was too long to be taken.
    pub async fn line_too_long(&mut self) {
        let fault = Fault::invalid_request(format!("A line may hold at most {} bytes", limits::LINE_BYTES));
        self.shared.refuse(UNREAD, None, fault).await;
    }

    /// The other side has closed: lets running requests finish and ends the streams.
    pub async fn finish(mut self) {
        self.streams.abort_all();
        let drained = async { while self.requests.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_millis(limits::PIPE_DRAIN_MS), drained).await.is_err() {
            tracing::warn!("requests were still running when their pipe closed");
            self.requests.abort_all();
        }
        // An aborted task lets go of the writer only once it has been joined.
        self.requests.shutdown().await;
        self.streams.shutdown().await;
    }

    async fn message(&mut self, message: Message<'_>) {
        match message {
            Message::Response => {}
            Message::Notification { method, params } => self.notification(&method, params),
            Message::Request { id, method, params } => {
                if method == Method::Initialize.as_str() && !names_revision(params) {
                    return self.initialize(id, params).await;
                }
                let job = Job {
                    id: id.to_owned(),
                    method: method.into_owned(),
                    params: params.map(ToOwned::to_owned),
                    revision: self.revision.unwrap_or(Revision::UNSTATED),
                };
                self.start(job).await;
            }
        }
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        if method != "notifications/cancelled" {
            return;
        }
        let Ok(params) = Params::read(params) else { return };
        if let Some(flight) = params.request_id.and_then(|id| self.shared.in_flight().remove(&key(id))) {
            flight.abort();
        }
    }

    async fn initialize(&mut self, id: &RawValue, params: Option<&RawValue>) {
        let shared = self.shared.clone();
        let answered = Params::read(params).and_then(|params| {
            let revision = initialize::negotiate(&params);
            let reply = initialize::answer(&shared.exchange(revision, id, &params), true)?;
            self.revision = Some(revision);
            Ok(reply)
        });
        match answered {
            Ok(reply) => {
                shared.send(reply).await;
                if let Err(error) = self.hear(Some(Command::WatchList)).await {
                    tracing::error!(cause = error.causes(), "a pipe cannot hear of changes");
                }
            }
            Err(error) => {
                let fault = Fault::of(error, Era::Legacy);
                shared.refuse(Method::Initialize.as_str(), Some(id), fault).await;
            }
        }
    }

    /// Starts the task that carries legacy notifications, if it does not run yet, and gives it a command.
    async fn hear(&mut self, command: Option<Command>) -> quad_core::Result<()> {
        let known = self.shared.subscriptions().commands.clone();
        let commands = match known {
            Some(commands) => commands,
            None => {
                let (sender, receiver) = mpsc::channel(limits::WATCH_COMMANDS);
                let mut watcher = Watcher::open(&self.shared.endpoint, &self.shared.caller).await?;
                watcher.obey(receiver);
                let shared = self.shared.clone();
                self.streams.spawn(async move {
                    while let Some(notice) = watcher.next().await {
                        shared.send(session_stream::notification(&notice)).await;
                    }
                });
                self.shared.subscriptions().commands = Some(sender.clone());
                sender
            }
        };
        if let Some(command) = command {
            // The queue is longer than the commands that a full pipe of requests can hold.
            let _ = commands.try_send(command);
        }
        Ok(())
    }

    /// Runs a request beside the others.
    async fn start(&mut self, job: Job) {
        let key = key(&job.id);
        if self.shared.in_flight().contains_key(&key) {
            let fault = Fault::invalid_request("A request with this id is still running");
            return self.shared.send(self.shared.refusal_of(&job, fault).await).await;
        }
        if job.method == Method::Subscribe.as_str()
            && let Err(error) = self.hear(None).await
        {
            let fault = Fault::of(error, Era::Legacy);
            return self.shared.send(self.shared.refusal_of(&job, fault).await).await;
        }
        // A stream stays open as long as its client likes; it is counted elsewhere.
        let is_stream = job.method == Method::Listen.as_str();
        let slot = if is_stream { None } else { self.slots.clone().acquire_owned().await.ok() };
        let shared = self.shared.clone();
        let tasks = if is_stream { &mut self.streams } else { &mut self.requests };
        let owned_key = key.clone();
        // Held while the task starts, so that the task cannot leave the table before it has entered it.
        let mut in_flight = self.shared.in_flight();
        let handle = tasks.spawn(async move {
            let _slot = slot;
            let reply = match AssertUnwindSafe(shared.run(&job)).catch_unwind().await {
                Ok(reply) => reply,
                Err(_) => {
                    Fault::of(Error::internal("a request panicked"), Era::Legacy).message(Some(&job.id))
                }
            };
            // Gone from the table means cancelled: then nothing is answered.
            let still_wanted = shared.in_flight().remove(&owned_key).is_some();
            if still_wanted {
                shared.send(reply).await;
            }
        });
        in_flight.insert(key, handle);
    }

    async fn batch(&mut self, messages: &[&RawValue]) {
        let revision = self.revision.unwrap_or(Revision::UNSTATED);
        if !revision.has_batches() {
            return self.shared.refuse(UNREAD, None, post::no_batches()).await;
        }
        let mut jobs: Vec<Result<Job, Refused>> = Vec::new();
        for raw in messages {
            match envelope::read_one(raw.get()) {
                Err(envelope::Unreadable { fault, id }) => {
                    jobs.push(Err(Refused { id, method: UNREAD.to_owned(), fault }));
                }
                Ok(Message::Response) => {}
                Ok(Message::Notification { method, params }) => self.notification(&method, params),
                Ok(Message::Request { id, method, params }) => {
                    let refuse = |fault: Fault| {
                        Err(Refused { id: Some(id.to_owned()), method: method.to_string(), fault })
                    };
                    jobs.push(if method == Method::Initialize.as_str() {
                        refuse(Fault::invalid_request("initialize must not be part of a batch"))
                    } else if names_revision(params) {
                        refuse(post::no_batches())
                    } else {
                        let params = params.map(ToOwned::to_owned);
                        Ok(Job { id: id.to_owned(), method: method.into_owned(), params, revision })
                    });
                }
            }
        }
        if jobs.is_empty() {
            return;
        }
        if let Err(error) = self.hear(None).await {
            tracing::error!(cause = error.causes(), "a pipe cannot hear of changes");
        }
        let slot = self.slots.clone().acquire_owned().await.ok();
        let shared = self.shared.clone();
        self.requests.spawn(async move {
            let _slot = slot;
            let mut replies = Vec::with_capacity(jobs.len());
            for job in jobs {
                replies.push(match job {
                    Ok(job) => shared.run(&job).await,
                    Err(Refused { id, method, fault }) => shared.refusal(&method, id.as_deref(), fault).await,
                });
            }
            let mut line = vec![b'['];
            line.extend_from_slice(&replies.join(&b','));
            line.push(b']');
            shared.send(line).await;
        });
    }
}

impl Shared {
    /// Answers one request. The messages of a stream go out on the way; what is returned is the last one.
    async fn run(&self, job: &Job) -> Vec<u8> {
        match self.answer(job).await {
            Ok(reply) => reply,
            Err(fault) => self.refusal_of(job, fault).await,
        }
    }

    /// The reply to what was refused, which is written down.
    async fn refusal(&self, method: &str, id: Option<&RawValue>, fault: Fault) -> Vec<u8> {
        self.endpoint.refuse(&self.caller, method, fault).await.message(id)
    }

    /// The same for a request.
    async fn refusal_of(&self, job: &Job, fault: Fault) -> Vec<u8> {
        let params = job.params.as_deref();
        self.endpoint.refuse_call(&self.caller, &job.method, params, fault).await.message(Some(&job.id))
    }

    async fn refuse(&self, method: &str, id: Option<&RawValue>, fault: Fault) {
        self.send(self.refusal(method, id, fault).await).await;
    }

    async fn answer(&self, job: &Job) -> Result<Vec<u8>, Fault> {
        let params = Params::read(job.params.as_deref()).map_err(|error| Fault::of(error, Era::Legacy))?;
        let mut revision = job.revision;
        if let Some(meta) = params.meta.as_ref().filter(|_| params.names_revision()) {
            revision = Meta::revision(&meta.version()?)?;
        }
        let era = revision.era();
        let method =
            Method::parse(&job.method, era).ok_or_else(|| Fault::unknown_method(&job.method, era))?;
        let exchange = self.exchange(revision, &job.id, &params);
        match method {
            Method::Listen => self.listen(&exchange).await,
            Method::Subscribe | Method::Unsubscribe => {
                let altered = self.alter(&exchange, method).await;
                altered.map(|()| exchange.nothing()).map_err(|error| exchange.fault(error))
            }
            _ => {
                let reports = params.progress_token().filter(|_| method == Method::ToolsCall);
                let reports = reports.map(|token| ProgressMessages::new(token.to_owned(), self.out.clone()));
                let progress: &dyn Progress = match &reports {
                    Some(reports) => reports,
                    None => &NoProgress,
                };
                exchange.answer_with(method, progress).await
            }
        }
    }

    /// Sends all but the last message of a stream, and returns that.
    async fn listen(&self, exchange: &Exchange<'_>) -> Result<Vec<u8>, Fault> {
        let mut messages = listen::open(exchange).await?;
        let mut last: Option<Vec<u8>> = None;
        // The acknowledgement must not wait for what follows it, so only a message that ends the stream is held back.
        while let Some(message) = messages.next().await {
            if is_response(&message) {
                last = Some(message);
            } else {
                self.send(message).await;
            }
        }
        last.ok_or_else(|| exchange.fault(Error::internal("a subscription ended without its result")))
    }

    async fn alter(&self, exchange: &Exchange<'_>, method: Method) -> quad_core::Result<()> {
        if method == Method::Unsubscribe {
            let uri = params::text(exchange.params.uri, "uri")?.into_owned();
            session_stream::note(exchange, method, &uri).await?;
            let mut subscriptions = self.subscriptions();
            subscriptions.uris.remove(&uri);
            if let Some(commands) = &subscriptions.commands {
                commands.try_send(Command::Unwatch(uri)).map_err(|_| session_stream::too_many())?;
            }
            return Ok(());
        }
        if self.subscriptions().uris.len() >= SUBSCRIPTION_URIS {
            return Err(session_stream::too_many());
        }
        let (uri, basis) = session_stream::authorize(exchange).await?;
        session_stream::note(exchange, method, &uri).await?;
        let mut subscriptions = self.subscriptions();
        if let Some(commands) = &subscriptions.commands {
            commands.try_send(Command::Watch(uri.clone(), basis)).map_err(|_| session_stream::too_many())?;
        }
        subscriptions.uris.insert(uri);
        Ok(())
    }

    fn exchange<'a>(&'a self, revision: Revision, id: &'a RawValue, params: &'a Params<'a>) -> Exchange<'a> {
        let transport = Transport::Stdio;
        Exchange { endpoint: &self.endpoint, caller: &self.caller, revision, transport, id, params }
    }

    async fn send(&self, message: Vec<u8>) {
        // The writer has gone only when the other side has: nobody is left to tell.
        let _ = self.out.send(message).await;
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An id as a key: equal for equal ids, however they are escaped, and different for `1` and `"1"`.
fn key(id: &RawValue) -> String {
    match text_of(id) {
        Some(text) => format!("\"{text}"),
        None => id.get().to_owned(),
    }
}

fn names_revision(params: Option<&RawValue>) -> bool {
    Params::read(params).is_ok_and(|params| params.names_revision())
}

/// Our messages begin with `jsonrpc`, then `id` in responses and `method` in notifications.
fn is_response(message: &[u8]) -> bool {
    message.starts_with(br#"{"jsonrpc":"2.0","id":"#)
}
