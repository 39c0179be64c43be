//! Three tools for clients that cannot read resources. They run through the resolver like the resource
//! methods: same data, same errors.

use serde_json::{Map, Value, json};

use crate::resolver::{Resolver, View};
use crate::scheme::{CompletionQuery, CompletionTarget};
use crate::tool::ToolEffect;
use crate::{Error, EventDraft, Principal, Result, ScopeRequirement, Tool, ToolOutput};

/// The three tools. They need no scope of their own: each address is checked like any other read.
pub fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| Tool {
        core: true,
        ..Tool::new(name, title, description, input_schema, ScopeRequirement::NONE, ToolEffect::Reads)
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

/// Calls one of them. The resolver's method appends the event, also that of an error.
pub(crate) async fn call(
    resolver: &Resolver,
    caller: &Principal,
    view: View,
    name: &str,
    arguments: &Map<String, Value>,
    event: EventDraft,
) -> Result<ToolOutput> {
    let string_argument = |key: &str| arguments.get(key).and_then(Value::as_str);
    match name {
        "resource_list" => {
            let page = resolver.list_with_event(caller, view, string_argument("cursor"), event).await?;
            let entries: Vec<Value> = page.entries.iter().map(|entry| entry.to_json()).collect();
            let mut result = json!({"resources": entries});
            if let (Some(next), Some(result)) = (page.next_cursor, result.as_object_mut()) {
                result.insert("nextCursor".into(), next.into());
            }
            Ok(ToolOutput::structured(result))
        }
        "resource_read" => {
            let uri = string_argument("uri").unwrap_or_default();
            let make_event = |audit_uri| event.clone().input("uri", audit_uri);
            let answer = resolver.read_with_event(caller, view, uri, make_event).await?;
            // The read has left the event of this call, so an error from here on must not leave a second one.
            let contents: Value = serde_json::from_slice(&answer.read.contents_json(uri))
                .map_err(|error| Error::internal(error).mark_recorded())?;
            Ok(ToolOutput::structured(json!({"contents": contents})))
        }
        "resource_complete" => {
            let empty = Map::new();
            let query = CompletionQuery {
                target: CompletionTarget::Template(string_argument("template").unwrap_or_default()),
                variable: string_argument("variable").unwrap_or_default(),
                prefix: string_argument("value").unwrap_or_default(),
                context: arguments.get("context").and_then(Value::as_object).unwrap_or(&empty),
            };
            let completion = resolver.complete_with_event(caller, view, query, event).await?;
            let has_more = completion.total > completion.values.len();
            Ok(ToolOutput::structured(
                json!({"values": completion.values, "total": completion.total, "hasMore": has_more}),
            ))
        }
        other => Err(Error::internal(format!("{other} is not a resource tool"))),
    }
}
