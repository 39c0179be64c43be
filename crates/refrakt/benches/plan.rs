//! The cost of a project by size: `cargo bench -p quad-refrakt --bench plan -- [ENTITIES…] [--peer CMD]` (default: 700
//! and 10,000 entities).
//!
//! `CMD` is a server to compare with over standard input and output, run by a shell in the project's folder: the npm
//! package or `quad stdio`. This repository does not install one.
//!
//! Plans are generated. Each read has two figures: the scheme alone, including change detection, and through the
//! resolver with authorization, cache and a durable audit event. Prints figures and asserts nothing.

// A failed expectation ends the benchmark.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use quad_core::resolver::View;
use quad_core::{Address, Principal, Resolver, Scheme as _};
use quad_refrakt::project_cache::ProjectCache;
use quad_refrakt::{COMPONENT, Refrakt, SCOPES};
use quad_store::testing;
use serde_json::{Value, json};

/// Reads of each kind.
const ROUNDS: usize = 200;

/// First reads of each kind, each of a new server.
const FIRST_READ_ROUNDS: usize = 5;

/// Time limit for the repeated reads of a peer.
const PEER_TIME_MAX: Duration = Duration::from_secs(20);

/// The reads, with a name for each.
const READS: [(&str, &str); 8] = [
    ("detect, plan unread", "refrakt://detect"),
    ("plan/index", "refrakt://plan/index"),
    ("plan/index?type=bug", "refrakt://plan/index?type=bug"),
    ("plan/status", "refrakt://plan/status"),
    ("one entity", "refrakt://plan/work/WORK-0045"),
    ("reference", "refrakt://reference"),
    ("contracts", "refrakt://contracts"),
    ("detect", "refrakt://detect"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes_given: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let peer = arguments.iter().position(|argument| argument == "--peer");
    let peer = peer.map(|at| arguments.get(at + 1).expect("--peer is followed by a command").as_str());
    let sizes = if sizes_given.is_empty() { vec![700, 10_000] } else { sizes_given };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for size in sizes {
        runtime.block_on(measure(size, peer));
    }
}

async fn measure(entities: usize, peer: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    generate_project(folder.path(), entities);
    println!("\n{entities} entities");
    measure_cold(folder.path());
    measure_first_reads(folder.path()).await;
    let test = testing::sqlite(&[COMPONENT]).await.unwrap();
    let refrakt = Arc::new(Refrakt::new(test.store.clone(), test.tenant.clone(), folder.path()));
    let store = Arc::new(test.store.clone());
    let resolver = Resolver::new(vec![refrakt.clone()], store.clone(), store).unwrap();
    let caller = Principal::local_agent(test.tenant.clone(), SCOPES.iter().copied());
    println!("{:<22} {:>12} {:>12}   {:>12} {:>12}", "warm, p50 / p95", "scheme", "", "resolver", "");
    for (name, uri) in READS {
        let (address, route) = locate(&refrakt, uri);
        let mut scheme_times = Vec::with_capacity(ROUNDS);
        let mut resolver_times = Vec::with_capacity(ROUNDS);
        refrakt.read(&caller, route, &address).await.unwrap();
        resolver.read(&caller, View::All, uri).await.unwrap();
        for _ in 0..ROUNDS {
            let started = Instant::now();
            refrakt.read(&caller, route, &address).await.unwrap();
            scheme_times.push(started.elapsed());
            let started = Instant::now();
            resolver.read(&caller, View::All, uri).await.unwrap();
            resolver_times.push(started.elapsed());
        }
        let (scheme, whole) = (median_and_p95(scheme_times), median_and_p95(resolver_times));
        println!("{name:<22} {:>12?} {:>12?}   {:>12?} {:>12?}", scheme.0, scheme.1, whole.0, whole.1);
    }
    if let Some(command) = peer {
        Peer::measure(command, folder.path());
    }
}

/// A server at the other end of two pipes.
struct Peer {
    input: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts it in the folder and measures every read.
    fn measure(command: &str, folder: &Path) {
        let started = Instant::now();
        let mut process = Command::new("sh")
            .args(["-c", &format!("exec {command}")])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut peer = Peer { input: process.stdin.take().unwrap(), answers };
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        peer.call("initialize", params);
        println!("peer: {command}\n{:<22} {:>12?}", "start to first answer", started.elapsed());
        writeln!(peer.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
        for (name, uri) in READS {
            let (mut times, started) = (Vec::new(), Instant::now());
            let mut is_answered = true;
            while times.len() < ROUNDS && started.elapsed() < PEER_TIME_MAX {
                let request_started = Instant::now();
                is_answered &= peer.call("resources/read", json!({"uri": uri})).get("result").is_some();
                times.push(request_started.elapsed());
            }
            let (median, p95) = median_and_p95(times);
            println!(
                "{name:<22} {median:>12?} {p95:>12?}   {}",
                if is_answered { "" } else { "with an error" }
            );
        }
        drop(peer);
        let _ = process.wait();
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        writeln!(self.input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .unwrap();
        loop {
            let line = self.answers.next().expect("the peer has ended").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            // Other messages are notifications.
            if message["id"] == 1 {
                return message;
            }
        }
    }
}

/// The first answer of a server that begins to read the plan when it starts. A read of the index waits until the whole
/// plan is read; that is what every first read waited for before answers from single files.
async fn measure_first_reads(folder: &Path) {
    for (name, uri) in [
        ("first: plan/index", "refrakt://plan/index"),
        ("first: detect", "refrakt://detect"),
        ("first: one entity", "refrakt://plan/work/WORK-0045"),
        ("first: reference", "refrakt://reference"),
    ] {
        let test = testing::sqlite(&[COMPONENT]).await.unwrap();
        let mut times = Vec::new();
        for _ in 0..FIRST_READ_ROUNDS {
            let refrakt = Arc::new(Refrakt::new(test.store.clone(), test.tenant.clone(), folder));
            let caller = Principal::local_agent(test.tenant.clone(), SCOPES.iter().copied());
            let (address, route) = locate(&refrakt, uri);
            let polling = tokio::spawn(refrakt.clone().watch());
            tokio::task::yield_now().await;
            let started = Instant::now();
            refrakt.read(&caller, route, &address).await.unwrap();
            times.push(started.elapsed());
            // The next server does not share the processor with the first read of this one.
            let (address, route) = locate(&refrakt, "refrakt://plan/index");
            refrakt.read(&caller, route, &address).await.unwrap();
            polling.abort();
        }
        let (median, slowest) = median_and_p95(times);
        println!("{name:<22} {median:>12?} {slowest:>12?}");
    }
}

/// Each read once, with empty caches.
fn measure_cold(folder: &Path) {
    let started = Instant::now();
    let cache = ProjectCache::new(folder);
    let snapshot = cache.project_snapshot();
    println!("{:<22} {:>12?}", "start and detect, cold", started.elapsed());
    drop(snapshot);
    let started = Instant::now();
    let plan = cache.plan().unwrap().unwrap();
    let read = started.elapsed();
    let status = quad_refrakt::plan::status::plan_status(&plan.index, None).to_string();
    println!(
        "{:<22} {:>12?} (of it {read:?} to read the files; {} bytes)",
        "plan/status, cold",
        started.elapsed(),
        status.len()
    );
    let started = Instant::now();
    cache.plan().unwrap();
    println!("{:<22} {:>12?}", "a look at every file", started.elapsed());
}

/// The address and its route, as the resolver finds them.
fn locate(refrakt: &Refrakt, uri: &str) -> (Address, usize) {
    let mut router = quad_address::Router::new();
    for (index, route) in refrakt.routes().unwrap().into_iter().enumerate() {
        router.add(route.spec, index).unwrap();
    }
    let (address, route) = router.route(uri).unwrap();
    (address, *route)
}

/// The median and the 95th percentile.
fn median_and_p95(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 19 / 20])
}

/// A plan of work items, specifications, bugs, decisions and milestones, with references and dependencies.
fn generate_project(folder: &Path, entities: usize) {
    let plugins =
        ["marketing", "docs", "storytelling", "places", "business", "design", "learning", "media", "plan"];
    let plugins: Vec<String> = plugins.iter().map(|name| format!("\"@refrakt-md/{name}\"")).collect();
    let config =
        format!("{{\"site\": {{\"contentDir\": \"content\", \"plugins\": [{}]}}}}", plugins.join(", "));
    std::fs::write(folder.join("refrakt.config.json"), config).unwrap();
    let states = ["done", "done", "done", "ready", "in-progress", "draft", "blocked", "review"];
    for number in 0..entities {
        let (subdir, text) = match number % 20 {
            0 => (
                "milestones",
                format!(
                    "{{% milestone name=\"v0.{number}\" status=\"active\" %}}\n# Goal {number}\n{{% /milestone %}}\n"
                ),
            ),
            1 | 2 => (
                "specs",
                format!(
                    "{{% spec id=\"SPEC-{number:04}\" status=\"accepted\" %}}\n# Part {number}\n\n{}\n{{% /spec %}}\n",
                    prose(12)
                ),
            ),
            3 => (
                "decisions",
                format!(
                    "{{% decision id=\"ADR-{number:04}\" status=\"accepted\" %}}\n# Choice {number}\n\n## Context\n\n{}\n\n## Decision\n\nSo it is.\n{{% /decision %}}\n",
                    prose(4)
                ),
            ),
            4 => (
                "bugs",
                format!(
                    "{{% bug id=\"BUG-{number:04}\" status=\"confirmed\" severity=\"major\" %}}\n# Fault {number}\n\n{}\n{{% /bug %}}\n",
                    prose(4)
                ),
            ),
            _ => {
                let state = states[number % states.len()];
                let (spec, previous) = (number / 20 * 20 + 1, number.saturating_sub(1).max(5));
                let text = format!(
                    "{{% work id=\"WORK-{number:04}\" status=\"{state}\" priority=\"high\" complexity=\"simple\" milestone=\"v0.{}\" \
                     source=\"SPEC-{spec:04}\" tags=\"a,b\" %}}\n# Task {number}\n\n{}\n\n## Acceptance Criteria\n\n- [ ] It is done\n\
                     - [x] It is begun\n\n## Blocked by\n\n- {{% ref \"WORK-{previous:04}\" /%}}\n\n## Resolution\n\nCompleted: 2026-01-02\n{{% /work %}}\n",
                    number / 20 * 20,
                    prose(8)
                );
                ("work", text)
            }
        };
        let dir = folder.join("plan").join(subdir);
        std::fs::create_dir_all(&dir).unwrap();
        let id = text.split('"').nth(1).unwrap_or_default();
        std::fs::write(dir.join(format!("{id}-{number:05}.md")), &text).unwrap();
    }
    set_old_mtimes(folder);
}

fn prose(sentences: usize) -> String {
    "The harbour master reads the *oldest* request first and answers it with `one` line. ".repeat(sentences)
}

/// Sets all modification times one minute back, so that no file counts as freshly changed.
fn set_old_mtimes(folder: &Path) {
    let old = SystemTime::now() - Duration::from_secs(60);
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            set_old_mtimes(&entry.path());
        }
        std::fs::File::open(entry.path()).unwrap().set_modified(old).unwrap();
    }
    std::fs::File::open(folder).unwrap().set_modified(old).unwrap();
}
