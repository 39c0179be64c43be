//! Why a credential was not accepted.

use quad_core::{Error, TenantId};

/// A credential that was not accepted. Displays as one sentence that is safe to show: it says what is wrong with the
/// credential and repeats nothing of it.
#[derive(Debug)]
pub struct AuthError {
    /// What is wrong.
    pub kind: AuthErrorKind,
    /// Whose credential it was, if that much is proven: it was signed, and its holder is registered.
    pub(crate) known_subject: Option<KnownSubject>,
}

/// Somebody who is registered, whether or not they may come in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KnownSubject {
    pub(crate) tenant: TenantId,
    pub(crate) subject: String,
}

/// What is wrong with a credential.
#[derive(Debug)]
pub enum AuthErrorKind {
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

impl AuthErrorKind {
    /// The reason as one stable word, for programs and for the audit.
    pub fn as_str(&self) -> &'static str {
        match self {
            AuthErrorKind::Missing => "missing",
            AuthErrorKind::TooLong => "too_long",
            AuthErrorKind::Malformed => "malformed",
            AuthErrorKind::DuplicateClaim => "duplicate_claim",
            AuthErrorKind::Algorithm => "algorithm",
            AuthErrorKind::UnknownKey => "unknown_key",
            AuthErrorKind::BadSignature => "bad_signature",
            AuthErrorKind::WrongIssuer => "wrong_issuer",
            AuthErrorKind::WrongAudience => "wrong_audience",
            AuthErrorKind::Expired => "expired",
            AuthErrorKind::NotYetValid => "not_yet_valid",
            AuthErrorKind::LivesTooLong => "lives_too_long",
            AuthErrorKind::Unregistered => "unregistered",
            AuthErrorKind::Revoked => "revoked",
            AuthErrorKind::AgentUnregistered => "agent_unregistered",
            AuthErrorKind::AgentQuarantined => "agent_quarantined",
            AuthErrorKind::AgentRevoked => "agent_revoked",
            AuthErrorKind::ScopeHashMissing => "scope_hash_missing",
            AuthErrorKind::ScopeHashMismatch => "scope_hash_mismatch",
            AuthErrorKind::ScopeExceeded => "scope_exceeded",
            AuthErrorKind::Failed(_) => "failed",
        }
    }

    /// The code of the envelope. Coarser than the reason: clients decide by it whether a new token would help.
    pub fn code(&self) -> &'static str {
        match self {
            AuthErrorKind::Missing => "auth_token_missing",
            AuthErrorKind::Expired => "auth_token_expired",
            AuthErrorKind::AgentUnregistered
            | AuthErrorKind::AgentQuarantined
            | AuthErrorKind::AgentRevoked => "agent_not_registered",
            AuthErrorKind::ScopeHashMissing => "agent_scope_hash_missing",
            AuthErrorKind::ScopeHashMismatch => "agent_scope_hash_mismatch",
            AuthErrorKind::ScopeExceeded => "agent_scope_exceeded",
            AuthErrorKind::Failed(_) => "INTERNAL",
            _ => "auth_token_invalid",
        }
    }
}

impl AuthError {
    /// The stable code, such as `auth_token_missing`, `auth_token_expired`, `auth_token_invalid` or
    /// `agent_not_registered`; `INTERNAL` for a failure of ours.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Whether there was no bearer token at all.
    pub fn is_missing(&self) -> bool {
        matches!(self.kind, AuthErrorKind::Missing)
    }

    /// Whether it was our failure rather than the credential's.
    pub fn is_internal(&self) -> bool {
        self.internal_error().is_some()
    }

    /// Our failure, if it was one.
    pub fn internal_error(&self) -> Option<&Error> {
        match &self.kind {
            AuthErrorKind::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The refusal of somebody who is registered.
    pub(crate) fn for_subject(known_subject: KnownSubject, kind: AuthErrorKind) -> AuthError {
        AuthError { kind, known_subject: Some(known_subject) }
    }
}

impl std::fmt::Display for AuthError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.kind {
            AuthErrorKind::Missing => "A bearer token is needed",
            AuthErrorKind::TooLong => "The bearer token is longer than any that this server accepts",
            AuthErrorKind::Malformed => "The bearer token is not one that this server can read",
            AuthErrorKind::DuplicateClaim => "The bearer token says something twice",
            AuthErrorKind::Algorithm => "The bearer token is not signed in a way that this server accepts",
            AuthErrorKind::UnknownKey => {
                "The bearer token was signed with a key that this server does not know"
            }
            AuthErrorKind::BadSignature => "The bearer token's signature does not fit",
            AuthErrorKind::WrongIssuer => "The bearer token was made by another issuer",
            AuthErrorKind::WrongAudience => "The bearer token was made for another server",
            AuthErrorKind::Expired => "The bearer token has expired",
            AuthErrorKind::NotYetValid => "The bearer token is not valid yet; compare the clocks",
            AuthErrorKind::LivesTooLong => "The bearer token lives longer than tokens of its issuer may here",
            AuthErrorKind::Unregistered => "The bearer token is not registered here",
            AuthErrorKind::Revoked => "The bearer token has been revoked",
            AuthErrorKind::AgentUnregistered => "The bearer token's holder is not registered here",
            AuthErrorKind::AgentQuarantined => "The bearer token's holder is quarantined",
            AuthErrorKind::AgentRevoked => "The bearer token's holder has been revoked",
            AuthErrorKind::ScopeHashMissing => {
                "The registration of the bearer token's holder has no scope hash"
            }
            AuthErrorKind::ScopeHashMismatch => {
                "The grants of the bearer token's holder are not what was registered"
            }
            AuthErrorKind::ScopeExceeded => "The bearer token claims more than its holder is granted",
            AuthErrorKind::Failed(error) => error.message(),
        })
    }
}

impl std::error::Error for AuthError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.internal_error().map(|error| error as _)
    }
}

impl From<AuthErrorKind> for AuthError {
    fn from(kind: AuthErrorKind) -> AuthError {
        AuthError { kind, known_subject: None }
    }
}

impl From<Error> for AuthError {
    fn from(error: Error) -> AuthError {
        AuthErrorKind::Failed(error).into()
    }
}
