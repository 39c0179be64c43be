//! Importance compared with the formula, for nodes of any age and access count.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quad_store::{Sql, params, tenant};
use serde_json::{Value, json};

use super::comparison::{call, read};
use crate::testing::{MemoryEnv, test_envs};

/// A node's type, days since its last access, and accesses.
type NodeAge = (usize, f64, u32);

fn node_ages() -> impl Strategy<Value = Vec<NodeAge>> {
    let days = prop_oneof![0.0..60.0_f64, prop::sample::select(vec![0.0, 1.0, 22.3])];
    let accesses = prop::sample::select(vec![0_u32, 1, 3, 1_000, 4_000_000, u32::MAX]);
    prop::collection::vec((0..6_usize, days, accesses), 1..45)
}

#[test]
fn important_list_is_ordered_by_score() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let envs = runtime.block_on(test_envs());
    let config = Config { cases: 16, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&node_ages(), |nodes| {
        for env in &envs {
            runtime.block_on(compare_with_formula(env, &nodes));
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

async fn compare_with_formula(env: &MemoryEnv, nodes: &[NodeAge]) {
    const DAY: f64 = 86_400e6;
    const BASES: [f64; 6] = [1.0, 1.0, 0.8, 1.0, 0.8, 0.6];
    let name = format!("i-{}", quad_core::id::ulid().unwrap().to_lowercase());
    let tenant = tenant::create(&env.test_store.store, &name).await.unwrap().id;
    let new_nodes: Vec<Value> = nodes
        .iter()
        .map(|(event_type, ..)| json!({"event_type": crate::event_type::NAMES[*event_type], "content": "x"}))
        .collect();
    call(env, &tenant, "memory_add_many", json!({"nodes": new_nodes})).await;
    let now = crate::micros::now();
    let ages: Vec<(i64, i64)> =
        nodes.iter().map(|(_, days, accesses)| (now - (days * DAY) as i64, i64::from(*accesses))).collect();
    let stored = ages.clone();
    env.test_store
        .store
        .write_unaudited(&tenant, move |tx| {
            let tenant = tx.tenant().clone();
            for (id, (last, accesses)) in stored.iter().enumerate() {
                let effective = crate::decay::effective_access(*last, *accesses);
                tx.execute(
                    "UPDATE amem_node SET last_accessed = $3, access_count = $4, effective_access = $5 \
                     WHERE tenant_id = $1 AND id = $2",
                    params![tenant.as_str(), id as i64, *last, *accesses, effective],
                )?;
            }
            Ok(())
        })
        .await
        .unwrap();
    let score = |id: usize, now: i64| {
        let (last, accesses) = ages[id];
        let days = (now - last) as f64 / DAY - (1.0 + accesses as f64).log2();
        BASES[nodes[id].0] * (-0.01 * days).exp().min(1.0)
    };
    let important = read(env, &tenant, "amem://graph/important").await;
    let listed: Vec<(usize, f64)> = important["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["id"].as_u64().unwrap() as usize, node["decay_score"].as_f64().unwrap()))
        .collect();
    let after = crate::micros::now();
    assert_eq!(listed.len(), nodes.len().min(20));
    assert!(listed.is_sorted_by(|(_, a), (_, b)| a >= b), "{listed:?}");
    for (id, decay) in &listed {
        assert!(
            (decay - score(*id, after)).abs() < 2e-6,
            "node {id} shows {decay}, not {}",
            score(*id, after)
        );
    }
    let lowest_score = listed.last().map_or(1.0, |(_, decay)| *decay);
    let omitted = (0..nodes.len()).filter(|id| !listed.iter().any(|(listed, _)| listed == id));
    for id in omitted {
        assert!(score(id, after) <= lowest_score + 2e-6, "node {id} was left out");
    }
    // The same order in pages, complete and without duplicates.
    let (mut all, mut arguments) = (Vec::new(), json!({"sort_by": "most_important", "max_results": 7}));
    loop {
        let page = call(env, &tenant, "memory_query", arguments.clone()).await;
        all.extend(
            page["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_u64().unwrap() as usize),
        );
        match page.get("next_cursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    assert!(all.is_sorted_by(|a, b| score(*a, now) >= score(*b, now) - 1e-9), "{all:?}");
    all.sort_unstable();
    assert_eq!(all, (0..nodes.len()).collect::<Vec<_>>());
}
