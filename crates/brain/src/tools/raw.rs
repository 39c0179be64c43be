//! `raw_artifact_get`: reading evidence.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, result};
use quad_core::{Result, Tool, ToolEntry};
use quad_store::Sql;
use serde_json::json;

use super::{Arguments, contribute, reference, run_read};
use crate::reference::strip_address;
use crate::routes::EVIDENCE_READ;
use crate::{Brain, raw, tags};

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let fields = raw::field_schemas();
    let required: Vec<&str> = fields
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !matches!(*name, "source_ref" | "parsed"))
        .collect();
    let get_tool = Tool::new(
        "raw_artifact_get",
        "Look at evidence",
        "What an artifact is and what was read from it: one that you contributed, or one that the ledger cites.",
        object(
            &[
                ("raw_id", reference("Id of the artifact")),
                (
                    "include_parsed",
                    json!({"type": "boolean", "default": true, "description": "With what was read from it"}),
                ),
            ],
            &["raw_id"],
        ),
        EVIDENCE_READ,
        ToolEffect::Reads,
    )
    .dotted("raw.artifact.get")
    .output(result(&fields, &required))
    .example(json!({"raw_id": "raw_01ARZ3NDEKTSV4RRFFQ69G5FAV"}))
    .aliases(&[
        ("id", "raw_id"),
        ("rawId", "raw_id"),
        ("artifact", "raw_id"),
        ("artifact_id", "raw_id"),
        ("source_id", "raw_id"),
        ("uri", "raw_id"),
        ("parsed", "include_parsed"),
    ])
    .with_stored_text();
    vec![
        ToolEntry::new(contribute::tool(), |brain, call| Box::pin(contribute::contribute(brain, call))),
        ToolEntry::new(get_tool, |brain, call| Box::pin(get_artifact(brain, call))),
    ]
}

async fn get_artifact(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let raw_id = strip_address(arguments.required("raw_id")?).to_owned();
    let with_parsed = arguments.bool_or("include_parsed", true);
    let subject = call.caller.subject.clone();
    let work = move |sql: &mut dyn Sql| {
        let read_set = tags::read_set(sql.version()).with_tag(tags::row(raw::KIND, &raw_id));
        // A database does not store the NUL character, and PostgreSQL refuses it in a parameter.
        let artifact_json = match quad_core::id::is_id(&raw_id) {
            true => raw::to_json_for(sql, &raw_id, &subject, with_parsed)?,
            false => None,
        };
        Ok((artifact_json.ok_or_else(|| raw::artifact_not_found(&raw_id))?, read_set))
    };
    run_read(brain, call.caller, work).await
}
