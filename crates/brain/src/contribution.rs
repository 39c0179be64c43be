//! Contributions: what agents bring as evidence, and the hold on a new agent's first ones.
//!
//! Who contributed is the server's word, whatever the caller says about itself. The first contributions of an agent are
//! stored and shown, but nothing is made of them until somebody releases the agent or it has contributed more.

use quad_core::{EventDraft, Result, Timestamp};
use quad_store::{Sql, Store, Tx, WriteContext, params};
use serde_json::{Map, Value};

use crate::raw::{self, Artifact};
use crate::{limits, tags};

/// How an agent stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contributor {
    pub count: i64,
    pub hold_cleared_at: Option<Timestamp>,
}

impl Contributor {
    /// Whether what it brings is held back.
    pub(crate) fn is_on_hold(self) -> bool {
        self.hold_cleared_at.is_none() && self.count <= limits::CONTRIBUTIONS_ON_HOLD
    }
}

/// How an agent stands; nobody yet, if it has brought nothing.
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

/// Records that an agent has brought an artifact. The same bytes again are no further contribution.
pub(crate) fn record(
    tx: &mut Tx<'_>,
    artifact: &Artifact,
    agent: &str,
    source_ref: &Map<String, Value>,
) -> Result<()> {
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    let existing = tx.query_opt(
        "SELECT held FROM brain_contribution WHERE tenant_id = $1 AND agent_id = $2 AND raw_id = $3",
        params![tenant.as_str(), agent, artifact.id.as_str()],
    )?;
    if existing.is_some() {
        return Ok(());
    }
    tx.execute(
        "INSERT INTO brain_contributor (tenant_id, agent_id, contribution_count) VALUES ($1, $2, 1) \
         ON CONFLICT (tenant_id, agent_id) DO UPDATE SET contribution_count = brain_contributor.contribution_count + 1",
        params![tenant.as_str(), agent],
    )?;
    // Everything waits until somebody looks at it; only whether that may be now depends on the hold.
    tx.execute(
        "INSERT INTO brain_contribution (tenant_id, agent_id, raw_id, source_ref, held, contributed_at) \
         VALUES ($1, $2, $3, $4, 1, $5)",
        params![
            tenant.as_str(),
            agent,
            artifact.id.as_str(),
            Value::Object(source_ref.clone()).to_string(),
            now
        ],
    )?;
    tx.invalidate(tags::row(raw::KIND, artifact.id.as_str()));
    tx.invalidate(tags::row("agent", agent));
    tx.invalidate(tags::listing());
    Ok(())
}

/// Artifacts that an agent has brought and that nobody has looked at; none while the agent is held back.
pub(crate) fn pending(sql: &mut dyn Sql, agent: &str) -> Result<Vec<String>> {
    if load_contributor(sql, agent)?.is_on_hold() {
        return Ok(Vec::new());
    }
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT raw_id FROM brain_contribution WHERE tenant_id = $1 AND agent_id = $2 AND held = 1 \
         ORDER BY raw_id LIMIT $3",
        params![tenant, agent, limits::MAX_EXTRACTED_PER_RELEASE as i64],
    )?;
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

/// What the agent said when it brought an artifact.
pub(crate) fn source_ref(sql: &mut dyn Sql, agent: &str, raw_id: &str) -> Result<Map<String, Value>> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT source_ref FROM brain_contribution WHERE tenant_id = $1 AND agent_id = $2 AND raw_id = $3",
        params![tenant, agent, raw_id],
    )?;
    let Some(row) = row else { return Ok(Map::new()) };
    serde_json::from_str(row.text(0)?).map_err(quad_core::Error::internal)
}

/// An artifact was looked at.
pub(crate) fn mark_processed(tx: &mut Tx<'_>, agent: &str, raw_id: &str) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        "UPDATE brain_contribution SET held = 0 WHERE tenant_id = $1 AND agent_id = $2 AND raw_id = $3",
        params![tenant, agent, raw_id],
    )?;
    Ok(())
}

/// Artifacts that an agent has brought, by id, from after `after` on.
pub(crate) fn by_agent(sql: &mut dyn Sql, agent: &str, after: &str, limit: usize) -> Result<Vec<Artifact>> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT raw_id FROM brain_contribution WHERE tenant_id = $1 AND agent_id = $2 AND raw_id > $3 \
         ORDER BY raw_id LIMIT $4",
        params![tenant, agent, after, limit as i64],
    )?;
    let mut artifacts = Vec::with_capacity(rows.len());
    for row in &rows {
        artifacts.extend(raw::find(sql, row.text(0)?)?);
    }
    Ok(artifacts)
}

/// Ends the hold on an agent. Once more does no harm. What was held back is extracted by
/// [`Brain::extract_waiting`](crate::Brain::extract_waiting).
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
