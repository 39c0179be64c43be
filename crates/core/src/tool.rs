//! Tools: what a caller can do, as a scheme declares it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::text::truncate;
use crate::{Content, Error, EventDraft, JsonText, Principal, ReadSet, Receipt, Result, ScopeRequirement};

/// A tool as published.
#[derive(Debug)]
pub struct Tool {
    /// Its name; 1 to 64 of `[A-Za-z0-9_.-]`.
    pub name: &'static str,
    /// A short name for people.
    pub title: &'static str,
    /// What it does, for the agent that chooses.
    pub description: &'static str,
    /// The JSON Schema of its arguments; the root is an object.
    pub input_schema: Value,
    /// The JSON Schema of `structuredContent`, where the shape is fixed.
    pub output_schema: Option<Value>,
    /// What the caller must hold.
    pub required_scope: ScopeRequirement,
    /// What it does to the world.
    pub effect: ToolEffect,
    /// Whether it stands in the short list that an agent sees unless it asks for all.
    pub core: bool,
}

/// What a tool does to the world; becomes the protocol's hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// Nothing.
    Reads,
    /// Adds something.
    Creates,
    /// Changes something; doing it twice is doing it once.
    Updates,
    /// Takes something away.
    Deletes,
}

impl Tool {
    /// A tool outside the short list, whose result has no published schema.
    pub fn new(
        name: &'static str,
        title: &'static str,
        description: &'static str,
        input_schema: Value,
        required_scope: ScopeRequirement,
        effect: ToolEffect,
    ) -> Tool {
        Tool {
            name,
            title,
            description,
            input_schema,
            output_schema: None,
            required_scope,
            effect,
            core: false,
        }
    }

    /// The entry in `tools/list`.
    pub fn to_json(&self) -> Value {
        let mut entry = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.effect == ToolEffect::Reads,
                "destructiveHint": self.effect == ToolEffect::Deletes,
                "idempotentHint": matches!(self.effect, ToolEffect::Reads | ToolEffect::Updates),
                "openWorldHint": false,
            },
        });
        if let (Some(schema), Some(entry)) = (&self.output_schema, entry.as_object_mut()) {
            entry.insert("outputSchema".into(), schema.clone());
        }
        entry
    }
}

/// A call of a tool, its arguments already checked against the published schema and the caller's scopes.
pub struct ToolCall<'a> {
    /// Who calls.
    pub caller: &'a Principal,
    /// Which tool.
    pub tool: &'a Tool,
    /// Its index in [`Scheme::tools`](crate::Scheme::tools).
    pub index: usize,
    /// With what.
    pub arguments: Map<String, Value>,
    /// The audit event of this call. A tool that writes hands it to its transaction; see [`ToolResult`].
    pub event: EventDraft,
    /// Where to say how far it is.
    pub progress: &'a dyn Progress,
}

/// Somebody who wants to know how far a long call is.
pub trait Progress: Send + Sync {
    /// So much of so much is done. Values must increase.
    fn report(&self, done: f64, total: Option<f64>, message: &str);
}

/// Nobody wants to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _done: f64, _total: Option<f64>, _message: &str) {}
}

/// What came of a call, and whether it has been written down already.
#[derive(Debug)]
pub struct ToolResult {
    /// What the caller gets.
    pub output: ToolOutput,
    /// How the audit event stands.
    pub audit: AuditStatus,
}

/// How a call's audit event stands when the scheme returns.
#[derive(Debug)]
pub enum AuditStatus {
    /// Written in the transaction that did the work.
    Committed(Receipt),
    /// Nothing was changed: the resolver writes the event, provided that this basis still holds.
    Pending(ReadSet),
}

impl ToolResult {
    /// A call that only read.
    pub fn read_only(output: ToolOutput, read_set: ReadSet) -> ToolResult {
        ToolResult { output, audit: AuditStatus::Pending(read_set) }
    }

    /// A call that wrote, with the receipt of its transaction.
    pub fn committed(output: ToolOutput, receipt: Receipt) -> ToolResult {
        ToolResult { output, audit: AuditStatus::Committed(receipt) }
    }
}

/// What a tool returns.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// The result as data.
    pub structured: Option<JsonText>,
    /// The result as blocks. Where none of them is text, the structured result is also sent as one, before the others.
    pub blocks: Vec<ContentBlock>,
    /// Set by the few tools whose failure is itself a result.
    pub is_error: bool,
}

impl ToolOutput {
    /// A result as data; the text block is made from it.
    pub fn structured(value: impl Into<JsonText>) -> ToolOutput {
        ToolOutput { structured: Some(value.into()), ..ToolOutput::default() }
    }

    /// The result as data, for those who look into it.
    pub fn structured_value(&self) -> Option<Value> {
        self.structured.as_ref().map(JsonText::parse)
    }

    /// Adds a link to an address that the result is about.
    pub fn with_link(mut self, uri: impl Into<String>, name: impl Into<String>) -> ToolOutput {
        self.blocks.push(ContentBlock::Link {
            uri: uri.into(),
            name: name.into(),
            mime_type: Some(Cow::Borrowed("application/json")),
        });
        self
    }
}

/// A block of a tool's result or of a prompt's message.
#[derive(Clone, Debug)]
pub enum ContentBlock {
    /// Text.
    Text(String),
    /// A picture, as base64.
    Image {
        /// Base64.
        data: String,
        /// Its media type.
        mime_type: Cow<'static, str>,
    },
    /// A sound, as base64.
    Audio {
        /// Base64.
        data: String,
        /// Its media type.
        mime_type: Cow<'static, str>,
    },
    /// A pointer to an address.
    Link {
        /// The address.
        uri: String,
        /// Its name.
        name: String,
        /// Its media type, if it has one.
        mime_type: Option<Cow<'static, str>>,
    },
    /// Contents, in place.
    Embedded {
        /// The address.
        uri: String,
        /// What is there.
        content: Content,
    },
}

/// Checks arguments against a published schema, naming every fault by its place.
pub fn validate_arguments(schema: &jsonschema::Validator, arguments: &Value) -> Result<()> {
    let errors: Vec<Value> = schema
        .iter_errors(arguments)
        .take(ERRORS_REPORTED_MAX)
        .map(|error| {
            let path = error.instance_path().to_string();
            json!({"field": path.trim_start_matches('/').replace('/', "."), "reason": truncate(&error.to_string(), REASON_CHARS_MAX)})
        })
        .collect();
    let Some(first) = errors.first() else { return Ok(()) };
    let field = first["field"].as_str().unwrap_or_default();
    let reason = first["reason"].as_str().unwrap_or_default();
    let message = if field.is_empty() { reason.to_owned() } else { format!("{field}: {reason}") };
    Err(Error::bad_input(message)
        .hint("The tool's inputSchema in tools/list says what it takes")
        .with_detail("details", errors))
}

/// Faults that one refusal names; more would bury the first.
const ERRORS_REPORTED_MAX: usize = 8;

/// Characters of one violation. The validator quotes the value, which may be a megabyte long.
const REASON_CHARS_MAX: usize = 200;
