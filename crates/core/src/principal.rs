//! The caller. Its tenant comes from the credential only, never from an argument or an address.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::{ReadSet, ScopeSet, Timestamp};

/// The id of a tenant: the first column of every key.
#[derive(Clone, Debug, Eq, PartialOrd, Ord)]
pub struct TenantId(Arc<str>);

impl PartialEq for TenantId {
    /// Compares pointers first. Nearly always they are equal, and reading the text would touch the cache line
    /// of the `Arc` counter, which all cores write.
    fn eq(&self, other: &TenantId) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Hash for TenantId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl TenantId {
    /// A tenant id as stored.
    pub fn new(id: impl AsRef<str>) -> TenantId {
        TenantId(id.as_ref().into())
    }

    /// The chain in which failed authentications are counted: the tenant is not known then.
    pub fn system() -> TenantId {
        TenantId("system".into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TenantId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kind of caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    /// A program that acts for a person or an organization.
    Agent,
    /// A person.
    User,
}

impl PrincipalKind {
    /// `agent` or `user`.
    pub fn as_str(self) -> &'static str {
        match self {
            PrincipalKind::Agent => "agent",
            PrincipalKind::User => "user",
        }
    }

    /// Parses `agent` or `user`.
    pub fn parse(text: &str) -> Option<PrincipalKind> {
        match text {
            "agent" => Some(PrincipalKind::Agent),
            "user" => Some(PrincipalKind::User),
            _ => None,
        }
    }
}

/// An authenticated caller.
#[derive(Clone, Debug)]
pub struct Principal {
    /// The tenant whose data it may see.
    pub tenant: TenantId,
    /// Its id within the tenant.
    pub subject: Arc<str>,
    /// Program or person.
    pub kind: PrincipalKind,
    /// The scopes that it has.
    pub scopes: ScopeSet,
    /// The read set of the credential lookup, such as a token's registry row. Every audit commit validates it
    /// again, so a revocation takes effect on the next call in every process. `None` for the operating-system
    /// user.
    pub credential_read_set: Option<Arc<ReadSet>>,
    /// When the credential expires. Streams end then.
    pub expires_at: Option<Timestamp>,
}

impl Principal {
    /// The program that connects over stdio or an open loopback port. It acts for the operating-system user
    /// but is an agent, so it has every scope except the one for decisions of a person.
    pub fn local_agent<'a>(tenant: TenantId, all_scopes: impl IntoIterator<Item = &'a str>) -> Principal {
        Principal {
            tenant,
            subject: "agent_local".into(),
            kind: PrincipalKind::Agent,
            scopes: all_scopes.into_iter().filter(|scope| *scope != "payment_intent:approve").collect(),
            credential_read_set: None,
            expires_at: None,
        }
    }
}
