//! The calls of a tenant's agents, counted for the final check of the audit log.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::canonical;

/// Identifies a call, as its audit event records it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    /// The agent.
    pub actor: String,
    /// The method.
    pub method: String,
    /// The URI, or the tool with the hash of its arguments; empty if there is neither.
    pub target: String,
}

impl CallKey {
    /// The key of a call with these parameters.
    pub fn from_request(actor: &str, method: &str, params: &Value) -> CallKey {
        let target = match method {
            "tools/call" => {
                let hash = canonical::sha256_hex(canonical::canonical_json(&params["arguments"]).as_bytes());
                format!("{} {hash}", params["name"].as_str().unwrap_or_default())
            }
            "resources/read" | "resources/subscribe" => params["uri"].as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        CallKey { actor: actor.to_owned(), method: method.to_owned(), target }
    }

    /// The key of the call that an audit event records.
    pub fn from_audit_record(record: &Value) -> CallKey {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let inputs = &record["inputs"];
        let method = text(&inputs["method"]);
        let target = match method.as_str() {
            "tools/call" => format!("{} {}", text(&inputs["tool"]), text(&inputs["args_hash"])),
            "resources/read" | "resources/subscribe" => text(&inputs["uri"]),
            _ => String::new(),
        };
        CallKey { actor: text(&record["actor"]), method, target }
    }
}

/// The outcomes of a call, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Succeeded.
    pub ok: usize,
    /// Rejected.
    pub rejected: usize,
    /// Without a reply, or with an internal error: it left at most one event.
    pub unknown: usize,
}

/// The receipt of a read.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The id of the event that recorded it.
    pub event_id: String,
    /// The sequence of the event, if the reply had it.
    pub sequence: Option<i64>,
    /// The hash of the contents, if the reply had it.
    pub content_hash: Option<String>,
    /// The URI.
    pub uri: String,
}

/// The expected events of one tenant's agents.
#[derive(Clone, Debug, Default)]
pub struct AuditExpectations {
    /// The counts of each call.
    pub calls: BTreeMap<CallKey, CallCounts>,
    /// The receipts of reads.
    pub receipts: Vec<Receipt>,
    /// The highest sequence in any reply. Later calls must have higher ones.
    pub last_sequence: i64,
}

impl AuditExpectations {
    /// The counts of a call, to be changed.
    pub fn counts_mut(&mut self, key: CallKey) -> &mut CallCounts {
        self.calls.entry(key).or_default()
    }

    /// The number of calls with a reply.
    pub fn answered_calls(&self) -> usize {
        self.calls.values().map(|counts| counts.ok + counts.rejected).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn call_key_matches_its_audit_record() {
        let arguments = json!({"tableId": "t", "data": {"b": 1, "a": 2}});
        let call_key =
            CallKey::from_request("writer", "tools/call", &json!({"name": "x", "arguments": arguments}));
        let hash = canonical::sha256_hex(br#"{"data":{"a":2,"b":1},"tableId":"t"}"#);
        let record = json!({"actor": "writer",
            "inputs": {"method": "tools/call", "tool": "x", "args_hash": hash}});
        assert_eq!(call_key, CallKey::from_audit_record(&record));
        let read_key = CallKey::from_request("reader", "resources/read", &json!({"uri": "bkend://orgs"}));
        let record =
            json!({"actor": "reader", "inputs": {"method": "resources/read", "uri": "bkend://orgs"}});
        assert_eq!(read_key, CallKey::from_audit_record(&record));
        assert_ne!(read_key, call_key);
    }
}
