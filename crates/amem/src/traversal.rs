//! Traversals: breadth first from one node, level by level, along some edge types, within limits.
//!
//! The order is fixed: by level, within a level by the node that was expanded first, its outgoing edges before its
//! incoming ones, each by the id of the far end. So a page can continue where the previous one ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;
use quad_core::{JsonObjectWriter, ReadSet, Result, cursor};

use crate::edge::{Direction, Edge, EdgeType, EdgeTypeSet};
use crate::event_type::EventType;
use crate::graph_cache::GraphReader;
use crate::node::{NodeId, StaticField, StaticNode};
use crate::page_budget::PageBudget;
use crate::{errors, limits, tags};

/// The edges that a traversal follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeFilter {
    /// Types followed from source to target.
    pub outgoing: EdgeTypeSet,
    /// Types followed from target to source.
    pub incoming: EdgeTypeSet,
}

impl EdgeFilter {
    /// All types in both directions.
    pub(crate) const ALL: EdgeFilter = EdgeFilter { outgoing: EdgeTypeSet::ALL, incoming: EdgeTypeSet::ALL };

    /// From a node to its dependents: the nodes that it caused and those that it is evidence for.
    pub(crate) fn dependents() -> EdgeFilter {
        EdgeFilter {
            outgoing: EdgeTypeSet::single(EdgeType::Supports),
            incoming: EdgeTypeSet::single(EdgeType::CausedBy),
        }
    }

    /// The same edges without those of one type.
    fn without(self, edge_type: EdgeType) -> EdgeFilter {
        EdgeFilter { outgoing: self.outgoing.without(edge_type), incoming: self.incoming.without(edge_type) }
    }

    /// The same edges in the opposite direction.
    pub(crate) fn reversed(self) -> EdgeFilter {
        EdgeFilter { outgoing: self.incoming, incoming: self.outgoing }
    }
}

/// A visited node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VisitedNode {
    /// Without access statistics.
    pub node: Arc<StaticNode>,
    pub depth: usize,
    /// The edge to it; `None` for the start.
    pub via: Option<Edge>,
}

/// The parameters of a traversal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraversalOptions {
    pub start: NodeId,
    pub edge_filter: EdgeFilter,
    pub max_depth: usize,
    pub min_confidence: f64,
    /// The maximum number of visited nodes, including the start and those of earlier pages.
    pub max_nodes: usize,
}

impl TraversalOptions {
    /// The list that a cursor of this traversal belongs to. The text must not change between versions, or their cursors
    /// are rejected; its words are those of version 0.1.
    pub(crate) fn cursor_scope(&self) -> String {
        let (outgoing, incoming) = (self.edge_filter.outgoing.bits(), self.edge_filter.incoming.bits());
        format!(
            "amem traverse Plan {{ start: NodeId({}), ways: Ways {{ outgoing: EdgeTypes({outgoing}), incoming: \
             EdgeTypes({incoming}) }}, max_depth: {}, min_confidence: {:?}, wanted: {} }}",
            self.start.0, self.max_depth, self.min_confidence, self.max_nodes
        )
    }
}

/// The result of a traversal.
#[derive(Clone, Debug)]
pub(crate) struct Traversal {
    pub visited: Vec<VisitedNode>,
    /// Whether at least one more node exists.
    pub has_more: bool,
}

/// A node's edges in traversal order, each with its far end.
type NextEdges = Vec<(NodeId, Edge)>;

/// The edges to follow from each of these nodes.
pub(crate) fn expand(
    graph: &mut GraphReader<'_>,
    ids: &[NodeId],
    edge_filter: EdgeFilter,
) -> Result<Vec<(NodeId, NextEdges)>> {
    let mut outgoing = graph.edges(ids, Direction::Outgoing, edge_filter.outgoing)?;
    let mut incoming = graph.edges(ids, Direction::Incoming, edge_filter.incoming)?;
    let edges_by_node = ids.iter().map(|id| {
        let forward = outgoing.remove(id).unwrap_or_default().into_iter();
        let backward = incoming.remove(id).unwrap_or_default().into_iter();
        let forward = forward.map(|edge| (Direction::Outgoing.far_end(&edge), edge));
        let backward = backward.map(|edge| (Direction::Incoming.far_end(&edge), edge));
        (*id, forward.chain(backward).collect())
    });
    Ok(edges_by_node.collect())
}

/// Traverses the graph. Follows edges first and loads all visited nodes at the end; only a minimum confidence
/// requires each node before the next level.
pub(crate) fn traverse(graph: &mut GraphReader<'_>, options: &TraversalOptions) -> Result<Traversal> {
    let mut seen: HashSet<NodeId> = HashSet::from([options.start]);
    let mut level = vec![options.start];
    let mut visited: Vec<(NodeId, usize, Option<Edge>)> = vec![(options.start, 0, None)];
    let mut has_more = false;
    'levels: for depth in 1..=options.max_depth {
        let mut next = Vec::new();
        for chunk in level.chunks(limits::EXPANSION_CHUNK_NODES) {
            if !options.edge_filter.outgoing.is_empty() {
                // All these nodes are in the result, and loading them also loads their outgoing edges.
                graph.load_nodes(chunk)?;
            }
            let mut found: Vec<(NodeId, Edge)> = Vec::new();
            for (_, edges) in expand(graph, chunk, options.edge_filter)? {
                found.extend(edges.into_iter().filter(|(id, _)| seen.insert(*id)));
            }
            for chunk in found.chunks(limits::EXPANSION_CHUNK_NODES) {
                let skipped = below_confidence(graph, chunk, options.min_confidence)?;
                for (id, via) in chunk.iter().filter(|(id, _)| !skipped.contains(id)) {
                    if visited.len() >= options.max_nodes {
                        has_more = true;
                        break 'levels;
                    }
                    next.push(*id);
                    visited.push((*id, depth, Some(*via)));
                }
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    let mut loaded = Vec::with_capacity(visited.len());
    for chunk in visited.chunks(limits::EXPANSION_CHUNK_NODES) {
        let ids: Vec<NodeId> = chunk.iter().map(|(id, ..)| *id).collect();
        graph.load_nodes(&ids)?;
        for (id, depth, via) in chunk {
            match graph.node(*id).cloned() {
                Some(node) => loaded.push(VisitedNode { node, depth: *depth, via: *via }),
                None if via.is_none() => return Err(errors::node_not_found(*id)),
                None => {}
            }
        }
    }
    Ok(Traversal { visited: loaded, has_more })
}

/// Those of these nodes that are missing or below the minimum confidence.
fn below_confidence(
    graph: &mut GraphReader<'_>,
    found: &[(NodeId, Edge)],
    min_confidence: f64,
) -> Result<BTreeSet<NodeId>> {
    if min_confidence <= 0.0 {
        return Ok(BTreeSet::new());
    }
    let ids: Vec<NodeId> = found.iter().map(|(id, _)| *id).collect();
    graph.load_nodes(&ids)?;
    let is_confident = |id: &NodeId| graph.node(*id).is_some_and(|node| node.confidence >= min_confidence);
    Ok(ids.into_iter().filter(|id| !is_confident(id)).collect())
}

/// A page of a traversal.
#[derive(Clone, Debug)]
pub(crate) struct TraversalPage {
    pub traversal: Traversal,
    pub offset: usize,
    pub end: usize,
    pub next_cursor: Option<String>,
    /// Whether the traversal reached the maximum number of nodes.
    pub exhausted: bool,
}

/// Traverses up to the end of a page.
pub(crate) fn traverse_page(
    graph: &mut GraphReader<'_>,
    mut options: TraversalOptions,
    scope: &str,
    offset: usize,
    limit: usize,
) -> Result<TraversalPage> {
    options.max_nodes = (offset + limit).min(limits::MAX_TRAVERSAL_NODES);
    let traversal = traverse(graph, &options)?;
    let mut budget = PageBudget::new(limit);
    let page_len = traversal
        .visited
        .iter()
        .skip(offset)
        .take_while(|visited| budget.try_take(&visited.node.content))
        .count();
    let end = (offset + page_len).min(traversal.visited.len());
    let is_cut = end < traversal.visited.len();
    let exhausted = traversal.has_more && !is_cut && end >= limits::MAX_TRAVERSAL_NODES;
    let next_cursor = ((traversal.has_more || is_cut) && !exhausted && page_len > 0)
        .then(|| cursor::encode(scope, &end.to_string()));
    Ok(TraversalPage { traversal, offset, end, next_cursor, exhausted })
}

impl TraversalPage {
    /// The nodes of the page.
    pub(crate) fn nodes(&self) -> &[VisitedNode] {
        self.traversal.visited.get(self.offset..self.end).unwrap_or_default()
    }

    /// Adds the tags of all visited nodes: the page depends on each node whose edges were followed.
    pub(crate) fn add_dependencies(&self, read_set: ReadSet) -> ReadSet {
        depend_on_nodes(read_set, self.traversal.visited.iter().map(|visited| visited.node.id))
    }

    /// Writes the cursor of the next page, or a message that the limit is reached.
    pub(crate) fn put_cursor(&self, document: &mut JsonObjectWriter) {
        if let Some(next) = &self.next_cursor {
            document.put("next_cursor", next);
        }
        if self.exhausted {
            let max = limits::MAX_TRAVERSAL_NODES;
            document.put("exhausted", true);
            document.put(
                "message",
                format!("A traversal visits at most {max} nodes; continue from one of the last ones"),
            );
        }
    }
}

fn depend_on_nodes(mut read_set: ReadSet, ids: impl ExactSizeIterator<Item = NodeId>) -> ReadSet {
    if ids.len() > limits::MAX_NODE_TAGS {
        // Too many nodes for single tags: depend on any change of the graph.
        return read_set.with_tag(tags::counters()).with_tag(tags::any_node()).with_tag(tags::nodes());
    }
    read_set.tags.extend(ids.map(tags::node));
    read_set.with_tag(tags::any_node())
}

/// The result of `memory_traverse`.
pub(crate) fn traversal_document(start: NodeId, page: &TraversalPage) -> JsonObjectWriter {
    const FIELDS: [StaticField; 4] =
        [StaticField::Id, StaticField::EventType, StaticField::Content, StaticField::Confidence];
    let mut document = JsonObjectWriter::default();
    document.put("start_id", start.0);
    document.put("visited_count", page.nodes().len());
    document.put_array("visited", page.nodes(), |object, visited| {
        visited.node.write_json(object, &FIELDS);
        object.put("depth", visited.depth);
        visited.node.write_json(object, &[StaticField::SupersededBy]);
    });
    let edges = page.nodes().iter().filter_map(|visited| visited.via.as_ref());
    document.put_array("edges_traversed", edges, |object, edge| edge.write_json(object));
    page.put_cursor(&mut document);
    document
}

/// The result of `memory_causal`: all visited nodes but the root.
pub(crate) fn causal_document(root: NodeId, page: &TraversalPage) -> JsonObjectWriter {
    const FIELDS: [StaticField; 4] =
        [StaticField::Id, StaticField::EventType, StaticField::Content, StaticField::Confidence];
    let dependents: Vec<&VisitedNode> = page.nodes().iter().filter(|visited| visited.depth > 0).collect();
    let of_type =
        |event_type| dependents.iter().filter(|visited| visited.node.event_type == event_type).count();
    let mut document = JsonObjectWriter::default();
    document.put("root_id", root.0);
    document.put("dependent_count", dependents.len());
    document.put("affected_decisions", of_type(EventType::Decision));
    document.put("affected_inferences", of_type(EventType::Inference));
    document.put_array("dependents", dependents, |object, visited| {
        visited.node.write_json(object, &FIELDS);
        object.put("depth", visited.depth);
    });
    page.put_cursor(&mut document);
    document
}

/// The result of a path search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PathResult {
    /// The nodes from one end to the other, and the edges between them.
    Found { nodes: Vec<NodeId>, edges: Vec<Edge> },
    /// There is no path within the maximum length.
    None,
    /// The search visited the maximum number of nodes.
    LimitReached,
}

/// One side of a bidirectional search.
struct Frontier {
    edge_filter: EdgeFilter,
    /// Each visited node with the node and the edge that it was reached from.
    parents: BTreeMap<NodeId, Option<(NodeId, Edge)>>,
    level: Vec<NodeId>,
}

impl Frontier {
    fn new(start: NodeId, edge_filter: EdgeFilter) -> Frontier {
        Frontier { edge_filter, parents: BTreeMap::from([(start, None)]), level: vec![start] }
    }

    /// Expands one level; returns the nodes that the other side has visited too.
    fn expand(&mut self, graph: &mut GraphReader<'_>, other: &Frontier) -> Result<BTreeSet<NodeId>> {
        let mut next = Vec::new();
        let mut meeting_nodes = BTreeSet::new();
        for chunk in self.level.chunks(limits::EXPANSION_CHUNK_NODES) {
            for (from, edges) in expand(graph, chunk, self.edge_filter)? {
                for (to, edge) in by_meaning(edges) {
                    if self.parents.contains_key(&to) {
                        continue;
                    }
                    self.parents.insert(to, Some((from, edge)));
                    next.push(to);
                    if other.parents.contains_key(&to) {
                        meeting_nodes.insert(to);
                    }
                }
            }
            if self.parents.len() + other.parents.len() > limits::MAX_TRAVERSAL_NODES {
                break;
            }
        }
        self.level = next;
        Ok(meeting_nodes)
    }

    /// The path from a node back to the start of this side.
    fn backtrack(&self, from: NodeId) -> (Vec<NodeId>, Vec<Edge>) {
        let (mut nodes, mut edges, mut at) = (Vec::new(), Vec::new(), from);
        while let Some(Some((before, edge))) = self.parents.get(&at) {
            edges.push(*edge);
            nodes.push(*before);
            at = *before;
        }
        (nodes, edges)
    }
}

/// A node's edges, those that say most first: of two edges to one node, a path has the first.
fn by_meaning(mut edges: NextEdges) -> NextEdges {
    edges.sort_by_key(|(_, edge)| match edge.edge_type {
        EdgeType::CausedBy | EdgeType::Supports | EdgeType::Contradicts | EdgeType::Supersedes => 0,
        EdgeType::RelatedTo | EdgeType::PartOf => 1,
        EdgeType::TemporalNext => 2,
    });
    edges
}

/// A shortest path without `temporal_next`, or if there is none a shortest path with it. The chain in time connects all
/// memories of a session, whether or not they have to do with each other.
pub(crate) fn meaningful_path(
    graph: &mut GraphReader<'_>,
    from: NodeId,
    to: NodeId,
    edge_filter: EdgeFilter,
    max_length: usize,
) -> Result<PathResult> {
    let timeless = edge_filter.without(EdgeType::TemporalNext);
    if timeless != edge_filter {
        let path = shortest_path(graph, from, to, timeless, max_length)?;
        if matches!(path, PathResult::Found { .. }) {
            return Ok(path);
        }
    }
    shortest_path(graph, from, to, edge_filter, max_length)
}

/// Searches from both ends at once; where the two sides first meet, the path is shortest.
fn shortest_path(
    graph: &mut GraphReader<'_>,
    from: NodeId,
    to: NodeId,
    edge_filter: EdgeFilter,
    max_length: usize,
) -> Result<PathResult> {
    graph.ensure_exists(from)?;
    graph.ensure_exists(to)?;
    if from == to {
        return Ok(PathResult::Found { nodes: vec![from], edges: Vec::new() });
    }
    let mut forward = Frontier::new(from, edge_filter);
    let mut backward = Frontier::new(to, edge_filter.reversed());
    for _ in 0..max_length {
        if forward.level.is_empty() || backward.level.is_empty() {
            return Ok(PathResult::None);
        }
        let meeting_nodes = if forward.level.len() <= backward.level.len() {
            forward.expand(graph, &backward)?
        } else {
            backward.expand(graph, &forward)?
        };
        if let Some(middle) = meeting_nodes.first() {
            let (mut nodes, mut edges) = forward.backtrack(*middle);
            nodes.reverse();
            edges.reverse();
            nodes.push(*middle);
            let (rest_nodes, rest_edges) = backward.backtrack(*middle);
            nodes.extend(rest_nodes);
            edges.extend(rest_edges);
            return Ok(PathResult::Found { nodes, edges });
        }
        if forward.parents.len() + backward.parents.len() > limits::MAX_TRAVERSAL_NODES {
            return Ok(PathResult::LimitReached);
        }
    }
    Ok(PathResult::None)
}
