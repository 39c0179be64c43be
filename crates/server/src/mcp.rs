//! `POST`, `GET` and `DELETE` on the protocol's endpoints, in the order in which the protocol wants them checked.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{
    ALLOW, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode};
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use quad_core::resolver::View;
use quad_core::{Error, EventDraft, Kind, Principal};
use quad_mcp::envelope::UNPARSED_METHOD;
use quad_mcp::http_post::{self, Outcome, PostBody, PostReply};
use quad_mcp::limits::BODY_BYTES;
use quad_mcp::{Endpoint, RpcError, session_stream};

use crate::auth::CredentialError;
use crate::credential_cache::ConnectionCredentialCache;
use crate::http::{Server, find_view};
use crate::{connection_timer, limits, metadata, response, sse};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The code of a request beyond its tenant's rate.
const RATE_LIMITED_CODE: &str = "rate_limited";

/// The body of a request, as it comes from the connection or by the router.
pub(crate) trait RequestBody: http_body::Body<Data = Bytes> + Unpin + Send {}

impl<B: http_body::Body<Data = Bytes> + Unpin + Send> RequestBody for B {}

/// Where every scheme is.
pub(crate) const MCP_PATH: &str = "/mcp";

/// Every scheme.
pub(crate) async fn handle_all(
    server: &Server,
    credential_cache: &ConnectionCredentialCache,
    request: http::Request<Incoming>,
    started: Instant,
) -> Response {
    handle(server, credential_cache, View::All, request, started).await
}

/// One scheme.
pub(crate) async fn handle_scheme(
    State(server): State<Arc<Server>>,
    Path(scheme): Path<String>,
    request: Request,
) -> Response {
    match find_view(&server, &scheme) {
        Ok(view) => {
            handle(&server, &ConnectionCredentialCache::default(), view, request, Instant::now()).await
        }
        Err(response) => *response,
    }
}

/// The path that agents of the money scheme know.
pub(crate) async fn handle_agents_path(state: State<Arc<Server>>, request: Request) -> Response {
    handle_scheme(state, Path("brain".to_owned()), request).await
}

async fn handle<B: RequestBody>(
    server: &Server,
    credential_cache: &ConnectionCredentialCache,
    view: View,
    request: http::Request<B>,
    started: Instant,
) -> Response {
    let all_tools = server.all_tools
        || request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "tools=all"));
    let custom_endpoint;
    let endpoint = if view == View::All && all_tools == server.all_tools {
        &server.endpoint
    } else {
        custom_endpoint = Endpoint::new(server.state.clone(), view, all_tools);
        &custom_endpoint
    };
    let (parts, body) = request.into_parts();
    let has_sessions = session_stream::sessions_supported(endpoint, &parts.headers);
    match parts.method {
        Method::POST => handle_post(server, credential_cache, endpoint, &parts, body, started).await,
        Method::GET if has_sessions => Box::pin(open_stream(server, endpoint, &parts.headers)).await,
        Method::DELETE if has_sessions => Box::pin(end_session(server, endpoint, &parts.headers)).await,
        _ => {
            let allow = if has_sessions { "POST, GET, DELETE" } else { "POST" };
            let mut response = response::bad_input_response(
                StatusCode::METHOD_NOT_ALLOWED,
                "METHOD_NOT_ALLOWED",
                "This path does not take that method",
                "Send protocol messages with POST",
            );
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
            response
        }
    }
}

async fn handle_post<B: RequestBody>(
    server: &Server,
    credential_cache: &ConnectionCredentialCache,
    endpoint: &Endpoint,
    parts: &Parts,
    body: B,
    started: Instant,
) -> Response {
    let headers = &parts.headers;
    let mut caller = match authenticate_and_limit(server, credential_cache, headers, started).await {
        Ok(caller) => caller,
        Err(response) => return *response,
    };
    let body = match read_body(server, headers, body, started).await {
        Ok(body) => body,
        Err((status, error)) => {
            return Box::pin(reject_with_audit(server, headers, &caller, UNPARSED_METHOD, status, error))
                .await;
        }
    };
    let mut reply = http_post::handle(endpoint, &caller, headers, &body).await;
    if matches!(reply.body, PostBody::CredentialChanged) {
        credential_cache.clear();
        caller = match Box::pin(reauthenticate(server, headers)).await {
            Ok(caller) => caller,
            Err(response) => return *response,
        };
        reply = Box::pin(http_post::handle(endpoint, &caller, headers, &body)).await;
    }
    server.metrics.count_request(reply.method, reply.outcome, started.elapsed());
    to_response(server, headers, reply)
}

fn to_response(server: &Server, headers: &HeaderMap, reply: PostReply) -> Response {
    let mut response = match reply.body {
        PostBody::Accepted => empty(StatusCode::ACCEPTED),
        PostBody::Message { status, json, scope } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = response::json_response(status, json);
            if let Some(missing) = scope {
                let challenge =
                    metadata::scope_challenge(server, headers, &missing.scope, &missing.description);
                response::set_header(&mut response, WWW_AUTHENTICATE, &challenge);
            }
            response
        }
        PostBody::Stream(messages) => sse::response(messages),
        PostBody::CredentialChanged => unauthorized_response(server, headers, true, &credential_changed()),
    };
    if let Some(session) = reply.session {
        response::set_header(&mut response, SESSION_ID, &session);
    }
    response
}

/// The stream of a legacy session.
async fn open_stream(server: &Server, endpoint: &Endpoint, headers: &HeaderMap) -> Response {
    let mut caller =
        match authenticate_and_limit(server, &ConnectionCredentialCache::default(), headers, Instant::now())
            .await
        {
            Ok(caller) => caller,
            Err(response) => return *response,
        };
    let mut result = session_stream::open(endpoint, &caller, headers).await;
    if result.as_ref().is_err_and(RpcError::needs_reauth) {
        caller = match reauthenticate(server, headers).await {
            Ok(caller) => caller,
            Err(response) => return *response,
        };
        result = session_stream::open(endpoint, &caller, headers).await;
    }
    match result {
        Ok(messages) => sse::response(messages),
        Err(error) => rpc_error_response(&error),
    }
}

/// The end of a legacy session.
async fn end_session(server: &Server, endpoint: &Endpoint, headers: &HeaderMap) -> Response {
    let mut caller =
        match authenticate_and_limit(server, &ConnectionCredentialCache::default(), headers, Instant::now())
            .await
        {
            Ok(caller) => caller,
            Err(response) => return *response,
        };
    let mut result = session_stream::end(endpoint, &caller, headers).await;
    if result.as_ref().is_err_and(RpcError::needs_reauth) {
        caller = match reauthenticate(server, headers).await {
            Ok(caller) => caller,
            Err(response) => return *response,
        };
        result = session_stream::end(endpoint, &caller, headers).await;
    }
    match result {
        Ok(()) => empty(StatusCode::NO_CONTENT),
        Err(error) => rpc_error_response(&error),
    }
}

fn rpc_error_response(error: &RpcError) -> Response {
    // Where no message was sent there is no reply to carry the error, so the status must.
    let status = if error.status == 200 {
        response::status_for_kind(error.error.kind()).as_u16()
    } else {
        error.status
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response::json_response(status, error.to_json(None))
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

/// Who is asking, or the reply that says how to prove it; or, if its tenant asks too much, when to come again.
pub(crate) async fn authenticate_and_limit(
    server: &Server,
    credential_cache: &ConnectionCredentialCache,
    headers: &HeaderMap,
    now: Instant,
) -> Result<Arc<Principal>, Box<Response>> {
    let caller = match cached_caller(credential_cache, headers, now) {
        Some(caller) => caller,
        // Seldom, and large: in a box.
        None => {
            let caller = Box::pin(authenticate(server, headers)).await?;
            if let Some(authorization) = headers.get(AUTHORIZATION) {
                credential_cache.put(authorization.as_bytes(), &caller, now);
            }
            caller
        }
    };
    let Some(rate_limiter) = &server.rate_limiter else { return Ok(caller) };
    let Err(wait) = rate_limiter.try_acquire(&caller.tenant, now) else { return Ok(caller) };
    server.metrics.count_rate_limited();
    server.auth_policy.count_refusal(&caller, RATE_LIMITED_CODE);
    // Whole seconds, so that whoever waits as told is let in.
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let error = Error::new(Kind::Limit, RATE_LIMITED_CODE, "This tenant sends more requests than it may")
        .hint("Wait for the seconds that Retry-After says")
        .with_detail("per_second", rate_limiter.limit().per_second)
        .with_detail("burst", rate_limiter.limit().burst)
        .with_detail("retry_after_seconds", seconds);
    let mut response = response::error_response(StatusCode::TOO_MANY_REQUESTS, &error);
    response::set_header(&mut response, RETRY_AFTER, &seconds.to_string());
    Err(Box::new(response))
}

/// Who is asking, if the connection knows the one credential that is shown.
fn cached_caller(
    credential_cache: &ConnectionCredentialCache,
    headers: &HeaderMap,
    now: Instant,
) -> Option<Arc<Principal>> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let authorization = values.next()?;
    if values.next().is_some() { None } else { credential_cache.get(authorization.as_bytes(), now) }
}

/// Who is asking, or the reply that says how to prove it.
pub(crate) async fn authenticate(
    server: &Server,
    headers: &HeaderMap,
) -> Result<Arc<Principal>, Box<Response>> {
    if headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
        server.auth_policy.count_anonymous_refusal("several_credentials", "INVALID_REQUEST");
        return Err(Box::new(response::bad_input_response(
            StatusCode::BAD_REQUEST,
            "INVALID_REQUEST",
            "There is more than one Authorization header",
            "Send exactly one",
        )));
    }
    let error = match server.auth_policy.authenticate(authorization(headers)).await {
        Ok(principal) => return Ok(principal),
        Err(error) => error,
    };
    server.metrics.count_unauthorized();
    let response = match error {
        CredentialError::Missing { code, reason, message } => {
            unauthorized_response(server, headers, false, &credential_error(code, reason, message))
        }
        CredentialError::Invalid { code, reason, message } => {
            unauthorized_response(server, headers, true, &credential_error(code, reason, message))
        }
        CredentialError::Failed(error) => {
            tracing::error!(
                code = error.code(),
                cause = error.cause_chain(),
                "a credential could not be checked"
            );
            response::error_response(StatusCode::INTERNAL_SERVER_ERROR, &error)
        }
    };
    Err(Box::new(response))
}

/// The same once more, when what was known about the token is no longer true. Nothing has been done for it yet.
async fn reauthenticate(server: &Server, headers: &HeaderMap) -> Result<Arc<Principal>, Box<Response>> {
    server.auth_policy.evict(authorization(headers));
    authenticate(server, headers).await
}

/// The one shape of every refused credential.
fn credential_error(code: &'static str, reason: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Credential, code, message)
        .hint("Send Authorization: Bearer with a token of this server; `quad token mint` makes one")
        .with_detail("reason", reason)
}

/// A credential that changed again and again while its call was being answered.
pub(crate) fn credential_changed() -> Error {
    credential_error("auth_token_invalid", "changed", "The bearer token is no longer valid")
}

/// 401, with the challenge.
pub(crate) fn unauthorized_response(
    server: &Server,
    headers: &HeaderMap,
    token_was_sent: bool,
    error: &Error,
) -> Response {
    let mut response = response::error_response(StatusCode::UNAUTHORIZED, error);
    let challenge = metadata::token_challenge(server, headers, token_was_sent);
    response::set_header(&mut response, WWW_AUTHENTICATE, &challenge);
    response
}

/// The credential that a request shows.
pub(crate) fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok())
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.map(|value| value.split(';').next().unwrap_or_default().trim());
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
}

/// Refuses what a proven caller sent, outside the protocol, and writes that down as a call of `method`.
pub(crate) async fn reject_with_audit(
    server: &Server,
    headers: &HeaderMap,
    caller: &Principal,
    method: &'static str,
    status: StatusCode,
    error: Error,
) -> Response {
    let error = server.state.resolver().record_refusal(caller, EventDraft::call(caller, method), error).await;
    if error.is_recorded() {
        response::error_response(status, &error)
    } else if error.kind() == Kind::Credential {
        server.auth_policy.evict(authorization(headers));
        unauthorized_response(server, headers, true, &credential_changed())
    } else {
        response::error_response(response::status_for_kind(error.kind()), &error)
    }
}

/// The body, if it is JSON and within its size and time; else the status and the error.
async fn read_body<B: RequestBody>(
    server: &Server,
    headers: &HeaderMap,
    body: B,
    started: Instant,
) -> Result<Bytes, (StatusCode, Error)> {
    let bad_body = |status, code, message: &str, hint: &str| {
        (status, Error::new(Kind::BadInput, code, message).hint(hint))
    };
    if !is_json(headers) {
        return Err(bad_body(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            "The body must be JSON",
            "Send Content-Type: application/json",
        ));
    }
    let too_large = || {
        let error = Error::new(Kind::Limit, "BODY_TOO_LARGE", "The body is too large");
        (StatusCode::PAYLOAD_TOO_LARGE, error.with_detail("limit_bytes", BODY_BYTES))
    };
    let content_length =
        headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let is_too_large = content_length.is_some_and(|length| length > BODY_BYTES);
    // Whoever asks first is told before it sends anything.
    if is_too_large && headers.contains_key(EXPECT) {
        return Err(too_large());
    }
    let mut frames = BodyDataStream::new(body);
    let read = async {
        if is_too_large {
            drain(&mut frames).await;
            return Err(too_large());
        }
        // Nearly every body is one piece, which needs no copy.
        let mut first = Bytes::new();
        let mut rest: Vec<u8> = Vec::new();
        while let Some(frame) = frames.next().await {
            let frame = frame.map_err(|_| {
                bad_body(
                    StatusCode::BAD_REQUEST,
                    "BODY_BROKEN",
                    "The body ended before its time",
                    "Send it again",
                )
            })?;
            if first.len() + rest.len() + frame.len() > BODY_BYTES {
                drain(&mut frames).await;
                return Err(too_large());
            }
            if first.is_empty() && rest.is_empty() {
                first = frame;
            } else {
                if rest.is_empty() {
                    rest = std::mem::take(&mut first).to_vec();
                }
                rest.extend_from_slice(&frame);
            }
        }
        Ok(if rest.is_empty() { first } else { rest.into() })
    };
    match connection_timer::with_deadline(started + server.timeouts.body, read).await {
        Some(read) => read,
        None => Err(bad_body(
            StatusCode::REQUEST_TIMEOUT,
            "BODY_TOO_SLOW",
            "The body took too long to arrive",
            "Send it again",
        )),
    }
}

/// Takes in the rest of a body that is too large and drops it: a client that is still sending when the connection closes
/// sees a broken connection instead of the reason.
async fn drain<B: RequestBody>(frames: &mut BodyDataStream<B>) {
    let mut drained = 0;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(limits::DRAIN_READ_TIMEOUT, frames.next()).await {
        drained += frame.len();
        if drained > limits::DRAIN_BYTES_MAX {
            return;
        }
    }
}

/// How a read outside the protocol went, for the figures.
pub(crate) fn outcome_from_kind(kind: Kind) -> Outcome {
    if kind == Kind::Internal { Outcome::Failed } else { Outcome::Refused }
}
