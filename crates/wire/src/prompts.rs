//! `prompts/list` and `prompts/get`.

use quad_core::prompt::Role;
use quad_core::{Error, EventDraft, Result};
use serde_json::{Value, json};

use crate::blocks::block;
use crate::dispatch::Exchange;
use crate::params;
use crate::reply::{CacheHint, Reply};

/// Answers `prompts/list`.
pub(crate) async fn list(exchange: &Exchange<'_>) -> Result<Vec<u8>> {
    params::no_cursor(exchange.params.cursor)?;
    let endpoint = exchange.endpoint;
    endpoint.resolver().note(exchange.caller, EventDraft::call(exchange.caller, "prompts/list")).await?;
    let prompts = endpoint.resolver().prompts(exchange.caller, endpoint.view);
    let entries: Vec<Value> = prompts.map(|prompt| prompt.entry()).collect();
    let reply = Reply::to(exchange.id, 300 * entries.len()).field("prompts", &entries)?;
    Ok(reply.end(&endpoint.hub, exchange.revision, Some(CacheHint::NEVER)))
}

/// Answers `prompts/get`.
pub(crate) async fn get(exchange: &Exchange<'_>) -> Result<Vec<u8>> {
    let name = params::text(exchange.params.name, "name")?;
    let arguments = params::object(exchange.params.arguments, "arguments")?;
    if let Some((argument, _)) = arguments.iter().find(|(_, value)| !value.is_string()) {
        return Err(Error::bad_input(format!("The argument {argument} must be a string"))
            .fact("field", argument.as_str()));
    }
    let endpoint = exchange.endpoint;
    let (prompt, messages) =
        endpoint.resolver().prompt(exchange.caller, endpoint.view, &name, &arguments).await?;
    let messages: Vec<Value> = messages
        .iter()
        .map(|message| {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            json!({"role": role, "content": block(&message.block, exchange.revision)})
        })
        .collect();
    let reply = Reply::to(exchange.id, 1_024)
        .field("description", &prompt.description)?
        .field("messages", &messages)?;
    Ok(reply.end(&endpoint.hub, exchange.revision, None))
}
