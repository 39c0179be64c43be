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

use crate::dispatch::RequestContext;
use crate::envelope::{self, Incoming, Message, UNPARSED_METHOD};
use crate::headers::PROTOCOL_VERSION;
use crate::meta::Meta;
use crate::params::Params;
use crate::progress::ProgressMessages;
use crate::tools::OwnedToolCall;
use crate::{
    Endpoint, Era, MessageStream, Method, Revision, RpcError, Transport, envelope::raw_str, headers,
    initialize, limits, listen, session_stream,
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
    CredentialChanged,
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
enum PostOutcome {
    Message(Vec<u8>),
    SessionOpened(Vec<u8>, Option<String>),
    Stream(MessageStream),
}

/// Answers the body of a POST.
pub async fn handle(endpoint: &Endpoint, caller: &Principal, headers: &HeaderMap, body: &[u8]) -> PostReply {
    match envelope::parse_incoming(body) {
        Err(invalid) => {
            let rpc_error = endpoint.audit_error(caller, UNPARSED_METHOD, invalid.rpc_error).await;
            error_reply(None, invalid.id.as_deref(), rpc_error)
        }
        // Seldom, and large: in a box, as all that is so below.
        Ok(Incoming::Batch(messages)) => Box::pin(handle_batch(endpoint, caller, headers, &messages)).await,
        Ok(Incoming::One(Message::Response)) => accepted_reply(),
        Ok(Incoming::One(Message::Notification { method, .. })) => {
            // No notification of a client means anything to us here, but an ended session is worth telling.
            match Box::pin(session_stream::session_from_headers(endpoint, caller, headers)).await {
                Err(rpc_error) if !headers.get(&PROTOCOL_VERSION).is_some_and(headers::is_modern_version) => {
                    error_reply(None, None, endpoint.audit_error(caller, &method, rpc_error).await)
                }
                _ => accepted_reply(),
            }
        }
        Ok(Incoming::One(Message::Request { id, method, params })) => {
            let mut parsed_method = None;
            match handle_request(endpoint, caller, headers, id, &method, params, &mut parsed_method).await {
                Ok(PostOutcome::Message(json)) => ok_reply(parsed_method, json, None),
                Ok(PostOutcome::SessionOpened(json, session)) => ok_reply(parsed_method, json, session),
                Ok(PostOutcome::Stream(stream)) => PostReply {
                    method: parsed_method,
                    outcome: Outcome::Ok,
                    session: None,
                    body: PostBody::Stream(stream),
                },
                Err(rpc_error) => error_reply(
                    parsed_method,
                    Some(id),
                    endpoint.audit_request_error(caller, &method, params, rpc_error).await,
                ),
            }
        }
    }
}

fn accepted_reply() -> PostReply {
    PostReply { method: None, outcome: Outcome::Ok, session: None, body: PostBody::Accepted }
}

fn ok_reply(method: Option<Method>, json: Vec<u8>, session: Option<String>) -> PostReply {
    let body = PostBody::Message { status: 200, json, scope: None };
    PostReply { method, outcome: Outcome::Ok, session, body }
}

fn error_reply(method: Option<Method>, id: Option<&RawValue>, rpc_error: RpcError) -> PostReply {
    if rpc_error.needs_reauth() {
        return PostReply {
            method,
            outcome: Outcome::Refused,
            session: None,
            body: PostBody::CredentialChanged,
        };
    }
    let outcome = if rpc_error.error.kind() == Kind::Internal { Outcome::Failed } else { Outcome::Refused };
    let scope = rpc_error.missing_scope().map(|scope| ScopeChallenge {
        scope: scope.to_owned(),
        description: rpc_error.error.message().to_owned(),
    });
    let body = PostBody::Message { status: rpc_error.status, json: rpc_error.to_json(id), scope };
    PostReply { method, outcome, session: None, body }
}

async fn handle_request(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
    id: &RawValue,
    name: &str,
    params: Option<&RawValue>,
    parsed_method: &mut Option<Method>,
) -> Result<PostOutcome, RpcError> {
    let modern_header = headers.get(&PROTOCOL_VERSION).is_some_and(headers::is_modern_version);
    let params = Params::read(params).map_err(|error| {
        if modern_header {
            RpcError::incomplete_meta(error.message())
        } else {
            RpcError::from_error(error, Era::Legacy)
        }
    })?;
    let transport = Transport::Http;
    let context = |revision| RequestContext { endpoint, caller, revision, transport, id, params: &params };
    if modern_header || params.has_protocol_version() {
        let meta =
            params.meta.as_ref().ok_or_else(|| RpcError::incomplete_meta("params._meta is missing"))?;
        let version = meta.required_version()?;
        headers::check_version_header(headers, &version)?;
        let revision = Meta::parse_modern_revision(&version)?;
        headers::check_method_header(headers, name)?;
        let method =
            Method::parse(name, Era::Modern).ok_or_else(|| RpcError::unknown_method(name, Era::Modern))?;
        *parsed_method = Some(method);
        headers::check_name_header(headers, method, &params)?;
        return handle_modern(&context(revision), method).await;
    }
    if name == Method::Initialize.as_str() {
        *parsed_method = Some(Method::Initialize);
        return handle_initialize(&context(initialize::negotiate(&params)), headers);
    }
    let (revision, session) = Box::pin(legacy_revision_and_session(endpoint, caller, headers)).await?;
    let method =
        Method::parse(name, Era::Legacy).ok_or_else(|| RpcError::unknown_method(name, Era::Legacy))?;
    *parsed_method = Some(method);
    if method == Method::ToolsCall {
        return Box::pin(handle_tool_call(&context(revision))).await;
    }
    handle_legacy(&context(revision), method, session.as_deref()).await.map(PostOutcome::Message)
}

async fn handle_modern(context: &RequestContext<'_>, method: Method) -> Result<PostOutcome, RpcError> {
    match method {
        Method::Listen => Box::pin(listen::open(context)).await.map(PostOutcome::Stream),
        Method::ToolsCall => Box::pin(handle_tool_call(context)).await,
        _ => context.dispatch(method).await.map(PostOutcome::Message),
    }
}

async fn handle_legacy(
    context: &RequestContext<'_>,
    method: Method,
    session: Option<&str>,
) -> Result<Vec<u8>, RpcError> {
    match method {
        Method::Subscribe | Method::Unsubscribe => {
            Box::pin(session_stream::change_subscription(context, method, session)).await
        }
        _ => context.dispatch(method).await,
    }
}

/// `initialize`: opens a session, if sessions are kept.
fn handle_initialize(context: &RequestContext<'_>, headers: &HeaderMap) -> Result<PostOutcome, RpcError> {
    let proposed = context.params.protocol_version.and_then(raw_str);
    if let (Some(header), Some(proposed)) = (headers::single_value(headers, &PROTOCOL_VERSION)?, proposed)
        && header != proposed
    {
        return Err(RpcError::invalid_request(
            "The header mcp-protocol-version differs from params.protocolVersion",
        ));
    }
    let open_session = || {
        let sessions = context.endpoint.server.sessions.as_ref();
        let id =
            sessions.map(|sessions| sessions.open(context.caller, context.revision.as_str())).transpose()?;
        let json = initialize::handle(context, id.is_some())?;
        Ok(PostOutcome::SessionOpened(json, id))
    };
    open_session().map_err(|error| context.rpc_error(error))
}

/// The revision that a legacy request speaks, and its session.
async fn legacy_revision_and_session(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<(Revision, Option<String>), RpcError> {
    let header_revision = match headers::single_value(headers, &PROTOCOL_VERSION)? {
        None => None,
        Some(version) => {
            Some(Revision::parse(&version).ok_or_else(|| RpcError::unsupported_version(&version))?)
        }
    };
    let session = session_stream::session_from_headers(endpoint, caller, headers).await?;
    let session_revision = session.as_ref().and_then(|(_, revision)| Revision::parse(revision));
    Ok((header_revision.or(session_revision).unwrap_or(Revision::DEFAULT_LEGACY), session.map(|(id, _)| id)))
}

/// A tool call is one document, unless it reports progress before it is done: then it is a stream.
async fn handle_tool_call(context: &RequestContext<'_>) -> Result<PostOutcome, RpcError> {
    let call = OwnedToolCall::from_request(context)?;
    let (sender, mut progress_messages) = mpsc::channel(limits::PROGRESS_QUEUED);
    let token = context.params.progress_token();
    let mut call_future: BoxFuture<'static, Result<Vec<u8>, RpcError>> = match token.map(ToOwned::to_owned) {
        Some(token) => Box::pin(async move { call.run(&ProgressMessages::new(token, sender)).await }),
        None => Box::pin(async move { call.run(&NoProgress).await }),
    };
    if !context.revision.is_modern() {
        call_future = detach(call_future);
    }
    if token.is_none() {
        return call_future.await.map(PostOutcome::Message);
    }
    let (first, state) = tokio::select! {
        biased;
        Some(first) = progress_messages.recv() => (first, CallState::Running(call_future)),
        result = &mut call_future => match (progress_messages.try_recv(), result) {
            (Ok(first), result) => (first, CallState::Done(result)),
            (Err(_), result) => return result.map(PostOutcome::Message),
        },
    };
    let running_call =
        RunningCall { id: context.id.to_owned(), first: Some(first), progress_messages, state };
    Ok(PostOutcome::Stream(Box::pin(stream::unfold(running_call, RunningCall::next))))
}

/// In the legacy era a lost connection is not a cancellation: the work goes on without its client.
fn detach(
    call_future: BoxFuture<'static, Result<Vec<u8>, RpcError>>,
) -> BoxFuture<'static, Result<Vec<u8>, RpcError>> {
    Box::pin(async move {
        match tokio::spawn(call_future.in_current_span()).await {
            Ok(result) => result,
            Err(join_error) => Err(RpcError::from_error(Error::internal(join_error), Era::Legacy)),
        }
    })
}

struct RunningCall {
    id: Box<RawValue>,
    first: Option<Vec<u8>>,
    progress_messages: mpsc::Receiver<Vec<u8>>,
    state: CallState,
}

enum CallState {
    Running(BoxFuture<'static, Result<Vec<u8>, RpcError>>),
    Done(Result<Vec<u8>, RpcError>),
    Closed,
}

impl RunningCall {
    async fn next(mut self) -> Option<(Vec<u8>, RunningCall)> {
        if let Some(first) = self.first.take() {
            return Some((first, self));
        }
        if let CallState::Running(call_future) = &mut self.state {
            tokio::select! {
                biased;
                Some(progress_message) = self.progress_messages.recv() => return Some((progress_message, self)),
                result = call_future => self.state = CallState::Done(result),
            }
        }
        if let Ok(progress_message) = self.progress_messages.try_recv() {
            return Some((progress_message, self));
        }
        match std::mem::replace(&mut self.state, CallState::Closed) {
            CallState::Done(Ok(message)) => Some((message, self)),
            // The status has been sent already; what is left is the error itself.
            CallState::Done(Err(rpc_error)) => Some((rpc_error.to_json(Some(&self.id)), self)),
            CallState::Running(_) | CallState::Closed => None,
        }
    }
}

/// Several legacy messages as one array, answered in order.
async fn handle_batch(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
    messages: &[&RawValue],
) -> PostReply {
    let negotiated = if headers.get(&PROTOCOL_VERSION).is_some_and(headers::is_modern_version) {
        Err(batches_unsupported())
    } else {
        legacy_revision_and_session(endpoint, caller, headers).await
    };
    let (revision, session) = match negotiated {
        Ok((revision, session)) if revision.has_batches() => (revision, session),
        Ok(_) => {
            return error_reply(
                None,
                None,
                endpoint.audit_error(caller, UNPARSED_METHOD, batches_unsupported()).await,
            );
        }
        Err(rpc_error) => {
            return error_reply(None, None, endpoint.audit_error(caller, UNPARSED_METHOD, rpc_error).await);
        }
    };
    let mut replies: Vec<Vec<u8>> = Vec::new();
    for raw in messages {
        let (id, name, params, result) = match envelope::parse_message(raw.get()) {
            Err(invalid) => (invalid.id, UNPARSED_METHOD.into(), None, Err(invalid.rpc_error)),
            Ok(Message::Request { id, method, params }) => {
                let result =
                    handle_batch_request(endpoint, caller, revision, session.as_deref(), id, &method, params)
                        .await;
                (Some(id.to_owned()), method, params, result)
            }
            Ok(_) => continue,
        };
        let result = match result {
            Err(rpc_error) => Err(endpoint.audit_request_error(caller, &name, params, rpc_error).await),
            ok => ok,
        };
        match result {
            Ok(message) => replies.push(message),
            // Nothing has been done yet, so everything can be done again. Later on, only this message failed.
            Err(rpc_error) if rpc_error.needs_reauth() && replies.is_empty() => {
                return error_reply(None, None, rpc_error);
            }
            Err(rpc_error) => replies.push(rpc_error.to_json(id.as_deref())),
        }
    }
    if replies.is_empty() {
        return accepted_reply();
    }
    let mut json = Vec::with_capacity(replies.iter().map(|reply| reply.len() + 1).sum::<usize>() + 1);
    json.push(b'[');
    json.extend_from_slice(&replies.join(&b','));
    json.push(b']');
    ok_reply(None, json, None)
}

pub(crate) fn batches_unsupported() -> RpcError {
    RpcError::invalid_request("This protocol revision has no batches; send one message at a time")
}

async fn handle_batch_request(
    endpoint: &Endpoint,
    caller: &Principal,
    revision: Revision,
    session: Option<&str>,
    id: &RawValue,
    name: &str,
    params: Option<&RawValue>,
) -> Result<Vec<u8>, RpcError> {
    let params = Params::read(params).map_err(|error| RpcError::from_error(error, Era::Legacy))?;
    if params.has_protocol_version() {
        return Err(batches_unsupported());
    }
    let method =
        Method::parse(name, Era::Legacy).ok_or_else(|| RpcError::unknown_method(name, Era::Legacy))?;
    if method == Method::Initialize {
        return Err(RpcError::invalid_request("initialize must not be part of a batch"));
    }
    let context =
        RequestContext { endpoint, caller, revision, transport: Transport::Http, id, params: &params };
    handle_legacy(&context, method, session).await
}
