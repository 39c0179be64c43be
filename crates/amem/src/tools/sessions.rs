//! The tools about sessions: start, end, resume.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, result, string};
use quad_core::{ReadSet, Result, Tool, ToolEntry, ToolOutput};
use quad_store::Sql;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{ReadCall, read_inline, run_write, schema, structured};
use crate::errors::invalid_argument;
use crate::{Amem, insert, limits, resume, routes, session_lifecycle, tags};

/// Memories that a resumed session loads unless given.
const RESUME_LIMIT: usize = 15;

pub(super) fn entries() -> Vec<ToolEntry<Amem>> {
    vec![session_start(), session_end(), memory_session_resume()]
}

fn session_start() -> ToolEntry<Amem> {
    let tool = Tool::new(
        "session_start",
        "Start a session",
        "Starts a session, or opens an earlier one again. What you add from then on belongs to it.",
        object(
            &[
                ("session_id", schema::session_arg("The next free one unless given")),
                ("metadata", json!({"type": "object", "description": "Kept with the session"})),
            ],
            &[],
        ),
        routes::MEMORY_WRITE,
        ToolEffect::Creates,
    )
    .output(result(
        &[
            ("session_id", schema::count("Your session now")),
            ("previous_session", schema::nullable_id("Your session before")),
            ("total_sessions", schema::count("Sessions that have memories")),
            ("last_episode", schema::last_episode()),
            ("message", string("What happened")),
        ],
        &["session_id", "previous_session", "total_sessions", "last_episode", "message"],
    ))
    .example(json!({"metadata": {"project": "api"}}))
    .aliases(&[("session", "session_id"), ("id", "session_id")])
    .with_stored_text();
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
            format!("has {} bytes as JSON", text.len()),
            format!(
                "Shorten metadata to at most {} bytes, or store the rest with memory_add",
                limits::METADATA_BYTES
            ),
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
                ("session_id", schema::session_arg("Your current one unless given")),
                ("summary", string("What the episode says")),
                ("create_episode", schema::flag(true, "Whether to store an episode")),
            ],
            &[],
        ),
        routes::MEMORY_WRITE,
        ToolEffect::Creates,
    )
    .output(result(
        &[
            ("session_id", schema::count("The session that ended")),
            ("episode_node_id", schema::nullable_id("The episode")),
            ("summary", json!({"type": ["string", "null"], "description": "What the episode says"})),
            ("node_count", schema::count("Memories of the session, with the episode")),
            ("nodes_linked", schema::count("Memories that are parts of the episode")),
        ],
        &["session_id", "episode_node_id", "summary", "node_count", "nodes_linked"],
    ))
    .example(json!({"summary": "Chose PostgreSQL; the rate limit is still open"}))
    .aliases(&[("session", "session_id"), ("id", "session_id"), ("episode", "summary")]);
    ToolEntry::new(tool, |amem, call| Box::pin(end(amem, call)))
}

async fn end(amem: &Amem, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(&call.arguments);
    let subject = call.caller.subject.clone();
    let id = arguments.session("session_id")?;
    let with_episode = arguments.bool_or("create_episode", true);
    let summary = arguments.text("summary").filter(|text| !text.trim().is_empty()).map(str::to_owned);
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
    let fields = ["id", "content", "confidence", "session_id"];
    let memories = |description: &str| array(schema::record(&fields, &[]), description);
    let other = schema::record(&[fields.as_slice(), &["event_type"]].concat(), &[]);
    let tool = Tool::new(
        "memory_session_resume",
        "Resume",
        "Call this first: loads the last episode and the newest decisions, facts, inferences and skills.",
        object(&[("limit", schema::limit(limits::RESUME_MEMORIES, RESUME_LIMIT))], &[]),
        routes::MEMORY_READ,
        ToolEffect::Reads,
    )
    .output(result(
        &[
            ("current_session", schema::nullable_id("Your current session")),
            ("previous_session", schema::nullable_id("The newest other session")),
            ("last_episode", schema::last_episode()),
            ("recent_decisions", memories("The newest decisions")),
            ("recent_facts", memories("The newest facts")),
            ("recent_inferences", memories("The newest inferences")),
            ("recent_other", array(other, "The newest skills and corrections")),
            ("total_loaded", schema::count("Memories in the result")),
            ("message", string("How much there is")),
        ],
        &[
            "current_session",
            "previous_session",
            "last_episode",
            "recent_decisions",
            "recent_facts",
            "recent_inferences",
            "recent_other",
            "total_loaded",
            "message",
        ],
    ))
    .example(json!({"limit": 15}))
    .with_stored_text();
    ToolEntry::new(tool, |amem, call| Box::pin(read_inline(amem, call, run_resume)))
}

fn run_resume(sql: &mut dyn Sql, call: &ReadCall) -> Result<(ToolOutput, ReadSet)> {
    let limit = call.arguments().usize_or("limit", RESUME_LIMIT);
    let result = resume::resume(sql, &call.subject, limit)?;
    let read_set = ReadSet::at_version(sql.version()).with_tag(tags::nodes()).with_tag(tags::sessions());
    Ok((structured(result).with_link("amem://graph/important", "Important Nodes"), read_set))
}
