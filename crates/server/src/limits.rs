//! Every limit of the doors, each with its reason. Limits of messages stand in `quad_mcp::limits`.

use std::time::Duration;

/// Connections at a time: the streams that may be open, and three times as many for everything else.
pub(crate) const CONNECTIONS_MAX: usize = 4_096;

/// Headers of one request. A client of the protocol sends about a dozen; proxies add a few.
pub(crate) const HEADERS_MAX: usize = 64;

/// Bytes of a request's headers: the longest address, encoded twice, and the longest token fit. What reads the connection
/// gives up at about six times as much by itself.
pub(crate) const HEADER_BYTES_MAX: usize = 64 << 10;

/// How long a connection may stay without a complete request head: a peer that sends it slower holds a connection for
/// nothing. The same clock runs between two requests, so this is the idle time-out, too.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a request's body may take, for the same reason.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How much of a body that is too large is still taken in, so that its sender comes to read why it was refused: four times
/// what is allowed is an honest mistake, more is not worth the traffic.
pub(crate) const DRAIN_BYTES_MAX: usize = 4 * quad_mcp::limits::BODY_BYTES;

/// How long the sender of such a body may pause: who announces much and sends nothing is waiting for the answer.
pub(crate) const DRAIN_READ_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a request may take until its reply begins: its body, and a few attempts of the slowest statement that the
/// database allows. A stream begins at once and may then last.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The time-outs of the HTTP door. They are the same everywhere but in tests, which cannot wait so long.
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

/// How long a connection relies on having met a caller before it asks the door again: a moment beside the second for which the keys
/// of an external issuer are taken as known, and still thousands of requests.
pub(crate) const CREDENTIAL_CACHE_AGE: Duration = Duration::from_millis(250);

/// How often a connection looks whether something is late. A limit is kept to within this.
pub(crate) const TICK_MAX: Duration = Duration::from_secs(1);

/// The same where limits are short: more often would be work without use.
pub(crate) const TICK_MIN: Duration = Duration::from_millis(10);

/// Silence on a stream after which a comment is sent, so that no proxy takes it for dead.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// How long running requests may take once the server is told to stop.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause after a failed accept: the reason is usually that no file descriptor is left, which takes a moment to change.
pub(crate) const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Characters of a request id that a caller may choose; it stands in every line of the log.
pub(crate) const REQUEST_ID_CHARS_MAX: usize = 128;

/// Bytes that are read from a pipe at a time.
pub(crate) const PIPE_BUFFER_BYTES: usize = 64 << 10;
