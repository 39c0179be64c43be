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
    let mut body = json!({
        "resource": format!("{base}/mcp"),
        "scopes_supported": server.state.resolver().all_scopes(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Quadrivium",
    });
    // RFC 9728 allows to leave it out. Without an external issuer there is none: the command line mints the tokens.
    if !server.authorization_servers.is_empty() {
        body["authorization_servers"] = server.authorization_servers.clone().into();
    }
    let mut response = response::json_response(StatusCode::OK, body.to_string());
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// `/register`, `/authorize` and `/token`: where clients look for an authorization server if the metadata names none. The
/// answer is an OAuth error, whose description clients show: it says how to get a token.
///
/// The error is `access_denied`, since clients discard their credentials and try again after `invalid_client`,
/// `unauthorized_client` or `invalid_grant`.
pub(crate) async fn oauth_refusal(State(server): State<Arc<Server>>) -> Response {
    let description = match server.authorization_servers.first() {
        Some(issuer) => {
            format!("This server issues no tokens over HTTP. Get one from {issuer} and {SEND_TOKEN}.")
        }
        None if server.auth_policy.requires_token() => format!(
            "This server has no OAuth authorization server and registers no clients. Create a token on its machine with \
             `quad token mint --scope \"*:read\"` and {SEND_TOKEN}. `quad client-config NAME --http` prints the \
             configuration of a client with a token."
        ),
        None => "This server runs without tokens. Connect without authentication.".to_owned(),
    };
    let body = json!({"error": "access_denied", "error_description": description});
    let mut response = response::json_response(StatusCode::BAD_REQUEST, body.to_string());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// How a client sends its token.
const SEND_TOKEN: &str = "send it in the header `Authorization: Bearer TOKEN`";

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
