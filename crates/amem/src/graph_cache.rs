//! The graph cache: nodes and their edges in both directions. A traversal keeps what it has read itself; nodes that
//! traversals read a second time are cached for later ones. Caching on the first read cost 15 µs per cold traversal
//! of 240 µs.
//!
//! The cache is an optimisation; the database is the source of truth. A tenant's part belongs to one version. A
//! traversal in a snapshot of a later version first drops the nodes that the changes in between have touched: a
//! node's tag stands for the node and its edges. A traversal in a snapshot of an earlier version does not use the
//! cache. Accesses make no version, so access statistics are not cached.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, MutexGuard};

use hashbrown::{DefaultHashBuilder, HashMap};
use quad_core::lock::MutexExt as _;
use quad_core::{Result, Tag, TenantId, Version};
use quad_store::Sql;
use quad_store::fast_path::tags_changed_since;

use crate::edge::{Direction, Edge, EdgeTypeSet};
use crate::node::{NodeId, StaticNode};
use crate::{adjacency, errors, limits, tags};

/// The cache of all tenants.
#[derive(Default)]
pub(crate) struct GraphCache(Mutex<Tenants>);

#[derive(Default)]
struct Tenants {
    by_tenant: HashMap<TenantId, TenantCache>,
    /// The bytes inserted since the cache was last cleared.
    bytes: usize,
    admission: AdmissionFilter,
}

/// The cache of one tenant.
struct TenantCache {
    version: Version,
    nodes: HashMap<NodeId, CachedNode>,
}

/// The cached data of one node.
#[derive(Clone, Default)]
struct CachedNode {
    node: Option<Arc<StaticNode>>,
    /// By direction; only complete lists of all types.
    edges: [Option<Arc<[Edge]>>; 2],
}

/// The approximate memory of a node beside its content, and of an edge.
const NODE_BYTES: usize = 256;
const EDGE_BYTES: usize = 40;

impl CachedNode {
    /// Takes over the fields that `other` has.
    fn merge(&mut self, other: &CachedNode) {
        if other.node.is_some() {
            self.node.clone_from(&other.node);
        }
        for (own, others) in self.edges.iter_mut().zip(&other.edges) {
            if others.is_some() {
                own.clone_from(others);
            }
        }
    }

    fn bytes(&self) -> usize {
        let edges = self.edges.iter().flatten().map(|edges| NODE_BYTES / 2 + EDGE_BYTES * edges.len());
        self.node.as_ref().map_or(0, |node| NODE_BYTES + node.content.len()) + edges.sum::<usize>()
    }
}

/// Which nodes have been read at least once: one bit per node, shared on hash collisions.
struct AdmissionFilter {
    bits: Box<[u64]>,
    bits_set: usize,
    hasher: DefaultHashBuilder,
}

impl Default for AdmissionFilter {
    fn default() -> AdmissionFilter {
        let words = limits::ADMISSION_BITS / 64;
        AdmissionFilter { bits: vec![0; words].into(), bits_set: 0, hasher: DefaultHashBuilder::default() }
    }
}

impl AdmissionFilter {
    /// Returns whether the node was read before, and records this read.
    fn seen_before(&mut self, tenant: &TenantId, id: NodeId) -> bool {
        let bit = self.hasher.hash_one((tenant, id)) as usize % limits::ADMISSION_BITS;
        let (word, mask) = (&mut self.bits[bit / 64], 1 << (bit % 64));
        let seen = *word & mask != 0;
        if !seen {
            *word |= mask;
            self.bits_set += 1;
            if self.bits_set > limits::ADMISSION_BITS / 4 {
                self.bits.fill(0);
                self.bits_set = 0;
            }
        }
        seen
    }
}

impl TenantCache {
    fn new(version: Version) -> TenantCache {
        TenantCache { version, nodes: HashMap::new() }
    }

    /// Moves to a later version and drops the changed nodes; drops all nodes if the changes are not known or too
    /// many.
    fn advance_to(&mut self, version: Version, changed_tags: Option<&[Tag]>) {
        let Some(changed_tags) = changed_tags.filter(|changed| !changed.contains(&tags::any_node())) else {
            *self = TenantCache::new(version);
            return;
        };
        self.version = version;
        for id in changed_tags.iter().filter_map(tags::parse_node) {
            self.nodes.remove(&id);
        }
    }
}

/// The graph in one snapshot, read from the cache where possible.
pub(crate) struct GraphReader<'s> {
    sql: &'s mut dyn Sql,
    cache: &'s GraphCache,
    /// The nodes that this reader has read, in its snapshot.
    nodes: HashMap<NodeId, CachedNode>,
}

impl<'s> GraphReader<'s> {
    pub(crate) fn new(sql: &'s mut dyn Sql, cache: &'s GraphCache) -> Result<GraphReader<'s>> {
        let (tenant, version) = (sql.tenant().clone(), sql.version());
        let stale_version = {
            let mut tenants = cache.lock();
            let tenant_cache =
                tenants.by_tenant.entry(tenant.clone()).or_insert_with(|| TenantCache::new(version));
            if tenant_cache.nodes.is_empty() && tenant_cache.version < version {
                tenant_cache.version = version;
            }
            (tenant_cache.version < version).then_some(tenant_cache.version)
        };
        if let Some(stale_version) = stale_version {
            let changed_tags = tags_changed_since(sql, stale_version)?;
            // Another reader may have advanced it meanwhile.
            if let Some(tenant_cache) =
                cache.lock().by_tenant.get_mut(&tenant).filter(|cached| cached.version == stale_version)
            {
                tenant_cache.advance_to(version, changed_tags.as_deref());
            }
        }
        Ok(GraphReader { sql, cache, nodes: HashMap::new() })
    }

    /// The ids that are not loaded yet, after taking over what the cache has for this snapshot's version.
    fn misses(&mut self, ids: &[NodeId], is_loaded: impl Fn(&CachedNode) -> bool) -> Vec<NodeId> {
        let has_loaded =
            |nodes: &HashMap<NodeId, CachedNode>, id: &NodeId| nodes.get(id).is_some_and(&is_loaded);
        let mut missing: Vec<NodeId> =
            ids.iter().copied().filter(|id| !has_loaded(&self.nodes, id)).collect();
        if missing.is_empty() {
            return missing;
        }
        let tenants = self.cache.lock();
        let tenant_cache =
            tenants.by_tenant.get(self.sql.tenant()).filter(|cached| cached.version == self.sql.version());
        if let Some(tenant_cache) = tenant_cache.filter(|cached| !cached.nodes.is_empty()) {
            for id in &missing {
                if let Some(cached) = tenant_cache.nodes.get(id) {
                    self.nodes.entry(*id).or_default().merge(cached);
                }
            }
            drop(tenants);
            missing.retain(|id| !has_loaded(&self.nodes, id));
        }
        missing
    }

    /// Keeps loaded nodes, and caches those that were read before if the cache has this snapshot's version. Clears
    /// the whole cache when it exceeds its size limit.
    fn insert(&mut self, loaded: impl IntoIterator<Item = (NodeId, CachedNode)>) {
        let (tenant, version) = (self.sql.tenant(), self.sql.version());
        let mut tenants = self.cache.lock();
        let Tenants { by_tenant, bytes, admission } = &mut *tenants;
        let mut tenant_cache = by_tenant.get_mut(tenant).filter(|cached| cached.version == version);
        for (id, node) in loaded {
            if let Some(tenant_cache) = tenant_cache.as_mut().filter(|_| admission.seen_before(tenant, id)) {
                *bytes += node.bytes();
                tenant_cache.nodes.entry(id).or_default().merge(&node);
            }
            self.nodes.entry(id).or_default().merge(&node);
        }
        if *bytes > limits::CACHE_BYTES {
            *tenants = Tenants::default();
        }
    }

    /// Loads these nodes. Missing ids are skipped.
    pub(crate) fn load_nodes(&mut self, ids: &[NodeId]) -> Result<()> {
        let missing = self.misses(ids, |cached| cached.node.is_some());
        if missing.is_empty() {
            return Ok(());
        }
        let loaded =
            adjacency::nodes_with_packed_edges(self.sql, &missing)?.into_iter().map(|(node, edges)| {
                (node.id, CachedNode { node: Some(Arc::new(node)), edges: [edges.map(Arc::from), None] })
            });
        self.insert(loaded.collect::<Vec<_>>());
        Ok(())
    }

    /// A loaded node.
    pub(crate) fn node(&self, id: NodeId) -> Option<&Arc<StaticNode>> {
        self.nodes.get(&id)?.node.as_ref()
    }

    /// Returns an error if the node does not exist.
    pub(crate) fn ensure_exists(&mut self, id: NodeId) -> Result<()> {
        self.load_nodes(&[id])?;
        self.node(id).map(drop).ok_or_else(|| errors::node_not_found(id))
    }

    /// The edges of these nodes in one direction, as [`for_nodes`](crate::edge::for_nodes) returns them.
    pub(crate) fn edges(
        &mut self,
        ids: &[NodeId],
        direction: Direction,
        types: EdgeTypeSet,
    ) -> Result<BTreeMap<NodeId, Vec<Edge>>> {
        let mut edges_by_node = BTreeMap::new();
        if types.is_empty() {
            return Ok(edges_by_node);
        }
        let index = direction as usize;
        let missing = self.misses(ids, |cached| cached.edges[index].is_some());
        if !missing.is_empty() {
            let nodes = &self.nodes;
            let exists = |id| nodes.get(&id).is_some_and(|cached| cached.node.is_some());
            let loaded = adjacency::load_edges(&mut *self.sql, &missing, direction, types, exists)?;
            edges_by_node = loaded.wanted;
            self.insert(loaded.complete.into_iter().map(|(id, edges)| {
                let mut cached = CachedNode::default();
                cached.edges[index] = Some(edges.into());
                (id, cached)
            }));
        }
        for id in ids {
            if let Some(edges) = self.nodes.get(id).and_then(|cached| cached.edges[index].as_ref()) {
                let edges = edges.iter().filter(|edge| types.contains(edge.edge_type));
                edges_by_node.insert(*id, edges.copied().collect());
            }
        }
        Ok(edges_by_node)
    }
}

impl GraphCache {
    fn lock(&self) -> MutexGuard<'_, Tenants> {
        self.0.lock_unpoisoned()
    }
}

#[cfg(test)]
impl GraphCache {
    fn clear(&self) {
        *self.lock() = Tenants::default();
    }
}

#[cfg(test)]
mod tests {
    use quad_store::testing::TestRng;
    use quad_store::{Tx, params};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{MemoryEnv, test_envs_with_data};

    /// A random write to the graph.
    fn random_write(rng: &mut TestRng, nodes: usize) -> (&'static str, Value) {
        let (a, b) = (rng.below(nodes), rng.below(nodes));
        let types = ["caused_by", "supports", "contradicts", "related_to", "part_of"];
        let edge_type = types[rng.below(5)];
        match rng.below(12) {
            0..4 => (
                "memory_add",
                json!({"event_type": "fact", "content": format!("fact {}", rng.below(1_000)),
                    "edges": [{"target_id": a, "edge_type": edge_type}]}),
            ),
            4..7 => (
                "memory_link",
                json!({"source_id": a, "target_id": b, "edge_type": edge_type, "weight": 0.5}),
            ),
            7 => (
                "memory_link",
                json!({"source_id": a, "target_id": b, "edge_type": edge_type, "remove": true}),
            ),
            8 => ("memory_correct", json!({"old_node_id": a, "new_content": "corrected"})),
            9 => ("memory_forget", json!({"node_id": a, "reason": "test"})),
            10 => ("session_end", json!({"create_episode": true, "summary": "an episode"})),
            _ => {
                // More nodes than a change names one by one.
                let edges: Vec<Value> = (0..nodes)
                    .map(|target| {
                        json!({"event_type": "fact", "content": "one of many",
                        "edges": [{"target_id": target, "edge_type": "related_to"}]})
                    })
                    .collect();
                ("memory_add_many", json!({"nodes": edges, "chain": false}))
            }
        }
    }

    async fn traversal_answers(env: &MemoryEnv, start: usize, to: usize) -> Vec<Value> {
        let mut all = Vec::new();
        for (tool, arguments) in [
            ("memory_traverse", json!({"start_id": start, "direction": "both", "max_results": 30})),
            ("memory_traverse", json!({"start_id": start, "edge_types": ["supports", "related_to"]})),
            ("memory_context", json!({"node_id": start, "depth": 2})),
            ("memory_causal", json!({"node_id": start})),
            ("memory_path", json!({"from_id": start, "to_id": to})),
        ] {
            let answer = env.call(tool, arguments).await;
            all.push(answer.unwrap_or_else(|error| json!({"refused": error.code()})));
        }
        all
    }

    /// Two processes write by turns; both must answer traversals like an empty cache does.
    #[tokio::test(flavor = "multi_thread")]
    async fn graph_cache_matches_database() {
        for env in test_envs_with_data().await {
            let mut rng = TestRng::new(7);
            let processes = [env.reopen_same_dir().await, env.reopen_same_dir().await];
            for round in 0..60 {
                let stats = env.read("amem://graph/stats").await.unwrap();
                let nodes = (stats["node_count"].as_u64().unwrap() as usize).clamp(4, 90);
                let (tool, arguments) = random_write(&mut rng, nodes);
                let writer = &processes[rng.below(2)];
                // A write may fail; it must then change nothing.
                let _ = writer.call(tool, arguments.clone()).await;
                let (start, to) = (rng.below(nodes), rng.below(nodes));
                env.scheme.graph_cache.clear();
                let expected = traversal_answers(&env, start, to).await;
                for process in &processes {
                    let found = traversal_answers(process, start, to).await;
                    assert_eq!(
                        found, expected,
                        "round {round}: {tool} {arguments}, then from {start} to {to}"
                    );
                }
            }
            let has_cached_nodes = |process: &MemoryEnv| {
                process.scheme.graph_cache.lock().by_tenant.values().any(|part| !part.nodes.is_empty())
            };
            assert!(processes.iter().all(has_cached_nodes), "otherwise nothing was tried");
        }
    }

    /// The packed edges of all nodes.
    async fn packed_columns(env: &MemoryEnv) -> Vec<Option<String>> {
        let columns = env.test_store.store.read(&env.test_store.tenant, |sql| {
            let tenant = sql.tenant().to_string();
            let rows = sql
                .query("SELECT outgoing FROM amem_node WHERE tenant_id = $1 ORDER BY id", params![tenant])?;
            rows.iter().map(|row| Ok(row.opt_text(0)?.map(str::to_owned))).collect::<Result<Vec<_>>>()
        });
        columns.await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn null_packed_edges_fall_back_to_table() {
        for env in test_envs_with_data().await {
            assert!(packed_columns(&env).await.iter().all(Option::is_some));
            let expected = traversal_answers(&env, 0, 3).await;
            let clear_packed_edges =
                |tx: &mut Tx<'_>| Ok(tx.execute("UPDATE amem_node SET outgoing = NULL", &[])?);
            assert_eq!(
                env.test_store
                    .store
                    .write_unaudited(&env.test_store.tenant, clear_packed_edges)
                    .await
                    .unwrap(),
                4
            );
            env.scheme.graph_cache.clear();
            assert_eq!(traversal_answers(&env, 0, 3).await, expected);
            assert_eq!(
                env.scheme.check_integrity(&env.test_store.tenant).await.unwrap().violations,
                Vec::<String>::new()
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn packed_edges_null_above_limit() {
        for env in test_envs_with_data().await {
            let limit = limits::MAX_PACKED_EDGES;
            let nodes: Vec<Value> =
                (0..=limit).map(|_| json!({"event_type": "fact", "content": "a leaf"})).collect();
            let hub = json!({"event_type": "fact", "content": "hub",
                "edges": (1..=limit).map(|index| json!({"target_index": index, "edge_type": "part_of"})).collect::<Vec<_>>()});
            let nodes: Vec<Value> = std::iter::once(hub).chain(nodes).collect();
            let added = env.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
            let hub = added["node_ids"][0].as_i64().unwrap();
            let last = hub + limit as i64 + 1;
            let assert_reached = async |expected: usize| {
                let arguments = json!({"start_id": hub, "max_results": 100});
                assert_eq!(env.call("memory_traverse", arguments).await.unwrap()["visited_count"], expected);
                env.scheme.graph_cache.clear();
                let context = env.call("memory_context", json!({"node_id": hub, "depth": 1})).await.unwrap();
                assert_eq!(context["node_count"], expected);
                assert_eq!(
                    env.scheme.check_integrity(&env.test_store.tenant).await.unwrap().violations,
                    Vec::<String>::new()
                );
            };
            let hub_index = usize::try_from(hub).unwrap();
            assert_eq!(
                packed_columns(&env).await[hub_index].as_deref().unwrap().split(' ').count(),
                3 * limit
            );
            assert_reached(limit + 1).await;
            let link = json!({"source_id": hub, "target_id": last, "edge_type": "part_of"});
            env.call("memory_link", link.clone()).await.unwrap();
            assert_eq!(packed_columns(&env).await[hub_index], None);
            assert_reached(limit + 2).await;
            let mut unlink = link;
            unlink["remove"] = true.into();
            env.call("memory_link", unlink).await.unwrap();
            assert!(packed_columns(&env).await[hub_index].is_some());
            assert_reached(limit + 1).await;
            // The deleted node is the target of an edge of another node.
            env.call("memory_forget", json!({"node_id": hub + 1, "reason": "test"})).await.unwrap();
            assert_reached(limit).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn node_read_before_insert_shows_edges_later() {
        for env in test_envs_with_data().await {
            let traverse = || env.call("memory_traverse", json!({"start_id": 4, "direction": "both"}));
            assert_eq!(traverse().await.unwrap_err().code(), "NOT_FOUND");
            let added = json!({"event_type": "fact", "content": "late",
                "edges": [{"target_id": 2, "edge_type": "supports"}]});
            assert_eq!(env.call("memory_add", added).await.unwrap()["node_id"], 4);
            let result = traverse().await.unwrap();
            assert!(result["visited_count"].as_i64().unwrap() > 1, "{result}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn graph_cache_bypassed_for_other_version() {
        for env in test_envs_with_data().await {
            let result = env.test_store.store.read(&env.test_store.tenant, |sql| {
                let cache = GraphCache::default();
                let load_node = |sql: &mut dyn Sql| -> Result<Arc<StaticNode>> {
                    let mut graph = GraphReader::new(sql, &cache)?;
                    graph.ensure_exists(NodeId(0))?;
                    Ok(graph.node(NodeId(0)).unwrap().clone())
                };
                let from_db = load_node(sql)?;
                let tenant = sql.tenant().clone();
                let from_cache =
                    Arc::new(StaticNode { content: "of another version".into(), ..from_db.as_ref().clone() });
                let fill_cache = |version: i64| {
                    let mut tenant_cache = TenantCache::new(Version(version));
                    tenant_cache.nodes.insert(
                        NodeId(0),
                        CachedNode { node: Some(from_cache.clone()), ..CachedNode::default() },
                    );
                    cache.lock().by_tenant.insert(tenant.clone(), tenant_cache);
                };
                let version = sql.version().0;
                // A cache of the snapshot's version is used.
                fill_cache(version);
                assert_eq!(load_node(sql)?, from_cache);
                // A later version, and a version so old that the changes since are no longer known.
                for other in [version + 1, version - 2_000] {
                    fill_cache(other);
                    assert_eq!(load_node(sql)?, from_db);
                }
                Ok(())
            });
            result.await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn graph_cache_cleared_when_full() {
        for env in test_envs_with_data().await {
            let result = env.test_store.store.read(&env.test_store.tenant, |sql| {
                let cache = GraphCache::default();
                let cached_nodes =
                    || cache.lock().by_tenant.values().map(|part| part.nodes.len()).sum::<usize>();
                // The first read does not cache the node; the second does.
                for expected in [0, 1, 1] {
                    GraphReader::new(sql, &cache)?.load_nodes(&[NodeId(0)])?;
                    assert_eq!(cached_nodes(), expected);
                }
                cache.lock().bytes = limits::CACHE_BYTES;
                let mut graph = GraphReader::new(sql, &cache)?;
                graph.load_nodes(&[NodeId(0), NodeId(1)])?;
                assert_eq!(cached_nodes(), 1);
                let mut graph = GraphReader::new(sql, &cache)?;
                graph.load_nodes(&[NodeId(0), NodeId(1)])?;
                assert!(graph.node(NodeId(0)).is_some() && graph.node(NodeId(1)).is_some());
                assert!(cache.lock().by_tenant.is_empty() && cache.lock().bytes == 0);
                assert_eq!(graph.edges(&[NodeId(1)], Direction::Outgoing, EdgeTypeSet::ALL)?.len(), 1);
                Ok(())
            });
            result.await.unwrap();
        }
    }
}
