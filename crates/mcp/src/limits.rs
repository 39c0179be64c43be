//! The limits of the protocol layer, each with its reason. The limits of reads and writes are in `quad_core::limits`.

/// Bytes of one HTTP request body. The official SDKs allow as much; the arguments of a tool are far smaller.
pub const BODY_BYTES: usize = 4 << 20;

/// Bytes of one line on stdio. More than a body, because the client is a local program of the same user.
pub const LINE_BYTES: usize = 16 << 20;

/// Messages in one batch. One body must not cause much more work than one request.
pub const BATCH_MESSAGES: usize = 100;

/// Digits of a numeric id. The id is repeated as written, and many JSON readers reject numbers of about 300 digits.
pub const ID_DIGITS: usize = 64;

/// Characters of an unknown method in an error and in its audit event. No existing method is as long.
pub const METHOD_CHARS_MAX: usize = 64;

/// Characters of an unsupported version in an error. A valid one has 10.
pub const VERSION_CHARS_MAX: usize = 64;

/// Open streams (`subscriptions/listen`, legacy session streams) in the whole process; each holds a connection.
pub const STREAMS: usize = 1_024;

/// Open streams of one principal, so that one caller cannot take all of them.
pub const STREAMS_PER_PRINCIPAL: usize = 64;

/// Requests of one stdio client that run at a time. Further lines wait in the pipe.
pub const PIPE_REQUESTS: usize = 256;

/// Messages queued for a slow stdio client. When the queue is full, requests wait.
pub const PIPE_MESSAGES: usize = 256;

/// How long running requests may take after stdin has closed, in milliseconds. The client is gone, but a write that has
/// begun should finish.
pub const PIPE_DRAIN_MS: u64 = 5_000;

/// Progress messages queued for one call. Messages that do not fit are dropped; the result follows anyway.
pub const PROGRESS_QUEUED: usize = 64;

/// Commands queued for a session's stream. A command that does not fit is replaced by the next poll of the session.
pub const SUBSCRIPTION_COMMANDS_MAX: usize = 1_024;

/// How often a session's stream polls the subscriptions of its session, in milliseconds. Another node may have answered
/// the `resources/subscribe`.
pub const SESSION_POLL_MS: u64 = 1_000;

/// Bytes of `instructions`. They take up context of every agent that connects.
pub const INSTRUCTIONS_BYTES: usize = 2_048;
