//! Who may come in: somebody with a token, or, on a trusted machine, anybody.

use std::sync::Arc;

use quad_auth::{AuthErrorKind, AuthService};
use quad_core::{Error, Principal, Result};
use serde_json::{Value, json};

/// Decides who is asking.
#[derive(Clone)]
pub enum AuthPolicy {
    /// Everybody is this principal. For a loopback port that only its owner can reach.
    LocalOnly(Arc<Principal>),
    /// Everybody shows a credential.
    Token(Arc<dyn CredentialVerifier>),
}

/// Checks credentials.
#[async_trait::async_trait]
pub trait CredentialVerifier: Send + Sync {
    /// Who sent this `Authorization` header.
    async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, CredentialError>;

    /// What is remembered about this header is no longer true.
    fn evict(&self, authorization: &str);

    /// The public keys with which others can check the credentials that this keeper hands out, as a JSON Web Key Set.
    async fn key_set(&self) -> Result<Value> {
        Ok(empty_key_set())
    }

    /// A caller was refused before its call was looked at, so that nobody else writes that down.
    fn count_refusal(&self, _caller: &Principal, _code: &'static str) {}

    /// Somebody was turned away before any credential was looked at.
    fn count_anonymous_refusal(&self, _reason: &'static str, _code: &'static str) {}
}

/// The key set of somebody who signs nothing.
fn empty_key_set() -> Value {
    json!({"keys": []})
}

/// Why a credential was not accepted.
#[derive(Debug)]
pub enum CredentialError {
    /// There is none.
    Missing {
        /// The stable code.
        code: &'static str,
        /// What exactly is wrong, in one stable word.
        reason: &'static str,
        /// A sentence that is safe to show.
        message: String,
    },
    /// There is one, but it is not good.
    Invalid {
        /// The stable code.
        code: &'static str,
        /// What exactly is wrong, in one stable word.
        reason: &'static str,
        /// A sentence that is safe to show.
        message: String,
    },
    /// It could not be checked.
    Failed(Error),
}

impl AuthPolicy {
    /// Who sent this header.
    pub(crate) async fn authenticate(
        &self,
        authorization: Option<&str>,
    ) -> Result<Arc<Principal>, CredentialError> {
        match self {
            AuthPolicy::LocalOnly(principal) => Ok(principal.clone()),
            AuthPolicy::Token(verifier) => verifier.authenticate(authorization).await.map(Arc::new),
        }
    }

    /// What is remembered about this header is no longer true.
    pub(crate) fn evict(&self, authorization: Option<&str>) {
        if let (AuthPolicy::Token(verifier), Some(authorization)) = (self, authorization) {
            verifier.evict(authorization);
        }
    }

    /// The public keys, for everybody.
    pub(crate) async fn key_set(&self) -> Result<Value> {
        match self {
            AuthPolicy::LocalOnly(_) => Ok(empty_key_set()),
            AuthPolicy::Token(verifier) => verifier.key_set().await,
        }
    }

    /// A caller was refused before its call was looked at.
    pub(crate) fn count_refusal(&self, caller: &Principal, code: &'static str) {
        if let AuthPolicy::Token(verifier) = self {
            verifier.count_refusal(caller, code);
        }
    }

    /// Somebody was turned away before any credential was looked at.
    pub(crate) fn count_anonymous_refusal(&self, reason: &'static str, code: &'static str) {
        if let AuthPolicy::Token(verifier) = self {
            verifier.count_anonymous_refusal(reason, code);
        }
    }

    /// Whether a credential is needed.
    pub(crate) fn requires_token(&self) -> bool {
        matches!(self, AuthPolicy::Token(_))
    }
}

#[async_trait::async_trait]
impl CredentialVerifier for AuthService {
    async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, CredentialError> {
        AuthService::authenticate(self, authorization).await.map_err(|error| {
            let (code, reason, message) = (error.code(), error.kind.as_str(), error.to_string());
            match error.kind {
                AuthErrorKind::Missing => CredentialError::Missing { code, reason, message },
                AuthErrorKind::Failed(error) => CredentialError::Failed(error),
                _ => CredentialError::Invalid { code, reason, message },
            }
        })
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
