//! Legacy sessions, as the protocol needs them. The gate keeps them; how, and where, is not known here.

use quad_auth::{AuthService, SessionError};
use quad_core::{Error, Principal, Result};

/// Keeps the sessions of legacy HTTP clients. A session id is never a credential: each call also names the caller, and a
/// session of somebody else is an unknown one.
#[async_trait::async_trait]
pub trait SessionStore: Send + Sync {
    /// Opens a session that speaks `revision`, and gives its id.
    fn open(&self, caller: &Principal, revision: &str) -> Result<String>;

    /// The revision of a session that is the caller's and has not ended.
    async fn check(&self, caller: &Principal, id: &str) -> Result<String, SessionStoreError>;

    /// Ends a session.
    async fn end(&self, caller: &Principal, id: &str) -> Result<()>;

    /// Adds an address to what a session wants to hear of.
    async fn subscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()>;

    /// Takes one away.
    async fn unsubscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()>;

    /// What a session wants to hear of.
    async fn subscriptions(&self, caller: &Principal, id: &str) -> Result<Vec<String>>;
}

/// Why a session cannot be used.
#[derive(Debug)]
pub enum SessionStoreError {
    /// Not ours, not the caller's, expired or ended: all the same to the caller.
    Unknown,
    /// Our fault.
    Failed(Error),
}

#[async_trait::async_trait]
impl SessionStore for AuthService {
    fn open(&self, caller: &Principal, revision: &str) -> Result<String> {
        self.open_session(caller, revision)
    }

    async fn check(&self, caller: &Principal, id: &str) -> Result<String, SessionStoreError> {
        match self.check_session(caller, id).await {
            Ok(session) => Ok(session.revision),
            Err(SessionError::NotFound) => Err(SessionStoreError::Unknown),
            Err(SessionError::Failed(error)) => Err(SessionStoreError::Failed(error)),
        }
    }

    async fn end(&self, caller: &Principal, id: &str) -> Result<()> {
        self.end_session(caller, id).await
    }

    async fn subscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        AuthService::subscribe(self, caller, id, uri).await
    }

    async fn unsubscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        AuthService::unsubscribe(self, caller, id, uri).await
    }

    async fn subscriptions(&self, caller: &Principal, id: &str) -> Result<Vec<String>> {
        AuthService::subscriptions(self, caller, id).await
    }
}
