//! Batches: several legacy messages in one JSON array. Only the two oldest revisions have them.

use futures_util::StreamExt as _;
use http::HeaderMap;
use quad_core::Principal;
use serde_json::value::RawValue;

use crate::dispatch::{Reply, RequestContext};
use crate::envelope::{self, Message, UNPARSED_METHOD};
use crate::http_post::{Failure, PostReply, accepted_reply, error_reply, message_reply};
use crate::params::Params;
use crate::{Endpoint, Era, Method, Revision, RpcError, Transport, request, session_stream};

/// The error of a batch in a revision that has none.
pub(crate) fn unsupported() -> RpcError {
    RpcError::invalid_request("This protocol revision has no batches; send one message at a time")
}

/// The error of an `initialize` in a batch: it decides how all that follows is read.
pub(crate) fn initialize_not_allowed() -> RpcError {
    RpcError::invalid_request("initialize must not be part of a batch")
}

/// The replies as one JSON array.
pub(crate) fn join(replies: &[Vec<u8>]) -> Vec<u8> {
    let mut json = Vec::with_capacity(replies.iter().map(|reply| reply.len() + 1).sum::<usize>() + 1);
    json.push(b'[');
    for (index, reply) in replies.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        json.extend_from_slice(reply);
    }
    json.push(b']');
    json
}

/// Answers the batch of a POST: one message after the other, in order.
pub(crate) async fn handle(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
    messages: &[&RawValue],
) -> PostReply {
    let (revision, session) = match negotiate(endpoint, caller, headers).await {
        Ok(negotiated) => negotiated,
        Err(rpc_error) => {
            let rpc_error = endpoint.audit_error(caller, UNPARSED_METHOD, None, rpc_error).await;
            return error_reply(None, None, rpc_error);
        }
    };
    let mut replies: Vec<Vec<u8>> = Vec::new();
    // The first failure: that of the batch.
    let mut failure = None;
    for raw in messages {
        let (id, name, params, result) = match envelope::parse_message(raw.get()) {
            Err(invalid) => (invalid.id, UNPARSED_METHOD.into(), None, Err(invalid.rpc_error)),
            Ok(Message::Request { id, method, params }) => {
                let session = session.as_deref();
                let result =
                    handle_request(endpoint, caller, revision, session, id, &method, params, &mut failure)
                        .await;
                (Some(id.to_owned()), method, params, result)
            }
            Ok(_) => continue,
        };
        match result {
            Ok(message) => replies.push(message),
            Err(rpc_error) => {
                let rpc_error = endpoint.audit_error(caller, &name, params, rpc_error).await;
                // No message has had an effect yet, so the whole batch can be repeated. Later, only this message fails.
                if rpc_error.needs_reauth() && replies.is_empty() {
                    return error_reply(None, None, rpc_error);
                }
                failure.get_or_insert(Failure::of(&rpc_error.error));
                replies.push(rpc_error.to_json(id.as_deref()));
            }
        }
    }
    if replies.is_empty() { accepted_reply() } else { message_reply(None, join(&replies), failure) }
}

/// The revision and the session of a batch.
async fn negotiate(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<(Revision, Option<String>), RpcError> {
    if request::names_modern_revision(headers) {
        return Err(unsupported());
    }
    let (revision, session) = request::legacy_revision_and_session(endpoint, caller, headers).await?;
    if revision.has_batches() { Ok((revision, session)) } else { Err(unsupported()) }
}

#[allow(clippy::too_many_arguments)]
async fn handle_request(
    endpoint: &Endpoint,
    caller: &Principal,
    revision: Revision,
    session: Option<&str>,
    id: &RawValue,
    name: &str,
    params: Option<&RawValue>,
    failure: &mut Option<Failure>,
) -> Result<Vec<u8>, RpcError> {
    let params = Params::read(params).map_err(|error| RpcError::from_error(error, Era::Legacy))?;
    if params.has_protocol_version() {
        return Err(unsupported());
    }
    let method =
        Method::parse(name, Era::Legacy).ok_or_else(|| RpcError::unknown_method(name, Era::Legacy))?;
    let context =
        RequestContext { endpoint, caller, revision, transport: Transport::Http, id, params: &params };
    match method {
        Method::Initialize => Err(initialize_not_allowed()),
        Method::Subscribe | Method::Unsubscribe => {
            session_stream::change_subscription(&context, method, session).await
        }
        _ => match context.dispatch(method).await? {
            Reply::Message(message) => Ok(message),
            Reply::FailedCall(message, call_failure) => {
                failure.get_or_insert(call_failure);
                Ok(message)
            }
            // The reply to a batch is one document: progress has no place in it, only the response has.
            Reply::Stream(messages, stream_failure) => {
                let message = messages.fold(Vec::new(), async |_, message| message).await;
                if let Some(call_failure) = stream_failure.get() {
                    failure.get_or_insert(*call_failure);
                }
                Ok(message)
            }
        },
    }
}
