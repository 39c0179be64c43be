//! The tools about sessions: start one, end one, come back.

use quad_core::tool::{ToolCall, ToolResult, ToolEffect};
use quad_core::{ReadSet, Result, Tool};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{answer, glance, input, string, unknown, whole, write};
use crate::refusal::invalid;
use crate::{Amem, adding, limits, micros, resume, routes, sitting, tags};

pub(super) fn tools() -> Vec<Tool> {
    let id = |description: &str| json!({"type": "integer", "minimum": 0, "maximum": u32::MAX, "description": description});
    vec![
        Tool::new(
            "session_start",
            "Start a session",
            "Starts a session, or opens an earlier one again. What you add from then on belongs to it.",
            input(
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
            input(
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
            input(&[("limit", whole(1, limits::RESUME_MEMORIES, 15))], &[]),
            routes::MEMORY_READ,
            ToolEffect::Reads,
        ),
    ]
}

pub(super) async fn call(amem: &Amem, mut call: ToolCall<'_>) -> Result<ToolResult> {
    let sent = std::mem::take(&mut call.arguments);
    let arguments = Arguments(&sent);
    let subject = call.caller.subject.clone();
    match call.tool.name {
        "session_start" => {
            let id = arguments.session("session_id")?;
            let metadata = metadata(arguments)?;
            write(amem, call, move |tx| {
                let started = sitting::start(tx, &subject, id, metadata.as_deref())?;
                tx.audit_output("session_id", started.session.0);
                let result = json!({
                    "session_id": started.session.0,
                    "previous_session": started.previous.map(|id| id.0),
                    "total_sessions": started.sessions,
                    "last_episode": resume::last_episode(tx)?,
                    "message": format!("Session {} started", started.session),
                });
                Ok(answer(result).with_link(started.session.uri(), format!("Session {}", started.session)))
            })
            .await
        }
        "session_end" => {
            let id = arguments.session("session_id")?;
            let with_episode = arguments.truth("create_episode", true);
            let summary = arguments.text("summary").map(str::to_owned);
            if let Some(summary) = &summary {
                adding::check_content("summary", summary)?;
            }
            write(amem, call, move |tx| {
                let ended = sitting::end(tx, &subject, id, with_episode, summary.as_deref())?;
                tx.audit_output("session_id", ended.session.0);
                let mut output = answer(json!({
                    "session_id": ended.session.0,
                    "episode_node_id": ended.episode.map(|id| id.0),
                    "summary": ended.summary,
                    "node_count": ended.node_count,
                    "nodes_linked": ended.linked,
                }));
                if let Some(episode) = ended.episode {
                    tx.audit_output("node_id", episode.0);
                    output = output.with_link(episode.uri(), format!("Node {episode}"));
                }
                Ok(output.with_link(ended.session.uri(), format!("Session {}", ended.session)))
            })
            .await
        }
        "memory_session_resume" => {
            let limit = arguments.count("limit", 15);
            glance(amem, call.caller, move |sql| {
                let found = resume::resume(sql, &subject, limit, micros::now())?;
                let basis = ReadSet::at_version(sql.version()).with_tag(tags::nodes()).with_tag(tags::sessions());
                Ok((answer(found).with_link("amem://graph/important", "Important Nodes"), basis))
            })
            .await
        }
        name => Err(unknown(name)),
    }
}

fn metadata(arguments: Arguments<'_>) -> Result<Option<String>> {
    let Some(metadata @ Value::Object(_)) = arguments.get("metadata") else { return Ok(None) };
    let text = metadata.to_string();
    if text.len() > limits::METADATA_BYTES {
        return Err(invalid("metadata", format!("has at most {} bytes as JSON", limits::METADATA_BYTES)));
    }
    Ok(Some(text))
}
