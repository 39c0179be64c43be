//! Every limit of the doors, each with its reason. Limits of messages stand in `quad_wire::limits`.

use std::time::Duration;

/// Connections at a time: the streams that may be open, and three times as many for everything else.
pub(crate) const CONNECTIONS: usize = 4_096;

/// How long a request's headers may take; a peer that sends them slower holds a connection for nothing.
pub(crate) const HEADERS_TIME: Duration = Duration::from_secs(30);

/// How long a request's body may take, for the same reason.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(30);

/// Silence on a stream after which a comment is sent, so that no proxy takes it for dead.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long running requests may take once the server is told to stop.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Pause after a failed accept: the reason is usually that no file descriptor is left, which takes a moment to change.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Characters of a request id that a caller may choose; it stands in every line of the log.
pub(crate) const REQUEST_ID_CHARS: usize = 128;

/// Bytes that are read from a pipe at a time.
pub(crate) const PIPE_BUFFER_BYTES: usize = 64 << 10;
