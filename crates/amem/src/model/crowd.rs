//! Many callers at once: whatever the interleaving, nothing is lost, counted twice or left half done.

use std::collections::BTreeSet;
use std::sync::Arc;

use quad_core::resolver::View;
use serde_json::{Value, json};

use crate::testing::{World, caller, worlds};

const WRITERS: usize = 64;
const ROUNDS: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_writers_agree() {
    for world in worlds().await {
        let world = Arc::new(world);
        world.call("memory_add", json!({"event_type": "fact", "content": "the root"})).await.unwrap();
        let writers: Vec<_> = (0..WRITERS).map(|number| tokio::spawn(write(world.clone(), number))).collect();
        let mut ids = BTreeSet::new();
        let mut edges = 0;
        for writer in writers {
            let (made, linked) = writer.await.unwrap();
            for id in &made {
                assert!(ids.insert(*id), "node {id} was given out twice");
            }
            edges += linked;
        }
        let expected: BTreeSet<i64> = (1..=(WRITERS * ROUNDS * 2) as i64).collect();
        assert_eq!(ids, expected, "ids are dense");
        let stats = world.read("amem://graph/stats").await.unwrap();
        assert_eq!(stats["node_count"], ids.len() + 1);
        assert_eq!(stats["edge_count"], edges);
        assert_eq!(stats["session_count"], WRITERS + 1);
        // Each writer read the root as often as it wrote, and every read counted once.
        let root = world.read("amem://node/0").await.unwrap();
        assert_eq!(root["access_count"], WRITERS * ROUNDS + 1);
        assert_eq!(root["incoming_edges"].as_array().unwrap().len(), WRITERS * ROUNDS);
        let sessions = world.read("amem://sessions").await.unwrap();
        for session in sessions["sessions"].as_array().unwrap() {
            let own = if session["started_by"] == "agent_1" { 1 } else { 2 * ROUNDS };
            assert_eq!(session["node_count"], own, "{session}");
        }
    }
}

/// One writer: adds a node that leads to the root and one that does not, and reads the root.
async fn write(world: Arc<World>, number: usize) -> (Vec<i64>, u64) {
    let me = caller(&world.test.tenant, &format!("writer_{number}"), "*:*");
    let (mut ids, mut edges) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        let linked: Value = json!([{"target_id": 0, "edge_type": "supports", "weight": 0.5}]);
        for edges_given in [linked, json!([])] {
            let arguments = json!({"event_type": "inference", "content": format!("{number} {round}"), "edges": edges_given});
            let added = world.call_as(&me, "memory_add", arguments).await.unwrap();
            ids.push(added["node_id"].as_i64().unwrap());
            edges += added["edges_created"].as_u64().unwrap();
        }
        loop {
            match world.resolver.read(&me, View::All, "amem://node/0").await {
                Ok(_) => break,
                // Everybody writes to the root at once; a reader may be told to try again.
                Err(error) => assert_eq!(error.code(), "BUSY"),
            }
        }
    }
    (ids, edges)
}
