//! `plan_history`: what the commits of the repository changed in the plan.

use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{Error, Kind, ReadSet, Result, Timestamp, ToolEntry};
use serde_json::{Map, Value, json};

use super::schema::{boolean, object, string};
use super::{ToolArguments, output, read_tool, results};
use crate::limits::{ENTITY_HISTORY_EVENTS, HISTORY_EVENTS_MAX, PLAN_HISTORY_EVENTS};
use crate::plan::history::{HistoryFilter, event_of};
use crate::plan::{Entity, EntityType};
use crate::project::git_log::{self, GitError};
use crate::project_cache::{PlanSnapshot, ProjectCache};
use crate::scheme::query::{require_entity, require_plan};
use crate::scheme::{Refrakt, errors};

pub(super) fn tool() -> ToolEntry<Refrakt> {
    let limit = json!({
        "type": "integer", "minimum": 1, "maximum": HISTORY_EVENTS_MAX, "description": "Number of events",
    });
    let tool = read_tool(
        "plan_history",
        "History of the plan",
        "Lists what the git commits of the project changed in one plan entity or in all, newest first.",
        object(
            &[
                ("id", string("Id such as WORK-012, milestone name, or title; without it, the whole plan")),
                ("limit", limit),
                ("since", string("Such as 7d, 2w, 3m, 1y or 2026-01-31")),
                ("type", string("Only of these types, separated by commas")),
                ("author", string("Only of authors whose name contains this")),
                ("status", string("Only what set this status")),
                ("all", boolean("Also changes of text alone, in the history of the whole plan")),
            ],
            &[],
        ),
    )
    .dotted("plan.history")
    .output(results::history())
    .example(json!({"id": "WORK-012", "limit": 5}))
    .aliases(&[("entity", "id"), ("task", "id"), ("item", "id"), ("title", "id")])
    .with_stored_text();
    ToolEntry::new(tool, |refrakt, call| Box::pin(run(refrakt, call)))
}

async fn run(refrakt: &Refrakt, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = ToolArguments(call.arguments);
    let read = move |project: Option<&ProjectCache>| {
        let project = project.ok_or_else(|| errors::plan_missing(None))?;
        history(&arguments, &*require_plan(project)?)
    };
    let (value, version) = refrakt.with_project(call.caller, read).await?;
    Ok(ToolResult::read_only(output(value), ReadSet::at_version(version)))
}

fn history(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    let id = arguments.text("id");
    let entity = id.as_deref().map(|id| require_entity(&plan.index, None, id)).transpose()?;
    if let Some(entity) = entity.filter(|entity| entity.id().is_none()) {
        return Err(unavailable(&format!("{} has no id, by which its history is found", entity.label()))
            .hint("Give the entity an id; its history begins with the commit that has it"));
    }
    let filter = HistoryFilter {
        id: entity.and_then(|entity| entity.id()).map(str::to_owned),
        kinds: parse_types(arguments.text("type").as_deref().unwrap_or_default())?,
        author: arguments.text("author"),
        status: arguments.text("status"),
        has_content: arguments.flag("all"),
    };
    let since = arguments.text("since").map(|since| parse_since(&since)).transpose()?;
    let usual_limit = if filter.id.is_some() { ENTITY_HISTORY_EVENTS } else { PLAN_HISTORY_EVENTS };
    let limit =
        arguments.0.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(usual_limit).min(HISTORY_EVENTS_MAX);
    let events = read_events(plan, &filter, since.as_deref(), limit)?;
    let mut history = Map::new();
    if let Some(id) = entity.and_then(Entity::id) {
        history.insert("id".into(), id.into());
    }
    history.insert("events".into(), events.into());
    Ok(history.into())
}

fn read_events(
    plan: &PlanSnapshot,
    filter: &HistoryFilter,
    since: Option<&str>,
    limit: usize,
) -> Result<Vec<Value>> {
    let mut events = Vec::new();
    let visited = git_log::visit_commits(
        plan.dir.root(),
        since,
        |commit| filter.matches_commit(commit),
        |commit, file| {
            // A text that does not contain the id cannot be that entity. Parsing takes longer.
            let can_match = filter.id.as_ref().is_none_or(|id| file.after.contains(id.as_str()));
            let event = if can_match { event_of(file.before.as_deref(), &file.after) } else { None };
            if let Some(event) = event.filter(|event| filter.matches(event)) {
                events.push(event.to_json(commit, filter.id.is_none().then_some(file.path.as_str())));
            }
            events.len() < limit
        },
    );
    match visited {
        Ok(()) => Ok(events),
        Err(GitError::Io(error)) => Err(errors::io_error(error)),
        Err(GitError::TooSlow) => {
            Err(unavailable("Git takes too long to read the history").hint("Send since, such as 30d"))
        }
        Err(GitError::NotInstalled) => {
            Err(unavailable("git is not installed on the server").hint("Install git where the server runs"))
        }
        Err(GitError::Failed(cause)) if cause.contains("does not have any commits") => Ok(events),
        Err(GitError::Failed(cause)) => Err(unavailable("The plan has no history that git can read")
            .hint("Run git log in the plan folder as the server's user, and correct what it reports")
            .with_cause(cause)),
    }
}

fn unavailable(message: &str) -> Error {
    Error::new(Kind::Conflict, "HISTORY_UNAVAILABLE", message)
}

fn parse_types(list: &str) -> Result<Vec<EntityType>> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|name| {
            EntityType::from_tag(&name.to_lowercase()).ok_or_else(|| {
                Error::bad_input(format!("type cannot be {:?}", errors::excerpt(name)))
                    .hint("Use one of work, spec, bug, decision, milestone, or several separated by commas")
            })
        })
        .collect()
}

/// A time in the words of git: `7d` is `7 days ago`, a date or an instant stays.
fn parse_since(since: &str) -> Result<String> {
    let duration = since.split_at_checked(since.len().saturating_sub(1)).and_then(|(number, unit)| {
        let unit = match unit {
            "d" => "days",
            "w" => "weeks",
            "m" => "months",
            "y" => "years",
            _ => return None,
        };
        Some(format!("{} {unit} ago", number.parse::<u16>().ok()?))
    });
    if let Some(duration) = duration {
        return Ok(duration);
    }
    match Timestamp::parse(since) {
        Some(instant) => Ok(instant.to_string()),
        None => Err(Error::bad_input(format!("since cannot be {:?}", errors::excerpt(since)))
            .hint("Send a number of days such as 7d, or a date such as 2026-01-31")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_duration_or_a_date() {
        assert_eq!(parse_since("7d").unwrap(), "7 days ago");
        assert_eq!(parse_since("2026-01-31").unwrap(), "2026-01-31T00:00:00.000Z");
        for wrong in ["", "d", "-1d", "7h", "yesterday", "--all"] {
            assert!(parse_since(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_types("Work, bug").unwrap(), [EntityType::Work, EntityType::Bug]);
        assert!(parse_types("epic").is_err());
    }
}
