//! Responses in a form that can be compared.

use serde_json::Value;

use super::fixture::Ids;
use crate::http::Response;

/// Headers that differ between any two responses.
const VARYING_HEADERS: [&str; 4] = ["date", "x-request-id", "quad-event", "quad-version"];

/// One response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalizedResponse {
    /// The status, and the code or the reason.
    pub outcome: String,
    /// The whole response without the varying headers.
    pub text: String,
}

/// The responses to an attack, in groups. All responses of a group must be equal.
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

    /// The outcome of something that is not an HTTP request.
    pub fn from_text(outcome: impl Into<String>, text: impl Into<String>) -> NormalizedResponse {
        NormalizedResponse { outcome: outcome.into(), text: text.into() }
    }

    /// The number of refusals in it; a batch may have several.
    pub fn refusal_count(&self) -> u64 {
        self.outcome.split('+').count() as u64
    }

    /// The response without the requested ids.
    pub fn masking(self, ids: &Ids) -> NormalizedResponse {
        NormalizedResponse { text: ids.mask(&self.text), ..self }
    }

    /// The response without another text that differs between the requests.
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

/// The code or the reason in a body: of an envelope, a protocol error or a tool result. The not-found codes of brain
/// and refrakt, one for each kind of entity, all become `NOT_FOUND`.
pub fn extract_code(body: &str) -> String {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return "-".to_owned() };
    // A batch: the codes of all its replies.
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
