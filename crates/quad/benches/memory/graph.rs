//! The generated graph. The same number of nodes gives the same graph.

use std::io::BufWriter;
use std::path::Path;

use quad_amem::files::{EdgeItem, Item, JsonlWriter, NodeItem};

/// Nodes of one session.
pub const SESSION_NODES: u64 = 100;

/// The time of the first node.
const FIRST_CREATED_AT: i64 = 1_740_700_000_000_000;

/// A pseudo-random number, the same for the same seed (splitmix64).
pub fn hash_seed(seed: u64) -> u64 {
    let mut number = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A text of 12 to 25 words. A few words are common and most are rare, as in natural language.
pub fn random_text(seed: u64) -> String {
    let count = 12 + hash_seed(seed) % 14;
    let word = |index: u64| {
        let random = hash_seed(seed.wrapping_mul(31).wrapping_add(index));
        // A product of two numbers: low numbers are common.
        let (a, b) = (random % 20_000, (random >> 32) % 20_000);
        format!("word{}", a.min(b) * a.max(b) / 20_000)
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// Writes the graph as the JSON lines of `quad memory import`. Returns the number of edges.
pub fn write_graph(path: &Path, nodes: u64) -> u64 {
    let file = std::fs::File::create(path).unwrap();
    let mut out = JsonlWriter::begin(BufWriter::with_capacity(1 << 20, file)).unwrap();
    for id in 0..nodes {
        // Of 100 nodes: 60 facts, 15 decisions, 15 inferences, 2 corrections, 5 skills, 3 episodes.
        let event_type = match id % 100 {
            0..60 => 0,
            60..75 => 1,
            75..90 => 2,
            90..92 => 3,
            92..97 => 4,
            _ => 5,
        };
        let created_at = FIRST_CREATED_AT + id as i64 * 1_000_000;
        let node = NodeItem {
            id,
            event_type,
            session_id: u32::try_from(1 + id / SESSION_NODES).unwrap(),
            created_at,
            confidence: (hash_seed(id) % 101) as f64 / 100.0,
            access_count: 0,
            last_accessed: created_at,
            created_by: None,
            content: random_text(id),
            vector: None,
        };
        out.write(&Item::Node(node)).unwrap();
    }
    let mut edges = 0;
    for source_id in 1..nodes {
        let mut targets: Vec<(u64, u8)> = vec![(source_id - 1, 6)];
        for (number, edge_type) in [(1, 0), (2, 4)] {
            let target = hash_seed(source_id * 3 + number) % source_id;
            if target + 1 != source_id {
                targets.push((target, edge_type));
            }
        }
        targets.sort_unstable();
        for (target_id, edge_type) in targets {
            let created_at = FIRST_CREATED_AT + source_id as i64 * 1_000_000;
            let edge = EdgeItem { source_id, target_id, edge_type, weight: 0.5, created_at };
            out.write(&Item::Edge(edge)).unwrap();
            edges += 1;
        }
    }
    out.finish().unwrap();
    edges
}
