//! Resources for clients that read none: three tools on the same path, with the same data and the same errors.

use serde_json::{Map, Value, json};

use crate::resolver::{Resolver, View};
use crate::scheme::{CompletionQuery, Subject};
use crate::tool::Effect;
use crate::{Error, EventDraft, Need, Principal, Result, Tool, ToolOutput};

/// The three tools. They need no scope of their own: what they reach is checked like any other read.
pub fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| Tool {
        core: true,
        ..Tool::new(name, title, description, input_schema, Need::NOTHING, Effect::Reads)
    };
    vec![
        tool(
            "resource_list",
            "List resources",
            "Lists the addresses that you can read, with names and media types, in pages. The same as resources/list.",
            json!({
                "type": "object",
                "properties": {
                    "cursor": {"type": "string", "description": "The nextCursor of the page before"},
                },
                "additionalProperties": false,
            }),
        ),
        tool(
            "resource_read",
            "Read a resource",
            "Reads one address, such as bkend://orgs. The same as resources/read.",
            json!({
                "type": "object",
                "properties": {"uri": {"type": "string", "description": "The address"}},
                "required": ["uri"],
                "additionalProperties": false,
            }),
        ),
        tool(
            "resource_complete",
            "Complete an address",
            "Lists possible values of a variable in an address template. The same as completion/complete.",
            json!({
                "type": "object",
                "properties": {
                    "template": {"type": "string", "description": "A uriTemplate, as published"},
                    "variable": {"type": "string", "description": "The variable to complete"},
                    "value": {"type": "string", "description": "What it starts with", "default": ""},
                    "context": {
                        "type": "object",
                        "description": "Values of the other variables",
                        "additionalProperties": {"type": "string"},
                    },
                },
                "required": ["template", "variable"],
                "additionalProperties": false,
            }),
        ),
    ]
}

/// Calls one of them. The event is written on the way, allowed or refused.
pub(crate) async fn call(
    resolver: &Resolver,
    caller: &Principal,
    view: View,
    name: &str,
    arguments: &Map<String, Value>,
    event: EventDraft,
) -> Result<ToolOutput> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    match name {
        "resource_list" => {
            let page = resolver.list_as(caller, view, text("cursor"), event).await?;
            let entries: Vec<Value> = page.entries.iter().map(|entry| entry.entry()).collect();
            let mut result = json!({"resources": entries});
            if let (Some(next), Some(result)) = (page.next_cursor, result.as_object_mut()) {
                result.insert("nextCursor".into(), next.into());
            }
            Ok(ToolOutput::structured(result))
        }
        "resource_read" => {
            let uri = text("uri").unwrap_or_default();
            let reading = |asked| event.clone().input("uri", asked);
            let answer = resolver.read_as(caller, view, uri, &reading).await?;
            let contents: Value =
                serde_json::from_slice(&answer.sealed.contents_json(uri)).map_err(Error::internal)?;
            Ok(ToolOutput::structured(json!({"contents": contents})))
        }
        "resource_complete" => {
            let empty = Map::new();
            let query = CompletionQuery {
                subject: Subject::Template(text("template").unwrap_or_default()),
                variable: text("variable").unwrap_or_default(),
                prefix: text("value").unwrap_or_default(),
                context: arguments.get("context").and_then(Value::as_object).unwrap_or(&empty),
            };
            let completed = resolver.complete_as(caller, view, query, event).await?;
            let has_more = completed.total > completed.values.len();
            Ok(ToolOutput::structured(
                json!({"values": completed.values, "total": completed.total, "hasMore": has_more}),
            ))
        }
        other => Err(Error::internal(format!("{other} is not a resource tool"))),
    }
}
