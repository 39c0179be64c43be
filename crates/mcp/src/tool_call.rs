//! `tools/call`, for every transport.
//!
//! A failed call is a result with `isError`, so that the model sees what went wrong. Only what the client's program
//! must notice is a protocol error: an unknown tool, malformed params and, over HTTP, a missing scope. On the endpoint of
//! `refrakt://` an unknown tool is a result too, as in the original.

use futures_util::stream;
use quad_core::tool::{ContentBlock, NoProgress, Progress};
use quad_core::{BoxFuture, Error, JsonText, Kind, Principal, Result, ToolOutput};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tracing::Instrument as _;

use crate::blocks::block_json;
use crate::dispatch::{Reply, RequestContext};
use crate::http_post::{Failure, Outcome, StreamFailure};
use crate::params::{self, Params};
use crate::progress::ProgressMessages;
use crate::response_writer::{ResponseWriter, STORED_TEXT_KEY};
use crate::{Endpoint, Era, Revision, RpcError, Transport, limits};

/// The response of a running call.
type CallFuture = BoxFuture<'static, Result<CallResponse, RpcError>>;

/// The response of a call, and how the call failed if it did.
struct CallResponse {
    json: Vec<u8>,
    failure: Option<Failure>,
}

impl CallResponse {
    fn into_reply(self) -> Reply {
        match self.failure {
            None => Reply::Message(self.json),
            Some(failure) => Reply::FailedCall(self.json, failure),
        }
    }
}

/// Answers `tools/call`: with one response or, if the call reports progress before it is done, with a stream.
pub(crate) async fn handle(context: &RequestContext<'_>) -> Result<Reply, RpcError> {
    let call = OwnedToolCall::from_request(context)?;
    // A legacy client that loses its connection has not cancelled its call, so the work goes on. On stdio the process
    // ends with its client, and a cancelled call must stop.
    let outlives_connection = context.transport == Transport::Http && !context.revision.is_modern();
    let Some(token) = context.params.progress_token() else {
        let response = if outlives_connection {
            detach(Box::pin(async move { call.run(&NoProgress).await })).await
        } else {
            call.run(&NoProgress).await
        };
        return response.map(CallResponse::into_reply);
    };
    let (sender, mut progress_messages) = mpsc::channel(limits::PROGRESS_QUEUED);
    let progress = ProgressMessages::new(token.to_owned(), sender);
    let mut call_future: CallFuture = Box::pin(async move { call.run(&progress).await });
    if outlives_connection {
        call_future = detach(call_future);
    }
    let (first, state) = tokio::select! {
        biased;
        Some(first) = progress_messages.recv() => (first, CallState::Running(call_future)),
        result = &mut call_future => match (progress_messages.try_recv(), result) {
            (Ok(first), result) => (first, CallState::Done(result)),
            (Err(_), result) => return result.map(CallResponse::into_reply),
        },
    };
    let failure = StreamFailure::default();
    let running_call = RunningCall {
        id: context.id.to_owned(),
        first: Some(first),
        progress_messages,
        state,
        failure: failure.clone(),
    };
    Ok(Reply::Stream(Box::pin(stream::unfold(running_call, RunningCall::next)), failure))
}

/// Runs a call as a task of its own, which goes on when the returned future is dropped.
fn detach(call_future: CallFuture) -> CallFuture {
    Box::pin(async move {
        match tokio::spawn(call_future.in_current_span()).await {
            Ok(result) => result,
            Err(join_error) => Err(RpcError::from_error(Error::internal(join_error), Era::Legacy)),
        }
    })
}

/// A call that has reported progress: its messages so far, then its response.
struct RunningCall {
    id: Box<RawValue>,
    first: Option<Vec<u8>>,
    progress_messages: mpsc::Receiver<Vec<u8>>,
    state: CallState,
    /// Set when the call has failed.
    failure: StreamFailure,
}

enum CallState {
    Running(CallFuture),
    Done(Result<CallResponse, RpcError>),
    Closed,
}

impl RunningCall {
    async fn next(mut self) -> Option<(Vec<u8>, RunningCall)> {
        if let Some(first) = self.first.take() {
            return Some((first, self));
        }
        if let CallState::Running(call_future) = &mut self.state {
            tokio::select! {
                biased;
                Some(progress_message) = self.progress_messages.recv() => return Some((progress_message, self)),
                result = call_future => self.state = CallState::Done(result),
            }
        }
        if let Ok(progress_message) = self.progress_messages.try_recv() {
            return Some((progress_message, self));
        }
        match std::mem::replace(&mut self.state, CallState::Closed) {
            CallState::Done(Ok(CallResponse { json, failure })) => {
                if let Some(failure) = failure {
                    let _ = self.failure.set(failure);
                }
                Some((json, self))
            }
            // The HTTP status has been sent already, so the error can only be a message.
            CallState::Done(Err(rpc_error)) => {
                let _ = self.failure.set(Failure::of(&rpc_error.error));
                Some((rpc_error.to_json(Some(&self.id)), self))
            }
            CallState::Running(_) | CallState::Closed => None,
        }
    }
}

/// A `tools/call` that owns its parts, so that it can outlive its request.
struct OwnedToolCall {
    endpoint: Endpoint,
    caller: Principal,
    id: Box<RawValue>,
    revision: Revision,
    transport: Transport,
    name: String,
    arguments: Map<String, Value>,
}

impl OwnedToolCall {
    /// Parses a call. An error if the client has not declared a capability that the tool needs of it.
    fn from_request(context: &RequestContext<'_>) -> Result<OwnedToolCall, RpcError> {
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

    /// Runs the call and writes its response.
    async fn run(self, progress: &dyn Progress) -> Result<CallResponse, RpcError> {
        let resolver = self.endpoint.resolver();
        let result =
            resolver.call_tool(&self.caller, self.endpoint.view, &self.name, self.arguments, progress).await;
        let result = result.map_err(|error| self.endpoint.tool_names.rewrite_error(resolver, error));
        // A tool may report its failure as a result of its own form.
        let failure = match &result {
            Ok(output) => output.is_error.then_some(Failure { outcome: Outcome::Refused, retry_after: None }),
            Err(error) => Some(Failure::of(error)),
        };
        let response = match result {
            Ok(output) => write_response(&self.endpoint, &self.id, self.revision, &output, None),
            Err(error) if is_protocol_error(&error, self.transport) => Err(error),
            Err(error) => {
                let output = error_output(&error);
                write_response(&self.endpoint, &self.id, self.revision, &output, Some(&error))
            }
        };
        let response = response.map(|json| CallResponse { json, failure });
        response.map_err(|error| RpcError::from_error(error, self.revision.era()))
    }
}

/// The result of a failed call.
fn error_output(error: &Error) -> ToolOutput {
    let envelope = json!({"error": error.envelope()});
    let mut blocks = Vec::new();
    if error.code() == UNKNOWN_TOOL {
        // The original sends the message alone. The envelope follows, for models that read the text only.
        blocks =
            vec![ContentBlock::Text(error.message().to_owned()), ContentBlock::Text(envelope.to_string())];
    }
    let output = ToolOutput::structured(envelope);
    ToolOutput { is_error: true, blocks: if blocks.is_empty() { output.blocks } else { blocks }, ..output }
}

/// The code of a call of a tool that does not exist.
const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";

/// Whether an error is a JSON-RPC error and not a tool result. See the module's documentation.
fn is_protocol_error(error: &Error, transport: Transport) -> bool {
    match error.kind() {
        Kind::Credential => true,
        Kind::Scope => transport == Transport::Http,
        // A scheme that sets `errorCode` has an original whose clients expect a result.
        _ => error.code() == UNKNOWN_TOOL && error.detail("errorCode").is_none(),
    }
}

/// Writes the result of a call. `error` is the error that `output` reports, if it reports one.
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
    // Structured content is written twice: as data, and as text with its quotation marks escaped.
    let size = output.structured.as_ref().map_or(0, |structured| 5 * structured.as_str().len() / 2);
    let mut reply =
        ResponseWriter::new(id, 1_024 + size).content(text_copy.map(JsonText::as_str), &blocks)?;
    if let Some(structured) = structured {
        reply = reply.raw_field("structuredContent", structured);
    }
    let reply = reply.field("isError", &output.is_error)?;
    // Some clients look for the error code and the hint in `_meta`.
    let code = error.and_then(|error| error.detail("errorCode")).map(Value::to_string);
    let hint = error.and_then(Error::hint_text).map(|hint| Value::from(hint).to_string());
    let in_meta = [("errorCode", &code), ("hint", &hint)];
    let mut entries: Vec<(&str, &str)> =
        in_meta.into_iter().filter_map(|(name, json)| Some((name, json.as_deref()?))).collect();
    if output.has_stored_text {
        entries.push((STORED_TEXT_KEY, "true"));
    }
    Ok(reply.finish_with_meta(&endpoint.server, revision, None, &entries))
}
