//! The registry of agents: which subjects of a tenant hold credentials, the scopes granted to each, and their state.
//!
//! A credential carries the scopes that its holder *claims*; the registry holds the scopes that are *granted*. A
//! token is valid only within the registration of its holder. A change of the registration takes effect with the next
//! call, because every credential check depends on the holder's tag. People are registered like programs; only the
//! scope that approves payments distinguishes them.

use quad_core::{
    Error, EventDraft, Kind, PrincipalKind, ReadSet, Result, ScopeSet, Tag, TenantId, Timestamp, text,
};
use quad_store::{Row, Sql, Tx, WriteContext, params};
use serde_json::{Value, json};

use crate::auth_error::AuthErrorKind;
use crate::service::AuthService;
use crate::{grant, limits, scope_hash};

/// The state of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// Its credentials are accepted.
    Active,
    /// Its credentials are rejected until it is restored.
    Quarantined,
    /// Its credentials are rejected for good.
    Revoked,
}

impl AgentState {
    /// The text in the registry.
    pub fn as_str(self) -> &'static str {
        match self {
            AgentState::Active => "active",
            AgentState::Quarantined => "quarantined",
            AgentState::Revoked => "revoked",
        }
    }

    fn parse(text: &str) -> Option<AgentState> {
        [AgentState::Active, AgentState::Quarantined, AgentState::Revoked]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// A registered agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRecord {
    /// The tenant that the agent belongs to.
    pub tenant: TenantId,
    /// The name of the agent.
    pub subject: String,
    /// Program or person.
    pub kind: PrincipalKind,
    /// The granted scopes.
    pub scopes: ScopeSet,
    /// The hash of the granted scopes.
    pub scope_hash: Option<String>,
    /// Whether its credentials are accepted.
    pub state: AgentState,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When the registration was last changed.
    pub updated_at: Timestamp,
}

/// The parameters of [`AuthService::register_agent`].
#[derive(Clone, Debug)]
pub struct RegisterRequest {
    /// The tenant that the agent belongs to.
    pub tenant: TenantId,
    /// The name of the agent.
    pub subject: String,
    /// Program or person.
    pub kind: PrincipalKind,
    /// The exact scopes to grant, separated by spaces or commas.
    pub scopes: String,
    /// The subject that requests the registration, for the audit log.
    pub actor: String,
}

/// The columns that [`AgentRecord::from_row`] reads.
pub(crate) const COLUMNS: &str = "subject, kind, scopes, scope_hash, state, created_at, updated_at";

/// The tag that a change of this subject's registration invalidates.
pub(crate) fn tag(subject: &str) -> Tag {
    Tag::new(format!("gate:agent:{subject}"))
}

impl AgentRecord {
    /// The record as JSON, for lists.
    pub fn to_json(&self) -> Value {
        json!({
            "subject": self.subject,
            "tenant_id": self.tenant.as_str(),
            "kind": self.kind.as_str(),
            "state": self.state.as_str(),
            "scopes": self.scopes.iter().collect::<Vec<_>>(),
            "scope_hash": self.scope_hash,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        })
    }

    /// Parses [`COLUMNS`], starting at column `first_column`.
    pub(crate) fn from_row(tenant: &TenantId, row: &Row, first_column: usize) -> Result<AgentRecord> {
        let (kind, state) = (row.text(first_column + 1)?, row.text(first_column + 4)?);
        Ok(AgentRecord {
            tenant: tenant.clone(),
            subject: row.text(first_column)?.to_owned(),
            kind: PrincipalKind::parse(kind)
                .ok_or_else(|| Error::internal(format!("invalid agent kind {kind}")))?,
            scopes: ScopeSet::parse(row.text(first_column + 2)?),
            scope_hash: row.opt_text(first_column + 3)?.map(str::to_owned),
            state: AgentState::parse(state)
                .ok_or_else(|| Error::internal(format!("invalid agent state {state}")))?,
            created_at: Timestamp(row.int(first_column + 5)?),
            updated_at: Timestamp(row.int(first_column + 6)?),
        })
    }

    /// Checks the state, the kind and the scope hash.
    pub(crate) fn check_usable(&self, claimed_kind: PrincipalKind) -> Result<(), AuthErrorKind> {
        match self.state {
            AgentState::Active => {}
            AgentState::Quarantined => return Err(AuthErrorKind::AgentQuarantined),
            AgentState::Revoked => return Err(AuthErrorKind::AgentRevoked),
        }
        if self.kind != claimed_kind {
            return Err(AuthErrorKind::AgentUnregistered);
        }
        match &self.scope_hash {
            None => Err(AuthErrorKind::ScopeHashMissing),
            Some(hash) if *hash != scope_hash::compute(&self.scopes) => Err(AuthErrorKind::ScopeHashMismatch),
            Some(_) => Ok(()),
        }
    }

    /// Whether the grants cover all these scopes.
    pub(crate) fn grants_all(&self, claimed: &ScopeSet) -> bool {
        claimed.iter().all(|scope| self.scopes.allows(scope))
    }
}

/// Loads the registration of a subject.
pub(crate) fn find(sql: &mut impl Sql, subject: &str) -> Result<Option<AgentRecord>> {
    let tenant = sql.tenant().clone();
    let query = format!("SELECT {COLUMNS} FROM gate_agent WHERE tenant_id = $1 AND subject = $2");
    let row = sql.query_opt(&query, params![tenant.as_str(), subject])?;
    row.map(|row| AgentRecord::from_row(&tenant, &row, 0)).transpose()
}

/// How new grants are combined with existing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantMerge {
    /// Keep the existing grants and add the new ones.
    Union,
    /// Replace the existing grants.
    Replace,
}

/// Registers a subject, or changes its grants.
pub(crate) fn register(
    tx: &mut Tx<'_>,
    subject: &str,
    kind: PrincipalKind,
    scopes: &ScopeSet,
    merge: GrantMerge,
) -> Result<AgentRecord> {
    // Serialises concurrent grants to one subject: without the lock a union could lose one of them.
    tx.lock(&format!("gate:agent:{subject}"))?;
    let existing = find(tx, subject)?;
    let mut granted = scopes.clone();
    if let Some(existing) = &existing {
        check_can_register(existing, kind)?;
        if merge == GrantMerge::Union {
            granted = existing.scopes.iter().chain(scopes.iter()).collect();
        }
    }
    let scopes_text = granted.to_string();
    if scopes_text.len() > limits::GRANT_BYTES_MAX {
        return Err(Error::bad_input("The registration has too many scopes")
            .hint("Use wildcards such as table:*")
            .with_detail("field", "scopes"));
    }
    let (tenant, now) = (tx.tenant().clone(), tx.now());
    let upsert = format!(
        "INSERT INTO gate_agent (tenant_id, subject, kind, scopes, scope_hash, state, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, 'active', $6, $6) \
         ON CONFLICT (tenant_id, subject) DO UPDATE SET scopes = excluded.scopes, \
         scope_hash = excluded.scope_hash, updated_at = excluded.updated_at RETURNING {COLUMNS}"
    );
    let hash = scope_hash::compute(&granted);
    let row = tx.query_opt(
        &upsert,
        params![tenant.as_str(), subject, kind.as_str(), scopes_text.as_str(), hash.as_str(), now],
    )?;
    let row = row.ok_or_else(|| Error::internal("the registration is missing after the upsert"))?;
    tx.audit_output("scope_hash", hash);
    // Grants that a new token adds invalidate no credential, so they need no tag.
    if merge == GrantMerge::Replace && existing.is_some_and(|existing| existing.scopes != granted) {
        tx.invalidate(tag(subject));
    }
    AgentRecord::from_row(&tenant, &row, 0)
}

fn check_can_register(existing: &AgentRecord, kind: PrincipalKind) -> Result<()> {
    let subject = &existing.subject;
    if existing.kind != kind {
        let message =
            format!("{subject} is registered as {}, not as {}", existing.kind.as_str(), kind.as_str());
        return Err(Error::new(Kind::Conflict, "SUBJECT_KIND_DIFFERS", message)
            .hint("Choose another subject: an agent and a user cannot share one"));
    }
    match existing.state {
        AgentState::Active => Ok(()),
        AgentState::Quarantined => {
            Err(Error::new(Kind::Conflict, "AGENT_QUARANTINED", format!("{subject} is quarantined"))
                .hint(format!("Run `quad agent restore {subject}` to accept its credentials again")))
        }
        AgentState::Revoked => Err(agent_revoked(subject)),
    }
}

impl AuthService {
    /// Registers an agent with exactly these grants, or replaces the grants of a registered one. `known_scopes` are
    /// the scopes of all mounted schemes.
    pub async fn register_agent(
        &self,
        request: RegisterRequest,
        known_scopes: &[&str],
    ) -> Result<AgentRecord> {
        grant::check_subject(&request.subject)?;
        let scopes = grant::parse_scopes(&request.scopes, request.kind, known_scopes)?;
        let event = EventDraft::system("identity", "agent.registered", &request.actor)
            .input("subject", request.subject.as_str())
            .input("kind", request.kind.as_str())
            .input("scopes", scopes.to_string());
        let context = WriteContext::from(&request.tenant);
        let f =
            move |tx: &mut Tx<'_>| register(tx, &request.subject, request.kind, &scopes, GrantMerge::Replace);
        Ok(self.store.write(&context, event, f).await?.0)
    }

    /// The agents of the tenant, by name.
    pub async fn agents(&self, tenant: &TenantId) -> Result<Vec<AgentRecord>> {
        Ok(self.agents_with_read_set(tenant).await?.0)
    }

    /// The agents of the tenant with the read set of the list.
    pub async fn agents_with_read_set(&self, tenant: &TenantId) -> Result<(Vec<AgentRecord>, ReadSet)> {
        self.store
            .read(tenant, |snapshot| {
                let tenant = snapshot.tenant().clone();
                let sql = format!(
                    "SELECT {COLUMNS} FROM gate_agent WHERE tenant_id = $1 ORDER BY subject LIMIT {}",
                    limits::AGENTS_RETURNED_MAX
                );
                let rows = snapshot.query(&sql, params![tenant.as_str()])?;
                let agents: Vec<AgentRecord> =
                    rows.iter().map(|row| AgentRecord::from_row(&tenant, row, 0)).collect::<Result<_>>()?;
                let mut read_set = ReadSet::at_version(snapshot.version());
                read_set.tags.extend(agents.iter().map(|agent| tag(&agent.subject)));
                Ok((agents, read_set))
            })
            .await
    }

    /// Changes the state of an agent. It takes effect with the next call, in every process. A revoked agent stays
    /// revoked.
    pub async fn set_agent_state(
        &self,
        tenant: &TenantId,
        subject: &str,
        state: AgentState,
        actor: &str,
    ) -> Result<AgentRecord> {
        let action = match state {
            AgentState::Active => "agent.restored",
            AgentState::Quarantined => "agent.halted",
            AgentState::Revoked => "agent.revoked",
        };
        let event = EventDraft::system("identity", action, actor).input("subject", subject);
        let subject = subject.to_owned();
        let f = move |tx: &mut Tx<'_>| change_state(tx, &subject, state);
        Ok(self.store.write(&WriteContext::from(tenant), event, f).await?.0)
    }
}

fn change_state(tx: &mut Tx<'_>, subject: &str, state: AgentState) -> Result<AgentRecord> {
    tx.lock(&format!("gate:agent:{subject}"))?;
    let existing = find(tx, subject)?.ok_or_else(|| agent_not_found(subject))?;
    if existing.state == AgentState::Revoked && state != AgentState::Revoked {
        return Err(agent_revoked(subject));
    }
    let (tenant, now) = (tx.tenant().clone(), tx.now());
    let update = format!(
        "UPDATE gate_agent SET state = $3, updated_at = $4 WHERE tenant_id = $1 AND subject = $2 RETURNING {COLUMNS}"
    );
    let row = tx.query_opt(&update, params![tenant.as_str(), subject, state.as_str(), now])?;
    let row = row.ok_or_else(|| agent_not_found(subject))?;
    tx.invalidate(tag(subject));
    AgentRecord::from_row(&tenant, &row, 0)
}

fn agent_revoked(subject: &str) -> Error {
    Error::new(Kind::Conflict, "AGENT_REVOKED", format!("{subject} is revoked for good"))
        .hint("Choose another subject")
}

fn agent_not_found(subject: &str) -> Error {
    let truncated = text::truncate(subject, limits::SUBJECT_BYTES_MAX);
    Error::new(Kind::NotFound, "NOT_FOUND", format!("Agent {truncated} not found in this tenant"))
        .hint("List the agents with `quad agent list`")
}

#[cfg(test)]
mod tests {
    use quad_core::{AppendError, AuditLog as _, Principal, ReadSets};

    use super::*;
    use crate::service::tests::{AuthFixture, KNOWN_SCOPES, auth_fixtures, auth_outcome, expect_auth_error};

    fn register_request(test: &AuthFixture, subject: &str, scopes: &str) -> RegisterRequest {
        RegisterRequest {
            tenant: test.db.tenant.clone(),
            subject: subject.to_owned(),
            kind: PrincipalKind::Agent,
            scopes: scopes.to_owned(),
            actor: "operator".to_owned(),
        }
    }

    /// Whether this process can append an audit event of this principal.
    async fn is_appended(auth: &AuthService, caller: &Principal) -> bool {
        let credential = caller.credential_read_set.clone().unwrap();
        match auth
            .store
            .append(&caller.tenant, EventDraft::call(caller, "ping"), ReadSets::from_iter([credential]), None)
            .await
        {
            Ok(_) => true,
            Err(AppendError::Stale(_)) => false,
            Err(AppendError::Failed(error)) => panic!("{error}"),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn state_change_takes_effect_with_warm_cache() {
        for test in auth_fixtures().await {
            let other_auth = test.another_process().await;
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            let header = format!("Bearer {}", minted.token);
            let steps = [
                (AgentState::Quarantined, "agent_quarantined", "agent_not_registered"),
                (AgentState::Active, "ok", ""),
                (AgentState::Revoked, "agent_revoked", "agent_not_registered"),
            ];
            for (state, reason, code) in steps {
                let before = other_auth.authenticate(Some(&header)).await.ok();
                let changed = test.auth.set_agent_state(&test.db.tenant, "a", state, "operator").await;
                assert_eq!(changed.unwrap().state, state);
                if let Some(before) = before {
                    assert!(!is_appended(&other_auth, &before).await, "{state:?}");
                }
                other_auth.evict_token(&header);
                match other_auth.authenticate(Some(&header)).await {
                    Ok(caller) => {
                        assert_eq!(reason, "ok");
                        assert!(is_appended(&other_auth, &caller).await);
                    }
                    Err(error) => assert_eq!((error.kind.as_str(), error.code()), (reason, code)),
                }
            }
            let audit = test.audit_records(&test.db.tenant).await;
            for action in ["agent.halted", "agent.restored", "agent.revoked"] {
                assert!(audit.contains(action), "{action}");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn revoked_is_final_and_quarantined_agent_cannot_mint() {
        for test in auth_fixtures().await {
            let tenant = &test.db.tenant;
            let set = async |state| test.auth.set_agent_state(tenant, "a", state, "operator").await;
            let mint = async || test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await;
            assert_eq!(set(AgentState::Active).await.unwrap_err().kind(), Kind::NotFound);
            mint().await.unwrap();
            set(AgentState::Quarantined).await.unwrap();
            assert_eq!(mint().await.unwrap_err().code(), "AGENT_QUARANTINED");
            set(AgentState::Revoked).await.unwrap();
            assert_eq!(mint().await.unwrap_err().code(), "AGENT_REVOKED");
            for state in [AgentState::Active, AgentState::Quarantined] {
                assert_eq!(set(state).await.unwrap_err().code(), "AGENT_REVOKED");
            }
            assert_eq!(set(AgentState::Revoked).await.unwrap().state, AgentState::Revoked);
            // The agent of the same name in another tenant is unaffected.
            let other_tenant = TenantId::system();
            let absent = test.auth.set_agent_state(&other_tenant, "a", AgentState::Revoked, "operator").await;
            assert_eq!(absent.unwrap_err().kind(), Kind::NotFound);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn token_beyond_agent_grants_is_rejected() {
        for test in auth_fixtures().await {
            let wide = test.auth.mint(test.mint_request("a", "table:*"), &KNOWN_SCOPES).await.unwrap();
            let narrow = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            let header = format!("Bearer {}", wide.token);
            let before = test.auth.authenticate(Some(&header)).await.unwrap();
            let agent = test
                .auth
                .register_agent(register_request(&test, "a", "table:read"), &KNOWN_SCOPES)
                .await
                .unwrap();
            assert_eq!(agent.scopes.to_string(), "table:read");
            assert_eq!(agent.scope_hash, Some(scope_hash::compute(&agent.scopes)));
            assert!(!is_appended(&test.auth, &before).await);
            test.auth.evict_token(&header);
            let refused = expect_auth_error(&test.auth, Some(&header)).await;
            assert_eq!((refused.kind.as_str(), refused.code()), ("scope_exceeded", "agent_scope_exceeded"));
            assert_eq!(auth_outcome(&test.auth, &narrow.token).await, "ok");
            test.auth.register_agent(register_request(&test, "a", "*:*"), &KNOWN_SCOPES).await.unwrap();
            assert_eq!(auth_outcome(&test.auth, &wide.token).await, "ok");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn tampered_grants_fail_the_scope_hash_check() {
        for test in auth_fixtures().await {
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            test.tamper("UPDATE gate_agent SET scopes = '*:*' WHERE tenant_id = $1").await;
            let refused = expect_auth_error(&test.auth, Some(&format!("Bearer {}", minted.token))).await;
            assert_eq!(refused.code(), "agent_scope_hash_mismatch");
            test.tamper("UPDATE gate_agent SET scope_hash = NULL WHERE tenant_id = $1").await;
            let refused = expect_auth_error(&test.auth, Some(&format!("Bearer {}", minted.token))).await;
            assert_eq!(refused.code(), "agent_scope_hash_missing");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn token_without_matching_agent_is_rejected() {
        for test in auth_fixtures().await {
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            test.tamper("UPDATE gate_agent SET kind = 'user' WHERE tenant_id = $1").await;
            assert_eq!(auth_outcome(&test.auth, &minted.token).await, "agent_unregistered");
            test.tamper("DELETE FROM gate_agent WHERE tenant_id = $1").await;
            assert_eq!(auth_outcome(&test.auth, &minted.token).await, "agent_unregistered");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn agents_are_listed_by_name() {
        for test in auth_fixtures().await {
            for subject in ["b", "a"] {
                test.auth
                    .register_agent(register_request(&test, subject, "table:read"), &KNOWN_SCOPES)
                    .await
                    .unwrap();
            }
            let agents = test.auth.agents(&test.db.tenant).await.unwrap();
            assert_eq!(agents.iter().map(|agent| &*agent.subject).collect::<Vec<_>>(), ["a", "b"]);
            assert_eq!(agents[0].to_json()["state"], "active");
            assert!(test.auth.agents(&TenantId::system()).await.unwrap().is_empty());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn register_rejects_invalid_requests() {
        for test in auth_fixtures().await {
            test.auth
                .register_agent(register_request(&test, "a", "table:read"), &KNOWN_SCOPES)
                .await
                .unwrap();
            for (subject, scopes) in
                [("a b", "table:read"), ("c", "tabel:read"), ("c", "payment_intent:approve")]
            {
                let result =
                    test.auth.register_agent(register_request(&test, subject, scopes), &KNOWN_SCOPES).await;
                assert_eq!(result.unwrap_err().kind(), Kind::BadInput, "{subject} {scopes}");
            }
            let person =
                RegisterRequest { kind: PrincipalKind::User, ..register_request(&test, "a", "table:read") };
            let error = test.auth.register_agent(person, &KNOWN_SCOPES).await.unwrap_err();
            assert_eq!(error.code(), "SUBJECT_KIND_DIFFERS");
        }
    }
}
