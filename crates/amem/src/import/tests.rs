//! Files in and out of a graph, on every backend.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use quad_core::Kind;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::*;
use crate::files::{EdgeItem, FileFormat, Item, JsonlWriter, NodeItem, write_amem};
use crate::testing::{World, fixtures, worlds};

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

async fn import(world: &World, path: &Path) -> Imported {
    world.amem.import(&world.test.tenant, path, |_| {}).await.unwrap().1
}

async fn exported(world: &World, format: FileFormat) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let opened = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
    world.amem.export(&world.test.tenant, format, opened, |_, _| {}).await.unwrap();
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
        created_by: Some("somebody".to_owned()),
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
    file(&String::from_utf8(out.finish().unwrap()).unwrap())
}

fn amem(nodes: &[NodeItem], edges: &[EdgeItem]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let out = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
    write_amem(out, 0, || Ok(nodes.iter().cloned().map(Ok)), || Ok(edges.iter().cloned().map(Ok))).unwrap();
    file
}

async fn version(world: &World) -> Option<quad_core::Version> {
    world.basis("amem://graph/stats").await.version
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_comes_back_as_it_went() {
    for (one, other) in fixtures().await.iter().zip(worlds().await) {
        let vector: Vec<f32> = (0..128).map(|number| number as f32).collect();
        one.call(
            "memory_add",
            json!({"event_type": "skill", "content": "äöü\n\"quoted\"", "feature_vec": vector}),
        )
        .await
        .unwrap();
        one.call("memory_forget", json!({"node_id": 2, "reason": "a gap"})).await.unwrap();
        one.call("session_end", json!({"summary": "done"})).await.unwrap();
        one.call("session_start", json!({"metadata": {"why": "a second one"}})).await.unwrap();
        one.read("amem://node/1").await.unwrap();
        let text = exported(one, FileFormat::Jsonl).await;
        let imported = import(&other, text.path()).await;
        assert_eq!((imported.nodes, imported.known, imported.sessions), (5, 0, 2));
        let again = exported(&other, FileFormat::Jsonl).await;
        assert_eq!(
            std::fs::read_to_string(again.path()).unwrap(),
            std::fs::read_to_string(text.path()).unwrap()
        );
        assert_eq!(one.faults().await, Vec::<String>::new());
        assert_eq!(other.faults().await, Vec::<String>::new());
        for uri in ["amem://graph/stats", "amem://graph/recent", "amem://sessions", "amem://types/fact"] {
            assert_eq!(one.read(uri).await.unwrap(), other.read(uri).await.unwrap(), "{uri}");
        }
        // The same in the original's format, but for what that has no place for; and it is known to be the same.
        let binary = exported(one, FileFormat::Amem).await;
        let imported = import(&other, binary.path()).await;
        assert_eq!((imported.nodes, imported.edges), (0, 0));
        let read = items(binary.path());
        assert_eq!(read.iter().filter(|item| matches!(item, Item::Node(_))).count(), 5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_comes_in_twice() {
    for world in fixtures().await {
        // What was written from this graph is in it.
        for format in [FileFormat::Jsonl, FileFormat::Amem] {
            let own = exported(&world, format).await;
            let before = version(&world).await;
            let imported = import(&world, own.path()).await;
            assert_eq!(
                (imported.nodes, imported.edges, imported.sessions, imported.known),
                (0, 0, 0, 10),
                "{format:?}"
            );
            assert_eq!(version(&world).await, before, "nothing was changed");
        }
        // What was in another graph is not, and gets other numbers where these are taken.
        let nodes: Vec<NodeItem> = (0..7).map(|id| node(id, &format!("their {id}"))).collect();
        let edges = [edge(1, 0, 0), edge(5, 2, 3), edge(6, 1, 6)];
        let theirs = jsonl(&nodes, &edges);
        let imported = import(&world, theirs.path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.sessions, imported.known), (7, 3, 1, 0));
        let shown = world.read("amem://node/6").await.unwrap();
        assert_eq!(shown["content"], "their 2");
        assert_eq!((&shown["superseded_by"], &shown["session_id"]), (&json!(9), &json!(4)));
        let before = version(&world).await;
        for same in [&theirs, &amem(&nodes, &edges)] {
            let imported = import(&world, same.path()).await;
            assert_eq!((imported.nodes, imported.edges, imported.known), (0, 0, 10));
        }
        assert_eq!(version(&world).await, before);
        // A copy that has grown brings what is new, and leads to what is there.
        let mut nodes = nodes;
        nodes.push(node(7, "their newest"));
        let imported = import(&world, jsonl(&nodes, &[edge(7, 0, 1)]).path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.sessions), (1, 1, 0));
        let shown = world.read("amem://node/11").await.unwrap();
        assert_eq!(shown["outgoing_edges"][0]["target_id"], 4);
        assert_eq!(shown["session_id"], 4);
        // What was forgotten stays forgotten, and so does what hangs on it.
        world.call("memory_forget", json!({"node_id": 11, "reason": "a test"})).await.unwrap();
        let imported = import(&world, jsonl(&nodes, &[edge(7, 0, 1)]).path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.edges_left_out), (0, 0, 1));
        assert_eq!(world.read("amem://node/11").await.unwrap_err().kind(), Kind::NotFound);
        assert_eq!(world.faults().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_of_many_portions_can_be_cut_anywhere() {
    for world in worlds().await {
        let nodes: Vec<NodeItem> = (0..2_500).map(|id| node(id * 2, &format!("number {id}"))).collect();
        let edges: Vec<EdgeItem> = (1..2_500)
            .flat_map(|id| [(id, id - 1, 6), (id, id / 2, 0), (id, id / 3, 4)])
            .filter(|(source, target, _)| source != target)
            .map(|(source, target, kind)| edge(source * 2, target * 2, kind))
            .collect();
        let whole = jsonl(&nodes, &edges);
        let text = std::fs::read_to_string(whole.path()).unwrap();
        // As an interrupted one leaves it.
        let lines: Vec<&str> = text.lines().collect();
        for part in [1, 1_500, 2_501, 4_000] {
            import(&world, file(&lines[..part].join("\n")).path()).await;
        }
        let mut told = Vec::new();
        let (format, imported) = world
            .amem
            .import(&world.test.tenant, whole.path(), |progress| told.push(progress))
            .await
            .unwrap();
        assert_eq!(format, FileFormat::Jsonl);
        assert_eq!((imported.nodes, imported.known), (0, 2_500 + 4_000 - 2_501));
        assert!(told.len() > 4 && told.windows(2).all(|pair| pair[0].done <= pair[1].done));
        assert!(told.last().is_some_and(|last| last.done == last.total));
        let again = exported(&world, FileFormat::Jsonl).await;
        let found: BTreeSet<String> = items(again.path()).iter().map(|item| format!("{item:?}")).collect();
        for item in items(whole.path()) {
            assert!(found.contains(&format!("{item:?}")), "{item:?}");
        }
        assert_eq!(world.read("amem://graph/stats").await.unwrap()["node_count"], 2_500);
        world.amem.settle().await.unwrap();
        assert_eq!(world.faults().await, Vec::<String>::new());
        let found = world.call("memory_search", json!({"query": "1234", "mode": "text"})).await.unwrap();
        assert_eq!(found["nodes"][0]["id"], 2_468);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_bring_each_node_once() {
    for world in worlds().await {
        let other = world.opened_again().await;
        let nodes: Vec<NodeItem> = (0..1_500).map(|id| node(id, &format!("number {id}"))).collect();
        let edges: Vec<EdgeItem> = (1..1_500).map(|id| edge(id, id - 1, 6)).collect();
        let file = jsonl(&nodes, &edges);
        let (one, two) = tokio::join!(import(&world, file.path()), import(&other, file.path()));
        assert_eq!((one.nodes + two.nodes, one.edges + two.edges), (1_500, 1_499));
        assert_eq!(world.faults().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_entities_say_comes_in_once() {
    let text = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["wrote a program"]}
{"type":"entity","name":"Team","entityType":"group","observations":[]}
{ this is broken
{"type":"relation","from":"Ada","to":"Team","relationType":"member_of"}
"#;
    for world in fixtures().await {
        let imported = import(&world, file(text).path()).await;
        assert_eq!(
            (imported.nodes, imported.edges, imported.sessions, imported.bad_lines.count),
            (3, 3, 1, 1)
        );
        assert_eq!(imported.bad_lines.told[0].line, 3);
        let node = world.read("amem://node/4").await.unwrap();
        assert_eq!(node["content"], "Ada (person)\n- wrote a program");
        assert_eq!(node["session_id"], 2, "a session of its own");
        let again = import(&world, file(text).path()).await;
        assert_eq!((again.nodes, again.edges, again.sessions, again.known), (0, 0, 0, 6));
        let mended = text
            .replace("{ this is broken", r#"{"type":"entity","name":"Babbage","observations":["built"]}"#);
        let imported = import(&world, file(&mended).path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.bad_lines.count), (1, 0, 0));
        assert_eq!(world.faults().await, Vec::<String>::new());
        // And out again.
        let out = std::fs::read_to_string(exported(&world, FileFormat::ServerMemory).await.path()).unwrap();
        let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
        assert_eq!(first["name"], "node-0");
        assert!(
            out.contains(r#"{"type":"relation","from":"node-3","to":"node-0","relationType":"supersedes"}"#),
            "{out}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_files_do_no_harm() {
    for world in worlds().await {
        let mut nodes: Vec<NodeItem> = (0..4).map(|id| node(id, &format!("plain {id}"))).collect();
        nodes.push(NodeItem { id: i64::MAX as u64, session_id: u32::MAX, ..node(9, "far away") });
        nodes[0].created_at = i64::MAX;
        nodes[0].last_accessed = i64::MIN;
        nodes[1].created_at = i64::MIN;
        nodes[1].access_count = u32::MAX;
        nodes[2].content = "a\0b".to_owned();
        nodes[2].created_by = Some("x\0".to_owned());
        nodes[3].created_by = Some("y".repeat(100_000));
        // A circle of corrections, and the same edge twice.
        let edges = [edge(0, 1, 3), edge(1, 2, 3), edge(2, 0, 3), edge(3, 0, 1), edge(3, 0, 1)];
        let file = jsonl(&nodes, &edges);
        let imported = import(&world, file.path()).await;
        assert_eq!((imported.nodes, imported.edges, imported.edges_left_out), (5, 3, 1));
        assert_eq!(world.faults().await, Vec::<String>::new());
        let again = import(&world, file.path()).await;
        assert_eq!((again.nodes, again.edges), (0, 0));
        assert_eq!(world.read("amem://node/2").await.unwrap()["content"], "a\u{fffd}b");
        let newest = world.read("amem://node/4").await.unwrap();
        assert_eq!(newest["content"], "far away");
        // Life goes on.
        let added = world.call("memory_add", json!({"event_type": "fact", "content": "next"})).await.unwrap();
        assert_eq!(added["node_id"], 5);
        assert_eq!(world.read("amem://graph/recent").await.unwrap()["nodes"][0]["id"], 5);
        // A binary file that is wrong anywhere is refused as a whole.
        let good = amem(
            &nodes[..3]
                .iter()
                .cloned()
                .map(|node| NodeItem { created_at: 5, last_accessed: 9, ..node })
                .collect::<Vec<_>>(),
            &[edge(1, 0, 0)],
        );
        let mut bytes = std::fs::read(good.path()).unwrap();
        let last_edge = 64 + 3 * 72;
        bytes[last_edge + 16] = 99;
        std::fs::write(good.path(), bytes).unwrap();
        let before = version(&world).await;
        let refused = world.amem.import(&world.test.tenant, good.path(), |_| {}).await.unwrap_err();
        assert_eq!((refused.kind(), refused.code()), (Kind::BadInput, "BAD_FILE"));
        assert!(refused.message().starts_with(&format!("Byte {}:", last_edge + 16)), "{}", refused.message());
        assert_eq!(version(&world).await, before);
    }
}
