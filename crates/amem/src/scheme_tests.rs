//! The scheme as a whole: access counts, paging by size, hubs, restarts, two processes.

use quad_core::resolver::View;
use quad_store::{Sql, Store};
use serde_json::{Value, json};

use crate::testing::{MemoryEnv, test_envs, test_envs_with_data};
use crate::{COMPONENT, limits};

async fn add(env: &MemoryEnv, content: &str) -> i64 {
    let added = env.call("memory_add", json!({"event_type": "fact", "content": content})).await.unwrap();
    added["node_id"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_node_counts_access_and_keeps_version() {
    for env in test_envs_with_data().await {
        let before = env.read_set("amem://graph/stats").await.unwrap().version;
        for count in 1..=3 {
            let node = env.read("amem://node/1").await.unwrap();
            assert_eq!(node["access_count"], count);
            assert!(node["last_accessed"].as_i64() > node["created_at"].as_i64());
        }
        // Subscriptions and existence checks are not accesses.
        env.read_set("amem://node/1").await.unwrap();
        env.read("amem://node/1/neighborhood").await.unwrap();
        assert_eq!(env.read_set("amem://graph/stats").await.unwrap().version, before);
        let reopened = Store::open(env.test_store.location.clone(), &[COMPONENT]).await.unwrap();
        let stored = reopened
            .read(&env.test_store.tenant, |sql| crate::node::get(sql, crate::NodeId(1)))
            .await
            .unwrap();
        assert_eq!(stored.access_count, 3, "stored, so that another process reads it");
        assert_eq!(stored.effective_access, crate::decay::effective_access(stored.last_accessed, 3));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_with_access_count_are_not_cached() {
    for env in test_envs_with_data().await {
        for (uri, cacheable) in [
            ("amem://node/1", false),
            ("amem://graph/important", false),
            ("amem://graph/recent", true),
            ("amem://graph/stats", true),
            ("amem://types/fact", true),
            ("amem://session/1", true),
        ] {
            let answer = env.resolver.read(&env.caller, View::All, uri).await.unwrap();
            assert_eq!(answer.read.cacheable, cacheable, "{uri}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn content_above_limit_is_rejected() {
    for env in test_envs().await {
        let max_content = "é".repeat(limits::CONTENT_BYTES / 2);
        assert_eq!(add(&env, &max_content).await, 0);
        let too_long = json!({"event_type": "fact", "content": format!("{max_content}x")});
        let error = env.call("memory_add", too_long).await.unwrap_err();
        assert_eq!((error.code(), error.kind()), ("CONTENT_TOO_LARGE", quad_core::Kind::Limit));
        let too_long = json!({"old_node_id": 0, "new_content": format!("{max_content}x")});
        assert_eq!(env.call("memory_correct", too_long).await.unwrap_err().code(), "CONTENT_TOO_LARGE");
        assert_eq!(env.read("amem://node/0").await.unwrap()["content"], max_content.as_str());
        assert_eq!(env.read("amem://graph/stats").await.unwrap()["node_count"], 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_stops_at_byte_limit_and_cursor_continues() {
    for env in test_envs().await {
        let large = "x".repeat(60_000);
        let nodes: Vec<Value> = (0..40).map(|_| json!({"event_type": "fact", "content": large})).collect();
        env.call("memory_add_many", json!({"nodes": nodes})).await.unwrap();
        let (mut found, mut uri, mut pages) = (Vec::new(), "amem://types/fact".to_owned(), 0);
        loop {
            let answer = env.resolver.read(&env.caller, View::All, &uri).await.unwrap();
            let bytes = answer.read.contents[0].bytes();
            assert!(bytes.len() <= limits::PAGE_BYTES + 1_000, "{} bytes", bytes.len());
            let page: Value = serde_json::from_slice(bytes).unwrap();
            assert_eq!(page["count"], 40);
            found.extend(page["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_i64().unwrap()));
            pages += 1;
            match page["next_cursor"].as_str() {
                Some(cursor) => uri = format!("amem://types/fact?cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(found, (0..40).collect::<Vec<_>>());
        assert!(pages > 1);
        // A query page has the same size limit.
        let page = env.call("memory_query", json!({"max_results": 40})).await.unwrap();
        assert!(page["count"].as_u64().unwrap() < 40 && page["next_cursor"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn list_above_page_limit_has_cursor() {
    for env in test_envs().await {
        let nodes: Vec<Value> =
            (0..999).map(|number| json!({"event_type": "fact", "content": format!("{number}")})).collect();
        env.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
        let full_list = env.read("amem://types/fact").await.unwrap();
        assert_eq!((full_list["nodes"].as_array().unwrap().len(), full_list.get("next_cursor")), (999, None));
        add(&env, "1000").await;
        assert_eq!(env.read("amem://session/1").await.unwrap().get("next_cursor"), None);
        add(&env, "1001").await;
        let page = env.read("amem://session/1").await.unwrap();
        assert_eq!((&page["node_count"], page["nodes"].as_array().unwrap().len()), (&json!(1_001), 1_000));
        let rest = format!("amem://session/1?cursor={}", page["next_cursor"].as_str().unwrap());
        assert_eq!(env.read(&rest).await.unwrap()["nodes"][0]["id"], 1_000);
        // The twenty newest nodes; nodes of the same time by descending id.
        let recent = env.read("amem://graph/recent").await.unwrap();
        let ids: Vec<i64> =
            recent["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_i64().unwrap()).collect();
        assert_eq!(ids, (981..=1_000).rev().collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hub_node_is_truncated_paged_and_deleted_in_steps() {
    for env in test_envs().await {
        add(&env, "the hub").await;
        let edge = json!([{"target_id": 0, "edge_type": "part_of"}]);
        for _ in 0..2 {
            let nodes: Vec<Value> =
                (0..900).map(|_| json!({"event_type": "fact", "content": "spoke", "edges": edge})).collect();
            env.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
        }
        let hub = env.read("amem://node/0").await.unwrap();
        assert_eq!(hub["incoming_edges"].as_array().unwrap().len(), limits::NODE_EDGES);
        assert_eq!(hub["incoming_edges_cut"], true);
        assert_eq!(hub.get("outgoing_edges_cut"), None);
        let (mut seen, mut arguments) =
            (0, json!({"start_id": 0, "direction": "backward", "max_results": 1_000}));
        loop {
            let page = env.call("memory_traverse", arguments.clone()).await.unwrap();
            seen += page["visited_count"].as_u64().unwrap();
            match page.get("next_cursor") {
                Some(next) => arguments["cursor"] = next.clone(),
                None => break,
            }
        }
        assert_eq!(seen, 1_801);
        let (mut nodes, mut edges, mut arguments) = (0, 0, json!({"node_id": 0, "depth": 1}));
        loop {
            let page = env.call("memory_context", arguments.clone()).await.unwrap();
            nodes += page["node_count"].as_u64().unwrap();
            edges += page["edge_count"].as_u64().unwrap();
            match page.get("next_cursor") {
                Some(next) => arguments["cursor"] = next.clone(),
                None => break,
            }
        }
        assert_eq!((nodes, edges), (1_801, 1_800), "each edge on one page");
        let forget = json!({"node_id": 0, "reason": "a test"});
        let first = env.call("memory_forget", forget.clone()).await.unwrap();
        assert_eq!(
            (&first["forgotten"], &first["edges_removed"]),
            (&json!(false), &json!(limits::EDGES_PER_DELETE))
        );
        assert_eq!(env.read("amem://graph/stats").await.unwrap()["edge_count"], 300);
        let second = env.call("memory_forget", forget).await.unwrap();
        assert_eq!((&second["forgotten"], &second["edges_removed"]), (&json!(true), &json!(300)));
        let stats = env.read("amem://graph/stats").await.unwrap();
        assert_eq!((&stats["node_count"], &stats["edge_count"]), (&json!(1_800), &json!(0)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_limit_calls_write_nothing() {
    for env in test_envs_with_data().await {
        let edges: Vec<Value> = (0..5).map(|_| json!({"target_id": 0, "edge_type": "part_of"})).collect();
        let node = json!({"event_type": "fact", "content": "x", "edges": edges});
        let many = json!({"nodes": vec![node; 1_000]});
        let error = env.call("memory_add_many", many).await.unwrap_err();
        assert_eq!(error.code(), "TOO_MANY_ROWS");
        let nodes = json!({"nodes": vec![json!({"event_type": "fact", "content": "x"}); 1_001]});
        assert_eq!(env.call("memory_add_many", nodes).await.unwrap_err().code(), "VALIDATION_ERROR");
        assert_eq!(env.read("amem://graph/stats").await.unwrap()["node_count"], 4);
        let reason = "x".repeat(limits::REASON_CHARS + 1);
        let error = env.call("memory_forget", json!({"node_id": 1, "reason": reason})).await.unwrap_err();
        assert_eq!(error.code(), "VALIDATION_ERROR");
        let metadata = json!({"metadata": {"x": "y".repeat(limits::METADATA_BYTES)}});
        assert_eq!(env.call("session_start", metadata).await.unwrap_err().code(), "VALIDATION_ERROR");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_session_links_newest_nodes_to_episode() {
    for env in test_envs().await {
        for _ in 0..2 {
            let nodes = vec![json!({"event_type": "fact", "content": "x"}); 1_000];
            env.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
        }
        let ended = env.call("session_end", json!({})).await.unwrap();
        assert_eq!(ended["nodes_linked"], limits::EPISODE_EDGES);
        assert_eq!(ended["node_count"], 2_001);
        assert_eq!(env.read("amem://graph/stats").await.unwrap()["edge_count"], limits::EPISODE_EDGES);
        assert_eq!(env.read("amem://node/1999").await.unwrap()["outgoing_edges"][0]["target_id"], 2_000);
        assert_eq!(env.read("amem://node/0").await.unwrap()["outgoing_edges"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_event_contains_reason_but_not_content() {
    for env in test_envs_with_data().await {
        env.call("memory_forget", json!({"node_id": 2, "reason": "it was private"})).await.unwrap();
        let rows = env
            .test_store
            .store
            .read(&env.test_store.tenant, |sql| {
                Ok(sql.query("SELECT body FROM audit_block ORDER BY first_sequence DESC LIMIT 1", &[])?)
            })
            .await
            .unwrap();
        let event = rows[0].text(0).unwrap();
        assert!(event.contains("it was private") && event.contains("\"node_id\":2"), "{event}");
        assert!(!event.contains("cron jobs"), "the content is not in the audit event");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_reads_accept_any_text_and_write_nothing() {
    for env in test_envs().await {
        for text in [
            "日本語".repeat(500),
            "é".repeat(79),
            "\u{1f600}".repeat(81),
            " \n\t.".to_owned(),
            "a\u{301}".repeat(90),
        ] {
            add(&env, &text).await;
        }
        let before = env.read("amem://graph/stats").await.unwrap();
        let text = "日本語é".repeat(200);
        for (name, arguments) in [
            ("remember", json!({"information": text, "context": text})),
            ("reflect", json!({"topic": text, "node_id": "0"})),
            ("correct", json!({"old_belief": text, "new_information": text})),
            ("summarize", json!({})),
        ] {
            assert!(!env.prompt(name, arguments).await.unwrap().is_empty());
        }
        env.read("amem://node/0").await.unwrap();
        assert_eq!(env.read("amem://graph/stats").await.unwrap(), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn id_completions_match_prefix_digits() {
    for env in test_envs().await {
        let nodes = vec![json!({"event_type": "fact", "content": "x"}); 130];
        env.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
        assert_eq!(
            env.complete("amem://node/{id}", "id", "12", json!({})).await.unwrap(),
            ["12", "120", "121", "122", "123", "124", "125", "126", "127", "128", "129"]
        );
        assert_eq!(env.complete("amem://node/{id}", "id", "0", json!({})).await.unwrap(), ["0"]);
        assert!(env.complete("amem://node/{id}", "id", "00", json!({})).await.unwrap().is_empty());
        assert!(
            env.complete("amem://node/{id}", "id", "99999999999999999999", json!({}))
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(env.complete("amem://node/{id}", "id", "", json!({})).await.unwrap().len(), 100);
        assert_eq!(
            env.complete("amem://node/{id}/neighborhood{?depth}", "depth", "", json!({}))
                .await
                .unwrap()
                .len(),
            5
        );
    }
}

/// A new node is found by the next search: in this process, in another process, and after the indexes were deleted.
#[tokio::test(flavor = "multi_thread")]
async fn added_node_is_searchable_at_once_in_all_processes() {
    for env in test_envs().await {
        let other_process = env.reopen_same_dir().await;
        for number in 0..20 {
            let (writer, reader) =
                if number % 2 == 0 { (&env, &other_process) } else { (&other_process, &env) };
            add(writer, &format!("the gauge number{number} reads well")).await;
            for process in [writer, reader] {
                let found = process
                    .call("memory_search", json!({"query": format!("number{number}"), "mode": "text"}))
                    .await;
                assert_eq!(found.unwrap()["nodes"][0]["id"], number);
                let found = process.read(&format!("amem://search?q=number{number}")).await.unwrap();
                assert_eq!((&found["count"], &found["nodes"][0]["id"]), (&json!(1), &json!(number)));
            }
        }
        env.delete_indexes();
        let reopened = env.reopen_same_dir().await;
        let found = reopened
            .call("memory_search", json!({"query": "gauge", "mode": "text", "max_results": 100}))
            .await
            .unwrap();
        assert_eq!(found["count"], 20);
    }
}

/// A new node is found by the next search while an index exists: in the process that writes it, in one that shares
/// its folder, and on another machine.
#[tokio::test(flavor = "multi_thread")]
async fn added_node_is_searchable_at_once_with_index() {
    for env in test_envs().await {
        let (same_dir, other_dir) = (env.reopen_same_dir().await, env.reopen_other_dir().await);
        let processes = [&env, &same_dir, &other_dir];
        for call in 0..3 {
            let nodes: Vec<_> = (0..900)
                .map(|node| json!({"event_type": "fact", "content": format!("entry {} of the log", call * 900 + node)}))
                .collect();
            env.call("memory_add_many", json!({"nodes": nodes})).await.unwrap();
        }
        // The index is written in the background; each search is complete before, during and after.
        let mut number = 2_700;
        while number < 2_720 || !processes.iter().all(|process| process.has_index()) {
            assert!(number < 4_000, "no index was written");
            let writer = processes[number % 3];
            assert_eq!(add(writer, &format!("entry {number} of the log")).await, number as i64);
            for process in processes {
                let found =
                    process.call("memory_search", json!({"query": number.to_string(), "mode": "text"})).await;
                assert_eq!(found.unwrap()["nodes"][0]["id"], number);
                let count = process
                    .call("memory_ground", json!({"claim": format!("entry {number} of the log")}))
                    .await;
                assert_eq!(count.unwrap()["status"], "verified");
            }
            number += 1;
        }
        for process in processes {
            process.call("memory_forget", json!({"node_id": 5, "reason": "a test"})).await.ok();
            let found = process.call("memory_search", json!({"query": "5", "mode": "text"})).await.unwrap();
            assert!(found["nodes"].as_array().unwrap().iter().all(|node| node["id"] != 5), "{found}");
        }
        env.delete_indexes();
        let reopened = env.reopen_same_dir().await;
        let found = reopened.read("amem://search?q=1234").await.unwrap();
        assert_eq!(found["nodes"][0]["id"], 1_234);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn user_vector_is_found_by_similar_vector() {
    for env in test_envs().await {
        let axis = |dimension: usize| -> Vec<f64> {
            (0..128).map(|index| if index == dimension { 2.0 } else { 0.0 }).collect()
        };
        for dimension in 0..3 {
            let arguments = json!({"event_type": "fact", "content": format!("axis {dimension}"), "feature_vec": axis(dimension)});
            env.call("memory_add", arguments).await.unwrap();
        }
        add(&env, "without a vector").await;
        let found = env.call("memory_similar", json!({"query_vec": axis(1)})).await.unwrap();
        assert_eq!(found["mode"], "vector");
        assert_eq!((&found["count"], &found["matches"][0]["node_id"]), (&json!(1), &json!(1)));
        assert_eq!(found["matches"][0]["similarity"], 1.0);
        let all =
            env.call("memory_similar", json!({"query_vec": axis(1), "min_similarity": 0})).await.unwrap();
        assert_eq!(all["count"], 3);
        for bad in [vec![0.0; 128], vec![1.0; 127], vec![1e300; 128]] {
            let error = env.call("memory_similar", json!({"query_vec": bad})).await.unwrap_err();
            assert_eq!(error.kind(), quad_core::Kind::BadInput);
            let result = env
                .call("memory_add", json!({"event_type": "fact", "content": "x", "feature_vec": bad}))
                .await;
            assert_eq!(result.unwrap_err().kind(), quad_core::Kind::BadInput);
        }
    }
}

/// Text of any kind and length can be searched for and grounded.
#[tokio::test(flavor = "multi_thread")]
async fn searches_accept_any_text() {
    for env in test_envs().await {
        let contents =
            ["日本語".repeat(900), "é".repeat(33), "\u{1f600} smile".to_owned(), "a\u{301}e".repeat(90)];
        for content in &contents {
            add(&env, content).await;
        }
        for text in
            contents.iter().map(String::as_str).chain(["é\u{301}", "\"日本", "*", "ÀÉÎ*", "ＦＵＬＬ width"])
        {
            for (tool, argument) in [
                ("memory_search", "query"),
                ("memory_evidence", "query"),
                ("memory_ground", "claim"),
                ("memory_similar", "query_text"),
            ] {
                if let Err(error) = env.call(tool, json!({(argument): text})).await {
                    assert_eq!(error.kind(), quad_core::Kind::BadInput, "{tool} {text}: {error}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_content_is_rejected() {
    for env in test_envs_with_data().await {
        for (tool, arguments) in [
            ("memory_add", json!({"event_type": "fact", "content": ""})),
            ("memory_add", json!({"event_type": "fact", "content": " \n\t"})),
            ("memory_add_many", json!({"nodes": [{"event_type": "fact", "content": ""}]})),
            ("memory_correct", json!({"old_node_id": 0, "new_content": " "})),
        ] {
            let error = env.call(tool, arguments).await.unwrap_err();
            assert_eq!(error.code(), "VALIDATION_ERROR", "{tool}");
            assert!(error.message().contains("is empty"), "{}", error.message());
        }
        assert_eq!(env.read("amem://graph/stats").await.unwrap()["node_count"], 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn path_prefers_meaning_over_time() {
    for env in test_envs().await {
        for content in ["zero", "one", "two", "three"] {
            add(&env, content).await;
        }
        // In time 0 and 3 are three links apart, and 0 and 1 one.
        for (source, target) in [(1, 3), (3, 2), (2, 0)] {
            let link = json!({"source_id": source, "target_id": target, "edge_type": "caused_by"});
            env.call("memory_link", link).await.unwrap();
        }
        let path = async |arguments: Value| env.call("memory_path", arguments).await.unwrap();
        let edge_types = |path: &Value| -> Vec<String> {
            let edges = path["edges"].as_array().unwrap();
            edges.iter().map(|edge| edge["edge_type"].as_str().unwrap().to_owned()).collect()
        };
        let causal = path(json!({"from_id": 0, "to_id": 1})).await;
        assert_eq!(edge_types(&causal), ["caused_by"; 3]);
        let in_time = path(json!({"from_id": 0, "to_id": 1, "edge_types": ["temporal_next"]})).await;
        assert_eq!(edge_types(&in_time), ["temporal_next"]);
        // Only the chain leads to a new memory; the rest of the way is causal where it is as short.
        add(&env, "four").await;
        let mixed = path(json!({"from_id": 2, "to_id": 4})).await;
        assert_eq!(edge_types(&mixed), ["caused_by", "temporal_next"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_have_one_dimension_per_memory() {
    for env in test_envs().await {
        let dimension = async || env.read("amem://graph/stats").await.unwrap()["dimension"].clone();
        let add = async |vector: Vec<f64>| {
            let content = format!("a vector {vector:?}");
            env.call("memory_add", json!({"event_type": "fact", "content": content, "feature_vec": vector}))
                .await
        };
        assert_eq!(dimension().await, 128, "of an empty memory");
        add(vec![1.0, 0.0, 0.0]).await.unwrap();
        add(vec![0.0, 1.0, 0.5]).await.unwrap();
        assert_eq!(dimension().await, 3);
        let error = add(vec![1.0; 128]).await.unwrap_err();
        assert!(
            error.message().contains("128 numbers") && error.message().contains("have 3"),
            "{}",
            error.message()
        );
        let nodes = json!([{"event_type": "fact", "content": "a", "feature_vec": [1, 2]}]);
        assert!(env.call("memory_add_many", json!({"nodes": nodes})).await.is_err());
        for invalid in [vec![0.0, 0.0, 0.0], vec![1.0; limits::MAX_DIMENSION + 1]] {
            assert!(add(invalid).await.is_err());
        }
        let found = env.call("memory_similar", json!({"query_vec": [0, 2, 1]})).await.unwrap();
        assert_eq!((&found["count"], &found["matches"][0]["node_id"]), (&json!(1), &json!(1)), "{found}");
        let error = env.call("memory_similar", json!({"query_vec": [1, 2]})).await.unwrap_err();
        assert!(error.message().contains("2 numbers"), "{}", error.message());
        assert_eq!(env.violations().await, Vec::<String>::new());
        // When the last vector is gone, another model may begin.
        for id in 0..2 {
            env.call("memory_forget", json!({"node_id": id, "reason": "a test"})).await.unwrap();
        }
        assert_eq!(dimension().await, 128);
        add(vec![1.0; 384]).await.unwrap();
        assert_eq!(dimension().await, 384);
    }
}
