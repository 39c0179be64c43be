//! What came back, fit to be compared.

use serde_json::Value;

use super::house::Ids;
use crate::http::Response;

/// Headers that differ between any two answers.
const OF_THE_MOMENT: [&str; 4] = ["date", "x-request-id", "quad-event", "quad-version"];

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it says, in two words: the status, and the code or the reason.
    pub said: String,
    /// All of it, but for what differs between any two answers.
    pub bytes: String,
}

/// What came of a way: answers in groups, in each of which all must be equal.
pub struct Tried(pub Vec<Vec<Answer>>);

impl Answer {
    pub fn of(response: &Response) -> Answer {
        let mut headers: Vec<String> = response
            .headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .filter(|(name, _)| !OF_THE_MOMENT.contains(&name.as_str()))
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        headers.sort();
        let said = format!("{} {}", response.status, word(&response.text()));
        Answer { bytes: format!("{}\n{}\n\n{}", response.status, headers.join("\n"), response.text()), said }
    }

    /// Something else than an HTTP response.
    pub fn saying(said: impl Into<String>, bytes: impl Into<String>) -> Answer {
        Answer { said: said.into(), bytes: bytes.into() }
    }

    /// How many refusals it is: one, but for a batch.
    pub fn refusals(&self) -> u64 {
        self.said.split('+').count() as u64
    }

    /// The answer without the ids that were asked for.
    pub fn hiding(self, ids: &Ids) -> Answer {
        Answer { bytes: ids.hide(&self.bytes), ..self }
    }

    /// The answer without one more text that differs between what was asked.
    pub fn hiding_text(self, text: &str, name: &str) -> Answer {
        Answer { bytes: self.bytes.replace(text, name), ..self }
    }
}

impl From<Answer> for Tried {
    fn from(answer: Answer) -> Tried {
        Tried(vec![vec![answer]])
    }
}

impl From<Vec<Answer>> for Tried {
    fn from(group: Vec<Answer>) -> Tried {
        Tried(vec![group])
    }
}

/// The code or the reason in a body: of an envelope, of a protocol error or of a tool's result. What money has
/// not has a code for each of its nouns, as has a project's, and here one word for all.
pub fn word(body: &str) -> String {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return "-".to_owned() };
    // Of a batch, what its members say together.
    if let Some(replies) = body.as_array().filter(|replies| replies.iter().all(|r| r["jsonrpc"] == "2.0")) {
        return replies.iter().map(|reply| word(&reply.to_string())).collect::<Vec<_>>().join("+");
    }
    let places = ["", "/error/data", "/result/structuredContent/error", "/data"];
    let envelopes = places.iter().filter_map(|place| body.pointer(place));
    let has_own_codes =
        |envelope: &Value| envelope["brain_code"].is_string() || envelope["errorCode"].is_string();
    let mut said = envelopes.filter_map(|envelope| match &envelope["reason"] {
        Value::String(reason) => Some(reason.as_str()),
        _ if has_own_codes(envelope) && envelope["kind"] == "not_found" => Some("NOT_FOUND"),
        _ => envelope["code"].as_str(),
    });
    said.next().unwrap_or("ok").to_owned()
}
