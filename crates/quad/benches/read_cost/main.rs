//! The cost of a read: CPU time of the server per request, as ratios within one run.
//!
//! `./x bench` runs it. Each server is its own process and answers the same POST over keep-alive connections. The
//! servers take turns, round by round, so that noise of the machine affects all of them:
//!
//! - a bare axum handler that returns the bytes of `quad`'s answer: the lower bound;
//! - `quad serve` on SQLite: the token is checked, the read is cached, its audit event is on disk before the answer;
//! - the same with `--audit async`;
//! - a plain server of the official SDK, rmcp, that returns the same contents, without token, cache or audit.
//!
//! It also prints the time from a start on an empty data folder to the first answer, and the memory of an idle server.

// A benchmark that cannot start its servers panics.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod process;
mod servers;

use std::process::Command;
use std::time::Instant;

use client::Load;
use process::Server;

/// Requests in one round.
const REQUESTS: usize = 40_000;
/// Requests in one round under `cargo test`, which only checks that the benchmark runs.
const REQUESTS_SMOKE: usize = 64;
const ROUNDS: usize = 5;
const CONNECTIONS: usize = 64;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let role = std::env::args().nth(1).unwrap_or_default();
    match role.as_str() {
        "--bare-server" => runtime.block_on(servers::serve_bare(std::env::args().nth(2).unwrap())),
        "--rmcp-server" => runtime.block_on(servers::serve_rmcp(std::env::args().nth(2).unwrap())),
        _ => runtime.block_on(bench()),
    }
}

fn start_quad(folder: &std::path::Path, audit: &str) -> Server {
    let folder = folder.to_str().unwrap();
    Server::start(Command::new(env!("CARGO_BIN_EXE_quad")).args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--json",
        "--data-dir",
        folder,
        "--audit",
        audit,
    ]))
}

fn start_self(role: &str, argument: &str) -> Server {
    Server::start(Command::new(std::env::current_exe().unwrap()).args([role, argument]))
}

async fn bench() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let requests = if is_bench { REQUESTS } else { REQUESTS_SMOKE };
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let started = Instant::now();
    let durable = start_quad(folders[0].path(), "durable");
    let load = Load { connections: CONNECTIONS, requests };
    let answer = client::read_once(&durable).await;
    println!(
        "from start on an empty data folder to the first answered read: {} ms",
        started.elapsed().as_millis()
    );
    println!("resident memory when idle: {} MiB", durable.resident_kib() / 1_024);
    let result: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let text = result["result"]["contents"][0]["text"].as_str().unwrap();

    let servers = [
        ("bare axum handler", start_self("--bare-server", &answer)),
        ("quad, durable audit", durable),
        ("quad, async audit", start_quad(folders[1].path(), "async")),
        ("plain rmcp server", start_self("--rmcp-server", text)),
    ];
    let mut rounds: Vec<Vec<(f64, f64)>> = vec![Vec::new(); servers.len()];
    for _ in 0..ROUNDS {
        for (index, (_, server)) in servers.iter().enumerate() {
            rounds[index].push(server.measure(&load).await);
        }
    }
    let cpu: Vec<f64> = rounds.iter().map(|rounds| median(rounds.iter().map(|round| round.0))).collect();
    println!(
        "\nCPU of the server per request; {CONNECTIONS} connections, median of {ROUNDS} rounds of {requests}:"
    );
    for (index, (name, _)) in servers.iter().enumerate() {
        let rate = median(rounds[index].iter().map(|round| round.1));
        println!(
            "  {name:<20} {:>6.1} µs  {:>5.2} × bare  {:>5.2} × rmcp  {rate:>8.0} requests/s",
            cpu[index],
            cpu[index] / cpu[0],
            cpu[index] / cpu[3],
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
