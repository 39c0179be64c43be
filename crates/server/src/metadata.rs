//! What anybody may know about this server: its name, its revisions, and where tokens come from.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HOST, HeaderValue};
use http::{HeaderMap, StatusCode};
use quad_mcp::Revision;
use serde_json::json;

use crate::http::Server;
use crate::response;

/// Where a client finds out how to get a token, behind the server's own URL.
const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";

/// How long others may keep the key set. A new key is met at once by whoever asks again for a `kid` that is not in it; a
/// dropped one is remembered for these minutes.
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

/// `GET /.well-known/oauth-protected-resource`, RFC 9728; any page may read it.
pub(crate) async fn protected_resource(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let base = base_url(&server, &headers);
    // The protocol wants at least one. Without another issuer it is this server, whose command line mints tokens.
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

/// `GET /.well-known/jwks.json`, RFC 7517: with what others can check the tokens of this server; any page may read it.
pub(crate) async fn key_set(State(server): State<Arc<Server>>) -> Response {
    let keys = match server.auth_policy.key_set().await {
        Ok(keys) => keys,
        Err(error) => {
            tracing::error!(code = error.code(), cause = error.cause_chain(), "the keys could not be read");
            return response::error_response(StatusCode::INTERNAL_SERVER_ERROR, &error);
        }
    };
    let mut response = response::json_response(StatusCode::OK, keys.to_string());
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(KEY_SET_CACHE));
    response
}

/// The challenge of a 401: where to get a token, and what to ask for.
pub(crate) fn token_challenge(server: &Server, headers: &HeaderMap, token_was_sent: bool) -> String {
    let error = if token_was_sent { r#"error="invalid_token", "# } else { "" };
    let url = base_url(server, headers);
    format!(
        r#"Bearer {error}resource_metadata="{url}{PROTECTED_RESOURCE}", scope="{}""#,
        server.challenge_scopes
    )
}

/// The challenge of a 403: which scope would have helped.
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

/// How the outside reaches us: as configured, else as this request did. Its `Host` has been checked.
fn base_url(server: &Server, headers: &HeaderMap) -> String {
    if let Some(url) = &server.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    match headers.get(HOST).and_then(|host| host.to_str().ok()) {
        Some(host) => format!("http://{}", host.to_ascii_lowercase()),
        None => format!("http://{}", server.bound),
    }
}
