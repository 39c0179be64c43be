//! The questions to every server. A question that a server does not know is skipped.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::graph;

/// Results by question.
pub type Results = BTreeMap<&'static str, QuestionResult>;

/// The result of one question.
#[derive(Clone, Copy)]
pub struct QuestionResult {
    pub p50: f64,
    pub p99: f64,
    /// CPU time of one repetition in microseconds, if it was measured.
    pub cpu: Option<f64>,
}

/// The accumulated cost of one question on one server.
#[derive(Clone, Default)]
struct Cost {
    times: Vec<f64>,
    cpu: f64,
    total_time: Duration,
}

/// The name of the question that writes.
const DURABLE_ADD: &str = "durable add";

/// The longest time for one question, all turns together.
const QUESTION_TIME_MAX: Duration = Duration::from_secs(20);

/// A method and its parameters.
type Call = (&'static str, Value);

/// One question, in the requests of each kind of server.
pub struct Question {
    pub name: &'static str,
    /// For servers with the addresses and tools of `amem://`: one or several requests.
    requests: fn(Parameters) -> Vec<Call>,
    /// For servers with entities, such as server-memory.
    entity_request: Option<fn(Parameters) -> Call>,
}

/// The parameters of one repetition.
#[derive(Clone, Copy)]
pub struct Parameters {
    nodes: u64,
    repeat: u64,
    /// Whether an answered write is durable; otherwise it is after the end of the session.
    is_durable: bool,
}

impl Parameters {
    /// A node, different in each repetition.
    fn node(self) -> u64 {
        self.repeat.wrapping_mul(7_919) % self.nodes
    }

    /// A node that no other question reads, far from the previous one.
    fn cold_node(self) -> u64 {
        graph::hash_seed(self.repeat ^ 0x0dd) % self.nodes
    }

    /// Two words of the node's text.
    fn words(self) -> String {
        let text = graph::random_text(self.node());
        text.split(' ').take(2).collect::<Vec<_>>().join(" ")
    }
}

fn read_request(uri: String) -> Vec<(&'static str, Value)> {
    vec![("resources/read", json!({"uri": uri}))]
}

fn tool_call(name: &str, arguments: Value) -> Vec<(&'static str, Value)> {
    vec![("tools/call", json!({"name": name, "arguments": arguments}))]
}

fn entity_call(name: &str, arguments: Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": name, "arguments": arguments}))
}

/// All questions, reading ones first. Similarity comes last, since it loads vectors into memory.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "graph/stats",
        requests: |_| read_request("amem://graph/stats".into()),
        entity_request: None,
    },
    Question {
        name: "graph/recent",
        requests: |_| read_request("amem://graph/recent".into()),
        entity_request: None,
    },
    Question {
        name: "graph/important",
        requests: |_| read_request("amem://graph/important".into()),
        entity_request: None,
    },
    Question {
        name: "node",
        requests: |numbers| read_request(format!("amem://node/{}", numbers.node())),
        entity_request: Some(|numbers| {
            entity_call("open_nodes", json!({"names": [format!("node-{}", numbers.node())]}))
        }),
    },
    Question {
        name: "session of 100",
        requests: |numbers| {
            read_request(format!("amem://session/{}", 1 + numbers.node() / graph::SESSION_NODES))
        },
        entity_request: None,
    },
    Question {
        name: "types/correction",
        requests: |_| read_request("amem://types/correction".into()),
        entity_request: None,
    },
    Question {
        name: "types/fact",
        requests: |_| read_request("amem://types/fact".into()),
        entity_request: None,
    },
    Question {
        name: "search by words",
        requests: |numbers| {
            tool_call("memory_evidence", json!({"query": numbers.words(), "max_results": 10}))
        },
        entity_request: Some(|numbers| entity_call("search_nodes", json!({"query": numbers.words()}))),
    },
    Question {
        name: "ground a claim",
        requests: |numbers| tool_call("memory_ground", json!({"claim": numbers.words()})),
        entity_request: None,
    },
    Question {
        name: "traverse",
        requests: |numbers| {
            tool_call("memory_traverse", json!({"start_id": numbers.node(), "max_results": 20}))
        },
        entity_request: None,
    },
    Question {
        name: "traverse, cold nodes",
        requests: |numbers| {
            tool_call("memory_traverse", json!({"start_id": numbers.cold_node(), "max_results": 20}))
        },
        entity_request: None,
    },
    Question {
        name: "context, depth 2",
        requests: |numbers| tool_call("memory_context", json!({"node_id": numbers.node(), "depth": 2})),
        entity_request: None,
    },
    Question {
        name: "query, newest",
        requests: |_| tool_call("memory_query", json!({"event_types": ["decision"], "max_results": 20})),
        entity_request: None,
    },
    Question {
        name: DURABLE_ADD,
        requests: |numbers| {
            let content = graph::random_text(numbers.repeat ^ 0xfeed_beef);
            let mut calls = tool_call("memory_add", json!({"event_type": "fact", "content": content}));
            if !numbers.is_durable {
                calls.extend(tool_call("session_end", json!({"create_episode": false})));
            }
            calls
        },
        entity_request: Some(|numbers| {
            let entity = json!({"name": format!("new-{}", numbers.repeat), "entityType": "fact",
                "observations": [graph::random_text(numbers.repeat ^ 0xfeed_beef)]});
            entity_call("create_entities", json!({"entities": [entity]}))
        }),
    },
    Question {
        name: "search, default",
        requests: |numbers| tool_call("memory_search", json!({"query": numbers.words()})),
        entity_request: None,
    },
    Question {
        name: "similar to a text",
        requests: |numbers| {
            tool_call(
                "memory_similar",
                json!({"query_text": graph::random_text(numbers.node()), "top_k": 10}),
            )
        },
        entity_request: None,
    },
];

/// How often the servers take turns at one question, so that noise of the machine affects all of them.
const TURNS: usize = 20;

/// A measured server.
pub struct Server {
    pub name: String,
    pub results: Results,
    client: Client,
    /// The folder of its data.
    folder: PathBuf,
    nodes: u64,
    is_quad: bool,
    knows_entities: bool,
    /// Whether it is not asked to save, which may take a peer half an hour.
    skips_writes: bool,
}

impl Server {
    /// Starts a server on a graph of `nodes` nodes in a folder.
    pub fn start(name: String, command: Command, folder: &Path, nodes: u64, skip_peers: bool) -> Server {
        let is_quad = command.get_program().to_string_lossy().contains("quad");
        let started = Instant::now();
        let mut client = Client::start(command);
        let first = client.request_timed("resources/read", json!({"uri": "amem://graph/stats"}));
        client.load_tools();
        let knows_entities = client.tools.iter().any(|tool| tool == "open_nodes");
        if first.is_none() && knows_entities {
            client.request_timed(
                "tools/call",
                json!({"name": "open_nodes", "arguments": {"names": ["node-0"]}}),
            );
        }
        let mut results = Results::new();
        record(&mut results, "start to first answer", vec![started.elapsed().as_secs_f64() * 1e3], None);
        record(&mut results, "resident MiB", vec![client.resident_mib()], None);
        let skips_writes = skip_peers && !is_quad;
        let folder = folder.to_owned();
        Server { name, results, client, folder, nodes, is_quad, knows_entities, skips_writes }
    }

    /// Reads all of its files into the page cache, where they are while a memory is in use. Some machines evict the
    /// cache of idle processes; the read from disk would then be measured, but only for servers that do not keep their
    /// data in memory.
    fn warm_page_cache(&self) {
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(kind) if kind.is_file() => {
                        let file = std::fs::File::open(entry.path());
                        let _ = file.and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Repeats a question. None if the server does not know it.
    fn run_question(&mut self, question: &Question, repeats: Range<usize>, cost: &mut Cost) -> Option<()> {
        if self.skips_writes && question.name == DURABLE_ADD {
            return None;
        }
        let cpu = self.client.cpu_micros();
        for repeat in repeats {
            if cost.total_time > QUESTION_TIME_MAX {
                break;
            }
            let parameters =
                Parameters { nodes: self.nodes, repeat: repeat as u64 + 1, is_durable: self.is_quad };
            let requests = match (self.knows_entities, question.entity_request) {
                (true, entity_request) => vec![entity_request?(parameters)],
                (false, _) => (question.requests)(parameters),
            };
            let elapsed: Option<Duration> =
                requests.into_iter().map(|(method, params)| self.client.request_timed(method, params)).sum();
            cost.total_time += elapsed?;
            cost.times.push(elapsed?.as_secs_f64() * 1e3);
        }
        cost.cpu += self.client.cpu_micros() - cpu;
        Some(())
    }
}

/// Asks all servers all questions, in turns, and measures time, CPU and memory.
pub fn run_all(servers: &mut [Server], repeats: usize) {
    for question in QUESTIONS {
        servers.iter().for_each(Server::warm_page_cache);
        let mut costs = vec![Cost::default(); servers.len()];
        for turn in 0..TURNS {
            for (server, cost) in servers.iter_mut().zip(&mut costs) {
                let repeats = repeats * turn / TURNS..repeats * (turn + 1) / TURNS;
                // A server that does not know the question has no result.
                let _ = server.run_question(question, repeats, cost);
            }
        }
        for (server, Cost { times, cpu, .. }) in servers.iter_mut().zip(costs) {
            let cpu = cpu / times.len().max(1) as f64;
            record(&mut server.results, question.name, times, Some(cpu));
            if question.name == DURABLE_ADD {
                let resident = server.client.resident_mib();
                record(&mut server.results, "resident MiB, at the end", vec![resident], None);
            }
        }
    }
}

fn record(results: &mut Results, name: &'static str, times: Vec<f64>, cpu: Option<f64>) {
    if let Some((p50, p99)) = percentiles(times) {
        results.insert(name, QuestionResult { p50, p99, cpu });
    }
}

/// The median and the 99th percentile.
pub fn percentiles(mut times: Vec<f64>) -> Option<(f64, f64)> {
    times.sort_by(f64::total_cmp);
    let at =
        |share: f64| times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)));
    Some((*at(0.5)?, *at(0.99)?))
}
