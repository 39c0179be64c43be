//! MCP over HTTP: `POST`, `GET` and `DELETE` on `/mcp`, `/mcp/{scheme}` and `/v1/agents/mcp`.
//!
//! This file reads bodies and writes replies. Messages are parsed and answered in [`quad_mcp`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Path, Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{
    ACCEPT_ENCODING, ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderValue,
    WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use quad_core::resolver::View;
use quad_core::text::truncate;
use quad_core::{Error, Kind, Principal};
use quad_mcp::envelope::UNPARSED_METHOD;
use quad_mcp::http_post::{self, Outcome, PostBody, PostReply, StreamFailure};
use quad_mcp::limits::BODY_BYTES;
use quad_mcp::{Endpoint, RpcError, ToolNames, session_stream};

use crate::auth::RequestAuth;
use crate::credential_cache::ConnectionCredentialCache;
use crate::metrics::RequestCounter;
use crate::request::with_deadline;
use crate::server::Server;
use crate::{limits, metadata, response, sse};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// A request body, from the connection or from the router.
pub(crate) trait RequestBody: http_body::Body<Data = Bytes> + Unpin + Send {}

impl<B: http_body::Body<Data = Bytes> + Unpin + Send> RequestBody for B {}

/// The path of the endpoint with every scheme.
pub(crate) const MCP_PATH: &str = "/mcp";

/// `/mcp`: every scheme.
pub(crate) async fn handle_all(
    server: &Server,
    credential_cache: &ConnectionCredentialCache,
    request: http::Request<Incoming>,
    started: Instant,
) -> Response {
    handle(server, Some(credential_cache), View::All, server.tool_names, request, started).await
}

/// `/mcp/{scheme}`: one scheme.
pub(crate) async fn handle_scheme(
    State(server): State<Arc<Server>>,
    Path(scheme): Path<String>,
    request: Request,
) -> Response {
    handle_one_scheme(&server, &scheme, server.tool_names, request).await
}

/// `/v1/agents/mcp`: the same as `/mcp/brain`, for existing clients of brain. They expect the original tool names.
pub(crate) async fn handle_agents_path(State(server): State<Arc<Server>>, request: Request) -> Response {
    handle_one_scheme(&server, "brain", ToolNames::Original, request).await
}

async fn handle_one_scheme(
    server: &Server,
    scheme: &str,
    tool_names: ToolNames,
    request: Request,
) -> Response {
    match server.state.resolver().view_for_scheme(scheme) {
        Ok(view) => handle(server, None, view, tool_names, request, Instant::now()).await,
        Err(error) => response::error_response(StatusCode::NOT_FOUND, &error),
    }
}

/// Finds the endpoint and answers by HTTP method.
async fn handle<B: RequestBody>(
    server: &Server,
    cache: Option<&ConnectionCredentialCache>,
    view: View,
    tool_names: ToolNames,
    request: http::Request<B>,
    started: Instant,
) -> Response {
    let all_tools = server.all_tools
        || request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "tools=all"));
    let custom_endpoint;
    let endpoint = if view == View::All && all_tools == server.all_tools {
        &server.endpoint
    } else {
        custom_endpoint = Endpoint::new(server.state.clone(), view, all_tools).with_tool_names(tool_names);
        &custom_endpoint
    };
    let (parts, body) = request.into_parts();
    let auth = RequestAuth { server, headers: &parts.headers, cache, started };
    let has_sessions = session_stream::sessions_supported(endpoint, &parts.headers);
    match parts.method {
        Method::POST => handle_post(&auth, endpoint, body).await,
        Method::GET if has_sessions => Box::pin(open_stream(&auth, endpoint)).await,
        Method::DELETE if has_sessions => Box::pin(end_session(&auth, endpoint)).await,
        _ => {
            let allow = if has_sessions { "POST, GET, DELETE" } else { "POST" };
            let mut response = response::bad_input_response(
                StatusCode::METHOD_NOT_ALLOWED,
                "METHOD_NOT_ALLOWED",
                "This path does not allow that method",
                "Send protocol messages with POST",
            );
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
            response
        }
    }
}

/// A protocol message.
async fn handle_post<B: RequestBody>(auth: &RequestAuth<'_>, endpoint: &Endpoint, body: B) -> Response {
    let caller = match auth.authenticate_and_limit().await {
        Ok(caller) => caller,
        Err(response) => return *response,
    };
    let body = match read_body(auth, body).await {
        Ok(body) => body,
        Err((status, error)) => {
            let mut response =
                Box::pin(auth.reject_with_audit(&caller, UNPARSED_METHOD, status, error)).await;
            if status == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json(auth.headers) {
                // The encoding is the reason, not the media type.
                response.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            }
            return response;
        }
    };
    let body = &body;
    let call = |caller: Arc<Principal>| async move {
        http_post::handle(endpoint, &caller, auth.headers, body).await
    };
    match auth.call_as(caller, call).await {
        Ok(reply) => {
            record(auth.server, &reply, auth.started.elapsed());
            to_response(auth, reply)
        }
        Err(response) => *response,
    }
}

/// Records a reply that has been computed or, for a stream, has begun.
fn record(server: &Server, reply: &PostReply, took: Duration) {
    server.metrics.record_duration(reply.method, reply.scheme, took);
    if !is_counted_at_end(reply) {
        let outcome = reply.failure.map_or(Outcome::Ok, |failure| failure.outcome);
        server.metrics.requests.count(reply.method, outcome);
    }
    if took >= limits::SLOW_REQUEST {
        server.metrics.count_slow_request();
        let method = reply.method.map_or("other", quad_mcp::Method::as_str);
        let took_ms = took.as_secs_f64() * 1e3;
        tracing::warn!(method, scheme = reply.scheme.unwrap_or_default(), took_ms, "slow call");
    }
}

/// The HTTP reply to a protocol reply.
fn to_response(auth: &RequestAuth<'_>, reply: PostReply) -> Response {
    let is_counted_later = is_counted_at_end(&reply);
    let retry_after = reply.failure.and_then(|failure| failure.retry_after);
    let mut response = match reply.body {
        PostBody::Accepted => empty(StatusCode::ACCEPTED),
        PostBody::Message { status, json, scope } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = response::json_response(status, json);
            if let Some(missing) = scope {
                let challenge = metadata::scope_challenge(
                    auth.server,
                    auth.headers,
                    &missing.scope,
                    &missing.description,
                );
                response::set_header(&mut response, WWW_AUTHENTICATE, &challenge);
            }
            response
        }
        PostBody::Stream(messages, failure) if is_counted_later => {
            let counter = auth.server.metrics.requests.clone();
            sse::counted_response(messages, StreamOutcome { counter, method: reply.method, failure })
        }
        PostBody::Stream(messages, _) => sse::response(messages),
        PostBody::CredentialChanged => auth.credential_changed_response(),
    };
    response::set_retry_after(&mut response, retry_after);
    if let Some(session) = reply.session {
        response::set_header(&mut response, SESSION_ID, &session);
    }
    response
}

/// Whether the outcome is known only when the stream ends: that of a tool call with progress.
fn is_counted_at_end(reply: &PostReply) -> bool {
    matches!(reply.body, PostBody::Stream(..)) && reply.method == Some(quad_mcp::Method::ToolsCall)
}

/// Counts the request of a stream when the stream ends.
pub(crate) struct StreamOutcome {
    counter: RequestCounter,
    method: Option<quad_mcp::Method>,
    failure: StreamFailure,
}

impl Drop for StreamOutcome {
    fn drop(&mut self) {
        let outcome = self.failure.get().map_or(Outcome::Ok, |failure| failure.outcome);
        self.counter.count(self.method, outcome);
    }
}

/// The stream of a legacy session.
async fn open_stream(auth: &RequestAuth<'_>, endpoint: &Endpoint) -> Response {
    let call =
        |caller: Arc<Principal>| async move { session_stream::open(endpoint, &caller, auth.headers).await };
    match auth.with_caller(call).await {
        Ok(Ok(messages)) => sse::response(messages),
        Ok(Err(error)) => rpc_error_response(&error),
        Err(response) => *response,
    }
}

/// The end of a legacy session.
async fn end_session(auth: &RequestAuth<'_>, endpoint: &Endpoint) -> Response {
    let call =
        |caller: Arc<Principal>| async move { session_stream::end(endpoint, &caller, auth.headers).await };
    match auth.with_caller(call).await {
        Ok(Ok(())) => empty(StatusCode::NO_CONTENT),
        Ok(Err(error)) => rpc_error_response(&error),
        Err(response) => *response,
    }
}

/// An error of a request that had no message.
fn rpc_error_response(error: &RpcError) -> Response {
    // Without a message, a client looks at the status alone: it must not be 200.
    let status = if error.status == 200 {
        response::status_for_kind(error.error.kind()).as_u16()
    } else {
        error.status
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response::json_response(status, error.to_json(None))
}

/// A reply without a body.
fn empty(status: StatusCode) -> Response {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

/// Whether the content type is JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.map(|value| value.split(';').next().unwrap_or_default().trim());
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
}

/// The first content encoding other than `identity`. Bodies are not decompressed: a small one could become a huge one.
fn unsupported_encoding(headers: &HeaderMap) -> Option<String> {
    let mut values =
        headers.get_all(CONTENT_ENCODING).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let is_unsupported = |encoding: &&str| !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity");
    values.find_map(|value| value.split(',').map(str::trim).find(is_unsupported).map(str::to_owned))
}

/// Reads the body. `Err` is the status and the error of a body that is compressed, not JSON, too large or too slow.
async fn read_body<B: RequestBody>(auth: &RequestAuth<'_>, body: B) -> Result<Bytes, (StatusCode, Error)> {
    let headers = auth.headers;
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
    if let Some(encoding) = unsupported_encoding(headers) {
        let encoding = truncate(&encoding, limits::ENCODING_CHARS_MAX);
        return Err(bad_body(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_CONTENT_ENCODING",
            &format!("The content encoding {encoding} is not supported"),
            "Send the body as plain JSON, without Content-Encoding",
        ));
    }
    let too_large = || {
        let error = Error::new(Kind::Limit, "BODY_TOO_LARGE", "The body is too large")
            .hint("Send less in one request: split it into several");
        (StatusCode::PAYLOAD_TOO_LARGE, error.with_detail("limit_bytes", BODY_BYTES))
    };
    let content_length =
        headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let is_too_large = content_length.is_some_and(|length| length > BODY_BYTES);
    // A client that sent `Expect` waits for permission and has not sent the body yet.
    if is_too_large && headers.contains_key(EXPECT) {
        return Err(too_large());
    }
    let mut frames = BodyDataStream::new(body);
    let read = async {
        if is_too_large {
            drain(&mut frames).await;
            return Err(too_large());
        }
        // Nearly every body is one frame, which is not copied.
        let mut first = Bytes::new();
        let mut rest: Vec<u8> = Vec::new();
        while let Some(frame) = frames.next().await {
            let frame = frame.map_err(|_| {
                bad_body(
                    StatusCode::BAD_REQUEST,
                    "BODY_BROKEN",
                    "The body is incomplete",
                    "Send the request again",
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
    match with_deadline(auth.started + auth.server.timeouts.body, read).await {
        Some(read) => read,
        None => Err(bad_body(
            StatusCode::REQUEST_TIMEOUT,
            "BODY_TOO_SLOW",
            "The body took too long to arrive",
            "Send the request again",
        )),
    }
}

/// Reads and drops the rest of a body that is too large. A client that is still sending when the connection closes
/// would see a broken connection instead of the error.
async fn drain<B: RequestBody>(frames: &mut BodyDataStream<B>) {
    let mut drained = 0;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(limits::DRAIN_READ_TIMEOUT, frames.next()).await {
        drained += frame.len();
        if drained > limits::DRAIN_BYTES_MAX {
            return;
        }
    }
}
