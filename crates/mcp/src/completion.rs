//! `completion/complete`.

use quad_core::scheme::{CompletionQuery, CompletionTarget};
use quad_core::{Error, Result};
use serde_json::{Map, Value, json};

use crate::dispatch::RequestContext;
use crate::params;
use crate::response_writer::ResponseWriter;

/// Answers `completion/complete`.
pub(crate) async fn handle(context: &RequestContext<'_>) -> Result<Vec<u8>> {
    let reference = params::object(context.params.reference, "ref")?;
    let argument = params::object(context.params.argument, "argument")?;
    let context_param = params::object(context.params.context, "context")?;
    let no_arguments = Map::new();
    let query = CompletionQuery {
        target: match string_field(&reference, "ref", "type")? {
            "ref/resource" => CompletionTarget::Template(string_field(&reference, "ref", "uri")?),
            "ref/prompt" => CompletionTarget::Prompt(string_field(&reference, "ref", "name")?),
            _ => return Err(Error::bad_input("params.ref.type must be ref/resource or ref/prompt")),
        },
        variable: string_field(&argument, "argument", "name")?,
        prefix: string_field(&argument, "argument", "value")?,
        context: context_param.get("arguments").and_then(Value::as_object).unwrap_or(&no_arguments),
    };
    let endpoint = context.endpoint;
    let completion_page = endpoint.resolver().complete(context.caller, endpoint.view, query).await?;
    let has_more = completion_page.total > completion_page.values.len();
    let completion =
        json!({"values": completion_page.values, "total": completion_page.total, "hasMore": has_more});
    let reply = ResponseWriter::new(context.id, 1_024).field("completion", &completion)?;
    Ok(reply.finish(&endpoint.server, context.revision, None))
}

fn string_field<'a>(object: &'a Map<String, Value>, parent: &str, name: &str) -> Result<&'a str> {
    object.get(name).and_then(Value::as_str).ok_or_else(|| {
        Error::bad_input(format!("params.{parent}.{name} must be a string")).with_detail("field", name)
    })
}
