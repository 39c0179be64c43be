//! Measures the graph at a given size: `cargo bench -p quad-amem --bench graph -- [NODES]` (default 100,000).
//!
//! Every call goes through the resolver, on SQLite with durable commits. Prints figures; asserts nothing.

// A failed expectation ends the measurement.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quad_amem::{Amem, COMPONENT};
use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{Principal, PrincipalKind, Resolver, Scheme, ScopeSet};
use quad_store::testing;
use serde_json::{Map, Value, json};

/// Nodes of one bulk call; with three edges each they fill a transaction.
const NODES_PER_CALL: usize = 400;

#[derive(Clone)]
struct BenchEnv {
    resolver: Arc<Resolver>,
    caller: Principal,
}

impl BenchEnv {
    async fn call(&self, tool: &str, arguments: Value) -> quad_core::Result<Value> {
        let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        let output = self.resolver.call_tool(&self.caller, View::All, tool, arguments, &NoProgress).await?;
        Ok(output.structured_value().unwrap_or_default())
    }

    async fn read(&self, uri: &str) -> quad_core::Result<()> {
        self.resolver.read(&self.caller, View::All, uri).await.map(drop)
    }

    fn as_subject(&self, number: usize) -> BenchEnv {
        let mut env = self.clone();
        env.caller.subject = format!("client_{number}").into();
        env
    }
}

fn main() {
    let mut sizes = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let nodes: usize = sizes.next_back().unwrap_or(100_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(nodes));
}

async fn measure(nodes: usize) {
    let test = testing::sqlite(&[COMPONENT]).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let scheme: Arc<dyn Scheme> = Arc::new(Amem::new(test.store.clone(), folder.path()));
    let store = Arc::new(test.store.clone());
    let resolver = Arc::new(Resolver::new(vec![scheme], store.clone(), store).unwrap());
    let caller = Principal {
        tenant: test.tenant.clone(),
        subject: "bench".into(),
        kind: PrincipalKind::Agent,
        scopes: ScopeSet::parse("*:*"),
        credential_read_set: None,
        expires_at: None,
    };
    let env = BenchEnv { resolver, caller };
    seed(&env, nodes).await;
    measure_adds(&env, 1, 300).await;
    measure_adds(&env, 64, 100).await;
    for uri in [
        "amem://graph/stats",
        "amem://graph/recent",
        "amem://graph/important",
        "amem://node/17",
        "amem://types/fact?limit=1000",
        "amem://node/17/neighborhood",
    ] {
        measure_reads(&env, uri, 300).await;
    }
    for (tool, arguments) in [
        ("memory_query", json!({})),
        ("memory_query", json!({"sort_by": "highest_confidence", "event_types": ["episode"]})),
        ("memory_traverse", json!({"start_id": 1_000})),
        ("memory_session_resume", json!({})),
        ("memory_quality", json!({})),
    ] {
        let mut times = Vec::new();
        for _ in 0..50 {
            let started = Instant::now();
            env.call(tool, arguments.clone()).await.unwrap();
            times.push(started.elapsed());
        }
        print_percentiles(&format!("{tool} {arguments}"), times);
    }
    measure_reads_under_writes(&env, "amem://graph/important").await;
    measure_reads_under_writes(&env, "amem://graph/stats").await;
    measure_reads_under_writes(&env, "amem://node/17").await;
}

async fn seed(env: &BenchEnv, nodes: usize) {
    let types = ["fact", "fact", "fact", "decision", "inference", "skill", "correction", "episode"];
    let (started, mut added) = (Instant::now(), 0_usize);
    while added < nodes {
        let batch: Vec<Value> = (0..NODES_PER_CALL.min(nodes - added))
            .map(|offset| {
                let number = added + offset;
                let mut edges = Vec::new();
                if added > 0 {
                    for step in [7, 7919] {
                        edges.push(json!({"target_id": (number * step) % added, "edge_type": "related_to", "weight": 0.5}));
                    }
                }
                json!({"event_type": types[number % types.len()], "confidence": (number % 100) as f64 / 100.0,
                    "content": format!("Memory {number}: the service answers requests of kind {} within {} milliseconds when \
                        the cache is warm and the queue behind it is short", number % 97, number % 1_000),
                    "edges": edges})
            })
            .collect();
        added += batch.len();
        env.call("memory_add_many", json!({"nodes": batch})).await.unwrap();
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{nodes} nodes with three edges each in {seconds:.1} s: {:.0} nodes/s", nodes as f64 / seconds);
}

async fn measure_adds(env: &BenchEnv, clients: usize, adds_per_client: usize) {
    let started = Instant::now();
    let mut tasks = Vec::new();
    for client in 0..clients {
        let env = env.as_subject(client);
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            for number in 0..adds_per_client {
                let started = Instant::now();
                let arguments = json!({"event_type": "fact", "content": format!("one of many, number {number} of {client}")});
                env.call("memory_add", arguments).await.unwrap();
                times.push(started.elapsed());
            }
            times
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let rate = times.len() as f64 / started.elapsed().as_secs_f64();
    print_percentiles(&format!("memory_add, {clients} clients, {rate:.0}/s"), times);
}

async fn measure_reads(env: &BenchEnv, uri: &str, count: usize) {
    let mut times = Vec::new();
    for _ in 0..count {
        let started = Instant::now();
        env.read(uri).await.unwrap();
        times.push(started.elapsed());
    }
    print_percentiles(uri, times);
}

/// Reads while another caller adds a thousand nodes a second.
async fn measure_reads_under_writes(env: &BenchEnv, uri: &str) {
    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writer = {
        let (env, stop, written) = (env.as_subject(1_000), stop.clone(), written.clone());
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_millis(1));
            while !stop.load(Ordering::Relaxed) {
                tick.tick().await;
                let (env, written) = (env.clone(), written.clone());
                tokio::spawn(async move {
                    env.call("memory_add", json!({"event_type": "fact", "content": "meanwhile"}))
                        .await
                        .unwrap();
                    written.fetch_add(1, Ordering::Relaxed);
                });
            }
        })
    };
    let (mut times, mut error_count, started) = (Vec::new(), 0, Instant::now());
    for _ in 0..500 {
        let started = Instant::now();
        match env.read(uri).await {
            Ok(()) => times.push(started.elapsed()),
            Err(_) => error_count += 1,
        }
    }
    let rate = written.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    writer.await.unwrap();
    print_percentiles(&format!("{uri} beside {rate:.0} adds/s, {error_count} of 500 refused"), times);
}

fn print_percentiles(label: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let percentile = |fraction: f64| {
        times.get(((times.len() as f64 * fraction) as usize).min(times.len().saturating_sub(1)))
    };
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    println!("{label}: p50 {:.3} ms, p99 {:.3} ms", ms(percentile(0.5)), ms(percentile(0.99)));
}
