//! `tools/list` and `tools/call`.
//!
//! A failed call is a result, so that the model sees what went wrong; only what the client's program must notice (an
//! unknown tool, malformed parameters, over HTTP a missing scope) is a protocol error.

use quad_core::tool::{ContentBlock, Progress};
use quad_core::{Error, EventDraft, JsonText, Kind, Principal, Result, ToolOutput};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::blocks::block_json;
use crate::dispatch::RequestContext;
use crate::params::{self, Params};
use crate::response_writer::{CacheHint, ResponseWriter};
use crate::{Endpoint, Revision, RpcError, Transport};

/// Answers `tools/list`.
pub(crate) async fn list(context: &RequestContext<'_>) -> Result<Vec<u8>> {
    params::reject_cursor(context.params.cursor)?;
    let endpoint = context.endpoint;
    endpoint
        .resolver()
        .record_success(context.caller, EventDraft::call(context.caller, "tools/list"))
        .await?;
    let tools = endpoint.resolver().tools(context.caller, endpoint.view, endpoint.all_tools);
    let entries: Vec<Value> = tools
        .map(|tool| {
            let mut entry = tool.to_json();
            // A client that was promised a structure would look for one.
            if let (false, Some(entry)) = (context.revision.has_structured_results(), entry.as_object_mut()) {
                entry.remove("outputSchema");
            }
            entry
        })
        .collect();
    let reply = ResponseWriter::new(context.id, 1_024 * entries.len()).field("tools", &entries)?;
    Ok(reply.finish(&endpoint.server, context.revision, Some(CacheHint::NEVER)))
}

/// A `tools/call` that owns all it needs, so that it can outlive the request that brought it.
pub(crate) struct OwnedToolCall {
    endpoint: Endpoint,
    caller: Principal,
    id: Box<RawValue>,
    revision: Revision,
    transport: Transport,
    name: String,
    arguments: Map<String, Value>,
}

impl OwnedToolCall {
    /// Reads a call out of its parameters, and refuses a client that cannot do what the tool needs.
    pub(crate) fn from_request(context: &RequestContext<'_>) -> Result<OwnedToolCall, RpcError> {
        let call = OwnedToolCall::parse(context).map_err(|error| context.rpc_error(error))?;
        if let Some(meta) = context.params.meta.as_ref().filter(|_| context.revision.is_modern()) {
            let required = call.endpoint.resolver().client_capabilities(call.endpoint.view, &call.name);
            let missing: Vec<&str> =
                required.iter().copied().filter(|capability| !meta.has_capability(capability)).collect();
            if !missing.is_empty() {
                return Err(RpcError::missing_capability(&missing));
            }
        }
        Ok(call)
    }

    fn parse(context: &RequestContext<'_>) -> Result<OwnedToolCall> {
        let Params { name, arguments, .. } = context.params;
        Ok(OwnedToolCall {
            endpoint: context.endpoint.clone(),
            caller: context.caller.clone(),
            id: context.id.to_owned(),
            revision: context.revision,
            transport: context.transport,
            name: params::required_str(*name, "name")?.into_owned(),
            arguments: params::object(*arguments, "arguments")?,
        })
    }

    /// Runs it, and gives the whole response.
    pub(crate) async fn run(self, progress: &dyn Progress) -> Result<Vec<u8>, RpcError> {
        let resolver = self.endpoint.resolver();
        let result =
            resolver.call_tool(&self.caller, self.endpoint.view, &self.name, self.arguments, progress).await;
        let response = match result {
            Ok(output) => write_response(&self.endpoint, &self.id, self.revision, &output, None),
            Err(error) if is_protocol_error(&error, self.transport) => Err(error),
            Err(error) => {
                let error_output = ToolOutput::structured(json!({"error": error.envelope()}));
                let output = ToolOutput { is_error: true, ..error_output };
                write_response(&self.endpoint, &self.id, self.revision, &output, Some(&error))
            }
        };
        response.map_err(|error| RpcError::from_error(error, self.revision.era()))
    }
}

fn is_protocol_error(error: &Error, transport: Transport) -> bool {
    match error.kind() {
        Kind::Credential => true,
        Kind::Scope => transport == Transport::Http,
        _ => error.code() == "UNKNOWN_TOOL",
    }
}

fn write_response(
    endpoint: &Endpoint,
    id: &RawValue,
    revision: Revision,
    output: &ToolOutput,
    error: Option<&Error>,
) -> Result<Vec<u8>> {
    let has_text = output.blocks.iter().any(|block| matches!(block, ContentBlock::Text(_)));
    let text_copy = output.structured.as_ref().filter(|_| !has_text);
    let structured = output.structured.as_ref().filter(|_| revision.has_structured_results());
    let blocks: Vec<Value> =
        output.blocks.iter().map(|content_block| block_json(content_block, revision)).collect();
    // A structure stands there twice: as data, and as text with its quotation marks escaped.
    let size = output.structured.as_ref().map_or(0, |structured| 5 * structured.as_str().len() / 2);
    let mut reply =
        ResponseWriter::new(id, 1_024 + size).content(text_copy.map(JsonText::as_str), &blocks)?;
    if let Some(structured) = structured {
        reply = reply.raw_field("structuredContent", structured);
    }
    let reply = reply.field("isError", &output.is_error)?;
    // One of the systems behind the schemes says its code in a result's `_meta`; its clients look there.
    let code = error.and_then(|error| error.detail("errorCode")).map(Value::to_string);
    let entries: Vec<_> = code.as_deref().map(|code| ("errorCode", code)).into_iter().collect();
    Ok(reply.finish_with_meta(&endpoint.server, revision, None, &entries))
}
