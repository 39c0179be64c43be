//! Why a credential was not accepted.

use quad_core::{Error, TenantId};

/// A credential that was not accepted. Displays as one sentence that is safe to show: it says what is wrong with the
/// credential and repeats nothing of it.
#[derive(Debug)]
pub struct Refusal {
    /// What is wrong.
    pub reason: Reason,
    /// Whose credential it was, if that much is proven: it was signed, and its holder is registered.
    pub(crate) holder: Option<Holder>,
}

/// Somebody who is registered, whether or not they may come in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder {
    pub(crate) tenant: TenantId,
    pub(crate) subject: String,
}

/// What is wrong with a credential.
#[derive(Debug)]
pub enum Reason {
    /// There is no bearer token.
    Missing,
    /// More bytes than any token that is accepted here.
    TooLong,
    /// Not a compact JWS with the header and claims that are needed.
    Malformed,
    /// A name stands twice in its header or its claims.
    DuplicateClaim,
    /// Signed in a way that is not accepted, or not at all.
    Algorithm,
    /// Signed with a key that is not known here.
    UnknownKey,
    /// The signature does not fit.
    BadSignature,
    /// Made by another issuer.
    WrongIssuer,
    /// Made for another server.
    WrongAudience,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYetValid,
    /// Made to live longer than tokens of its issuer may.
    LivesTooLong,
    /// Well signed, but no such token is registered.
    Unregistered,
    /// Taken back.
    Revoked,
    /// Its holder is not registered.
    AgentUnregistered,
    /// Its holder is halted until somebody restores it.
    AgentQuarantined,
    /// Its holder's registration was taken back for good.
    AgentRevoked,
    /// Its holder's registration does not say what its grants hash to.
    ScopeHashMissing,
    /// Its holder's grants are not what was registered.
    ScopeHashMismatch,
    /// It claims scopes beyond its holder's grants.
    ScopeExceeded,
    /// Not the credential's fault: the registry could not be asked.
    Failed(Error),
}

impl Reason {
    /// The reason as one stable word, for programs and for the audit.
    pub fn as_str(&self) -> &'static str {
        match self {
            Reason::Missing => "missing",
            Reason::TooLong => "too_long",
            Reason::Malformed => "malformed",
            Reason::DuplicateClaim => "duplicate_claim",
            Reason::Algorithm => "algorithm",
            Reason::UnknownKey => "unknown_key",
            Reason::BadSignature => "bad_signature",
            Reason::WrongIssuer => "wrong_issuer",
            Reason::WrongAudience => "wrong_audience",
            Reason::Expired => "expired",
            Reason::NotYetValid => "not_yet_valid",
            Reason::LivesTooLong => "lives_too_long",
            Reason::Unregistered => "unregistered",
            Reason::Revoked => "revoked",
            Reason::AgentUnregistered => "agent_unregistered",
            Reason::AgentQuarantined => "agent_quarantined",
            Reason::AgentRevoked => "agent_revoked",
            Reason::ScopeHashMissing => "scope_hash_missing",
            Reason::ScopeHashMismatch => "scope_hash_mismatch",
            Reason::ScopeExceeded => "scope_exceeded",
            Reason::Failed(_) => "failed",
        }
    }

    /// The code of the envelope. Coarser than the reason: clients decide by it whether a new token would help.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::Missing => "auth_token_missing",
            Reason::Expired => "auth_token_expired",
            Reason::AgentUnregistered | Reason::AgentQuarantined | Reason::AgentRevoked => {
                "agent_not_registered"
            }
            Reason::ScopeHashMissing => "agent_scope_hash_missing",
            Reason::ScopeHashMismatch => "agent_scope_hash_mismatch",
            Reason::ScopeExceeded => "agent_scope_exceeded",
            Reason::Failed(_) => "INTERNAL",
            _ => "auth_token_invalid",
        }
    }
}

impl Refusal {
    /// The stable code, such as `auth_token_missing`, `auth_token_expired`, `auth_token_invalid` or
    /// `agent_not_registered`; `INTERNAL` for a failure of ours.
    pub fn code(&self) -> &'static str {
        self.reason.code()
    }

    /// Whether there was no bearer token at all.
    pub fn is_missing(&self) -> bool {
        matches!(self.reason, Reason::Missing)
    }

    /// Whether it was our failure rather than the credential's.
    pub fn is_internal(&self) -> bool {
        self.failure().is_some()
    }

    /// Our failure, if it was one.
    pub fn failure(&self) -> Option<&Error> {
        match &self.reason {
            Reason::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The refusal of somebody who is registered.
    pub(crate) fn of(holder: Holder, reason: Reason) -> Refusal {
        Refusal { reason, holder: Some(holder) }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.reason {
            Reason::Missing => "A bearer token is needed",
            Reason::TooLong => "The bearer token is longer than any that this server accepts",
            Reason::Malformed => "The bearer token is not one that this server can read",
            Reason::DuplicateClaim => "The bearer token says something twice",
            Reason::Algorithm => "The bearer token is not signed in a way that this server accepts",
            Reason::UnknownKey => "The bearer token was signed with a key that this server does not know",
            Reason::BadSignature => "The bearer token's signature does not fit",
            Reason::WrongIssuer => "The bearer token was made by another issuer",
            Reason::WrongAudience => "The bearer token was made for another server",
            Reason::Expired => "The bearer token has expired",
            Reason::NotYetValid => "The bearer token is not valid yet; compare the clocks",
            Reason::LivesTooLong => "The bearer token lives longer than tokens of its issuer may here",
            Reason::Unregistered => "The bearer token is not registered here",
            Reason::Revoked => "The bearer token has been revoked",
            Reason::AgentUnregistered => "The bearer token's holder is not registered here",
            Reason::AgentQuarantined => "The bearer token's holder is quarantined",
            Reason::AgentRevoked => "The bearer token's holder has been revoked",
            Reason::ScopeHashMissing => "The registration of the bearer token's holder has no scope hash",
            Reason::ScopeHashMismatch => {
                "The grants of the bearer token's holder are not what was registered"
            }
            Reason::ScopeExceeded => "The bearer token claims more than its holder is granted",
            Reason::Failed(error) => error.message(),
        })
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failure().map(|error| error as _)
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal { reason, holder: None }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Reason::Failed(error).into()
    }
}
