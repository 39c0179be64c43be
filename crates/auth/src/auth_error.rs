//! Why a credential was rejected.

use quad_core::{Error, TenantId};

/// A rejected credential. `Display` gives one sentence that is safe to show: it contains nothing of the credential.
#[derive(Debug)]
pub struct AuthError {
    /// The reason.
    pub kind: AuthErrorKind,
    /// The subject, if it is proven: the credential is signed and its holder is registered.
    pub(crate) known_subject: Option<KnownSubject>,
}

/// A registered subject, in any state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KnownSubject {
    pub(crate) tenant: TenantId,
    pub(crate) subject: String,
}

/// Why a credential was rejected.
#[derive(Debug)]
pub enum AuthErrorKind {
    /// The request has no bearer token.
    Missing,
    /// The token is longer than any accepted token.
    TooLong,
    /// The token is not a compact JWS with the required header and claims.
    Malformed,
    /// The header or the claims contain a duplicate name.
    DuplicateClaim,
    /// The token is unsigned, or signed with an algorithm that is not accepted.
    Algorithm,
    /// The token names a signing key that this server does not have.
    UnknownKey,
    /// The signature is invalid.
    BadSignature,
    /// The token is from another issuer.
    WrongIssuer,
    /// The token is for another audience.
    WrongAudience,
    /// The token has expired.
    Expired,
    /// The token is not valid yet.
    NotYetValid,
    /// The lifetime of the token exceeds the limit of its issuer.
    LivesTooLong,
    /// The signature is valid, but the token is not in the registry.
    Unregistered,
    /// The token expires later than its registration says.
    ExpiryChanged,
    /// The token was revoked.
    Revoked,
    /// The holder is not registered.
    AgentUnregistered,
    /// The holder is quarantined until it is restored.
    AgentQuarantined,
    /// The holder was revoked for good.
    AgentRevoked,
    /// The registration of the holder has no scope hash.
    ScopeHashMissing,
    /// The registered scopes of the holder do not match their hash.
    ScopeHashMismatch,
    /// The token claims scopes beyond the grants of its holder.
    ScopeExceeded,
    /// The registry could not be read. The credential is not at fault.
    Failed(Error),
}

impl AuthErrorKind {
    /// The reason as a stable word, for programs and for the audit log.
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
            AuthErrorKind::ExpiryChanged => "expiry_changed",
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

    /// The error code. It is coarser than the reason: it tells a client whether a new token would help.
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
    /// `agent_not_registered`; `INTERNAL` for an internal failure.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Whether the request had no bearer token.
    pub fn is_missing(&self) -> bool {
        matches!(self.kind, AuthErrorKind::Missing)
    }

    /// Whether the server failed, rather than the credential.
    pub fn is_internal(&self) -> bool {
        self.internal_error().is_some()
    }

    /// The internal failure, if it was one.
    pub fn internal_error(&self) -> Option<&Error> {
        match &self.kind {
            AuthErrorKind::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The error of a registered subject.
    pub(crate) fn for_subject(known_subject: KnownSubject, kind: AuthErrorKind) -> AuthError {
        AuthError { kind, known_subject: Some(known_subject) }
    }
}

impl std::fmt::Display for AuthError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.kind {
            AuthErrorKind::Missing => "A bearer token is required",
            AuthErrorKind::TooLong => "The bearer token is too long",
            AuthErrorKind::Malformed => "The bearer token is malformed",
            AuthErrorKind::DuplicateClaim => "The token contains a duplicate claim",
            AuthErrorKind::Algorithm => "The bearer token is not signed with an accepted algorithm",
            AuthErrorKind::UnknownKey => "The bearer token was signed with an unknown key",
            AuthErrorKind::BadSignature => "The bearer token's signature is invalid",
            AuthErrorKind::WrongIssuer => "The bearer token is from another issuer",
            AuthErrorKind::WrongAudience => "The bearer token is for another audience",
            AuthErrorKind::Expired => "The bearer token has expired",
            AuthErrorKind::NotYetValid => "The bearer token is not valid yet; compare the clocks",
            AuthErrorKind::LivesTooLong => "The bearer token's lifetime exceeds the limit for its issuer",
            AuthErrorKind::Unregistered => "The bearer token is not registered here",
            AuthErrorKind::ExpiryChanged => "The bearer token expires later than its registration says",
            AuthErrorKind::Revoked => "The bearer token has been revoked",
            AuthErrorKind::AgentUnregistered => "The bearer token's holder is not registered here",
            AuthErrorKind::AgentQuarantined => "The bearer token's holder is quarantined",
            AuthErrorKind::AgentRevoked => "The bearer token's holder has been revoked",
            AuthErrorKind::ScopeHashMissing => {
                "The registration of the bearer token's holder has no scope hash"
            }
            AuthErrorKind::ScopeHashMismatch => {
                "The grants of the bearer token's holder do not match their scope hash"
            }
            AuthErrorKind::ScopeExceeded => "The bearer token claims scopes that its holder is not granted",
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
