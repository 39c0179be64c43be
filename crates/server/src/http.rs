//! The HTTP server: its options, its start, and the routes of its paths.
//!
//! A request goes through `connection` → `request` → the handler of its path, which gets its caller from `auth`. It enters
//! each file once.

use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use axum::routing::{any, get};
use http::StatusCode;
use prometheus_client::registry::Registry;
use quad_auth::{RateLimit, RateLimiter};
use quad_core::resolver::View;
use quad_core::{Error, Kind, Resolver};
use quad_mcp::{Endpoint, ServerOptions, ServerState, SessionStore, ToolNames};
use tokio::net::TcpListener;

use crate::auth_policy::AuthPolicy;
use crate::health::Readiness;
use crate::host_check::HostPolicy;
use crate::limits::Timeouts;
use crate::metrics::Metrics;
use crate::request_id::RequestIds;
use crate::server::Server;
use crate::{connection, health, http_mcp, metadata, resources_get, response};

pub use crate::health::ReadinessCheck;

/// The options of an HTTP server.
pub struct HttpOptions {
    /// The bound socket.
    pub listener: TcpListener,
    /// Answers reads, lists, tool calls and prompts.
    pub resolver: Arc<Resolver>,
    /// How callers are authenticated.
    pub auth_policy: AuthPolicy,
    /// Stores legacy sessions. Without one, legacy clients cannot subscribe.
    pub sessions: Option<Arc<dyn SessionStore>>,
    /// Allowed host names besides the loopback names and the bound address: `name`, `name:port`, or `*` for all.
    pub allowed_hosts: Vec<String>,
    /// The public URL, such as `https://quad.example.com`. Without one, links use the `Host` of their request.
    pub public_url: Option<String>,
    /// The URLs of external authorization servers. If there is none, tokens come from `quad token mint`, and the metadata
    /// names none.
    pub authorization_servers: Vec<String>,
    /// Whether `tools/list` shows every tool, not only the core ones.
    pub all_tools: bool,
    /// The form of the published tool names. `/v1/agents/mcp` always publishes the original ones.
    pub tool_names: ToolNames,
    /// The rate limit of each tenant in this process. `None`: no limit.
    pub rate_limit: Option<RateLimit>,
    /// The timeouts of connections and requests.
    pub timeouts: Timeouts,
    /// Whether what a call writes can be written.
    pub ready: ReadinessCheck,
    /// Metrics of other parts of the program. The server adds its own.
    pub metrics: Registry,
    /// Whether each request is logged.
    pub access_log: bool,
    /// The server's name, as clients see it.
    pub name: &'static str,
    /// The server's version, as clients see it.
    pub version: &'static str,
}

/// Serves until `shutdown` is done. Then streams end with their closing message and running requests may finish.
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
        metrics: Metrics::new(options.metrics, state.clone(), options.version),
        readiness: Arc::new(Readiness::new(options.ready)),
        access_log: options.access_log,
        public_url: options.public_url,
        authorization_servers: options.authorization_servers,
        bound,
        all_tools: options.all_tools,
        tool_names: options.tool_names,
        rate_limiter: options.rate_limit.map(RateLimiter::new),
        timeouts: options.timeouts,
        challenge_scopes: challenge_scopes.join(" "),
        host_policy: HostPolicy::new(bound, &options.allowed_hosts),
        request_ids: RequestIds::new(process),
        endpoint: Endpoint::new(state.clone(), View::All, options.all_tools)
            .with_tool_names(options.tool_names),
        state: state.clone(),
    });
    let router = router(server.clone());
    connection::serve(options.listener, server, router, shutdown, move || state.close()).await;
    Ok(())
}

fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/mcp/info", get(metadata::info))
        .route("/mcp/{scheme}", any(http_mcp::handle_scheme))
        .route("/v1/agents/mcp", any(http_mcp::handle_agents_path))
        .route("/v1/resources", get(resources_get::get_resource))
        .route("/.well-known/oauth-protected-resource", get(metadata::protected_resource))
        .route("/.well-known/oauth-protected-resource/{*path}", get(metadata::protected_resource))
        .route("/.well-known/jwks.json", get(metadata::key_set))
        .route("/register", any(metadata::oauth_refusal))
        .route("/authorize", any(metadata::oauth_refusal))
        .route("/token", any(metadata::oauth_refusal))
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
        &Error::new(Kind::NotFound, "NOT_FOUND", "There is nothing at this path")
            .hint("Send MCP messages to /mcp; GET /mcp/info lists all endpoints"),
    )
}

async fn method_not_allowed() -> Response {
    response::bad_input_response(
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        "This path does not allow that method",
        "Use a method that the Allow header names",
    )
}
