//! Tools: what a caller can do, declared by a scheme.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::{Content, EventDraft, JsonText, Principal, ReadSet, Receipt, ScopeRequirement};

/// A tool as published.
#[derive(Debug)]
pub struct Tool {
    /// The name that every model API accepts: 1 to 64 of `[A-Za-z0-9_-]`.
    pub name: &'static str,
    /// The name in seed 000 and in the original of `refrakt://`, where it has dots. Calls accept both.
    pub dotted_name: Option<&'static str>,
    /// A short title for people.
    pub title: &'static str,
    /// What it does, so that an agent can choose.
    pub description: &'static str,
    /// The JSON Schema of the arguments. The root is an object.
    pub input_schema: Value,
    /// The JSON Schema of `structuredContent`. It also admits `{error}`; see [`tool_schema::result`].
    ///
    /// [`tool_schema::result`]: crate::tool_schema::result
    pub output_schema: Option<Value>,
    /// The arguments of an example call. They match the input schema. Errors and the command line show them.
    pub example: Value,
    /// Other names of arguments that callers send, each with the right name. Callers also get the synonyms
    /// that all tools share.
    pub argument_aliases: &'static [(&'static str, &'static str)],
    /// Arguments whose type the handler checks itself, because it accepts more forms than the schema publishes:
    /// a model API takes one type for each argument.
    pub unchecked_arguments: &'static [&'static str],
    /// Arguments that the tool accepts and the schema does not publish: forms that existing clients send. The
    /// handler checks them.
    pub unpublished_arguments: &'static [&'static str],
    /// An argument that may hold the others, for clients that send them in an object. The schema does not publish it.
    pub wrapper_argument: Option<&'static str>,
    /// Whether results carry stored text: rows, memories, statements, pages. A model must not take it for
    /// instructions, so the result says so.
    pub returns_stored_text: bool,
    /// The scope that a caller needs.
    pub required_scope: ScopeRequirement,
    /// Its effect on stored data.
    pub effect: ToolEffect,
    /// Whether it is in the core profile, which `tools/list` shows by default.
    pub core: bool,
}

/// The effect of a tool. Published as the protocol's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// Changes nothing.
    Reads,
    /// Creates something. A second call creates another one.
    Creates,
    /// Changes something. A second call changes nothing more.
    Updates,
    /// Deletes something.
    Deletes,
}

impl Tool {
    /// A tool outside the core profile, without an output schema.
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
            dotted_name: None,
            title,
            description,
            input_schema,
            output_schema: None,
            example: json!({}),
            argument_aliases: &[],
            unchecked_arguments: &[],
            unpublished_arguments: &[],
            wrapper_argument: None,
            returns_stored_text: false,
            required_scope,
            effect,
            core: false,
        }
    }

    /// Sets the name with dots, for a tool whose original has one.
    pub fn dotted(mut self, name: &'static str) -> Tool {
        self.dotted_name = Some(name);
        self
    }

    /// Sets the schema of the result; see [`tool_schema::result`](crate::tool_schema::result).
    pub fn output(mut self, schema: Value) -> Tool {
        self.output_schema = Some(schema);
        self
    }

    /// Sets the arguments of an example call.
    pub fn example(mut self, arguments: Value) -> Tool {
        self.example = arguments;
        self
    }

    /// Accepts other names of arguments: pairs of another name and the right one.
    pub fn aliases(mut self, aliases: &'static [(&'static str, &'static str)]) -> Tool {
        self.argument_aliases = aliases;
        self
    }

    /// Leaves the check of these arguments to the handler.
    pub fn unchecked(mut self, names: &'static [&'static str]) -> Tool {
        self.unchecked_arguments = names;
        self
    }

    /// Accepts arguments that the schema does not publish.
    pub fn unpublished(mut self, names: &'static [&'static str]) -> Tool {
        self.unpublished_arguments = names;
        self
    }

    /// Accepts the arguments inside this one, too.
    pub fn wrapper(mut self, name: &'static str) -> Tool {
        self.wrapper_argument = Some(name);
        self
    }

    /// Marks the results as stored text.
    pub fn with_stored_text(mut self) -> Tool {
        self.returns_stored_text = true;
        self
    }

    /// The entry in `tools/list`.
    pub fn to_json(&self) -> Value {
        let mut entry = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": published_schema(&self.input_schema),
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

/// The schema that a caller sees. Model APIs take one type for each argument, so `["string", "null"]` is published as
/// `string`; calls are checked against the schema as declared.
fn published_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let types = if name == "type" { value.as_array() } else { None };
                let shown = types.and_then(|types| types.iter().find(|name| *name != "null"));
                (name.clone(), shown.map_or_else(|| published_schema(value), Value::clone))
            })
            .collect(),
        Value::Array(items) => items.iter().map(published_schema).collect(),
        other => other.clone(),
    }
}

/// A call of a tool. The caller's scopes and the arguments have been checked.
pub struct ToolCall<'a> {
    /// The caller.
    pub caller: &'a Principal,
    /// The tool.
    pub tool: &'a Tool,
    /// Its index in [`Scheme::tools`](crate::Scheme::tools).
    pub index: usize,
    /// The arguments. They match the input schema.
    pub arguments: Map<String, Value>,
    /// The audit event of this call. A tool that writes passes it to its transaction; see [`ToolResult`].
    pub event: EventDraft,
    /// Receives the progress of a long call.
    pub progress: &'a dyn Progress,
}

/// Receives the progress of a long call.
pub trait Progress: Send + Sync {
    /// Reports that `done` of `total` is complete. `done` must increase from report to report.
    fn report(&self, done: f64, total: Option<f64>, message: &str);
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&self, _done: f64, _total: Option<f64>, _message: &str) {}
}

/// The result of a call, and the state of its audit event.
#[derive(Debug)]
pub struct ToolResult {
    /// The output for the caller.
    pub output: ToolOutput,
    /// The state of the audit event.
    pub audit: AuditStatus,
}

/// The state of a call's audit event when the scheme returns.
#[derive(Debug)]
pub enum AuditStatus {
    /// Appended in the transaction of the tool's write.
    Committed(Receipt),
    /// The tool wrote nothing: the resolver appends the event if this read set is current.
    Pending(ReadSet),
}

impl ToolResult {
    /// The result of a call that wrote nothing.
    pub fn read_only(output: ToolOutput, read_set: ReadSet) -> ToolResult {
        ToolResult { output, audit: AuditStatus::Pending(read_set) }
    }

    /// The result of a call that wrote, with the receipt of its transaction.
    pub fn committed(output: ToolOutput, receipt: Receipt) -> ToolResult {
        ToolResult { output, audit: AuditStatus::Committed(receipt) }
    }
}

/// What a tool returns.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput {
    /// The result as data.
    pub structured: Option<JsonText>,
    /// The result as blocks. If none of them is text, the structured result is also sent as a text block
    /// before them.
    pub blocks: Vec<ContentBlock>,
    /// Whether the output reports a failure. Set by the few tools whose failure has its own output.
    pub is_error: bool,
    /// Whether the output carries stored text. Set by the resolver from [`Tool::returns_stored_text`].
    pub has_stored_text: bool,
}

impl ToolOutput {
    /// A result as data. The reply's text block is made from it.
    pub fn structured(value: impl Into<JsonText>) -> ToolOutput {
        ToolOutput { structured: Some(value.into()), ..ToolOutput::default() }
    }

    /// The result as data, parsed.
    pub fn structured_value(&self) -> Option<Value> {
        self.structured.as_ref().map(JsonText::parse)
    }

    /// Adds a link to an address.
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
    /// An image, as base64.
    Image {
        /// The base64 text.
        data: String,
        /// The media type.
        mime_type: Cow<'static, str>,
    },
    /// A sound, as base64.
    Audio {
        /// The base64 text.
        data: String,
        /// The media type.
        mime_type: Cow<'static, str>,
    },
    /// A link to an address.
    Link {
        /// The address.
        uri: String,
        /// The name.
        name: String,
        /// The media type, if known.
        mime_type: Option<Cow<'static, str>>,
    },
    /// Embedded contents.
    Embedded {
        /// The address.
        uri: String,
        /// The contents.
        content: Content,
    },
}
