//! A subscription: a stream that is read by a thread of its own, and what came over it.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Answer, Line};
use crate::http::{HttpClient, PATIENCE};
use crate::plan::Era;

/// An open stream.
#[derive(Debug)]
pub struct Listener {
    heard: Arc<Ears>,
    socket: TcpStream,
}

#[derive(Debug, Default)]
struct Ears {
    heard: Mutex<Heard>,
    news: Condvar,
}

/// What came over a stream.
#[derive(Debug, Default)]
struct Heard {
    /// When which address was said to have changed.
    updates: Vec<(Instant, String)>,
    /// Every message, as it came.
    messages: Vec<String>,
    over: bool,
}

/// What waiting for a notification ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// It came.
    Heard,
    /// The stream ended first.
    Over,
    /// Neither, for a long time.
    Silence,
    /// Whoever waited has lost interest.
    Enough,
}

/// What an attempt to listen came to: a stream, or the answer that kept it from opening. With it the calls that were
/// made, as the audit trail tells them, and whether each was answered.
pub struct Opening {
    /// The stream, or why there is none.
    pub outcome: Result<Listener, Answer>,
    /// Method, parameters and answer of each call.
    pub calls: Vec<(&'static str, Value, Answer)>,
}

impl Listener {
    /// Subscribes to one address.
    pub fn open(line: Line<'_>, uri: &str) -> Opening {
        match line.era {
            Era::Modern => modern(line, uri),
            Era::Legacy => legacy(line, uri),
        }
    }

    /// Waits until that address is said to have changed, after `since`. `enough` may end it sooner.
    pub fn wait(&self, uri: &str, since: Instant, enough: impl Fn() -> bool) -> Waited {
        let deadline = Instant::now() + PATIENCE;
        let mut heard = self.heard.heard.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if heard.updates.iter().any(|(at, known)| *at >= since && known == uri) {
                return Waited::Heard;
            }
            if heard.over {
                return Waited::Over;
            }
            if enough() {
                return Waited::Enough;
            }
            if Instant::now() >= deadline {
                return Waited::Silence;
            }
            // Woken by news; looks up from time to time to ask whether it is enough.
            let waited = self.heard.news.wait_timeout(heard, std::time::Duration::from_millis(20));
            heard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the stream ends. False if it does not.
    pub fn wait_for_end(&self) -> bool {
        self.wait("", Instant::now(), || false) == Waited::Over
    }

    /// Whether the stream has ended.
    pub fn is_over(&self) -> bool {
        self.heard.heard.lock().unwrap_or_else(PoisonError::into_inner).over
    }

    /// Every message so far, as it came.
    pub fn messages(&self) -> Vec<String> {
        self.heard.heard.lock().unwrap_or_else(PoisonError::into_inner).messages.clone()
    }

    /// How often any address was said to have changed after `since`.
    pub fn updates_since(&self, since: Instant) -> usize {
        let heard = self.heard.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.updates.iter().filter(|(at, _)| *at >= since).count()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The thread that reads ends with the socket.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// One request that is its own stream. It counts from the acknowledgement on.
fn modern(line: Line<'_>, uri: &str) -> Opening {
    let method = "subscriptions/listen";
    let params = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let opened = read_stream(line, line.request(method, &params));
    let (outcome, answer) = match opened {
        Err(answer) => (Err(answer.clone()), answer),
        Ok(listener) => match listener.first() {
            None => {
                let lost = Answer::Lost("the stream ended before its acknowledgement".to_owned());
                (Err(lost.clone()), lost)
            }
            Some(message) => {
                let accepted = message["params"]["notifications"]["resourceSubscriptions"].clone();
                if accepted == json!([uri]) {
                    (Ok(listener), Answer::Result(message))
                } else {
                    // What cannot be read now is left out of the acknowledgement.
                    (Err(Answer::Refused(message.clone())), Answer::Result(message))
                }
            }
        },
    };
    Opening { outcome, calls: vec![(method, params, answer)] }
}

/// A session, its stream, and a subscription in it.
fn legacy(line: Line<'_>, uri: &str) -> Opening {
    let opened = line.initialize();
    let Some(session) = opened.session else {
        return Opening { outcome: Err(opened.answer), calls: Vec::new() };
    };
    let line = Line { session: Some(&session), ..line };
    let listener = match read_stream(line, line.stream()) {
        Ok(listener) => listener,
        Err(answer) => {
            return Opening { outcome: Err(answer.clone()), calls: vec![("stream", json!({}), answer)] };
        }
    };
    let mut calls = vec![("stream", json!({}), Answer::Result(Value::Null))];
    let params = json!({"uri": uri});
    let answer = line.ask("resources/subscribe", &params).answer;
    calls.push(("resources/subscribe", params, answer.clone()));
    let outcome = if matches!(answer, Answer::Result(_)) { Ok(listener) } else { Err(answer) };
    Opening { outcome, calls }
}

/// Sends a request whose answer is a stream, and starts to read it.
fn read_stream(line: Line<'_>, request: crate::http::Request) -> Result<Listener, Answer> {
    let lost = |error: std::io::Error| Answer::Lost(error.to_string());
    let opened = HttpClient::new(&line.node.authority).open(&request).map_err(lost)?;
    if opened.status == 401 {
        return Err(Answer::Barred);
    }
    let mut body = opened.body;
    if opened.status != 200 {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut body, &mut text);
        let message: Value = serde_json::from_str(&text).unwrap_or_default();
        let envelope = [&message["error"]["data"], &message["error"], &message];
        let envelope = envelope.into_iter().find(|part| part["kind"].is_string()).cloned();
        return Err(match envelope {
            Some(envelope) if envelope["kind"] == "internal" => Answer::Faulty(envelope),
            Some(envelope) => Answer::Refused(envelope),
            None => Answer::Lost(format!("{} {text}", opened.status)),
        });
    }
    let socket = body.handle().map_err(lost)?;
    // Nothing may come for as long as nothing changes.
    socket.set_read_timeout(None).map_err(lost)?;
    let heard = Arc::new(Ears::default());
    let ears = heard.clone();
    std::thread::spawn(move || {
        while let Ok(Some(text)) = body.next_event() {
            let message: Value = serde_json::from_str(&text).unwrap_or_default();
            let mut heard = ears.heard.lock().unwrap_or_else(PoisonError::into_inner);
            if message["method"] == "notifications/resources/updated" {
                let uri = message["params"]["uri"].as_str().unwrap_or_default().to_owned();
                heard.updates.push((Instant::now(), uri));
            }
            heard.messages.push(text);
            ears.news.notify_all();
        }
        ears.heard.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        ears.news.notify_all();
    });
    Ok(Listener { heard, socket })
}

impl Listener {
    /// The first message, or nothing if the stream ends without one.
    fn first(&self) -> Option<Value> {
        let deadline = Instant::now() + PATIENCE;
        let mut heard = self.heard.heard.lock().unwrap_or_else(PoisonError::into_inner);
        while heard.messages.is_empty() {
            if heard.over || Instant::now() >= deadline {
                return None;
            }
            let waited = self.heard.news.wait_timeout(heard, PATIENCE);
            heard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        serde_json::from_str(&heard.messages[0]).ok()
    }
}
