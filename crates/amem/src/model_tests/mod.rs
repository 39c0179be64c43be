//! Model tests: a memory graph written as simply as possible, compared with the real one. After any sequence of
//! adds, corrections, links, deletions and reads, every list, count, order and traversal must be equal.

mod comparison;
mod concurrency;
mod importance;
mod operation;

use std::collections::{BTreeMap, BTreeSet};

use crate::edge::EdgeType;
use crate::event_type::EventType;

/// A node of the model.
#[derive(Clone, Debug)]
pub(super) struct ModelNode {
    pub event_type: EventType,
    pub content: String,
    pub confidence: f64,
    pub session: u32,
    pub accesses: i64,
}

/// An edge of the model: its weight and its position in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelEdge {
    pub weight: f64,
    pub created_order: usize,
}

/// The session and chain of a caller of the model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModelCallerState {
    pub session: Option<u32>,
    pub last_node: Option<i64>,
}

/// A session of the model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModelSession {
    pub ended: bool,
    pub episode: Option<i64>,
}

type EdgeKey = (i64, i64, EdgeType);

/// A visited node, its depth, and the edge to it.
type Visited = (i64, usize, Option<EdgeKey>);

/// The graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub nodes: BTreeMap<i64, ModelNode>,
    pub edges: BTreeMap<EdgeKey, ModelEdge>,
    pub sessions: BTreeMap<u32, ModelSession>,
    pub caller_states: BTreeMap<usize, ModelCallerState>,
    pub next_id: i64,
    pub next_session: u32,
    edge_clock: usize,
}

impl Model {
    pub(super) fn new() -> Model {
        Model { next_session: 1, ..Model::default() }
    }

    fn ensure_session(&mut self, subject: usize) -> u32 {
        let state = self.caller_states.entry(subject).or_default();
        if let Some(session) = state.session {
            return session;
        }
        let session = self.next_session;
        self.next_session += 1;
        state.session = Some(session);
        state.last_node = None;
        self.sessions.insert(session, ModelSession::default());
        session
    }

    /// Adds a node to a caller's session, and to its chain if asked.
    pub(super) fn add(
        &mut self,
        subject: usize,
        event_type: EventType,
        content: &str,
        confidence: f64,
        append_to_chain: bool,
    ) -> i64 {
        let session = self.ensure_session(subject);
        let id = self.next_id;
        self.next_id += 1;
        let node = ModelNode { event_type, content: content.to_owned(), confidence, session, accesses: 0 };
        self.nodes.insert(id, node);
        if append_to_chain {
            let state = self.caller_states.entry(subject).or_default();
            let last = state.last_node.replace(id);
            if let Some(last) = last {
                self.link(last, id, EdgeType::TemporalNext, 1.0);
            }
        }
        id
    }

    pub(super) fn link(&mut self, source: i64, target: i64, edge_type: EdgeType, weight: f64) {
        self.edge_clock += 1;
        let created_order = self.edge_clock;
        self.edges.entry((source, target, edge_type)).or_insert(ModelEdge { weight, created_order }).weight =
            weight.clamp(0.0, 1.0);
    }

    pub(super) fn delete(&mut self, id: i64) {
        let Some(node) = self.nodes.remove(&id) else { return };
        self.edges.retain(|(source, target, _), _| *source != id && *target != id);
        for state in self.caller_states.values_mut() {
            if state.last_node == Some(id) {
                state.last_node = None;
            }
        }
        if let Some(session) = self.sessions.get_mut(&node.session)
            && session.episode == Some(id)
        {
            session.episode = None;
        }
    }

    /// The newest superseding node of a node.
    pub(super) fn superseded_by(&self, id: i64) -> Option<i64> {
        let mut by: Vec<(usize, i64)> = self
            .edges
            .iter()
            .filter(|((_, target, edge_type), _)| *target == id && *edge_type == EdgeType::Supersedes)
            .map(|((source, ..), edge)| (edge.created_order, *source))
            .collect();
        by.sort_unstable();
        by.pop().map(|(_, source)| source)
    }

    pub(super) fn resolve(&self, id: i64) -> i64 {
        self.superseded_by(id).map_or(id, |by| self.resolve(by))
    }

    /// Whether `source` supersedes `target`, directly or indirectly.
    pub(super) fn supersedes(&self, source: i64, target: i64) -> bool {
        source == target
            || self
                .edges
                .keys()
                .filter(|(from, _, edge_type)| *from == source && *edge_type == EdgeType::Supersedes)
                .any(|(_, to, _)| self.supersedes(*to, target))
    }

    /// The edges of a node in traversal order: outgoing by target, then incoming by source.
    pub(super) fn expand(&self, id: i64, follows: &dyn Fn(bool, EdgeType) -> bool) -> Vec<(i64, EdgeKey)> {
        let mut outgoing: Vec<EdgeKey> =
            self.edges.keys().copied().filter(|(s, _, t)| *s == id && follows(true, *t)).collect();
        outgoing.sort_by_key(|(_, target, edge_type)| (*target, *edge_type));
        let mut incoming: Vec<EdgeKey> =
            self.edges.keys().copied().filter(|(_, o, t)| *o == id && follows(false, *t)).collect();
        incoming.sort_by_key(|(source, _, edge_type)| (*source, *edge_type));
        let outgoing = outgoing.into_iter().map(|key| (key.1, key));
        outgoing.chain(incoming.into_iter().map(|key| (key.0, key))).collect()
    }

    /// Breadth first, one node at a time.
    pub(super) fn traverse(
        &self,
        start: i64,
        follows: &dyn Fn(bool, EdgeType) -> bool,
        max_depth: usize,
        min_confidence: f64,
    ) -> Vec<Visited> {
        let mut visited = vec![(start, 0, None)];
        let mut seen = BTreeSet::from([start]);
        let mut next = 0;
        while next < visited.len() {
            let (id, depth, _) = visited[next];
            next += 1;
            if depth == max_depth {
                continue;
            }
            for (neighbor, key) in self.expand(id, follows) {
                if seen.insert(neighbor) && self.nodes[&neighbor].confidence >= min_confidence {
                    visited.push((neighbor, depth + 1, Some(key)));
                }
            }
        }
        visited
    }

    pub(super) fn node_count_of_type(&self, event_type: EventType) -> usize {
        self.nodes.values().filter(|node| node.event_type == event_type).count()
    }
}
