//! `GET /v1/resources?uri=…`: a read for plain HTTP clients, with `ETag`, `If-None-Match` and `Range`.
//!
//! The same authentication, authorization, cache and audit as `resources/read`.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, StatusCode};
use quad_core::resolver::{ReadAnswer, View};
use quad_core::{Body as ContentBody, Error, Kind, Principal, canonical};
use quad_mcp::Method;
use quad_mcp::http_post::{Failure, Outcome};

use crate::auth::RequestAuth;
use crate::range::Range;
use crate::server::Server;
use crate::{metadata, response};

/// The id of the read's audit event.
const EVENT_HEADER: HeaderName = HeaderName::from_static("quad-event");
/// The tenant's version that the contents were computed at.
const VERSION_HEADER: HeaderName = HeaderName::from_static("quad-version");

/// `GET /v1/resources`.
pub(crate) async fn get_resource(
    State(server): State<Arc<Server>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let auth = RequestAuth { server: &server, headers: &headers, cache: None, started: Instant::now() };
    let caller = match auth.authenticate_and_limit().await {
        Ok(caller) => caller,
        Err(response) => return *response,
    };
    let Some(uri) = query.as_deref().and_then(uri_param) else {
        let error = Error::bad_input("The query must have exactly one uri parameter")
            .hint("Send ?uri= with the percent-encoded URI");
        let (method, status) = (Method::ResourcesRead.as_str(), StatusCode::BAD_REQUEST);
        return auth.reject_with_audit(&caller, method, status, error).await;
    };
    let (resolver, uri) = (server.state.resolver(), uri.as_str());
    let call = |caller: Arc<Principal>| async move { resolver.read(&caller, View::All, uri).await };
    let answer = match auth.call_as(caller, call).await {
        Ok(answer) => answer,
        Err(response) => return *response,
    };
    let outcome = answer.as_ref().map_or_else(|error| Failure::of(error).outcome, |_| Outcome::Ok);
    server.metrics.requests.count(Some(Method::ResourcesRead), outcome);
    let scheme = resolver.scheme_of_uri(uri);
    server.metrics.record_duration(Some(Method::ResourcesRead), scheme, auth.started.elapsed());
    match answer {
        Ok(answer) => ok_response(&answer, uri, &headers),
        Err(error) => error_response(&auth, &error),
    }
}

fn error_response(auth: &RequestAuth<'_>, error: &Error) -> Response {
    if error.kind() == Kind::Credential {
        return auth.credential_changed_response();
    }
    let mut response = response::error_response(response::status_for_kind(error.kind()), error);
    if let (Kind::Scope, Some(scope)) = (error.kind(), error.detail("scope").and_then(|scope| scope.as_str()))
    {
        let challenge = metadata::scope_challenge(auth.server, auth.headers, scope, error.message());
        response::set_header(&mut response, WWW_AUTHENTICATE, &challenge);
    }
    response
}

/// The contents: a single one as its own bytes, several as the JSON of `resources/read`.
fn ok_response(answer: &ReadAnswer, uri: &str, headers: &HeaderMap) -> Response {
    let serialized = &answer.read;
    let (bytes, media_type, hash) = match &serialized.contents[..] {
        [content] => {
            let bytes = match &content.body {
                ContentBody::Blob(bytes) => bytes.clone(),
                ContentBody::Text(text) => Bytes::from(text.clone().into_bytes()),
            };
            (bytes, content.mime_type.to_string(), serialized.content_hash.to_string())
        }
        _ => {
            let mut json = br#"{"contents":"#.to_vec();
            json.extend_from_slice(&serialized.contents_json(uri));
            json.push(b'}');
            let hash = canonical::sha256_hex(&json);
            (Bytes::from(json), "application/json".to_owned(), hash)
        }
    };
    let etag = serialized.cacheable.then(|| format!("\"{hash}\""));
    let length = bytes.len();
    let mut response = Response::default();
    if let Some(etag) = &etag
        && header(headers, IF_NONE_MATCH).is_some_and(|sent| etag_matches(sent, etag))
    {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        // With another `If-Range`, the caller has parts of other contents and must get the whole.
        let range = header(headers, RANGE)
            .filter(|_| header(headers, IF_RANGE).is_none_or(|tag| Some(tag) == etag.as_deref()));
        match Range::parse(range, length) {
            Range::All => *response.body_mut() = Body::from(bytes),
            Range::Part { first, last } => {
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                response::set_header(&mut response, CONTENT_RANGE, &format!("bytes {first}-{last}/{length}"));
                *response.body_mut() = Body::from(bytes.slice(first..=last));
            }
            Range::Unsatisfiable => {
                response = response::bad_input_response(
                    StatusCode::RANGE_NOT_SATISFIABLE,
                    "RANGE_NOT_SATISFIABLE",
                    "The range begins beyond the end",
                    "Request a part of the length in Content-Range",
                );
                response::set_header(&mut response, CONTENT_RANGE, &format!("bytes */{length}"));
                return response;
            }
        }
        let charset = if media_type.starts_with("text/") && !media_type.contains("charset") {
            "; charset=utf-8"
        } else {
            ""
        };
        response::set_header(&mut response, CONTENT_TYPE, &format!("{media_type}{charset}"));
    }
    if let Some(etag) = &etag {
        response::set_header(&mut response, ETAG, etag);
    }
    let cache = match (serialized.immutable, serialized.cacheable) {
        (true, _) => "private, max-age=86400, immutable",
        (_, true) => "private, no-cache",
        _ => "no-store",
    };
    let fixed_headers = [
        (CACHE_CONTROL, cache),
        (ACCEPT_RANGES, "bytes"),
        // Stored contents must never run as a page of this origin.
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    for (name, value) in fixed_headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response::set_header(&mut response, EVENT_HEADER, &answer.receipt.event_id);
    response::set_header(
        &mut response,
        VERSION_HEADER,
        &serialized.read_set.version.unwrap_or(answer.receipt.version).to_string(),
    );
    response
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether an `If-None-Match` header names the tag. A weak tag matches as well, as HTTP requires.
fn etag_matches(if_none_match: &str, etag: &str) -> bool {
    if_none_match
        .split(',')
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// The `uri` parameter of a query, decoded once. `None` unless there is exactly one.
fn uri_param(query: &str) -> Option<String> {
    let mut values = query.split('&').filter_map(|pair| pair.strip_prefix("uri="));
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    percent_decode(value)
}

/// Percent-decodes. A `+` stays a `+`, because the query is not a form.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let digits = tail.get(..2)?;
            let digit = |byte: u8| (byte as char).to_digit(16);
            let value = digit(digits[0])? * 16 + digit(digits[1])?;
            bytes.push(u8::try_from(value).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_must_have_exactly_one_uri() {
        let check =
            |query: &str, expect: Option<&str>| assert_eq!(uri_param(query).as_deref(), expect, "{query}");
        check("uri=x://y", Some("x://y"));
        check("a=1&uri=x%3A%2F%2Fy%3Fq%3D1+2", Some("x://y?q=1+2"));
        check("uri=x%253A", Some("x%3A"));
        check("", None);
        check("uri=a&uri=b", None);
        check("uri=%zz", None);
        check("uri=%e9", None);
        check("uri=%4", None);
    }

    #[test]
    fn etag_matches_lists_and_weak_tags() {
        let check = |sent: &str, expect: bool| assert_eq!(etag_matches(sent, "\"a\""), expect, "{sent}");
        check("\"a\"", true);
        check("\"b\", W/\"a\"", true);
        check("*", true);
        check("\"b\"", false);
        check("a", false);
    }
}
