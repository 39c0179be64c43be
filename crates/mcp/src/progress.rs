//! Progress of one tool call, as notifications.

use std::sync::Mutex;

use quad_core::lock::MutexExt as _;
use quad_core::tool::Progress;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Turns the progress that a tool reports into notifications with the caller's token.
pub(crate) struct ProgressMessages {
    token: Box<RawValue>,
    messages: mpsc::Sender<Vec<u8>>,
    last_value: Mutex<f64>,
}

impl ProgressMessages {
    /// Sends notifications with `token` to `messages`.
    pub(crate) fn new(token: Box<RawValue>, messages: mpsc::Sender<Vec<u8>>) -> ProgressMessages {
        ProgressMessages { token, messages, last_value: Mutex::new(f64::NEG_INFINITY) }
    }
}

impl Progress for ProgressMessages {
    fn report(&self, done: f64, total: Option<f64>, message: &str) {
        // The protocol requires increasing values, and JSON has no NaN or infinity. Other values are dropped.
        let mut last_value = self.last_value.lock_unpoisoned();
        if !done.is_finite() || done <= *last_value {
            return;
        }
        *last_value = done;
        let mut fields = json!({"progress": json_number(done)});
        if let Some(fields) = fields.as_object_mut() {
            if let Some(total) = total.filter(|total| total.is_finite()) {
                fields.insert("total".into(), json_number(total));
            }
            if !message.is_empty() {
                fields.insert("message".into(), message.into());
            }
        }
        let fields = fields.to_string();
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},{}}}"#,
            self.token.get(),
            &fields[1..],
        );
        // A tool does not wait for a slow reader: progress that does not fit is dropped. The result is never dropped.
        let _ = self.messages.try_send(text.into_bytes());
    }
}

/// A whole number as an integer, any other as a float.
fn json_number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { Value::from(value as i64) } else { Value::from(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_drops_non_increasing_values() {
        let (sender, mut receiver) = mpsc::channel(8);
        let token = RawValue::from_string("\"t\"".to_owned()).unwrap();
        let progress = ProgressMessages::new(token, sender);
        progress.report(0.0, Some(2.0), "");
        progress.report(0.0, None, "again");
        progress.report(f64::NAN, None, "");
        progress.report(1.5, None, "half");
        let mut next =
            || receiver.try_recv().ok().map(|text| serde_json::from_slice::<Value>(&text).unwrap());
        let first = next().unwrap();
        assert_eq!(first["params"], json!({"progressToken": "t", "progress": 0, "total": 2}));
        assert_eq!(
            next().unwrap()["params"],
            json!({"progressToken": "t", "progress": 1.5, "message": "half"})
        );
        assert!(next().is_none());
    }
}
