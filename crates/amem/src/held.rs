//! What walks have met: nodes, and their edges on either side. A walk knows what it has met itself, and, out of memory, what walks
//! before it have met more than once: to hold whatever is met but once would cost a walk over new ground as much as half of finding it.
//!
//! What is held is never the truth. A tenant's part is as of one version: a walk in a snapshot of a later one first drops what the changes
//! between have touched, since a node's tag stands for the node and its edges; a walk in an earlier one does without. Accesses make
//! no version, so what they change of a node is no part of it.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap};
use quad_core::{Result, Tag, TenantId, Version};
use quad_store::{Sql, tags_changed_since};

use crate::edge::{self, Edge, EdgeTypes, Side};
use crate::node::{self, Node, NodeId};
use crate::{limits, refusal, tags};

/// What is held of all tenants.
#[derive(Default)]
pub(crate) struct Held(Mutex<Parts>);

#[derive(Default)]
struct Parts {
    of: HashMap<TenantId, Part>,
    /// What has been taken in since the last time that all was forgotten.
    bytes: usize,
    glimpsed: Glimpsed,
}

/// What is held of one.
struct Part {
    version: Version,
    met: HashMap<NodeId, Met>,
}

/// What is known of one node.
#[derive(Clone, Default)]
struct Met {
    /// Without its accesses.
    node: Option<Arc<Node>>,
    /// By side; whole lists alone, of all types.
    edges: [Option<Arc<[Edge]>>; 2],
}

/// What a node weighs beside its content, and an edge; roughly.
const NODE_BYTES: usize = 256;
const EDGE_BYTES: usize = 40;

impl Met {
    /// Learns what another knows.
    fn learn(&mut self, other: &Met) {
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

/// Which nodes have been met at least once: a bit for each, which some may share.
struct Glimpsed {
    bits: Box<[u64]>,
    set: usize,
    hashes: DefaultHashBuilder,
}

impl Default for Glimpsed {
    fn default() -> Glimpsed {
        let words = limits::GLIMPSED_BITS / 64;
        Glimpsed { bits: vec![0; words].into(), set: 0, hashes: DefaultHashBuilder::default() }
    }
}

impl Glimpsed {
    /// Whether the node has been met before; from now on it has.
    fn again(&mut self, tenant: &TenantId, id: NodeId) -> bool {
        let bit = self.hashes.hash_one((tenant, id)) as usize % limits::GLIMPSED_BITS;
        let (word, mask) = (&mut self.bits[bit / 64], 1 << (bit % 64));
        let again = *word & mask != 0;
        if !again {
            *word |= mask;
            self.set += 1;
            if self.set > limits::GLIMPSED_BITS / 4 {
                self.bits.fill(0);
                self.set = 0;
            }
        }
        again
    }
}

impl Part {
    fn new(version: Version) -> Part {
        Part { version, met: HashMap::new() }
    }

    /// Moves on to a later version, without what was touched on the way; without everything, if nobody knows what was.
    fn move_on(&mut self, version: Version, touched: Option<&[Tag]>) {
        let Some(touched) = touched.filter(|touched| !touched.contains(&tags::bulk())) else {
            *self = Part::new(version);
            return;
        };
        self.version = version;
        for id in touched.iter().filter_map(tags::node_of) {
            self.met.remove(&id);
        }
    }
}

/// The graph as one snapshot shows it, as far as possible out of memory.
pub(crate) struct Graph<'s> {
    sql: &'s mut dyn Sql,
    held: &'s Held,
    /// In this snapshot.
    met: HashMap<NodeId, Met>,
}

impl<'s> Graph<'s> {
    pub(crate) fn new(sql: &'s mut dyn Sql, held: &'s Held) -> Result<Graph<'s>> {
        let (tenant, version) = (sql.tenant().clone(), sql.version());
        let behind = {
            let mut parts = held.parts();
            let part = parts.of.entry(tenant.clone()).or_insert_with(|| Part::new(version));
            if part.met.is_empty() && part.version < version {
                part.version = version;
            }
            (part.version < version).then_some(part.version)
        };
        if let Some(behind) = behind {
            let touched = tags_changed_since(sql, behind)?;
            // Somebody else may have been faster.
            if let Some(part) = held.parts().of.get_mut(&tenant).filter(|part| part.version == behind) {
                part.move_on(version, touched.as_deref());
            }
        }
        Ok(Graph { sql, held, met: HashMap::new() })
    }

    /// Those of these nodes of which something is not known yet, after a look at what is held, if that is of this snapshot's version.
    fn unknown(&mut self, ids: &[NodeId], is_known: impl Fn(&Met) -> bool) -> Vec<NodeId> {
        let knows = |met: &HashMap<NodeId, Met>, id: &NodeId| met.get(id).is_some_and(&is_known);
        let mut unknown: Vec<NodeId> = ids.iter().copied().filter(|id| !knows(&self.met, id)).collect();
        if unknown.is_empty() {
            return unknown;
        }
        let parts = self.held.parts();
        let part = parts.of.get(self.sql.tenant()).filter(|part| part.version == self.sql.version());
        if let Some(part) = part.filter(|part| !part.met.is_empty()) {
            for id in &unknown {
                if let Some(held) = part.met.get(id) {
                    self.met.entry(*id).or_default().learn(held);
                }
            }
            drop(parts);
            unknown.retain(|id| !knows(&self.met, id));
        }
        unknown
    }

    /// Remembers what has been read, and holds it for others where it was met before, if that is of this snapshot's version. Once it
    /// is too much all is forgotten, and what is walked again is met again.
    fn remember(&mut self, read: impl IntoIterator<Item = (NodeId, Met)>) {
        let (tenant, version) = (self.sql.tenant(), self.sql.version());
        let mut parts = self.held.parts();
        let Parts { of, bytes, glimpsed } = &mut *parts;
        let mut part = of.get_mut(tenant).filter(|part| part.version == version);
        for (id, met) in read {
            if let Some(part) = part.as_mut().filter(|_| glimpsed.again(tenant, id)) {
                *bytes += met.bytes();
                part.met.entry(id).or_default().learn(&met);
            }
            self.met.entry(id).or_default().learn(&met);
        }
        if *bytes > limits::HELD_BYTES {
            *parts = Parts::default();
        }
    }

    /// Makes the acquaintance of these nodes, those that exist.
    pub(crate) fn meet(&mut self, ids: &[NodeId]) -> Result<()> {
        let unknown = self.unknown(ids, |met| met.node.is_some());
        if unknown.is_empty() {
            return Ok(());
        }
        let read = node::find_leaving(self.sql, &unknown)?.into_iter().map(|(node, leaving)| {
            (node.id, Met { node: Some(Arc::new(node)), edges: [leaving.map(Arc::from), None] })
        });
        self.remember(read.collect::<Vec<_>>());
        Ok(())
    }

    /// A node that was met. What accesses have made of it is not told.
    pub(crate) fn node(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.met.get(&id)?.node.as_ref()
    }

    /// Refuses a node that does not exist.
    pub(crate) fn expect(&mut self, id: NodeId) -> Result<()> {
        self.meet(&[id])?;
        self.node(id).map(drop).ok_or_else(|| refusal::no_node(id))
    }

    /// The edges of these nodes on one side, as [`edge::of_nodes`] has them.
    pub(crate) fn edges(
        &mut self,
        ids: &[NodeId],
        side: Side,
        types: EdgeTypes,
    ) -> Result<BTreeMap<NodeId, Vec<Edge>>> {
        let mut found = BTreeMap::new();
        if types.is_empty() {
            return Ok(found);
        }
        let place = side as usize;
        let mut unknown = self.unknown(ids, |met| met.edges[place].is_some());
        if side == Side::Outgoing && !unknown.is_empty() {
            let told = node::leaving(self.sql, &unknown)?;
            let told = told
                .into_iter()
                .map(|(id, edges)| (id, Met { node: None, edges: [Some(edges.into()), None] }));
            self.remember(told.collect::<Vec<_>>());
            unknown.retain(|id| self.met.get(id).is_none_or(|met| met.edges[place].is_none()));
        }
        for id in ids {
            if let Some(edges) = self.met.get(id).and_then(|met| met.edges[place].as_ref()) {
                let edges = edges.iter().filter(|edge| types.contains(edge.edge_type));
                found.insert(*id, edges.copied().collect());
            }
        }
        if unknown.is_empty() {
            return Ok(found);
        }
        let mut read = edge::of_nodes(self.sql, &unknown, side, types)?;
        if types == EdgeTypes::ALL {
            let whole = unknown.iter().filter_map(|id| {
                let edges = read.get(id).map(Vec::as_slice).unwrap_or_default();
                // Of a node with too many only the first are told. One without edges may be one that is yet to come, and what
                // comes anew is not told of.
                let is_there = !edges.is_empty() || self.node(*id).is_some();
                let mut met = Met::default();
                met.edges[place] = Some(edges.into());
                (is_there && edges.len() < limits::FANOUT).then_some((*id, met))
            });
            let whole: Vec<(NodeId, Met)> = whole.collect();
            self.remember(whole);
        }
        found.append(&mut read);
        Ok(found)
    }
}

impl Held {
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Held {
    /// Forgets everything, as if nobody had walked yet.
    fn forget(&self) {
        *self.parts() = Parts::default();
    }
}

#[cfg(test)]
mod tests {
    use quad_store::{Tx, params};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{World, fixtures};

    /// The same numbers in every run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, end: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as i64 % end
        }
    }

    /// Something that a caller does to the graph.
    fn deed(dice: &mut Dice, nodes: i64) -> (&'static str, Value) {
        let (a, b) = (dice.below(nodes), dice.below(nodes));
        let types = ["caused_by", "supports", "contradicts", "related_to", "part_of"];
        let edge_type = types[dice.below(5) as usize];
        match dice.below(12) {
            0..4 => (
                "memory_add",
                json!({"event_type": "fact", "content": format!("fact {}", dice.below(1_000)),
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
                // More than a change names one by one.
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

    async fn answers(world: &World, start: i64, to: i64) -> Vec<Value> {
        let mut all = Vec::new();
        for (tool, arguments) in [
            ("memory_traverse", json!({"start_id": start, "direction": "both", "max_results": 30})),
            ("memory_traverse", json!({"start_id": start, "edge_types": ["supports", "related_to"]})),
            ("memory_context", json!({"node_id": start, "depth": 2})),
            ("memory_causal", json!({"node_id": start})),
            ("memory_path", json!({"from_id": start, "to_id": to})),
        ] {
            let answer = world.call(tool, arguments).await;
            all.push(answer.unwrap_or_else(|refused| json!({"refused": refused.code()})));
        }
        all
    }

    /// Whoever writes, every process walks the graph that there is.
    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_held_is_what_there_is() {
        for world in fixtures().await {
            let mut dice = Dice(7);
            let processes = [world.opened_again().await, world.opened_again().await];
            for round in 0..60 {
                let stats = world.read("amem://graph/stats").await.unwrap();
                let nodes = stats["node_count"].as_i64().unwrap().clamp(4, 90);
                let (tool, arguments) = deed(&mut dice, nodes);
                let writer = &processes[dice.below(2) as usize];
                // What cannot be done is refused, and changes nothing.
                let _ = writer.call(tool, arguments.clone()).await;
                let (start, to) = (dice.below(nodes), dice.below(nodes));
                world.amem.held.forget();
                let expected = answers(&world, start, to).await;
                for process in &processes {
                    let found = answers(process, start, to).await;
                    assert_eq!(
                        found, expected,
                        "round {round}: {tool} {arguments}, then from {start} to {to}"
                    );
                }
            }
            let is_held =
                |process: &World| process.amem.held.parts().of.values().any(|part| !part.met.is_empty());
            assert!(processes.iter().all(is_held), "otherwise nothing was tried");
        }
    }

    /// What leaves the nodes, as their rows say it.
    async fn said(world: &World) -> Vec<Option<String>> {
        let said = world.test.store.read(&world.test.tenant, |sql| {
            let tenant = sql.tenant().to_string();
            let rows = sql
                .query("SELECT outgoing FROM amem_node WHERE tenant_id = $1 ORDER BY id", params![tenant])?;
            rows.iter().map(|row| Ok(row.opt_text(0)?.map(str::to_owned))).collect::<Result<Vec<_>>>()
        });
        said.await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_rows_do_not_say_is_found_among_the_edges() {
        for world in fixtures().await {
            assert!(said(&world).await.iter().all(Option::is_some));
            let expected = answers(&world, 0, 3).await;
            let silence = |tx: &mut Tx<'_>| Ok(tx.execute("UPDATE amem_node SET outgoing = NULL", &[])?);
            assert_eq!(world.test.store.write_unaudited(&world.test.tenant, silence).await.unwrap(), 4);
            world.amem.held.forget();
            assert_eq!(answers(&world, 0, 3).await, expected);
            assert_eq!(world.amem.check(&world.test.tenant).await.unwrap().faults, Vec::<String>::new());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_row_says_what_leaves_it_unless_that_is_too_much() {
        for world in fixtures().await {
            let most = limits::PACKED_EDGES;
            let nodes: Vec<Value> =
                (0..=most).map(|_| json!({"event_type": "fact", "content": "a leaf"})).collect();
            let hub = json!({"event_type": "fact", "content": "hub",
                "edges": (1..=most).map(|index| json!({"target_index": index, "edge_type": "part_of"})).collect::<Vec<_>>()});
            let nodes: Vec<Value> = std::iter::once(hub).chain(nodes).collect();
            let added = world.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
            let hub = added["node_ids"][0].as_i64().unwrap();
            let last = hub + most as i64 + 1;
            let reached = async |expected: usize| {
                let walk = json!({"start_id": hub, "max_results": 100});
                assert_eq!(world.call("memory_traverse", walk).await.unwrap()["visited_count"], expected);
                world.amem.held.forget();
                let context =
                    world.call("memory_context", json!({"node_id": hub, "depth": 1})).await.unwrap();
                assert_eq!(context["node_count"], expected);
                assert_eq!(world.amem.check(&world.test.tenant).await.unwrap().faults, Vec::<String>::new());
            };
            let place = usize::try_from(hub).unwrap();
            assert_eq!(said(&world).await[place].as_deref().unwrap().split(' ').count(), 3 * most);
            reached(most + 1).await;
            let link = json!({"source_id": hub, "target_id": last, "edge_type": "part_of"});
            world.call("memory_link", link.clone()).await.unwrap();
            assert_eq!(said(&world).await[place], None);
            reached(most + 2).await;
            let mut unlink = link;
            unlink["remove"] = true.into();
            world.call("memory_link", unlink).await.unwrap();
            assert!(said(&world).await[place].is_some());
            reached(most + 1).await;
            // What leads to a node that is forgotten leaves another that is not.
            world.call("memory_forget", json!({"node_id": hub + 1, "reason": "test"})).await.unwrap();
            reached(most).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_node_that_was_asked_for_before_it_was_there_has_its_edges() {
        for world in fixtures().await {
            let walk = || world.call("memory_traverse", json!({"start_id": 4, "direction": "both"}));
            assert_eq!(walk().await.unwrap_err().code(), "NOT_FOUND");
            let added = json!({"event_type": "fact", "content": "late",
                "edges": [{"target_id": 2, "edge_type": "supports"}]});
            assert_eq!(world.call("memory_add", added).await.unwrap()["node_id"], 4);
            let walked = walk().await.unwrap();
            assert!(walked["visited_count"].as_i64().unwrap() > 1, "{walked}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_snapshot_of_another_version_does_without() {
        for world in fixtures().await {
            let looked = world.test.store.read(&world.test.tenant, |sql| {
                let held = Held::default();
                let looked = |sql: &mut dyn Sql| -> Result<Arc<Node>> {
                    let mut graph = Graph::new(sql, &held)?;
                    graph.expect(NodeId(0))?;
                    Ok(graph.node(NodeId(0)).unwrap().clone())
                };
                let right = looked(sql)?;
                let tenant = sql.tenant().clone();
                let wrong = Arc::new(Node { content: "of another version".into(), ..right.as_ref().clone() });
                let hold = |version: i64| {
                    let mut part = Part::new(Version(version));
                    part.met.insert(NodeId(0), Met { node: Some(wrong.clone()), ..Met::default() });
                    held.parts().of.insert(tenant.clone(), part);
                };
                let version = sql.version().0;
                // What is held is believed, if it is of this version.
                hold(version);
                assert_eq!(looked(sql)?, wrong);
                // Later, and so long before that nobody knows what has changed since.
                for other in [version + 1, version - 2_000] {
                    hold(other);
                    assert_eq!(looked(sql)?, right);
                }
                Ok(())
            });
            looked.await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn too_much_is_forgotten() {
        for world in fixtures().await {
            let looked = world.test.store.read(&world.test.tenant, |sql| {
                let held = Held::default();
                let nodes = || held.parts().of.values().map(|part| part.met.len()).sum::<usize>();
                // What is met for the first time is not held, and what is met again is.
                for expected in [0, 1, 1] {
                    Graph::new(sql, &held)?.meet(&[NodeId(0)])?;
                    assert_eq!(nodes(), expected);
                }
                held.parts().bytes = limits::HELD_BYTES;
                let mut graph = Graph::new(sql, &held)?;
                graph.meet(&[NodeId(0), NodeId(1)])?;
                assert_eq!(nodes(), 1);
                let mut graph = Graph::new(sql, &held)?;
                graph.meet(&[NodeId(0), NodeId(1)])?;
                assert!(graph.node(NodeId(0)).is_some() && graph.node(NodeId(1)).is_some());
                assert!(held.parts().of.is_empty() && held.parts().bytes == 0);
                assert_eq!(graph.edges(&[NodeId(1)], Side::Outgoing, EdgeTypes::ALL)?.len(), 1);
                Ok(())
            });
            looked.await.unwrap();
        }
    }
}
