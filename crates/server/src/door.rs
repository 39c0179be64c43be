//! Who may come in: somebody with a token, or, on a trusted machine, anybody.

use std::sync::Arc;

use quad_core::{BoxFuture, Error, Principal};
use quad_gate::{Gate, Reason};

/// Decides who is asking.
#[derive(Clone)]
pub enum Door {
    /// Everybody is this principal. For a loopback port that only its owner can reach.
    Open(Principal),
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
}

/// Why a credential was not accepted.
#[derive(Debug)]
pub enum Denial {
    /// There is none.
    Missing {
        /// The stable code.
        code: &'static str,
        /// A sentence that is safe to show.
        message: String,
    },
    /// There is one, but it is not good.
    Invalid {
        /// The stable code.
        code: &'static str,
        /// A sentence that is safe to show.
        message: String,
    },
    /// It could not be checked.
    Failed(Error),
}

impl Door {
    /// Who sent this header.
    pub(crate) async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, Denial> {
        match self {
            Door::Open(principal) => Ok(principal.clone()),
            Door::Guarded(keeper) => keeper.authenticate(authorization).await,
        }
    }

    /// What is remembered about this header is no longer true.
    pub(crate) fn forget(&self, authorization: Option<&str>) {
        if let (Door::Guarded(keeper), Some(authorization)) = (self, authorization) {
            keeper.forget(authorization);
        }
    }

    /// Whether a credential is needed.
    pub(crate) fn is_guarded(&self) -> bool {
        matches!(self, Door::Guarded(_))
    }
}

impl Keeper for Gate {
    fn authenticate<'a>(
        &'a self,
        authorization: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Principal, Denial>> {
        Box::pin(async move {
            Gate::authenticate(self, authorization).await.map_err(|refusal| {
                let (code, message) = (refusal.code(), refusal.to_string());
                match refusal.reason {
                    Reason::Missing => Denial::Missing { code, message },
                    Reason::Failed(error) => Denial::Failed(error),
                    _ => Denial::Invalid { code, message },
                }
            })
        })
    }

    fn forget(&self, authorization: &str) {
        Gate::forget(self, authorization);
    }
}
