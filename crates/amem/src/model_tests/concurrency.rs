//! Concurrent callers: no write is lost, counted twice or half done in any interleaving.

use std::collections::BTreeSet;
use std::sync::Arc;

use quad_core::resolver::View;
use quad_store::testing::agent;
use serde_json::{Value, json};

use crate::testing::{MemoryEnv, test_envs};

const WRITERS: usize = 64;
const ROUNDS: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_lose_and_duplicate_nothing() {
    for env in test_envs().await {
        let env = Arc::new(env);
        env.call("memory_add", json!({"event_type": "fact", "content": "the root"})).await.unwrap();
        let writers: Vec<_> =
            (0..WRITERS).map(|number| tokio::spawn(run_writer(env.clone(), number))).collect();
        let mut ids = BTreeSet::new();
        let mut edges = 0;
        for writer in writers {
            let (inserted_ids, edge_count) = writer.await.unwrap();
            for id in &inserted_ids {
                assert!(ids.insert(*id), "node {id} was given out twice");
            }
            edges += edge_count;
        }
        let expected: BTreeSet<i64> = (1..=(WRITERS * ROUNDS * 2) as i64).collect();
        assert_eq!(ids, expected, "ids are dense");
        let stats = env.read("amem://graph/stats").await.unwrap();
        assert_eq!(stats["node_count"], ids.len() + 1);
        assert_eq!(stats["edge_count"], edges);
        assert_eq!(stats["session_count"], WRITERS + 1);
        // Each writer read the root as often as it wrote, and each read is counted once.
        let root = env.read("amem://node/0").await.unwrap();
        assert_eq!(root["access_count"], WRITERS * ROUNDS + 1);
        assert_eq!(root["incoming_edges"].as_array().unwrap().len(), WRITERS * ROUNDS);
        let sessions = env.read("amem://sessions").await.unwrap();
        for session in sessions["sessions"].as_array().unwrap() {
            let expected_count = if session["started_by"] == "agent_1" { 1 } else { 2 * ROUNDS };
            assert_eq!(session["node_count"], expected_count, "{session}");
        }
        assert_eq!(env.violations().await, Vec::<String>::new());
    }
}

/// The calls of one caller share commits. Each call sees the nodes of the ones before it, and a failed call in
/// between undoes nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_of_one_caller_lose_nothing() {
    const CALLS: usize = 400;
    for env in test_envs().await {
        let env = Arc::new(env);
        env.call("memory_add", json!({"event_type": "fact", "content": "the root"})).await.unwrap();
        let calls = (0..CALLS).map(|number| {
            let (env, content) = (env.clone(), format!("memory {number}"));
            tokio::spawn(async move {
                let second_caller = agent(&env.test_store.tenant, "agent_2", "*:*");
                let caller_of_call = if number % 50 == 49 { &second_caller } else { &env.caller };
                let add = |edges: Value| json!({"event_type": "fact", "content": content, "edges": edges});
                let (tool, arguments) = match number % 9 {
                    0 => ("memory_add", add(json!([{"target_id": 0, "edge_type": "supports"}]))),
                    1 => ("memory_add", add(json!([{"target_id": 1_000_000, "edge_type": "supports"}]))),
                    2 => ("memory_correct", json!({"old_node_id": 0, "new_content": content})),
                    3 => ("memory_forget", json!({"node_id": number / 9 + 1, "reason": "enough"})),
                    _ => ("memory_add", add(json!([]))),
                };
                let result = env.call_as(caller_of_call, tool, arguments).await.ok()?;
                let id = result.get("new_node_id").or_else(|| result.get("node_id"))?.as_i64()?;
                Some((tool, id, content))
            })
        });
        let (mut inserted, mut deleted, mut failed) = (Vec::new(), BTreeSet::new(), 0);
        for call in calls.collect::<Vec<_>>() {
            match call.await.unwrap() {
                Some(("memory_forget", id, _)) => assert!(deleted.insert(id)),
                Some((_, id, content)) => inserted.push((id, content)),
                None => failed += 1,
            }
        }
        assert!(failed >= CALLS / 9, "{failed}");
        let ids: BTreeSet<i64> = inserted.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, (1..=inserted.len() as i64).collect(), "ids are dense, and each was given out once");
        for (id, content) in &inserted {
            match env.read(&format!("amem://node/{id}")).await {
                Ok(node) => assert_eq!(node["content"], *content),
                Err(error) => assert!(deleted.contains(id), "{id}: {error}"),
            }
        }
        let stats = env.read("amem://graph/stats").await.unwrap();
        assert_eq!(stats["node_count"], 1 + inserted.len() - deleted.len());
        assert_eq!(env.violations().await, Vec::<String>::new());
    }
}

/// Two processes read one node at once: each read counts.
#[tokio::test(flavor = "multi_thread")]
async fn access_counts_add_up_across_processes() {
    const READS: usize = 40;
    for env in test_envs().await {
        for _ in 0..2 {
            env.call("memory_add", json!({"event_type": "fact", "content": "a root"})).await.unwrap();
        }
        let other_process = Arc::new(env.reopen_same_dir().await);
        let env = Arc::new(env);
        // Two nodes, read in opposite order: the processes must not deadlock.
        let readers = (0..8).map(|number| {
            let env = if number % 2 == 0 { env.clone() } else { other_process.clone() };
            tokio::spawn(async move {
                for round in 0..READS {
                    env.read(&format!("amem://node/{}", (round + number / 2) % 2)).await.unwrap();
                }
            })
        });
        for reader in readers.collect::<Vec<_>>() {
            reader.await.unwrap();
        }
        for id in 0..2 {
            let node = env.read(&format!("amem://node/{id}")).await.unwrap();
            assert_eq!(node["access_count"], 4 * READS + 1);
            let node = other_process.read(&format!("amem://node/{id}")).await.unwrap();
            assert_eq!(node["access_count"], 4 * READS + 2);
        }
    }
}

/// Two processes add by turns to one store: seven nodes, and both see all of them.
#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_ids_and_chain() {
    for env in test_envs().await {
        let other_process = env.reopen_same_dir().await;
        for number in 0..7 {
            let process = if number % 2 == 0 { &env } else { &other_process };
            let arguments = json!({"event_type": "fact", "content": format!("{number}")});
            assert_eq!(process.call("memory_add", arguments).await.unwrap()["node_id"], number);
            for process in [&env, &other_process] {
                let recent = process.read("amem://graph/recent").await.unwrap();
                assert_eq!(
                    (&recent["count"], &recent["nodes"][0]["id"]),
                    (&json!(number + 1), &json!(number))
                );
                let chain = process.read(&format!("amem://node/{number}")).await.unwrap();
                assert_eq!(chain["incoming_edges"].as_array().unwrap().len(), usize::from(number > 0));
            }
        }
    }
}

/// One writer: adds a node linked to the root and one without links, and reads the root.
async fn run_writer(env: Arc<MemoryEnv>, number: usize) -> (Vec<i64>, u64) {
    let writer = agent(&env.test_store.tenant, &format!("writer_{number}"), "*:*");
    let (mut ids, mut edges) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        let linked: Value = json!([{"target_id": 0, "edge_type": "supports", "weight": 0.5}]);
        for edge_arguments in [linked, json!([])] {
            let arguments = json!({"event_type": "inference", "content": format!("{number} {round}"), "edges": edge_arguments});
            let added = env.call_as(&writer, "memory_add", arguments).await.unwrap();
            ids.push(added["node_id"].as_i64().unwrap());
            edges += added["edges_created"].as_u64().unwrap();
        }
        loop {
            match env.resolver.read(&writer, View::All, "amem://node/0").await {
                Ok(_) => break,
                // All writers contend for the root; a reader may get the error to retry.
                Err(error) => assert_eq!(error.code(), "BUSY", "{error}: {}", error.cause_chain()),
            }
        }
    }
    (ids, edges)
}
