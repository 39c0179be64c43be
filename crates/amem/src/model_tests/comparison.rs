//! The comparison: runs each read on the model and on the graph, and compares the results.

use std::collections::BTreeSet;

use proptest::test_runner::{Config, TestRunner};
use quad_core::TenantId;
use quad_core::resolver::View;
use quad_store::tenant;
use serde_json::{Value, json};

use super::operation::{Operation, operations, principal};
use super::{Model, Visited};
use crate::edge::EdgeType;
use crate::event_type::EventType;
use crate::testing::{MemoryEnv, test_envs};

pub(super) async fn read(env: &MemoryEnv, tenant: &TenantId, uri: &str) -> Value {
    let answer = env.resolver.read(&principal(tenant, 0), View::All, uri).await;
    serde_json::from_slice(answer.unwrap_or_else(|error| panic!("{uri}: {error}")).read.contents[0].bytes())
        .unwrap()
}

pub(super) async fn call(env: &MemoryEnv, tenant: &TenantId, tool: &str, arguments: Value) -> Value {
    let called = env.call_as(&principal(tenant, 0), tool, arguments.clone()).await;
    called.unwrap_or_else(|error| panic!("{tool} {arguments}: {error} {}", error.cause_chain()))
}

fn ids(list: &Value) -> Vec<i64> {
    list.as_array().unwrap().iter().map(|node| node["id"].as_i64().unwrap()).collect()
}

/// All pages of a tool's list of nodes.
async fn pages(env: &MemoryEnv, tenant: &TenantId, tool: &str, arguments: Value, list: &str) -> Vec<Value> {
    let (mut found, mut arguments) = (Vec::new(), arguments);
    loop {
        let page = call(env, tenant, tool, arguments.clone()).await;
        found.extend(page[list].as_array().unwrap().iter().cloned());
        match page.get("next_cursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => return found,
        }
    }
}

fn edge_json((source, target, edge_type): &(i64, i64, EdgeType), model: &Model) -> Value {
    let weight = model.edges[&(*source, *target, *edge_type)].weight;
    json!({"source_id": source, "target_id": target, "edge_type": edge_type.as_str(), "weight": weight})
}

impl Model {
    /// Compares everything.
    async fn check(&mut self, env: &MemoryEnv, tenant: &TenantId) {
        self.check_counters(env, tenant).await;
        self.check_lists(env, tenant).await;
        self.check_queries(env, tenant).await;
        self.check_traversals(env, tenant).await;
        self.check_reports(env, tenant).await;
        self.check_nodes(env, tenant).await;
        let report = env.scheme.check_integrity(tenant).await.unwrap();
        assert_eq!(report.violations, Vec::<String>::new());
    }

    async fn check_counters(&self, env: &MemoryEnv, tenant: &TenantId) {
        let stats = read(env, tenant, "amem://graph/stats").await;
        let sessions_with_nodes: BTreeSet<u32> = self.nodes.values().map(|node| node.session).collect();
        assert_eq!(stats["node_count"], self.nodes.len());
        assert_eq!(stats["edge_count"], self.edges.len());
        assert_eq!(stats["session_count"], sessions_with_nodes.len());
        for event_type in EventType::ALL {
            assert_eq!(stats["type_counts"][event_type.as_str()], self.node_count_of_type(event_type));
        }
    }

    async fn check_lists(&self, env: &MemoryEnv, tenant: &TenantId) {
        let newest: Vec<i64> = self.nodes.keys().rev().copied().take(20).collect();
        assert_eq!(ids(&read(env, tenant, "amem://graph/recent").await["nodes"]), newest);
        let important = read(env, tenant, "amem://graph/important").await;
        let scores: Vec<f64> = important["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["decay_score"].as_f64().unwrap())
            .collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        let current = self.nodes.keys().filter(|id| self.superseded_by(**id).is_none()).count();
        assert_eq!(important["count"], current.min(20));
        for id in ids(&important["nodes"]) {
            assert_eq!(self.superseded_by(id), None);
        }
        for event_type in EventType::ALL {
            let expected: Vec<i64> = self
                .nodes
                .iter()
                .filter(|(_, node)| node.event_type == event_type)
                .map(|(id, _)| *id)
                .collect();
            let uri = format!("amem://types/{}", event_type.as_str());
            assert_eq!(self.read_in_pages(env, tenant, &uri, "count", expected.len()).await, expected);
        }
        let sessions = read(env, tenant, "amem://sessions").await;
        assert_eq!(sessions["count"], self.sessions.len());
        for (listed, (id, session)) in
            sessions["sessions"].as_array().unwrap().iter().zip(self.sessions.iter().rev())
        {
            let expected: Vec<i64> =
                self.nodes.iter().filter(|(_, node)| node.session == *id).map(|(id, _)| *id).collect();
            assert_eq!((&listed["session_id"], &listed["node_count"]), (&json!(id), &json!(expected.len())));
            assert_eq!(listed["ended_at"].is_null(), !session.ended);
            assert_eq!(listed["episode_id"], json!(session.episode));
            let uri = format!("amem://session/{id}");
            assert_eq!(self.read_in_pages(env, tenant, &uri, "node_count", expected.len()).await, expected);
        }
    }

    /// Reads a list whole and in pages of two.
    async fn read_in_pages(
        &self,
        env: &MemoryEnv,
        tenant: &TenantId,
        uri: &str,
        count: &str,
        total: usize,
    ) -> Vec<i64> {
        let full_list = read(env, tenant, uri).await;
        assert_eq!(full_list[count], total);
        let (mut found, mut next) = (Vec::new(), format!("{uri}?limit=2"));
        loop {
            let page = read(env, tenant, &next).await;
            assert_eq!(page[count], total);
            found.extend(ids(&page["nodes"]));
            match page["next_cursor"].as_str() {
                Some(cursor) => next = format!("{uri}?limit=2&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(found, ids(&full_list["nodes"]));
        found
    }

    async fn check_queries(&self, env: &MemoryEnv, tenant: &TenantId) {
        for (order, limit) in [("most_recent", 3), ("highest_confidence", 2), ("most_accessed", 4)] {
            for (types, sessions, min_confidence) in [
                (vec![], vec![], 0.0),
                (vec!["fact", "decision"], vec![], 0.4),
                (vec![], vec![1_u32, 3], 0.0),
                (vec!["inference"], vec![1], 0.6),
            ] {
                let arguments = json!({"sort_by": order, "max_results": limit, "event_types": types, "session_ids": sessions,
                    "min_confidence": min_confidence});
                let found = pages(env, tenant, "memory_query", arguments, "nodes").await;
                let mut expected: Vec<(&i64, &super::ModelNode)> = self
                    .nodes
                    .iter()
                    .filter(|(_, node)| types.is_empty() || types.contains(&node.event_type.as_str()))
                    .filter(|(_, node)| sessions.is_empty() || sessions.contains(&node.session))
                    .filter(|(_, node)| node.confidence >= min_confidence)
                    .collect();
                expected.sort_by(|(a, left), (b, right)| {
                    let order = match order {
                        "highest_confidence" => right.confidence.total_cmp(&left.confidence),
                        "most_accessed" => right.accesses.cmp(&left.accesses),
                        _ => std::cmp::Ordering::Equal,
                    };
                    order.then(b.cmp(a))
                });
                let expected: Vec<i64> = expected.into_iter().map(|(id, _)| *id).collect();
                assert_eq!(ids(&json!(found)), expected, "{order} {types:?} {sessions:?}");
            }
        }
        let arguments = json!({"sort_by": "most_important", "max_results": 3});
        let found: BTreeSet<i64> =
            ids(&json!(pages(env, tenant, "memory_query", arguments, "nodes").await)).into_iter().collect();
        let expected: BTreeSet<i64> =
            self.nodes.keys().copied().filter(|id| self.superseded_by(*id).is_none()).collect();
        assert_eq!(found, expected);
    }

    async fn check_traversals(&self, env: &MemoryEnv, tenant: &TenantId) {
        let any_edge = |_: bool, _: EdgeType| true;
        for start in self.nodes.keys().copied().step_by(3) {
            let resolved = call(env, tenant, "memory_resolve", json!({"node_id": start})).await;
            assert_eq!(resolved["resolved_id"], self.resolve(start));
            assert_eq!(resolved["is_latest"], self.superseded_by(start).is_none());

            let forward = |outgoing: bool, edge_type: EdgeType| outgoing && edge_type != EdgeType::RelatedTo;
            let kinds: Vec<&str> = EdgeType::ALL
                .iter()
                .filter(|edge_type| **edge_type != EdgeType::RelatedTo)
                .map(|edge_type| edge_type.as_str())
                .collect();
            self.check_traversal(
                env,
                tenant,
                json!({"start_id": start, "edge_types": kinds}),
                &self.traverse(start, &forward, 5, 0.0),
            )
            .await;
            let backward = |outgoing: bool, _: EdgeType| !outgoing;
            let arguments =
                json!({"start_id": start, "direction": "backward", "max_depth": 2, "min_confidence": 0.5});
            self.check_traversal(env, tenant, arguments, &self.traverse(start, &backward, 2, 0.5)).await;
            let arguments = json!({"start_id": start, "direction": "both", "max_depth": 9});
            self.check_traversal(env, tenant, arguments, &self.traverse(start, &any_edge, 9, 0.0)).await;

            let dependents = |outgoing: bool, edge_type: EdgeType| {
                (outgoing && edge_type == EdgeType::Supports)
                    || (!outgoing && edge_type == EdgeType::CausedBy)
            };
            let expected: Vec<i64> =
                self.traverse(start, &dependents, 5, 0.0).iter().skip(1).map(|(id, ..)| *id).collect();
            let arguments = json!({"node_id": start, "max_results": 2});
            let found = pages(env, tenant, "memory_causal", arguments, "dependents").await;
            assert_eq!(ids(&json!(found)), expected);

            self.check_context(env, tenant, start).await;
            for end in self.nodes.keys().copied().step_by(4) {
                self.check_path(env, tenant, start, end).await;
            }
        }
    }

    async fn check_traversal(
        &self,
        env: &MemoryEnv,
        tenant: &TenantId,
        mut arguments: Value,
        expected: &[Visited],
    ) {
        arguments["max_results"] = 4.into();
        let found = pages(env, tenant, "memory_traverse", arguments.clone(), "visited").await;
        let visited: Vec<(i64, u64)> = found
            .iter()
            .map(|node| (node["id"].as_i64().unwrap(), node["depth"].as_u64().unwrap()))
            .collect();
        let expected_visited: Vec<(i64, u64)> =
            expected.iter().map(|(id, depth, _)| (*id, *depth as u64)).collect();
        assert_eq!(visited, expected_visited, "{arguments}");
        let edges = pages(env, tenant, "memory_traverse", arguments, "edges_traversed").await;
        let expected_edges: Vec<Value> =
            expected.iter().filter_map(|(.., key)| key.as_ref().map(|key| edge_json(key, self))).collect();
        assert_eq!(edges, expected_edges);
    }

    async fn check_context(&self, env: &MemoryEnv, tenant: &TenantId, center: i64) {
        let neighborhood = read(env, tenant, &format!("amem://node/{center}/neighborhood?depth=2")).await;
        assert_eq!(neighborhood, call(env, tenant, "memory_context", json!({"node_id": center})).await);
        let visited = self.traverse(center, &|_, _| true, 2, 0.0);
        assert_eq!(ids(&neighborhood["nodes"]), visited.iter().map(|(id, ..)| *id).collect::<Vec<_>>());
        let visited_ids: BTreeSet<i64> = visited.iter().map(|(id, ..)| *id).collect();
        let edges: Vec<Value> = self
            .edges
            .keys()
            .filter(|(source, target, _)| visited_ids.contains(source) && visited_ids.contains(target))
            .map(|key| edge_json(key, self))
            .collect();
        assert_eq!(neighborhood["edges"], json!(edges));
    }

    async fn check_path(&self, env: &MemoryEnv, tenant: &TenantId, start: i64, end: i64) {
        let found =
            call(env, tenant, "memory_path", json!({"from_id": start, "to_id": end, "direction": "forward"}))
                .await;
        let length = |follows: &dyn Fn(bool, EdgeType) -> bool| {
            let visited = self.traverse(start, follows, 10, 0.0);
            visited.iter().find(|(id, ..)| *id == end).map(|(_, depth, _)| *depth)
        };
        let timeless = length(&|outgoing, edge_type| outgoing && edge_type != EdgeType::TemporalNext);
        let expected = timeless.or_else(|| length(&|outgoing, _| outgoing));
        assert_eq!(found["found"], expected.is_some(), "{start} {end}");
        let Some(length) = expected else { return };
        assert_eq!(found["length"], length);
        let nodes = ids(&found["nodes"]);
        assert_eq!((nodes.first(), nodes.last(), nodes.len()), (Some(&start), Some(&end), length + 1));
        for (pair, edge) in nodes.windows(2).zip(found["edges"].as_array().unwrap()) {
            let key = (pair[0], pair[1], EdgeType::parse(edge["edge_type"].as_str().unwrap()).unwrap());
            assert_eq!(*edge, edge_json(&key, self));
            assert!(timeless.is_none() || key.2 != EdgeType::TemporalNext, "{start} {end}");
        }
    }

    async fn check_reports(&self, env: &MemoryEnv, tenant: &TenantId) {
        let (first, second) = (vec![1_u32, 2], vec![2_u32, 3, 4]);
        let arguments = json!({"range_a": {"type": "sessions", "session_ids": first}, "range_b": {"type": "sessions", "session_ids": second}});
        let found = call(env, tenant, "memory_temporal", arguments).await;
        let nodes_of_sessions = |sessions: &[u32]| -> Vec<i64> {
            self.nodes
                .iter()
                .filter(|(_, node)| sessions.contains(&node.session))
                .map(|(id, _)| *id)
                .collect()
        };
        let (a, b) = (nodes_of_sessions(&first), nodes_of_sessions(&second));
        let added: Vec<i64> = b.iter().copied().filter(|id| !a.contains(id)).collect();
        let corrected: Vec<(i64, i64)> = a
            .iter()
            .filter_map(|old| {
                let superseding = self.edges.keys().filter(|(source, target, edge_type)| {
                    target == old && *edge_type == EdgeType::Supersedes && b.contains(source)
                });
                superseding.map(|(source, ..)| *source).max().map(|by| (*old, by))
            })
            .collect();
        let unchanged: Vec<i64> =
            a.iter().copied().filter(|id| !corrected.iter().any(|(old, _)| old == id)).collect();
        assert_eq!(found["added"], json!(added));
        assert_eq!(found["corrected"], json!(corrected));
        assert_eq!(found["unchanged"], json!(unchanged));
        assert_eq!(found["potentially_stale"], json!([]));

        let report = call(env, tenant, "memory_quality", json!({})).await;
        let current: Vec<i64> =
            self.nodes.keys().copied().filter(|id| self.superseded_by(*id).is_none()).collect();
        let low: Vec<i64> = current.iter().copied().filter(|id| self.nodes[id].confidence < 0.45).collect();
        let has_edges = |id: i64| self.edges.keys().any(|(source, target, _)| *source == id || *target == id);
        let orphans: Vec<i64> = current.iter().copied().filter(|id| !has_edges(*id)).collect();
        let supported = |id: i64| {
            self.edges.keys().any(|(source, target, edge_type)| {
                (*source == id && *edge_type == EdgeType::CausedBy)
                    || (*target == id && *edge_type == EdgeType::Supports)
            })
        };
        let unsupported: Vec<i64> = current
            .iter()
            .copied()
            .filter(|id| self.nodes[id].event_type == EventType::Decision && !supported(*id))
            .collect();
        let edge_count_of_type = |edge_type: EdgeType| {
            self.edges.keys().filter(|(_, _, candidate)| *candidate == edge_type).count()
        };
        let summary = &report["summary"];
        assert_eq!(summary["low_confidence_count"], low.len());
        assert_eq!(summary["orphan_count"], orphans.len());
        assert_eq!(summary["decisions_without_support_count"], unsupported.len());
        assert_eq!(summary["contradiction_edges"], edge_count_of_type(EdgeType::Contradicts));
        assert_eq!(summary["supersedes_edges"], edge_count_of_type(EdgeType::Supersedes));
        assert_eq!(
            report["examples"]["unsupported_decisions"],
            json!(&unsupported[..unsupported.len().min(20)])
        );
    }

    /// Reads every node, which counts as an access.
    async fn check_nodes(&mut self, env: &MemoryEnv, tenant: &TenantId) {
        let ids: Vec<i64> = self.nodes.keys().copied().collect();
        for id in ids {
            let document = read(env, tenant, &format!("amem://node/{id}")).await;
            let by = self.superseded_by(id);
            let outgoing: Vec<Value> = self
                .expand(id, &|outgoing, _| outgoing)
                .iter()
                .map(|(neighbor, key)| json!({"target_id": neighbor, "edge_type": key.2.as_str(), "weight": self.edges[key].weight}))
                .collect();
            let incoming: Vec<Value> = self
                .expand(id, &|outgoing, _| !outgoing)
                .iter()
                .map(|(neighbor, key)| json!({"source_id": neighbor, "edge_type": key.2.as_str(), "weight": self.edges[key].weight}))
                .collect();
            let node = self.nodes.get_mut(&id).unwrap();
            node.accesses += 1;
            assert_eq!(document["content"], node.content.as_str());
            assert_eq!(document["event_type"], node.event_type.as_str());
            assert_eq!(document["confidence"], json!(node.confidence));
            assert_eq!(document["session_id"], node.session);
            assert_eq!(document["access_count"], node.accesses);
            assert_eq!(document.get("superseded_by"), by.map(|by| json!(by)).as_ref());
            assert_eq!(document["outgoing_edges"], json!(outgoing));
            assert_eq!(document["incoming_edges"], json!(incoming));
        }
        for id in (0..self.next_id).filter(|id| !self.nodes.contains_key(id)) {
            let result =
                env.resolver.read(&principal(tenant, 0), View::All, &format!("amem://node/{id}")).await;
            assert_eq!(result.unwrap_err().code(), "NOT_FOUND");
        }
    }
}

#[test]
fn graph_matches_reference_model() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let envs = runtime.block_on(test_envs());
    let config = Config { cases: 12, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&operations(), |operations| {
        runtime.block_on(run_and_compare(&envs, &operations));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

async fn run_and_compare(envs: &[MemoryEnv], operations: &[Operation]) {
    for env in envs {
        let name = format!("m-{}", quad_core::id::ulid().unwrap().to_lowercase());
        let tenant = tenant::create(&env.test_store.store, &name).await.unwrap().id;
        let mut model = Model::new();
        for operation in operations {
            operation.run(env, &tenant, &mut model).await;
        }
        model.check(env, &tenant).await;
        // The accesses above change importance and nothing else.
        model.check_lists(env, &tenant).await;
    }
}
