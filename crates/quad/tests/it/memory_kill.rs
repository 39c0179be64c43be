//! 37, 38. Processes that remember are killed: every acknowledged node and edge is there, two processes lose nothing of each
//! other's, and all that is stored twice agrees.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::combination::Revision;
use crate::era;
use crate::http::IO_TIMEOUT;
use crate::kill::{Moments, read_lines};
use crate::place::{Place, Process};

/// Two processes remember at the same time, as two clients on one machine would.
const WORKERS: u64 = 2;

/// Kills in all; `QUAD_TEST_KILLS` for more of them, `QUAD_TEST_SEED` for the moments of an earlier run.
const KILLS: u64 = 24;

/// Nodes that a process acknowledges before it is killed, at most: after some lives there is a text index to be killed in.
const QUOTA: u64 = 220;

/// Requests that a worker has under way at a time.
const WINDOW: usize = 8;

const TENANT: &str = "mind";

#[test]
fn what_was_remembered_survives_kills() {
    let setting = |name: &str, default: u64| {
        std::env::var(name)
            .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
    };
    let kills = setting("QUAD_TEST_KILLS", KILLS);
    let seed = setting("QUAD_TEST_SEED", u64::from(std::process::id()));
    eprintln!("{kills} kills, QUAD_TEST_SEED={seed}");
    for place in Place::on_each_backend() {
        place.add_tenant(TENANT);
        place.run(&[
            "call",
            "memory_add",
            r#"{"event_type":"fact","content":"the root"}"#,
            "--tenant",
            TENANT,
        ]);
        let remembered: Vec<BTreeMap<i64, Sent>> = std::thread::scope(|scope| {
            let place = &place;
            let start = |number: u64| {
                let chance = seed.wrapping_mul(WORKERS).wrapping_add(number).wrapping_mul(0x9e37_79b9) | 1;
                scope.spawn(move || {
                    let moments = Moments(chance);
                    Worker { place, number, moments, next: 0, remembered: BTreeMap::new() }
                        .run(kills / WORKERS)
                })
            };
            let workers: Vec<_> = (0..WORKERS).map(start).collect();
            workers.into_iter().map(|worker| worker.join().expect("a worker failed")).collect()
        });
        check(&place, &remembered);
    }
}

/// What was sent: a node that leads to the root, with these words and this weight, or several of one call.
#[derive(Clone, Debug)]
struct Sent {
    content: String,
    weight: f64,
}

struct Worker<'a> {
    place: &'a Place,
    number: u64,
    moments: Moments,
    next: u64,
    /// What was acknowledged, by the id that it got.
    remembered: BTreeMap<i64, Sent>,
}

impl Worker<'_> {
    fn run(mut self, kills: u64) -> BTreeMap<i64, Sent> {
        for _ in 0..kills {
            self.live();
        }
        self.remembered
    }

    /// One life of a process: it acknowledges some calls, then it is killed with others under way.
    fn live(&mut self) {
        let quota = 1 + self.moments.below(QUOTA);
        let mut command = self.place.quad(&["stdio", "--only", "amem", "--tenant", TENANT]);
        let mut process = Process(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut input = process.0.stdin.take().unwrap();
        let lines = read_lines(BufReader::new(process.0.stdout.take().unwrap()));
        let mut under_way: BTreeMap<u64, Vec<Sent>> = BTreeMap::new();
        for _ in 0..quota {
            while under_way.len() < WINDOW {
                let (id, sent, message) = self.call();
                // A process that has died says so where its answer is awaited.
                let _ = writeln!(input, "{message}");
                under_way.insert(id, sent);
            }
            let line = lines.recv_timeout(IO_TIMEOUT).expect("quad stdio did not answer");
            self.take(&line, &mut under_way);
        }
        std::thread::sleep(Duration::from_micros(self.moments.below(4_000)));
        process.0.kill().unwrap();
        process.0.wait().unwrap();
        // What was said before the end counts, although nobody had listened yet. The last line may be torn.
        for line in lines {
            if serde_json::from_str::<Value>(&line).is_ok() {
                self.take(&line, &mut under_way);
            }
        }
    }

    /// Now one node, now several at once, now a search, which may have the index written.
    fn call(&mut self) -> (u64, Vec<Sent>, Value) {
        let id = self.next;
        self.next += 1;
        let count = if id.is_multiple_of(5) { 12 } else { 1 };
        let sent: Vec<Sent> = (0..count)
            .map(|part| Sent {
                content: format!("worker{} call{id} part{part}", self.number),
                weight: f64::from(part % 10) / 10.0,
            })
            .collect();
        let node = |sent: &Sent| {
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
        let params = era::dress(Revision::MODERN, Some(json!({"name": tool, "arguments": arguments})));
        (id, sent, json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    }

    fn take(&mut self, line: &str, under_way: &mut BTreeMap<u64, Vec<Sent>>) {
        let reply: Value = serde_json::from_str(line).unwrap();
        let sent = reply["id"].as_u64().and_then(|id| under_way.remove(&id)).expect("an answer to nothing");
        let error = &reply["result"]["structuredContent"]["error"]["code"];
        // Everybody writes at once; a search may be told to try again.
        if sent.is_empty() && error == "BUSY" {
            return;
        }
        assert_eq!(reply["result"]["isError"], false, "{reply:#}");
        let made = &reply["result"]["structuredContent"];
        let ids = match made["node_ids"].as_array() {
            Some(ids) => ids.clone(),
            None => made.get("node_id").cloned().into_iter().collect(),
        };
        assert_eq!(ids.len(), sent.len(), "{reply:#}");
        for (id, sent) in ids.iter().zip(sent) {
            let twice = self.remembered.insert(id.as_i64().unwrap(), sent);
            assert!(twice.is_none(), "an id was given twice: {reply:#}");
        }
    }
}

fn check(place: &Place, remembered: &[BTreeMap<i64, Sent>]) {
    let tenant = place.tenant_id(TENANT);
    let number = |text: &Option<String>| text.as_ref().unwrap().parse::<f64>().unwrap();
    let nodes = place.query(&format!("SELECT id, content FROM amem_node WHERE tenant_id = '{tenant}'"));
    let nodes: BTreeMap<i64, String> =
        nodes.into_iter().map(|row| (number(&row[0]) as i64, row[1].clone().unwrap())).collect();
    let edges = place.query(&format!(
        "SELECT source_id, weight FROM amem_edge WHERE tenant_id = '{tenant}' AND target_id = 0 AND edge_type = 1"
    ));
    let edges: BTreeMap<i64, f64> =
        edges.iter().map(|row| (number(&row[0]) as i64, number(&row[1]))).collect();
    let mut acknowledged = 0;
    for (id, sent) in remembered.iter().flatten() {
        assert_eq!(nodes.get(id), Some(&sent.content), "an acknowledged node is lost or not its own");
        assert_eq!(edges.get(id), Some(&sent.weight), "an acknowledged edge is lost: {id}");
        acknowledged += 1;
    }
    // No two of them are one.
    assert_eq!(remembered.iter().map(BTreeMap::len).sum::<usize>(), acknowledged);
    assert!(acknowledged > 0 && nodes.len() > acknowledged);
    // Nothing is half there: a call of several came in whole or not at all.
    for content in nodes.values().filter(|content| content.ends_with("part0")) {
        let call = content.trim_end_matches("part0");
        let parts = nodes.values().filter(|other| other.starts_with(call)).count();
        assert!(parts == 1 || parts == 12, "{call} has {parts} parts");
    }
    let said = place.run(&["doctor", "--deep"]);
    assert!(!said.contains("WRONG"), "{said}");
    let (id, sent) = remembered.iter().flatten().last().unwrap();
    let words = json!({"query": format!("\"{}\"", sent.content), "mode": "text"}).to_string();
    let found: Value =
        serde_json::from_str(&place.run(&["call", "memory_search", &words, "--tenant", TENANT, "--json"]))
            .unwrap();
    assert_eq!(found["nodes"][0]["id"], *id, "{found:#}");
}
