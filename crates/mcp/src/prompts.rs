//! `prompts/list` and `prompts/get`.

use quad_core::prompt::Role;
use quad_core::{Error, EventDraft, Result};
use serde_json::{Value, json};

use crate::blocks::block_json;
use crate::dispatch::RequestContext;
use crate::params;
use crate::response_writer::{CacheHint, ResponseWriter};

/// Answers `prompts/list`.
pub(crate) async fn list(context: &RequestContext<'_>) -> Result<Vec<u8>> {
    params::reject_cursor(context.params.cursor)?;
    let endpoint = context.endpoint;
    endpoint
        .resolver()
        .record_success(context.caller, EventDraft::call(context.caller, "prompts/list"))
        .await?;
    let prompts = endpoint.resolver().prompts(context.caller, endpoint.view);
    let entries: Vec<Value> = prompts.map(|prompt| prompt.to_json()).collect();
    let reply = ResponseWriter::new(context.id, 300 * entries.len()).field("prompts", &entries)?;
    Ok(reply.finish(&endpoint.server, context.revision, Some(CacheHint::NEVER)))
}

/// Answers `prompts/get`.
pub(crate) async fn get(context: &RequestContext<'_>) -> Result<Vec<u8>> {
    let name = params::required_str(context.params.name, "name")?;
    let arguments = params::object(context.params.arguments, "arguments")?;
    if let Some((argument, _)) = arguments.iter().find(|(_, value)| !value.is_string()) {
        return Err(Error::bad_input(format!("The argument {argument} must be a string"))
            .with_detail("field", argument.as_str()));
    }
    let endpoint = context.endpoint;
    let (prompt, messages) =
        endpoint.resolver().get_prompt(context.caller, endpoint.view, &name, &arguments).await?;
    let mut messages: Vec<Value> = messages
        .iter()
        .map(|message| {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            json!({"role": role, "content": block_json(&message.block, context.revision)})
        })
        .collect();
    for message in &mut messages {
        endpoint.tool_names.rewrite_value(endpoint.resolver(), message);
    }
    let reply = ResponseWriter::new(context.id, 1_024)
        .field("description", &prompt.description)?
        .field("messages", &messages)?;
    Ok(reply.finish(&endpoint.server, context.revision, None))
}
