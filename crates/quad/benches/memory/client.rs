//! The client of all servers: lines of JSON over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A server process and its standard input and output.
pub struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// The names of the server's tools.
    pub tools: Vec<String>,
}

impl Client {
    /// Starts a server and sends `initialize`.
    pub fn start(mut command: Command) -> Client {
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::with_capacity(1 << 20, process.stdout.take().unwrap());
        let mut client = Client { process, input, output, next_id: 0, tools: Vec::new() };
        let info = json!({"name": "bench", "version": "1"});
        client.request(
            "initialize",
            json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info}),
        );
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Loads the names of the tools.
    pub fn load_tools(&mut self) {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
        self.tools = tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn send_line(&mut self, line: &str) {
        // In one write: half a line would wake the server for nothing.
        self.input.write_all(format!("{line}\n").as_bytes()).expect("the server has ended");
    }

    /// The next answer, of any request.
    fn read_reply(&mut self) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message.get("id").is_some() && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let reply = self.read_reply();
            if reply["id"] == id {
                return reply;
            }
        }
    }

    /// Sends a request and returns the time until its answer; None if it was refused.
    pub fn request_timed(&mut self, method: &str, params: Value) -> Option<Duration> {
        let started = Instant::now();
        let reply = self.request(method, params);
        let took = started.elapsed();
        let succeeded = reply.get("error").is_none() && reply["result"]["isError"] != true;
        succeeded.then_some(took)
    }

    /// Calls per second with `window` calls in flight.
    pub fn calls_per_second(
        &mut self,
        window: usize,
        calls: usize,
        call: impl Fn(usize) -> (&'static str, Value),
    ) -> f64 {
        // Messages are built before the clock starts, since the client shares the processors with the server.
        let messages: Vec<String> = (0..calls)
            .map(|number| {
                let (name, arguments) = call(number);
                self.next_id += 1;
                let params = json!({"name": name, "arguments": arguments});
                json!({"jsonrpc": "2.0", "id": self.next_id, "method": "tools/call", "params": params})
                    .to_string()
            })
            .collect();
        let started = Instant::now();
        let (mut sent, mut answered) = (0, 0);
        while answered < calls {
            while sent < calls && sent - answered < window {
                self.send_line(&messages[sent]);
                sent += 1;
            }
            let reply = self.read_reply();
            assert!(reply["result"]["isError"] != true && reply.get("error").is_none(), "{reply}");
            answered += 1;
        }
        calls as f64 / started.elapsed().as_secs_f64()
    }

    /// The CPU time of the server's threads in microseconds. It varies less than the time of an answer, which includes
    /// the wake-up of threads.
    pub fn cpu_micros(&self) -> f64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.process.id()));
        let nanos = |thread: std::fs::DirEntry| -> Option<f64> {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok()
        };
        threads.into_iter().flatten().flatten().filter_map(nanos).sum::<f64>() / 1e3
    }

    /// The resident memory of the server in MiB.
    pub fn resident_mib(&self) -> f64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
        let kib: f64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or_default();
        kib / 1_024.0
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
