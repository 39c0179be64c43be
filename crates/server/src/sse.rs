//! A stream of messages as server-sent events (SSE).

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use quad_mcp::MessageStream;
use tokio::time::timeout;

use crate::http_mcp::StreamOutcome;
use crate::limits;

/// Like [`response`], for a request that is counted when its stream ends.
pub(crate) fn counted_response(messages: MessageStream, outcome: StreamOutcome) -> Response {
    response(Box::pin(messages.inspect(move |_| {
        let _outcome = &outcome;
    })))
}

/// Sends each message as one event, and a comment after each [`limits::KEEP_ALIVE_INTERVAL`] without a message.
pub(crate) fn response(messages: MessageStream) -> Response {
    let events = stream::unfold(messages, |mut messages| async move {
        let event = match timeout(limits::KEEP_ALIVE_INTERVAL, messages.next()).await {
            Ok(Some(message)) => frame(&message),
            Ok(None) => return None,
            Err(_) => Bytes::from_static(b":\n\n"),
        };
        Some((Ok::<_, Infallible>(event), messages))
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// One message as an event. JSON escapes line breaks, so a message is one line.
fn frame(message: &[u8]) -> Bytes {
    const HEAD: &[u8] = b"event: message\ndata: ";
    let mut event = Vec::with_capacity(HEAD.len() + message.len() + 2);
    event.extend_from_slice(HEAD);
    event.extend_from_slice(message);
    event.extend_from_slice(b"\n\n");
    event.into()
}
