//! MCP over stdio: lines in, lines out, requests run concurrently.
//!
//! Both eras share one session. A request with a revision in its `_meta` is modern and complete in itself; `initialize`
//! decides the revision of all others. This module gets and returns whole lines; it knows no file descriptor.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::lock::MutexExt as _;
use quad_core::{Error, Principal};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use crate::dispatch::{Reply, RequestContext};
use crate::envelope::{self, Incoming, Message, UNPARSED_METHOD, raw_str};
use crate::params::{self, Params};
use crate::subscription::{self, SubscriptionCommand, SubscriptionStream};
use crate::{Endpoint, Era, MessageStream, Method, Revision, RpcError, Transport, batch, initialize, limits};

/// One client on stdio.
pub struct StdioSession {
    state: Arc<SessionState>,
    request_permits: Arc<Semaphore>,
    requests: JoinSet<()>,
    streams: JoinSet<()>,
    /// The revision that `initialize` agreed on.
    revision: Option<Revision>,
}

/// The part of a session that its running requests share.
struct SessionState {
    endpoint: Endpoint,
    caller: Principal,
    out: mpsc::Sender<Vec<u8>>,
    /// The running requests, by id. A request that is not here any more was cancelled.
    in_flight: Mutex<HashMap<String, AbortHandle>>,
    subscriptions: Mutex<Subscriptions>,
}

/// The legacy subscriptions of a session.
#[derive(Default)]
struct Subscriptions {
    uris: HashSet<String>,
    /// The commands of the subscription task, once it runs.
    commands: Option<mpsc::Sender<SubscriptionCommand>>,
}

/// A request that owns its parts, so that it can run as a task.
struct OwnedRequest {
    id: Box<RawValue>,
    method: String,
    params: Option<Box<RawValue>>,
    revision: Revision,
}

/// A message of a batch that was rejected before it could run.
struct RejectedMessage {
    id: Option<Box<RawValue>>,
    method: String,
    rpc_error: RpcError,
}

impl StdioSession {
    /// A session of `caller`; its replies and notifications go to `out`.
    pub fn new(endpoint: Endpoint, caller: Principal, out: mpsc::Sender<Vec<u8>>) -> StdioSession {
        let state = SessionState {
            endpoint,
            caller,
            out,
            in_flight: Mutex::default(),
            subscriptions: Mutex::default(),
        };
        StdioSession {
            state: Arc::new(state),
            request_permits: Arc::new(Semaphore::new(limits::PIPE_REQUESTS)),
            requests: JoinSet::new(),
            streams: JoinSet::new(),
            revision: None,
        }
    }

    /// Handles one line. Returns when the line has been parsed and its request started, not when it has been answered.
    pub async fn handle_line(&mut self, line: &[u8]) {
        while self.requests.try_join_next().is_some() {}
        while self.streams.try_join_next().is_some() {}
        match envelope::parse_incoming(line) {
            Err(invalid) => {
                self.state.reject(UNPARSED_METHOD, invalid.id.as_deref(), invalid.rpc_error).await
            }
            Ok(Incoming::Batch(messages)) => self.handle_batch(&messages).await,
            Ok(Incoming::One(message)) => self.handle_message(message).await,
        }
    }

    /// Answers a line that was longer than [`limits::LINE_BYTES`].
    pub async fn reject_long_line(&mut self) {
        let rpc_error =
            RpcError::invalid_request(format!("A line may hold at most {} bytes", limits::LINE_BYTES));
        self.state.reject(UNPARSED_METHOD, None, rpc_error).await;
    }

    /// The client has closed its end: lets running requests finish and ends the streams.
    pub async fn finish(mut self) {
        self.streams.abort_all();
        let drain = async { while self.requests.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_millis(limits::PIPE_DRAIN_MS), drain).await.is_err() {
            tracing::warn!("requests were aborted: they were still running after stdin closed");
            self.requests.abort_all();
        }
        // An aborted task drops its sender only once it has been joined.
        self.requests.shutdown().await;
        self.streams.shutdown().await;
    }

    async fn handle_message(&mut self, message: Message<'_>) {
        match message {
            Message::Response => {}
            Message::Notification { method, params } => self.handle_notification(&method, params),
            Message::Request { id, method, params } => {
                if method == Method::Initialize.as_str() && !has_protocol_version(params) {
                    return self.handle_initialize(id, params).await;
                }
                let request = OwnedRequest {
                    id: id.to_owned(),
                    method: method.into_owned(),
                    params: params.map(ToOwned::to_owned),
                    revision: self.revision.unwrap_or(Revision::DEFAULT_LEGACY),
                };
                self.spawn_request(request).await;
            }
        }
    }

    fn handle_notification(&mut self, method: &str, params: Option<&RawValue>) {
        if method != "notifications/cancelled" {
            return;
        }
        let Ok(params) = Params::read(params) else { return };
        if let Some(handle) =
            params.request_id.and_then(|id| self.state.lock_in_flight().remove(&id_to_key(id)))
        {
            handle.abort();
        }
    }

    async fn handle_initialize(&mut self, id: &RawValue, params: Option<&RawValue>) {
        let state = self.state.clone();
        let result = Params::read(params).and_then(|params| {
            let revision = initialize::negotiate(&params);
            let reply = initialize::handle(&state.request_context(revision, id, &params), true)?;
            self.revision = Some(revision);
            Ok(reply)
        });
        match result {
            Ok(reply) => {
                state.send(reply).await;
                if let Err(error) = self.ensure_subscription_task(Some(SubscriptionCommand::AddList)).await {
                    tracing::error!(cause = error.cause_chain(), "stdio subscription task failed to start");
                }
            }
            Err(error) => {
                let rpc_error = RpcError::from_error(error, Era::Legacy);
                state.reject(Method::Initialize.as_str(), Some(id), rpc_error).await;
            }
        }
    }

    /// Starts the task that sends legacy notifications, unless it runs, and sends it a command.
    async fn ensure_subscription_task(
        &mut self,
        command: Option<SubscriptionCommand>,
    ) -> quad_core::Result<()> {
        let existing = self.state.lock_subscriptions().commands.clone();
        let commands = match existing {
            Some(commands) => commands,
            None => {
                let (sender, receiver) = mpsc::channel(limits::SUBSCRIPTION_COMMANDS_MAX);
                let mut subscriptions =
                    SubscriptionStream::open(&self.state.endpoint, &self.state.caller).await?;
                subscriptions.set_commands(receiver);
                let state = self.state.clone();
                self.streams.spawn(async move {
                    while let Some(notification) = subscriptions.next().await {
                        state.send(subscription::notification_json(&notification)).await;
                    }
                });
                self.state.lock_subscriptions().commands = Some(sender.clone());
                sender
            }
        };
        if let Some(command) = command {
            // The queue holds more commands than requests can be in flight.
            let _ = commands.try_send(command);
        }
        Ok(())
    }

    /// Runs a request as a task.
    async fn spawn_request(&mut self, request: OwnedRequest) {
        let id_key = id_to_key(&request.id);
        if self.state.lock_in_flight().contains_key(&id_key) {
            let rpc_error = RpcError::invalid_request("A request with this id is still running");
            return self.state.send(self.state.error_reply_for(&request, rpc_error).await).await;
        }
        if request.method == Method::Subscribe.as_str()
            && let Err(error) = self.ensure_subscription_task(None).await
        {
            let rpc_error = RpcError::from_error(error, Era::Legacy);
            return self.state.send(self.state.error_reply_for(&request, rpc_error).await).await;
        }
        // A stream may stay open for hours, so it holds no request permit. `StreamLimiter` limits streams.
        let is_stream = request.method == Method::Listen.as_str();
        let permit = if is_stream { None } else { self.request_permits.clone().acquire_owned().await.ok() };
        let state = self.state.clone();
        let tasks = if is_stream { &mut self.streams } else { &mut self.requests };
        let owned_key = id_key.clone();
        // Locked while the task starts, so that the task cannot remove its entry before the entry exists.
        let mut in_flight = self.state.lock_in_flight();
        let handle = tasks.spawn(async move {
            let _permit = permit;
            let reply = match AssertUnwindSafe(state.respond(&request)).catch_unwind().await {
                Ok(reply) => reply,
                Err(_) => RpcError::from_error(Error::internal("a request panicked"), Era::Legacy)
                    .to_json(Some(&request.id)),
            };
            // A request without an entry was cancelled and gets no reply.
            let is_current = state.lock_in_flight().remove(&owned_key).is_some();
            if is_current {
                state.send(reply).await;
            }
        });
        in_flight.insert(id_key, handle);
    }

    async fn handle_batch(&mut self, messages: &[&RawValue]) {
        let revision = self.revision.unwrap_or(Revision::DEFAULT_LEGACY);
        if !revision.has_batches() {
            return self.state.reject(UNPARSED_METHOD, None, batch::unsupported()).await;
        }
        let mut requests: Vec<Result<OwnedRequest, RejectedMessage>> = Vec::new();
        for raw in messages {
            match envelope::parse_message(raw.get()) {
                Err(envelope::InvalidMessage { rpc_error, id }) => {
                    requests.push(Err(RejectedMessage { id, method: UNPARSED_METHOD.to_owned(), rpc_error }));
                }
                Ok(Message::Response) => {}
                Ok(Message::Notification { method, params }) => self.handle_notification(&method, params),
                Ok(Message::Request { id, method, params }) => {
                    let reject = |rpc_error: RpcError| {
                        Err(RejectedMessage {
                            id: Some(id.to_owned()),
                            method: method.to_string(),
                            rpc_error,
                        })
                    };
                    requests.push(if method == Method::Initialize.as_str() {
                        reject(batch::initialize_not_allowed())
                    } else if has_protocol_version(params) {
                        reject(batch::unsupported())
                    } else {
                        let params = params.map(ToOwned::to_owned);
                        Ok(OwnedRequest { id: id.to_owned(), method: method.into_owned(), params, revision })
                    });
                }
            }
        }
        if requests.is_empty() {
            return;
        }
        if let Err(error) = self.ensure_subscription_task(None).await {
            tracing::error!(cause = error.cause_chain(), "stdio subscription task failed to start");
        }
        let permit = self.request_permits.clone().acquire_owned().await.ok();
        let state = self.state.clone();
        self.requests.spawn(async move {
            let _permit = permit;
            let mut replies = Vec::with_capacity(requests.len());
            for request in requests {
                replies.push(match request {
                    Ok(request) => state.respond(&request).await,
                    Err(RejectedMessage { id, method, rpc_error }) => {
                        state.error_reply(&method, id.as_deref(), rpc_error).await
                    }
                });
            }
            state.send(batch::join(&replies)).await;
        });
    }
}

impl SessionState {
    /// Answers one request and returns its response. Notifications that come before the response are sent at once.
    async fn respond(&self, request: &OwnedRequest) -> Vec<u8> {
        match self.handle_request(request).await {
            Ok(reply) => reply,
            Err(rpc_error) => self.error_reply_for(request, rpc_error).await,
        }
    }

    /// Audits a rejected message and returns its response.
    async fn error_reply(&self, method: &str, id: Option<&RawValue>, rpc_error: RpcError) -> Vec<u8> {
        self.endpoint.audit_error(&self.caller, method, None, rpc_error).await.to_json(id)
    }

    /// Audits a rejected request and returns its response.
    async fn error_reply_for(&self, request: &OwnedRequest, rpc_error: RpcError) -> Vec<u8> {
        let params = request.params.as_deref();
        self.endpoint
            .audit_error(&self.caller, &request.method, params, rpc_error)
            .await
            .to_json(Some(&request.id))
    }

    /// Audits and answers a message that is not a valid request.
    async fn reject(&self, method: &str, id: Option<&RawValue>, rpc_error: RpcError) {
        self.send(self.error_reply(method, id, rpc_error).await).await;
    }

    async fn handle_request(&self, request: &OwnedRequest) -> Result<Vec<u8>, RpcError> {
        let params = Params::read(request.params.as_deref())
            .map_err(|error| RpcError::from_error(error, Era::Legacy))?;
        let mut revision = request.revision;
        if let Some(meta) = params.meta.as_ref().filter(|_| params.has_protocol_version()) {
            let version = meta.required_version()?;
            revision =
                Revision::parse_modern(&version).ok_or_else(|| RpcError::unsupported_version(&version))?;
        }
        let era = revision.era();
        let method = Method::parse(&request.method, era)
            .ok_or_else(|| RpcError::unknown_method(&request.method, era))?;
        let context = self.request_context(revision, &request.id, &params);
        match method {
            Method::Subscribe | Method::Unsubscribe => {
                let result = self.change_subscription(&context, method).await;
                result.map(|()| context.empty_result()).map_err(|error| context.rpc_error(error))
            }
            _ => match context.dispatch(method).await? {
                Reply::Message(response) | Reply::FailedCall(response, _) => Ok(response),
                Reply::Stream(messages, _) => self.send_notifications(&context, messages).await,
            },
        }
    }

    /// Sends the notifications of a stream and returns its response.
    async fn send_notifications(
        &self,
        context: &RequestContext<'_>,
        mut messages: MessageStream,
    ) -> Result<Vec<u8>, RpcError> {
        let mut response: Option<Vec<u8>> = None;
        while let Some(message) = messages.next().await {
            if is_response(&message) {
                response = Some(message);
            } else {
                self.send(message).await;
            }
        }
        response.ok_or_else(|| context.rpc_error(Error::internal("a stream ended without its response")))
    }

    async fn change_subscription(
        &self,
        context: &RequestContext<'_>,
        method: Method,
    ) -> quad_core::Result<()> {
        if method == Method::Unsubscribe {
            let uri = params::required_str(context.params.uri, "uri")?.into_owned();
            subscription::audit(context, method, &uri).await?;
            let mut subscriptions = self.lock_subscriptions();
            subscriptions.uris.remove(&uri);
            if let Some(commands) = &subscriptions.commands {
                commands.try_send(SubscriptionCommand::Remove(uri)).map_err(|_| subscription::too_many())?;
            }
            return Ok(());
        }
        if self.lock_subscriptions().uris.len() >= SUBSCRIPTION_URIS {
            return Err(subscription::too_many());
        }
        let (uri, read_set) = subscription::authorize(context).await?;
        subscription::audit(context, method, &uri).await?;
        let mut subscriptions = self.lock_subscriptions();
        if let Some(commands) = &subscriptions.commands {
            commands
                .try_send(SubscriptionCommand::Add(uri.clone(), read_set))
                .map_err(|_| subscription::too_many())?;
        }
        subscriptions.uris.insert(uri);
        Ok(())
    }

    fn request_context<'a>(
        &'a self,
        revision: Revision,
        id: &'a RawValue,
        params: &'a Params<'a>,
    ) -> RequestContext<'a> {
        let transport = Transport::Stdio;
        RequestContext { endpoint: &self.endpoint, caller: &self.caller, revision, transport, id, params }
    }

    async fn send(&self, message: Vec<u8>) {
        // Fails only if the writer has stopped because the client closed its end.
        let _ = self.out.send(message).await;
    }

    fn lock_in_flight(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.in_flight.lock_unpoisoned()
    }

    fn lock_subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock_unpoisoned()
    }
}

/// The id as a map key: equal for equal ids, however they are escaped, and different for `1` and `"1"`.
fn id_to_key(id: &RawValue) -> String {
    match raw_str(id) {
        Some(text) => format!("\"{text}"),
        None => id.get().to_owned(),
    }
}

/// Whether the params make their request a modern one.
fn has_protocol_version(params: Option<&RawValue>) -> bool {
    Params::read(params).is_ok_and(|params| params.has_protocol_version())
}

/// Whether one of our own messages is a response: after `jsonrpc` it has `id`, where a notification has `method`.
fn is_response(message: &[u8]) -> bool {
    message.starts_with(br#"{"jsonrpc":"2.0","id":"#)
}
