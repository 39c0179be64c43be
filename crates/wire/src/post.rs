//! The body of an HTTP request: from its bytes and headers to what must be sent back.
//!
//! The caller has been authenticated before, and the bytes are within their limit. Everything else that the protocol
//! asks of a request, in the order in which it asks, is decided here.

use futures_util::stream;
use http::HeaderMap;
use quad_core::tool::NoProgress;
use quad_core::{BoxFuture, Error, Kind, Principal};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::dispatch::Exchange;
use crate::envelope::{self, Incoming, Message, UNREAD};
use crate::headers::PROTOCOL_VERSION;
use crate::meta::Meta;
use crate::params::Params;
use crate::progress::ProgressMessages;
use crate::tools::ToolCall;
use crate::{
    Endpoint, Era, Fault, MessageStream, Method, Revision, Transport, envelope::text_of, headers, initialize,
    limits, listen, session_stream,
};

/// What must be sent back.
pub struct PostReply {
    /// The method, for the figures; none where it could not be told or is unknown.
    pub method: Option<Method>,
    /// How it went, for the figures.
    pub outcome: Outcome,
    /// The id of the session that was opened, for the `Mcp-Session-Id` header.
    pub session: Option<String>,
    /// The body.
    pub body: PostBody,
}

/// How a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered with a result.
    Ok,
    /// Answered with an error that the caller can do something about.
    Refused,
    /// Answered with an error that is ours.
    Failed,
}

/// The body of a reply.
pub enum PostBody {
    /// Taken, nothing to say: 202.
    Accepted,
    /// One JSON document.
    Message {
        /// The HTTP status.
        status: u16,
        /// The document.
        json: Vec<u8>,
        /// Set with 403: what the challenge must name.
        scope: Option<ScopeChallenge>,
    },
    /// A stream of messages.
    Stream(MessageStream),
    /// The credential changed under the request, which left no trace: authenticate again and send it once more.
    Reauthenticate,
}

/// What a caller must ask its authorization server for.
#[derive(Debug)]
pub struct ScopeChallenge {
    /// The scope.
    pub scope: String,
    /// Why.
    pub description: String,
}

/// What a request gives: a message or a stream, and perhaps a new session.
enum Answered {
    Message(Vec<u8>),
    Opened(Vec<u8>, Option<String>),
    Stream(MessageStream),
}

/// Answers the body of a POST.
pub async fn answer(endpoint: &Endpoint, caller: &Principal, headers: &HeaderMap, body: &[u8]) -> PostReply {
    match envelope::read(body) {
        Err(unreadable) => {
            let fault = endpoint.refuse(caller, UNREAD, unreadable.fault).await;
            refused(None, unreadable.id.as_deref(), fault)
        }
        // Seldom, and large: in a box, as all that is so below.
        Ok(Incoming::Batch(messages)) => Box::pin(batch(endpoint, caller, headers, &messages)).await,
        Ok(Incoming::One(Message::Response)) => accepted(),
        Ok(Incoming::One(Message::Notification { method, .. })) => {
            // No notification of a client means anything to us here, but an ended session is worth telling.
            match Box::pin(session_stream::named(endpoint, caller, headers)).await {
                Err(fault) if !headers.get(&PROTOCOL_VERSION).is_some_and(headers::names_modern) => {
                    refused(None, None, endpoint.refuse(caller, &method, fault).await)
                }
                _ => accepted(),
            }
        }
        Ok(Incoming::One(Message::Request { id, method, params })) => {
            let mut known = None;
            match request(endpoint, caller, headers, id, &method, params, &mut known).await {
                Ok(Answered::Message(json)) => answered(known, json, None),
                Ok(Answered::Opened(json, session)) => answered(known, json, session),
                Ok(Answered::Stream(stream)) => PostReply {
                    method: known,
                    outcome: Outcome::Ok,
                    session: None,
                    body: PostBody::Stream(stream),
                },
                Err(fault) => {
                    refused(known, Some(id), endpoint.refuse_call(caller, &method, params, fault).await)
                }
            }
        }
    }
}

fn accepted() -> PostReply {
    PostReply { method: None, outcome: Outcome::Ok, session: None, body: PostBody::Accepted }
}

fn answered(method: Option<Method>, json: Vec<u8>, session: Option<String>) -> PostReply {
    let body = PostBody::Message { status: 200, json, scope: None };
    PostReply { method, outcome: Outcome::Ok, session, body }
}

fn refused(method: Option<Method>, id: Option<&RawValue>, fault: Fault) -> PostReply {
    if fault.asks_for_credential() {
        return PostReply {
            method,
            outcome: Outcome::Refused,
            session: None,
            body: PostBody::Reauthenticate,
        };
    }
    let outcome = if fault.error.kind() == Kind::Internal { Outcome::Failed } else { Outcome::Refused };
    let scope = fault.missing_scope().map(|scope| ScopeChallenge {
        scope: scope.to_owned(),
        description: fault.error.message().to_owned(),
    });
    let body = PostBody::Message { status: fault.status, json: fault.message(id), scope };
    PostReply { method, outcome, session: None, body }
}

async fn request(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
    id: &RawValue,
    name: &str,
    params: Option<&RawValue>,
    known: &mut Option<Method>,
) -> Result<Answered, Fault> {
    let modern_header = headers.get(&PROTOCOL_VERSION).is_some_and(headers::names_modern);
    let params = Params::read(params).map_err(|error| {
        if modern_header { Fault::incomplete_meta(error.message()) } else { Fault::of(error, Era::Legacy) }
    })?;
    let transport = Transport::Http;
    let exchange = |revision| Exchange { endpoint, caller, revision, transport, id, params: &params };
    if modern_header || params.names_revision() {
        let meta = params.meta.as_ref().ok_or_else(|| Fault::incomplete_meta("params._meta is missing"))?;
        let version = meta.version()?;
        headers::agree_on_version(headers, &version)?;
        let revision = Meta::revision(&version)?;
        headers::agree_on_method(headers, name)?;
        let method =
            Method::parse(name, Era::Modern).ok_or_else(|| Fault::unknown_method(name, Era::Modern))?;
        *known = Some(method);
        headers::agree_on_name(headers, method, &params)?;
        return modern(&exchange(revision), method).await;
    }
    if name == Method::Initialize.as_str() {
        *known = Some(Method::Initialize);
        return open(&exchange(initialize::negotiate(&params)), headers);
    }
    let (revision, session) = Box::pin(legacy_revision(endpoint, caller, headers)).await?;
    let method = Method::parse(name, Era::Legacy).ok_or_else(|| Fault::unknown_method(name, Era::Legacy))?;
    *known = Some(method);
    if method == Method::ToolsCall {
        return Box::pin(tool_call(&exchange(revision))).await;
    }
    legacy(&exchange(revision), method, session.as_deref()).await.map(Answered::Message)
}

async fn modern(exchange: &Exchange<'_>, method: Method) -> Result<Answered, Fault> {
    match method {
        Method::Listen => Box::pin(listen::open(exchange)).await.map(Answered::Stream),
        Method::ToolsCall => Box::pin(tool_call(exchange)).await,
        _ => exchange.answer(method).await.map(Answered::Message),
    }
}

async fn legacy(exchange: &Exchange<'_>, method: Method, session: Option<&str>) -> Result<Vec<u8>, Fault> {
    match method {
        Method::Subscribe | Method::Unsubscribe => {
            Box::pin(session_stream::alter(exchange, method, session)).await
        }
        _ => exchange.answer(method).await,
    }
}

/// `initialize`: opens a session, if sessions are kept.
fn open(exchange: &Exchange<'_>, headers: &HeaderMap) -> Result<Answered, Fault> {
    let proposed = exchange.params.protocol_version.and_then(text_of);
    if let (Some(header), Some(proposed)) = (headers::single(headers, &PROTOCOL_VERSION)?, proposed)
        && header != proposed
    {
        return Err(Fault::invalid_request(
            "The header mcp-protocol-version differs from params.protocolVersion",
        ));
    }
    let opened = || {
        let sessions = exchange.endpoint.hub.sessions.as_ref();
        let id = sessions
            .map(|sessions| sessions.open(exchange.caller, exchange.revision.as_str()))
            .transpose()?;
        let json = initialize::answer(exchange, id.is_some())?;
        Ok(Answered::Opened(json, id))
    };
    opened().map_err(|error| exchange.fault(error))
}

/// The revision that a legacy request speaks, and its session.
async fn legacy_revision(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<(Revision, Option<String>), Fault> {
    let stated = match headers::single(headers, &PROTOCOL_VERSION)? {
        None => None,
        Some(version) => Some(Revision::parse(&version).ok_or_else(|| Fault::unsupported_version(&version))?),
    };
    let session = session_stream::named(endpoint, caller, headers).await?;
    let agreed = session.as_ref().and_then(|(_, revision)| Revision::parse(revision));
    Ok((stated.or(agreed).unwrap_or(Revision::UNSTATED), session.map(|(id, _)| id)))
}

/// A tool call is one document, unless it reports progress before it is done: then it is a stream.
async fn tool_call(exchange: &Exchange<'_>) -> Result<Answered, Fault> {
    let call = ToolCall::read(exchange)?;
    let (sender, mut reports) = mpsc::channel(limits::PROGRESS_QUEUED);
    let token = exchange.params.progress_token();
    let mut work: BoxFuture<'static, Result<Vec<u8>, Fault>> = match token.map(ToOwned::to_owned) {
        Some(token) => Box::pin(async move { call.run(&ProgressMessages::new(token, sender)).await }),
        None => Box::pin(async move { call.run(&NoProgress).await }),
    };
    if !exchange.revision.is_modern() {
        work = outlive(work);
    }
    if token.is_none() {
        return work.await.map(Answered::Message);
    }
    let (first, stage) = tokio::select! {
        biased;
        Some(first) = reports.recv() => (first, Stage::Running(work)),
        done = &mut work => match (reports.try_recv(), done) {
            (Ok(first), done) => (first, Stage::Done(done)),
            (Err(_), done) => return done.map(Answered::Message),
        },
    };
    let running = RunningCall { id: exchange.id.to_owned(), first: Some(first), reports, stage };
    Ok(Answered::Stream(Box::pin(stream::unfold(running, RunningCall::next))))
}

/// In the legacy era a lost connection is not a cancellation: the work goes on without its client.
fn outlive(work: BoxFuture<'static, Result<Vec<u8>, Fault>>) -> BoxFuture<'static, Result<Vec<u8>, Fault>> {
    Box::pin(async move {
        match tokio::spawn(work.in_current_span()).await {
            Ok(done) => done,
            Err(broken) => Err(Fault::of(Error::internal(broken), Era::Legacy)),
        }
    })
}

struct RunningCall {
    id: Box<RawValue>,
    first: Option<Vec<u8>>,
    reports: mpsc::Receiver<Vec<u8>>,
    stage: Stage,
}

enum Stage {
    Running(BoxFuture<'static, Result<Vec<u8>, Fault>>),
    Done(Result<Vec<u8>, Fault>),
    Over,
}

impl RunningCall {
    async fn next(mut self) -> Option<(Vec<u8>, RunningCall)> {
        if let Some(first) = self.first.take() {
            return Some((first, self));
        }
        if let Stage::Running(work) = &mut self.stage {
            tokio::select! {
                biased;
                Some(report) = self.reports.recv() => return Some((report, self)),
                done = work => self.stage = Stage::Done(done),
            }
        }
        if let Ok(report) = self.reports.try_recv() {
            return Some((report, self));
        }
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Done(Ok(message)) => Some((message, self)),
            // The status has been sent already; what is left is the error itself.
            Stage::Done(Err(fault)) => Some((fault.message(Some(&self.id)), self)),
            Stage::Running(_) | Stage::Over => None,
        }
    }
}

/// Several legacy messages as one array, answered in order.
async fn batch(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
    messages: &[&RawValue],
) -> PostReply {
    let found = if headers.get(&PROTOCOL_VERSION).is_some_and(headers::names_modern) {
        Err(no_batches())
    } else {
        legacy_revision(endpoint, caller, headers).await
    };
    let (revision, session) = match found {
        Ok((revision, session)) if revision.has_batches() => (revision, session),
        Ok(_) => return refused(None, None, endpoint.refuse(caller, UNREAD, no_batches()).await),
        Err(fault) => return refused(None, None, endpoint.refuse(caller, UNREAD, fault).await),
    };
    let mut replies: Vec<Vec<u8>> = Vec::new();
    for raw in messages {
        let (id, name, params, answered) = match envelope::read_one(raw.get()) {
            Err(unreadable) => (unreadable.id, UNREAD.into(), None, Err(unreadable.fault)),
            Ok(Message::Request { id, method, params }) => {
                let answered =
                    batch_request(endpoint, caller, revision, session.as_deref(), id, &method, params).await;
                (Some(id.to_owned()), method, params, answered)
            }
            Ok(_) => continue,
        };
        let answered = match answered {
            Err(fault) => Err(endpoint.refuse_call(caller, &name, params, fault).await),
            answered => answered,
        };
        match answered {
            Ok(message) => replies.push(message),
            // Nothing has been done yet, so everything can be done again. Later on, only this message failed.
            Err(fault) if fault.asks_for_credential() && replies.is_empty() => {
                return refused(None, None, fault);
            }
            Err(fault) => replies.push(fault.message(id.as_deref())),
        }
    }
    if replies.is_empty() {
        return accepted();
    }
    let mut json = Vec::with_capacity(replies.iter().map(|reply| reply.len() + 1).sum::<usize>() + 1);
    json.push(b'[');
    json.extend_from_slice(&replies.join(&b','));
    json.push(b']');
    answered(None, json, None)
}

pub(crate) fn no_batches() -> Fault {
    Fault::invalid_request("This protocol revision has no batches; send one message at a time")
}

async fn batch_request(
    endpoint: &Endpoint,
    caller: &Principal,
    revision: Revision,
    session: Option<&str>,
    id: &RawValue,
    name: &str,
    params: Option<&RawValue>,
) -> Result<Vec<u8>, Fault> {
    let params = Params::read(params).map_err(|error| Fault::of(error, Era::Legacy))?;
    if params.names_revision() {
        return Err(no_batches());
    }
    let method = Method::parse(name, Era::Legacy).ok_or_else(|| Fault::unknown_method(name, Era::Legacy))?;
    if method == Method::Initialize {
        return Err(Fault::invalid_request("initialize must not be part of a batch"));
    }
    let exchange = Exchange { endpoint, caller, revision, transport: Transport::Http, id, params: &params };
    legacy(&exchange, method, session).await
}
