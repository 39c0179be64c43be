//! Contributions: evidence that agents upload, and the hold on the first contributions of a new agent.
//!
//! The server records the contributor; a caller cannot claim to be another agent. The first contributions of an agent
//! are stored and readable, but not extracted into the ledger until the agent is released or has contributed more than
//! [`CONTRIBUTIONS_ON_HOLD`](limits::CONTRIBUTIONS_ON_HOLD).

use quad_core::{Error, EventDraft, Result, Timestamp};
use quad_store::{Row, Sql, Store, Tx, WriteContext, params};
use serde_json::{Map, Value};

use crate::raw::{self, Artifact, ProjectionStatus};
use crate::{limits, tags};

/// What is stored about a contributing agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contributor {
    pub count: i64,
    pub hold_cleared_at: Option<Timestamp>,
}

impl Contributor {
    /// Whether the agent's contributions are stored but not extracted.
    pub(crate) fn is_on_hold(self) -> bool {
        self.hold_cleared_at.is_none() && self.count <= limits::CONTRIBUTIONS_ON_HOLD
    }
}

/// The state of an agent; the default if it has contributed nothing.
pub(crate) fn load_contributor(sql: &mut dyn Sql, agent: &str) -> Result<Contributor> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT contribution_count, hold_cleared_at FROM brain_contributor WHERE tenant_id = $1 AND agent_id = $2",
        params![tenant, agent],
    )?;
    Ok(match row {
        None => Contributor::default(),
        Some(row) => Contributor { count: row.int(0)?, hold_cleared_at: row.opt_int(1)?.map(Timestamp) },
    })
}

/// Records that an agent has contributed an artifact. If it contributes the same bytes again and they are not imported
/// yet, the new `source_ref` replaces the one before and the import is tried again: it may name the account that was
/// missing.
pub(crate) fn record(
    tx: &mut Tx<'_>,
    artifact: &Artifact,
    agent: &str,
    source_ref: &Map<String, Value>,
) -> Result<()> {
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    let source_ref = Value::Object(source_ref.clone()).to_string();
    let existing = tx.query_opt(
        "SELECT held FROM brain_contribution WHERE tenant_id = $1 AND agent_id = $2 AND raw_id = $3",
        params![tenant.as_str(), agent, artifact.id.as_str()],
    )?;
    if existing.is_some() {
        if artifact.projection_status != Some(ProjectionStatus::Projected) {
            tx.execute(
                "UPDATE brain_contribution SET source_ref = $4, held = 1 \
                 WHERE tenant_id = $1 AND agent_id = $2 AND raw_id = $3",
                params![tenant.as_str(), agent, artifact.id.as_str(), source_ref],
            )?;
        }
        return Ok(());
    }
    tx.execute(
        "INSERT INTO brain_contributor (tenant_id, agent_id, contribution_count) VALUES ($1, $2, 1) \
         ON CONFLICT (tenant_id, agent_id) DO UPDATE SET contribution_count = brain_contributor.contribution_count + 1",
        params![tenant.as_str(), agent],
    )?;
    // Every contribution starts as pending. Whether it may be extracted now depends on the hold.
    tx.execute(
        "INSERT INTO brain_contribution (tenant_id, agent_id, raw_id, source_ref, held, contributed_at) \
         VALUES ($1, $2, $3, $4, 1, $5)",
        params![tenant.as_str(), agent, artifact.id.as_str(), source_ref, now],
    )?;
    tx.invalidate(tags::row(raw::KIND, artifact.id.as_str()));
    tx.invalidate(tags::row("agent", agent));
    tx.invalidate(tags::listing());
    Ok(())
}

/// A contribution that waits for extraction.
#[derive(Clone, Debug)]
pub(crate) struct PendingContribution {
    pub raw_id: String,
    /// The source that the agent named, as stored.
    source_ref: String,
}

impl PendingContribution {
    /// The account that the agent named.
    pub(crate) fn account(&self) -> Result<Option<String>> {
        let source_ref: Map<String, Value> =
            serde_json::from_str(&self.source_ref).map_err(Error::internal)?;
        Ok(named_account(&source_ref))
    }
}

/// The account that a `source_ref` names.
pub(crate) fn named_account(source_ref: &Map<String, Value>) -> Option<String> {
    source_ref.get("account_id").and_then(Value::as_str).map(str::to_owned)
}

/// Contributions of an agent that wait for extraction; none while the agent is on hold.
pub(crate) fn pending(sql: &mut dyn Sql, agent: &str) -> Result<Vec<PendingContribution>> {
    if load_contributor(sql, agent)?.is_on_hold() {
        return Ok(Vec::new());
    }
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT raw_id, source_ref FROM brain_contribution WHERE tenant_id = $1 AND agent_id = $2 AND held = 1 \
         ORDER BY raw_id LIMIT $3",
        params![tenant, agent, limits::MAX_EXTRACTED_PER_RELEASE as i64],
    )?;
    let pending = |row: &Row| {
        Ok(PendingContribution { raw_id: row.text(0)?.to_owned(), source_ref: row.text(1)?.to_owned() })
    };
    rows.iter().map(pending).collect()
}

/// Marks a contribution as extracted, unless the agent has contributed it again with another source meanwhile.
pub(crate) fn mark_processed(tx: &mut Tx<'_>, agent: &str, contribution: &PendingContribution) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        "UPDATE brain_contribution SET held = 0 \
         WHERE tenant_id = $1 AND agent_id = $2 AND raw_id = $3 AND source_ref = $4",
        params![tenant, agent, contribution.raw_id.as_str(), contribution.source_ref.as_str()],
    )?;
    Ok(())
}

/// Artifacts that an agent has contributed, by id, after `after`.
pub(crate) fn by_agent(sql: &mut dyn Sql, agent: &str, after: &str, limit: usize) -> Result<Vec<Artifact>> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT raw_id FROM brain_contribution WHERE tenant_id = $1 AND agent_id = $2 AND raw_id > $3 \
         ORDER BY raw_id LIMIT $4",
        params![tenant, agent, after, limit as i64],
    )?;
    let ids: Vec<String> = rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect::<Result<_>>()?;
    raw::find_many(sql, &ids)
}

/// Ends the hold on an agent. Idempotent. [`Brain::extract_pending`](crate::Brain::extract_pending) then extracts what
/// was on hold.
pub async fn release(store: &Store, writer: &WriteContext, actor: &str, agent: &str) -> Result<Timestamp> {
    let event = EventDraft::system("identity", "agent.contribution_hold.released", actor)
        .input("agent_id", agent)
        .succeeded();
    let agent = agent.to_owned();
    let work = move |tx: &mut Tx<'_>| {
        if let Some(at) = load_contributor(tx, &agent)?.hold_cleared_at {
            return Ok(at);
        }
        let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
        tx.execute(
            "INSERT INTO brain_contributor (tenant_id, agent_id, contribution_count, hold_cleared_at) VALUES ($1, $2, 0, $3) \
             ON CONFLICT (tenant_id, agent_id) DO UPDATE SET hold_cleared_at = excluded.hold_cleared_at",
            params![tenant, agent.as_str(), now],
        )?;
        tx.invalidate(tags::row("agent", &agent));
        Ok(now)
    };
    Ok(store.write(writer, event, work).await?.0)
}
