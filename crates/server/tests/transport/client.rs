//! A small HTTP client that can also send invalid requests.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Only a test that hangs takes this long.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    token: String,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    /// The status and the JSON-RPC error code; 0 without an error.
    pub fn status_and_code(&self) -> (u16, i64) {
        (self.status, self.json()["error"]["code"].as_i64().unwrap_or(0))
    }
}

/// Parameters with a complete modern `_meta`.
pub fn modern(mut params: Value) -> Value {
    let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
    let meta = meta.as_object_mut().unwrap();
    meta.insert("io.modelcontextprotocol/protocolVersion".into(), "2026-07-28".into());
    meta.insert("io.modelcontextprotocol/clientCapabilities".into(), json!({}));
    params
}

pub fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

impl Client {
    pub fn new(address: SocketAddr, token: &str) -> Client {
        Client { address, token: token.to_owned() }
    }

    fn request_head(&self, method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let has = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let host = self.address.to_string();
        let authorization = format!("Bearer {}", self.token);
        let length = length.to_string();
        let defaults = [
            ("Host", host.as_str()),
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Length", length.as_str()),
        ];
        // An empty value removes the header.
        for (name, value) in defaults.iter().filter(|(name, _)| !has(name)).chain(headers) {
            if !value.is_empty() {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head + "\r\n"
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            let head =
                self.request_head(method, path, &[headers, &[("Connection", "close")]].concat(), body.len());
            stream.write_all(head.as_bytes()).await.unwrap();
            // A server may reject the request and close before it has read everything.
            let _ = stream.write_all(body).await;
            let mut all = Vec::new();
            let _ = stream.read_to_end(&mut all).await;
            parse(&all)
        };
        timeout(TEST_TIMEOUT, exchange).await.expect("no reply")
    }

    /// A POST with this body.
    pub async fn post_raw(&self, headers: &[(&str, &str)], body: &str) -> Reply {
        self.send("POST", "/mcp", headers, body.as_bytes()).await
    }

    /// A legacy POST.
    pub async fn legacy(&self, headers: &[(&str, &str)], method: &str, params: Value) -> Reply {
        self.post_raw(headers, &request(1, method, params).to_string()).await
    }

    /// A modern POST with matching headers.
    pub async fn modern(&self, method: &str, params: Value) -> Reply {
        self.modern_to("/mcp", method, params).await
    }

    pub async fn modern_to(&self, path: &str, method: &str, params: Value) -> Reply {
        let body = request(1, method, modern(params.clone())).to_string();
        let name =
            params.get("uri").or(params.get("name")).and_then(Value::as_str).unwrap_or_default().to_owned();
        let headers =
            [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name.as_str())];
        self.send("POST", path, &headers, body.as_bytes()).await
    }

    /// A request whose reply is a stream of events.
    pub async fn open_stream(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Events {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = self.request_head(method, "/mcp", headers, body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut events = Events { reader: BufReader::new(stream), status: 0, headers: Vec::new() };
        let first = events.line().await.unwrap();
        events.status = first.split(' ').nth(1).unwrap().parse().unwrap();
        loop {
            let line = events.line().await.unwrap();
            match line.split_once(": ") {
                Some((name, value)) => events.headers.push((name.to_ascii_lowercase(), value.to_owned())),
                None => return events,
            }
        }
    }

    /// A modern request whose reply is a stream.
    pub async fn listen(&self, id: impl Into<Value>, notifications: Value) -> Events {
        let method = "subscriptions/listen";
        let body = request(id, method, modern(json!({"notifications": notifications}))).to_string();
        self.open_stream("POST", &[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)], &body)
            .await
    }
}

fn parse(all: &[u8]) -> Reply {
    let end = all.windows(4).position(|window| window == b"\r\n\r\n").expect("the reply has no head");
    let head = std::str::from_utf8(&all[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut body = all[end + 4..].to_vec();
    if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
        body = decode_chunked(&body);
    }
    Reply { status, headers, body }
}

fn decode_chunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}

/// A reply that is a stream of events.
pub struct Events {
    reader: BufReader<TcpStream>,
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

impl Events {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
        }
    }

    /// The next message; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        // Skips keep-alive comments.
        timeout(TEST_TIMEOUT, self.message()).await.expect("the stream sent no message")
    }

    async fn message(&mut self) -> Option<Value> {
        loop {
            let line = self.line().await?;
            // The empty chunk, which ends the body. The connection may stay open.
            if line == "0" {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

/// The messages of a finished stream.
pub fn events(body: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(body).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}
