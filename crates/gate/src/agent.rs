//! The registry of agents: who holds credentials in a tenant, what they are granted, and whether they may come in.
//!
//! A credential says what its holder *may claim*; the registry says what the holder *has*. A token is good only within the
//! registration, and a change of it holds from the next call on, since every proof rests on its holder's tag. People are
//! registered like programs; the scope of a person's decisions is what sets them apart.

use quad_core::{ReadSet, Error, EventDraft, Kind, PrincipalKind, Result, ScopeSet, Tag, TenantId, Timestamp};
use quad_store::{Row, Sql, Tx, Writer, params};
use serde_json::{Value, json};

use crate::gate::Gate;
use crate::refusal::Reason;
use crate::{grant, limits, scope_hash};

/// Whether an agent may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// It may.
    Active,
    /// Not until somebody restores it.
    Quarantined,
    /// Never again.
    Revoked,
}

impl AgentState {
    /// The spelling in the registry.
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

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRecord {
    /// Whose agent it is.
    pub tenant: TenantId,
    /// Its name.
    pub subject: String,
    /// Program or person.
    pub kind: PrincipalKind,
    /// What it is granted.
    pub scopes: ScopeSet,
    /// What the grants hash to.
    pub scope_hash: Option<String>,
    /// Whether it may come in.
    pub state: AgentState,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When the registration was last changed.
    pub updated_at: Timestamp,
}

/// What a registration shall be.
#[derive(Clone, Debug)]
pub struct RegisterRequest {
    /// Whose agent it is.
    pub tenant: TenantId,
    /// Its name.
    pub subject: String,
    /// Program or person.
    pub kind: PrincipalKind,
    /// What it is granted, separated by spaces or commas; no more and no less.
    pub scopes: String,
    /// Who asks for it, for the audit.
    pub actor: String,
}

/// The columns that [`AgentRecord::from_row`] reads.
pub(crate) const COLUMNS: &str = "subject, kind, scopes, scope_hash, state, created_at, updated_at";

/// The tag that a change of that holder's registration touches.
pub(crate) fn tag(subject: &str) -> Tag {
    Tag::new(format!("gate:agent:{subject}"))
}

impl AgentRecord {
    /// The record as JSON, for lists.
    pub fn entry(&self) -> Value {
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

    /// Reads [`COLUMNS`], of which the first stands at `first`.
    pub(crate) fn from_row(tenant: &TenantId, row: &Row, first: usize) -> Result<AgentRecord> {
        let (kind, state) = (row.text(first + 1)?, row.text(first + 4)?);
        Ok(AgentRecord {
            tenant: tenant.clone(),
            subject: row.text(first)?.to_owned(),
            kind: PrincipalKind::parse(kind)
                .ok_or_else(|| Error::internal(format!("an agent's kind is {kind}")))?,
            scopes: ScopeSet::parse(row.text(first + 2)?),
            scope_hash: row.opt_text(first + 3)?.map(str::to_owned),
            state: AgentState::parse(state)
                .ok_or_else(|| Error::internal(format!("an agent's state is {state}")))?,
            created_at: Timestamp(row.int(first + 5)?),
            updated_at: Timestamp(row.int(first + 6)?),
        })
    }

    /// Whether the registration is such that its holder may come in at all.
    pub(crate) fn check(&self, claimed: PrincipalKind) -> Result<(), Reason> {
        match self.state {
            AgentState::Active => {}
            AgentState::Quarantined => return Err(Reason::AgentQuarantined),
            AgentState::Revoked => return Err(Reason::AgentRevoked),
        }
        if self.kind != claimed {
            return Err(Reason::AgentUnregistered);
        }
        match &self.scope_hash {
            None => Err(Reason::ScopeHashMissing),
            Some(hash) if *hash != scope_hash::of(&self.scopes) => Err(Reason::ScopeHashMismatch),
            Some(_) => Ok(()),
        }
    }

    /// Whether all these scopes lie within the grants.
    pub(crate) fn covers(&self, claimed: &ScopeSet) -> bool {
        claimed.iter().all(|scope| self.scopes.allows(scope))
    }
}

/// The registration of that subject.
pub(crate) fn find(sql: &mut impl Sql, subject: &str) -> Result<Option<AgentRecord>> {
    let tenant = sql.tenant().clone();
    let query = format!("SELECT {COLUMNS} FROM gate_agent WHERE tenant_id = $1 AND subject = $2");
    let row = sql.query_opt(&query, params![tenant.as_str(), subject])?;
    row.map(|row| AgentRecord::from_row(&tenant, &row, 0)).transpose()
}

/// How new grants meet those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// Both hold.
    Add,
    /// The new ones hold.
    Replace,
}

/// Registers a holder, or changes what it is granted.
pub(crate) fn register(
    tx: &mut Tx<'_>,
    subject: &str,
    kind: PrincipalKind,
    scopes: &ScopeSet,
    meeting: Meeting,
) -> Result<AgentRecord> {
    // Two grants for one holder at once: the second must see the first's, or the union loses one.
    tx.lock(&format!("gate:agent:{subject}"))?;
    let found = find(tx, subject)?;
    let mut granted = scopes.clone();
    if let Some(found) = &found {
        check_fits(found, kind)?;
        if meeting == Meeting::Add {
            granted = found.scopes.iter().chain(scopes.iter()).collect();
        }
    }
    let spelt = granted.to_string();
    if spelt.len() > limits::GRANT_BYTES {
        return Err(Error::bad_input("So many scopes do not fit into a registration")
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
    let hash = scope_hash::of(&granted);
    let row = tx.query_opt(
        &upsert,
        params![tenant.as_str(), subject, kind.as_str(), spelt.as_str(), hash.as_str(), now],
    )?;
    let row = row.ok_or_else(|| Error::internal("a registration vanished"))?;
    tx.output("scope_hash", hash);
    // What a new token adds spoils no proof, so it disturbs nobody.
    if meeting == Meeting::Replace && found.is_some_and(|found| found.scopes != granted) {
        tx.touch(tag(subject));
    }
    AgentRecord::from_row(&tenant, &row, 0)
}

fn check_fits(found: &AgentRecord, kind: PrincipalKind) -> Result<()> {
    let subject = &found.subject;
    if found.kind != kind {
        let message = format!("{subject} is registered as {}, not as {}", found.kind.as_str(), kind.as_str());
        return Err(Error::new(Kind::Conflict, "SUBJECT_KIND_DIFFERS", message)
            .hint("A program and a person need two subjects: choose another one"));
    }
    match found.state {
        AgentState::Active => Ok(()),
        AgentState::Quarantined => {
            Err(Error::new(Kind::Conflict, "AGENT_QUARANTINED", format!("{subject} is quarantined"))
                .hint(format!("`quad agent restore {subject}` lets it in again")))
        }
        AgentState::Revoked => Err(revoked(subject)),
    }
}

impl Gate {
    /// Registers an agent with exactly these grants, or changes those of one that is registered.
    /// `known_scopes` is the vocabulary of every mounted scheme.
    pub async fn register_agent(
        &self,
        request: RegisterRequest,
        known_scopes: &[&str],
    ) -> Result<AgentRecord> {
        grant::check_subject(&request.subject)?;
        let scopes = grant::scopes(&request.scopes, request.kind, known_scopes)?;
        let event = EventDraft::system("identity", "agent.registered", &request.actor)
            .input("subject", request.subject.as_str())
            .input("kind", request.kind.as_str())
            .input("scopes", scopes.to_string());
        let writer = Writer::from(&request.tenant);
        let work =
            move |tx: &mut Tx<'_>| register(tx, &request.subject, request.kind, &scopes, Meeting::Replace);
        Ok(self.store.write(&writer, event, work).await?.0)
    }

    /// The tenant's agents, by name.
    pub async fn agents(&self, tenant: &TenantId) -> Result<Vec<AgentRecord>> {
        Ok(self.agents_and_basis(tenant).await?.0)
    }

    /// The same, and what the list rests on, for those who show it to others.
    pub async fn agents_and_basis(&self, tenant: &TenantId) -> Result<(Vec<AgentRecord>, ReadSet)> {
        self.store
            .read(tenant, |snapshot| {
                let tenant = snapshot.tenant().clone();
                let listing = format!(
                    "SELECT {COLUMNS} FROM gate_agent WHERE tenant_id = $1 ORDER BY subject LIMIT {}",
                    limits::AGENTS_LISTED
                );
                let rows = snapshot.query(&listing, params![tenant.as_str()])?;
                let agents: Vec<AgentRecord> =
                    rows.iter().map(|row| AgentRecord::from_row(&tenant, row, 0)).collect::<Result<_>>()?;
                let mut basis = ReadSet::at_version(snapshot.version());
                basis.tags.extend(agents.iter().map(|agent| tag(&agent.subject)));
                Ok((agents, basis))
            })
            .await
    }

    /// Lets an agent in or keeps it out, from the next call on, in every process. A revoked one stays so.
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
        let work = move |tx: &mut Tx<'_>| change_state(tx, &subject, state);
        Ok(self.store.write(&Writer::from(tenant), event, work).await?.0)
    }
}

fn change_state(tx: &mut Tx<'_>, subject: &str, state: AgentState) -> Result<AgentRecord> {
    tx.lock(&format!("gate:agent:{subject}"))?;
    let found = find(tx, subject)?.ok_or_else(|| no_such_agent(subject))?;
    if found.state == AgentState::Revoked && state != AgentState::Revoked {
        return Err(revoked(subject));
    }
    let (tenant, now) = (tx.tenant().clone(), tx.now());
    let update = format!(
        "UPDATE gate_agent SET state = $3, updated_at = $4 WHERE tenant_id = $1 AND subject = $2 RETURNING {COLUMNS}"
    );
    let row = tx.query_opt(&update, params![tenant.as_str(), subject, state.as_str(), now])?;
    let row = row.ok_or_else(|| no_such_agent(subject))?;
    tx.touch(tag(subject));
    AgentRecord::from_row(&tenant, &row, 0)
}

fn revoked(subject: &str) -> Error {
    Error::new(Kind::Conflict, "AGENT_REVOKED", format!("{subject} was revoked, which is for good"))
        .hint("Choose another subject")
}

fn no_such_agent(subject: &str) -> Error {
    let shown: String = subject.chars().take(limits::SUBJECT_BYTES).collect();
    Error::new(Kind::NotFound, "NOT_FOUND", format!("There is no agent {shown} in this tenant"))
        .hint("`quad agent list` shows the agents")
}

#[cfg(test)]
mod tests {
    use quad_core::{AuditLog as _, AppendError, Principal};

    use super::*;
    use crate::gate::tests::{KNOWN, TestGate, gates, outcome, refusal};

    fn register(test: &TestGate, subject: &str, scopes: &str) -> RegisterRequest {
        RegisterRequest {
            tenant: test.place.tenant.clone(),
            subject: subject.to_owned(),
            kind: PrincipalKind::Agent,
            scopes: scopes.to_owned(),
            actor: "operator".to_owned(),
        }
    }

    /// Whether the audit takes a call of that principal, in that process.
    async fn is_recorded(gate: &Gate, caller: &Principal) -> bool {
        let proof = caller.credential_read_set.clone().unwrap();
        match gate.store.append(&caller.tenant, EventDraft::call(caller, "ping"), vec![proof]).await {
            Ok(_) => true,
            Err(AppendError::Stale(_)) => false,
            Err(AppendError::Failed(error)) => panic!("{error}"),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_state_holds_from_the_next_call_on_in_a_process_that_remembers_the_token() {
        for test in gates().await {
            let running = test.another_process().await;
            let minted = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            let header = format!("Bearer {}", minted.token);
            let steps = [
                (AgentState::Quarantined, "agent_quarantined", "agent_not_registered"),
                (AgentState::Active, "ok", ""),
                (AgentState::Revoked, "agent_revoked", "agent_not_registered"),
            ];
            for (state, reason, code) in steps {
                let before = running.authenticate(Some(&header)).await.ok();
                let changed = test.gate.set_agent_state(&test.place.tenant, "a", state, "operator").await;
                assert_eq!(changed.unwrap().state, state);
                if let Some(before) = before {
                    assert!(!is_recorded(&running, &before).await, "{state:?}");
                }
                running.forget(&header);
                match running.authenticate(Some(&header)).await {
                    Ok(caller) => {
                        assert_eq!(reason, "ok");
                        assert!(is_recorded(&running, &caller).await);
                    }
                    Err(refusal) => assert_eq!((refusal.reason.as_str(), refusal.code()), (reason, code)),
                }
            }
            let audit = test.audit(&test.place.tenant).await;
            for told in ["agent.halted", "agent.restored", "agent.revoked"] {
                assert!(audit.contains(told), "{told}");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_revoked_agent_stays_out_and_a_halted_one_gets_no_token() {
        for test in gates().await {
            let tenant = &test.place.tenant;
            let set = async |state| test.gate.set_agent_state(tenant, "a", state, "operator").await;
            let mint = async || test.gate.mint(test.request("a", "table:read"), &KNOWN).await;
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
            // Another tenant's agent of that name is another agent.
            let elsewhere = TenantId::system();
            let absent = test.gate.set_agent_state(&elsewhere, "a", AgentState::Revoked, "operator").await;
            assert_eq!(absent.unwrap_err().kind(), Kind::NotFound);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_token_is_good_within_its_holders_grants_only() {
        for test in gates().await {
            let wide = test.gate.mint(test.request("a", "table:*"), &KNOWN).await.unwrap();
            let narrow = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            let header = format!("Bearer {}", wide.token);
            let before = test.gate.authenticate(Some(&header)).await.unwrap();
            let agent = test.gate.register_agent(register(&test, "a", "table:read"), &KNOWN).await.unwrap();
            assert_eq!(agent.scopes.to_string(), "table:read");
            assert_eq!(agent.scope_hash, Some(scope_hash::of(&agent.scopes)));
            assert!(!is_recorded(&test.gate, &before).await);
            test.gate.forget(&header);
            let refused = refusal(&test.gate, Some(&header)).await;
            assert_eq!((refused.reason.as_str(), refused.code()), ("scope_exceeded", "agent_scope_exceeded"));
            assert_eq!(outcome(&test.gate, &narrow.token).await, "ok");
            test.gate.register_agent(register(&test, "a", "*:*"), &KNOWN).await.unwrap();
            assert_eq!(outcome(&test.gate, &wide.token).await, "ok");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn grants_that_were_edited_behind_our_back_lock_the_agent_out() {
        for test in gates().await {
            let minted = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            test.tamper("UPDATE gate_agent SET scopes = '*:*' WHERE tenant_id = $1").await;
            let refused = refusal(&test.gate, Some(&format!("Bearer {}", minted.token))).await;
            assert_eq!(refused.code(), "agent_scope_hash_mismatch");
            test.tamper("UPDATE gate_agent SET scope_hash = NULL WHERE tenant_id = $1").await;
            let refused = refusal(&test.gate, Some(&format!("Bearer {}", minted.token))).await;
            assert_eq!(refused.code(), "agent_scope_hash_missing");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_holder_whose_registration_is_gone_or_of_another_kind_is_refused() {
        for test in gates().await {
            let minted = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            test.tamper("UPDATE gate_agent SET kind = 'user' WHERE tenant_id = $1").await;
            assert_eq!(outcome(&test.gate, &minted.token).await, "agent_unregistered");
            test.tamper("DELETE FROM gate_agent WHERE tenant_id = $1").await;
            assert_eq!(outcome(&test.gate, &minted.token).await, "agent_unregistered");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn lists_agents_by_name_and_refuses_what_cannot_be_registered() {
        for test in gates().await {
            for subject in ["b", "a"] {
                test.gate.register_agent(register(&test, subject, "table:read"), &KNOWN).await.unwrap();
            }
            let agents = test.gate.agents(&test.place.tenant).await.unwrap();
            assert_eq!(agents.iter().map(|agent| &*agent.subject).collect::<Vec<_>>(), ["a", "b"]);
            assert_eq!(agents[0].entry()["state"], "active");
            assert!(test.gate.agents(&TenantId::system()).await.unwrap().is_empty());
            for (subject, scopes) in
                [("a b", "table:read"), ("c", "tabel:read"), ("c", "payment_intent:approve")]
            {
                let refused = test.gate.register_agent(register(&test, subject, scopes), &KNOWN).await;
                assert_eq!(refused.unwrap_err().kind(), Kind::BadInput, "{subject} {scopes}");
            }
            let person = RegisterRequest { kind: PrincipalKind::User, ..register(&test, "a", "table:read") };
            let refused = test.gate.register_agent(person, &KNOWN).await.unwrap_err();
            assert_eq!(refused.code(), "SUBJECT_KIND_DIFFERS");
        }
    }
}
