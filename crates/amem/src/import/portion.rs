//! The nodes, edges and sessions of a file that come in with one transaction.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::Result;
use quad_store::{Sql, Tx, Value as Cell, batch, params};

use super::ACTOR;
use super::renumbering::Renumbering;
use crate::edge::{self, Edge, EdgeType};
use crate::event_type::EventType;
use crate::files::{EdgeItem, FileFormat, Item, MemoryFile, NodeItem, SessionItem};
use crate::node::{self, Node, NodeId};
use crate::outgoing::BySource;
use crate::session::{self, SessionId};
use crate::stats::{self, Stats};
use crate::{adding, correcting, decay, limits, tags};

/// What tells a node of a file from others.
type Digest = [u8; 16];

/// How the numbers of a file read here.
#[derive(Clone, Debug)]
pub(super) struct Names {
    format: FileFormat,
    nodes: Renumbering,
    sessions: BTreeMap<u32, SessionId>,
}

/// What a portion adds to them.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    nodes: Vec<(u64, NodeId)>,
    sessions: BTreeMap<u32, SessionId>,
}

impl Names {
    pub fn new(format: FileFormat) -> Names {
        Names { format, nodes: Renumbering::default(), sessions: BTreeMap::new() }
    }

    pub fn learn(&mut self, learned: Learned) {
        learned.nodes.into_iter().for_each(|(file_id, node)| self.nodes.add(file_id, node));
        self.sessions.extend(learned.sessions);
    }
}

/// What is to be done about a portion.
#[derive(Default)]
pub(super) struct Plan {
    pub learned: Learned,
    /// Nodes and edges that are here already.
    pub known: u64,
    pub edges_left_out: u64,
    /// Nodes that are not, with their digests.
    nodes: Vec<(usize, Digest)>,
    edges: Vec<(Edge, i64)>,
    /// Sessions that say something new.
    sessions: Vec<usize>,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.edges.is_empty() && self.sessions.is_empty()
    }
}

/// What became of a portion.
#[derive(Default)]
pub(super) struct Written {
    pub learned: Learned,
    pub nodes: u64,
    pub edges: u64,
    pub sessions: u64,
    pub known: u64,
    pub edges_left_out: u64,
    /// The last node that was added.
    pub newest: Option<u64>,
}

/// A portion.
#[derive(Default)]
pub(super) struct Portion {
    pub nodes: Vec<NodeItem>,
    pub edges: Vec<EdgeItem>,
    sessions: Vec<SessionItem>,
}

impl Portion {
    /// Reads what makes up to so many rows, if there is anything left.
    pub fn read(file: &mut MemoryFile, rows: usize) -> Result<Option<Portion>> {
        let mut portion = Portion::default();
        let (mut made, mut bytes, mut sessions) = (0, 0, BTreeSet::new());
        while made < rows && bytes < limits::IMPORT_BYTES && sessions.len() < limits::TAGGED_NODES {
            let Some(item) = file.next() else { break };
            match item? {
                Item::Node(node) => {
                    made += 2 + usize::from(node.vector.is_some());
                    bytes += node.content.len();
                    sessions.insert(node.session_id);
                    portion.nodes.push(node);
                }
                Item::Edge(edge) => {
                    made += 1;
                    portion.edges.push(edge);
                }
                Item::Session(session) => {
                    made += 1;
                    sessions.insert(session.session_id);
                    portion.sessions.push(session);
                }
            }
        }
        Ok((made > 0).then_some(portion))
    }

    /// Finds out what of it is new.
    pub fn plan(&self, sql: &mut dyn Sql, names: &Names) -> Result<Plan> {
        let mut plan = Plan::default();
        let mut here: BTreeMap<u64, NodeId> = BTreeMap::new();
        let digests: Vec<Digest> = self.nodes.iter().map(|node| digest(node, names.format)).collect();
        let imported = imported(sql, &digests)?;
        let natives = self.natives(sql, names.format, &digests, &imported)?;
        for (place, (node, digest)) in self.nodes.iter().zip(&digests).enumerate() {
            match imported.get(digest).or_else(|| natives.get(&node.id)) {
                Some(id) => {
                    here.insert(node.id, *id);
                    plan.learned.nodes.push((node.id, *id));
                    plan.known += 1;
                    if !names.sessions.contains_key(&node.session_id)
                        && !plan.learned.sessions.contains_key(&node.session_id)
                        && let Some(known) = node::session_of(sql, *id)?
                    {
                        plan.learned.sessions.insert(node.session_id, known);
                    }
                }
                None => plan.nodes.push((place, *digest)),
            }
        }
        if !plan.nodes.is_empty() {
            // There is something to do; what else there is shows when these are in.
            return Ok(plan);
        }
        let end = |id: u64| here.get(&id).copied().or_else(|| names.nodes.get(id));
        self.plan_edges(sql, end, &mut plan)?;
        for (place, session) in self.sessions.iter().enumerate() {
            let known =
                names.sessions.get(&session.session_id).or(plan.learned.sessions.get(&session.session_id));
            let stored = known.map(|id| session::find(sql, *id)).transpose()?.flatten();
            if stored.is_none_or(|stored| says_more(session, &stored, end)) {
                plan.sessions.push(place);
            }
        }
        Ok(plan)
    }

    /// Which edges are new, given where their ends are.
    fn plan_edges(
        &self,
        sql: &mut dyn Sql,
        end: impl Fn(u64) -> Option<NodeId>,
        plan: &mut Plan,
    ) -> Result<()> {
        let mut wanted: BTreeMap<(NodeId, NodeId, EdgeType), (Edge, i64)> = BTreeMap::new();
        for item in &self.edges {
            let (Some(source), Some(target)) = (end(item.source_id), end(item.target_id)) else {
                plan.edges_left_out += 1;
                continue;
            };
            // Two names of a file may mean one node here.
            if source == target {
                plan.edges_left_out += 1;
                continue;
            }
            let edge_type = EdgeType::stored(i64::from(item.edge_type))?;
            let edge = Edge { source, target, edge_type, weight: edge::weight(item.weight) };
            wanted.entry(edge.key()).or_insert((edge, item.created_at));
        }
        let wanted: Vec<(Edge, i64)> = wanted.into_values().collect();
        let keys: Vec<Edge> = wanted.iter().map(|(edge, _)| *edge).collect();
        let known = edge::existing(sql, &keys)?;
        plan.known += known.len() as u64;
        let new: Vec<(Edge, i64)> =
            wanted.into_iter().filter(|(edge, _)| !known.contains(&edge.key())).collect();
        let ends: BTreeSet<NodeId> = new.iter().flat_map(|(edge, _)| [edge.source, edge.target]).collect();
        let there = node::existing(sql, &ends.into_iter().collect::<Vec<_>>())?;
        for (edge, at) in new {
            if there.contains(&edge.source) && there.contains(&edge.target) {
                plan.edges.push((edge, at));
            } else {
                plan.edges_left_out += 1;
            }
        }
        Ok(())
    }

    /// Nodes that no import brought but that are the same: the file was written from this graph.
    fn natives(
        &self,
        sql: &mut dyn Sql,
        format: FileFormat,
        digests: &[Digest],
        imported: &BTreeMap<Digest, NodeId>,
    ) -> Result<BTreeMap<u64, NodeId>> {
        if format == FileFormat::ServerMemory {
            return Ok(BTreeMap::new());
        }
        let unknown = self.nodes.iter().zip(digests).filter(|(_, digest)| !imported.contains_key(*digest));
        let unknown: Vec<&NodeItem> = unknown.map(|(node, _)| node).collect();
        let ids: Vec<NodeId> = unknown.iter().map(|node| NodeId::of(node.id)).collect();
        let stored = node::find_many(sql, &ids)?;
        let same = unknown.into_iter().filter_map(|item| {
            let node = stored.get(&NodeId::of(item.id))?;
            let is_same = node.created_at == item.created_at
                && node.event_type.number() == i64::from(item.event_type)
                && node.content == item.content;
            is_same.then_some((item.id, node.id))
        });
        Ok(same.collect())
    }

    /// Takes it in.
    pub fn write(&self, tx: &mut Tx<'_>, names: &Names) -> Result<Written> {
        let mut stats = stats::lock(tx)?;
        let mut plan = self.plan(tx, names)?;
        let mut written = Written { learned: std::mem::take(&mut plan.learned), ..Written::default() };
        let mut touched = BTreeSet::new();
        if !plan.nodes.is_empty() {
            self.write_nodes(tx, &mut stats, names, &plan, &mut written)?;
            let here: BTreeMap<u64, NodeId> = written.learned.nodes.iter().copied().collect();
            let end = |id: u64| here.get(&id).copied().or_else(|| names.nodes.get(id));
            self.plan_edges(tx, end, &mut plan)?;
            plan.sessions = (0..self.sessions.len()).collect();
        }
        write_edges(tx, &mut stats, &plan.edges, &mut written, &mut touched)?;
        let here: BTreeMap<u64, NodeId> = written.learned.nodes.iter().copied().collect();
        for place in &plan.sessions {
            if let Some(item) = self.sessions.get(*place) {
                let end = |id: u64| here.get(&id).copied().or_else(|| names.nodes.get(id));
                self.write_session(tx, &mut stats, names, item, end, &mut written)?;
            }
        }
        written.known = plan.known;
        written.edges_left_out += plan.edges_left_out;
        stats.save(tx)?;
        tx.invalidate(tags::stats());
        tx.invalidate(tags::nodes());
        tags::touch_nodes(tx, &touched);
        tx.audit_output("nodes_added", written.nodes);
        tx.audit_output("edges_added", written.edges);
        // A file's ids ascend, and so must what is learned of them.
        written.learned.nodes.sort_unstable();
        Ok(written)
    }

    fn write_nodes(
        &self,
        tx: &mut Tx<'_>,
        stats: &mut Stats,
        names: &Names,
        plan: &Plan,
        written: &mut Written,
    ) -> Result<()> {
        let now = stats.moment();
        let mut nodes: Vec<(Node, &str)> = Vec::with_capacity(plan.nodes.len());
        let mut vectors: Vec<(NodeId, &[f32])> = Vec::new();
        let mut digests: BTreeMap<Digest, NodeId> = BTreeMap::new();
        let mut in_sessions: BTreeMap<SessionId, i64> = BTreeMap::new();
        for (place, digest) in &plan.nodes {
            let Some(item) = self.nodes.get(*place) else { continue };
            if let Some(twin) = digests.get(digest) {
                // The same thing twice in a file without ids of its own.
                written.learned.nodes.push((item.id, *twin));
                continue;
            }
            let created_at = item.created_at.clamp(0, now);
            let session = session_of(tx, stats, names, item.session_id, created_at, written)?;
            let id = next_id(stats, names.format, item.id);
            let last_accessed = item.last_accessed.clamp(created_at, now);
            let access_count = i64::from(item.access_count);
            let node = Node {
                id,
                event_type: EventType::stored(i64::from(item.event_type))?,
                session_id: session,
                created_at,
                confidence: item.confidence.clamp(0.0, 1.0),
                access_count,
                last_accessed,
                effective_access: decay::effective_access(last_accessed, access_count),
                superseded_by: None,
                // The one character that PostgreSQL has no place for.
                content: item.content.replace('\0', "\u{fffd}"),
            };
            stats.count_nodes(node.event_type, 1);
            *in_sessions.entry(session).or_default() += 1;
            vectors.extend(item.vector.as_deref().map(|vector| (id, vector)));
            digests.insert(*digest, id);
            written.learned.nodes.push((item.id, id));
            written.newest = u64::try_from(id.0).ok();
            nodes.push((node, maker(item.created_by.as_deref())));
        }
        for run in nodes.chunk_by(|(_, a), (_, b)| a == b) {
            let made_by = run.first().map_or(ACTOR, |(_, made_by)| *made_by);
            let run: Vec<Node> = run.iter().map(|(node, _)| node.clone()).collect();
            // What leaves them comes later, by itself.
            node::insert(tx, made_by, &run, &BySource::new())?;
        }
        adding::insert_vectors(tx, &vectors)?;
        insert_digests(tx, &digests)?;
        for (session, count) in in_sessions {
            session::count_nodes(tx, stats, session, count)?;
            tx.invalidate(tags::session(session));
        }
        for event_type in EventType::ALL {
            if nodes.iter().any(|(node, _)| node.event_type == event_type) {
                tx.invalidate(tags::event_type(event_type));
            }
        }
        written.nodes += nodes.len() as u64;
        Ok(())
    }

    fn write_session(
        &self,
        tx: &mut Tx<'_>,
        stats: &mut Stats,
        names: &Names,
        item: &SessionItem,
        end: impl Fn(u64) -> Option<NodeId>,
        written: &mut Written,
    ) -> Result<()> {
        let now = stats.moment();
        let at = |time: Option<i64>| time.map(|time| time.clamp(0, now));
        let started = at(item.started_at).unwrap_or(now);
        let id = session_of(tx, stats, names, item.session_id, started, written)?;
        let metadata = item.metadata.as_ref().map(ToString::to_string);
        let metadata = metadata.filter(|text| text.len() <= limits::METADATA_BYTES);
        let episode = item.episode_id.and_then(end);
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
                at(item.started_at),
                at(item.ended_at),
                metadata.as_deref(),
                episode.map(|id| id.0),
                ACTOR,
                maker(item.started_by.as_deref())
            ],
        )?;
        tx.invalidate(tags::sessions());
        tx.invalidate(tags::session(id));
        Ok(())
    }
}

/// Whether a session of a file knows what the stored one does not.
fn says_more(item: &SessionItem, stored: &session::Session, end: impl Fn(u64) -> Option<NodeId>) -> bool {
    item.started_at.is_some_and(|at| at.max(0) < stored.started_at)
        || (item.ended_at.is_some() && stored.ended_at.is_none())
        || (item.metadata.as_ref().is_some_and(|data| data.to_string().len() <= limits::METADATA_BYTES)
            && stored.metadata.is_none())
        || (item.episode_id.and_then(end).is_some() && stored.episode_id.is_none())
        || (stored.started_by == ACTOR && maker(item.started_by.as_deref()) != ACTOR)
}

/// Who made something, as it is stored.
fn maker(name: Option<&str>) -> &str {
    let usable = |name: &&str| (1..=limits::MAKER_BYTES).contains(&name.len()) && !name.contains('\0');
    name.filter(usable).unwrap_or(ACTOR)
}

/// The id of a node that comes in: its own, if that is still free and not absurd.
fn next_id(stats: &mut Stats, format: FileFormat, file_id: u64) -> NodeId {
    let own = i64::try_from(file_id).unwrap_or(i64::MAX);
    let keeps = format != FileFormat::ServerMemory && own >= stats.next_id && own <= limits::IMPORT_ID_MAX;
    let id = if keeps { own } else { stats.next_id };
    stats.next_id = id + 1;
    NodeId(id)
}

/// The session here that a session of the file is; made if there is none.
fn session_of(
    tx: &mut Tx<'_>,
    stats: &mut Stats,
    names: &Names,
    file_session: u32,
    started_at: i64,
    written: &mut Written,
) -> Result<SessionId> {
    let known = names.sessions.get(&file_session).or_else(|| written.learned.sessions.get(&file_session));
    if let Some(known) = known {
        return Ok(*known);
    }
    let keeps = names.format != FileFormat::ServerMemory
        && file_session <= limits::IMPORT_SESSION_MAX
        && session::find(tx, SessionId(file_session))?.is_none();
    let id = keeps.then_some(SessionId(file_session));
    let id = session::create_at(tx, stats, id, ACTOR, None, started_at)?;
    written.learned.sessions.insert(file_session, id);
    written.sessions += 1;
    Ok(id)
}

fn write_edges(
    tx: &mut Tx<'_>,
    stats: &mut Stats,
    edges: &[(Edge, i64)],
    written: &mut Written,
    touched: &mut BTreeSet<NodeId>,
) -> Result<()> {
    let now = stats.moment();
    let is_supersession = |edge: &Edge| edge.edge_type == EdgeType::Supersedes;
    let plain: Vec<(Edge, i64)> = edges
        .iter()
        .filter(|(edge, _)| !is_supersession(edge))
        .map(|(edge, at)| (*edge, (*at).clamp(0, now)))
        .collect();
    edge::insert(tx, &plain)?;
    let mut added: Vec<Edge> = plain.iter().map(|(edge, _)| *edge).collect();
    let mut superseded = BTreeSet::new();
    for (edge, at) in edges.iter().filter(|(edge, _)| is_supersession(edge)) {
        // One at a time, since each may close a circle with those before it.
        match correcting::check_circle(tx, edge.source, edge.target) {
            Ok(()) => {
                edge::insert(tx, &[(*edge, (*at).clamp(0, now))])?;
                superseded.insert(edge.target);
                added.push(*edge);
            }
            Err(error) if error.kind() == quad_core::Kind::Internal => return Err(error),
            Err(_) => written.edges_left_out += 1,
        }
    }
    for target in superseded {
        correcting::refresh(tx, target)?;
    }
    for edge in &added {
        stats.count_edges(edge.edge_type, 1);
        touched.extend([edge.source, edge.target]);
    }
    written.edges += added.len() as u64;
    Ok(())
}

/// What tells a node of a file from others. Files without times have no ids of their own either.
fn digest(node: &NodeItem, format: FileFormat) -> Digest {
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
    let whole = context.finish();
    let mut digest = Digest::default();
    digest.iter_mut().zip(whole.as_ref()).for_each(|(byte, from)| *byte = *from);
    digest
}

/// Those of these that an import brought, and as which nodes.
fn imported(sql: &mut dyn Sql, digests: &[Digest]) -> Result<BTreeMap<Digest, NodeId>> {
    let tenant = sql.tenant().clone();
    let mut found = BTreeMap::new();
    for piece in batch::chunks(digests) {
        let places = batch::placeholders(piece.len(), 2);
        let mut cells = vec![Cell::from(tenant.as_str())];
        cells.extend(piece.iter().map(|digest| Cell::Blob(digest.to_vec())));
        let query =
            format!("SELECT digest, node_id FROM amem_import WHERE tenant_id = $1 AND digest IN ({places})");
        for row in &sql.query(&query, &cells)? {
            if let Ok(digest) = Digest::try_from(row.blob(0)?) {
                found.insert(digest, NodeId(row.int(1)?));
            }
        }
    }
    Ok(found)
}

fn insert_digests(tx: &mut Tx<'_>, digests: &BTreeMap<Digest, NodeId>) -> Result<()> {
    let tenant = tx.tenant().clone();
    let digests: Vec<(&Digest, &NodeId)> = digests.iter().collect();
    for piece in batch::chunks(&digests) {
        let places = batch::values_placeholders(piece.len(), 2, 2, "$1");
        let mut cells = vec![Cell::from(tenant.as_str())];
        for (digest, id) in piece {
            cells.extend([Cell::Blob(digest.to_vec()), Cell::Int(id.0)]);
        }
        tx.execute(&format!("INSERT INTO amem_import (tenant_id, digest, node_id) VALUES {places}"), &cells)?;
    }
    Ok(())
}
