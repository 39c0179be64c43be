//! All formats: reading returns what was written, and malformed files do no harm.

use std::io::Cursor;

use proptest::prelude::*;
use quad_core::Result;
use quad_store::testing::TestRng;

use super::amem_file::{EDGE_BYTES, HEADER_BYTES, NODE_BYTES};
use super::limits::{CONTENT_BYTES, LINE_BYTES, MAX_DIMENSION};
use super::*;

const NOW: i64 = 1_740_700_000_000_000;

fn node(id: u64, content: &str) -> NodeItem {
    NodeItem {
        id,
        event_type: (id % 6) as u8,
        session_id: 7,
        created_at: NOW - 5,
        confidence: 0.95,
        access_count: 3,
        last_accessed: NOW,
        created_by: None,
        content: content.to_owned(),
        vector: None,
    }
}

fn edge(source_id: u64, target_id: u64) -> EdgeItem {
    EdgeItem { source_id, target_id, edge_type: 1, weight: 0.7, created_at: NOW }
}

/// Random graphs. With `exact`, also f64 numbers and fields that only our own format can store.
fn graphs(exact: bool) -> impl Strategy<Value = (Vec<NodeItem>, Vec<EdgeItem>)> {
    let ratio = move || {
        if exact {
            (0.0..=1.0f64).boxed()
        } else {
            (0.0..=1.0f32).prop_map(|ratio| ratio.to_string().parse().unwrap()).boxed()
        }
    };
    let time = 0..=i64::MAX;
    let vector = prop::option::of(prop::collection::vec(-4.0f32..4.0, 128));
    let created_by = prop::option::of("[a-z]{1,5}");
    let nodes = prop::collection::vec(
        (
            (1u64..1_000, 0u8..6, any::<u32>(), time.clone()),
            (ratio(), any::<u32>(), time.clone()),
            ".{0,200}",
            vector,
            created_by,
        ),
        0..12,
    );
    let edges = prop::collection::vec((any::<usize>(), any::<usize>(), 0u8..7, ratio(), time), 0..12);
    (nodes, edges).prop_map(move |(nodes, edges)| {
        let mut id = 0;
        let nodes: Vec<NodeItem> = nodes
            .into_iter()
            .map(
                |(
                    (step, event_type, session_id, created_at),
                    (confidence, access_count, last_accessed),
                    content,
                    vector,
                    created_by,
                )| {
                    id += step;
                    NodeItem {
                        id,
                        event_type,
                        session_id,
                        created_at,
                        confidence,
                        access_count,
                        last_accessed,
                        created_by: created_by.filter(|_| exact),
                        content,
                        vector: vector.filter(|vector| crate::vectors::is_valid(vector)),
                    }
                },
            )
            .collect();
        let mut edges: Vec<EdgeItem> = edges
            .into_iter()
            .filter(|_| nodes.len() > 1)
            .filter_map(|(source, target, edge_type, weight, created_at)| {
                let (source, target) = (source % nodes.len(), target % nodes.len());
                let (source_id, target_id) = (nodes[source].id, nodes[target].id);
                (source != target).then_some(EdgeItem { source_id, target_id, edge_type, weight, created_at })
            })
            .collect();
        edges.sort_by_key(|edge| (edge.source_id, edge.target_id));
        (nodes, edges)
    })
}

fn write_amem_bytes(nodes: &[NodeItem], edges: &[EdgeItem]) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    write_amem(&mut out, NOW, || Ok(nodes.iter().cloned().map(Ok)), || Ok(edges.iter().cloned().map(Ok)))
        .unwrap();
    out.into_inner()
}

fn read_amem(bytes: &[u8]) -> Result<Vec<Item>> {
    AmemReader::open(Cursor::new(bytes))?.collect()
}

fn items(nodes: Vec<NodeItem>, edges: Vec<EdgeItem>) -> Vec<Item> {
    nodes.into_iter().map(Item::Node).chain(edges.into_iter().map(Item::Edge)).collect()
}

fn write_jsonl_bytes(items: &[Item]) -> Vec<u8> {
    let mut out = JsonlWriter::begin(Vec::new()).unwrap();
    items.iter().for_each(|item| out.write(item).unwrap());
    out.finish().unwrap()
}

fn read_jsonl(bytes: &[u8]) -> Result<Vec<Item>> {
    let mut reader = JsonlReader::open(bytes)?;
    let items = reader.by_ref().collect::<Result<_>>()?;
    match reader.bad_lines().reported.first() {
        Some(bad) => Err(parse_error::at_line(bad.line, &bad.reason)),
        None => Ok(items),
    }
}

fn small_graph() -> (Vec<NodeItem>, Vec<EdgeItem>) {
    let mut nodes =
        vec![node(0, "The API rate limit is 100"), node(1, ""), node(5, "é ü 東京 repeat repeat repeat")];
    nodes[2].vector = Some((0..128).map(|n| n as f32 / 7.0 - 3.0).collect());
    (nodes, vec![edge(1, 0), edge(5, 0), edge(5, 1)])
}

proptest! {
    #[test]
    fn amem_round_trip((nodes, edges) in graphs(false)) {
        let bytes = write_amem_bytes(&nodes, &edges);
        prop_assert_eq!(read_amem(&bytes).unwrap(), items(nodes, edges));
    }

    #[test]
    fn jsonl_round_trip((nodes, edges) in graphs(true)) {
        let mut items = items(nodes, edges);
        items.push(Item::Session(SessionItem {
            session_id: 4,
            started_at: Some(i64::MIN),
            ended_at: None,
            started_by: Some("agent".to_owned()),
            episode_id: None,
            metadata: Some(serde_json::json!({"a": [1, null]})),
        }));
        prop_assert_eq!(read_jsonl(&write_jsonl_bytes(&items)).unwrap(), items);
    }
}

#[test]
fn amem_layout_matches_original_format() {
    let (nodes, edges) = small_graph();
    let bytes = write_amem_bytes(&nodes, &edges);
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..8], b"AMEM\x01\0\0\0");
    assert_eq!((u32_at(8), u32_at(12), u64_at(16), u64_at(24)), (128, 0, 3, 3));
    assert_eq!((u64_at(32), u64_at(40)), (64, 64 + 3 * 72));
    let contents = 64 + 3 * 72 + 3 * 32;
    assert_eq!(u64_at(48), contents);
    assert_eq!(u64_at(56) + 3 * 512, bytes.len() as u64);
    // The third node's record.
    let third = 64 + 2 * 72;
    assert_eq!((u64_at(third), bytes[third + 8], u64_at(third + 12)), (5, 5, NOW as u64 - 5));
    assert_eq!((u32_at(third + 20), u32_at(third + 28), u64_at(third + 32)), (7, 3, NOW as u64));
    assert_eq!(f32::from_bits(u32_at(third + 24)), 0.95);
    assert_eq!(f32::from_bits(u32_at(third + 40)), 0.6);
    assert_eq!((u64_at(third + 56), bytes[third + 64]), (32, 2));
    // Its text: a size, then a block.
    let text = (contents + u64_at(third + 44)) as usize;
    assert_eq!(u32_at(text) as usize, nodes[2].content.len());
    let block = &bytes[text + 4..text + u32_at(third + 52) as usize];
    assert_eq!(lz4_flex::block::decompress(block, 100).unwrap(), nodes[2].content.as_bytes());
    // The last edge.
    let last = 64 + 3 * 72 + 2 * 32;
    assert_eq!((u64_at(last), u64_at(last + 8), bytes[last + 16], u64_at(last + 24)), (5, 1, 1, NOW as u64));
    assert_eq!(f32::from_bits(u32_at(last + 20)), 0.7);
}

#[test]
fn trailing_indexes_and_too_long_vectors_are_ignored() {
    let (nodes, edges) = small_graph();
    let mut bytes = write_amem_bytes(&nodes, &edges);
    bytes.extend([1, 4, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9]);
    assert_eq!(read_amem(&bytes).unwrap(), items(nodes.clone(), edges));
    // A dimension above the limit, and enough bytes for the vectors.
    let dimension = MAX_DIMENSION as u32 + 1;
    bytes[8..12].copy_from_slice(&dimension.to_le_bytes());
    bytes.extend(vec![0; 3 * 4 * dimension as usize]);
    let mut reader = AmemReader::open(Cursor::new(&bytes)).unwrap();
    let items_read: Vec<Item> = reader.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!(reader.vectors_left_out(), 3);
    assert!(
        matches!(&items_read[2], Item::Node(node) if node.vector.is_none() && node.content == nodes[2].content)
    );
}

#[test]
fn amem_errors_name_byte_offset() {
    let (nodes, edges) = small_graph();
    let valid = write_amem_bytes(&nodes, &edges);
    let (first_edge, second_node) =
        ((HEADER_BYTES + 3 * NODE_BYTES) as usize, (HEADER_BYTES + NODE_BYTES) as usize);
    let error_message = |at: usize, bytes: &[u8]| {
        let mut invalid = valid.clone();
        invalid[at..at + bytes.len()].copy_from_slice(bytes);
        let error = read_amem(&invalid).unwrap_err();
        assert_eq!(error.code(), "BAD_FILE");
        error.message().to_owned()
    };
    let huge = u64::MAX.to_le_bytes();
    for (at, bytes, error_offset, expected) in [
        (0, b"X".as_slice(), 0, "not an .amem file"),
        (4, &[2], 4, "version 2"),
        (16, &huge, 32, "nodes"),
        (24, &huge, 40, "edges"),
        (32, &[3], 32, "nodes"),
        (48, &huge, 48, "texts"),
        (56, &huge, 56, "vectors"),
        (8, &[255, 255, 255, 255], 56, "vectors"),
        (second_node, &[0], second_node, "not less"),
        (second_node + 8, &[6], second_node + 8, "not an event type"),
        (second_node + 12, &huge, second_node + 12, "out of range"),
        (second_node + 24, &[0, 0, 0xc0, 0x7f], second_node + 24, "NaN"),
        (second_node + 44, &huge, second_node + 44, "text"),
        (second_node + 52, &huge[..4], second_node + 52, "the maximum is"),
        (first_edge, &[9], first_edge, "node 9"),
        (first_edge + 8, &[1], first_edge, "itself"),
        (first_edge + 16, &[7], first_edge + 16, "not an edge type"),
    ] {
        let message = error_message(at, bytes);
        assert!(
            message.starts_with(&format!("Byte {error_offset}:")) && message.contains(expected),
            "{at}: {message}"
        );
    }
}

#[test]
fn oversized_content_length_is_rejected() {
    let (nodes, edges) = small_graph();
    let mut bytes = write_amem_bytes(&nodes, &edges);
    let contents = (HEADER_BYTES + 3 * NODE_BYTES + 3 * EDGE_BYTES) as usize;
    bytes[contents..contents + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read_amem(&bytes).unwrap_err().message().contains("the maximum is 65536"));
    bytes[contents..contents + 4].copy_from_slice(&60_000u32.to_le_bytes());
    assert!(read_amem(&bytes).is_err());
}

#[test]
fn truncated_amem_file_is_rejected() {
    let (nodes, edges) = small_graph();
    let complete = write_amem_bytes(&nodes, &edges);
    for length in 0..complete.len() {
        assert!(read_amem(&complete[..length]).is_err(), "{length}");
    }
    let text = write_jsonl_bytes(&items(nodes, edges));
    for length in 0..text.len() {
        // Complete lines are read, an incomplete one is an error; nothing panics.
        let result = read_jsonl(&text[..length]);
        assert!(result.is_err() || text[length - 1] == b'\n' || text[length] == b'\n', "{length}");
    }
}

fn mutate(original: &[u8], rng: &mut TestRng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len());
        match rng.below(6) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5)],
            2 => bytes.truncate(at.max(1)),
            3 => {
                let end = (at + 8).min(bytes.len());
                bytes[at..end].fill([0, 0xff][rng.below(2)]);
            }
            4 => bytes.insert(at, rng.below(256) as u8),
            _ => {
                let from = rng.below(bytes.len());
                let end = (from + 40).min(bytes.len());
                let copied = bytes[from..end].to_vec();
                bytes.splice(at..at, copied);
            }
        }
    }
    bytes
}

#[test]
fn mutated_files_do_not_panic_or_exceed_limits() {
    let (nodes, edges) = small_graph();
    let binary = write_amem_bytes(&nodes, &edges);
    let text = write_jsonl_bytes(&items(nodes, edges));
    let server_memory_text =
        br#"{"type":"entity","name":"Ada","entityType":"person","observations":["wrote","thought"]}
{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}
"#;
    let mut rng = TestRng::new(42);
    let mut error_count = 0;
    for _ in 0..20_000 {
        let bytes = mutate(&binary, &mut rng);
        match AmemReader::open(Cursor::new(&bytes)) {
            Err(_) => error_count += 1,
            Ok(reader) => {
                // A header cannot promise more than the file contains.
                assert!(reader.node_count() * NODE_BYTES <= bytes.len() as u64);
                for item in reader {
                    if let Ok(Item::Node(node)) = &item {
                        assert!(node.content.len() <= CONTENT_BYTES);
                    }
                    error_count += u32::from(item.is_err());
                }
            }
        }
        let _ = read_jsonl(&mutate(&text, &mut rng));
        let item_count =
            ServerMemoryReader::new(mutate(server_memory_text, &mut rng).as_slice(), NOW, 1).count();
        assert!(item_count < 100);
    }
    assert!(error_count > 1_000, "{error_count}");
}

#[test]
fn jsonl_errors_name_line() {
    let header = r#"{"format":"quadrivium-memory","version":1}"#;
    let valid_line = r#"{"type":"node","id":1,"event_type":"fact","session_id":1,"created_at":1,"confidence":0.5,"access_count":0,"last_accessed":1,"content":"x"}"#;
    let error_message = |text: &str| read_jsonl(text.as_bytes()).unwrap_err().message().to_owned();
    assert!(error_message("").starts_with("Line 1:"));
    assert!(error_message(r#"{"format":"quadrivium-memory","version":2}"#).contains("version 2"));
    assert!(
        error_message(&format!("{header}\n{valid_line}\n\n{valid_line}"))
            .starts_with("Line 4: node 1 follows")
    );
    for (invalid_line, expected) in [
        (valid_line.replace("fact", "fakt"), "is not an event type"),
        (valid_line.replace("0.5", "1.5"), "confidence"),
        (valid_line.replace("0.5", "\"0.5\""), "confidence"),
        (valid_line.replace("\"id\":1", "\"id\":18446744073709551615"), "too large"),
        (valid_line.replace("\"x\"", &format!("\"{}\"", "x".repeat(CONTENT_BYTES + 1))), "bytes"),
        (valid_line.replace("\"x\"", "\"x\",\"vector\":[0.0]"), "vector"),
        (valid_line.replace("\"x\"", "\"x\",\"more\":1"), "more"),
        (valid_line.replace("node", "blob"), "not node, edge or session"),
        ("x".repeat(LINE_BYTES + 5), "longer"),
        (
            r#"{"type":"edge","source_id":1,"target_id":2,"edge_type":"supports","weight":1,"created_at":1}"#
                .into(),
            "node 1",
        ),
    ] {
        let message = error_message(&format!("{header}\n{invalid_line}\n"));
        assert!(message.starts_with("Line 2:") && message.contains(expected), "{message}");
    }
    assert_eq!(read_jsonl(format!("{header}\r\n{valid_line}\r\n").as_bytes()).unwrap().len(), 1);
    // Only the bad line is lost, and the edges of its node.
    let second = valid_line.replace("\"id\":1", "\"id\":2");
    let edge =
        r#"{"type":"edge","source_id":2,"target_id":1,"edge_type":"supports","weight":1,"created_at":1}"#;
    let text = format!(
        "{header}\n{valid_line}\n{{\n{second}\n{edge}\n{}\n",
        edge.replace("\"target_id\":1", "\"target_id\":7")
    );
    let mut reader = JsonlReader::open(text.as_bytes()).unwrap();
    assert_eq!(reader.by_ref().count(), 3);
    assert_eq!(reader.bad_lines().reported.iter().map(|bad_line| bad_line.line).collect::<Vec<_>>(), [3, 6]);
}

/// Nodes, edges as source, target and type, and the numbers of bad lines.
type ParsedGraph = (Vec<NodeItem>, Vec<(u64, u64, u8)>, Vec<u64>);

fn parse_server_memory(text: &str) -> ParsedGraph {
    let mut reader = ServerMemoryReader::new(text.as_bytes(), NOW, 3);
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for item in reader.by_ref() {
        match item.unwrap() {
            Item::Node(node) => nodes.push(node),
            Item::Edge(edge) => edges.push((edge.source_id, edge.target_id, edge.edge_type)),
            Item::Session(_) => unreachable!(),
        }
    }
    (nodes, edges, reader.bad_lines().reported.iter().map(|bad_line| bad_line.line).collect())
}

fn texts(nodes: &[NodeItem]) -> Vec<&str> {
    nodes.iter().map(|node| node.content.as_str()).collect()
}

#[test]
fn entities_become_nodes_and_relations_become_edges() {
    let (nodes, edges, bad_lines) = parse_server_memory(
        r#"{"type":"entity","name":"Ada","entityType":"person","observations":["wrote a program","likes maths"]}
not json
{"type":"entity","name":"Team","entityType":"group","observations":[]}
{"type":"relation","from":"Ada","to":"Team","relationType":"part_of"}
{"type":"relation","from":"Team","to":"Ada","relationType":"contains"}
{"type":"relation","from":"Ada","to":"Babbage","relationType":"works with"}
{"type":"relation","from":"Ada","to":"Ada","relationType":"knows"}
{"type":"wish","name":"x"}
{"type":"entity","entityType":"nameless"}
"#,
    );
    assert_eq!(bad_lines, [2, 8, 9]);
    assert_eq!(
        texts(&nodes),
        [
            "Ada (person)\n- wrote a program\n- likes maths",
            "Team (group)",
            "Team contains Ada",
            "Ada knows Ada",
            "Babbage",
            "Ada works with Babbage",
        ]
    );
    assert_eq!(
        edges,
        [(0, 1, 5), (0, 1, 5), (2, 1, 4), (2, 0, 4), (3, 0, 4), (0, 4, 4), (5, 0, 4), (5, 4, 4),]
    );
    assert!(nodes.iter().all(|node| node.session_id == 3 && node.created_at == NOW && node.event_type == 0));
}

#[test]
fn large_entity_is_split_into_nodes() {
    let observations = vec!["é".repeat(20_000); 4];
    let mut entity =
        serde_json::json!({"type":"entity","name":"N","entityType":"t","observations": observations});
    let (nodes, edges, bad_lines) = parse_server_memory(&format!("{entity}\n"));
    assert!(bad_lines.is_empty() && nodes.len() == 4, "{}", nodes.len());
    assert!(nodes.iter().all(|node| node.content.len() <= CONTENT_BYTES));
    assert_eq!(edges, [(1, 0, 5), (2, 0, 5), (3, 0, 5)]);
    entity["observations"] = serde_json::json!(["é".repeat(100_000)]);
    let (nodes, ..) = parse_server_memory(&entity.to_string());
    let characters: usize = nodes.iter().map(|node| node.content.chars().filter(|c| *c == 'é').count()).sum();
    assert_eq!(characters, 100_000);
}
