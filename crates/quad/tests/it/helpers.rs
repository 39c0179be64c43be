//! Small helpers that several test files share.

use std::io::BufRead;
use std::sync::mpsc::{self, Receiver};

use serde_json::{Value, json};

use crate::client::Client;
use crate::http::{Request, Response};
use crate::instance::TestInstance;

/// A `POST /mcp` with a JSON body, without a credential.
pub fn post_request(body: impl ToString) -> Request {
    Request::new("POST", "/mcp").header("Content-Type", "application/json").body(body.to_string())
}

/// The request with a bearer token.
pub fn with_token(request: Request, token: &str) -> Request {
    request.header("Authorization", &format!("Bearer {token}"))
}

/// The request without a header.
pub fn without_header(mut request: Request, header: &str) -> Request {
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(header));
    request
}

/// The body of a response, which must be JSON.
pub fn json_body(response: &Response) -> Value {
    serde_json::from_slice(&response.body)
        .unwrap_or_else(|_| panic!("{} {}", response.status, response.text()))
}

/// Calls a tool over a connection. It must succeed.
pub fn call_tool(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let result =
        client.request("tools/call", Some(json!({"name": tool, "arguments": arguments}))).outcome.unwrap();
    assert_eq!(result["isError"], false, "{result:#}");
    result["structuredContent"].clone()
}

/// Calls a tool with `quad call`. It must succeed.
pub fn run_tool(instance: &TestInstance, tenant: &str, tool: &str, arguments: &Value) -> Value {
    let output = instance.run(&["call", tool, &arguments.to_string(), "--tenant", tenant, "--json"]);
    serde_json::from_str(&output).unwrap_or_else(|_| panic!("{output}"))
}

/// The sum of a field over the statements in the report of `quad brain import`.
pub fn sum_field(report: &Value, field: &str) -> usize {
    let statements = report["statements"].as_array().unwrap();
    statements.iter().map(|statement| statement[field].as_u64().unwrap() as usize).sum()
}

/// A number in an environment variable.
pub fn env_number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// The lines that a process prints, read in a thread, so that a test can wait for one with a timeout.
pub fn read_lines(output: impl BufRead + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Pseudo-random numbers that are the same for the same seed (xorshift).
pub struct Rng(u64);

impl Rng {
    /// The numbers of one worker of a test. Workers of one test get different numbers.
    pub fn for_worker(seed: u64, workers: u64, index: u64) -> Rng {
        Rng(seed.wrapping_mul(workers).wrapping_add(index).wrapping_mul(0x9e37_79b9) | 1)
    }

    /// The next number, below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}
