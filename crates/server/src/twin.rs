//! `GET /v1/resources?uri=…`: the same read for programs that speak HTTP, with its validators and ranges.

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
use quad_core::{Body as ContentBody, Error, Kind, canonical};
use quad_wire::Method;
use quad_wire::post::Outcome;

use crate::acquaintance::Acquaintance;
use crate::http::Server;
use crate::mcp::{
    admit, authenticate, authorization, no_longer_valid, outcome_of, refuse_caller, unauthorized,
};
use crate::range::Range;
use crate::{metadata, problem};

/// Where the proof of the read is written down.
const EVENT: HeaderName = HeaderName::from_static("quad-event");
/// The version that was read.
const VERSION: HeaderName = HeaderName::from_static("quad-version");

/// Answers the request.
pub(crate) async fn read(
    State(server): State<Arc<Server>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let started = Instant::now();
    let mut caller = match admit(&server, &Acquaintance::default(), &headers, started).await {
        Ok(caller) => caller,
        Err(response) => return *response,
    };
    let Some(uri) = query.as_deref().and_then(uri_in) else {
        let error = Error::bad_input("The query must name one address")
            .hint("Send ?uri= with the address, percent-encoded");
        let (method, status) = (Method::ResourcesRead.as_str(), StatusCode::BAD_REQUEST);
        return refuse_caller(&server, &headers, &caller, method, status, error).await;
    };
    let resolver = server.hub.resolver();
    let mut answer = resolver.read(&caller, View::All, &uri).await;
    if answer.as_ref().is_err_and(|error| error.kind() == Kind::Credential) {
        server.door.forget(authorization(&headers));
        caller = match authenticate(&server, &headers).await {
            Ok(caller) => caller,
            Err(response) => return *response,
        };
        answer = resolver.read(&caller, View::All, &uri).await;
    }
    let outcome = answer.as_ref().map_or_else(|error| outcome_of(error.kind()), |_| Outcome::Ok);
    server.metrics.answered(Some(Method::ResourcesRead), outcome, started.elapsed());
    match answer {
        Ok(answer) => served(&answer, &uri, &headers),
        Err(error) => refused(&server, &headers, &error),
    }
}

fn refused(server: &Server, headers: &HeaderMap, error: &Error) -> Response {
    if error.kind() == Kind::Credential {
        return unauthorized(server, headers, true, &no_longer_valid());
    }
    let mut response = problem::refusal(problem::status_of(error.kind()), error);
    if let (Kind::Scope, Some(scope)) =
        (error.kind(), error.detail("scope").and_then(|scope| scope.as_str()))
    {
        let challenge = metadata::scope_challenge(server, headers, scope, error.message());
        problem::set(&mut response, WWW_AUTHENTICATE, &challenge);
    }
    response
}

/// The contents: one as its own bytes, several as the JSON that a protocol read would give.
fn served(answer: &ReadAnswer, uri: &str, headers: &HeaderMap) -> Response {
    let sealed = &answer.read;
    let (bytes, media_type, hash) = match &sealed.contents[..] {
        [content] => {
            let bytes = match &content.body {
                ContentBody::Blob(bytes) => bytes.clone(),
                ContentBody::Text(text) => Bytes::from(text.clone().into_bytes()),
            };
            (bytes, content.mime_type.to_string(), sealed.content_hash.to_string())
        }
        _ => {
            let mut json = br#"{"contents":"#.to_vec();
            json.extend_from_slice(&sealed.contents_json(uri));
            json.push(b'}');
            let hash = canonical::sha256_hex(&json);
            (Bytes::from(json), "application/json".to_owned(), hash)
        }
    };
    let etag = sealed.cacheable.then(|| format!("\"{hash}\""));
    let length = bytes.len();
    let mut response = Response::default();
    if let Some(etag) = &etag
        && header(headers, IF_NONE_MATCH).is_some_and(|sent| matches_tag(sent, etag))
    {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        // A range of something else than the caller has seen would not fit.
        let range = header(headers, RANGE)
            .filter(|_| header(headers, IF_RANGE).is_none_or(|tag| Some(tag) == etag.as_deref()));
        match Range::read(range, length) {
            Range::All => *response.body_mut() = Body::from(bytes),
            Range::Part { first, last } => {
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                problem::set(&mut response, CONTENT_RANGE, &format!("bytes {first}-{last}/{length}"));
                *response.body_mut() = Body::from(bytes.slice(first..=last));
            }
            Range::Unsatisfiable => {
                response = problem::refuse(
                    StatusCode::RANGE_NOT_SATISFIABLE,
                    "RANGE_NOT_SATISFIABLE",
                    "The range begins beyond the end",
                    "The Content-Range header has the length",
                );
                problem::set(&mut response, CONTENT_RANGE, &format!("bytes */{length}"));
                return response;
            }
        }
        let charset = if media_type.starts_with("text/") && !media_type.contains("charset") {
            "; charset=utf-8"
        } else {
            ""
        };
        problem::set(&mut response, CONTENT_TYPE, &format!("{media_type}{charset}"));
    }
    if let Some(etag) = &etag {
        problem::set(&mut response, ETAG, etag);
    }
    let cache = match (sealed.immutable, sealed.cacheable) {
        (true, _) => "private, max-age=86400, immutable",
        (_, true) => "private, no-cache",
        _ => "no-store",
    };
    let fixed = [
        (CACHE_CONTROL, cache),
        (ACCEPT_RANGES, "bytes"),
        // Stored contents must never run as a page of ours.
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    problem::set(&mut response, EVENT, &answer.receipt.event_id);
    problem::set(&mut response, VERSION, &sealed.read_set.version.unwrap_or(answer.receipt.version).to_string());
    response
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether an `If-None-Match` names the tag. A weak form of it counts, as HTTP asks.
fn matches_tag(sent: &str, etag: &str) -> bool {
    sent.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// The one `uri` in a query, decoded once.
fn uri_in(query: &str) -> Option<String> {
    let mut values = query.split('&').filter_map(|pair| pair.strip_prefix("uri="));
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    decode(value)
}

/// Percent-decoding. A plus stays a plus: this is an address, not a form.
fn decode(text: &str) -> Option<String> {
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
    fn the_query_names_exactly_one_address() {
        let check =
            |query: &str, expect: Option<&str>| assert_eq!(uri_in(query).as_deref(), expect, "{query}");
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
    fn a_tag_matches_itself_in_a_list_and_in_its_weak_form() {
        let check = |sent: &str, expect: bool| assert_eq!(matches_tag(sent, "\"a\""), expect, "{sent}");
        check("\"a\"", true);
        check("\"b\", W/\"a\"", true);
        check("*", true);
        check("\"b\"", false);
        check("a", false);
    }
}
