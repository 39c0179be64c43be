//! How callers are authenticated: by a bearer token or, on a trusted machine, not at all.

use std::sync::Arc;

use quad_auth::{AuthError, AuthService};
use quad_core::{Principal, Result};
use serde_json::{Value, json};

/// How callers are authenticated.
#[derive(Clone)]
pub enum AuthPolicy {
    /// Every caller is this principal. For a loopback port that only its owner can reach.
    LocalOnly {
        /// The principal of every request.
        principal: Arc<Principal>,
        /// Counts requests that were rejected before they reached the protocol. It checks no credential.
        refusals: Option<Arc<dyn CredentialVerifier>>,
    },
    /// Every caller needs a credential.
    Token(Arc<dyn CredentialVerifier>),
}

/// Checks credentials. `quad-auth` implements it; tests have a stub.
#[async_trait::async_trait]
pub trait CredentialVerifier: Send + Sync {
    /// The principal of an `Authorization` header.
    async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, AuthError>;

    /// Removes the cached verdict about this header, which is no longer true.
    fn evict(&self, authorization: &str);

    /// The public keys that verify the tokens of this server, as a JSON Web Key Set.
    async fn key_set(&self) -> Result<Value> {
        Ok(empty_key_set())
    }

    /// Counts a caller that was rejected before its request was read. Nothing else audits this rejection.
    fn count_refusal(&self, _caller: &Principal, _code: &'static str) {}

    /// Counts a request that was rejected before its credential was read.
    fn count_anonymous_refusal(&self, _reason: &'static str, _code: &'static str) {}
}

/// The key set of a server that signs no tokens.
fn empty_key_set() -> Value {
    json!({"keys": []})
}

impl AuthPolicy {
    /// The principal of an `Authorization` header.
    pub(crate) async fn authenticate(
        &self,
        authorization: Option<&str>,
    ) -> Result<Arc<Principal>, AuthError> {
        match self {
            AuthPolicy::LocalOnly { principal, .. } => Ok(principal.clone()),
            AuthPolicy::Token(verifier) => verifier.authenticate(authorization).await.map(Arc::new),
        }
    }

    /// Removes the cached verdict about this header, which is no longer true.
    pub(crate) fn evict(&self, authorization: Option<&str>) {
        if let (AuthPolicy::Token(verifier), Some(authorization)) = (self, authorization) {
            verifier.evict(authorization);
        }
    }

    /// The public keys that verify the tokens of this server.
    pub(crate) async fn key_set(&self) -> Result<Value> {
        match self {
            AuthPolicy::LocalOnly { .. } => Ok(empty_key_set()),
            AuthPolicy::Token(verifier) => verifier.key_set().await,
        }
    }

    /// Counts a caller that was rejected before its request was read.
    pub(crate) fn count_refusal(&self, caller: &Principal, code: &'static str) {
        if let AuthPolicy::Token(verifier) = self {
            verifier.count_refusal(caller, code);
        }
    }

    /// Counts a request that was rejected before its credential was read.
    pub(crate) fn count_anonymous_refusal(&self, reason: &'static str, code: &'static str) {
        if let AuthPolicy::Token(verifier) | AuthPolicy::LocalOnly { refusals: Some(verifier), .. } = self {
            verifier.count_anonymous_refusal(reason, code);
        }
    }

    /// Whether every caller needs a token.
    pub(crate) fn requires_token(&self) -> bool {
        matches!(self, AuthPolicy::Token(_))
    }
}

#[async_trait::async_trait]
impl CredentialVerifier for AuthService {
    async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, AuthError> {
        AuthService::authenticate(self, authorization).await
    }

    fn evict(&self, authorization: &str) {
        AuthService::evict_token(self, authorization);
    }

    async fn key_set(&self) -> Result<Value> {
        AuthService::key_set(self).await
    }

    fn count_refusal(&self, caller: &Principal, code: &'static str) {
        AuthService::count_refusal(self, caller, code, code);
    }

    fn count_anonymous_refusal(&self, reason: &'static str, code: &'static str) {
        AuthService::count_anonymous_refusal(self, reason, code);
    }
}
