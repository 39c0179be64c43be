//! A subscription: a stream that a thread of its own reads, with the received messages.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Client, Outcome};
use crate::http::{HttpClient, IO_TIMEOUT};
use crate::plan::Era;

/// An open stream.
#[derive(Debug)]
pub struct Listener {
    buffer: Arc<StreamBuffer>,
    socket: TcpStream,
}

#[derive(Debug, Default)]
struct StreamBuffer {
    received: Mutex<Received>,
    changed: Condvar,
}

/// The received messages.
#[derive(Debug, Default)]
struct Received {
    /// The time and the URI of each update.
    updates: Vec<(Instant, String)>,
    /// Every message.
    messages: Vec<String>,
    is_closed: bool,
}

/// The result of waiting for a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitResult {
    /// The notification was received.
    Received,
    /// The stream ended first.
    Closed,
    /// Nothing happened until the timeout.
    TimedOut,
    /// The caller cancelled the wait.
    Cancelled,
}

/// The result of an attempt to subscribe, with the calls that were made for it, for the audit expectations.
pub struct SubscribeResult {
    /// The stream, or the reply that prevented it.
    pub listener: Result<Listener, Outcome>,
    /// Method, parameters and outcome of each call.
    pub calls: Vec<(&'static str, Value, Outcome)>,
}

impl Listener {
    /// Subscribes to one URI.
    pub fn subscribe(client: Client<'_>, uri: &str) -> SubscribeResult {
        match client.era {
            Era::Modern => subscribe_modern(client, uri),
            Era::Legacy => subscribe_legacy(client, uri),
        }
    }

    /// Waits for an update of the URI after `since`, until `is_cancelled`.
    pub fn wait(&self, uri: &str, since: Instant, is_cancelled: impl Fn() -> bool) -> WaitResult {
        let deadline = Instant::now() + IO_TIMEOUT;
        let mut received = self.buffer.received.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if received.updates.iter().any(|(at, updated_uri)| *at >= since && updated_uri == uri) {
                return WaitResult::Received;
            }
            if received.is_closed {
                return WaitResult::Closed;
            }
            if is_cancelled() {
                return WaitResult::Cancelled;
            }
            if Instant::now() >= deadline {
                return WaitResult::TimedOut;
            }
            // Notified of new messages; wakes every 20 ms to check whether it is cancelled.
            let guard = self.buffer.changed.wait_timeout(received, std::time::Duration::from_millis(20));
            received = guard.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the stream ends. False on a timeout.
    pub fn wait_for_close(&self) -> bool {
        self.wait("", Instant::now(), || false) == WaitResult::Closed
    }

    /// Whether the stream has ended.
    pub fn is_closed(&self) -> bool {
        self.buffer.received.lock().unwrap_or_else(PoisonError::into_inner).is_closed
    }

    /// Every message so far.
    pub fn messages(&self) -> Vec<String> {
        self.buffer.received.lock().unwrap_or_else(PoisonError::into_inner).messages.clone()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Closing the socket ends the reading thread.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Subscribes with one request, whose reply is the stream. It is active from the acknowledgement on.
fn subscribe_modern(client: Client<'_>, uri: &str) -> SubscribeResult {
    let method = "subscriptions/listen";
    let params = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let stream = read_stream(client, client.rpc_request(method, &params));
    let (listener, outcome) = match stream {
        Err(outcome) => (Err(outcome.clone()), outcome),
        Ok(stream_listener) => match stream_listener.first_message() {
            None => {
                let no_reply = Outcome::NoReply("the stream ended before its acknowledgement".to_owned());
                (Err(no_reply.clone()), no_reply)
            }
            Some(message) => {
                let accepted = message["params"]["notifications"]["resourceSubscriptions"].clone();
                if accepted == json!([uri]) {
                    (Ok(stream_listener), Outcome::Result(message))
                } else {
                    // URIs that cannot be read now are missing from the acknowledgement.
                    (Err(Outcome::Rejected(message.clone())), Outcome::Result(message))
                }
            }
        },
    };
    SubscribeResult { listener, calls: vec![(method, params, outcome)] }
}

/// Opens a session and its stream, and subscribes.
fn subscribe_legacy(client: Client<'_>, uri: &str) -> SubscribeResult {
    let reply = client.initialize();
    let Some(session) = reply.session else {
        return SubscribeResult { listener: Err(reply.outcome), calls: Vec::new() };
    };
    let client = Client { session: Some(&session), ..client };
    let listener = match read_stream(client, client.stream_request()) {
        Ok(listener) => listener,
        Err(outcome) => {
            return SubscribeResult {
                listener: Err(outcome.clone()),
                calls: vec![("stream", json!({}), outcome)],
            };
        }
    };
    let mut calls = vec![("stream", json!({}), Outcome::Result(Value::Null))];
    let params = json!({"uri": uri});
    let outcome = client.call("resources/subscribe", &params).outcome;
    calls.push(("resources/subscribe", params, outcome.clone()));
    let listener_result = if matches!(outcome, Outcome::Result(_)) { Ok(listener) } else { Err(outcome) };
    SubscribeResult { listener: listener_result, calls }
}

/// Sends a request whose reply is a stream, and starts to read it.
fn read_stream(client: Client<'_>, request: crate::http::Request) -> Result<Listener, Outcome> {
    let no_reply = |error: std::io::Error| Outcome::NoReply(error.to_string());
    let response = HttpClient::new(&client.node.authority).open(&request).map_err(no_reply)?;
    if response.status == 401 {
        return Err(Outcome::Unauthorized);
    }
    let mut body = response.body;
    if response.status != 200 {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut body, &mut text);
        let message: Value = serde_json::from_str(&text).unwrap_or_default();
        let envelope = [&message["error"]["data"], &message["error"], &message];
        let envelope = envelope.into_iter().find(|part| part["kind"].is_string()).cloned();
        return Err(match envelope {
            Some(envelope) if envelope["kind"] == "internal" || envelope["kind"] == "unavailable" => {
                Outcome::ServerError(envelope)
            }
            Some(envelope) => Outcome::Rejected(envelope),
            None => Outcome::NoReply(format!("{} {text}", response.status)),
        });
    }
    let socket = body.try_clone_socket().map_err(no_reply)?;
    // A stream without changes is silent for any time.
    socket.set_read_timeout(None).map_err(no_reply)?;
    let buffer = Arc::new(StreamBuffer::default());
    let thread_buffer = buffer.clone();
    std::thread::spawn(move || {
        while let Ok(Some(text)) = body.next_event() {
            let message: Value = serde_json::from_str(&text).unwrap_or_default();
            let mut received = thread_buffer.received.lock().unwrap_or_else(PoisonError::into_inner);
            if message["method"] == "notifications/resources/updated" {
                let uri = message["params"]["uri"].as_str().unwrap_or_default().to_owned();
                received.updates.push((Instant::now(), uri));
            }
            received.messages.push(text);
            thread_buffer.changed.notify_all();
        }
        thread_buffer.received.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        thread_buffer.changed.notify_all();
    });
    Ok(Listener { buffer, socket })
}

impl Listener {
    /// The first message; `None` if the stream ends without one.
    fn first_message(&self) -> Option<Value> {
        let deadline = Instant::now() + IO_TIMEOUT;
        let mut received = self.buffer.received.lock().unwrap_or_else(PoisonError::into_inner);
        while received.messages.is_empty() {
            if received.is_closed || Instant::now() >= deadline {
                return None;
            }
            let guard = self.buffer.changed.wait_timeout(received, IO_TIMEOUT);
            received = guard.unwrap_or_else(PoisonError::into_inner).0;
        }
        serde_json::from_str(&received.messages[0]).ok()
    }
}
