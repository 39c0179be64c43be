//! `session_start` and `session_end`.

use quad_core::Result;
use quad_store::{Sql, Tx, params};

use crate::adjacency::EdgesBySource;
use crate::edge::{self, Edge, EdgeType};
use crate::event_type::EventType;
use crate::insert::NewNode;
use crate::node::{self, NodeId};
use crate::session::{self, SessionId};
use crate::{caller_state, counters, errors, limits, tags};

/// The result of starting a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StartResult {
    pub session: SessionId,
    /// The caller's session before.
    pub previous: Option<SessionId>,
    /// The number of sessions that have nodes.
    pub sessions_with_nodes: i64,
}

/// Moves a caller into a new session or into the named one, which may be an existing session. A new chain begins.
pub(crate) fn start(
    tx: &mut Tx<'_>,
    subject: &str,
    id: Option<SessionId>,
    metadata: Option<&str>,
) -> Result<StartResult> {
    let mut counters = counters::lock(tx)?;
    let previous = caller_state::current_session(tx, subject)?;
    let existing = match id {
        Some(id) => session::find(tx, id)?,
        None => None,
    };
    let session = match existing {
        Some(existing) => {
            session::reopen(tx, existing.id, metadata)?;
            existing.id
        }
        None => session::create(tx, &mut counters, id, subject, metadata)?,
    };
    caller_state::set_session(tx, subject, Some(session), None)?;
    counters.save(tx)?;
    tx.invalidate(tags::session(session));
    Ok(StartResult { session, previous, sessions_with_nodes: counters.sessions_with_nodes })
}

/// The result of ending a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndResult {
    pub session: SessionId,
    pub episode: Option<NodeId>,
    /// The content of the episode.
    pub summary: Option<String>,
    /// The number of nodes linked to the episode.
    pub linked: usize,
    /// The number of nodes in the session, including the episode.
    pub node_count: i64,
}

/// Ends the named session or the caller's own. With an episode, all nodes of the session become parts of it.
pub(crate) fn end(
    tx: &mut Tx<'_>,
    subject: &str,
    id: Option<SessionId>,
    with_episode: bool,
    summary: Option<&str>,
) -> Result<EndResult> {
    let mut counters = counters::lock(tx)?;
    let current = caller_state::current_session(tx, subject)?;
    let id = id.or(current).ok_or_else(errors::no_current_session)?;
    let session = session::get(tx, id)?;
    if session.ended_at.is_some() {
        return Err(errors::conflict(format!("Session {id} has ended already"))
            .hint("Open it again with session_start and its session_id")
            .with_code("SESSION_ENDED"));
    }
    let at = counters.next_timestamp();
    let mut result =
        EndResult { session: id, episode: None, summary: None, linked: 0, node_count: session.node_count };
    if with_episode {
        let summary = summary.map_or_else(|| default_summary(id, session.node_count), str::to_owned);
        let members = newest_nodes(tx, id)?;
        let episode = NodeId(counters.next_id);
        counters.next_id += 1;
        let new = NewNode::new(EventType::Episode, summary.as_str(), 1.0).to_node(episode, id, at);
        node::insert(tx, subject, &[new], &EdgesBySource::default())?;
        let part_of = |member: &NodeId| Edge {
            source: *member,
            target: episode,
            edge_type: EdgeType::PartOf,
            weight: 1.0,
        };
        let parts: Vec<(Edge, i64)> = members.iter().map(|member| (part_of(member), at)).collect();
        edge::insert(tx, &parts)?;
        counters.count_nodes(EventType::Episode, 1);
        parts.iter().for_each(|(part, _)| counters.count_edges(part.edge_type, 1));
        session::count_nodes(tx, &mut counters, id, 1)?;
        tx.invalidate(tags::counters());
        tx.invalidate(tags::nodes());
        tx.invalidate(tags::event_type(EventType::Episode));
        tags::invalidate_nodes(tx, &members.into_iter().collect());
        result.episode = Some(episode);
        result.summary = Some(summary);
        result.linked = parts.len();
        result.node_count += 1;
    }
    session::mark_ended(tx, id, at, result.episode)?;
    if current == Some(id) {
        caller_state::set_session(tx, subject, None, None)?;
    }
    counters.save(tx)?;
    tx.invalidate(tags::session(id));
    Ok(result)
}

fn default_summary(id: SessionId, nodes: i64) -> String {
    match nodes {
        1 => format!("Session {id}: 1 memory"),
        _ => format!("Session {id}: {nodes} memories"),
    }
}

/// The nodes to link to an episode: all nodes of the session, or the newest ones if there are too many.
fn newest_nodes(tx: &mut Tx<'_>, session: SessionId) -> Result<Vec<NodeId>> {
    let tenant = tx.tenant().clone();
    let rows = tx.query(
        "SELECT id FROM amem_node WHERE tenant_id = $1 AND session_id = $2 ORDER BY id DESC LIMIT $3",
        params![tenant.as_str(), i64::from(session.0), limits::EPISODE_EDGES as i64],
    )?;
    let mut ids = rows.iter().map(|row| Ok(NodeId(row.int(0)?))).collect::<Result<Vec<NodeId>>>()?;
    ids.reverse();
    Ok(ids)
}
