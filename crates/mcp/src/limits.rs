//! Every limit of the protocol layer, each with its reason. Limits of the shared path stand in `quad_core::limits`.

/// Bytes of one HTTP request body: what the official SDKs allow; a tool's arguments are far smaller.
pub const BODY_BYTES: usize = 4 << 20;

/// Bytes of one line on a pipe. The peer is a local program of the same user, hence more than a body.
pub const LINE_BYTES: usize = 16 << 20;

/// Messages in one batch of the two oldest revisions: an array must not buy more work than a body of single requests.
pub const BATCH_MESSAGES: usize = 100;

/// Digits of an id that is a number. It is repeated as it was written, and a number of some 300 digits is more than readers of JSON take.
pub const ID_DIGITS: usize = 64;

/// Characters of an unknown method that a refusal and its audit event repeat: longer than any that exists.
pub const METHOD_CHARS_MAX: usize = 64;

/// Open streams (`subscriptions/listen`, legacy session streams) in the whole process; each holds a connection.
pub const STREAMS: usize = 1_024;

/// Open streams of one principal, so that one caller cannot use up everybody's.
pub const STREAMS_PER_PRINCIPAL: usize = 64;

/// Requests that one pipe may have in flight. Further lines wait in the pipe.
pub const PIPE_REQUESTS: usize = 256;

/// Messages that wait for a slow reader of a pipe before requests begin to wait too.
pub const PIPE_MESSAGES: usize = 256;

/// How long a closed pipe's last requests may take, in milliseconds. The peer has gone; only the work matters.
pub const PIPE_DRAIN_MS: u64 = 5_000;

/// Progress messages that wait on one call. Progress may be lost; the newest matters, and a result follows.
pub const PROGRESS_QUEUED: usize = 64;

/// Commands that wait for a session's stream. What does not fit is found by the next look at the session.
pub const SUBSCRIPTION_COMMANDS_MAX: usize = 1_024;

/// How often a session's stream looks at what the session subscribes to, in milliseconds: another node may have
/// answered the `resources/subscribe`.
pub const SESSION_POLL_MS: u64 = 1_000;

/// Bytes of `instructions`: they stand in the context of every agent that connects.
pub const INSTRUCTIONS_BYTES: usize = 2_048;
