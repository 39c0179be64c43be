//! A memory graph as simple as it can be written, and the tests that hold the real one against it: whatever is added,
//! corrected, linked, forgotten and read, in whatever order, every list, count, order and walk must come out the same.

mod checks;
mod crowd;
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

/// An edge of the model: its weight, and when it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelEdge {
    pub weight: f64,
    pub came: usize,
}

/// Where a caller of the model is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModelPlace {
    pub session: Option<u32>,
    pub last: Option<i64>,
}

/// A session of the model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModelSession {
    pub ended: bool,
    pub episode: Option<i64>,
}

type Key = (i64, i64, EdgeType);

/// A node that a walk reached, how deep, and along which edge.
type Reached = (i64, usize, Option<Key>);

/// The graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub nodes: BTreeMap<i64, ModelNode>,
    pub edges: BTreeMap<Key, ModelEdge>,
    pub sessions: BTreeMap<u32, ModelSession>,
    pub places: BTreeMap<usize, ModelPlace>,
    pub next_id: i64,
    pub next_session: u32,
    clock: usize,
}

impl Model {
    pub(super) fn new() -> Model {
        Model { next_session: 1, ..Model::default() }
    }

    fn session_of(&mut self, subject: usize) -> u32 {
        let place = self.places.entry(subject).or_default();
        if let Some(session) = place.session {
            return session;
        }
        let session = self.next_session;
        self.next_session += 1;
        place.session = Some(session);
        place.last = None;
        self.sessions.insert(session, ModelSession::default());
        session
    }

    /// Adds a node to a caller's session, and to its chain unless told otherwise.
    pub(super) fn add(
        &mut self,
        subject: usize,
        event_type: EventType,
        content: &str,
        confidence: f64,
        chained: bool,
    ) -> i64 {
        let session = self.session_of(subject);
        let id = self.next_id;
        self.next_id += 1;
        let node = ModelNode { event_type, content: content.to_owned(), confidence, session, accesses: 0 };
        self.nodes.insert(id, node);
        if chained {
            let place = self.places.entry(subject).or_default();
            let last = place.last.replace(id);
            if let Some(last) = last {
                self.link(last, id, EdgeType::TemporalNext, 1.0);
            }
        }
        id
    }

    pub(super) fn link(&mut self, source: i64, target: i64, edge_type: EdgeType, weight: f64) {
        self.clock += 1;
        let came = self.clock;
        self.edges.entry((source, target, edge_type)).or_insert(ModelEdge { weight, came }).weight =
            weight.clamp(0.0, 1.0);
    }

    pub(super) fn forget(&mut self, id: i64) {
        let Some(node) = self.nodes.remove(&id) else { return };
        self.edges.retain(|(source, target, _), _| *source != id && *target != id);
        for place in self.places.values_mut() {
            if place.last == Some(id) {
                place.last = None;
            }
        }
        if let Some(session) = self.sessions.get_mut(&node.session)
            && session.episode == Some(id)
        {
            session.episode = None;
        }
    }

    /// The newest supersession of a node.
    pub(super) fn superseded_by(&self, id: i64) -> Option<i64> {
        let mut by: Vec<(usize, i64)> = self
            .edges
            .iter()
            .filter(|((_, target, edge_type), _)| *target == id && *edge_type == EdgeType::Supersedes)
            .map(|((source, ..), edge)| (edge.came, *source))
            .collect();
        by.sort_unstable();
        by.pop().map(|(_, source)| source)
    }

    pub(super) fn resolve(&self, id: i64) -> i64 {
        self.superseded_by(id).map_or(id, |by| self.resolve(by))
    }

    /// Whether `source` supersedes `target`, however indirectly.
    pub(super) fn supersedes(&self, source: i64, target: i64) -> bool {
        source == target
            || self
                .edges
                .keys()
                .filter(|(from, _, edge_type)| *from == source && *edge_type == EdgeType::Supersedes)
                .any(|(_, to, _)| self.supersedes(*to, target))
    }

    /// The edges of a node that a walk follows, in its order: outgoing by target, then incoming by source.
    pub(super) fn steps(&self, id: i64, ways: &dyn Fn(bool, EdgeType) -> bool) -> Vec<(i64, Key)> {
        let mut outgoing: Vec<Key> =
            self.edges.keys().copied().filter(|(s, _, t)| *s == id && ways(true, *t)).collect();
        outgoing.sort_by_key(|(_, target, kind)| (*target, *kind));
        let mut incoming: Vec<Key> =
            self.edges.keys().copied().filter(|(_, o, t)| *o == id && ways(false, *t)).collect();
        incoming.sort_by_key(|(source, _, kind)| (*source, *kind));
        let outgoing = outgoing.into_iter().map(|key| (key.1, key));
        outgoing.chain(incoming.into_iter().map(|key| (key.0, key))).collect()
    }

    /// Breadth first, one node at a time.
    pub(super) fn walk(
        &self,
        start: i64,
        ways: &dyn Fn(bool, EdgeType) -> bool,
        max_depth: usize,
        min_confidence: f64,
    ) -> Vec<Reached> {
        let mut found = vec![(start, 0, None)];
        let mut seen = BTreeSet::from([start]);
        let mut next = 0;
        while next < found.len() {
            let (id, depth, _) = found[next];
            next += 1;
            if depth == max_depth {
                continue;
            }
            for (other, key) in self.steps(id, ways) {
                if seen.insert(other) && self.nodes[&other].confidence >= min_confidence {
                    found.push((other, depth + 1, Some(key)));
                }
            }
        }
        found
    }

    pub(super) fn count(&self, event_type: EventType) -> usize {
        self.nodes.values().filter(|node| node.event_type == event_type).count()
    }
}
