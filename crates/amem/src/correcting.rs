//! Corrections: a new node that supersedes an old one. The old one keeps what it said and how sure it was.

use std::collections::BTreeSet;

use quad_core::Result;
use quad_store::{Sql, Tx, params};

use crate::adding::{self, NewNode};
use crate::edge::{self, Edge, EdgeType, EdgeTypes, Side};
use crate::event_type::EventType;
use crate::node::{self, Node, NodeId};
use crate::session::SessionId;
use crate::{limits, outgoing, place, refusal, tags};

/// Corrects a node. The correction belongs to the caller's session but not to its chain.
pub(crate) fn correct(
    tx: &mut Tx<'_>,
    subject: &str,
    old: NodeId,
    content: &str,
    confidence: f64,
) -> Result<(NodeId, SessionId)> {
    let (mut stats, mut place) = place::lock(tx, subject)?;
    if node::first_missing(tx, &[old])?.is_some() {
        return Err(refusal::no_node(old));
    }
    let id = NodeId(stats.next_id);
    stats.next_id += 1;
    let at = stats.moment();
    let session = place.ensure_session(tx, &mut stats, subject)?;
    let new = NewNode::new(EventType::Correction, content, confidence).stored(id, session, at);
    let supersedes = Edge { source: id, target: old, edge_type: EdgeType::Supersedes, weight: 1.0 };
    node::insert(tx, subject, &[new], &outgoing::by_source([&supersedes]))?;
    edge::insert_rows(tx, &[(supersedes, at)])?;
    adding::supersede(tx, old, Some(id))?;
    stats.count_nodes(EventType::Correction, 1);
    stats.count_edges(EdgeType::Supersedes, 1);
    place.count_nodes(&mut stats, 1);
    place.save(tx, subject)?;
    stats.save(tx)?;
    for tag in [
        tags::stats(),
        tags::nodes(),
        tags::session(session),
        tags::event_type(EventType::Correction),
        tags::node(old),
    ] {
        tx.invalidate(tag);
    }
    Ok((id, session))
}

/// The latest node that a chain of corrections leads to.
pub(crate) fn resolve(sql: &mut dyn Sql, id: NodeId) -> Result<Node> {
    let mut latest = node::expect(sql, id)?;
    for _ in 0..limits::RESOLVE_HOPS {
        match latest.superseded_by {
            None => return Ok(latest),
            Some(by) => latest = node::expect(sql, by)?,
        }
    }
    Err(refusal::limit("CHAIN_TOO_LONG", "The chain of corrections is too long to follow in one call")
        .hint(format!("Go on with memory_resolve of node {}", latest.id)))
}

/// Refuses a supersession that would close a circle: `target` must not supersede `source`, however indirectly.
pub(crate) fn check_circle(sql: &mut dyn Sql, source: NodeId, target: NodeId) -> Result<()> {
    let supersedes = EdgeTypes::only(EdgeType::Supersedes);
    let mut seen = BTreeSet::from([target]);
    let mut level = vec![target];
    while !level.is_empty() {
        let mut next = Vec::new();
        for edge in edge::of_nodes(sql, &level, Side::Outgoing, supersedes)?.into_values().flatten() {
            if edge.target == source {
                return Err(adding::circle());
            }
            if seen.insert(edge.target) {
                next.push(edge.target);
            }
        }
        if seen.len() > limits::WALK_VISITED {
            return Err(refusal::limit(
                "CHAIN_TOO_LONG",
                "The nodes supersede too many others to be checked",
            ));
        }
        level = next;
    }
    Ok(())
}

/// Finds out anew by which node another is superseded, after an edge has gone.
pub(crate) fn refresh(tx: &mut Tx<'_>, target: NodeId) -> Result<()> {
    let tenant = tx.tenant().clone();
    let row = tx.query_opt(
        "SELECT source_id FROM amem_edge WHERE tenant_id = $1 AND target_id = $2 AND edge_type = 3 \
         ORDER BY created_at DESC, source_id DESC LIMIT 1",
        params![tenant.as_str(), target.0],
    )?;
    let by = row.map(|row| row.int(0)).transpose()?.map(NodeId);
    adding::supersede(tx, target, by)
}
