//! An MCP client for every revision and both transports, so that one transcript runs on all.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::era::{self, CacheHint};
use crate::http::{HttpClient, IO_TIMEOUT, Request, Response};
use crate::instance::Process;
use crate::matrix::Revision;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// A connection to a server.
pub struct Client {
    pub revision: Revision,
    /// Whether the server uses `--audit async`; its receipts have no sequence.
    has_async_audit: bool,
    transport: TransportState,
    next_id: i64,
    /// Received notifications that the test has not read yet.
    inbox: VecDeque<Value>,
    /// The subscribed addresses, after the first subscription.
    subscribed_uris: Option<Vec<String>>,
    /// The id of the open `subscriptions/listen`.
    listen_id: Option<i64>,
}

enum TransportState {
    Stdio(StdioTransport),
    Http(HttpTransport),
}

/// A child process on standard input and output.
struct StdioTransport {
    process: Process,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
}

/// An endpoint and a credential.
struct HttpTransport {
    client: HttpClient,
    path: String,
    token: Option<String>,
    session: Option<String>,
    events: Receiver<Value>,
    sender: Sender<Value>,
    stream: Option<TcpStream>,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The result without the fields of its revision, or the error.
    pub outcome: Result<Value, Value>,
    /// The receipt of a read.
    pub receipt: Option<Value>,
    /// The cache hint.
    pub cache_hint: Option<CacheHint>,
    /// The status, over HTTP.
    pub status: Option<u16>,
    /// The `WWW-Authenticate` header, over HTTP.
    pub challenge: Option<String>,
}

impl Client {
    /// Connects to a `quad stdio` process.
    pub fn over_stdio(revision: Revision, mut command: Command) -> Client {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process(command.spawn().unwrap());
        let (sender, output) = mpsc::channel();
        let lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({"notJson": line}));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = process.0.stdin.take();
        Client::connect(revision, TransportState::Stdio(StdioTransport { process, input, output }))
    }

    /// Connects to an endpoint.
    pub fn over_http(revision: Revision, authority: &str, path: &str, token: Option<&str>) -> Client {
        let (sender, events) = mpsc::channel();
        let client = HttpClient::new(authority);
        let token = token.map(str::to_owned);
        let path = path.to_owned();
        let http = HttpTransport { client, path, token, session: None, events, sender, stream: None };
        Client::connect(revision, TransportState::Http(http))
    }

    /// This client of a server with `--audit async`, whose receipts have no sequence.
    pub fn with_async_audit(self) -> Client {
        Client { has_async_audit: true, ..self }
    }

    fn connect(revision: Revision, transport: TransportState) -> Client {
        let mut client = Client {
            revision,
            has_async_audit: false,
            transport,
            next_id: 1,
            inbox: VecDeque::new(),
            subscribed_uris: None,
            listen_id: None,
        };
        if !revision.is_modern() {
            client.initialize();
        }
        client
    }

    fn initialize(&mut self) {
        let info = json!({"name": "transcripts", "version": "1"});
        let params = json!({"protocolVersion": self.revision.0, "capabilities": {}, "clientInfo": info});
        let reply = self.request("initialize", Some(params));
        let result = reply.outcome.expect("initialize was refused");
        assert_eq!(result["protocolVersion"], self.revision.0);
        self.notify("notifications/initialized");
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Option<Value>) -> Reply {
        let (id, message) = self.build_message(method, params);
        let (message, status, challenge) = match &mut self.transport {
            TransportState::Stdio(pipe) => {
                pipe.send(&message);
                (pipe.wait_for_reply(id, &mut self.inbox), None, None)
            }
            TransportState::Http(http) => {
                let response = http.post(self.revision, &message);
                let status = response.status;
                let challenge = response.header("www-authenticate").map(str::to_owned);
                if method == "initialize" {
                    http.session = response.header("mcp-session-id").map(str::to_owned);
                }
                (http.find_reply(id, &response, &mut self.inbox), Some(status), challenge)
            }
        };
        self.build_reply(method, message, status, challenge)
    }

    fn build_message(&mut self, method: &str, params: Option<Value>) -> (i64, Value) {
        let id = self.next_id;
        self.next_id += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = era::add_era_fields(self.revision, params) {
            message["params"] = params;
        }
        (id, message)
    }

    fn build_reply(
        &self,
        method: &str,
        message: Value,
        status: Option<u16>,
        challenge: Option<String>,
    ) -> Reply {
        let mut cache_hint = None;
        let outcome = match (message.get("result"), message.get("error")) {
            (Some(result), None) => {
                let mut result = result.clone();
                cache_hint = era::strip_era_fields(self.revision, method, self.has_async_audit, &mut result)
                    .unwrap_or_else(|problem| panic!("{method}: {problem}\n{message:#}"));
                Ok(result)
            }
            (None, Some(error)) => Err(error.clone()),
            _ => panic!("{method}: neither a result nor an error\n{message:#}"),
        };
        let receipt = message["result"]["_meta"].get(era::RECEIPT).cloned();
        Reply { outcome, receipt, cache_hint, status, challenge }
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str) {
        let message = json!({"jsonrpc": "2.0", "method": method});
        match &mut self.transport {
            TransportState::Stdio(pipe) => pipe.send(&message),
            TransportState::Http(http) => {
                let response = http.post(self.revision, &message);
                assert_eq!((response.status, response.text().as_str()), (202, ""), "{method}");
            }
        }
    }

    /// Subscribes to an address and to the list.
    pub fn subscribe(&mut self, uri: &str) -> Result<(), Value> {
        let mut uris = self.subscribed_uris.clone().unwrap_or_default();
        if !uri.is_empty() {
            uris.push(uri.to_owned());
        }
        if self.revision.is_modern() {
            self.listen(&uris);
        } else {
            self.open_notification_stream();
            if !uri.is_empty() {
                self.request("resources/subscribe", Some(json!({"uri": uri}))).outcome?;
            }
        }
        self.subscribed_uris = Some(uris);
        Ok(())
    }

    /// Unsubscribes from an address.
    pub fn unsubscribe(&mut self, uri: &str) -> Result<(), Value> {
        let mut uris = self.subscribed_uris.clone().unwrap_or_default();
        uris.retain(|subscribed_uri| subscribed_uri != uri);
        if self.revision.is_modern() {
            self.listen(&uris);
        } else {
            self.request("resources/unsubscribe", Some(json!({"uri": uri}))).outcome?;
        }
        self.subscribed_uris = Some(uris);
        Ok(())
    }

    /// The next notification, or None after a timeout.
    pub fn next_notification(&mut self) -> Option<Value> {
        loop {
            let message = match self.inbox.pop_front() {
                Some(message) => message,
                None => match &self.transport {
                    TransportState::Stdio(pipe) => pipe.output.recv_timeout(IO_TIMEOUT).ok()?,
                    TransportState::Http(http) => http.events.recv_timeout(IO_TIMEOUT).ok()?,
                },
            };
            let subscription_id = &message["params"]["_meta"][SUBSCRIPTION_ID];
            match self.listen_id {
                // A closed stream may still deliver notifications.
                Some(id) if message["method"].is_string() && subscription_id.as_i64() != Some(id) => continue,
                _ => return Some(message),
            }
        }
    }

    /// Opens a stream for these addresses and closes the previous one.
    fn listen(&mut self, uris: &[String]) {
        let mut sorted_uris = uris.to_vec();
        sorted_uris.sort();
        let filter = json!({"resourcesListChanged": true, "resourceSubscriptions": sorted_uris});
        let (id, message) =
            self.build_message("subscriptions/listen", Some(json!({"notifications": filter})));
        match &mut self.transport {
            TransportState::Stdio(pipe) => {
                pipe.send(&message);
                if let Some(previous_id) = self.listen_id {
                    let params = json!({"requestId": previous_id, "reason": "watching something else"});
                    pipe.send(
                        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
                    );
                }
            }
            TransportState::Http(http) => {
                let request = http.build_request(self.revision, &message);
                http.open_stream(&request);
            }
        }
        self.listen_id = Some(id);
        let acknowledgement = self.next_notification().expect("no acknowledgement came");
        assert_eq!(
            acknowledgement["method"], "notifications/subscriptions/acknowledged",
            "{acknowledgement:#}"
        );
        assert_eq!(acknowledgement["params"]["notifications"], filter, "{acknowledgement:#}");
    }

    /// Opens the stream of a legacy session, if it is not open. Over stdio there is none.
    fn open_notification_stream(&mut self) {
        if let TransportState::Http(http) = &mut self.transport
            && http.stream.is_none()
        {
            let mut request = Request::new("GET", &http.path).header("Accept", "text/event-stream");
            request = http.add_credentials(request).header("MCP-Protocol-Version", self.revision.0);
            http.open_stream(&request);
        }
    }
}

impl StdioTransport {
    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the input is open");
        // If the process has ended, waiting for the answer fails.
        let _ = writeln!(input, "{message}").and_then(|()| input.flush());
    }

    fn wait_for_reply(&mut self, id: i64, inbox: &mut VecDeque<Value>) -> Value {
        loop {
            let message = self.output.recv_timeout(IO_TIMEOUT).expect("quad stdio did not answer");
            if message["id"] == id {
                return message;
            }
            assert!(message["method"].is_string(), "unexpected message: {message:#}");
            inbox.push_back(message);
        }
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        // Closes the input, so that the server ends by itself; kills it if the test has failed.
        self.input = None;
        let deadline = Instant::now() + IO_TIMEOUT;
        while !std::thread::panicking() && matches!(self.process.0.try_wait(), Ok(None)) {
            assert!(Instant::now() < deadline, "quad stdio did not end with its input");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl HttpTransport {
    fn post(&mut self, revision: Revision, message: &Value) -> Response {
        let request = self.build_request(revision, message);
        self.client.send(&request).unwrap()
    }

    /// Builds a request with the headers of the revision.
    fn build_request(&self, revision: Revision, message: &Value) -> Request {
        let mut request = Request::new("POST", &self.path)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        request = self.add_credentials(request);
        let method = message["method"].as_str().unwrap_or_default();
        if revision.is_modern() {
            request = request.header("MCP-Protocol-Version", revision.0).header("Mcp-Method", method);
            let name = match method {
                "resources/read" => message["params"]["uri"].as_str(),
                "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
                _ => None,
            };
            if let Some(name) = name {
                request = request.header("Mcp-Name", &encode_header_value(name));
            }
        } else if method != "initialize" {
            request = request.header("MCP-Protocol-Version", revision.0);
        }
        request.body(message.to_string())
    }

    fn add_credentials(&self, mut request: Request) -> Request {
        if let Some(token) = &self.token {
            request = request.header("Authorization", &format!("Bearer {token}"));
        }
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request
    }

    /// The message with this id: the body, or one of the events in it.
    fn find_reply(&mut self, id: i64, response: &Response, inbox: &mut VecDeque<Value>) -> Value {
        let text = response.text();
        if response
            .header("content-type")
            .is_some_and(|content_type| content_type.starts_with("text/event-stream"))
        {
            let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let mut reply = None;
            for message in events.filter_map(|data| serde_json::from_str::<Value>(data).ok()) {
                if message["id"] == id {
                    reply = Some(message);
                } else {
                    inbox.push_back(message);
                }
            }
            return reply.expect("the stream ended without the answer");
        }
        let message: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{} {text}", response.status));
        assert_eq!(message["id"], id, "{message:#}");
        message
    }

    /// Opens a stream; its messages arrive in `events`.
    fn open_stream(&mut self, request: &Request) {
        let mut response = self.client.open(request).unwrap();
        assert_eq!(response.status, 200, "{request:?}");
        let handle = response.body.try_clone_socket().unwrap();
        // No timeout: without a change, no message comes.
        handle.set_read_timeout(None).unwrap();
        if let Some(previous_stream) = self.stream.replace(handle) {
            let _ = previous_stream.shutdown(Shutdown::Both);
        }
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            while let Ok(Some(data)) = response.body.next_event() {
                let message = serde_json::from_str(&data).unwrap_or_else(|_| json!({"notJson": data}));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// A header value: plain ASCII as it is, otherwise base64 in the form of the protocol.
fn encode_header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !text.starts_with("=?");
    if is_plain {
        return text.to_owned();
    }
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text))
}
