//! Sessions as callers start, end and resume them.

use quad_core::Result;
use quad_store::{Sql, Tx, params};

use crate::adding::NewNode;
use crate::edge::{self, Edge, EdgeType};
use crate::event_type::EventType;
use crate::node::{self, NodeId};
use crate::outgoing::BySource;
use crate::session::{self, SessionId};
use crate::{limits, place, refusal, stats, tags};

/// A started session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    pub session: SessionId,
    /// The caller's session before.
    pub previous: Option<SessionId>,
    /// Sessions that have nodes.
    pub sessions: i64,
}

/// Puts a caller into a new session, or into the one that it names, which may be an old one. A new chain begins.
pub(crate) fn start(
    tx: &mut Tx<'_>,
    subject: &str,
    id: Option<SessionId>,
    metadata: Option<&str>,
) -> Result<Started> {
    let mut stats = stats::lock(tx)?;
    let previous = place::session_of(tx, subject)?;
    let known = match id {
        Some(id) => session::find(tx, id)?,
        None => None,
    };
    let session = match known {
        Some(known) => {
            session::reopen(tx, known.id, metadata)?;
            known.id
        }
        None => session::create(tx, &mut stats, id, subject, metadata)?,
    };
    place::enter(tx, subject, Some(session), None)?;
    stats.save(tx)?;
    tx.invalidate(tags::session(session));
    Ok(Started { session, previous, sessions: stats.sessions_used })
}

/// An ended session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub session: SessionId,
    pub episode: Option<NodeId>,
    /// What the episode says.
    pub summary: Option<String>,
    /// Nodes that were linked to the episode.
    pub linked: usize,
    /// Nodes of the session, the episode included.
    pub node_count: i64,
}

/// Ends a session: the caller's own, or the one that it names. With an episode, every node of it becomes a part of that.
pub(crate) fn end(
    tx: &mut Tx<'_>,
    subject: &str,
    id: Option<SessionId>,
    with_episode: bool,
    summary: Option<&str>,
) -> Result<Ended> {
    let mut stats = stats::lock(tx)?;
    let current = place::session_of(tx, subject)?;
    let id = id.or(current).ok_or_else(|| {
        refusal::conflict("There is no current session")
            .hint("Start one with session_start, or name a session_id")
            .with_code("NO_SESSION")
    })?;
    let session = session::expect(tx, id)?;
    if session.ended_at.is_some() {
        return Err(refusal::conflict(format!("Session {id} has ended already"))
            .hint("session_start with its session_id opens it again")
            .with_code("SESSION_ENDED"));
    }
    let at = stats.moment();
    let mut ended =
        Ended { session: id, episode: None, summary: None, linked: 0, node_count: session.node_count };
    if with_episode {
        let summary = summary.map_or_else(|| told(id, session.node_count), str::to_owned);
        let members = newest_of(tx, id)?;
        let episode = NodeId(stats.next_id);
        stats.next_id += 1;
        let new = NewNode::new(EventType::Episode, summary.as_str(), 1.0).stored(episode, id, at);
        node::insert(tx, subject, &[new], &BySource::new())?;
        let part = |member: &NodeId| Edge {
            source: *member,
            target: episode,
            edge_type: EdgeType::PartOf,
            weight: 1.0,
        };
        let parts: Vec<(Edge, i64)> = members.iter().map(|member| (part(member), at)).collect();
        edge::insert(tx, &parts)?;
        stats.count_nodes(EventType::Episode, 1);
        parts.iter().for_each(|(part, _)| stats.count_edges(part.edge_type, 1));
        session::count_nodes(tx, &mut stats, id, 1)?;
        tx.invalidate(tags::stats());
        tx.invalidate(tags::nodes());
        tx.invalidate(tags::event_type(EventType::Episode));
        tags::touch_nodes(tx, &members.into_iter().collect());
        ended.episode = Some(episode);
        ended.summary = Some(summary);
        ended.linked = parts.len();
        ended.node_count += 1;
    }
    session::end(tx, id, at, ended.episode)?;
    if current == Some(id) {
        place::enter(tx, subject, None, None)?;
    }
    stats.save(tx)?;
    tx.invalidate(tags::session(id));
    Ok(ended)
}

fn told(id: SessionId, nodes: i64) -> String {
    match nodes {
        1 => format!("Session {id}: 1 memory"),
        _ => format!("Session {id}: {nodes} memories"),
    }
}

/// The nodes that an episode is linked from: all of a session, of a very long one the newest.
fn newest_of(tx: &mut Tx<'_>, session: SessionId) -> Result<Vec<NodeId>> {
    let tenant = tx.tenant().clone();
    let rows = tx.query(
        "SELECT id FROM amem_node WHERE tenant_id = $1 AND session_id = $2 ORDER BY id DESC LIMIT $3",
        params![tenant.as_str(), i64::from(session.0), limits::EPISODE_EDGES as i64],
    )?;
    let mut ids = rows.iter().map(|row| Ok(NodeId(row.int(0)?))).collect::<Result<Vec<NodeId>>>()?;
    ids.reverse();
    Ok(ids)
}
