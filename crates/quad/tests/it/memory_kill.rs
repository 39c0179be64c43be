//! Kills processes while they add memories: every acknowledged node and edge survives, two processes do not lose each
//! other's writes, and counters, lists and the search index match the nodes.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::era;
use crate::helpers::{Rng, env_number, read_lines};
use crate::http::IO_TIMEOUT;
use crate::instance::{Process, TestInstance};
use crate::matrix::Revision;

/// Two processes write at the same time, as those of two local clients do.
const WORKERS: u64 = 2;

/// Kills in all. `QUAD_TEST_KILLS` sets another number, `QUAD_TEST_SEED` repeats the kill times of an earlier run.
const KILLS: u64 = 24;

/// Most calls that a process acknowledges before it is killed. After some processes there is a text index, so that
/// kills hit its writing as well.
const QUOTA: u64 = 220;

/// Requests of a worker in flight at a time.
const IN_FLIGHT_MAX: usize = 8;

const TENANT: &str = "mind";

#[test]
fn acknowledged_nodes_and_edges_survive_kills() {
    let kills = env_number("QUAD_TEST_KILLS", KILLS);
    let seed = env_number("QUAD_TEST_SEED", u64::from(std::process::id()));
    eprintln!("{kills} kills, QUAD_TEST_SEED={seed}");
    for instance in TestInstance::on_each_backend() {
        instance.add_tenant(TENANT);
        instance.run(&[
            "call",
            "memory_add",
            r#"{"event_type":"fact","content":"the root"}"#,
            "--tenant",
            TENANT,
        ]);
        let acknowledged_by_worker: Vec<BTreeMap<i64, SentNode>> = std::thread::scope(|scope| {
            let instance = &instance;
            let spawn_worker = |index: u64| {
                scope.spawn(move || {
                    let rng = Rng::for_worker(seed, WORKERS, index);
                    Worker { instance, index, rng, next_id: 0, acknowledged: BTreeMap::new() }
                        .run(kills / WORKERS)
                })
            };
            let workers: Vec<_> = (0..WORKERS).map(spawn_worker).collect();
            workers.into_iter().map(|worker| worker.join().expect("a worker failed")).collect()
        });
        check_nodes(&instance, &acknowledged_by_worker);
    }
}

/// A node that was sent, with the weight of its edge to the root.
#[derive(Clone, Debug)]
struct SentNode {
    content: String,
    weight: f64,
}

struct Worker<'a> {
    instance: &'a TestInstance,
    index: u64,
    rng: Rng,
    next_id: u64,
    /// The acknowledged nodes by id.
    acknowledged: BTreeMap<i64, SentNode>,
}

impl Worker<'_> {
    fn run(mut self, kills: u64) -> BTreeMap<i64, SentNode> {
        for _ in 0..kills {
            self.run_process();
        }
        self.acknowledged
    }

    /// Starts a process, lets it acknowledge some calls, and kills it with others in flight.
    fn run_process(&mut self) {
        let quota = 1 + self.rng.below(QUOTA);
        let mut command = self.instance.quad_command(&["stdio", "--only", "amem", "--tenant", TENANT]);
        let mut process = Process(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut input = process.0.stdin.take().unwrap();
        let lines = read_lines(BufReader::new(process.0.stdout.take().unwrap()));
        let mut in_flight: BTreeMap<u64, Vec<SentNode>> = BTreeMap::new();
        for _ in 0..quota {
            while in_flight.len() < IN_FLIGHT_MAX {
                let (id, sent, message) = self.next_request();
                // If the process has died, waiting for its answer fails below.
                let _ = writeln!(input, "{message}");
                in_flight.insert(id, sent);
            }
            let line = lines.recv_timeout(IO_TIMEOUT).expect("quad stdio did not answer");
            self.record_reply(&line, &mut in_flight);
        }
        std::thread::sleep(Duration::from_micros(self.rng.below(4_000)));
        process.0.kill().unwrap();
        process.0.wait().unwrap();
        // Answers that were printed before the end count as well. The last line may be incomplete.
        for line in lines {
            if serde_json::from_str::<Value>(&line).is_ok() {
                self.record_reply(&line, &mut in_flight);
            }
        }
    }

    /// One node, several nodes in one call, or a search, which may write the index.
    fn next_request(&mut self) -> (u64, Vec<SentNode>, Value) {
        let id = self.next_id;
        self.next_id += 1;
        let count = if id.is_multiple_of(5) { 12 } else { 1 };
        let sent: Vec<SentNode> = (0..count)
            .map(|part| SentNode {
                content: format!("worker{} call{id} part{part}", self.index),
                weight: f64::from(part % 10) / 10.0,
            })
            .collect();
        let node = |sent: &SentNode| {
            json!({"event_type": "inference", "content": sent.content,
                "edges": [{"target_id": 0, "edge_type": "supports", "weight": sent.weight}]})
        };
        let (tool, arguments, sent) = if id.is_multiple_of(7) {
            ("memory_search", json!({"query": "root", "mode": "text"}), Vec::new())
        } else if count == 1 {
            ("memory_add", node(&sent[0]), sent)
        } else {
            ("memory_add_many", json!({"nodes": sent.iter().map(node).collect::<Vec<_>>()}), sent)
        };
        let params =
            era::add_era_fields(Revision::MODERN, Some(json!({"name": tool, "arguments": arguments})));
        (id, sent, json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    }

    fn record_reply(&mut self, line: &str, in_flight: &mut BTreeMap<u64, Vec<SentNode>>) {
        let reply: Value = serde_json::from_str(line).unwrap();
        let sent =
            reply["id"].as_u64().and_then(|id| in_flight.remove(&id)).expect("an answer without a request");
        let error = &reply["result"]["structuredContent"]["error"]["code"];
        // Both processes write all the time, so a search may be refused as busy.
        if sent.is_empty() && error == "BUSY" {
            return;
        }
        assert_eq!(reply["result"]["isError"], false, "{reply:#}");
        let created = &reply["result"]["structuredContent"];
        let ids = match created["node_ids"].as_array() {
            Some(ids) => ids.clone(),
            None => created.get("node_id").cloned().into_iter().collect(),
        };
        assert_eq!(ids.len(), sent.len(), "{reply:#}");
        for (id, sent) in ids.iter().zip(sent) {
            let previous = self.acknowledged.insert(id.as_i64().unwrap(), sent);
            assert!(previous.is_none(), "an id was assigned twice: {reply:#}");
        }
    }
}

fn check_nodes(instance: &TestInstance, acknowledged_by_worker: &[BTreeMap<i64, SentNode>]) {
    let tenant = instance.tenant_id(TENANT);
    let parse_number = |text: &Option<String>| text.as_ref().unwrap().parse::<f64>().unwrap();
    let nodes = instance.query(&format!("SELECT id, content FROM amem_node WHERE tenant_id = '{tenant}'"));
    let nodes: BTreeMap<i64, String> =
        nodes.into_iter().map(|row| (parse_number(&row[0]) as i64, row[1].clone().unwrap())).collect();
    let edges = instance.query(&format!(
        "SELECT source_id, weight FROM amem_edge WHERE tenant_id = '{tenant}' AND target_id = 0 AND edge_type = 1"
    ));
    let edges: BTreeMap<i64, f64> =
        edges.iter().map(|row| (parse_number(&row[0]) as i64, parse_number(&row[1]))).collect();
    let mut acknowledged = 0;
    for (id, sent) in acknowledged_by_worker.iter().flatten() {
        assert_eq!(nodes.get(id), Some(&sent.content), "an acknowledged node is lost or has other content");
        assert_eq!(edges.get(id), Some(&sent.weight), "an acknowledged edge is lost: {id}");
        acknowledged += 1;
    }
    // All ids are different.
    assert_eq!(acknowledged_by_worker.iter().map(BTreeMap::len).sum::<usize>(), acknowledged);
    assert!(acknowledged > 0 && nodes.len() > acknowledged);
    // A call with several nodes was stored as a whole or not at all.
    for content in nodes.values().filter(|content| content.ends_with("part0")) {
        let call = content.trim_end_matches("part0");
        let parts = nodes.values().filter(|other| other.starts_with(call)).count();
        assert!(parts == 1 || parts == 12, "{call} has {parts} parts");
    }
    let report = instance.run(&["doctor", "--deep"]);
    assert!(!report.contains("WRONG"), "{report}");
    let (id, sent) = acknowledged_by_worker.iter().flatten().last().unwrap();
    let words = json!({"query": format!("\"{}\"", sent.content), "mode": "text"}).to_string();
    let result: Value =
        serde_json::from_str(&instance.run(&["call", "memory_search", &words, "--tenant", TENANT, "--json"]))
            .unwrap();
    assert_eq!(result["nodes"][0]["id"], *id, "{result:#}");
}
