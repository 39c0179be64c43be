//! What walks have met, held in memory: nodes, and their edges on either side.
//!
//! It is never the truth. A tenant's part is as of one version: a walk in a snapshot of a later one first drops what the changes between
//! have touched, since a node's tag stands for the node and its edges; a walk in an earlier one does without. Accesses make
//! no version, so what they change of a node is no part of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::{Result, Tag, TenantId, Version};
use quad_store::{Sql, changes_since};

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
}

/// What is held of one.
struct Part {
    version: Version,
    nodes: HashMap<NodeId, Arc<Node>>,
    /// Whole lists alone, of all types.
    edges: [HashMap<NodeId, Arc<[Edge]>>; 2],
}

/// What a node weighs beside its content, and an edge; roughly.
const NODE_BYTES: usize = 256;
const EDGE_BYTES: usize = 40;

impl Part {
    fn new(version: Version) -> Part {
        Part { version, nodes: HashMap::new(), edges: Default::default() }
    }

    fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.edges.iter().all(HashMap::is_empty)
    }

    /// Moves on to a later version, without what was touched on the way; without everything, if nobody knows what was.
    fn move_on(&mut self, version: Version, touched: Option<&[Tag]>) {
        let Some(touched) = touched.filter(|touched| !touched.contains(&tags::bulk())) else {
            *self = Part::new(version);
            return;
        };
        self.version = version;
        for id in touched.iter().filter_map(tags::node_of) {
            self.nodes.remove(&id);
            self.edges.iter_mut().for_each(|edges| drop(edges.remove(&id)));
        }
    }
}

/// The graph as one snapshot shows it, as far as possible out of memory.
pub(crate) struct Graph<'s> {
    sql: &'s mut dyn Sql,
    held: &'s Held,
}

impl<'s> Graph<'s> {
    pub(crate) fn new(sql: &'s mut dyn Sql, held: &'s Held) -> Result<Graph<'s>> {
        let (tenant, version) = (sql.tenant().clone(), sql.version());
        let behind = {
            let mut parts = held.parts();
            let part = parts.of.entry(tenant.clone()).or_insert_with(|| Part::new(version));
            if part.is_empty() && part.version < version {
                part.version = version;
            }
            (part.version < version).then_some(part.version)
        };
        if let Some(behind) = behind {
            let touched = changes_since(sql, behind)?;
            // Somebody else may have been faster.
            if let Some(part) = held.parts().of.get_mut(&tenant).filter(|part| part.version == behind) {
                part.move_on(version, touched.as_deref());
            }
        }
        Ok(Graph { sql, held })
    }

    /// Looks at what is held, if it is of this snapshot's version.
    fn look(&self, look: impl FnOnce(&Part)) -> bool {
        let parts = self.held.parts();
        let part = parts.of.get(self.sql.tenant()).filter(|part| part.version == self.sql.version());
        part.map(look).is_some()
    }

    /// Adds to what is held, if it is of this snapshot's version; `add` says how much it is. Once it is too much all is forgotten,
    /// and what is walked again is met again.
    fn add(&self, add: impl FnOnce(&mut Part) -> usize) {
        let mut parts = self.held.parts();
        let version = self.sql.version();
        if let Some(part) = parts.of.get_mut(self.sql.tenant()).filter(|part| part.version == version) {
            let bytes = add(part);
            parts.bytes += bytes;
        }
        if parts.bytes > limits::HELD_BYTES {
            *parts = Parts::default();
        }
    }

    /// The node of that id, or the refusal.
    pub(crate) fn expect(&mut self, id: NodeId) -> Result<Arc<Node>> {
        self.nodes(&[id])?.remove(&id).ok_or_else(|| refusal::no_node(id))
    }

    /// Those of these nodes that exist. What accesses have made of them is not told.
    pub(crate) fn nodes(&mut self, ids: &[NodeId]) -> Result<BTreeMap<NodeId, Arc<Node>>> {
        let mut found = BTreeMap::new();
        let mut missing = Vec::new();
        let is_held = self.look(|part| {
            for id in ids {
                match part.nodes.get(id) {
                    Some(node) => drop(found.insert(*id, node.clone())),
                    None => missing.push(*id),
                }
            }
        });
        if !is_held {
            missing.extend_from_slice(ids);
        }
        if missing.is_empty() {
            return Ok(found);
        }
        let read = node::find_many(self.sql, &missing)?;
        let read: Vec<Arc<Node>> = read.into_values().map(|node| Arc::new(without_accesses(node))).collect();
        self.add(|part| {
            part.nodes.extend(read.iter().map(|node| (node.id, node.clone())));
            read.iter().map(|node| NODE_BYTES + node.content.len()).sum()
        });
        found.extend(read.into_iter().map(|node| (node.id, node)));
        Ok(found)
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
        let mut missing = Vec::new();
        let is_held = self.look(|part| {
            for id in ids {
                match part.edges[side as usize].get(id) {
                    Some(edges) => {
                        let edges = edges.iter().filter(|edge| types.contains(edge.edge_type));
                        found.insert(*id, edges.copied().collect());
                    }
                    None => missing.push(*id),
                }
            }
        });
        if !is_held {
            missing.extend_from_slice(ids);
        }
        if missing.is_empty() {
            return Ok(found);
        }
        let mut read = edge::of_nodes(self.sql, &missing, side, types)?;
        if types == EdgeTypes::ALL {
            self.add(|part| {
                let mut bytes = 0;
                for id in missing {
                    let edges: Arc<[Edge]> = read.get(&id).map(Vec::as_slice).unwrap_or_default().into();
                    // Of a node with too many only the first are told. One without edges may be one that is yet to come, and what
                    // comes anew is not told of.
                    let is_there = !edges.is_empty() || part.nodes.contains_key(&id);
                    if is_there && edges.len() < limits::FANOUT {
                        bytes += NODE_BYTES / 2 + EDGE_BYTES * edges.len();
                        part.edges[side as usize].insert(id, edges);
                    }
                }
                bytes
            });
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

/// Nobody must take what may be old for what is.
fn without_accesses(node: Node) -> Node {
    Node { access_count: 0, last_accessed: 0, effective_access: 0, ..node }
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
                |process: &World| process.amem.held.parts().of.values().any(|part| !part.is_empty());
            assert!(processes.iter().all(is_held), "otherwise nothing was tried");
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
                let right = Graph::new(sql, &held)?.expect(NodeId(0))?;
                let tenant = sql.tenant().clone();
                let wrong = Arc::new(Node { content: "of another version".into(), ..right.as_ref().clone() });
                let hold = |version: i64| {
                    let mut part = Part::new(Version(version));
                    part.nodes.insert(NodeId(0), wrong.clone());
                    held.parts().of.insert(tenant.clone(), part);
                };
                let version = sql.version().0;
                // What is held is believed, if it is of this version.
                hold(version);
                assert_eq!(Graph::new(sql, &held)?.expect(NodeId(0))?, wrong);
                // Later, and so long before that nobody knows what has changed since.
                for other in [version + 1, version - 2_000] {
                    hold(other);
                    assert_eq!(Graph::new(sql, &held)?.expect(NodeId(0))?, right);
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
                Graph::new(sql, &held)?.nodes(&[NodeId(0)])?;
                assert!(!held.parts().of.is_empty());
                held.parts().bytes = limits::HELD_BYTES;
                let mut graph = Graph::new(sql, &held)?;
                assert_eq!(graph.nodes(&[NodeId(0), NodeId(1)])?.len(), 2);
                assert!(held.parts().of.is_empty() && held.parts().bytes == 0);
                assert_eq!(graph.edges(&[NodeId(1)], Side::Outgoing, EdgeTypes::ALL)?.len(), 1);
                Ok(())
            });
            looked.await.unwrap();
        }
    }
}
