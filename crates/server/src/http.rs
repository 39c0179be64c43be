//! The HTTP door: its routes, and what is checked before any of them.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use axum::Router;
use axum::response::Response;
use axum::routing::{any, get};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use quad_auth::{RateLimit, RateLimiter};
use quad_core::resolver::View;
use quad_core::{BoxFuture, Resolver, Result};
use quad_mcp::{Endpoint, ServerOptions, ServerState, SessionStore};
use tokio::net::TcpListener;

use crate::auth::AuthPolicy;
use crate::connection::ConnectionService;
use crate::connection_timer;
use crate::host_check::{HostPolicy, HostRejection};
use crate::limits::{self, Timeouts};
use crate::metrics::Metrics;
use crate::request_id::{self, RequestIds};
use crate::{accept, health, mcp, metadata, resources_get, response};

/// Asks whether the database answers.
pub type ReadinessCheck = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

/// What the HTTP door is made from.
pub struct HttpOptions {
    /// Where to listen.
    pub listener: TcpListener,
    /// What is served.
    pub resolver: Arc<Resolver>,
    /// Who may come in.
    pub auth_policy: AuthPolicy,
    /// Who keeps legacy sessions; without, legacy clients cannot subscribe.
    pub sessions: Option<Arc<dyn SessionStore>>,
    /// Names that this server answers to beside the loopback names and the bound address: `name`, `name:port`, `*`.
    pub allowed_hosts: Vec<String>,
    /// How the outside reaches us, such as `https://quad.example.com`; without, as each request does.
    pub public_url: Option<String>,
    /// Where tokens come from, if not from this server's own command line.
    pub authorization_servers: Vec<String>,
    /// Whether `tools/list` shows every tool, not only the core ones.
    pub all_tools: bool,
    /// How many requests a tenant may send to this process; without, as many as it likes.
    pub rate_limit: Option<RateLimit>,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// Whether the database answers.
    pub ready: ReadinessCheck,
    /// The server's name, as clients see it.
    pub name: &'static str,
    /// The server's version, as clients see it.
    pub version: &'static str,
}

/// What every request of the door can reach.
pub(crate) struct Server {
    pub(crate) state: Arc<ServerState>,
    /// Every scheme, with the tools that are listed unless somebody asks for others.
    pub(crate) endpoint: Endpoint,
    pub(crate) auth_policy: AuthPolicy,
    pub(crate) metrics: Metrics,
    pub(crate) ready: ReadinessCheck,
    pub(crate) public_url: Option<String>,
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) bound: SocketAddr,
    pub(crate) all_tools: bool,
    pub(crate) rate_limiter: Option<RateLimiter>,
    pub(crate) timeouts: Timeouts,
    /// What a first challenge asks for: to read, and nothing more.
    pub(crate) challenge_scopes: String,
    host_policy: HostPolicy,
    request_ids: RequestIds,
}

/// Serves until `shutdown` is done; then streams end with their closing message and running requests may finish.
pub async fn serve(options: HttpOptions, shutdown: impl Future<Output = ()> + Send) -> std::io::Result<()> {
    let bound = options.listener.local_addr()?;
    let state = ServerState::new(ServerOptions {
        resolver: options.resolver,
        sessions: options.sessions,
        name: options.name,
        version: options.version,
    });
    let process = quad_core::id::ulid().map_err(std::io::Error::other)?;
    let challenge_scopes: Vec<&str> =
        state.resolver().all_scopes().into_iter().filter(|scope| scope.ends_with(":read")).collect();
    let server = Arc::new(Server {
        auth_policy: options.auth_policy,
        metrics: Metrics::default(),
        ready: options.ready,
        public_url: options.public_url,
        authorization_servers: options.authorization_servers,
        bound,
        all_tools: options.all_tools,
        rate_limiter: options.rate_limit.map(RateLimiter::new),
        timeouts: options.timeouts,
        challenge_scopes: challenge_scopes.join(" "),
        host_policy: HostPolicy::new(bound, &options.allowed_hosts),
        request_ids: RequestIds::new(process),
        endpoint: Endpoint::new(state.clone(), View::All, options.all_tools),
        state: state.clone(),
    });
    let service = ConnectionService::new(server.clone(), router(server));
    accept::run(options.listener, service, options.timeouts, shutdown, move || state.close()).await;
    Ok(())
}

fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/mcp/info", get(metadata::info))
        .route("/mcp/{scheme}", any(mcp::handle_scheme))
        .route("/v1/agents/mcp", any(mcp::handle_agents_path))
        .route("/v1/resources", get(resources_get::get_resource))
        .route("/.well-known/oauth-protected-resource", get(metadata::protected_resource))
        .route("/.well-known/oauth-protected-resource/{*path}", get(metadata::protected_resource))
        .route("/.well-known/jwks.json", get(metadata::key_set))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(server)
}

async fn not_found() -> Response {
    response::error_response(
        StatusCode::NOT_FOUND,
        &quad_core::Error::new(quad_core::Kind::NotFound, "NOT_FOUND", "Nothing is at this path")
            .hint("The protocol's endpoint is /mcp; GET /mcp/info says more"),
    )
}

async fn method_not_allowed() -> Response {
    response::bad_input_response(
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        "This path does not take that method",
        "The Allow header names those that it takes",
    )
}

/// Names the request, turns strangers away, lets `answer` answer it in time, and our own pages read the reply.
pub(crate) async fn handle_request<F: Future<Output = Response>>(
    server: &Server,
    request: Request<Incoming>,
    handler: impl FnOnce(Request<Incoming>, Instant) -> F,
) -> Response {
    let started = Instant::now();
    let id = server.request_ids.for_request(request.headers().get(&request_id::HEADER));
    let logged_request = tracing::enabled!(tracing::Level::DEBUG)
        .then(|| (request.method().clone(), request.uri().path().to_owned()));
    // Pinned where it is made: it is large, and to hand it on would be to copy it.
    let result = {
        let mut handling = pin!(check_and_handle(server, request, |request| handler(request, started)));
        let poll = |context: &mut Context<'_>| id.in_scope(|| handling.as_mut().poll(context));
        connection_timer::with_deadline(started + server.timeouts.request, poll_fn(poll)).await
    };
    let mut response = result.unwrap_or_else(|| {
        id.in_scope(|| tracing::warn!("a request took too long"));
        timeout_response()
    });
    if let Some((method, path)) = logged_request {
        let (status, took) = (response.status().as_u16(), started.elapsed());
        id.in_scope(|| tracing::debug!(%method, path, status, ?took, "answered"));
    }
    response.headers_mut().insert(&request_id::HEADER, id.into_header_value());
    response
}

async fn check_and_handle<F: Future<Output = Response>>(
    server: &Server,
    request: Request<Incoming>,
    handler: impl FnOnce(Request<Incoming>) -> F,
) -> Response {
    if let Err(response) = check_header_limits(&request) {
        return *response;
    }
    let path = request.uri().path();
    // Probes come from load balancers that know us by address only.
    let is_probe = matches!(path, "/healthz" | "/readyz");
    let is_public = path.starts_with("/.well-known/");
    let authority = request.uri().authority().map(http::uri::Authority::as_str);
    let mut checked =
        if is_probe { Ok(()) } else { server.host_policy.check_host(request.headers(), authority) };
    if !is_public {
        checked = checked.and_then(|()| server.host_policy.check_origin(request.headers()));
    }
    if let Err(rejection) = checked {
        server.metrics.count_host_rejected();
        return reject_host(server, rejection);
    }
    let Some(origin) = request.headers().get(ORIGIN).filter(|_| !is_public).cloned() else {
        return handler(request).await;
    };
    let is_preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if is_preflight { preflight() } else { handler(request).await };
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(
            "WWW-Authenticate, Mcp-Session-Id, X-Request-Id, ETag, Content-Range, Retry-After",
        ),
    );
    headers.append(VARY, HeaderValue::from_static("Origin"));
    response
}

/// The number and the size of the headers.
fn check_header_limits(request: &Request<Incoming>) -> Result<(), Box<Response>> {
    let limit_error = |code: &'static str, message: &str, limit: usize| {
        let error = quad_core::Error::new(quad_core::Kind::Limit, code, message).with_detail("limit", limit);
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

/// What was begun may still be done: a write that the database has accepted is not taken back.
fn timeout_response() -> Response {
    response::error_response(
        StatusCode::SERVICE_UNAVAILABLE,
        &quad_core::Error::new(quad_core::Kind::Limit, "REQUEST_TIMEOUT", "The request took too long")
            .hint("Look whether it was done before sending it again"),
    )
}

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

fn reject_host(server: &Server, rejection: HostRejection) -> Response {
    let (reason, code, message, hint) = match rejection {
        HostRejection::Host => (
            "foreign_host",
            "HOST_NOT_ALLOWED",
            "This server does not answer to that host name",
            "Use the address that it is bound to, or start it with that name allowed",
        ),
        HostRejection::Origin => (
            "foreign_origin",
            "ORIGIN_NOT_ALLOWED",
            "Pages of that origin may not call this server",
            "Start the server with that origin's host allowed",
        ),
    };
    server.auth_policy.count_anonymous_refusal(reason, code);
    response::bad_input_response(StatusCode::FORBIDDEN, code, message, hint)
}

/// The view of one scheme, or the reply that there is none.
pub(crate) fn find_view(server: &Server, scheme: &str) -> Result<View, Box<Response>> {
    let view = server.state.resolver().view_for_scheme(scheme);
    view.map_err(|error| Box::new(response::error_response(StatusCode::NOT_FOUND, &error)))
}
