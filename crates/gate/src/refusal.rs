//! Why a credential was not accepted.

use quad_core::Error;

/// A credential that was not accepted. Displays as one sentence that is safe to show: it says what is wrong with the
/// credential and repeats nothing of it.
#[derive(Debug)]
pub struct Refusal {
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong with a credential.
#[derive(Debug)]
pub enum Reason {
    /// There is no bearer token.
    Missing,
    /// Longer than any token of ours.
    TooLong,
    /// Not a compact JWS with the header and claims that ours have.
    Malformed,
    /// Signed with a key that is not ours.
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
    /// Signed by us, but no such token or agent is registered.
    Unregistered,
    /// Taken back.
    Revoked,
    /// Not the credential's fault: the registry could not be asked.
    Failed(Error),
}

impl Refusal {
    /// The stable code: `auth_token_missing`, `auth_token_expired`, `auth_token_invalid`; `INTERNAL` for a failure of
    /// ours.
    pub fn code(&self) -> &'static str {
        match &self.reason {
            Reason::Missing => "auth_token_missing",
            Reason::Expired => "auth_token_expired",
            Reason::Failed(_) => "INTERNAL",
            _ => "auth_token_invalid",
        }
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
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.reason {
            Reason::Missing => "A bearer token is needed",
            Reason::TooLong => "The bearer token is longer than any token of this server",
            Reason::Malformed => "The bearer token is not a token of this server",
            Reason::UnknownKey => "The bearer token was signed with a key that this server does not know",
            Reason::BadSignature => "The bearer token's signature does not fit",
            Reason::WrongIssuer => "The bearer token was made by another issuer",
            Reason::WrongAudience => "The bearer token was made for another server",
            Reason::Expired => "The bearer token has expired",
            Reason::NotYetValid => "The bearer token is not valid yet; compare the clocks",
            Reason::Unregistered => "The bearer token is not registered here",
            Reason::Revoked => "The bearer token has been revoked",
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
        Refusal { reason }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal { reason: Reason::Failed(error) }
    }
}
