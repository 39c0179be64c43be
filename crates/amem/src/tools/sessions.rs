//! The tools about sessions: start, end, resume.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{ReadSet, Result, Tool};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{input_schema, integer, not_implemented, read_inline, run_write, string, structured};
use crate::errors::invalid_argument;
use crate::{Amem, insert, limits, micros, resume, routes, session_lifecycle, tags};

pub(super) fn tools() -> Vec<Tool> {
    let id = |description: &str| json!({"type": "integer", "minimum": 0, "maximum": u32::MAX, "description": description});
    vec![
        Tool::new(
            "session_start",
            "Start a session",
            "Starts a session, or opens an earlier one again. What you add from then on belongs to it.",
            input_schema(
                &[
                    ("session_id", id("The next free one unless given")),
                    ("metadata", json!({"type": "object", "description": "Kept with the session"})),
                ],
                &[],
            ),
            routes::MEMORY_WRITE,
            ToolEffect::Creates,
        ),
        Tool::new(
            "session_end",
            "End a session",
            "Ends a session and stores an episode that sums it up, with all its memories as parts.",
            input_schema(
                &[
                    ("session_id", id("Your current one unless given")),
                    ("summary", string("What the episode says")),
                    ("create_episode", json!({"type": "boolean", "default": true})),
                ],
                &[],
            ),
            routes::MEMORY_WRITE,
            ToolEffect::Creates,
        ),
        Tool::new(
            "memory_session_resume",
            "Resume",
            "Call this first: loads the last episode and the newest decisions, facts, inferences and skills.",
            input_schema(&[("limit", integer(1, limits::RESUME_MEMORIES, 15))], &[]),
            routes::MEMORY_READ,
            ToolEffect::Reads,
        ),
    ]
}

pub(super) async fn call(amem: &Amem, mut call: ToolCall<'_>) -> Result<ToolResult> {
    let raw_arguments = std::mem::take(&mut call.arguments);
    let arguments = Arguments(&raw_arguments);
    let subject = call.caller.subject.clone();
    match call.tool.name {
        "session_start" => {
            let id = arguments.session("session_id")?;
            let metadata = metadata_arg(arguments)?;
            run_write(amem, call, move |tx| {
                let result = session_lifecycle::start(tx, &subject, id, metadata.as_deref())?;
                tx.audit_output("session_id", result.session.0);
                let document = json!({
                    "session_id": result.session.0,
                    "previous_session": result.previous.map(|id| id.0),
                    "total_sessions": result.sessions_with_nodes,
                    "last_episode": resume::last_episode(tx)?,
                    "message": format!("Session {} started", result.session),
                });
                Ok(structured(document)
                    .with_link(result.session.uri(), format!("Session {}", result.session)))
            })
            .await
        }
        "session_end" => {
            let id = arguments.session("session_id")?;
            let with_episode = arguments.bool_or("create_episode", true);
            let summary = arguments.text("summary").map(str::to_owned);
            if let Some(summary) = &summary {
                insert::check_content("summary", summary)?;
            }
            run_write(amem, call, move |tx| {
                let result = session_lifecycle::end(tx, &subject, id, with_episode, summary.as_deref())?;
                tx.audit_output("session_id", result.session.0);
                let mut output = structured(json!({
                    "session_id": result.session.0,
                    "episode_node_id": result.episode.map(|id| id.0),
                    "summary": result.summary,
                    "node_count": result.node_count,
                    "nodes_linked": result.linked,
                }));
                if let Some(episode) = result.episode {
                    tx.audit_output("node_id", episode.0);
                    output = output.with_link(episode.uri(), format!("Node {episode}"));
                }
                Ok(output.with_link(result.session.uri(), format!("Session {}", result.session)))
            })
            .await
        }
        "memory_session_resume" => {
            let limit = arguments.usize_or("limit", 15);
            read_inline(amem, call.caller, move |sql| {
                let result = resume::resume(sql, &subject, limit, micros::now())?;
                let basis =
                    ReadSet::at_version(sql.version()).with_tag(tags::nodes()).with_tag(tags::sessions());
                Ok((structured(result).with_link("amem://graph/important", "Important Nodes"), basis))
            })
            .await
        }
        name => Err(not_implemented(name)),
    }
}

fn metadata_arg(arguments: Arguments<'_>) -> Result<Option<String>> {
    let Some(metadata @ Value::Object(_)) = arguments.get("metadata") else { return Ok(None) };
    let text = metadata.to_string();
    if text.len() > limits::METADATA_BYTES {
        return Err(invalid_argument(
            "metadata",
            format!("has at most {} bytes as JSON", limits::METADATA_BYTES),
        ));
    }
    Ok(Some(text))
}
