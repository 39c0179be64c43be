//! Reads: the document of each resource, and what it depends on.

use quad_core::{
    Content, JsonObjectWriter, JsonText, Principal, ReadOutput, ReadSet, Result, SideEffect, cursor,
};
use quad_store::Sql;
use serde_json::{Value, json};

use crate::edge::{self, Direction, EdgeTypeSet};
use crate::graph_cache::GraphCache;
use crate::node::{self, NodeField, NodeId, StaticField};
use crate::resource::{Resource, SESSIONS_CURSOR_SCOPE};
use crate::search::Engine;
use crate::session::{self, SessionId};
use crate::{Amem, adjacency, counters, limits, list, micros, neighborhood, tags};

/// Reads a resource.
pub(crate) fn read_resource(
    sql: &mut dyn Sql,
    engine: &Engine,
    graph_cache: &GraphCache,
    resource: &Resource,
) -> Result<ReadOutput> {
    let now = micros::now();
    let read_set = ReadSet::at_version(sql.version());
    let (document, read_set): (JsonText, ReadSet) = match resource {
        Resource::Stats => (counters::stats(sql)?.into(), read_set.with_tag(tags::counters())),
        Resource::Recent => (list::recent(sql)?.into(), read_set.with_tag(tags::nodes())),
        Resource::Important => {
            let read_set = read_set.with_tag(tags::nodes());
            let content = Content::from_json_text(list::important(sql, now)?.into());
            return Ok(ReadOutput { cacheable: false, ..ReadOutput::new(content, read_set) });
        }
        Resource::Node(id) => return Ok(load_node(sql, *id)?.into_output()),
        Resource::Neighborhood { id, depth } => {
            let (document, read_set) = neighborhood::read(sql, graph_cache, *id, *depth, 0)?;
            (document.into(), read_set)
        }
        Resource::Session { id, page } => {
            (list::nodes_of_session(sql, *id, *page)?.into(), read_set.with_tag(tags::session(*id)))
        }
        Resource::Type { event_type, page } => (
            list::nodes_of_type(sql, *event_type, *page)?.into(),
            read_set.with_tag(tags::event_type(*event_type)),
        ),
        Resource::Sessions { before, limit } => {
            let mut read_set = read_set.with_tag(tags::sessions());
            // Each entry shows its number of nodes. A new node makes the list stale but does not notify
            // subscribers.
            read_set.silent_tags.insert(tags::nodes());
            (sessions_json(sql, *before, *limit)?.into(), read_set)
        }
        Resource::Search { search, cursor } => {
            (search.text(engine, sql, cursor.as_deref())?.document.into(), read_set.with_tag(tags::nodes()))
        }
    };
    Ok(ReadOutput::new(Content::from_json_text(document), read_set))
}

/// Checks that a resource exists, and returns what that depends on. For a node and its neighborhood the node's row
/// is enough. Links are not followed here: a link can lead to another neighborhood and back to this one, without
/// end.
pub(crate) fn check_exists(
    sql: &mut dyn Sql,
    engine: &Engine,
    graph_cache: &GraphCache,
    resource: &Resource,
) -> Result<ReadSet> {
    match resource {
        Resource::Node(id) | Resource::Neighborhood { id, .. } => {
            node::get(sql, *id)?;
            Ok(ReadSet::at_version(sql.version()).with_tag(tags::node(*id)).with_tag(tags::any_node()))
        }
        resource => Ok(read_resource(sql, engine, graph_cache, resource)?.read_set),
    }
}

/// The document of a node, what it depends on, and the access that the read is.
pub(crate) struct NodeRead {
    document: JsonObjectWriter,
    read_set: ReadSet,
    side_effect: SideEffect,
}

impl NodeRead {
    fn into_output(self) -> ReadOutput {
        let output = ReadOutput::new(Content::from_json_text(self.document.into()), self.read_set);
        ReadOutput { cacheable: false, side_effect: Some(self.side_effect), ..output }
    }
}

/// `amem://node/{id}` with the links of the node to and from resources of all schemes.
pub(crate) async fn read_node_with_links(amem: &Amem, caller: &Principal, id: NodeId) -> Result<ReadOutput> {
    let mut node = amem.store.read_inline(&caller.tenant, move |sql| load_node(sql, id)).await?;
    node.read_set = neighborhood::add_links(amem, caller, id, &mut node.document, node.read_set).await?;
    Ok(node.into_output())
}

/// `amem://node/{id}`. Reading it is an access. The document already counts it, and a side effect of the read's
/// audit event stores it.
fn load_node(sql: &mut dyn Sql, id: NodeId) -> Result<NodeRead> {
    const FIELDS: [NodeField; 10] = [
        NodeField::Static(StaticField::Id),
        NodeField::Static(StaticField::EventType),
        NodeField::Static(StaticField::Content),
        NodeField::Static(StaticField::Confidence),
        NodeField::Static(StaticField::Session),
        NodeField::Static(StaticField::Created),
        NodeField::Accesses,
        NodeField::LastAccessed,
        NodeField::Decay,
        NodeField::Static(StaticField::SupersededBy),
    ];
    const EDGES: usize = limits::NODE_EDGES + 1;
    let now = micros::now();
    let (mut node, outgoing) = adjacency::node_with_outgoing(sql, id, EDGES)?;
    let incoming = edge::for_node(sql, id, Direction::Incoming, EdgeTypeSet::ALL, EDGES)?;
    let access_update = node.touch(now);
    let mut document = JsonObjectWriter::with_capacity(node.content.len() + 512);
    node.write_json(&mut document, &FIELDS, now);
    for (direction, name, cut_flag, mut edges) in [
        (Direction::Outgoing, "outgoing_edges", "outgoing_edges_cut", outgoing),
        (Direction::Incoming, "incoming_edges", "incoming_edges_cut", incoming),
    ] {
        let is_cut = edges.len() > limits::NODE_EDGES;
        edges.truncate(limits::NODE_EDGES);
        document.put_array(name, &edges, |object, edge| edge.write_json_from(direction, object));
        if is_cut {
            document.put(cut_flag, true);
        }
    }
    let side_effect =
        quad_store::fast_path::side_effect(id.0, move |tx| node::save_access(tx, &access_update, now));
    let read_set = ReadSet::at_version(sql.version()).with_tag(tags::node(id)).with_tag(tags::any_node());
    Ok(NodeRead { document, read_set, side_effect })
}

/// `amem://sessions`, by descending id.
fn sessions_json(sql: &mut dyn Sql, before: Option<SessionId>, limit: usize) -> Result<Value> {
    let count = counters::read(sql)?.sessions;
    let mut page = session::page(sql, before, limit + 1)?;
    let has_more = page.len() > limit;
    page.truncate(limit);
    let sessions: Vec<Value> = page.iter().map(session::Session::to_json).collect();
    let mut document = json!({"count": count, "sessions": sessions});
    if let (true, Some(last), Some(document)) = (has_more, page.last(), document.as_object_mut()) {
        document
            .insert("next_cursor".into(), cursor::encode(SESSIONS_CURSOR_SCOPE, &last.id.to_string()).into());
    }
    Ok(document)
}
