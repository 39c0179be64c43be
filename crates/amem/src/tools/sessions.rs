//! The tools about sessions: start, end, resume.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{integer, object, string};
use quad_core::{ReadSet, Result, Tool, ToolEntry, ToolOutput};
use quad_store::Sql;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{ReadCall, read_inline, run_write, structured};
use crate::errors::invalid_argument;
use crate::{Amem, insert, limits, resume, routes, session_lifecycle, tags};

pub(super) fn entries() -> Vec<ToolEntry<Amem>> {
    vec![session_start(), session_end(), memory_session_resume()]
}

/// The schema of a session id.
fn session_id(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": u32::MAX, "description": description})
}

fn session_start() -> ToolEntry<Amem> {
    let tool = Tool::new(
        "session_start",
        "Start a session",
        "Starts a session, or opens an earlier one again. What you add from then on belongs to it.",
        object(
            &[
                ("session_id", session_id("The next free one unless given")),
                ("metadata", json!({"type": "object", "description": "Kept with the session"})),
            ],
            &[],
        ),
        routes::MEMORY_WRITE,
        ToolEffect::Creates,
    );
    ToolEntry::new(tool, |amem, call| Box::pin(start(amem, call)))
}

async fn start(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let subject = call.caller.subject.clone();
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
        Ok(structured(document).with_link(result.session.uri(), format!("Session {}", result.session)))
    })
    .await
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

fn session_end() -> ToolEntry<Amem> {
    let tool = Tool::new(
        "session_end",
        "End a session",
        "Ends a session and stores an episode that sums it up, with all its memories as parts.",
        object(
            &[
                ("session_id", session_id("Your current one unless given")),
                ("summary", string("What the episode says")),
                ("create_episode", json!({"type": "boolean", "default": true})),
            ],
            &[],
        ),
        routes::MEMORY_WRITE,
        ToolEffect::Creates,
    );
    ToolEntry::new(tool, |amem, call| Box::pin(end(amem, call)))
}

async fn end(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let subject = call.caller.subject.clone();
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

fn memory_session_resume() -> ToolEntry<Amem> {
    let tool = Tool::new(
        "memory_session_resume",
        "Resume",
        "Call this first: loads the last episode and the newest decisions, facts, inferences and skills.",
        object(&[("limit", integer(1, limits::RESUME_MEMORIES, 15))], &[]),
        routes::MEMORY_READ,
        ToolEffect::Reads,
    );
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, run_resume)))
}

fn run_resume(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let limit = call.arguments().usize_or("limit", 15);
    let result = resume::resume(sql, &call.subject, limit)?;
    let read_set = ReadSet::at_version(sql.version()).with_tag(tags::nodes()).with_tag(tags::sessions());
    Ok((structured(result).with_link("amem://graph/important", "Important Nodes"), read_set))
}
