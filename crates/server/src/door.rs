//! Who may come in: somebody with a token, or, on a trusted machine, anybody.

use std::sync::Arc;

use quad_core::{BoxFuture, Error, Principal, Result};
use quad_gate::{AuthService, AuthErrorKind};
use serde_json::{Value, json};

/// Decides who is asking.
#[derive(Clone)]
pub enum Door {
    /// Everybody is this principal. For a loopback port that only its owner can reach.
    Open(Arc<Principal>),
    /// Everybody shows a credential.
    Guarded(Arc<dyn Keeper>),
}

/// Checks credentials.
pub trait Keeper: Send + Sync {
    /// Who sent this `Authorization` header.
    fn authenticate<'a>(&'a self, authorization: Option<&'a str>)
    -> BoxFuture<'a, Result<Principal, Denial>>;

    /// What is remembered about this header is no longer true.
    fn forget(&self, authorization: &str);

    /// The public keys with which others can check the credentials that this keeper hands out, as a JSON Web Key Set.
    fn key_set(&self) -> BoxFuture<'_, Result<Value>> {
        Box::pin(async { Ok(no_keys()) })
    }

    /// A caller was refused before its call was looked at, so that nobody else writes that down.
    fn note_refusal(&self, _caller: &Principal, _code: &'static str) {}

    /// Somebody was turned away before any credential was looked at.
    fn note_stranger(&self, _reason: &'static str, _code: &'static str) {}
}

/// The key set of somebody who signs nothing.
fn no_keys() -> Value {
    json!({"keys": []})
}

/// Why a credential was not accepted.
#[derive(Debug)]
pub enum Denial {
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

impl Door {
    /// Who sent this header.
    pub(crate) async fn authenticate(&self, authorization: Option<&str>) -> Result<Arc<Principal>, Denial> {
        match self {
            Door::Open(principal) => Ok(principal.clone()),
            Door::Guarded(keeper) => keeper.authenticate(authorization).await.map(Arc::new),
        }
    }

    /// What is remembered about this header is no longer true.
    pub(crate) fn forget(&self, authorization: Option<&str>) {
        if let (Door::Guarded(keeper), Some(authorization)) = (self, authorization) {
            keeper.forget(authorization);
        }
    }

    /// The public keys, for everybody.
    pub(crate) async fn key_set(&self) -> Result<Value> {
        match self {
            Door::Open(_) => Ok(no_keys()),
            Door::Guarded(keeper) => keeper.key_set().await,
        }
    }

    /// A caller was refused before its call was looked at.
    pub(crate) fn note_refusal(&self, caller: &Principal, code: &'static str) {
        if let Door::Guarded(keeper) = self {
            keeper.note_refusal(caller, code);
        }
    }

    /// Somebody was turned away before any credential was looked at.
    pub(crate) fn note_stranger(&self, reason: &'static str, code: &'static str) {
        if let Door::Guarded(keeper) = self {
            keeper.note_stranger(reason, code);
        }
    }

    /// Whether a credential is needed.
    pub(crate) fn is_guarded(&self) -> bool {
        matches!(self, Door::Guarded(_))
    }
}

impl Keeper for AuthService {
    fn authenticate<'a>(
        &'a self,
        authorization: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Principal, Denial>> {
        Box::pin(async move {
            AuthService::authenticate(self, authorization).await.map_err(|refusal| {
                let (code, reason, message) = (refusal.code(), refusal.kind.as_str(), refusal.to_string());
                match refusal.kind {
                    AuthErrorKind::Missing => Denial::Missing { code, reason, message },
                    AuthErrorKind::Failed(error) => Denial::Failed(error),
                    _ => Denial::Invalid { code, reason, message },
                }
            })
        })
    }

    fn forget(&self, authorization: &str) {
        AuthService::evict_token(self, authorization);
    }

    fn key_set(&self) -> BoxFuture<'_, Result<Value>> {
        Box::pin(AuthService::key_set(self))
    }

    fn note_refusal(&self, caller: &Principal, code: &'static str) {
        AuthService::count_refusal(self, caller, code, code);
    }

    fn note_stranger(&self, reason: &'static str, code: &'static str) {
        AuthService::count_anonymous_refusal(self, reason, code);
    }
}
