//! HTTP responses with a JSON body. Errors have the envelope that all transports share.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use quad_core::{Error, Kind};

/// A JSON document as a response.
pub(crate) fn json_response(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error envelope as a response.
pub(crate) fn error_response(status: StatusCode, error: &Error) -> Response {
    let mut response = json_response(status, serde_json::Value::Object(error.envelope()).to_string());
    set_retry_after(&mut response, error.retry_after_seconds());
    response
}

/// Sets `Retry-After`, if the error says after how many seconds the request may be sent again.
pub(crate) fn set_retry_after(response: &mut Response, seconds: Option<u64>) {
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// The response to an invalid request.
pub(crate) fn bad_input_response(
    status: StatusCode,
    code: &'static str,
    message: &str,
    hint: &str,
) -> Response {
    error_response(status, &Error::new(Kind::BadInput, code, message).hint(hint))
}

/// The status of an error outside the protocol.
pub(crate) fn status_for_kind(kind: Kind) -> StatusCode {
    match kind {
        Kind::Scope => StatusCode::FORBIDDEN,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::BadInput => StatusCode::BAD_REQUEST,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Limit => StatusCode::TOO_MANY_REQUESTS,
        Kind::Credential => StatusCode::UNAUTHORIZED,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Sets a header. Ignores a value with characters that a header cannot have.
pub(crate) fn set_header(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
