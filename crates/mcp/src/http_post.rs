//! MCP over HTTP POST: from headers and a body to the reply.
//!
//! The caller has been authenticated and the body is within its limit. This module knows HTTP headers and statuses,
//! but no socket.

use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use quad_core::{Error, Principal};
use serde_json::value::RawValue;

use crate::dispatch::{Reply, RequestContext};
use crate::envelope::{self, Incoming, Message, UNPARSED_METHOD, raw_str};
use crate::params::Params;
use crate::request::{self, RejectedRequest, RpcRequest};
use crate::{Endpoint, MessageStream, Method, RpcError, Transport, batch, initialize, session_stream};

/// The reply to a POST.
pub struct PostReply {
    /// The method, for the metrics; `None` if it is unknown or could not be read.
    pub method: Option<Method>,
    /// The scheme of the address or the tool, for the metrics; `None` if the request belongs to no single scheme.
    pub scheme: Option<&'static str>,
    /// How the request failed, if it did. A stream says it when it has ended.
    pub failure: Option<Failure>,
    /// The id of the session that was opened, for the `Mcp-Session-Id` header.
    pub session: Option<String>,
    /// The body.
    pub body: PostBody,
}

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The outcome, for the metrics: refused or failed.
    pub outcome: Outcome,
    /// After how many seconds the request may be sent again, if the error says so.
    pub retry_after: Option<u64>,
}

impl Failure {
    /// The failure that an error is.
    pub fn of(error: &Error) -> Failure {
        let outcome = if error.is_server_fault() { Outcome::Failed } else { Outcome::Refused };
        Failure { outcome, retry_after: error.retry_after_seconds() }
    }
}

/// The failure of a reply that is a stream: empty until the stream has ended with one.
pub type StreamFailure = Arc<OnceLock<Failure>>;

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A result.
    Ok,
    /// An error that the caller can act on.
    Refused,
    /// An internal error.
    Failed,
}

/// The body of a reply.
pub enum PostBody {
    /// No body: the message needs no reply. Status 202.
    Accepted,
    /// One JSON document.
    Message {
        /// The HTTP status.
        status: u16,
        /// The document.
        json: Vec<u8>,
        /// Set with status 403: the content of the challenge.
        scope: Option<ScopeChallenge>,
    },
    /// A stream of messages, and how it failed when it has ended.
    Stream(MessageStream, StreamFailure),
    /// The credential changed during the request, which had no effect and left no audit event: authenticate again and
    /// repeat the request.
    CredentialChanged,
}

/// The scope that a caller must request from its authorization server.
#[derive(Debug)]
pub struct ScopeChallenge {
    /// The scope.
    pub scope: String,
    /// Why it is needed.
    pub description: String,
}

/// Answers the body of a POST.
pub async fn handle(endpoint: &Endpoint, caller: &Principal, headers: &HeaderMap, body: &[u8]) -> PostReply {
    match envelope::parse_incoming(body) {
        Ok(Incoming::One(Message::Request { id, method, params })) => {
            handle_request(endpoint, caller, headers, id, &method, params).await
        }
        // Everything below is rare. Its futures are boxed, so that the future of a request does not have their size.
        Ok(Incoming::One(Message::Notification { method, .. })) => {
            Box::pin(handle_notification(endpoint, caller, headers, &method)).await
        }
        Ok(Incoming::One(Message::Response)) => accepted_reply(),
        Ok(Incoming::Batch(messages)) => Box::pin(batch::handle(endpoint, caller, headers, &messages)).await,
        Err(invalid) => {
            let rpc_error = endpoint.audit_error(caller, UNPARSED_METHOD, None, invalid.rpc_error).await;
            error_reply(None, invalid.id.as_deref(), rpc_error)
        }
    }
}

async fn handle_request(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
    id: &RawValue,
    name: &str,
    params: Option<&RawValue>,
) -> PostReply {
    let (mut session, mut scheme) = (None, None);
    let (method, result) = match RpcRequest::parse(endpoint, caller, headers, name, params).await {
        Err(RejectedRequest { method, rpc_error }) => (method, Err(rpc_error)),
        Ok(request) => {
            let (revision, params) = (request.revision, &request.params);
            scheme = scheme_of(endpoint, request.method, params);
            let context =
                RequestContext { endpoint, caller, revision, transport: Transport::Http, id, params };
            let result = match request.method {
                Method::Initialize => open_session(&context, &mut session),
                method @ (Method::Subscribe | Method::Unsubscribe) => {
                    let change =
                        session_stream::change_subscription(&context, method, request.session.as_deref());
                    Box::pin(change).await.map(Reply::Message)
                }
                method => context.dispatch(method).await,
            };
            (Some(request.method), result)
        }
    };
    let reply = match result {
        Ok(Reply::Message(json)) => message_reply(method, json, None),
        Ok(Reply::FailedCall(json, failure)) => message_reply(method, json, Some(failure)),
        Ok(Reply::Stream(messages, failure)) => PostReply {
            method,
            scheme: None,
            failure: None,
            session: None,
            body: PostBody::Stream(messages, failure),
        },
        Err(rpc_error) => {
            error_reply(method, Some(id), endpoint.audit_error(caller, name, params, rpc_error).await)
        }
    };
    PostReply { scheme, session, ..reply }
}

/// The scheme that a request is about, if it names an address or a tool of one.
fn scheme_of(endpoint: &Endpoint, method: Method, params: &Params<'_>) -> Option<&'static str> {
    let resolver = endpoint.resolver();
    match method {
        Method::ResourcesRead | Method::Subscribe | Method::Unsubscribe => {
            resolver.scheme_of_uri(&raw_str(params.uri?)?)
        }
        Method::ToolsCall => resolver.scheme_of_tool(&raw_str(params.name?)?),
        _ => None,
    }
}

/// `initialize`: opens a session, if there is a session store.
fn open_session(context: &RequestContext<'_>, session: &mut Option<String>) -> Result<Reply, RpcError> {
    let sessions = context.endpoint.server.sessions.as_ref();
    let opened =
        sessions.map(|sessions| sessions.open(context.caller, context.revision.as_str())).transpose();
    let response = opened.and_then(|id| {
        *session = id;
        initialize::handle(context, session.is_some())
    });
    response.map(Reply::Message).map_err(|error| context.rpc_error(error))
}

/// No notification of a client has an effect over HTTP. But a legacy client that names an ended session must learn
/// that.
async fn handle_notification(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
    method: &str,
) -> PostReply {
    if request::names_modern_revision(headers) {
        return accepted_reply();
    }
    match request::session_from_headers(endpoint, caller, headers).await {
        Ok(_) => accepted_reply(),
        Err(rpc_error) => {
            error_reply(None, None, endpoint.audit_error(caller, method, None, rpc_error).await)
        }
    }
}

pub(crate) fn accepted_reply() -> PostReply {
    PostReply { method: None, scheme: None, failure: None, session: None, body: PostBody::Accepted }
}

pub(crate) fn message_reply(method: Option<Method>, json: Vec<u8>, failure: Option<Failure>) -> PostReply {
    let body = PostBody::Message { status: 200, json, scope: None };
    PostReply { method, scheme: None, failure, session: None, body }
}

pub(crate) fn error_reply(method: Option<Method>, id: Option<&RawValue>, rpc_error: RpcError) -> PostReply {
    if rpc_error.needs_reauth() {
        let (failure, body) = (Some(Failure::of(&rpc_error.error)), PostBody::CredentialChanged);
        return PostReply { method, scheme: None, failure, session: None, body };
    }
    let failure = Some(Failure::of(&rpc_error.error));
    let scope = rpc_error.missing_scope().map(|scope| ScopeChallenge {
        scope: scope.to_owned(),
        description: rpc_error.error.message().to_owned(),
    });
    let body = PostBody::Message { status: rpc_error.status, json: rpc_error.to_json(id), scope };
    PostReply { method, scheme: None, failure, session: None, body }
}
