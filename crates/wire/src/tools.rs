//! `tools/list` and `tools/call`.
//!
//! A failed call is a result, so that the model sees what went wrong; only what the client's program must notice (an
//! unknown tool, malformed parameters, over HTTP a missing scope) is a protocol error.

use quad_core::tool::{Block, Progress};
use quad_core::{Error, EventDraft, Json, Kind, Principal, Result, ToolOutput};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::blocks::block;
use crate::dispatch::Exchange;
use crate::params::{self, Params};
use crate::reply::{CacheHint, Reply};
use crate::{Endpoint, Fault, Revision, Transport};

/// Answers `tools/list`.
pub(crate) async fn list(exchange: &Exchange<'_>) -> Result<Vec<u8>> {
    params::no_cursor(exchange.params.cursor)?;
    let endpoint = exchange.endpoint;
    endpoint.resolver().note(exchange.caller, EventDraft::call(exchange.caller, "tools/list")).await?;
    let tools = endpoint.resolver().tools(exchange.caller, endpoint.view, endpoint.all_tools);
    let entries: Vec<Value> = tools
        .map(|tool| {
            let mut entry = tool.entry();
            // A client that was promised a structure would look for one.
            if let (false, Some(entry)) = (exchange.revision.has_structured_results(), entry.as_object_mut())
            {
                entry.remove("outputSchema");
            }
            entry
        })
        .collect();
    let reply = Reply::to(exchange.id, 1_024 * entries.len()).field("tools", &entries)?;
    Ok(reply.end(&endpoint.hub, exchange.revision, Some(CacheHint::NEVER)))
}

/// A `tools/call` that owns all it needs, so that it can outlive the request that brought it.
pub(crate) struct ToolCall {
    endpoint: Endpoint,
    caller: Principal,
    id: Box<RawValue>,
    revision: Revision,
    transport: Transport,
    name: String,
    arguments: Map<String, Value>,
}

impl ToolCall {
    /// Reads a call out of its parameters, and refuses a client that cannot do what the tool needs.
    pub(crate) fn read(exchange: &Exchange<'_>) -> Result<ToolCall, Fault> {
        let call = ToolCall::parse(exchange).map_err(|error| exchange.fault(error))?;
        if let Some(meta) = exchange.params.meta.as_ref().filter(|_| exchange.revision.is_modern()) {
            let needed = call.endpoint.resolver().client_capabilities(call.endpoint.view, &call.name);
            let missing: Vec<&str> =
                needed.iter().copied().filter(|needed| !meta.has_capability(needed)).collect();
            if !missing.is_empty() {
                return Err(Fault::missing_capability(&missing));
            }
        }
        Ok(call)
    }

    fn parse(exchange: &Exchange<'_>) -> Result<ToolCall> {
        let Params { name, arguments, .. } = exchange.params;
        Ok(ToolCall {
            endpoint: exchange.endpoint.clone(),
            caller: exchange.caller.clone(),
            id: exchange.id.to_owned(),
            revision: exchange.revision,
            transport: exchange.transport,
            name: params::text(*name, "name")?.into_owned(),
            arguments: params::object(*arguments, "arguments")?,
        })
    }

    /// Runs it, and gives the whole response.
    pub(crate) async fn run(self, progress: &dyn Progress) -> Result<Vec<u8>, Fault> {
        let resolver = self.endpoint.resolver();
        let called =
            resolver.call(&self.caller, self.endpoint.view, &self.name, self.arguments, progress).await;
        let written = match called {
            Ok(output) => write(&self.endpoint, &self.id, self.revision, &output, None),
            Err(error) if is_protocol_error(&error, self.transport) => Err(error),
            Err(error) => {
                let refusal = ToolOutput::structured(json!({"error": error.envelope()}));
                let output = ToolOutput { is_error: true, ..refusal };
                write(&self.endpoint, &self.id, self.revision, &output, Some(&error))
            }
        };
        written.map_err(|error| Fault::of(error, self.revision.era()))
    }
}

fn is_protocol_error(error: &Error, transport: Transport) -> bool {
    match error.kind() {
        Kind::Credential => true,
        Kind::Scope => transport == Transport::Http,
        _ => error.code() == "UNKNOWN_TOOL",
    }
}

fn write(
    endpoint: &Endpoint,
    id: &RawValue,
    revision: Revision,
    output: &ToolOutput,
    error: Option<&Error>,
) -> Result<Vec<u8>> {
    let has_text = output.blocks.iter().any(|block| matches!(block, Block::Text(_)));
    let said = output.structured.as_ref().filter(|_| !has_text);
    let shown = output.structured.as_ref().filter(|_| revision.has_structured_results());
    let blocks: Vec<Value> = output.blocks.iter().map(|given| block(given, revision)).collect();
    // A structure stands there twice: as data, and as text with its quotation marks escaped.
    let size = output.structured.as_ref().map_or(0, |structured| 5 * structured.as_str().len() / 2);
    let mut reply = Reply::to(id, 1_024 + size).content(said.map(Json::as_str), &blocks)?;
    if let Some(shown) = shown {
        reply = reply.written("structuredContent", shown);
    }
    let reply = reply.field("isError", &output.is_error)?;
    // One of the systems behind the schemes says its code in a result's `_meta`; its clients look there.
    let code = error.and_then(|error| error.get_fact("errorCode")).map(Value::to_string);
    let entries: Vec<_> = code.as_deref().map(|code| ("errorCode", code)).into_iter().collect();
    Ok(reply.end_with(&endpoint.hub, revision, None, &entries))
}
