//! The calls of a tenant's agents, counted, to be held against the audit trail at the end.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::canonical;

/// What a call asked for, as its audit event tells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    /// Who.
    pub actor: String,
    /// The method.
    pub method: String,
    /// The address, or the tool and the hash of its arguments; empty where there is neither.
    pub target: String,
}

impl CallKey {
    /// A call with these parameters.
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

    /// The call that an audit event records.
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

/// How often a call was answered, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Answered with what was asked for.
    pub ok: usize,
    /// Refused.
    pub rejected: usize,
    /// Never answered, or with a fault of the server's own: it left one event or none.
    pub unknown: usize,
}

/// The proof of a read that came with its answer.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The event that recorded it.
    pub event_id: String,
    /// Its place, where the answer told it.
    pub sequence: Option<i64>,
    /// What was shown, where the answer told it.
    pub content_hash: Option<String>,
    /// The address.
    pub uri: String,
}

/// Every call of one tenant's agents.
#[derive(Clone, Debug, Default)]
pub struct AuditExpectations {
    /// How often each was made.
    pub calls: BTreeMap<CallKey, CallCounts>,
    /// The proofs of reads.
    pub receipts: Vec<Receipt>,
    /// The last place in the chain of which an answer told: what is asked later comes later.
    pub last_sequence: i64,
}

impl AuditExpectations {
    /// The count of a call.
    pub fn counts_mut(&mut self, key: CallKey) -> &mut CallCounts {
        self.calls.entry(key).or_default()
    }

    /// How many calls were answered.
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
