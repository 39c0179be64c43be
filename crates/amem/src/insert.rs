//! Inserts new nodes with their edges, vectors and place in the caller's chain, in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quad_core::Result;
use quad_store::Tx;

use crate::edge::{Edge, EdgeType};
use crate::event_type::EventType;
use crate::insert_buffer::{BufferedInsert, InsertBuffer};
use crate::node::{self, Node, NodeId};
use crate::session::SessionId;
use crate::{errors, limits, supersede, tags, vectors};

/// A node to insert.
#[derive(Clone, Debug)]
pub(crate) struct NewNode {
    pub event_type: EventType,
    pub content: String,
    pub confidence: f64,
    pub edges: Vec<NewEdge>,
    pub vector: Option<Vec<f32>>,
}

/// An edge from a node to insert.
#[derive(Clone, Debug)]
pub(crate) struct NewEdge {
    pub target: Target,
    pub edge_type: EdgeType,
    pub weight: f64,
}

/// The target of a new edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An existing node.
    Node(NodeId),
    /// A node of the same call, by index.
    BatchIndex(usize),
}

/// The result of an insert.
#[derive(Clone, Debug)]
pub(crate) struct InsertResult {
    /// In the order of the call, consecutive.
    pub ids: Vec<NodeId>,
    pub session: SessionId,
    /// Including the temporal edges of the chain.
    pub edges: usize,
}

impl NewNode {
    /// A node without edges and vector.
    pub(crate) fn new(event_type: EventType, content: impl Into<String>, confidence: f64) -> NewNode {
        NewNode { event_type, content: content.into(), confidence, edges: Vec::new(), vector: None }
    }

    /// The node as it will be stored.
    pub(crate) fn to_node(&self, id: NodeId, session_id: SessionId, at: i64) -> Node {
        Node {
            id,
            event_type: self.event_type,
            session_id,
            created_at: at,
            confidence: self.confidence,
            access_count: 0,
            last_accessed: at,
            effective_access: at,
            superseded_by: None,
            content: self.content.clone(),
        }
    }
}

/// Rejects a content that no node may have.
pub(crate) fn check_content(name: &str, content: &str) -> Result<()> {
    if content.trim().is_empty() {
        return Err(errors::invalid_argument(name, "is empty", "Give what to remember, as a sentence"));
    }
    if content.len() > limits::CONTENT_BYTES {
        return Err(errors::limit_exceeded(
            "CONTENT_TOO_LARGE",
            format!("{name} has {} bytes; the maximum is {}", content.len(), limits::CONTENT_BYTES),
        )
        .hint("Split it into several memories, and link them with part_of"));
    }
    if content.contains('\0') {
        return Err(errors::invalid_argument(
            name,
            "contains NUL characters",
            "Remove the NUL characters from the text",
        ));
    }
    Ok(())
}

/// Inserts nodes into the caller's session. With `append_to_chain`, each also follows the previous one in time, the
/// first one the caller's last node.
pub(crate) fn insert_nodes(
    tx: &mut Tx<'_>,
    subject: &str,
    new_nodes: &[NewNode],
    append_to_chain: bool,
) -> Result<InsertResult> {
    let mut buffer = InsertBuffer::acquire(tx, subject)?;
    let first = buffer.counters.next_id;
    let ids: Vec<NodeId> = (first..first + new_nodes.len() as i64).map(NodeId).collect();
    let Some(last) = ids.last().copied() else {
        return Err(errors::invalid_argument("nodes", "is empty", "Give at least one memory"));
    };
    buffer.counters.next_id += new_nodes.len() as i64;
    let at = buffer.counters.next_timestamp();
    let session = buffer.caller_state.ensure_session(tx, &mut buffer.counters, subject)?;
    let chain_tail = buffer.caller_state.last_node.filter(|_| append_to_chain);
    let chain = if append_to_chain { temporal_edges(chain_tail, &ids) } else { Vec::new() };
    let edges = collect_edges(new_nodes, &ids, chain)?;
    let nodes: Vec<Node> =
        new_nodes.iter().zip(&ids).map(|(new, id)| new.to_node(*id, session, at)).collect();
    let vectors: Vec<(NodeId, &[f32])> =
        ids.iter().zip(new_nodes).filter_map(|(id, new)| Some((*id, new.vector.as_deref()?))).collect();
    let edge_count = buffer_rows(tx, &mut buffer, nodes, edges, &vectors, chain_tail, at)?;
    if append_to_chain {
        buffer.caller_state.last_node = Some(last);
    }
    buffer.caller_state.count_nodes(&mut buffer.counters, new_nodes.len());
    tx.invalidate(tags::session(session));
    buffer.park(tx)?;
    Ok(InsertResult { ids, session, edges: edge_count })
}

/// The temporal edges: from the caller's last node to the first new one, and from each to the next.
fn temporal_edges(chain_tail: Option<NodeId>, ids: &[NodeId]) -> Vec<Edge> {
    let chain: Vec<NodeId> = chain_tail.into_iter().chain(ids.iter().copied()).collect();
    let link = |pair: &[NodeId]| Edge {
        source: pair[0],
        target: pair[1],
        edge_type: EdgeType::TemporalNext,
        weight: 1.0,
    };
    chain.windows(2).map(link).collect()
}

/// All edges of the call without duplicates; of two that differ only in weight, the later one wins.
fn collect_edges(new_nodes: &[NewNode], ids: &[NodeId], chain: Vec<Edge>) -> Result<Vec<Edge>> {
    let mut edges: BTreeMap<(NodeId, NodeId, EdgeType), Edge> =
        chain.into_iter().map(|edge| (edge.key(), edge)).collect();
    for (node, source) in new_nodes.iter().zip(ids) {
        for edge in &node.edges {
            let target = match edge.target {
                Target::Node(id) => id,
                Target::BatchIndex(position) => *ids.get(position).ok_or_else(|| {
                    let fact = format!("is {position}, but nodes has {} entries", ids.len());
                    let hint = "Give the position in nodes of the other memory, counted from 0";
                    errors::invalid_argument("target_index", fact, hint)
                })?,
            };
            if target == *source {
                return Err(errors::self_edge());
            }
            let edge = Edge { source: *source, target, edge_type: edge.edge_type, weight: edge.weight };
            edges.insert(edge.key(), edge);
        }
    }
    Ok(edges.into_values().collect())
}

/// Buffers nodes and edges for the next flush, and counts them. Each edge has at least one new end, so none exists
/// yet; `chain_tail` is known to exist. Returns the number of edges, with those to earlier corrections.
fn buffer_rows(
    tx: &mut Tx<'_>,
    buffer: &mut InsertBuffer,
    mut nodes: Vec<Node>,
    mut edges: Vec<Edge>,
    vectors: &[(NodeId, &[f32])],
    chain_tail: Option<NodeId>,
    at: i64,
) -> Result<usize> {
    let rows = nodes.len() + edges.len() + vectors.len();
    if rows > limits::ROWS_PER_WRITE {
        return Err(errors::limit_exceeded(
            "TOO_MANY_ROWS",
            format!(
                "The call makes {rows} memories, links and vectors; the maximum is {}",
                limits::ROWS_PER_WRITE
            ),
        )
        .hint("Split it into several calls"));
    }
    let Some(first) = nodes.first().map(|node| node.id) else { return Ok(0) };
    let mut existing_ends: BTreeSet<NodeId> =
        edges.iter().flat_map(|edge| [edge.source, edge.target]).filter(|id| *id < first).collect();
    let last_new = nodes.last().map_or(first, |node| node.id);
    if let Some(out_of_range) = edges.iter().map(|edge| edge.target).find(|target| *target > last_new) {
        return Err(errors::node_not_found(out_of_range));
    }
    let to_check: Vec<NodeId> = existing_ends.iter().copied().filter(|id| Some(*id) != chain_tail).collect();
    if !to_check.is_empty() || edges.iter().any(|edge| edge.edge_type == EdgeType::Supersedes) {
        // Existing nodes are read and changed in the database, so it must have all buffered rows.
        buffer.flush_rows(tx)?;
    }
    if let Some(missing) = node::first_missing(tx, &to_check)? {
        return Err(errors::node_not_found(missing));
    }
    let mut superseded = superseded_nodes(&edges, first)?;
    for edge in supersede::replaced_by_new(tx, &edges, first, &superseded)? {
        let by = superseded.entry(edge.target).or_insert(edge.source);
        *by = (*by).max(edge.source);
        existing_ends.insert(edge.target);
        edges.push(edge);
    }
    for (target, by) in &superseded {
        match usize::try_from(target.0 - first.0).ok().and_then(|position| nodes.get_mut(position)) {
            Some(node) => node.superseded_by = Some(*by),
            None => supersede::set_superseded_by(tx, *target, Some(*by))?,
        }
    }
    vectors::check_dimension(tx, vectors)?;
    vectors::insert(tx, vectors)?;
    let counters = &mut buffer.counters;
    for node in &nodes {
        counters.count_nodes(node.event_type, 1);
    }
    for edge in &edges {
        counters.count_edges(edge.edge_type, 1);
    }
    tx.invalidate(tags::counters());
    tx.invalidate(tags::nodes());
    for event_type in EventType::ALL {
        if nodes.iter().any(|node| node.event_type == event_type) {
            tx.invalidate(tags::event_type(event_type));
        }
    }
    tags::invalidate_nodes(tx, &existing_ends);
    let edge_count = edges.len();
    buffer.inserts.push(Arc::new(BufferedInsert { nodes, edges, at }));
    Ok(edge_count)
}

/// The nodes that these edges supersede, each with its newest superseding node. Existing nodes do not supersede new
/// ones, so only edges between new nodes can form a cycle.
fn superseded_nodes(edges: &[Edge], first: NodeId) -> Result<BTreeMap<NodeId, NodeId>> {
    let mut superseded: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut among_new: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.edge_type == EdgeType::Supersedes) {
        let by = superseded.entry(edge.target).or_insert(edge.source);
        *by = (*by).max(edge.source);
        if edge.target >= first {
            among_new.entry(edge.source).or_default().push(edge.target);
        }
    }
    let mut done: BTreeSet<NodeId> = BTreeSet::new();
    for start in among_new.keys() {
        // Depth-first search; a node that is already on the path closes a cycle.
        let mut path = vec![(*start, 0)];
        let mut on_path = BTreeSet::from([*start]);
        while let Some((node, next)) = path.last_mut() {
            let targets = among_new.get(node).map_or(&[] as &[_], Vec::as_slice);
            let target = targets.get(*next).copied();
            *next += 1;
            match target {
                Some(target) if on_path.contains(&target) => {
                    return Err(errors::supersede_cycle(*node, target));
                }
                Some(target) if !done.contains(&target) => {
                    on_path.insert(target);
                    path.push((target, 0));
                }
                Some(_) => {}
                None => {
                    on_path.remove(node);
                    done.insert(*node);
                    path.pop();
                }
            }
        }
    }
    Ok(superseded)
}
