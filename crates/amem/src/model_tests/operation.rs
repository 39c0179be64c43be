//! Random operations, run on the model and on the real graph.

use std::collections::BTreeMap;

use proptest::prelude::*;
use quad_store::testing::agent;
use serde_json::{Value, json};

use super::{Model, ModelSession};
use crate::edge::EdgeType;
use crate::event_type::EventType;
use crate::testing::MemoryEnv;
use quad_core::{Principal, TenantId};

/// An operation. Numbers are indexes into what exists.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Add { subject: usize, node: NodeSpec },
    AddMany { subject: usize, nodes: Vec<NodeSpec>, chain: bool },
    Correct { subject: usize, old: usize },
    Link { source: usize, target: usize, edge_type: usize, weight: f64 },
    Unlink { edge: usize },
    Forget { node: usize },
    Read { node: usize },
    Start { subject: usize, session: Option<u32> },
    End { subject: usize, episode: bool },
}

/// A node to add.
#[derive(Clone, Debug)]
pub(super) struct NodeSpec {
    event_type: usize,
    confidence: f64,
    edges: Vec<(usize, usize, f64)>,
}

fn node_spec() -> impl Strategy<Value = NodeSpec> {
    let confidence = prop::sample::select(vec![0.0, 0.3, 0.5, 0.72, 0.8, 0.9, 1.0]);
    let weight = prop::sample::select(vec![-1.0, 0.0, 0.5, 1.0, 5.0]);
    let edges = prop::collection::vec((0..40_usize, 0..7_usize, weight), 0..4);
    (0..6_usize, confidence, edges).prop_map(|(event_type, confidence, edges)| NodeSpec {
        event_type,
        confidence,
        edges,
    })
}

pub(super) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let subject = 0..2_usize;
    let node = 0..40_usize;
    let operation = prop_oneof![
        6 => (subject.clone(), node_spec()).prop_map(|(subject, node)| Operation::Add { subject, node }),
        2 => (subject.clone(), prop::collection::vec(node_spec(), 1..5), any::<bool>())
            .prop_map(|(subject, nodes, chain)| Operation::AddMany { subject, nodes, chain }),
        2 => (subject.clone(), node.clone()).prop_map(|(subject, old)| Operation::Correct { subject, old }),
        3 => (node.clone(), node.clone(), 0..7_usize, 0.0..1.0_f64)
            .prop_map(|(source, target, edge_type, weight)| Operation::Link { source, target, edge_type, weight }),
        1 => (0..80_usize).prop_map(|edge| Operation::Unlink { edge }),
        2 => node.clone().prop_map(|node| Operation::Forget { node }),
        3 => node.prop_map(|node| Operation::Read { node }),
        1 => (subject.clone(), prop::option::of(0..6_u32))
            .prop_map(|(subject, session)| Operation::Start { subject, session }),
        1 => (subject, any::<bool>()).prop_map(|(subject, episode)| Operation::End { subject, episode }),
    ];
    prop::collection::vec(operation, 1..40)
}

/// A caller of the model.
pub(super) fn principal(tenant: &TenantId, subject: usize) -> Principal {
    agent(tenant, &format!("agent_{subject}"), "*:*")
}

impl NodeSpec {
    fn arguments(&self, model: &Model, content: &str, position: Option<usize>) -> Value {
        let ids: Vec<i64> = model.nodes.keys().copied().collect();
        let edges: Vec<Value> = self
            .edges
            .iter()
            .filter_map(|edge| {
                let mut value = json!({"edge_type": EdgeType::ALL[edge.1].as_str(), "weight": edge.2});
                match target(edge.0, &ids, position) {
                    Target::Id(id) => value["target_id"] = id.into(),
                    Target::BatchIndex(earlier) => value["target_index"] = earlier.into(),
                    Target::None => return None,
                }
                Some(value)
            })
            .collect();
        json!({"event_type": EventType::ALL[self.event_type].as_str(), "content": content,
            "confidence": self.confidence, "edges": edges})
    }

    fn apply(&self, model: &mut Model, id: i64, existing_ids: &[i64], position: Option<usize>, first: i64) {
        for edge in &self.edges {
            let target = match target(edge.0, existing_ids, position) {
                Target::Id(id) => id,
                Target::BatchIndex(earlier) => first + earlier as i64,
                Target::None => continue,
            };
            model.link(id, target, EdgeType::ALL[edge.1], edge.2);
        }
    }

    /// A node that supersedes an existing one also supersedes its correction of before the call, unless a node of the
    /// call supersedes it in turn.
    fn replace_corrections(
        &self,
        model: &mut Model,
        id: i64,
        existing_ids: &[i64],
        position: Option<usize>,
        latest: &BTreeMap<i64, i64>,
    ) {
        if model.superseded_by(id).is_some() {
            return;
        }
        for edge in self.edges.iter().filter(|edge| EdgeType::ALL[edge.1] == EdgeType::Supersedes) {
            let Target::Id(target) = target(edge.0, existing_ids, position) else { continue };
            let replaced = latest[&target];
            if replaced != target && model.nodes[&replaced].event_type == EventType::Correction {
                let created_order = model.edges[&(id, target, EdgeType::Supersedes)].created_order;
                model.link(id, replaced, EdgeType::Supersedes, 1.0);
                // The edges of one call have one time; the greater source then counts as newer.
                let edge = model.edges.get_mut(&(id, replaced, EdgeType::Supersedes)).unwrap();
                edge.created_order = edge.created_order.min(created_order);
            }
        }
    }
}

/// The latest correction of each node.
fn latest_by_id(model: &Model, ids: &[i64]) -> BTreeMap<i64, i64> {
    ids.iter().map(|id| (*id, model.resolve(*id))).collect()
}

enum Target {
    Id(i64),
    BatchIndex(usize),
    None,
}

/// The target of a new node's edge: an existing node, or an earlier node of the same call.
fn target(choice: usize, ids: &[i64], position: Option<usize>) -> Target {
    match position {
        Some(position) if position > 0 && choice.is_multiple_of(3) => Target::BatchIndex(choice % position),
        _ if ids.is_empty() => Target::None,
        _ => Target::Id(ids[choice % ids.len()]),
    }
}

impl Operation {
    /// Runs the operation on both, and compares the result.
    pub(super) async fn run(&self, env: &MemoryEnv, tenant: &TenantId, model: &mut Model) {
        let mut run = Run { env, tenant, model };
        match self {
            Operation::Add { subject, node } => run.add(*subject, node).await,
            Operation::AddMany { subject, nodes, chain } => run.add_many(*subject, nodes, *chain).await,
            Operation::Correct { subject, old } => run.correct(*subject, *old).await,
            Operation::Link { source, target, edge_type, weight } => {
                run.link(*source, *target, *edge_type, *weight).await
            }
            Operation::Unlink { edge } => run.unlink(*edge).await,
            Operation::Forget { node } => run.forget(*node).await,
            Operation::Read { node } => run.read(*node).await,
            Operation::Start { subject, session } => run.start(*subject, *session).await,
            Operation::End { subject, episode } => run.end(*subject, *episode).await,
        }
    }
}

/// Both graphs. Each method runs one operation on them and compares the results.
struct Run<'a> {
    env: &'a MemoryEnv,
    tenant: &'a TenantId,
    model: &'a mut Model,
}

fn pick(ids: &[i64], choice: usize) -> Option<i64> {
    (!ids.is_empty()).then(|| ids[choice % ids.len()])
}

impl Run<'_> {
    async fn add(&mut self, subject: usize, node: &NodeSpec) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let ids: Vec<i64> = model.nodes.keys().copied().collect();
        let content = format!("node {}", model.next_id);
        let arguments = node.arguments(model, &content, None);
        let added = env.call_as(&principal(tenant, subject), "memory_add", arguments).await.unwrap();
        let before = model.edges.len();
        let id = model.add(subject, EventType::ALL[node.event_type], &content, node.confidence, true);
        let latest = latest_by_id(model, &ids);
        node.apply(model, id, &ids, None, id);
        node.replace_corrections(model, id, &ids, None, &latest);
        assert_eq!(added["node_id"], id);
        assert_eq!(added["edges_created"], model.edges.len() - before);
    }

    async fn add_many(&mut self, subject: usize, nodes: &[NodeSpec], chain: bool) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let ids: Vec<i64> = model.nodes.keys().copied().collect();
        let first = model.next_id;
        let content = |position: usize| format!("node {}", first + position as i64);
        let arguments: Vec<Value> = nodes
            .iter()
            .enumerate()
            .map(|(position, node)| node.arguments(model, &content(position), Some(position)))
            .collect();
        let arguments = json!({"nodes": arguments, "chain": chain});
        let added = env.call_as(&principal(tenant, subject), "memory_add_many", arguments).await.unwrap();
        let before = model.edges.len();
        for (position, node) in nodes.iter().enumerate() {
            model.add(subject, EventType::ALL[node.event_type], &content(position), node.confidence, chain);
        }
        let latest = latest_by_id(model, &ids);
        for (position, node) in nodes.iter().enumerate() {
            node.apply(model, first + position as i64, &ids, Some(position), first);
        }
        for (position, node) in nodes.iter().enumerate() {
            node.replace_corrections(model, first + position as i64, &ids, Some(position), &latest);
        }
        assert_eq!(added["count"], nodes.len());
        assert_eq!(added["node_ids"][0], first);
        assert_eq!(added["edges_created"], model.edges.len() - before);
    }

    async fn correct(&mut self, subject: usize, old: usize) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let ids: Vec<i64> = model.nodes.keys().copied().collect();
        let Some(old) = pick(&ids, old) else { return };
        let content = format!("node {}", model.next_id);
        let arguments = json!({"old_node_id": old, "new_content": content, "confidence": 0.6});
        let result = env.call_as(&principal(tenant, subject), "memory_correct", arguments).await.unwrap();
        let latest = model.resolve(old);
        let id = model.add(subject, EventType::Correction, &content, 0.6, false);
        model.link(id, old, EdgeType::Supersedes, 1.0);
        model.link(id, latest, EdgeType::Supersedes, 1.0);
        assert_eq!(result["new_node_id"], id);
    }

    async fn link(&mut self, source: usize, target: usize, edge_type: usize, weight: f64) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let ids: Vec<i64> = model.nodes.keys().copied().collect();
        let (Some(source), Some(target)) = (pick(&ids, source), pick(&ids, target)) else { return };
        let edge_type = EdgeType::ALL[edge_type];
        let arguments = json!({"source_id": source, "target_id": target, "edge_type": edge_type.as_str(), "weight": weight});
        let result = env.call_as(&principal(tenant, 0), "memory_link", arguments).await;
        let exists = model.edges.contains_key(&(source, target, edge_type));
        let is_cycle = edge_type == EdgeType::Supersedes && !exists && model.supersedes(target, source);
        if source == target || is_cycle {
            let code = if source == target { "VALIDATION_ERROR" } else { "SUPERSEDES_CYCLE" };
            assert_eq!(result.unwrap_err().code(), code);
        } else {
            assert_eq!(result.unwrap()["result"], if exists { "updated" } else { "created" });
            let latest = model.resolve(target);
            let is_replaced = edge_type == EdgeType::Supersedes
                && !exists
                && ![source, target].contains(&latest)
                && model.nodes[&latest].event_type == EventType::Correction
                && model.superseded_by(source).is_none();
            model.link(source, target, edge_type, weight);
            if is_replaced {
                model.link(source, latest, EdgeType::Supersedes, 1.0);
            }
        }
    }

    async fn unlink(&mut self, edge: usize) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let keys: Vec<_> = model.edges.keys().copied().collect();
        if keys.is_empty() {
            return;
        }
        let (source, target, edge_type) = keys[edge % keys.len()];
        let arguments = json!({"source_id": source, "target_id": target, "edge_type": edge_type.as_str(), "remove": true});
        let result = env.call_as(&principal(tenant, 0), "memory_link", arguments).await.unwrap();
        assert_eq!(result["result"], "removed");
        model.edges.remove(&(source, target, edge_type));
    }

    async fn forget(&mut self, node: usize) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let ids: Vec<i64> = model.nodes.keys().copied().collect();
        let Some(id) = pick(&ids, node) else { return };
        let arguments = json!({"node_id": id, "reason": "the test says so"});
        let result = env.call_as(&principal(tenant, 0), "memory_forget", arguments).await.unwrap();
        let degree = model.edges.keys().filter(|(s, t, _)| *s == id || *t == id).count();
        assert_eq!((&result["forgotten"], &result["edges_removed"]), (&json!(true), &json!(degree)));
        model.delete(id);
    }

    async fn read(&mut self, node: usize) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let ids: Vec<i64> = model.nodes.keys().copied().collect();
        let Some(id) = pick(&ids, node) else { return };
        let document = super::comparison::read(env, tenant, &format!("amem://node/{id}")).await;
        let node = model.nodes.get_mut(&id).unwrap();
        node.accesses += 1;
        assert_eq!(document["access_count"], node.accesses);
    }

    async fn start(&mut self, subject: usize, session: Option<u32>) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let arguments = json!({"session_id": session});
        let arguments = if session.is_some() { arguments } else { json!({}) };
        let started = env.call_as(&principal(tenant, subject), "session_start", arguments).await.unwrap();
        let id = session.unwrap_or(model.next_session);
        model.next_session = model.next_session.max(id + 1);
        model.sessions.entry(id).or_default().ended = false;
        let state = model.caller_states.entry(subject).or_default();
        assert_eq!(started["previous_session"], json!(state.session));
        (state.session, state.last_node) = (Some(id), None);
        assert_eq!(started["session_id"], id);
    }

    async fn end(&mut self, subject: usize, episode: bool) {
        let (env, tenant, model) = (self.env, self.tenant, &mut *self.model);
        let arguments = json!({"create_episode": episode, "summary": "over"});
        let ended = env.call_as(&principal(tenant, subject), "session_end", arguments).await;
        let Some(id) = model.caller_states.get(&subject).and_then(|state| state.session) else {
            assert_eq!(ended.unwrap_err().code(), "NO_SESSION");
            return;
        };
        if model.sessions[&id].ended {
            assert_eq!(ended.unwrap_err().code(), "SESSION_ENDED");
            return;
        }
        let ended = ended.unwrap();
        let members: Vec<i64> =
            model.nodes.iter().filter(|(_, node)| node.session == id).map(|(id, _)| *id).collect();
        let mut session = ModelSession { ended: true, ..model.sessions[&id] };
        if episode {
            let episode_id = model.add(subject, EventType::Episode, "over", 1.0, false);
            members.iter().for_each(|member| model.link(*member, episode_id, EdgeType::PartOf, 1.0));
            session.episode = Some(episode_id);
            assert_eq!(ended["episode_node_id"], episode_id);
            assert_eq!(ended["nodes_linked"], members.len());
        }
        model.sessions.insert(id, session);
        model.caller_states.insert(subject, super::ModelCallerState::default());
    }
}
