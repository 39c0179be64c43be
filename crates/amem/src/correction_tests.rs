//! Several corrections of one memory: the newest counts, in every list, search and answer.

use quad_store::Component;
use serde_json::{Value, json};

use crate::COMPONENT;
use crate::testing::{MemoryEnv, test_envs, test_envs_of};

async fn add(env: &MemoryEnv, arguments: Value) -> i64 {
    env.call("memory_add", arguments).await.unwrap()["node_id"].as_i64().unwrap()
}

async fn correct(env: &MemoryEnv, old: i64, content: &str) -> i64 {
    let arguments = json!({"old_node_id": old, "new_content": content});
    env.call("memory_correct", arguments).await.unwrap()["new_node_id"].as_i64().unwrap()
}

fn ids(list: &Value, name: &str) -> Vec<i64> {
    let mut ids: Vec<i64> =
        list.as_array().unwrap().iter().map(|node| node[name].as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

/// Asserts that of the versions of one memory only `newest` counts. All contain "rate limit" and their own number.
async fn assert_only_newest_counts(env: &MemoryEnv, versions: &[(i64, &str)], newest: (i64, &str)) {
    for mode in ["hybrid", "text"] {
        let found = env.call("memory_search", json!({"query": "rate limit", "mode": mode})).await.unwrap();
        assert_eq!(ids(&found["nodes"], "id"), [newest.0], "{mode}");
    }
    let important = env.read("amem://graph/important").await.unwrap();
    assert_eq!(ids(&important["nodes"], "id"), [newest.0]);
    let resumed = env.call("memory_session_resume", json!({})).await.unwrap();
    assert_eq!(resumed["total_loaded"], 1, "{resumed}");
    for (id, number) in versions {
        let resolved = env.call("memory_resolve", json!({"node_id": id})).await.unwrap();
        assert_eq!(resolved["resolved_id"], newest.0, "{id}");
        let claim = json!({"claim": format!("The rate limit is {number}")});
        let answer = env.call("memory_ground", claim).await.unwrap();
        let (status, latest) = match *id == newest.0 {
            true => ("verified", Value::Null),
            false => ("superseded", json!(newest.0)),
        };
        assert_eq!((&answer["status"], &answer["latest"]["id"]), (&json!(status), &latest), "{id}: {answer}");
    }
    assert_eq!(env.violations().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_of_several_corrections_counts() {
    for env in test_envs().await {
        add(&env, json!({"event_type": "fact", "content": "The rate limit is 100"})).await;
        correct(&env, 0, "The rate limit is 200").await;
        correct(&env, 0, "The rate limit is 300").await;
        let mut versions = vec![(0, "100"), (1, "200"), (2, "300")];
        assert_only_newest_counts(&env, &versions, (2, "300")).await;
        // Of an older correction, and of the newest one.
        correct(&env, 1, "The rate limit is 400").await;
        correct(&env, 3, "The rate limit is 500").await;
        versions.extend([(3, "400"), (4, "500")]);
        assert_only_newest_counts(&env, &versions, (4, "500")).await;
        // Without the newest one, those before it hold again.
        env.call("memory_forget", json!({"node_id": 4, "reason": "a test"})).await.unwrap();
        versions.pop();
        assert_only_newest_counts(&env, &versions, (3, "400")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn link_of_a_correction_replaces_the_earlier_one() {
    for env in test_envs().await {
        add(&env, json!({"event_type": "fact", "content": "The rate limit is 100"})).await;
        correct(&env, 0, "The rate limit is 200").await;
        let edges = json!([{"target_id": 0, "edge_type": "supersedes"}]);
        let added = json!({"event_type": "correction", "content": "The rate limit is 300", "edges": edges});
        let added = env.call("memory_add", added).await.unwrap();
        assert_eq!(added["edges_created"], 3, "to both, and in time");
        let versions = [(0, "100"), (1, "200"), (2, "300")];
        assert_only_newest_counts(&env, &versions, (2, "300")).await;
        add(&env, json!({"event_type": "correction", "content": "The rate limit is 400"})).await;
        let link = json!({"source_id": 3, "target_id": 0, "edge_type": "supersedes"});
        env.call("memory_link", link).await.unwrap();
        let versions = [(0, "100"), (1, "200"), (2, "300"), (3, "400")];
        assert_only_newest_counts(&env, &versions, (3, "400")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_may_be_split_into_several() {
    for env in test_envs().await {
        add(&env, json!({"event_type": "fact", "content": "Api and printer are in the cellar"})).await;
        for content in ["The api is upstairs", "The printer is outside"] {
            let edges = json!([{"target_id": 0, "edge_type": "supersedes"}]);
            add(&env, json!({"event_type": "fact", "content": content, "edges": edges})).await;
        }
        let important = env.read("amem://graph/important").await.unwrap();
        assert_eq!(ids(&important["nodes"], "id"), [1, 2]);
    }
}

/// Data of a version in which a correction did not supersede the one before it.
#[tokio::test(flavor = "multi_thread")]
async fn stored_corrections_are_migrated() {
    const BEFORE: Component = Component { migrations: COMPONENT.migrations.split_at(5).0, ..COMPONENT };
    for env in test_envs_of(BEFORE).await {
        add(&env, json!({"event_type": "fact", "content": "The rate limit is 100"})).await;
        correct(&env, 0, "The rate limit is 200").await;
        correct(&env, 0, "The rate limit is 300").await;
        for statement in [
            "DELETE FROM amem_edge WHERE source_id = 2 AND target_id = 1",
            "UPDATE amem_node SET superseded_by = NULL WHERE id = 1",
            "UPDATE amem_node SET outgoing = '0 3 1' WHERE id = 2",
            "UPDATE amem_stats SET edges = edges - 1, edges_supersedes = edges_supersedes - 1",
        ] {
            let store = &env.test_store.store;
            let written =
                store.write_unaudited(&env.test_store.tenant, move |tx| Ok(tx.execute(statement, &[])?));
            assert_eq!(written.await.unwrap(), 1, "{statement}");
        }
        assert_eq!(env.violations().await, Vec::<String>::new(), "as the earlier version left it");
        let env = env.reopen_same_dir().await;
        let versions = [(0, "100"), (1, "200"), (2, "300")];
        assert_only_newest_counts(&env, &versions, (2, "300")).await;
    }
}
