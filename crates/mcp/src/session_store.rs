//! Legacy sessions, as the protocol needs them. The gate keeps them; how, and where, is not known here.

use quad_auth::{AuthService, SessionError};
use quad_core::{BoxFuture, Error, Principal, Result};

/// Keeps the sessions of legacy HTTP clients. A session id is never a credential: each call also names the caller, and a
/// session of somebody else is an unknown one.
pub trait SessionStore: Send + Sync {
    /// Opens a session that speaks `revision`, and gives its id.
    fn open(&self, caller: &Principal, revision: &str) -> Result<String>;

    /// The revision of a session that is the caller's and has not ended.
    fn check<'a>(
        &'a self,
        caller: &'a Principal,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, SessionStoreError>>;

    /// Ends a session.
    fn end<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Adds an address to what a session wants to hear of.
    fn subscribe<'a>(&'a self, caller: &'a Principal, id: &'a str, uri: &'a str)
    -> BoxFuture<'a, Result<()>>;

    /// Takes one away.
    fn unsubscribe<'a>(
        &'a self,
        caller: &'a Principal,
        id: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<()>>;

    /// What a session wants to hear of.
    fn subscriptions<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<Vec<String>>>;
}

/// Why a session cannot be used.
#[derive(Debug)]
pub enum SessionStoreError {
    /// Not ours, not the caller's, expired or ended: all the same to the caller.
    Unknown,
    /// Our fault.
    Failed(Error),
}

impl SessionStore for AuthService {
    fn open(&self, caller: &Principal, revision: &str) -> Result<String> {
        self.open_session(caller, revision)
    }

    fn check<'a>(
        &'a self,
        caller: &'a Principal,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, SessionStoreError>> {
        Box::pin(async move {
            match self.check_session(caller, id).await {
                Ok(session) => Ok(session.revision),
                Err(SessionError::NotFound) => Err(SessionStoreError::Unknown),
                Err(SessionError::Failed(error)) => Err(SessionStoreError::Failed(error)),
            }
        })
    }

    fn end<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.end_session(caller, id))
    }

    fn subscribe<'a>(
        &'a self,
        caller: &'a Principal,
        id: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(AuthService::subscribe(self, caller, id, uri))
    }

    fn unsubscribe<'a>(
        &'a self,
        caller: &'a Principal,
        id: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(AuthService::unsubscribe(self, caller, id, uri))
    }

    fn subscriptions<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(AuthService::subscriptions(self, caller, id))
    }
}
