//! Import and export on every backend.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use quad_core::Kind;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::*;
use crate::files::{EdgeItem, FileFormat, Item, JsonlWriter, NodeItem, write_amem};
use crate::testing::{MemoryEnv, test_envs, test_envs_with_data};

fn temp_file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

async fn import(env: &MemoryEnv, path: &Path) -> ImportResult {
    env.scheme.import(&env.test_store.tenant, path, |_| {}).await.unwrap().1
}

async fn export_to_file(env: &MemoryEnv, format: FileFormat) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let opened = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
    env.scheme.export(&env.test_store.tenant, format, opened, |_, _| {}).await.unwrap();
    file
}

fn items(path: &Path) -> Vec<Item> {
    MemoryFile::open(path, 0).unwrap().collect::<Result<_>>().unwrap()
}

fn node(id: u64, content: &str) -> NodeItem {
    NodeItem {
        id,
        event_type: (id % 6) as u8,
        session_id: 4,
        created_at: 1_740_700_000_000_000 + id as i64,
        confidence: 0.75,
        access_count: 2,
        last_accessed: 1_740_800_000_000_000,
        created_by: Some("agent_7".to_owned()),
        content: content.to_owned(),
        vector: None,
    }
}

fn edge(source_id: u64, target_id: u64, edge_type: u8) -> EdgeItem {
    EdgeItem { source_id, target_id, edge_type, weight: 0.5, created_at: 1_740_700_000_000_000 }
}

fn jsonl(nodes: &[NodeItem], edges: &[EdgeItem]) -> NamedTempFile {
    let mut out = JsonlWriter::begin(Vec::new()).unwrap();
    nodes.iter().for_each(|node| out.write(&Item::Node(node.clone())).unwrap());
    edges.iter().for_each(|edge| out.write(&Item::Edge(edge.clone())).unwrap());
    temp_file(&String::from_utf8(out.finish().unwrap()).unwrap())
}

fn amem(nodes: &[NodeItem], edges: &[EdgeItem]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let out = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
    write_amem(out, 0, || Ok(nodes.iter().cloned().map(Ok)), || Ok(edges.iter().cloned().map(Ok))).unwrap();
    file
}

async fn version(env: &MemoryEnv) -> Option<quad_core::Version> {
    env.read_set("amem://graph/stats").await.unwrap().version
}

#[tokio::test(flavor = "multi_thread")]
async fn export_import_round_trip() {
    for (source, target) in test_envs_with_data().await.iter().zip(test_envs().await) {
        let vector: Vec<f32> = (0..128).map(|number| number as f32).collect();
        source
            .call(
                "memory_add",
                json!({"event_type": "skill", "content": "äöü\n\"quoted\"", "feature_vec": vector}),
            )
            .await
            .unwrap();
        source.call("memory_forget", json!({"node_id": 2, "reason": "a gap"})).await.unwrap();
        source.call("session_end", json!({"summary": "done"})).await.unwrap();
        source.call("session_start", json!({"metadata": {"why": "a second one"}})).await.unwrap();
        source.read("amem://node/1").await.unwrap();
        let jsonl_file = export_to_file(source, FileFormat::Jsonl).await;
        let imported = import(&target, jsonl_file.path()).await;
        assert_eq!((imported.nodes, imported.existing, imported.sessions), (5, 0, 2));
        let second_export = export_to_file(&target, FileFormat::Jsonl).await;
        assert_eq!(
            std::fs::read_to_string(second_export.path()).unwrap(),
            std::fs::read_to_string(jsonl_file.path()).unwrap()
        );
        assert_eq!(source.violations().await, Vec::<String>::new());
        assert_eq!(target.violations().await, Vec::<String>::new());
        for uri in ["amem://graph/stats", "amem://graph/recent", "amem://sessions", "amem://types/fact"] {
            assert_eq!(source.read(uri).await.unwrap(), target.read(uri).await.unwrap(), "{uri}");
        }
        // The `.amem` format loses what it cannot store, and its nodes are recognised.
        let amem_file = export_to_file(source, FileFormat::Amem).await;
        let imported = import(&target, amem_file.path()).await;
        assert_eq!((imported.nodes, imported.edges), (0, 0));
        let read = items(amem_file.path());
        assert_eq!(read.iter().filter(|item| matches!(item, Item::Node(_))).count(), 5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn import_is_idempotent() {
    for env in test_envs_with_data().await {
        // An export of this graph has nothing new for it.
        for format in [FileFormat::Jsonl, FileFormat::Amem] {
            let own_export = export_to_file(&env, format).await;
            let version_before = version(&env).await;
            let imported = import(&env, own_export.path()).await;
            assert_eq!(
                (imported.nodes, imported.edges, imported.sessions, imported.existing),
                (0, 0, 0, 10),
                "{format:?}"
            );
            assert_eq!(version(&env).await, version_before, "nothing was changed");
        }
        // An export of another graph is new, and its nodes get new ids where theirs are taken.
        let nodes: Vec<NodeItem> = (0..7).map(|id| node(id, &format!("their {id}"))).collect();
        let edges = [edge(1, 0, 0), edge(5, 2, 3), edge(6, 1, 6)];
        let foreign_file = jsonl(&nodes, &edges);
        let imported = import(&env, foreign_file.path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.sessions, imported.existing), (7, 3, 1, 0));
        let node_json = env.read("amem://node/6").await.unwrap();
        assert_eq!(node_json["content"], "their 2");
        assert_eq!((&node_json["superseded_by"], &node_json["session_id"]), (&json!(9), &json!(4)));
        let version_before = version(&env).await;
        for copy in [&foreign_file, &amem(&nodes, &edges)] {
            let imported = import(&env, copy.path()).await;
            assert_eq!((imported.nodes, imported.edges, imported.existing), (0, 0, 10));
        }
        assert_eq!(version(&env).await, version_before);
        // A longer copy adds what is new, linked to existing nodes.
        let mut nodes = nodes;
        nodes.push(node(7, "their newest"));
        let imported = import(&env, jsonl(&nodes, &[edge(7, 0, 1)]).path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.sessions), (1, 1, 0));
        let node_json = env.read("amem://node/11").await.unwrap();
        assert_eq!(node_json["outgoing_edges"][0]["target_id"], 4);
        assert_eq!(node_json["session_id"], 4);
        // A deleted node is not imported again, nor are its edges.
        env.call("memory_forget", json!({"node_id": 11, "reason": "a test"})).await.unwrap();
        let imported = import(&env, jsonl(&nodes, &[edge(7, 0, 1)]).path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.edges_left_out), (0, 0, 1));
        assert_eq!(env.read("amem://node/11").await.unwrap_err().kind(), Kind::NotFound);
        assert_eq!(env.violations().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_import_can_be_resumed() {
    for env in test_envs().await {
        let nodes: Vec<NodeItem> = (0..2_500).map(|id| node(id * 2, &format!("number {id}"))).collect();
        let edges: Vec<EdgeItem> = (1..2_500)
            .flat_map(|id| [(id, id - 1, 6), (id, id / 2, 0), (id, id / 3, 4)])
            .filter(|(source, target, _)| source != target)
            .map(|(source, target, kind)| edge(source * 2, target * 2, kind))
            .collect();
        let full_file = jsonl(&nodes, &edges);
        let text = std::fs::read_to_string(full_file.path()).unwrap();
        // A part of the file, as an interrupted import leaves it.
        let lines: Vec<&str> = text.lines().collect();
        for line_count in [1, 1_500, 2_501, 4_000] {
            import(&env, temp_file(&lines[..line_count].join("\n")).path()).await;
        }
        let mut progress_events = Vec::new();
        let (format, imported) = env
            .scheme
            .import(&env.test_store.tenant, full_file.path(), |progress| progress_events.push(progress))
            .await
            .unwrap();
        assert_eq!(format, FileFormat::Jsonl);
        assert_eq!((imported.nodes, imported.existing), (0, 2_500 + 4_000 - 2_501));
        assert!(
            progress_events.len() > 4 && progress_events.windows(2).all(|pair| pair[0].done <= pair[1].done)
        );
        assert!(progress_events.last().is_some_and(|last| last.done == last.total));
        let exported = export_to_file(&env, FileFormat::Jsonl).await;
        let exported_items: BTreeSet<String> =
            items(exported.path()).iter().map(|item| format!("{item:?}")).collect();
        for item in items(full_file.path()) {
            assert!(exported_items.contains(&format!("{item:?}")), "{item:?}");
        }
        assert_eq!(env.read("amem://graph/stats").await.unwrap()["node_count"], 2_500);
        env.scheme.wait_for_index().await.unwrap();
        assert_eq!(env.violations().await, Vec::<String>::new());
        let search_result =
            env.call("memory_search", json!({"query": "1234", "mode": "text"})).await.unwrap();
        assert_eq!(search_result["nodes"][0]["id"], 2_468);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_imports_do_not_duplicate() {
    for env in test_envs().await {
        let other = env.reopen_same_dir().await;
        let nodes: Vec<NodeItem> = (0..1_500).map(|id| node(id, &format!("number {id}"))).collect();
        let edges: Vec<EdgeItem> = (1..1_500).map(|id| edge(id, id - 1, 6)).collect();
        let file = jsonl(&nodes, &edges);
        let (first, second) = tokio::join!(import(&env, file.path()), import(&other, file.path()));
        assert_eq!((first.nodes + second.nodes, first.edges + second.edges), (1_500, 1_499));
        assert_eq!(env.violations().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entity_import_is_idempotent() {
    let text = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["wrote a program"]}
{"type":"entity","name":"Team","entityType":"group","observations":[]}
{ this is broken
{"type":"relation","from":"Ada","to":"Team","relationType":"member_of"}
"#;
    for env in test_envs_with_data().await {
        let imported = import(&env, temp_file(text).path()).await;
        assert_eq!(
            (imported.nodes, imported.edges, imported.sessions, imported.bad_lines.count),
            (3, 3, 1, 1)
        );
        assert_eq!(imported.bad_lines.reported[0].line, 3);
        let node = env.read("amem://node/4").await.unwrap();
        assert_eq!(node["content"], "Ada (person)\n- wrote a program");
        assert_eq!(node["session_id"], 2, "a session of its own");
        let second_import = import(&env, temp_file(text).path()).await;
        assert_eq!(
            (second_import.nodes, second_import.edges, second_import.sessions, second_import.existing),
            (0, 0, 0, 6)
        );
        let fixed_text = text
            .replace("{ this is broken", r#"{"type":"entity","name":"Babbage","observations":["built"]}"#);
        let imported = import(&env, temp_file(&fixed_text).path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.bad_lines.count), (1, 0, 0));
        assert_eq!(env.violations().await, Vec::<String>::new());
        // Exported again.
        let out =
            std::fs::read_to_string(export_to_file(&env, FileFormat::ServerMemory).await.path()).unwrap();
        let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
        assert_eq!(first["name"], "node-0");
        assert!(
            out.contains(r#"{"type":"relation","from":"node-3","to":"node-0","relationType":"supersedes"}"#),
            "{out}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_files_keep_graph_consistent() {
    for env in test_envs().await {
        let mut nodes: Vec<NodeItem> = (0..4).map(|id| node(id, &format!("plain {id}"))).collect();
        nodes.push(NodeItem { id: i64::MAX as u64, session_id: u32::MAX, ..node(9, "far away") });
        nodes[0].created_at = i64::MAX;
        nodes[0].last_accessed = i64::MIN;
        nodes[1].created_at = i64::MIN;
        nodes[1].access_count = u32::MAX;
        nodes[2].content = "a\0b".to_owned();
        nodes[2].created_by = Some("x\0".to_owned());
        nodes[3].created_by = Some("y".repeat(100_000));
        // A cycle of corrections, and a duplicate edge.
        let edges = [edge(0, 1, 3), edge(1, 2, 3), edge(2, 0, 3), edge(3, 0, 1), edge(3, 0, 1)];
        let file = jsonl(&nodes, &edges);
        let imported = import(&env, file.path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.edges_left_out), (5, 3, 1));
        assert_eq!(env.violations().await, Vec::<String>::new());
        let second_import = import(&env, file.path()).await;
        assert_eq!((second_import.nodes, second_import.edges), (0, 0));
        assert_eq!(env.read("amem://node/2").await.unwrap()["content"], "a\u{fffd}b");
        let newest = env.read("amem://node/4").await.unwrap();
        assert_eq!(newest["content"], "far away");
        // The graph stays writable.
        let added = env.call("memory_add", json!({"event_type": "fact", "content": "next"})).await.unwrap();
        assert_eq!(added["node_id"], 5);
        assert_eq!(env.read("amem://graph/recent").await.unwrap()["nodes"][0]["id"], 5);
        // A binary file with any error is rejected as a whole.
        let amem_file = amem(
            &nodes[..3]
                .iter()
                .cloned()
                .map(|node| NodeItem { created_at: 5, last_accessed: 9, ..node })
                .collect::<Vec<_>>(),
            &[edge(1, 0, 0)],
        );
        let mut bytes = std::fs::read(amem_file.path()).unwrap();
        let last_edge = 64 + 3 * 72;
        bytes[last_edge + 16] = 99;
        std::fs::write(amem_file.path(), bytes).unwrap();
        let version_before = version(&env).await;
        let error = env.scheme.import(&env.test_store.tenant, amem_file.path(), |_| {}).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (Kind::BadInput, "BAD_FILE"));
        assert!(error.message().starts_with(&format!("Byte {}:", last_edge + 16)), "{}", error.message());
        assert_eq!(version(&env).await, version_before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_corrections_of_a_file_are_superseded() {
    for env in test_envs().await {
        let nodes = [
            NodeItem { event_type: 0, ..node(0, "old") },
            NodeItem { event_type: 3, ..node(1, "newer") },
            NodeItem { event_type: 3, ..node(2, "newest") },
        ];
        let edges = [edge(1, 0, 3), EdgeItem { created_at: 1_740_700_000_000_001, ..edge(2, 0, 3) }];
        let file = jsonl(&nodes, &edges);
        let result = import(&env, file.path()).await;
        assert_eq!((result.nodes, result.edges, result.edges_left_out), (3, 2, 0));
        assert_eq!(env.read("amem://node/1").await.unwrap()["superseded_by"], 2);
        assert_eq!(env.violations().await, Vec::<String>::new());
        let again = import(&env, file.path()).await;
        assert_eq!((again.nodes, again.edges, again.existing), (0, 0, 5));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_another_dimension_are_left_out() {
    for env in test_envs().await {
        let with_vector = |id: u64, vector: Vec<f32>| NodeItem { vector: Some(vector), ..node(id, "text") };
        let nodes =
            [with_vector(0, vec![1.0; 384]), with_vector(1, vec![0.5; 384]), with_vector(2, vec![1.0; 3])];
        let result = import(&env, jsonl(&nodes, &[]).path()).await;
        assert_eq!((result.nodes, result.vectors_left_out), (3, 1));
        assert_eq!(env.read("amem://graph/stats").await.unwrap()["dimension"], 384);
        assert_eq!(env.violations().await, Vec::<String>::new());
        // The binary format has one dimension for the whole file.
        let exported = export_to_file(&env, FileFormat::Amem).await;
        let vectors = items(exported.path()).into_iter().filter_map(|item| match item {
            Item::Node(node) => node.vector,
            _ => None,
        });
        assert_eq!(vectors.map(|vector| vector.len()).collect::<Vec<_>>(), [384, 384]);
    }
}
