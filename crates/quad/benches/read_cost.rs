//! What a read costs: CPU time of the server per request, as ratios within one run.
//!
//! `./x bench` runs it. Two servers answer the same POST over keep-alive connections, in rounds that take turns, so that a
//! noisy machine disturbs both alike: a bare axum handler with fixed bytes (the floor), and `quad serve` on SQLite with every
//! read cached and durably audited (the product). It also says how long a start on an empty data folder takes to its first
//! answer, and what an idle server weighs.

// A benchmark that cannot set up its servers has nothing to say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Requests in one round.
const REQUESTS: usize = 20_000;
/// The same when `cargo test` runs this only to see that it works.
const REQUESTS_SMOKE: usize = 64;
const ROUNDS: usize = 5;
const CONNECTIONS: usize = 16;

const READ: &str = r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"bkend://orgs","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if std::env::args().any(|argument| argument == "--bare-server") {
        return runtime.block_on(bare_server());
    }
    runtime.block_on(bench());
}

/// The floor: axum, fixed bytes, nothing else.
async fn bare_server() {
    use axum::serve::ListenerExt as _;
    let body = r#"{"jsonrpc":"2.0","id":7,"result":{"contents":[]}}"#;
    let answer = move || async move { ([("content-type", "application/json")], body) };
    let router = axum::Router::new().route("/mcp", axum::routing::post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    // A socket that keeps Nagle's algorithm is still a socket; the ratio would only flatter the product.
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    axum::serve(listener, router).await.unwrap();
}

async fn bench() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let requests = if measuring { REQUESTS } else { REQUESTS_SMOKE };
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let quad = Server::start(Command::new(env!("CARGO_BIN_EXE_quad")).args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--no-auth",
        "--json",
        "--data-dir",
        folder.path().to_str().unwrap(),
    ]));
    quad.load(1, READ).await;
    println!(
        "start on an empty data folder to the first answered read: {} ms",
        started.elapsed().as_millis()
    );
    println!("idle: {} MiB resident", quad.resident_kib() / 1_024);

    let bare = Server::start(Command::new(std::env::current_exe().unwrap()).arg("--bare-server"));
    let mut rows: Vec<(&str, Vec<f64>)> =
        vec![("bare axum handler", vec![]), ("cached read, audited", vec![])];
    for _ in 0..ROUNDS {
        rows[0].1.push(bare.cpu_us_per_request(requests, READ).await);
        rows[1].1.push(quad.cpu_us_per_request(requests, READ).await);
    }
    let floor = median(&rows[0].1);
    println!("CPU per request, {CONNECTIONS} connections, median of {ROUNDS} rounds of {requests}:");
    for (name, rounds) in &rows {
        println!("  {name:<22} {:>7.1} µs  {:>5.2} × the floor", median(rounds), median(rounds) / floor);
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// A server in a process of its own, which ends with this value.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(command: &mut Command) -> Server {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = match serde_json::from_str::<serde_json::Value>(&line) {
            Ok(greeting) => {
                greeting["endpoint"].as_str().unwrap()["http://".len()..].trim_end_matches("/mcp").to_owned()
            }
            Err(_) => line.trim().to_owned(),
        };
        Server { process, address }
    }

    async fn cpu_us_per_request(&self, requests: usize, body: &'static str) -> f64 {
        let before = self.cpu_ticks();
        self.load(requests, body).await;
        // The kernel counts in hundredths of a second.
        (self.cpu_ticks() - before) as f64 * 10_000.0 / requests as f64
    }

    async fn load(&self, requests: usize, body: &'static str) {
        let mut connections = tokio::task::JoinSet::new();
        for _ in 0..CONNECTIONS.min(requests) {
            let address = self.address.clone();
            connections.spawn(async move { converse(&address, body, requests.div_ceil(CONNECTIONS)).await });
        }
        while let Some(done) = connections.join_next().await {
            done.unwrap();
        }
    }

    fn cpu_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        // Fields 14 and 15, counted after the name in parentheses, which may hold anything.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends the same request so many times over one connection, one after the other.
async fn converse(address: &str, body: &str, times: usize) {
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: resources/read\r\nmcp-name: bkend://orgs\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 64 * 1_024];
    for _ in 0..times {
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut filled = 0;
        loop {
            let read = socket.read(&mut buffer[filled..]).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            filled += read;
            if is_complete(&buffer[..filled]) {
                break;
            }
        }
        assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..filled]));
    }
}

fn is_complete(reply: &[u8]) -> bool {
    let text = String::from_utf8_lossy(reply);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).and_then(|n| n.parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}
