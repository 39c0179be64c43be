//! Who is asking. The tenant comes from the credential alone, never from an argument or an address.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::{ReadSet, ScopeSet, Timestamp};

/// The owner of rows. The first column of every key.
#[derive(Clone, Debug, Eq, PartialOrd, Ord)]
pub struct TenantId(Arc<str>);

impl PartialEq for TenantId {
    /// Nearly always both are the same text at the same place, and it need not be looked at: beside it stands the count of its
    /// holders, which every processor changes all the time.
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

    /// The chain in which refusals before a tenant is proven are counted.
    pub fn system() -> TenantId {
        TenantId("system".into())
    }

    /// The spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TenantId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What stands at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    /// A program that acts on somebody's behalf.
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

    /// Reads `agent` or `user`.
    pub fn parse(text: &str) -> Option<PrincipalKind> {
        match text {
            "agent" => Some(PrincipalKind::Agent),
            "user" => Some(PrincipalKind::User),
            _ => None,
        }
    }
}

/// A proven caller.
#[derive(Clone, Debug)]
pub struct Principal {
    /// Whose data it may see.
    pub tenant: TenantId,
    /// Its own name within the tenant.
    pub subject: Arc<str>,
    /// Program or person.
    pub kind: PrincipalKind,
    /// What it may do.
    pub scopes: ScopeSet,
    /// What the proof rests on: the registry row of a token. Checked again with every audit commit, so that a
    /// revocation holds from the next call on, in every process. `None` for the operating-system user.
    pub credential_read_set: Option<Arc<ReadSet>>,
    /// When the credential ends; streams end with it.
    pub expires_at: Option<Timestamp>,
}

impl Principal {
    /// The program at the other end of a pipe or of an open loopback port: it acts for the operating-system user, but
    /// it is an agent, so it has every scope except a person's decisions.
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
