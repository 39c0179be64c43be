//! What came back, fit to be compared.

use serde_json::Value;

use super::fixture::Ids;
use crate::http::Response;

/// Headers that differ between any two answers.
const VARYING_HEADERS: [&str; 4] = ["date", "x-request-id", "quad-event", "quad-version"];

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalizedResponse {
    /// What it says, in two words: the status, and the code or the reason.
    pub outcome: String,
    /// All of it, but for what differs between any two answers.
    pub text: String,
}

/// What came of a way: answers in groups, in each of which all must be equal.
pub struct Responses(pub Vec<Vec<NormalizedResponse>>);

impl NormalizedResponse {
    pub fn from_response(response: &Response) -> NormalizedResponse {
        let mut headers: Vec<String> = response
            .headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .filter(|(name, _)| !VARYING_HEADERS.contains(&name.as_str()))
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        headers.sort();
        let outcome = format!("{} {}", response.status, extract_code(&response.text()));
        NormalizedResponse {
            text: format!("{}\n{}\n\n{}", response.status, headers.join("\n"), response.text()),
            outcome,
        }
    }

    /// Something else than an HTTP response.
    pub fn from_text(outcome: impl Into<String>, text: impl Into<String>) -> NormalizedResponse {
        NormalizedResponse { outcome: outcome.into(), text: text.into() }
    }

    /// How many refusals it is: one, but for a batch.
    pub fn refusal_count(&self) -> u64 {
        self.outcome.split('+').count() as u64
    }

    /// The answer without the ids that were asked for.
    pub fn masking(self, ids: &Ids) -> NormalizedResponse {
        NormalizedResponse { text: ids.mask(&self.text), ..self }
    }

    /// The answer without one more text that differs between what was asked.
    pub fn masking_text(self, text: &str, name: &str) -> NormalizedResponse {
        NormalizedResponse { text: self.text.replace(text, name), ..self }
    }
}

impl From<NormalizedResponse> for Responses {
    fn from(answer: NormalizedResponse) -> Responses {
        Responses(vec![vec![answer]])
    }
}

impl From<Vec<NormalizedResponse>> for Responses {
    fn from(group: Vec<NormalizedResponse>) -> Responses {
        Responses(vec![group])
    }
}

/// The code or the reason in a body: of an envelope, of a protocol error or of a tool's result. What money has
/// not has a code for each of its nouns, as has a project's, and here one word for all.
pub fn extract_code(body: &str) -> String {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return "-".to_owned() };
    // Of a batch, what its members say together.
    if let Some(replies) = body.as_array().filter(|replies| replies.iter().all(|r| r["jsonrpc"] == "2.0")) {
        return replies.iter().map(|reply| extract_code(&reply.to_string())).collect::<Vec<_>>().join("+");
    }
    let pointers = ["", "/error/data", "/result/structuredContent/error", "/data"];
    let envelopes = pointers.iter().filter_map(|pointer| body.pointer(pointer));
    let has_own_codes =
        |envelope: &Value| envelope["brain_code"].is_string() || envelope["errorCode"].is_string();
    let mut codes = envelopes.filter_map(|envelope| match &envelope["reason"] {
        Value::String(reason) => Some(reason.as_str()),
        _ if has_own_codes(envelope) && envelope["kind"] == "not_found" => Some("NOT_FOUND"),
        _ => envelope["code"].as_str(),
    });
    codes.next().unwrap_or("ok").to_owned()
}
