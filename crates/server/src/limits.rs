//! The limits of the transports, each with its reason. The limits of messages are in `quad_mcp::limits`.

use std::time::Duration;

/// Open connections: one for each possible stream, and three times as many for everything else.
pub(crate) const CONNECTIONS_MAX: usize = 4_096;

/// Further connections for health checks, when all others are in use. Each is closed after one reply.
pub(crate) const CONNECTIONS_RESERVED: usize = 64;

/// Connections from one address that have shown no accepted credential yet. A client shows its token with its first
/// request, so a proxy with thousands of clients has few of them at a time.
pub(crate) const UNKNOWN_CONNECTIONS_OF_ADDRESS_MAX: usize = 256;

/// How often at most the log says that connections had to make room.
pub(crate) const ROOM_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// How long a readiness check may take. Load balancers usually wait two seconds.
pub(crate) const READINESS_TIMEOUT: Duration = Duration::from_millis(1_900);

/// How long the outcome of a readiness check is reused. A check writes to the disk, and anyone may ask.
pub(crate) const READINESS_INTERVAL: Duration = Duration::from_millis(500);

/// From how long on a request is logged and counted as slow. Most take a millisecond.
pub(crate) const SLOW_REQUEST: Duration = Duration::from_secs(1);

/// Headers of one request. An MCP client sends about a dozen; proxies add a few.
pub(crate) const HEADERS_MAX: usize = 64;

/// Bytes of the headers of one request: enough for the longest URI, encoded twice, and the longest token. hyper's own
/// limit is about six times as high.
pub(crate) const HEADER_BYTES_MAX: usize = 64 << 10;

/// How long a connection may stay open without a complete request head, so that slow senders cannot hold connections.
/// It also runs between two requests, so it is the idle timeout.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the body of a request may take to arrive, for the same reason.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How much of a body that is too large is read and dropped, so that its sender gets the error. Four times the limit
/// may be a mistake; more is not worth the traffic.
pub(crate) const DRAIN_BYTES_MAX: usize = 4 * quad_mcp::limits::BODY_BYTES;

/// How long the sender of such a body may pause. A sender that pauses longer is waiting for the reply.
pub(crate) const DRAIN_READ_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a request may take until its reply begins: enough for its body and for a few attempts of the slowest
/// statement that the database allows. A stream begins at once and may then stay open.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The timeouts of an HTTP server. Only tests change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a request's head is complete, from the connection's start or the reply before.
    pub headers: Duration,
    /// Until a request's body is complete, from the head's end.
    pub body: Duration,
    /// Until the reply begins, from the head's end.
    pub request: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { headers: HEADERS_TIMEOUT, body: BODY_TIMEOUT, request: REQUEST_TIMEOUT }
    }
}

/// How long a connection's credential cache keeps a caller. Short compared with the second for which the keys of an
/// external issuer are cached, and still thousands of requests.
pub(crate) const CREDENTIAL_CACHE_AGE: Duration = Duration::from_millis(250);

/// The longest interval at which a connection checks its deadlines. A timeout may fire this much late.
pub(crate) const TICK_MAX: Duration = Duration::from_secs(1);

/// The shortest interval at which a connection checks its deadlines, for the short timeouts of tests.
pub(crate) const TICK_MIN: Duration = Duration::from_millis(10);

/// A stream without messages sends a comment at this interval, so that no proxy closes it as idle.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// How long running requests may take after the shutdown signal.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause after a failed accept. The usual reason is that no file descriptor is free, and a retry at once would fail
/// too.
pub(crate) const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Characters of a request id from a client. It is in every log line of its request.
pub(crate) const REQUEST_ID_CHARS_MAX: usize = 128;

/// Characters of a content encoding that an error repeats. The registered names have at most eight.
pub(crate) const ENCODING_CHARS_MAX: usize = 32;

/// The size of the read buffer for stdin, in bytes.
pub(crate) const PIPE_BUFFER_BYTES: usize = 64 << 10;
