//! The session store as the protocol needs it. `quad-auth` implements it; tests have one in memory.

use quad_auth::{AuthService, SessionError};
use quad_core::{Principal, Result};

/// Stores the sessions of legacy HTTP clients. A session id is not a credential: each call also names the caller, and
/// another caller's session is reported as unknown.
#[async_trait::async_trait]
pub trait SessionStore: Send + Sync {
    /// Opens a session that speaks `revision` and returns its id.
    fn open(&self, caller: &Principal, revision: &str) -> Result<String>;

    /// The revision of a session that is the caller's and has not ended.
    async fn check(&self, caller: &Principal, id: &str) -> Result<String, SessionError>;

    /// Ends a session.
    async fn end(&self, caller: &Principal, id: &str) -> Result<()>;

    /// Adds a URI to the subscriptions of a session.
    async fn subscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()>;

    /// Removes a URI from the subscriptions of a session.
    async fn unsubscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()>;

    /// The URIs that a session subscribes to.
    async fn subscriptions(&self, caller: &Principal, id: &str) -> Result<Vec<String>>;
}

#[async_trait::async_trait]
impl SessionStore for AuthService {
    fn open(&self, caller: &Principal, revision: &str) -> Result<String> {
        self.open_session(caller, revision)
    }

    async fn check(&self, caller: &Principal, id: &str) -> Result<String, SessionError> {
        self.check_session(caller, id).await.map(|session| session.revision)
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
