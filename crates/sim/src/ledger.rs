//! The calls of a tenant's agents, counted, to be held against the audit trail at the end.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::canonical;

/// What a call asked for, as its audit event tells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deed {
    /// Who.
    pub actor: String,
    /// The method.
    pub method: String,
    /// The address, or the tool and the hash of its arguments; empty where there is neither.
    pub target: String,
}

impl Deed {
    /// A call with these parameters.
    pub fn of(actor: &str, method: &str, params: &Value) -> Deed {
        let target = match method {
            "tools/call" => {
                let hash = canonical::sha256_hex(canonical::to_string(&params["arguments"]).as_bytes());
                format!("{} {hash}", params["name"].as_str().unwrap_or_default())
            }
            "resources/read" | "resources/subscribe" => params["uri"].as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        Deed { actor: actor.to_owned(), method: method.to_owned(), target }
    }

    /// The call that an audit event records.
    pub fn recorded(record: &Value) -> Deed {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let inputs = &record["inputs"];
        let method = text(&inputs["method"]);
        let target = match method.as_str() {
            "tools/call" => format!("{} {}", text(&inputs["tool"]), text(&inputs["args_hash"])),
            "resources/read" | "resources/subscribe" => text(&inputs["uri"]),
            _ => String::new(),
        };
        Deed { actor: text(&record["actor"]), method, target }
    }
}

/// How often a call was answered, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Answered with what was asked for.
    pub ok: usize,
    /// Refused.
    pub refused: usize,
    /// Never answered, or with a fault of the server's own: it left one event or none.
    pub unknown: usize,
}

/// The proof of a read that came with its answer.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The event that recorded it.
    pub event: String,
    /// Its place, where the answer told it.
    pub sequence: Option<i64>,
    /// What was shown, where the answer told it.
    pub content_hash: Option<String>,
    /// The address.
    pub uri: String,
}

/// Every call of one tenant's agents.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// How often each was made.
    pub deeds: BTreeMap<Deed, Count>,
    /// The proofs of reads.
    pub receipts: Vec<Receipt>,
    /// The last place in the chain of which an answer told: what is asked later comes later.
    pub sequence: i64,
}

impl Ledger {
    /// The count of a call.
    pub fn count(&mut self, deed: Deed) -> &mut Count {
        self.deeds.entry(deed).or_default()
    }

    /// How many calls were answered.
    pub fn answered(&self) -> usize {
        self.deeds.values().map(|count| count.ok + count.refused).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_and_its_event_are_one_deed() {
        let arguments = json!({"tableId": "t", "data": {"b": 1, "a": 2}});
        let asked = Deed::of("writer", "tools/call", &json!({"name": "x", "arguments": arguments}));
        let hash = canonical::sha256_hex(br#"{"data":{"a":2,"b":1},"tableId":"t"}"#);
        let record = json!({"actor": "writer",
            "inputs": {"method": "tools/call", "tool": "x", "args_hash": hash}});
        assert_eq!(asked, Deed::recorded(&record));
        let read = Deed::of("reader", "resources/read", &json!({"uri": "bkend://orgs"}));
        let record =
            json!({"actor": "reader", "inputs": {"method": "resources/read", "uri": "bkend://orgs"}});
        assert_eq!(read, Deed::recorded(&record));
        assert_ne!(read, asked);
    }
}
