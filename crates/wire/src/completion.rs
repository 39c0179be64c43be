//! `completion/complete`.

use quad_core::scheme::{CompletionQuery, Subject};
use quad_core::{Error, Result};
use serde_json::{Map, Value, json};

use crate::dispatch::Exchange;
use crate::params;
use crate::reply::Reply;

/// Answers `completion/complete`.
pub(crate) async fn answer(exchange: &Exchange<'_>) -> Result<Vec<u8>> {
    let reference = params::object(exchange.params.reference, "ref")?;
    let argument = params::object(exchange.params.argument, "argument")?;
    let context = params::object(exchange.params.context, "context")?;
    let no_arguments = Map::new();
    let query = CompletionQuery {
        subject: match member(&reference, "ref", "type")? {
            "ref/resource" => Subject::Template(member(&reference, "ref", "uri")?),
            "ref/prompt" => Subject::Prompt(member(&reference, "ref", "name")?),
            _ => return Err(Error::bad_input("params.ref.type must be ref/resource or ref/prompt")),
        },
        variable: member(&argument, "argument", "name")?,
        prefix: member(&argument, "argument", "value")?,
        context: context.get("arguments").and_then(Value::as_object).unwrap_or(&no_arguments),
    };
    let endpoint = exchange.endpoint;
    let completed = endpoint.resolver().complete(exchange.caller, endpoint.view, query).await?;
    let has_more = completed.total > completed.values.len();
    let completion = json!({"values": completed.values, "total": completed.total, "hasMore": has_more});
    let reply = Reply::to(exchange.id, 1_024).field("completion", &completion)?;
    Ok(reply.end(&endpoint.hub, exchange.revision, None))
}

fn member<'a>(object: &'a Map<String, Value>, place: &str, name: &str) -> Result<&'a str> {
    object.get(name).and_then(Value::as_str).ok_or_else(|| {
        Error::bad_input(format!("params.{place}.{name} must be a string")).fact("field", name)
    })
}
