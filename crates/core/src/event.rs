//! An audit event before it is appended to the chain.

use std::borrow::Cow;
use std::sync::Arc;

use crate::audit_fields::{AuditFields, AuditValue};
use crate::text::truncate;
use crate::{Error, Principal};

/// The action of every protocol call.
pub const MCP_CALL: &str = "agent.mcp.tool_called";

/// The part of an audit event that is known before the commit. The chain adds the id, the time and the
/// previous hash.
///
/// `inputs` and `outputs` hold names, ids and hashes, never contents.
#[derive(Clone, Debug)]
pub struct EventDraft {
    /// The layer that acted: `agent`, `ledger`, `identity`, ….
    pub layer: &'static str,
    /// `system_activity`, `assistant_activity` or `flagged`.
    pub event_type: &'static str,
    /// `info`, `warning` or `critical`.
    pub severity: &'static str,
    /// The subject that acted.
    pub actor: Arc<str>,
    /// The action.
    pub action: &'static str,
    /// What was asked for.
    pub inputs: AuditFields,
    /// What was returned.
    pub outputs: AuditFields,
    /// `ok`, `refused` or `failed`.
    pub outcome: Option<&'static str>,
}

impl EventDraft {
    /// A protocol call by `caller`. The first input is the method.
    pub fn call(caller: &Principal, method: &'static str) -> EventDraft {
        EventDraft::new(caller.subject.clone(), "agent", MCP_CALL).input("method", AuditValue::Static(method))
    }

    /// A protocol call whose method name is the caller's text and may be unknown.
    pub fn call_with_raw_method(caller: &Principal, method: &str) -> EventDraft {
        EventDraft::new(caller.subject.clone(), "agent", MCP_CALL).input("method", method)
    }

    /// An event outside a protocol call, such as a command or a start.
    pub fn system(layer: &'static str, action: &'static str, actor: &str) -> EventDraft {
        EventDraft::new(actor.into(), layer, action)
    }

    fn new(actor: Arc<str>, layer: &'static str, action: &'static str) -> EventDraft {
        EventDraft {
            layer,
            event_type: "system_activity",
            severity: "info",
            actor,
            action,
            inputs: AuditFields::default(),
            outputs: AuditFields::default(),
            outcome: None,
        }
    }

    /// Adds an input.
    pub fn input(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<AuditValue>) -> EventDraft {
        self.inputs.set(name, value);
        self
    }

    /// Adds an output.
    pub fn output(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<AuditValue>) -> EventDraft {
        self.outputs.set(name, value);
        self
    }

    /// Marks the event as successful.
    pub fn succeeded(mut self) -> EventDraft {
        self.outputs.set("ok", true);
        self.outcome = Some("ok");
        self
    }

    /// Marks the event with an error: `failed` for a fault of the server, else `refused`.
    pub fn failed(mut self, error: &Error) -> EventDraft {
        self.outputs.set("ok", false);
        self.outputs.set("error_code", error.code());
        self.outcome = Some(if error.is_server_fault() { "failed" } else { "refused" });
        if error.is_server_fault() {
            self.severity = "warning";
        }
        self
    }
}

/// Truncates text of a caller to the length that audit events keep.
pub fn truncate_for_audit(text: &str) -> Arc<str> {
    const MAX_CHARS: usize = 512;
    // A text of at most that many bytes has at most that many characters: no need to count them.
    if text.len() <= MAX_CHARS { text.into() } else { truncate(text, MAX_CHARS).into() }
}
