//! `get_context`, `search_docs` and `get_operation_schema`: where you are, how it works, what a tool takes.

use quad_core::tool::{Block, Call, Called, Effect};
use quad_core::{Basis, Need, Result, Tool, ToolOutput};
use serde_json::json;

use super::{Arguments, all, answer, input, output_schema, read, string, unknown};
use crate::refusal::{self, invalid};
use crate::{Bkend, context, docs, limits, routes};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            "get_context",
            "Get context",
            "Shows your organization with its projects and environments. A good first call; no other tool depends on it.",
            input(&[], &[]),
            routes::ORGANIZATION_READ,
            Effect::Reads,
        ),
        Tool::new(
            "search_docs",
            "Search the documentation",
            "Searches the documentation of this backend: concepts, tables, rows, types, rules, examples.",
            input(&[("query", string("Words, or the id of a page"))], &["query"]),
            Need::NOTHING,
            Effect::Reads,
        ),
        Tool::new(
            "get_operation_schema",
            "Get a tool's schema",
            "Shows the JSON Schema of a tool's arguments and of its result.",
            input(
                &[
                    ("operation", string("The tool's name")),
                    (
                        "schemaType",
                        json!({"type": "string", "enum": ["input", "output", "both"], "default": "both"}),
                    ),
                ],
                &["operation"],
            ),
            Need::NOTHING,
            Effect::Reads,
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: Call<'_>) -> Result<Called> {
    match call.tool.name {
        "get_context" => {
            let view = context::View::of(call.caller);
            read(bkend, call.caller, move |sql| {
                let (found, basis) = context::read(sql, view)?;
                let blocks = vec![Block::Text(context::markdown(&found)), Block::Text(found.to_string())];
                let output = ToolOutput { blocks, ..ToolOutput::structured(found) };
                Ok((output.link("bkend://context", "Context"), basis))
            })
            .await
        }
        "search_docs" => {
            let arguments = Arguments::new(call.arguments)?;
            let query = arguments.required_id("query")?;
            if query.chars().count() > limits::DOCS_QUERY_CHARS {
                return Err(invalid("query", format!("has at most {} characters", limits::DOCS_QUERY_CHARS)));
            }
            Ok(Called::read(answer(json!({"results": docs::search(query)})), Basis::default()))
        }
        "get_operation_schema" => {
            let arguments = Arguments::new(call.arguments)?;
            let name = arguments.required_id("operation")?;
            let tools = all();
            let tool = tools.iter().find(|tool| tool.name == name);
            let tool =
                tool.ok_or_else(|| refusal::unknown("tool named", name, tools.iter().map(|tool| tool.name)))?;
            let mut found = json!({"operation": tool.name, "description": tool.description});
            let wanted = arguments.id("schemaType")?.unwrap_or("both");
            if wanted != "output" {
                found["input"] = tool.input_schema.clone();
            }
            if wanted != "input" {
                found["output"] = output_schema(tool.name);
            }
            Ok(Called::read(answer(found), Basis::default()))
        }
        name => Err(unknown(name)),
    }
}
