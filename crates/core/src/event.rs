//! What will be written of a call: an audit event before it has its place in the chain.

use serde_json::{Map, Value};

use crate::{Error, Principal};

/// The action of every protocol call.
pub const MCP_CALL: &str = "agent.mcp.tool_called";

/// The part of an audit event that is known before the commit. The chain adds id, time and the previous hash.
///
/// `inputs` and `outputs` hold names, ids and hashes, never contents.
#[derive(Clone, Debug)]
pub struct EventDraft {
    /// Which layer acted: `agent`, `ledger`, `identity`, ….
    pub layer: &'static str,
    /// `system_activity`, `assistant_activity` or `flagged`.
    pub event_type: &'static str,
    /// `info`, `warning` or `critical`.
    pub severity: &'static str,
    /// The subject that acted.
    pub actor: String,
    /// What it did.
    pub action: &'static str,
    /// What it asked for.
    pub inputs: Map<String, Value>,
    /// What it got.
    pub outputs: Map<String, Value>,
    /// `ok`, `refused` or `failed`.
    pub outcome: Option<&'static str>,
}

impl EventDraft {
    /// A protocol call by `caller`; `inputs` starts with the method.
    pub fn call(caller: &Principal, method: &str) -> EventDraft {
        let mut draft = EventDraft::system("agent", MCP_CALL, &caller.subject);
        draft.inputs.insert("method".into(), method.into());
        draft
    }

    /// Something that happened outside a protocol call: a command, a start.
    pub fn system(layer: &'static str, action: &'static str, actor: &str) -> EventDraft {
        EventDraft {
            layer,
            event_type: "system_activity",
            severity: "info",
            actor: actor.to_owned(),
            action,
            inputs: Map::new(),
            outputs: Map::new(),
            outcome: None,
        }
    }

    /// Adds an input.
    pub fn input(mut self, name: &str, value: impl Into<Value>) -> EventDraft {
        self.inputs.insert(name.to_owned(), value.into());
        self
    }

    /// Adds an output.
    pub fn output(mut self, name: &str, value: impl Into<Value>) -> EventDraft {
        self.outputs.insert(name.to_owned(), value.into());
        self
    }

    /// It went well.
    pub fn succeeded(mut self) -> EventDraft {
        self.outputs.insert("ok".into(), true.into());
        self.outcome = Some("ok");
        self
    }

    /// It did not: refused for the caller's sake, or failed for ours.
    pub fn failed(mut self, error: &Error) -> EventDraft {
        self.outputs.insert("ok".into(), false.into());
        self.outputs.insert("error_code".into(), error.code().into());
        let ours = error.kind() == crate::Kind::Internal;
        self.outcome = Some(if ours { "failed" } else { "refused" });
        if ours {
            self.severity = "warning";
        }
        self
    }
}
