//! `get_context`, `search_docs` and `get_operation_schema`.

use quad_core::tool::{ContentBlock, ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string, string_enum};
use quad_core::{ReadSet, Result, ScopeRequirement, Tool, ToolEntry, ToolOutput};
use serde_json::json;

use super::{Arguments, read, results};
use crate::errors::{self, invalid};
use crate::{Bkend, context, docs, limits, routes};

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let mut schema_type = string_enum(&["input", "output", "both"], "Which schema");
    schema_type["default"] = "both".into();
    vec![
        ToolEntry::new(
            Tool::new(
                "get_context",
                "Get context",
                "Shows the organizations, projects and environments. A good first call; no other tool depends on it.",
                object(&[], &[]),
                routes::ORGANIZATION_READ,
                ToolEffect::Reads,
            )
            .output(results::context()),
            |bkend, call| Box::pin(get_context(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "search_docs",
                "Search the documentation",
                "Searches the documentation of this backend: tables, rows, types, rules, examples.",
                object(&[("query", string("Words, or the id of a page"))], &["query"]),
                ScopeRequirement::NONE,
                ToolEffect::Reads,
            )
            .output(results::documentation())
            .example(json!({"query": "unique index"})),
            |_, call| Box::pin(search_docs(call)),
        ),
        ToolEntry::new(
            Tool::new(
                "get_operation_schema",
                "Get a tool's schema",
                "Shows the JSON Schema of a tool's arguments and of its result.",
                object(
                    &[("operation", string("The tool's name")), ("schemaType", schema_type)],
                    &["operation"],
                ),
                ScopeRequirement::NONE,
                ToolEffect::Reads,
            )
            .output(results::operation_schema())
            .example(json!({"operation": "backend_table_create"}))
            .aliases(&[("tool", "operation"), ("toolName", "operation"), ("name", "operation")]),
            |bkend, call| Box::pin(get_operation_schema(bkend, call)),
        ),
    ]
}

async fn get_context(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let scopes = context::ContextScopes::for_caller(call.caller);
    read(bkend, call.caller, move |sql| {
        let (context_json, read_set) = context::read(sql, scopes)?;
        let blocks = vec![
            ContentBlock::Text(context::to_markdown(&context_json)),
            ContentBlock::Text(context_json.to_string()),
        ];
        let output = ToolOutput { blocks, ..ToolOutput::structured(context_json) };
        Ok((output.with_link("bkend://context", "Context"), read_set))
    })
    .await
}

async fn search_docs(call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let query = arguments.required("query", "Send a few words, such as unique index")?;
    if query.chars().count() > limits::DOCS_QUERY_CHARS {
        return Err(invalid(
            "query",
            format!("has more than {} characters", limits::DOCS_QUERY_CHARS),
            "Send a few words",
        ));
    }
    Ok(ToolResult::read_only(
        ToolOutput::structured(json!({"results": docs::search(query)})),
        ReadSet::default(),
    ))
}

async fn get_operation_schema(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let name = arguments.required("operation", "Send the name of a tool, such as backend_table_create")?;
    let tools = bkend.tools.tools();
    let tool = tools.iter().find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| errors::unknown("tool named", name, tools.iter().map(|tool| tool.name)))?;
    let published = tool.to_json();
    let mut schema_json = json!({"operation": tool.name, "description": tool.description});
    let schema_type = arguments.id("schemaType")?.unwrap_or("both");
    if schema_type != "output" {
        schema_json["input"] = published["inputSchema"].clone();
    }
    if schema_type != "input" {
        schema_json["output"] = published["outputSchema"].clone();
    }
    Ok(ToolResult::read_only(ToolOutput::structured(schema_json), ReadSet::default()))
}
