//! The nodes, edges and sessions of a file that one transaction imports.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::Result;
use quad_store::{Sql, Tx, Value as Cell, batch, params};

use super::ACTOR;
use super::node_id_map::NodeIdMap;
use crate::adjacency::EdgesBySource;
use crate::counters::{self, Counters};
use crate::edge::{self, Edge, EdgeType};
use crate::event_type::EventType;
use crate::files::{EdgeItem, FileFormat, Item, MemoryFile, NodeItem, SessionItem};
use crate::node::{self, Node, NodeId};
use crate::session::{self, SessionId};
use crate::{decay, limits, supersede, tags, vectors};

/// Identifies a node of a file.
type NodeDigest = [u8; 16];

/// The local ids of the file's nodes and sessions.
#[derive(Clone, Debug)]
pub(super) struct IdMap {
    format: FileFormat,
    nodes: NodeIdMap,
    sessions: BTreeMap<u32, SessionId>,
}

/// The ids that a batch adds to an [`IdMap`].
#[derive(Clone, Debug, Default)]
pub(super) struct IdMapDelta {
    nodes: Vec<(u64, NodeId)>,
    sessions: BTreeMap<u32, SessionId>,
}

impl IdMap {
    pub fn new(format: FileFormat) -> IdMap {
        IdMap { format, nodes: NodeIdMap::default(), sessions: BTreeMap::new() }
    }

    pub fn apply(&mut self, delta: IdMapDelta) {
        delta.nodes.into_iter().for_each(|(file_id, node)| self.nodes.insert(file_id, node));
        self.sessions.extend(delta.sessions);
    }
}

/// What a batch has to write.
#[derive(Default)]
pub(super) struct BatchPlan {
    pub id_map_delta: IdMapDelta,
    /// Nodes and edges that exist already.
    pub existing: u64,
    pub edges_left_out: u64,
    /// Nodes to insert, with their digests.
    new_nodes: Vec<(usize, NodeDigest)>,
    new_edges: Vec<(Edge, i64)>,
    /// Sessions with data that the stored ones lack.
    changed_sessions: Vec<usize>,
}

impl BatchPlan {
    pub fn is_empty(&self) -> bool {
        self.new_nodes.is_empty() && self.new_edges.is_empty() && self.changed_sessions.is_empty()
    }
}

/// The result of a batch.
#[derive(Default)]
pub(super) struct BatchResult {
    pub id_map_delta: IdMapDelta,
    pub nodes: u64,
    pub edges: u64,
    pub sessions: u64,
    pub existing: u64,
    pub edges_left_out: u64,
    /// Vectors of another dimension than those of the graph.
    pub vectors_left_out: u64,
    /// The last node inserted.
    pub newest_id: Option<u64>,
}

/// The items of one transaction.
#[derive(Default)]
pub(super) struct ImportBatch {
    pub nodes: Vec<NodeItem>,
    pub edges: Vec<EdgeItem>,
    sessions: Vec<SessionItem>,
}

impl ImportBatch {
    /// Reads items for up to `rows` rows; `None` at the end of the file.
    pub fn read(file: &mut MemoryFile, rows: usize) -> Result<Option<ImportBatch>> {
        let mut batch = ImportBatch::default();
        let (mut row_count, mut bytes, mut session_ids) = (0, 0, BTreeSet::new());
        while row_count < rows && bytes < limits::IMPORT_BYTES && session_ids.len() < limits::MAX_NODE_TAGS {
            let Some(item) = file.next() else { break };
            match item? {
                Item::Node(node) => {
                    row_count += 2 + usize::from(node.vector.is_some());
                    bytes += node.content.len();
                    session_ids.insert(node.session_id);
                    batch.nodes.push(node);
                }
                Item::Edge(edge) => {
                    row_count += 1;
                    batch.edges.push(edge);
                }
                Item::Session(session) => {
                    row_count += 1;
                    session_ids.insert(session.session_id);
                    batch.sessions.push(session);
                }
            }
        }
        Ok((row_count > 0).then_some(batch))
    }

    /// Determines what is new.
    pub fn plan(&self, sql: &mut dyn Sql, id_map: &IdMap) -> Result<BatchPlan> {
        let mut plan = BatchPlan::default();
        let mut local_ids: BTreeMap<u64, NodeId> = BTreeMap::new();
        let digests: Vec<NodeDigest> =
            self.nodes.iter().map(|node| node_digest(node, id_map.format)).collect();
        let imported_ids = find_imported(sql, &digests)?;
        let local_copies = self.find_local(sql, id_map.format, &digests, &imported_ids)?;
        for (index, (node, digest)) in self.nodes.iter().zip(&digests).enumerate() {
            match imported_ids.get(digest).or_else(|| local_copies.get(&node.id)) {
                Some(id) => {
                    local_ids.insert(node.id, *id);
                    plan.id_map_delta.nodes.push((node.id, *id));
                    plan.existing += 1;
                    if !id_map.sessions.contains_key(&node.session_id)
                        && !plan.id_map_delta.sessions.contains_key(&node.session_id)
                        && let Some(session_id) = node::session_of(sql, *id)?
                    {
                        plan.id_map_delta.sessions.insert(node.session_id, session_id);
                    }
                }
                None => plan.new_nodes.push((index, *digest)),
            }
        }
        if !plan.new_nodes.is_empty() {
            // Edges and sessions are planned after these nodes have their ids.
            return Ok(plan);
        }
        let local_id = |id: u64| local_ids.get(&id).copied().or_else(|| id_map.nodes.get(id));
        self.plan_edges(sql, local_id, &mut plan)?;
        for (index, session) in self.sessions.iter().enumerate() {
            let session_id = id_map
                .sessions
                .get(&session.session_id)
                .or(plan.id_map_delta.sessions.get(&session.session_id));
            let stored = session_id.map(|id| session::find(sql, *id)).transpose()?.flatten();
            if stored.is_none_or(|stored| has_new_data(session, &stored, local_id)) {
                plan.changed_sessions.push(index);
            }
        }
        Ok(plan)
    }

    /// Determines which edges are new, given the local ids of their ends.
    fn plan_edges(
        &self,
        sql: &mut dyn Sql,
        local_id: impl Fn(u64) -> Option<NodeId>,
        plan: &mut BatchPlan,
    ) -> Result<()> {
        let mut edges_by_key: BTreeMap<(NodeId, NodeId, EdgeType), (Edge, i64)> = BTreeMap::new();
        for item in &self.edges {
            let (Some(source), Some(target)) = (local_id(item.source_id), local_id(item.target_id)) else {
                plan.edges_left_out += 1;
                continue;
            };
            // Two names of a file may be one local node.
            if source == target {
                plan.edges_left_out += 1;
                continue;
            }
            let edge_type = EdgeType::from_db(i64::from(item.edge_type))?;
            let edge = Edge { source, target, edge_type, weight: edge::clamp_weight(item.weight) };
            edges_by_key.entry(edge.key()).or_insert((edge, item.created_at));
        }
        let candidates: Vec<(Edge, i64)> = edges_by_key.into_values().collect();
        let keys: Vec<Edge> = candidates.iter().map(|(edge, _)| *edge).collect();
        let existing = edge::existing(sql, &keys)?;
        plan.existing += existing.len() as u64;
        let new: Vec<(Edge, i64)> =
            candidates.into_iter().filter(|(edge, _)| !existing.contains(&edge.key())).collect();
        let ends: BTreeSet<NodeId> = new.iter().flat_map(|(edge, _)| [edge.source, edge.target]).collect();
        let existing_nodes = node::existing(sql, &ends.into_iter().collect::<Vec<_>>())?;
        for (edge, created_at) in new {
            if existing_nodes.contains(&edge.source) && existing_nodes.contains(&edge.target) {
                plan.new_edges.push((edge, created_at));
            } else {
                plan.edges_left_out += 1;
            }
        }
        Ok(())
    }

    /// Nodes that were not imported but are identical: the file was exported from this graph.
    fn find_local(
        &self,
        sql: &mut dyn Sql,
        format: FileFormat,
        digests: &[NodeDigest],
        imported_ids: &BTreeMap<NodeDigest, NodeId>,
    ) -> Result<BTreeMap<u64, NodeId>> {
        if format == FileFormat::ServerMemory {
            return Ok(BTreeMap::new());
        }
        let not_imported =
            self.nodes.iter().zip(digests).filter(|(_, digest)| !imported_ids.contains_key(*digest));
        let not_imported: Vec<&NodeItem> = not_imported.map(|(node, _)| node).collect();
        let ids: Vec<NodeId> = not_imported.iter().map(|node| NodeId::from_u64_saturating(node.id)).collect();
        let stored = node::find_many(sql, &ids)?;
        let local_copies = not_imported.into_iter().filter_map(|item| {
            let node = stored.get(&NodeId::from_u64_saturating(item.id))?;
            let is_same = node.created_at == item.created_at
                && node.event_type.number() == i64::from(item.event_type)
                && node.content == item.content;
            is_same.then_some((item.id, node.id))
        });
        Ok(local_copies.collect())
    }

    /// Writes what is new.
    pub fn write(&self, tx: &mut Tx<'_>, id_map: &IdMap) -> Result<BatchResult> {
        let mut counters = counters::lock(tx)?;
        let mut plan = self.plan(tx, id_map)?;
        let mut result =
            BatchResult { id_map_delta: std::mem::take(&mut plan.id_map_delta), ..BatchResult::default() };
        let mut changed_nodes = BTreeSet::new();
        if !plan.new_nodes.is_empty() {
            self.write_nodes(tx, &mut counters, id_map, &plan, &mut result)?;
            let local_ids: BTreeMap<u64, NodeId> = result.id_map_delta.nodes.iter().copied().collect();
            let local_id = |id: u64| local_ids.get(&id).copied().or_else(|| id_map.nodes.get(id));
            self.plan_edges(tx, local_id, &mut plan)?;
            plan.changed_sessions = (0..self.sessions.len()).collect();
        }
        write_edges(tx, &mut counters, &plan.new_edges, &mut result, &mut changed_nodes)?;
        let local_ids: BTreeMap<u64, NodeId> = result.id_map_delta.nodes.iter().copied().collect();
        for index in &plan.changed_sessions {
            if let Some(item) = self.sessions.get(*index) {
                let local_id = |id: u64| local_ids.get(&id).copied().or_else(|| id_map.nodes.get(id));
                self.write_session(tx, &mut counters, id_map, item, local_id, &mut result)?;
            }
        }
        result.existing = plan.existing;
        result.edges_left_out += plan.edges_left_out;
        counters.save(tx)?;
        tx.invalidate(tags::counters());
        tx.invalidate(tags::nodes());
        tags::invalidate_nodes(tx, &changed_nodes);
        tx.audit_output("nodes_added", result.nodes);
        tx.audit_output("edges_added", result.edges);
        // An id map needs ascending file ids.
        result.id_map_delta.nodes.sort_unstable();
        Ok(result)
    }

    fn write_nodes(
        &self,
        tx: &mut Tx<'_>,
        counters: &mut Counters,
        id_map: &IdMap,
        plan: &BatchPlan,
        result: &mut BatchResult,
    ) -> Result<()> {
        let now = counters.next_timestamp();
        let mut nodes: Vec<(Node, &str)> = Vec::with_capacity(plan.new_nodes.len());
        let mut vectors: Vec<(NodeId, &[f32])> = Vec::new();
        let mut dimension = vectors::dimension(tx)?;
        let mut digests: BTreeMap<NodeDigest, NodeId> = BTreeMap::new();
        let mut session_node_counts: BTreeMap<SessionId, i64> = BTreeMap::new();
        for (index, digest) in &plan.new_nodes {
            let Some(item) = self.nodes.get(*index) else { continue };
            if let Some(existing_id) = digests.get(digest) {
                // The same entity twice in a file without ids.
                result.id_map_delta.nodes.push((item.id, *existing_id));
                continue;
            }
            let created_at = item.created_at.clamp(0, now);
            let session = get_or_create_session(tx, counters, id_map, item.session_id, created_at, result)?;
            let id = assign_node_id(counters, id_map.format, item.id);
            let last_accessed = item.last_accessed.clamp(created_at, now);
            let access_count = i64::from(item.access_count);
            let node = Node {
                id,
                event_type: EventType::from_db(i64::from(item.event_type))?,
                session_id: session,
                created_at,
                confidence: item.confidence.clamp(0.0, 1.0),
                access_count,
                last_accessed,
                effective_access: decay::effective_access(last_accessed, access_count),
                superseded_by: None,
                // PostgreSQL cannot store NUL characters.
                content: item.content.replace('\0', "\u{fffd}"),
            };
            counters.count_nodes(node.event_type, 1);
            *session_node_counts.entry(session).or_default() += 1;
            if let Some(vector) = item.vector.as_deref() {
                match *dimension.get_or_insert(vector.len()) == vector.len() {
                    true => vectors.push((id, vector)),
                    false => result.vectors_left_out += 1,
                }
            }
            digests.insert(*digest, id);
            result.id_map_delta.nodes.push((item.id, id));
            result.newest_id = u64::try_from(id.0).ok();
            nodes.push((node, author_or_default(item.created_by.as_deref())));
        }
        for group in nodes.chunk_by(|(_, a), (_, b)| a == b) {
            let made_by = group.first().map_or(ACTOR, |(_, made_by)| *made_by);
            let group_nodes: Vec<Node> = group.iter().map(|(node, _)| node.clone()).collect();
            // The edges are inserted later and packed then.
            node::insert(tx, made_by, &group_nodes, &EdgesBySource::default())?;
        }
        vectors::insert(tx, &vectors)?;
        insert_digests(tx, &digests)?;
        for (session, count) in session_node_counts {
            session::count_nodes(tx, counters, session, count)?;
            tx.invalidate(tags::session(session));
        }
        for event_type in EventType::ALL {
            if nodes.iter().any(|(node, _)| node.event_type == event_type) {
                tx.invalidate(tags::event_type(event_type));
            }
        }
        result.nodes += nodes.len() as u64;
        Ok(())
    }

    fn write_session(
        &self,
        tx: &mut Tx<'_>,
        counters: &mut Counters,
        id_map: &IdMap,
        item: &SessionItem,
        local_id: impl Fn(u64) -> Option<NodeId>,
        result: &mut BatchResult,
    ) -> Result<()> {
        let now = counters.next_timestamp();
        let clamp_time = |time: Option<i64>| time.map(|time| time.clamp(0, now));
        let started = clamp_time(item.started_at).unwrap_or(now);
        let id = get_or_create_session(tx, counters, id_map, item.session_id, started, result)?;
        let metadata = item.metadata.as_ref().map(ToString::to_string);
        let metadata = metadata.filter(|text| text.len() <= limits::METADATA_BYTES);
        let episode = item.episode_id.and_then(local_id);
        let episode = node::existing(tx, &episode.into_iter().collect::<Vec<_>>())?.into_iter().next();
        let tenant = tx.tenant().clone();
        tx.execute(
            "UPDATE amem_session SET \
             started_at = CASE WHEN started_by = $7 OR $3 < started_at THEN COALESCE($3, started_at) ELSE started_at END, \
             ended_at = COALESCE(ended_at, $4), metadata = COALESCE(metadata, $5), \
             episode_id = COALESCE(episode_id, $6), \
             started_by = CASE WHEN started_by = $7 THEN $8 ELSE started_by END WHERE tenant_id = $1 AND id = $2",
            params![
                tenant.as_str(),
                i64::from(id.0),
                clamp_time(item.started_at),
                clamp_time(item.ended_at),
                metadata.as_deref(),
                episode.map(|id| id.0),
                ACTOR,
                author_or_default(item.started_by.as_deref())
            ],
        )?;
        tx.invalidate(tags::sessions());
        tx.invalidate(tags::session(id));
        Ok(())
    }
}

/// Whether a session of the file has data that the stored one lacks.
fn has_new_data(
    item: &SessionItem,
    stored: &session::Session,
    local_id: impl Fn(u64) -> Option<NodeId>,
) -> bool {
    item.started_at.is_some_and(|time| time.max(0) < stored.started_at)
        || (item.ended_at.is_some() && stored.ended_at.is_none())
        || (item.metadata.as_ref().is_some_and(|data| data.to_string().len() <= limits::METADATA_BYTES)
            && stored.metadata.is_none())
        || (item.episode_id.and_then(local_id).is_some() && stored.episode_id.is_none())
        || (stored.started_by == ACTOR && author_or_default(item.started_by.as_deref()) != ACTOR)
}

/// The author as stored.
fn author_or_default(name: Option<&str>) -> &str {
    let is_valid = |name: &&str| (1..=limits::AUTHOR_BYTES).contains(&name.len()) && !name.contains('\0');
    name.filter(is_valid).unwrap_or(ACTOR)
}

/// The id of an imported node: its own if it is free and not too large, else the next one.
fn assign_node_id(counters: &mut Counters, format: FileFormat, file_id: u64) -> NodeId {
    let requested_id = i64::try_from(file_id).unwrap_or(i64::MAX);
    let keep_id = format != FileFormat::ServerMemory
        && requested_id >= counters.next_id
        && requested_id <= limits::IMPORT_ID_MAX;
    let id = if keep_id { requested_id } else { counters.next_id };
    counters.next_id = id + 1;
    NodeId(id)
}

/// The local session for a session of the file; created if there is none.
fn get_or_create_session(
    tx: &mut Tx<'_>,
    counters: &mut Counters,
    id_map: &IdMap,
    file_session_id: u32,
    started_at: i64,
    result: &mut BatchResult,
) -> Result<SessionId> {
    let existing =
        id_map.sessions.get(&file_session_id).or_else(|| result.id_map_delta.sessions.get(&file_session_id));
    if let Some(existing_id) = existing {
        return Ok(*existing_id);
    }
    let keep_id = id_map.format != FileFormat::ServerMemory
        && file_session_id <= limits::IMPORT_SESSION_MAX
        && session::find(tx, SessionId(file_session_id))?.is_none();
    let id = keep_id.then_some(SessionId(file_session_id));
    let id = session::create_at(tx, counters, id, ACTOR, None, started_at)?;
    result.id_map_delta.sessions.insert(file_session_id, id);
    result.sessions += 1;
    Ok(id)
}

fn write_edges(
    tx: &mut Tx<'_>,
    counters: &mut Counters,
    edges: &[(Edge, i64)],
    result: &mut BatchResult,
    changed_nodes: &mut BTreeSet<NodeId>,
) -> Result<()> {
    let now = counters.next_timestamp();
    let is_supersession = |edge: &Edge| edge.edge_type == EdgeType::Supersedes;
    let other_edges: Vec<(Edge, i64)> = edges
        .iter()
        .filter(|(edge, _)| !is_supersession(edge))
        .map(|(edge, created_at)| (*edge, (*created_at).clamp(0, now)))
        .collect();
    edge::insert(tx, &other_edges)?;
    let mut added: Vec<Edge> = other_edges.iter().map(|(edge, _)| *edge).collect();
    let mut superseded_nodes = BTreeSet::new();
    for (edge, created_at) in edges.iter().filter(|(edge, _)| is_supersession(edge)) {
        // One at a time: each may close a cycle with the ones before it.
        match supersede::check_cycle(tx, edge.source, edge.target) {
            Ok(()) => {
                edge::insert(tx, &[(*edge, (*created_at).clamp(0, now))])?;
                superseded_nodes.insert(edge.target);
                added.push(*edge);
            }
            Err(error) if error.may_pass() => return Err(error),
            Err(_) => result.edges_left_out += 1,
        }
    }
    for target in &superseded_nodes {
        supersede::recompute_superseded_by(tx, *target)?;
    }
    result.edges += added.len() as u64;
    for target in superseded_nodes {
        let replaced = supersede::replace_earlier_corrections(tx, target)?;
        edge::insert(tx, &replaced.iter().map(|edge| (*edge, now)).collect::<Vec<_>>())?;
        added.extend(replaced);
    }
    for edge in &added {
        counters.count_edges(edge.edge_type, 1);
        changed_nodes.extend([edge.source, edge.target]);
    }
    Ok(())
}

/// The digest that identifies a node of a file. A format without times has no stable ids either, so both are left
/// out.
fn node_digest(node: &NodeItem, format: FileFormat) -> NodeDigest {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    match format {
        FileFormat::ServerMemory => context.update(b"entity\0"),
        FileFormat::Amem | FileFormat::Jsonl => {
            context.update(b"node\0");
            context.update(&node.id.to_le_bytes());
            context.update(&node.created_at.to_le_bytes());
        }
    }
    context.update(&[node.event_type]);
    context.update(node.content.as_bytes());
    let full_digest = context.finish();
    let mut digest = NodeDigest::default();
    digest.iter_mut().zip(full_digest.as_ref()).for_each(|(byte, source)| *byte = *source);
    digest
}

/// The local ids of nodes that were imported before, by digest.
fn find_imported(sql: &mut dyn Sql, digests: &[NodeDigest]) -> Result<BTreeMap<NodeDigest, NodeId>> {
    let tenant = sql.tenant().clone();
    let mut node_ids = BTreeMap::new();
    for chunk in batch::chunks(digests) {
        let placeholders = batch::placeholders(chunk.len(), 2);
        let mut cells = vec![Cell::from(tenant.as_str())];
        cells.extend(chunk.iter().map(|digest| Cell::Blob(digest.to_vec())));
        let query = format!(
            "SELECT digest, node_id FROM amem_import WHERE tenant_id = $1 AND digest IN ({placeholders})"
        );
        for row in &sql.query(&query, &cells)? {
            if let Ok(digest) = NodeDigest::try_from(row.blob(0)?) {
                node_ids.insert(digest, NodeId(row.int(1)?));
            }
        }
    }
    Ok(node_ids)
}

fn insert_digests(tx: &mut Tx<'_>, digests: &BTreeMap<NodeDigest, NodeId>) -> Result<()> {
    let tenant = tx.tenant().clone();
    let digests: Vec<(&NodeDigest, &NodeId)> = digests.iter().collect();
    for chunk in batch::chunks(&digests) {
        let placeholders = batch::values_placeholders(chunk.len(), 2, 2, "$1");
        let mut cells = vec![Cell::from(tenant.as_str())];
        for (digest, id) in chunk {
            cells.extend([Cell::Blob(digest.to_vec()), Cell::Int(id.0)]);
        }
        tx.execute(
            &format!("INSERT INTO amem_import (tenant_id, digest, node_id) VALUES {placeholders}"),
            &cells,
        )?;
    }
    Ok(())
}
