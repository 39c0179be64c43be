//! Three tools for clients that cannot read resources. They run through the resolver like the resource
//! methods: same data, same errors.

use serde_json::{Map, Value, json};

use crate::resolver::{Resolver, View};
use crate::scheme::{CompletionQuery, CompletionTarget};
use crate::tool::ToolEffect;
use crate::tool_schema::{self, object, string};
use crate::{Error, EventDraft, Principal, Result, ScopeRequirement, Tool, ToolOutput};

/// The three tools. They need no scope of their own: each address is checked like any other read.
pub fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, ScopeRequirement::NONE, ToolEffect::Reads)
    };
    let core = |tool: Tool| Tool { core: true, ..tool };
    let list = tool(
        "resource_list",
        "List resources",
        "Lists the addresses (URIs) that you can read, in pages.",
        object(&[("cursor", string("nextCursor of the page before"))], &[]),
    )
    .output(tool_schema::result(
        &[
            ("resources", tool_schema::array(entry_schema(), "Addresses")),
            ("nextCursor", string("Where the next page starts, if there is one")),
        ],
        &["resources"],
    ));
    let read = tool(
        "resource_read",
        "Read a resource",
        "Reads one address, such as bkend://orgs.",
        object(&[("uri", string("The address"))], &["uri"]),
    )
    .example(json!({"uri": "bkend://orgs"}))
    .output(tool_schema::result(
        &[("contents", tool_schema::array(contents_schema(), "Usually one"))],
        &["contents"],
    ))
    .with_stored_text();
    let complete = tool(
        "resource_complete",
        "Complete an address",
        "Lists possible values of a variable in an address template.",
        object(
            &[
                ("template", string("A uriTemplate of resources/templates/list")),
                ("variable", string("The variable to complete")),
                ("value", json!({"type": "string", "description": "What it starts with", "default": ""})),
                ("context", json!({"type": "object", "description": "Values of the other variables"})),
            ],
            &["template", "variable"],
        ),
    )
    .example(json!({"template": "amem://types/{type}", "variable": "type", "value": "d"}))
    .output(tool_schema::result(
        &[
            ("values", tool_schema::array(json!({"type": "string"}), "Values, the best first")),
            ("total", json!({"type": "integer", "description": "How many there are"})),
            ("hasMore", json!({"type": "boolean", "description": "Whether values are left out"})),
        ],
        &["values", "total", "hasMore"],
    ));
    vec![core(list), core(read), complete]
}

/// An entry of `resources/list`.
fn entry_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "uri": string("The address"),
            "name": string("Its name"),
            "title": string("A title for people"),
            "description": string("What it is"),
            "mimeType": string("The media type"),
            "annotations": {
                "type": "object",
                "properties": {
                    "audience": {"type": "array", "items": {"type": "string"}},
                    "priority": {"type": "number"},
                },
            },
        },
        "required": ["uri", "name", "mimeType"],
    })
}

/// An entry of `contents`.
fn contents_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "uri": string("The address"),
            "mimeType": string("The media type"),
            "text": string("The contents, if they are text"),
            "blob": string("The contents in base64, if they are not"),
        },
        "required": ["uri"],
    })
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
