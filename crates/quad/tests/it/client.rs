//! A client that speaks every revision over both transports, so that one text can drive them all.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::combination::Revision;
use crate::era::{self, CacheHint};
use crate::http::{HttpClient, IO_TIMEOUT, Request, Response};
use crate::place::Process;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// One side of a conversation.
pub struct Client {
    pub revision: Revision,
    /// Whether the server answers ahead of its audit events, so that receipts have no place.
    answers_ahead: bool,
    wire: Wire,
    next_id: i64,
    /// Notifications that nobody has asked for yet.
    inbox: VecDeque<Value>,
    /// The addresses that are watched, once something is.
    watched: Option<Vec<String>>,
    /// The id of the open `subscriptions/listen`.
    listening: Option<i64>,
}

enum Wire {
    Pipe(Pipe),
    Http(Http),
}

/// A process whose standard input and output we hold.
struct Pipe {
    process: Process,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
}

/// An endpoint and the credential for it.
struct Http {
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
    /// The result without what the revision adds, or the error.
    pub outcome: Result<Value, Value>,
    /// The proof of a read.
    pub receipt: Option<Value>,
    /// How long it keeps.
    pub cache: Option<CacheHint>,
    /// The HTTP status, over HTTP.
    pub status: Option<u16>,
    /// The challenge, over HTTP.
    pub challenge: Option<String>,
}

impl Client {
    /// Speaks to a process, `quad stdio` with its arguments.
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
        Client::opened(revision, Wire::Pipe(Pipe { process, input, output }))
    }

    /// Speaks to an endpoint.
    pub fn over_http(revision: Revision, authority: &str, path: &str, token: Option<&str>) -> Client {
        let (sender, events) = mpsc::channel();
        let client = HttpClient::new(authority);
        let token = token.map(str::to_owned);
        let path = path.to_owned();
        let http = Http { client, path, token, session: None, events, sender, stream: None };
        Client::opened(revision, Wire::Http(http))
    }

    /// The same of a server with `--audit async`, whose receipts have no place.
    pub fn answered_ahead(self) -> Client {
        Client { answers_ahead: true, ..self }
    }

    fn opened(revision: Revision, wire: Wire) -> Client {
        let mut client = Client {
            revision,
            answers_ahead: false,
            wire,
            next_id: 1,
            inbox: VecDeque::new(),
            watched: None,
            listening: None,
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
        let (id, message) = self.message(method, params);
        let (message, status, challenge) = match &mut self.wire {
            Wire::Pipe(pipe) => {
                pipe.send(&message);
                (pipe.answer(id, &mut self.inbox), None, None)
            }
            Wire::Http(http) => {
                let response = http.post(self.revision, &message);
                let status = response.status;
                let challenge = response.header("www-authenticate").map(str::to_owned);
                if method == "initialize" {
                    http.session = response.header("mcp-session-id").map(str::to_owned);
                }
                (http.answer(id, &response, &mut self.inbox), Some(status), challenge)
            }
        };
        self.reply(method, message, status, challenge)
    }

    fn message(&mut self, method: &str, params: Option<Value>) -> (i64, Value) {
        let id = self.next_id;
        self.next_id += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = era::dress(self.revision, params) {
            message["params"] = params;
        }
        (id, message)
    }

    fn reply(&self, method: &str, message: Value, status: Option<u16>, challenge: Option<String>) -> Reply {
        let mut cache = None;
        let outcome = match (message.get("result"), message.get("error")) {
            (Some(result), None) => {
                let mut result = result.clone();
                cache = era::undress(self.revision, method, self.answers_ahead, &mut result)
                    .unwrap_or_else(|wrong| panic!("{method}: {wrong}\n{message:#}"));
                Ok(result)
            }
            (None, Some(error)) => Err(error.clone()),
            _ => panic!("{method}: neither a result nor an error\n{message:#}"),
        };
        let receipt = message["result"]["_meta"].get(era::RECEIPT).cloned();
        Reply { outcome, receipt, cache, status, challenge }
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str) {
        let message = json!({"jsonrpc": "2.0", "method": method});
        match &mut self.wire {
            Wire::Pipe(pipe) => pipe.send(&message),
            Wire::Http(http) => {
                let response = http.post(self.revision, &message);
                assert_eq!((response.status, response.text().as_str()), (202, ""), "{method}");
            }
        }
    }

    /// Hears of changes of an address from now on, and of the list.
    pub fn watch(&mut self, uri: &str) -> Result<(), Value> {
        let mut watched = self.watched.clone().unwrap_or_default();
        if !uri.is_empty() {
            watched.push(uri.to_owned());
        }
        if self.revision.is_modern() {
            self.listen(&watched);
        } else {
            self.hear();
            if !uri.is_empty() {
                self.request("resources/subscribe", Some(json!({"uri": uri}))).outcome?;
            }
        }
        self.watched = Some(watched);
        Ok(())
    }

    /// Hears no more of an address.
    pub fn unwatch(&mut self, uri: &str) -> Result<(), Value> {
        let mut watched = self.watched.clone().unwrap_or_default();
        watched.retain(|known| known != uri);
        if self.revision.is_modern() {
            self.listen(&watched);
        } else {
            self.request("resources/unsubscribe", Some(json!({"uri": uri}))).outcome?;
        }
        self.watched = Some(watched);
        Ok(())
    }

    /// The next notification, or nothing if none came for a long time.
    pub fn notification(&mut self) -> Option<Value> {
        loop {
            let message = match self.inbox.pop_front() {
                Some(message) => message,
                None => match &self.wire {
                    Wire::Pipe(pipe) => pipe.output.recv_timeout(IO_TIMEOUT).ok()?,
                    Wire::Http(http) => http.events.recv_timeout(IO_TIMEOUT).ok()?,
                },
            };
            let of = &message["params"]["_meta"][SUBSCRIPTION_ID];
            match self.listening {
                // A stream that was left may still have had something to say.
                Some(id) if message["method"].is_string() && of.as_i64() != Some(id) => continue,
                _ => return Some(message),
            }
        }
    }

    /// Opens a stream for these addresses and leaves the one before.
    fn listen(&mut self, watched: &[String]) {
        let mut watched = watched.to_vec();
        watched.sort();
        let filter = json!({"resourcesListChanged": true, "resourceSubscriptions": watched});
        let (id, message) = self.message("subscriptions/listen", Some(json!({"notifications": filter})));
        match &mut self.wire {
            Wire::Pipe(pipe) => {
                pipe.send(&message);
                if let Some(left) = self.listening {
                    let params = json!({"requestId": left, "reason": "watching something else"});
                    pipe.send(
                        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
                    );
                }
            }
            Wire::Http(http) => {
                let request = http.dressed(self.revision, &message);
                http.stream(&request);
            }
        }
        self.listening = Some(id);
        let first = self.notification().expect("no acknowledgement came");
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first:#}");
        assert_eq!(first["params"]["notifications"], filter, "{first:#}");
    }

    /// Opens the stream of a legacy session, if it is not open yet. A pipe has none: its notifications just come.
    fn hear(&mut self) {
        if let Wire::Http(http) = &mut self.wire
            && http.stream.is_none()
        {
            let mut request = Request::new("GET", &http.path).header("Accept", "text/event-stream");
            request = http.credentials(request).header("MCP-Protocol-Version", self.revision.0);
            http.stream(&request);
        }
    }
}

impl Pipe {
    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the input is open");
        // A process that has ended says so by its silence, where the answer is awaited.
        let _ = writeln!(input, "{message}").and_then(|()| input.flush());
    }

    fn answer(&mut self, id: i64, inbox: &mut VecDeque<Value>) -> Value {
        loop {
            let message = self.output.recv_timeout(IO_TIMEOUT).expect("quad stdio did not answer");
            if message["id"] == id {
                return message;
            }
            assert!(message["method"].is_string(), "nobody asked for this: {message:#}");
            inbox.push_back(message);
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // A client that goes away closes the input, and the server ends by itself. One that has failed is killed.
        self.input = None;
        let deadline = Instant::now() + IO_TIMEOUT;
        while !std::thread::panicking() && matches!(self.process.0.try_wait(), Ok(None)) {
            assert!(Instant::now() < deadline, "quad stdio did not end with its input");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Http {
    fn post(&mut self, revision: Revision, message: &Value) -> Response {
        let request = self.dressed(revision, message);
        self.client.send(&request).unwrap()
    }

    /// The headers that a revision wants.
    fn dressed(&self, revision: Revision, message: &Value) -> Request {
        let mut request = Request::new("POST", &self.path)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        request = self.credentials(request);
        let method = message["method"].as_str().unwrap_or_default();
        if revision.is_modern() {
            request = request.header("MCP-Protocol-Version", revision.0).header("Mcp-Method", method);
            let name = match method {
                "resources/read" => message["params"]["uri"].as_str(),
                "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
                _ => None,
            };
            if let Some(name) = name {
                request = request.header("Mcp-Name", &header_value(name));
            }
        } else if method != "initialize" {
            request = request.header("MCP-Protocol-Version", revision.0);
        }
        request.body(message.to_string())
    }

    fn credentials(&self, mut request: Request) -> Request {
        if let Some(token) = &self.token {
            request = request.header("Authorization", &format!("Bearer {token}"));
        }
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request
    }

    /// The message with this id: the body, or one of the events in it.
    fn answer(&mut self, id: i64, response: &Response, inbox: &mut VecDeque<Value>) -> Value {
        let text = response.text();
        if response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
            let mut answer = None;
            for message in events.filter_map(|data| serde_json::from_str::<Value>(data).ok()) {
                if message["id"] == id {
                    answer = Some(message);
                } else {
                    inbox.push_back(message);
                }
            }
            return answer.expect("the stream ended without the answer");
        }
        let message: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{} {text}", response.status));
        assert_eq!(message["id"], id, "{message:#}");
        message
    }

    /// Opens a stream, whose messages arrive among the events.
    fn stream(&mut self, request: &Request) {
        let mut opened = self.client.open(request).unwrap();
        assert_eq!(opened.status, 200, "{request:?}");
        let handle = opened.body.try_clone_socket().unwrap();
        // Nothing may come for as long as nothing changes.
        handle.set_read_timeout(None).unwrap();
        if let Some(left) = self.stream.replace(handle) {
            let _ = left.shutdown(Shutdown::Both);
        }
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            while let Ok(Some(data)) = opened.body.next_event() {
                let message = serde_json::from_str(&data).unwrap_or_else(|_| json!({"notJson": data}));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// A header's text: as it is if it is plain, otherwise in the protocol's wrapping.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !text.starts_with("=?");
    if is_plain {
        return text.to_owned();
    }
    format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text))
}
