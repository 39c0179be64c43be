//! Neighborhoods: a node, the nodes up to some links away, and the edges between them.
//!
//! With a [`LinkIndex`](quad_core::LinkIndex), the first page also lists the resources of all schemes that cite the
//! center and that it cites.

use std::collections::BTreeMap;

use quad_core::{Content, JsonObjectWriter, Principal, ReadOutput, ReadSet, Result};
use quad_store::{Snapshot, Sql};

use crate::edge::{Direction, Edge, EdgeType, EdgeTypeSet};
use crate::graph_cache::{GraphCache, GraphReader};
use crate::node::{NodeId, StaticField};
use crate::traversal::{EdgeFilter, TraversalOptions, TraversalPage, traverse_page};
use crate::{Amem, limits};

/// The default depth of a neighborhood.
pub(crate) const DEFAULT_DEPTH: usize = 2;

/// The document of a page of a neighborhood, without links, and what it depends on.
pub(crate) fn read(
    sql: &mut dyn Sql,
    graph_cache: &GraphCache,
    id: NodeId,
    depth: usize,
    offset: usize,
) -> Result<(JsonObjectWriter, ReadSet)> {
    let version = sql.version();
    let page = Neighborhood::load(&mut GraphReader::new(sql, graph_cache)?, id, depth, offset)?;
    Ok((page.document(), page.page.add_dependencies(ReadSet::at_version(version))))
}

/// `amem://node/{id}/neighborhood` with its links. Not cacheable: it depends on what else the caller may read, and
/// a resource that exists again invalidates no tag.
pub(crate) async fn read_neighborhood(
    amem: &Amem,
    caller: &Principal,
    id: NodeId,
    depth: usize,
) -> Result<ReadOutput> {
    let (document, read_set) = read_with_links(amem, caller, id, depth, 0).await?;
    let output = ReadOutput::new(Content::from_json_text(document.into()), read_set);
    Ok(ReadOutput { cacheable: false, ..output })
}

/// A page of a neighborhood. The first page has the links that the caller may see.
pub(crate) async fn read_with_links(
    amem: &Amem,
    caller: &Principal,
    id: NodeId,
    depth: usize,
    offset: usize,
) -> Result<(JsonObjectWriter, ReadSet)> {
    let graph_cache = amem.graph_cache.clone();
    let load = move |sql: &mut Snapshot<'_>| read(sql, &graph_cache, id, depth, offset);
    let (mut document, read_set) = amem.store.read_inline(&caller.tenant, load).await?;
    if offset > 0 {
        return Ok((document, read_set));
    }
    let read_set = add_links(amem, caller, id, &mut document, read_set).await?;
    Ok((document, read_set))
}

/// Adds the links of a node that the caller may see to its document. Returns what the document then depends on.
pub(crate) async fn add_links(
    amem: &Amem,
    caller: &Principal,
    id: NodeId,
    document: &mut JsonObjectWriter,
    read_set: ReadSet,
) -> Result<ReadSet> {
    let Some(link_index) = &amem.link_index else { return Ok(read_set) };
    let visible = link_index.links_of(caller, &id.uri()).await?;
    if !visible.links.is_empty() {
        document.put("links", visible.links);
    }
    if visible.is_truncated {
        document.put("links_cut", true);
    }
    let mut read_set = read_set.merge(&visible.read_set);
    read_set.visible_hash = visible.read_set.visible_hash;
    Ok(read_set)
}

/// A node, the nodes around it, and the edges between them.
#[derive(Clone, Debug)]
pub(crate) struct Neighborhood {
    center: NodeId,
    depth: usize,
    page: TraversalPage,
    edges: Vec<Edge>,
}

impl Neighborhood {
    /// The scope of its cursors.
    pub(crate) fn cursor_scope(center: NodeId, depth: usize) -> String {
        format!("amem context {center} {depth}")
    }

    /// The page from `offset` on. An edge belongs to the page of its later end.
    pub(crate) fn load(
        graph: &mut GraphReader<'_>,
        center: NodeId,
        depth: usize,
        offset: usize,
    ) -> Result<Neighborhood> {
        let options = TraversalOptions {
            start: center,
            edge_filter: EdgeFilter::ALL,
            max_depth: depth,
            min_confidence: 0.0,
            max_nodes: 0,
        };
        let page = traverse_page(
            graph,
            options,
            &Neighborhood::cursor_scope(center, depth),
            offset,
            limits::NEIGHBORHOOD_PAGE_NODES,
        )?;
        let positions: BTreeMap<NodeId, usize> = page
            .traversal
            .visited
            .iter()
            .enumerate()
            .map(|(position, visited)| (visited.node.id, position))
            .collect();
        let page_ids: Vec<NodeId> = page.nodes().iter().map(|visited| visited.node.id).collect();
        let mut edges: BTreeMap<(NodeId, NodeId, EdgeType), Edge> = BTreeMap::new();
        let mut edges_of_page = |direction| -> Result<BTreeMap<NodeId, Vec<Edge>>> {
            let mut edges = BTreeMap::new();
            for chunk in page_ids.chunks(limits::EXPANSION_CHUNK_NODES) {
                edges.extend(graph.edges(chunk, direction, EdgeTypeSet::ALL)?);
            }
            Ok(edges)
        };
        let outgoing = edges_of_page(Direction::Outgoing)?;
        // On the first page, the source of every edge between its nodes is on the page too, so the outgoing edges
        // are enough unless a list was cut at the limit.
        let sources_have_all_edges =
            offset == 0 && outgoing.values().all(|edges| edges.len() < limits::MAX_EDGES_PER_EXPANSION);
        let incoming =
            if sources_have_all_edges { BTreeMap::new() } else { edges_of_page(Direction::Incoming)? };
        for (direction, edges_by_node) in [(Direction::Outgoing, outgoing), (Direction::Incoming, incoming)] {
            for (id, node_edges) in edges_by_node {
                let end_of_own = positions.get(&id).map_or(0, |position| position + 1);
                let end = if sources_have_all_edges { page.end } else { end_of_own };
                let ends_here = |edge: &Edge| {
                    positions.get(&direction.far_end(edge)).is_some_and(|position| *position < end)
                };
                edges.extend(node_edges.into_iter().filter(ends_here).map(|edge| (edge.key(), edge)));
            }
        }
        Ok(Neighborhood { center, depth, page, edges: edges.into_values().collect() })
    }

    /// The document of the page.
    pub(crate) fn document(&self) -> JsonObjectWriter {
        const FIELDS: [StaticField; 6] = [
            StaticField::Id,
            StaticField::EventType,
            StaticField::Content,
            StaticField::Confidence,
            StaticField::Session,
            StaticField::SupersededBy,
        ];
        let nodes = self.page.nodes();
        let mut document = JsonObjectWriter::default();
        document.put("center_id", self.center.0);
        document.put("depth", self.depth);
        document.put("node_count", nodes.len());
        document.put("edge_count", self.edges.len());
        document.put_array("nodes", nodes, |object, visited| visited.node.write_json(object, &FIELDS));
        document.put_array("edges", &self.edges, |object, edge| edge.write_json(object));
        self.page.put_cursor(&mut document);
        document
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use quad_core::resolver::View;
    use quad_core::tool::NoProgress;
    use quad_core::{LinkIndex, Resolver, Scheme, Tag, VisibleLinks};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::test_envs_with_data;
    use crate::tools::result_tests::assert_matches_schema;

    /// A link as the index of links shows it.
    fn link() -> Value {
        json!({"id": "lnk_1", "from": "brain://article/1", "to": "amem://node/0", "relation": "cites",
            "note": "see there", "created_by": "agent_2", "created_at": "2026-01-31T08:30:00Z"})
    }

    /// Returns one link of node 0 to `agent_1`, and counts its calls.
    #[derive(Default)]
    struct FakeLinkIndex(AtomicUsize);

    #[async_trait::async_trait]
    impl LinkIndex for FakeLinkIndex {
        async fn links_of(&self, caller: &Principal, uri: &str) -> Result<VisibleLinks> {
            self.0.fetch_add(1, Ordering::Relaxed);

            let has_link = uri == "amem://node/0" && &*caller.subject == "agent_1";
            let hidden = ReadSet::default().with_tag(Tag::new("link:to:x"));
            let mut read_set = ReadSet::default().merge_hidden(&hidden);
            read_set.visible_hash = Some("these".into());
            let links = if has_link { vec![link()] } else { Vec::new() };
            Ok(VisibleLinks { links, is_truncated: has_link, read_set })
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn neighborhood_includes_visible_links() {
        for env in test_envs_with_data().await {
            let link_index = Arc::new(FakeLinkIndex::default());
            let store = Arc::new(env.test_store.store.clone());
            let folder = tempfile::tempdir().unwrap();
            let amem =
                Amem::new(env.test_store.store.clone(), folder.path()).with_link_index(link_index.clone());
            let amem = Arc::new(amem);
            let resolver = Resolver::new(vec![amem as Arc<dyn Scheme>], store.clone(), store).unwrap();
            let read = async |caller: &Principal, uri: &str| {
                let answer = resolver.read(caller, View::All, uri).await.unwrap();
                assert!(!answer.read.cacheable, "it depends on the caller");
                assert!(answer.read.read_set.is_invalidated_by(&[Tag::new("link:to:x")]));
                assert_eq!(answer.read.read_set.visible_hash.as_deref(), Some("these"));
                serde_json::from_slice::<Value>(answer.read.contents[0].bytes()).unwrap()
            };
            let neighborhood = read(&env.caller, "amem://node/0/neighborhood").await;
            assert_eq!(
                (&neighborhood["links"], &neighborhood["links_cut"]),
                (&json!([link()]), &json!(true))
            );
            let without_links = env.read("amem://node/1/neighborhood").await.unwrap();
            assert_eq!(read(&env.caller, "amem://node/1/neighborhood").await, without_links);
            // A node shows them too, and the read still counts as an access.
            let node = read(&env.caller, "amem://node/0").await;
            assert_eq!((&node["links"], &node["access_count"]), (&json!([link()]), &json!(1)));
            assert_eq!(read(&env.caller, "amem://node/0").await["access_count"], 2);
            let other = Principal { subject: "agent_2".into(), ..env.caller.clone() };
            assert!(read(&other, "amem://node/0/neighborhood").await.get("links").is_none());
            let arguments = json!({"node_id": 0}).as_object().unwrap().clone();
            let context =
                resolver.call_tool(&env.caller, View::All, "memory_context", arguments, &NoProgress).await;
            let context = context.unwrap().structured_value().unwrap();
            assert_matches_schema("memory_context", &context);
            assert_eq!(context, neighborhood);
            // An existence check reads the graph only.
            let calls_before = link_index.0.load(Ordering::Relaxed);
            resolver.check_readable(&env.caller, "amem://node/0/neighborhood").await.unwrap();
            assert!(resolver.check_readable(&env.caller, "amem://node/99/neighborhood").await.is_err());
            assert_eq!(link_index.0.load(Ordering::Relaxed), calls_before);
        }
    }
}
