//! The state that all requests of an HTTP server share.

use std::net::SocketAddr;
use std::sync::Arc;

use quad_auth::RateLimiter;
use quad_mcp::{Endpoint, ServerState, ToolNames};

use crate::auth_policy::AuthPolicy;
use crate::health::Readiness;
use crate::host_check::HostPolicy;
use crate::limits::Timeouts;
use crate::metrics::Metrics;
use crate::request_id::RequestIds;

/// Shared by all requests.
pub(crate) struct Server {
    pub(crate) state: Arc<ServerState>,
    /// The endpoint of `/mcp` without a `tools` parameter: every scheme, the default tools.
    pub(crate) endpoint: Endpoint,
    pub(crate) auth_policy: AuthPolicy,
    pub(crate) metrics: Metrics,
    pub(crate) readiness: Arc<Readiness>,
    /// Whether each request is logged.
    pub(crate) access_log: bool,
    pub(crate) public_url: Option<String>,
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) bound: SocketAddr,
    pub(crate) all_tools: bool,
    pub(crate) tool_names: ToolNames,
    pub(crate) rate_limiter: Option<RateLimiter>,
    pub(crate) timeouts: Timeouts,
    /// The scopes that the challenge of a 401 asks for: all that end with `:read`.
    pub(crate) challenge_scopes: String,
    pub(crate) host_policy: HostPolicy,
    pub(crate) request_ids: RequestIds,
}
