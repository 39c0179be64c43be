//! Legacy sessions, as the protocol needs them. Who keeps them, and where, is not known here.

use quad_core::{BoxFuture, Error, Principal, Result};

/// Keeps the sessions of legacy HTTP clients. A session id is never a credential: each call also names the caller, and a
/// session of somebody else is an unknown one.
pub trait Sessions: Send + Sync {
    /// Opens a session that speaks `revision`, and gives its id.
    fn open(&self, caller: &Principal, revision: &str) -> Result<String>;

    /// The revision of a session that is the caller's and has not ended.
    fn check<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<String, SessionFault>>;

    /// Ends a session.
    fn end<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Adds an address to what a session wants to hear of.
    fn subscribe<'a>(&'a self, caller: &'a Principal, id: &'a str, uri: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Takes one away.
    fn unsubscribe<'a>(&'a self, caller: &'a Principal, id: &'a str, uri: &'a str) -> BoxFuture<'a, Result<()>>;

    /// What a session wants to hear of.
    fn subscriptions<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<Vec<String>>>;
}

/// Why a session cannot be used.
#[derive(Debug)]
pub enum SessionFault {
    /// Not ours, not the caller's, expired or ended: all the same to the caller.
    Unknown,
    /// Our fault.
    Failed(Error),
}
