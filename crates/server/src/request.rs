//! One HTTP request: its id and deadline, the checks before any handler, CORS, and the way to the handler.
//!
//! This file knows no credential and no protocol message.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, CONNECTION, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use quad_core::{Error, Kind};
use tower_service::Service as _;

use crate::admission::Admission;
use crate::connection::ConnectionState;
use crate::host_check::{HostRejection, check_fetch_site};
use crate::server::Server;
use crate::{http_mcp, limits, request_id, response};

/// Answers one request: gives it an id, checks it, calls its handler, and ends it at its deadline.
pub(crate) async fn handle(connection: &ConnectionState, request: Request<Incoming>) -> Response {
    let (server, started) = (&*connection.server, Instant::now());
    let id = server.request_ids.for_request(request.headers().get(&request_id::HEADER));
    let logged_request = (server.access_log || tracing::enabled!(tracing::Level::DEBUG))
        .then(|| (request.method().clone(), request.uri().path().to_owned()));
    // Pinned here and not passed on: the future is large, and passing it would copy it.
    let result = {
        let mut handling = pin!(check_and_handle(connection, request, started));
        let poll = |context: &mut Context<'_>| id.in_scope(|| handling.as_mut().poll(context));
        with_deadline(started + server.timeouts.request, poll_fn(poll)).await
    };
    let mut response = result.unwrap_or_else(|| {
        id.in_scope(|| tracing::warn!("request timed out"));
        timeout_response()
    });
    if let Some((method, path)) = logged_request {
        let (status, took) = (response.status().as_u16(), started.elapsed());
        let (peer, took_ms) = (connection.peer.0, took.as_secs_f64() * 1e3);
        id.in_scope(|| match server.access_log {
            true => tracing::info!(target: "quad::access", %peer, %method, path, status, took_ms, "request"),
            false => tracing::debug!(%method, path, status, took_ms, "request answered"),
        });
    }
    response.headers_mut().insert(&request_id::HEADER, id.into_header_value());
    response
}

/// The output of a future, or `None` if it is not ready at the deadline. Must run in a connection: its ticks poll this.
pub(crate) async fn with_deadline<T>(deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context: &mut Context<'_>| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if Instant::now() >= deadline => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Checks the headers, the host and the origin, calls the handler, and adds the CORS headers for an allowed origin.
async fn check_and_handle(
    connection: &ConnectionState,
    mut request: Request<Incoming>,
    started: Instant,
) -> Response {
    let server = &*connection.server;
    if connection.admission == Admission::Reserve {
        return Box::pin(handle_on_reserve(connection, request)).await;
    }
    if let Err(response) = check_header_limits(&request) {
        return *response;
    }
    let path = request.uri().path();
    // Load balancers probe by address and do not know the server's name.
    let is_probe = is_probe(path);
    let is_public = path.starts_with("/.well-known/");
    let authority = request.uri().authority().map(http::uri::Authority::as_str);
    let mut checked =
        if is_probe { Ok(()) } else { server.host_policy.check_host(request.headers(), authority) };
    if !is_public {
        checked = checked.and_then(|()| server.host_policy.check_origin(request.headers()));
        if !server.auth_policy.requires_token() {
            checked = checked.and_then(|()| check_fetch_site(request.headers()));
        }
    }
    if let Err(rejection) = checked {
        return reject_host(server, rejection);
    }
    let origin = request.headers().get(ORIGIN).filter(|_| !is_public).cloned();
    let is_preflight = origin.is_some()
        && request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut needs_credential = true;
    let mut response = if is_preflight {
        needs_credential = false;
        preflight()
    } else if path == http_mcp::MCP_PATH {
        // Nearly all requests. The router would cost more than a cached read.
        http_mcp::handle_all(server, &connection.credential_cache, request, started).await
    } else {
        needs_credential = needs_credential_at(path);
        request.extensions_mut().insert(connection.peer);
        route(connection, request).await
    };
    if needs_credential && response.status().is_success() {
        connection.mark_known();
    }
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "WWW-Authenticate, Mcp-Session-Id, X-Request-Id, ETag, Content-Range, Retry-After",
            ),
        );
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    response
}

async fn route(connection: &ConnectionState, request: Request<Incoming>) -> Response {
    match connection.router.clone().call(request.map(Body::new)).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Load balancers probe by address and do not know the server's name.
fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}

/// Whether only a request with an accepted credential succeeds at this path.
fn needs_credential_at(path: &str) -> bool {
    (path.starts_with("/mcp/") && path != "/mcp/info") || path.starts_with("/v1/")
}

/// Answers on a connection of the reserve, which then closes.
async fn handle_on_reserve(connection: &ConnectionState, mut request: Request<Incoming>) -> Response {
    let path = request.uri().path();
    let mut response = if is_probe(path) {
        request.extensions_mut().insert(connection.peer);
        route(connection, request).await
    } else {
        let error = Error::busy("The server has too many connections").with_code("TOO_MANY_CONNECTIONS");
        response::error_response(StatusCode::SERVICE_UNAVAILABLE, &error)
    };
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Checks the number and the total size of the headers.
fn check_header_limits(request: &Request<Incoming>) -> Result<(), Box<Response>> {
    let limit_error = |code: &'static str, message: &str, limit: usize| {
        let error = Error::new(Kind::Limit, code, message)
            .hint("Send fewer and shorter headers")
            .with_detail("limit", limit);
        Err(Box::new(response::error_response(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &error)))
    };
    let headers = request.headers();
    if headers.len() > limits::HEADERS_MAX {
        return limit_error("TOO_MANY_HEADERS", "There are too many headers", limits::HEADERS_MAX);
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > limits::HEADER_BYTES_MAX {
        return limit_error("HEADERS_TOO_LARGE", "The headers are too large", limits::HEADER_BYTES_MAX);
    }
    Ok(())
}

/// The reply to a request that timed out. The request may still take effect: a write that the database has accepted is
/// committed.
fn timeout_response() -> Response {
    response::error_response(
        StatusCode::SERVICE_UNAVAILABLE,
        &Error::new(Kind::Limit, "REQUEST_TIMEOUT", "The request timed out")
            .hint("Check whether it took effect before you send it again"),
    )
}

/// The reply to a CORS preflight request.
fn preflight() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, \
             Last-Event-ID, X-Request-Id, If-None-Match, Range",
        ),
    );
    response
}

/// The reply to a request for another host, from a foreign origin, or from a page of another origin.
fn reject_host(server: &Server, rejection: HostRejection) -> Response {
    server.metrics.count_host_rejected();
    let (reason, code, message, hint) = match rejection {
        HostRejection::Host => (
            "foreign_host",
            "HOST_NOT_ALLOWED",
            "The host name is not allowed",
            "Use the bound address, or start the server with this host name allowed",
        ),
        HostRejection::Origin => (
            "foreign_origin",
            "ORIGIN_NOT_ALLOWED",
            "The origin is not allowed",
            "Start the server with the host of this origin allowed",
        ),
        HostRejection::OtherPage => (
            "cross_site",
            "CROSS_SITE_NOT_ALLOWED",
            "A web page of another origin sent this request, and the server runs without tokens",
            "Use a client outside of the browser, or start the server without --no-auth and send a token",
        ),
    };
    server.auth_policy.count_anonymous_refusal(reason, code);
    response::bad_input_response(StatusCode::FORBIDDEN, code, message, hint)
}
