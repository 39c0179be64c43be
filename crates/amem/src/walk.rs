//! Walks: breadth first from one node, level by level, along some types of edges, within a bound.
//!
//! A walk has one order: level by level, within a level by the node that was expanded first, its outgoing edges before its
//! incoming ones, each by the other end's id. So a page can go on where the one before it ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;
use quad_core::{ReadSet, JsonObjectWriter, Result, cursor};

use crate::edge::{Edge, EdgeType, EdgeTypes, Side};
use crate::event_type::EventType;
use crate::held::Graph;
use crate::list::Room;
use crate::node::{Field, Node, NodeId};
use crate::{limits, refusal, tags};

/// Levels of a neighbourhood unless the caller says otherwise.
pub(crate) const DEPTH_DEFAULT: usize = 2;

/// Which edges a walk follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ways {
    /// From source to target.
    pub outgoing: EdgeTypes,
    /// From target to source.
    pub incoming: EdgeTypes,
}

impl Ways {
    /// Everything in both directions.
    pub(crate) const ALL: Ways = Ways { outgoing: EdgeTypes::ALL, incoming: EdgeTypes::ALL };

    /// From a node to what depends on it: what was caused by it, and what it is evidence for.
    pub(crate) fn dependents() -> Ways {
        Ways { outgoing: EdgeTypes::only(EdgeType::Supports), incoming: EdgeTypes::only(EdgeType::CausedBy) }
    }

    /// The same ways, walked from the other end.
    pub(crate) fn reversed(self) -> Ways {
        Ways { outgoing: self.incoming, incoming: self.outgoing }
    }
}

/// A node that was reached.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reached {
    /// Without its accesses.
    pub node: Arc<Node>,
    pub depth: usize,
    /// The edge along which it was found; none for the start.
    pub by: Option<Edge>,
}

/// What a walk is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub start: NodeId,
    pub ways: Ways,
    pub max_depth: usize,
    pub min_confidence: f64,
    /// How many nodes are wanted, those of earlier pages and the start included.
    pub wanted: usize,
}

/// What a walk found.
#[derive(Clone, Debug)]
pub(crate) struct Walked {
    pub reached: Vec<Reached>,
    /// Whether there is at least one more.
    pub more: bool,
}

/// A node's edges in the order in which a walk follows them, each with the end that it leads to.
type Steps = Vec<(NodeId, Edge)>;

/// The steps from each of these nodes.
pub(crate) fn steps(graph: &mut Graph<'_>, ids: &[NodeId], ways: Ways) -> Result<Vec<(NodeId, Steps)>> {
    let mut outgoing = graph.edges(ids, Side::Outgoing, ways.outgoing)?;
    let mut incoming = graph.edges(ids, Side::Incoming, ways.incoming)?;
    let steps = ids.iter().map(|id| {
        let forward = outgoing.remove(id).unwrap_or_default().into_iter();
        let backward = incoming.remove(id).unwrap_or_default().into_iter();
        let forward = forward.map(|edge| (Side::Outgoing.other(&edge), edge));
        let backward = backward.map(|edge| (Side::Incoming.other(&edge), edge));
        (*id, forward.chain(backward).collect())
    });
    Ok(steps.collect())
}

/// Walks. The way is found along the edges, and then all nodes are fetched at once; only a walk that passes by what is not sure
/// enough must look at each node first.
pub(crate) fn walk(graph: &mut Graph<'_>, plan: &Plan) -> Result<Walked> {
    let mut seen: HashSet<NodeId> = HashSet::from([plan.start]);
    let mut level = vec![plan.start];
    let mut way: Vec<(NodeId, usize, Option<Edge>)> = vec![(plan.start, 0, None)];
    let mut more = false;
    'walk: for depth in 1..=plan.max_depth {
        let mut next = Vec::new();
        for expanded in level.chunks(limits::FANOUT_NODES) {
            if !plan.ways.outgoing.is_empty() {
                // They are all told of in the end, and what leaves them comes with them.
                graph.meet(expanded)?;
            }
            let mut found: Vec<(NodeId, Edge)> = Vec::new();
            for (_, steps) in steps(graph, expanded, plan.ways)? {
                found.extend(steps.into_iter().filter(|(id, _)| seen.insert(*id)));
            }
            for piece in found.chunks(limits::FANOUT_NODES) {
                let passed_by = passed_by(graph, piece, plan.min_confidence)?;
                for (id, by) in piece.iter().filter(|(id, _)| !passed_by.contains(id)) {
                    if way.len() >= plan.wanted {
                        more = true;
                        break 'walk;
                    }
                    next.push(*id);
                    way.push((*id, depth, Some(*by)));
                }
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    let mut reached = Vec::with_capacity(way.len());
    for piece in way.chunks(limits::FANOUT_NODES) {
        let ids: Vec<NodeId> = piece.iter().map(|(id, ..)| *id).collect();
        graph.meet(&ids)?;
        for (id, depth, by) in piece {
            match graph.node(*id).cloned() {
                Some(node) => reached.push(Reached { node, depth: *depth, by: *by }),
                None if by.is_none() => return Err(refusal::no_node(*id)),
                None => {}
            }
        }
    }
    Ok(Walked { reached, more })
}

/// Those of these nodes that are not sure enough to be reached.
fn passed_by(
    graph: &mut Graph<'_>,
    found: &[(NodeId, Edge)],
    min_confidence: f64,
) -> Result<BTreeSet<NodeId>> {
    if min_confidence <= 0.0 {
        return Ok(BTreeSet::new());
    }
    let ids: Vec<NodeId> = found.iter().map(|(id, _)| *id).collect();
    graph.meet(&ids)?;
    let is_sure = |id: &NodeId| graph.node(*id).is_some_and(|node| node.confidence >= min_confidence);
    Ok(ids.into_iter().filter(|id| !is_sure(id)).collect())
}

/// A page of a walk: which of its nodes are shown.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub walked: Walked,
    pub offset: usize,
    pub end: usize,
    pub next_cursor: Option<String>,
    /// Whether the walk has come to the end of what it may visit.
    pub exhausted: bool,
}

/// Walks up to the end of a page.
pub(crate) fn window(
    graph: &mut Graph<'_>,
    mut plan: Plan,
    list: &str,
    offset: usize,
    limit: usize,
) -> Result<Window> {
    plan.wanted = (offset + limit).min(limits::WALK_VISITED);
    let walked = walk(graph, &plan)?;
    let mut room = Room::new(limit);
    let shown = walked.reached.iter().skip(offset).take_while(|one| room.take(&one.node)).count();
    let end = (offset + shown).min(walked.reached.len());
    let cut = end < walked.reached.len();
    let exhausted = walked.more && !cut && end >= limits::WALK_VISITED;
    let next_cursor =
        ((walked.more || cut) && !exhausted && shown > 0).then(|| cursor::encode(list, &end.to_string()));
    Ok(Window { walked, offset, end, next_cursor, exhausted })
}

impl Window {
    /// The nodes of the page.
    pub(crate) fn shown(&self) -> &[Reached] {
        self.walked.reached.get(self.offset..self.end).unwrap_or_default()
    }

    /// What the page rests on: every node whose edges were followed.
    pub(crate) fn rests_on(&self, basis: ReadSet) -> ReadSet {
        rests_on(basis, self.walked.reached.iter().map(|one| one.node.id))
    }

    /// Says how to go on, where there is more.
    pub(crate) fn close(&self, document: &mut JsonObjectWriter) {
        if let Some(next) = &self.next_cursor {
            document.put("next_cursor", next);
        }
        if self.exhausted {
            let most = limits::WALK_VISITED;
            document.put("exhausted", true);
            document.put(
                "message",
                format!("A walk visits at most {most} nodes; go on from one of the last ones"),
            );
        }
    }
}

fn rests_on(mut basis: ReadSet, ids: impl ExactSizeIterator<Item = NodeId>) -> ReadSet {
    if ids.len() > limits::TAGGED_NODES {
        // Any change of the graph might be one of so many.
        return basis.with_tag(tags::stats()).with_tag(tags::bulk()).with_tag(tags::nodes());
    }
    basis.tags.extend(ids.map(tags::node));
    basis.with_tag(tags::bulk())
}

/// The offset inside a cursor.
pub(crate) fn offset(list: &str, cursor: Option<&str>) -> Result<usize> {
    let Some(cursor) = cursor else { return Ok(0) };
    let key = cursor::decode(list, cursor)?;
    key.parse().map_err(|_| refusal::invalid("cursor", "is not of this walk"))
}

/// A node, what lies around it, and the edges between these.
#[derive(Clone, Debug)]
pub(crate) struct Neighbourhood {
    center: NodeId,
    depth: usize,
    window: Window,
    edges: Vec<Edge>,
}

impl Neighbourhood {
    /// The name under which its cursors are sealed.
    pub(crate) fn list(center: NodeId, depth: usize) -> String {
        format!("amem context {center} {depth}")
    }

    /// A page from `offset` on. An edge stands on the page of its later end.
    pub(crate) fn around(
        graph: &mut Graph<'_>,
        center: NodeId,
        depth: usize,
        offset: usize,
    ) -> Result<Neighbourhood> {
        let plan = Plan { start: center, ways: Ways::ALL, max_depth: depth, min_confidence: 0.0, wanted: 0 };
        let window = window(graph, plan, &Neighbourhood::list(center, depth), offset, limits::CONTEXT_NODES)?;
        let places: BTreeMap<NodeId, usize> =
            window.walked.reached.iter().enumerate().map(|(place, one)| (one.node.id, place)).collect();
        let shown: Vec<NodeId> = window.shown().iter().map(|one| one.node.id).collect();
        let mut edges: BTreeMap<(NodeId, NodeId, EdgeType), Edge> = BTreeMap::new();
        let mut of_shown = |side| -> Result<BTreeMap<NodeId, Vec<Edge>>> {
            let mut listed = BTreeMap::new();
            for piece in shown.chunks(limits::FANOUT_NODES) {
                listed.extend(graph.edges(piece, side, EdgeTypes::ALL)?);
            }
            Ok(listed)
        };
        let outgoing = of_shown(Side::Outgoing)?;
        // On a first page every edge has its source there, and is among those that the source lists, unless that has more than
        // it lists.
        let is_whole = offset == 0 && outgoing.values().all(|edges| edges.len() < limits::FANOUT);
        let incoming = if is_whole { BTreeMap::new() } else { of_shown(Side::Incoming)? };
        for (side, listed) in [(Side::Outgoing, outgoing), (Side::Incoming, incoming)] {
            for (id, listed) in listed {
                let own = places.get(&id).map_or(0, |place| place + 1);
                let reach = if is_whole { window.end } else { own };
                let ends_here =
                    |edge: &Edge| places.get(&side.other(edge)).is_some_and(|place| *place < reach);
                edges.extend(listed.into_iter().filter(ends_here).map(|edge| (edge.key(), edge)));
            }
        }
        Ok(Neighbourhood { center, depth, window, edges: edges.into_values().collect() })
    }

    /// The document.
    pub(crate) fn document(&self, now: i64) -> JsonObjectWriter {
        const FIELDS: [Field; 6] = [
            Field::Id,
            Field::EventType,
            Field::Content,
            Field::Confidence,
            Field::Session,
            Field::SupersededBy,
        ];
        let nodes = self.window.shown();
        let mut document = JsonObjectWriter::default();
        document.put("center_id", self.center.0);
        document.put("depth", self.depth);
        document.put("node_count", nodes.len());
        document.put("edge_count", self.edges.len());
        document.put_array("nodes", nodes, |shown, one| one.node.write(shown, &FIELDS, now));
        document.put_array("edges", &self.edges, |shown, edge| edge.write(shown));
        self.window.close(&mut document);
        document
    }

    /// What it rests on.
    pub(crate) fn rests_on(&self, basis: ReadSet) -> ReadSet {
        self.window.rests_on(basis)
    }
}

/// The result of `memory_traverse`.
pub(crate) fn traversal(start: NodeId, window: &Window, now: i64) -> JsonObjectWriter {
    const FIELDS: [Field; 4] = [Field::Id, Field::EventType, Field::Content, Field::Confidence];
    let mut document = JsonObjectWriter::default();
    document.put("start_id", start.0);
    document.put("visited_count", window.shown().len());
    document.put_array("visited", window.shown(), |shown, one| {
        one.node.write(shown, &FIELDS, now);
        shown.put("depth", one.depth);
        one.node.write(shown, &[Field::SupersededBy], now);
    });
    let edges = window.shown().iter().filter_map(|one| one.by.as_ref());
    document.put_array("edges_traversed", edges, |shown, edge| edge.write(shown));
    window.close(&mut document);
    document
}

/// The result of `memory_causal`: everything that was reached but the root.
pub(crate) fn causal(root: NodeId, window: &Window, now: i64) -> JsonObjectWriter {
    const FIELDS: [Field; 4] = [Field::Id, Field::EventType, Field::Content, Field::Confidence];
    let dependents: Vec<&Reached> = window.shown().iter().filter(|one| one.depth > 0).collect();
    let of_type = |event_type| dependents.iter().filter(|one| one.node.event_type == event_type).count();
    let mut document = JsonObjectWriter::default();
    document.put("root_id", root.0);
    document.put("dependent_count", dependents.len());
    document.put("affected_decisions", of_type(EventType::Decision));
    document.put("affected_inferences", of_type(EventType::Inference));
    document.put_array("dependents", dependents, |shown, one| {
        one.node.write(shown, &FIELDS, now);
        shown.put("depth", one.depth);
    });
    window.close(&mut document);
    document
}

/// The shortest path between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Path {
    /// The nodes from one end to the other, and the edges between them.
    Found { nodes: Vec<NodeId>, edges: Vec<Edge> },
    /// There is none of that length.
    None,
    /// The search came to the end of what it may visit.
    GaveUp,
}

/// One end of a search, growing towards the other.
struct Front {
    ways: Ways,
    /// Each node with the edge and the node that it was reached from.
    seen: BTreeMap<NodeId, Option<(NodeId, Edge)>>,
    level: Vec<NodeId>,
}

impl Front {
    fn new(start: NodeId, ways: Ways) -> Front {
        Front { ways, seen: BTreeMap::from([(start, None)]), level: vec![start] }
    }

    /// Grows by one level and returns the nodes where it met the other.
    fn grow(&mut self, graph: &mut Graph<'_>, other: &Front) -> Result<BTreeSet<NodeId>> {
        let mut next = Vec::new();
        let mut met = BTreeSet::new();
        for expanded in self.level.chunks(limits::FANOUT_NODES) {
            for (from, steps) in steps(graph, expanded, self.ways)? {
                for (to, edge) in steps {
                    if self.seen.contains_key(&to) {
                        continue;
                    }
                    self.seen.insert(to, Some((from, edge)));
                    next.push(to);
                    if other.seen.contains_key(&to) {
                        met.insert(to);
                    }
                }
            }
            if self.seen.len() + other.seen.len() > limits::WALK_VISITED {
                break;
            }
        }
        self.level = next;
        Ok(met)
    }

    /// The way from a node back to where this front began.
    fn back(&self, from: NodeId) -> (Vec<NodeId>, Vec<Edge>) {
        let (mut nodes, mut edges, mut at) = (Vec::new(), Vec::new(), from);
        while let Some(Some((before, edge))) = self.seen.get(&at) {
            edges.push(*edge);
            nodes.push(*before);
            at = *before;
        }
        (nodes, edges)
    }
}

/// Looks for a shortest path, from both ends at once: where the two fronts first meet, no path is shorter.
pub(crate) fn path(
    graph: &mut Graph<'_>,
    from: NodeId,
    to: NodeId,
    ways: Ways,
    max_length: usize,
) -> Result<Path> {
    graph.expect(from)?;
    graph.expect(to)?;
    if from == to {
        return Ok(Path::Found { nodes: vec![from], edges: Vec::new() });
    }
    let mut near = Front::new(from, ways);
    let mut far = Front::new(to, ways.reversed());
    for _ in 0..max_length {
        if near.level.is_empty() || far.level.is_empty() {
            return Ok(Path::None);
        }
        let met = if near.level.len() <= far.level.len() {
            near.grow(graph, &far)?
        } else {
            far.grow(graph, &near)?
        };
        if let Some(middle) = met.first() {
            let (mut nodes, mut edges) = near.back(*middle);
            nodes.reverse();
            edges.reverse();
            nodes.push(*middle);
            let (rest, onwards) = far.back(*middle);
            nodes.extend(rest);
            edges.extend(onwards);
            return Ok(Path::Found { nodes, edges });
        }
        if near.seen.len() + far.seen.len() > limits::WALK_VISITED {
            return Ok(Path::GaveUp);
        }
    }
    Ok(Path::None)
}
