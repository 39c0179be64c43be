//! The cost of `amem://` at a size, beside other servers (peers):
//! `cargo bench -p quad --bench memory -- --nodes 1000,10000 [--peer NAME=CMD]…`
//!
//! Generates a graph with three edges a node and imports it; `quad memory export` writes the files that peers open.
//! Then one client asks every server the same questions over standard input and output, in turns, with their files in
//! the page cache.
//!
//! A shell runs `CMD`. In it, `{amem}` is the name of a `.amem` file, `{entities}` of a file of
//! `@modelcontextprotocol/server-memory`, and `{dir}` is a copy of the data folder of `quad`. With `--peers-only-read`,
//! peers are not asked to save. This repository installs no peers.
//!
//! Prints the figures and, for each peer, the ratio to the first server. Asserts only that there are answers.

// A benchmark that cannot start its servers panics.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod graph;
mod questions;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use client::Client;
use questions::{QUESTIONS, QuestionResult, Server};
use serde_json::json;

/// The size of the graph under `cargo test`, which only checks that the benchmark runs.
const NODES_SMOKE: u64 = 300;

/// Calls in flight at a time, as of this many clients.
const PIPELINED_CALLS: usize = 64;

/// The interval of adds while reads are timed.
const ADD_INTERVAL: Duration = Duration::from_millis(1);

/// Calls in flight at a time that add a thousand nodes each.
const PIPELINED_BULK_CALLS: usize = 8;

struct Settings {
    sizes: Vec<u64>,
    peers: Vec<(String, String)>,
    repeats: usize,
    /// Whether peers are not asked to save.
    skip_peer_writes: bool,
}

impl Settings {
    fn from_args() -> Settings {
        let mut arguments = std::env::args().skip(1);
        let (mut sizes, mut peers, mut is_bench) = (Vec::new(), Vec::new(), false);
        let mut skip_peer_writes = false;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--nodes" => {
                    let list = arguments.next().expect("--nodes is followed by numbers");
                    sizes = list.split(',').map(|size| size.parse().expect("a number of nodes")).collect();
                }
                "--peer" => {
                    let peer = arguments.next().expect("--peer is followed by NAME=COMMAND");
                    let (name, command) = peer.split_once('=').expect("a peer is NAME=COMMAND");
                    peers.push((name.to_owned(), command.to_owned()));
                }
                "--peers-only-read" => skip_peer_writes = true,
                "--bench" => is_bench = true,
                _ => {}
            }
        }
        if !is_bench {
            // `cargo test` only checks that the benchmark runs, with `quad` as its own peer.
            let quad = env!("CARGO_BIN_EXE_quad");
            let peer = format!("{quad} stdio --only amem --tools all --data-dir {{dir}}");
            return Settings {
                sizes: vec![NODES_SMOKE],
                peers: vec![("quad as peer".to_owned(), peer)],
                repeats: 20,
                skip_peer_writes,
            };
        }
        if sizes.is_empty() {
            sizes = vec![1_000, 10_000];
        }
        Settings { sizes, peers, repeats: 1_000, skip_peer_writes }
    }
}

fn main() {
    let settings = Settings::from_args();
    for size in &settings.sizes {
        compare_servers(*size, &settings);
    }
}

fn quad_command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quad"));
    command.args(arguments).arg("--data-dir").arg(folder).env("QUAD_LOG", "error");
    command
}

fn run_quad(folder: &Path, arguments: &[&str]) -> f64 {
    let started = Instant::now();
    let output = quad_command(folder, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    started.elapsed().as_secs_f64()
}

fn compare_servers(nodes: u64, settings: &Settings) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (data, source) = (file("data"), file("graph.jsonl"));
    let edges = graph::write_graph(&source, nodes);
    println!("\n== {nodes} nodes, {edges} edges ==");
    let seconds = run_quad(&data, &["memory", "import", source.to_str().unwrap()]);
    println!("import: {seconds:.1} s, {:.0} nodes and edges a second", (nodes + edges) as f64 / seconds);
    let (amem, entities) = (file("graph.amem"), file("graph.entities"));
    let seconds = run_quad(&data, &["memory", "export", amem.to_str().unwrap(), "--format", "amem"]);
    println!("export to .amem: {seconds:.1} s");
    if settings.peers.iter().any(|(_, command)| command.contains("{entities}")) {
        run_quad(&data, &["memory", "export", entities.to_str().unwrap(), "--format", "server-memory"]);
    }

    let mut servers: Vec<Server> = Vec::new();
    for audit in ["durable", "async"] {
        // Each server starts with the graph as it was imported.
        let instance_dir = file(audit);
        copy_dir(&data, &instance_dir);
        let command =
            quad_command(&instance_dir, &["stdio", "--only", "amem", "--tools", "all", "--audit", audit]);
        let name = format!("quad, {audit} audit");
        servers.push(Server::start(name, command, &instance_dir, nodes, settings.skip_peer_writes));
    }
    for (name, template) in &settings.peers {
        let instance_dir = file(&format!("peer-{}", servers.len()));
        std::fs::create_dir(&instance_dir).unwrap();
        let copy_input = |from: &Path, name: &str| {
            let target = instance_dir.join(name);
            if from.exists() {
                std::fs::copy(from, &target).unwrap();
            }
            target.display().to_string()
        };
        let mut line = template.replace("{amem}", &copy_input(&amem, "brain.amem"));
        line = line.replace("{entities}", &copy_input(&entities, "memory.jsonl"));
        if line.contains("{dir}") {
            let dir = instance_dir.join("data");
            copy_dir(&data, &dir);
            line = line.replace("{dir}", &dir.display().to_string());
        }
        let mut command = Command::new("sh");
        // `exec` replaces the shell, so that memory and CPU time are those of the peer.
        command
            .args(["-c", &format!("exec {line}")])
            .env("HOME", &instance_dir)
            .env("MEMORY_FILE_PATH", instance_dir.join("memory.jsonl"));
        servers.push(Server::start(name.clone(), command, &instance_dir, nodes, settings.skip_peer_writes));
    }
    questions::run_all(&mut servers, settings.repeats);
    print_results(&servers);
    drop(servers);
    // Each measurement has its own copy and process, so that no index work of an earlier one remains.
    let adds = if settings.repeats > 20 { 20_000 } else { 200 };
    for (name, add) in
        [("adding", measure_adds as fn(&mut Client, usize)), ("adding-many", measure_bulk_adds)]
    {
        let instance_dir = file(name);
        copy_dir(&data, &instance_dir);
        let mut client =
            Client::start(quad_command(&instance_dir, &["stdio", "--only", "amem", "--tools", "all"]));
        // The first search builds the index.
        client.request(
            "tools/call",
            json!({"name": "memory_evidence", "arguments": {"query": graph::random_text(1)}}),
        );
        add(&mut client, adds);
    }
    for audit in ["durable", "async"] {
        let instance_dir = file(&format!("beside-{audit}"));
        copy_dir(&data, &instance_dir);
        measure_reads_during_adds(
            &instance_dir,
            audit,
            Duration::from_millis(if settings.repeats > 20 { 5_000 } else { 100 }),
        );
    }
}

fn copy_dir(from: &Path, to: &PathBuf) {
    let status = Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

fn print_results(servers: &[Server]) {
    let baseline = &servers[0].results;
    print!("{:<26}", "");
    servers.iter().for_each(|server| print!("{:>30}", server.name));
    println!("\n{:<26}", "(p50 ms, p99 ms, CPU µs, × the first)");
    let names = ["start to first answer", "resident MiB", "resident MiB, at the end"];
    let names = names.into_iter().chain(QUESTIONS.iter().map(|question| question.name));
    for name in names {
        let Some(first) = baseline.get(name) else { continue };
        print!("{name:<26}");
        for server in servers {
            match server.results.get(name) {
                Some(QuestionResult { p50, p99, cpu }) => {
                    let cpu = cpu.map_or(String::new(), |cpu| format!("{cpu:.0}"));
                    print!("{p50:>9.2} {p99:>7.2} {cpu:>7} {:>4.0}×", p50 / first.p50.max(1e-6));
                }
                None => print!("{:>30}", "–"),
            }
        }
        println!();
    }
}

/// Prints the durable adds per second of many clients.
fn measure_adds(client: &mut Client, adds: usize) {
    let rate = client.calls_per_second(PIPELINED_CALLS, adds, |number| {
        ("memory_add", json!({"event_type": "fact", "content": graph::random_text(number as u64 ^ 0xadd)}))
    });
    println!("durable adds, {PIPELINED_CALLS} pipelined: {rate:.0} a second");
}

/// Prints the time of a read while another process adds to the same graph.
fn measure_reads_during_adds(folder: &Path, audit: &str, time: Duration) {
    let arguments = ["stdio", "--only", "amem", "--tools", "all", "--audit", audit];
    let mut reader = Client::start(quad_command(folder, &arguments));
    let mut writer = Client::start(quad_command(folder, &arguments));
    let started = Instant::now();
    let adder = std::thread::spawn(move || {
        let (mut adds, mut added) = (0_u32, 0_u32);
        while started.elapsed() < time {
            // Paced by the clock, so that a slow add does not lower the rate.
            std::thread::sleep((adds * ADD_INTERVAL).saturating_sub(started.elapsed()));
            let node = json!({"event_type": "fact", "content": graph::random_text(u64::from(adds) ^ 0xbe51)});
            let took = writer.request_timed("tools/call", json!({"name": "memory_add", "arguments": node}));
            added += u32::from(took.is_some());
            adds += 1;
        }
        f64::from(added) / started.elapsed().as_secs_f64()
    });
    let (mut times, mut refused) = (Vec::new(), 0);
    while started.elapsed() < time {
        match reader.request_timed("resources/read", json!({"uri": "amem://graph/important"})) {
            Some(took) => times.push(took.as_secs_f64() * 1e3),
            // A read that conflicts with writes too often is refused as busy.
            None => refused += 1,
        }
    }
    let reads = times.len();
    let rate = adder.join().unwrap();
    let (p50, p99) = questions::percentiles(times).unwrap();
    println!(
        "graph/important during {rate:.0} adds a second, {audit} audit: {p50:.2} ms, p99 {p99:.2} ms, {reads} reads, {refused} refused"
    );
}

/// Prints the nodes per second of calls with a thousand nodes each.
fn measure_bulk_adds(client: &mut Client, adds: usize) {
    let calls = (adds / 200).max(1);
    let rate = client.calls_per_second(PIPELINED_BULK_CALLS, calls, |call| {
        let nodes: Vec<_> = (0..1_000)
            .map(|node| json!({"event_type": "fact", "content": graph::random_text((call * 1_000 + node) as u64)}))
            .collect();
        ("memory_add_many", json!({"nodes": nodes, "chain": false}))
    });
    println!(
        "nodes by memory_add_many, {PIPELINED_BULK_CALLS} calls at a time: {:.0} a second",
        rate * 1_000.0
    );
}
