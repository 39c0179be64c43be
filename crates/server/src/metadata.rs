//! Public metadata: name, protocol revisions, where tokens come from, public keys. Also the challenges of 401 and 403.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HOST, HeaderValue};
use http::{HeaderMap, StatusCode};
use quad_mcp::Revision;
use serde_json::json;

use crate::response;
use crate::server::Server;

/// The path of the RFC 9728 metadata of `/mcp`.
const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";

/// How long clients may cache the key set. A verifier that misses a new `kid` fetches the set again at once; a removed
/// key may be accepted for these five minutes.
const KEY_SET_CACHE: &str = "public, max-age=300";

/// `GET /mcp/info`.
pub(crate) async fn info(State(server): State<Arc<Server>>) -> Response {
    let versions: Vec<&str> = Revision::ALL.into_iter().map(Revision::as_str).collect();
    let schemes = server.state.resolver().scheme_names();
    let endpoints: Vec<String> =
        std::iter::once("/mcp".to_owned()).chain(schemes.iter().map(|name| format!("/mcp/{name}"))).collect();
    let body = json!({
        "name": server.state.name(),
        "version": server.state.version(),
        "protocolVersions": versions,
        "endpoints": endpoints,
        "authentication": if server.auth_policy.requires_token() { "bearer" } else { "none" },
    });
    response::json_response(StatusCode::OK, body.to_string())
}

/// `GET /.well-known/oauth-protected-resource`, RFC 9728. Readable by any origin.
pub(crate) async fn protected_resource(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let base = base_url(&server, &headers);
    // The protocol requires at least one. Without an external issuer it is this server, whose command line mints
    // tokens.
    let servers = if server.authorization_servers.is_empty() {
        std::slice::from_ref(&base)
    } else {
        &server.authorization_servers
    };
    let body = json!({
        "resource": format!("{base}/mcp"),
        "authorization_servers": servers,
        "scopes_supported": server.state.resolver().all_scopes(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Quadrivium",
    });
    let mut response = response::json_response(StatusCode::OK, body.to_string());
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// `GET /.well-known/jwks.json`, RFC 7517: the public keys that verify the tokens of this server. Readable by any
/// origin.
pub(crate) async fn key_set(State(server): State<Arc<Server>>) -> Response {
    let keys = match server.auth_policy.key_set().await {
        Ok(keys) => keys,
        Err(error) => {
            tracing::error!(code = error.code(), cause = error.cause_chain(), "key set could not be read");
            return response::error_response(StatusCode::INTERNAL_SERVER_ERROR, &error);
        }
    };
    let mut response = response::json_response(StatusCode::OK, keys.to_string());
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(KEY_SET_CACHE));
    response
}

/// The challenge of a 401: where to get a token, and which scopes to request.
pub(crate) fn token_challenge(server: &Server, headers: &HeaderMap, token_was_sent: bool) -> String {
    let error = if token_was_sent { r#"error="invalid_token", "# } else { "" };
    let url = base_url(server, headers);
    format!(
        r#"Bearer {error}resource_metadata="{url}{PROTECTED_RESOURCE}", scope="{}""#,
        server.challenge_scopes
    )
}

/// The challenge of a 403: which scope is missing.
pub(crate) fn scope_challenge(
    server: &Server,
    headers: &HeaderMap,
    scope: &str,
    description: &str,
) -> String {
    let url = base_url(server, headers);
    let description: String =
        description.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\')).collect();
    format!(
        r#"Bearer error="insufficient_scope", scope="{scope}", resource_metadata="{url}{PROTECTED_RESOURCE}", error_description="{description}""#
    )
}

/// The server's base URL: the configured one, else that of this request's `Host`, which has been checked.
fn base_url(server: &Server, headers: &HeaderMap) -> String {
    if let Some(url) = &server.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    match headers.get(HOST).and_then(|host| host.to_str().ok()) {
        Some(host) => format!("http://{}", host.to_ascii_lowercase()),
        None => format!("http://{}", server.bound),
    }
}
