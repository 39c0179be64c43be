//! `plan_update`: changes status, attributes, criteria and resolutions of one or several entities. All changes apply,
//! or none.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{Error, Kind, ReadSet, Result, Tool, ToolEntry, entry_preparer};
use serde_json::{Map, Value, json};

use super::attributes::parse_attributes;
use super::schema::{array, boolean, free_object, object, string};
use super::{non_empty_text, output, results, today};
use crate::limits::UPDATE_ENTITIES_MAX;
use crate::plan::diff::unified_diff;
use crate::plan::edit::{EditError, EntityChanges, FieldChange};
use crate::project_cache::{PlanSnapshot, ProjectCache};
use crate::scheme::journaled_write::{FileWrite, PlannedWrite, write};
use crate::scheme::query::{hash_text, require_entity, require_plan};
use crate::scheme::routes::WRITE;
use crate::scheme::{Refrakt, errors};

/// Attributes that the schema leaves to `attrs`. Callers also send them beside it.
const UNPUBLISHED_ATTRIBUTES: &[&str] =
    &["source", "tags", "version", "date", "target", "created", "modified"];

/// The arguments that select entities. A call has exactly one of them.
const SELECTORS: [&str; 3] = ["id", "ids", "updates"];

/// The arguments that select criteria. The schema publishes a list of texts; a single text and numbers are accepted too.
const CRITERIA: [&str; 2] = ["check", "uncheck"];

pub(super) fn tool() -> ToolEntry<Refrakt> {
    let tool = Tool::new(
        "plan_update",
        "Update plan entities",
        "Changes plan entities in their files, all or none: attributes, criteria, a resolution. Pass one of id, ids and updates.",
        input_schema(),
        WRITE,
        ToolEffect::Updates,
    )
    .dotted("plan.update")
    .output(results::update())
    .example(json!({"id": "WORK-012", "status": "in-progress", "check": ["form works"]}))
    .aliases(&[
        ("entity", "id"),
        ("task", "id"),
        ("item", "id"),
        ("title", "id"),
        ("entities", "ids"),
        ("tasks", "ids"),
        ("items", "ids"),
        ("attributes", "attrs"),
        ("fields", "attrs"),
        ("changes", "attrs"),
        ("set", "attrs"),
        ("state", "status"),
        ("owner", "assignee"),
        ("resolution", "resolve"),
        ("hash", "ifHash"),
    ])
    .unchecked(&CRITERIA)
    .unpublished(UNPUBLISHED_ATTRIBUTES)
    .with_stored_text();
    ToolEntry::new(tool, |refrakt, call| Box::pin(run(refrakt, call)))
}

/// The objects in `updates` take the same arguments as the tool. They are not repeated in the schema, because every
/// model that sees the tool reads it.
fn input_schema() -> Value {
    let texts = |description: &str| array(json!({"type": "string"}), description);
    let bounded = |mut list: Value| {
        list["maxItems"] = UPDATE_ENTITIES_MAX.into();
        list
    };
    let update = json!({"type": "object", "properties": {"id": string("Entity id or title")}});
    object(
        &[
            ("id", string("Entity id or title")),
            ("ids", bounded(texts("Several entities, same change"))),
            (
                "updates",
                bounded(array(update, "Several entities: each object has an id and arguments from below")),
            ),
            ("status", string("Such as ready, in-progress, done")),
            ("priority", string("critical, high, medium, low")),
            ("severity", string("Bugs: critical, major, minor, cosmetic")),
            ("complexity", string("trivial, simple, moderate, complex, unknown")),
            ("assignee", string("Person or agent")),
            ("milestone", string("Milestone name")),
            ("supersedes", string("Id of what it replaces")),
            ("pr", string("Such as owner/repo#12")),
            ("released-in", string("Version")),
            ("attrs", free_object("Other attributes by name, such as tags; null removes one")),
            ("check", texts("Criteria to tick: text, part of it, or number")),
            ("uncheck", texts("Criteria to clear")),
            ("resolve", string("Text for a section Resolution")),
            ("ifHash", string("Hash from plan_context; refuses the change if the file differs")),
            ("dryRun", boolean("Only show a diff")),
        ],
        &[],
    )
}

async fn run(refrakt: &Refrakt, call: ToolCall<'_>) -> Result<ToolResult> {
    let requests = parse_requests(call.tool, &call.arguments)?;
    if call.arguments.get("dryRun").and_then(Value::as_bool).unwrap_or(false) {
        let preview = move |project: Option<&ProjectCache>| {
            let plan = require_plan(project.ok_or_else(|| errors::plan_missing(None))?)?;
            Ok(to_response(&apply_updates(&plan, &requests)?, true))
        };
        let (value, version) = refrakt.with_project(call.caller, preview).await?;
        return Ok(ToolResult::read_only(output(value), ReadSet::at_version(version)));
    }
    let plan_write = move |plan: &PlanSnapshot| {
        let edits = apply_updates(plan, &requests)?;
        let files = edits.iter().filter(|edit| edit.is_different()).map(EntityEdit::to_file_write).collect();
        Ok(PlannedWrite { files, value: to_response(&edits, false) })
    };
    let (value, receipt) = write(refrakt, &call, plan_write).await?;
    match receipt {
        Some(receipt) => Ok(ToolResult::committed(output(value), receipt)),
        // All values were already set.
        None => {
            Ok(ToolResult::read_only(output(value), ReadSet::at_version(refrakt.version(call.caller).await?)))
        }
    }
}

/// The changes of one entity.
#[derive(Debug)]
struct UpdateRequest {
    id: String,
    changes: EntityChanges,
    if_hash: Option<String>,
}

fn parse_requests(tool: &Tool, arguments: &Map<String, Value>) -> Result<Vec<UpdateRequest>> {
    let given = SELECTORS.into_iter().filter(|name| arguments.get(*name).is_some_and(is_filled));
    let given: Vec<&str> = given.collect();
    match given.as_slice() {
        ["id"] => Ok(vec![parse_request(non_empty_text(arguments, "id").unwrap_or_default(), arguments)?]),
        ["ids"] => parse_ids(arguments),
        ["updates"] => parse_updates(tool, arguments),
        [] => Err(Error::bad_input("Missing argument id: the call names no entity")
            .hint(format!("Send id, ids or updates. Example: {} {}", tool.name, tool.example))),
        several => Err(Error::bad_input(format!("{} cannot be sent together", several.join(" and "))).hint(
            "Send id for one entity, ids for the same change to several, or updates for different changes",
        )),
    }
}

/// Whether an argument says something. Some clients fill those that they do not use with empty values.
fn is_filled(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

fn parse_request(id: String, arguments: &Map<String, Value>) -> Result<UpdateRequest> {
    if id.trim().is_empty() {
        return Err(Error::bad_input("Missing argument id (Entity id or title)")
            .hint("Send an id such as WORK-012; plan_index lists all"));
    }
    Ok(UpdateRequest { id, changes: parse_changes(arguments)?, if_hash: non_empty_text(arguments, "ifHash") })
}

fn parse_ids(arguments: &Map<String, Value>) -> Result<Vec<UpdateRequest>> {
    if non_empty_text(arguments, "ifHash").is_some() {
        return Err(Error::bad_input("ifHash: one hash cannot match several files")
            .hint("Use updates, with an ifHash in each"));
    }
    let ids = arguments.get("ids").and_then(Value::as_array).into_iter().flatten();
    ids.filter_map(Value::as_str).map(|id| parse_request(id.to_owned(), arguments)).collect()
}

fn parse_updates(tool: &Tool, arguments: &Map<String, Value>) -> Result<Vec<UpdateRequest>> {
    if !parse_changes(arguments)?.is_empty() || non_empty_text(arguments, "ifHash").is_some() {
        return Err(Error::bad_input("updates: changes must be inside each update")
            .hint("Use ids to make the same change to several entities"));
    }
    let updates = arguments.get("updates").and_then(Value::as_array).into_iter().flatten();
    let prepare = entry_preparer(tool)?;
    let parse = |update: &Map<String, Value>| {
        let update = prepare(update.clone())?;
        if let Some(name) = ["ids", "updates", "dryRun"].into_iter().find(|name| update.contains_key(*name)) {
            return Err(Error::bad_input(format!("{name} does not belong inside an update"))
                .hint(format!("Send {name} beside updates, or leave it out")));
        }
        parse_request(non_empty_text(&update, "id").unwrap_or_default(), &update)
    };
    let parse_at = |(index, update): (usize, &Map<String, Value>)| {
        parse(update).map_err(|error| {
            let located = Error::bad_input(format!("updates.{index}: {}", error.message()));
            match error.hint_text() {
                Some(hint) => located.hint(hint),
                None => located,
            }
        })
    };
    updates.filter_map(Value::as_object).enumerate().map(parse_at).collect()
}

fn parse_changes(arguments: &Map<String, Value>) -> Result<EntityChanges> {
    Ok(EntityChanges {
        attributes: parse_attributes(arguments)?,
        check: parse_criteria(arguments, "check")?,
        uncheck: parse_criteria(arguments, "uncheck")?,
        resolution: non_empty_text(arguments, "resolve"),
    })
}

/// The criteria that an argument selects: texts and numbers, one or a list, which may be JSON in a text.
fn parse_criteria(arguments: &Map<String, Value>, name: &str) -> Result<Vec<String>> {
    let selector = |value: &Value| match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let list_in_text = |text: &str| serde_json::from_str::<Vec<Value>>(text).ok();
    let selectors: Option<Vec<String>> = match arguments.get(name) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(values)) => values.iter().map(selector).collect(),
        Some(Value::String(text)) if text.is_empty() => return Ok(Vec::new()),
        Some(Value::String(text)) => list_in_text(text)
            .map_or_else(|| Some(vec![text.clone()]), |list| list.iter().map(selector).collect()),
        Some(value) => selector(value).map(|selector| vec![selector]),
    };
    selectors.ok_or_else(|| {
        Error::bad_input(format!("{name} is not a list of texts"))
            .hint(format!("Send {name} as a list with the text or the number of each criterion"))
    })
}

/// An entity's file before and after its changes.
struct EntityEdit {
    id: String,
    kind: &'static str,
    file: String,
    before: String,
    after: String,
    changes: Vec<FieldChange>,
}

impl EntityEdit {
    fn is_different(&self) -> bool {
        self.before != self.after
    }

    /// The changes in the form of the npm package.
    fn changes_json(&self) -> Value {
        let changes = self.changes.iter();
        changes.map(|change| json!({ "field": change.field, "old": change.old, "new": change.new })).collect()
    }

    fn to_file_write(&self) -> FileWrite {
        FileWrite {
            file: self.file.clone(),
            before_hash: Some(hash_text(&self.before)),
            text: self.after.clone(),
            id: self.id.clone(),
        }
    }
}

/// Applies all changes to the current texts.
fn apply_updates(plan: &PlanSnapshot, requests: &[UpdateRequest]) -> Result<Vec<EntityEdit>> {
    let today = today();
    let mut edits: Vec<EntityEdit> = Vec::with_capacity(requests.len());
    for request in requests {
        let entity = require_entity(&plan.index, None, &request.id)?;
        let files_with_id: Vec<&str> = plan
            .index
            .entities()
            .filter(|other| other.id().is_some() && other.id() == entity.id())
            .map(|other| other.file.as_str())
            .collect();
        if files_with_id.len() > 1 {
            return Err(Error::new(
                Kind::Conflict,
                "DUPLICATE_ID",
                format!("{} is the id of several files", entity.label()),
            )
            .hint(format!("Give each file its own id: {}", files_with_id.join(", "))));
        }
        if edits.iter().any(|edit| edit.file == entity.file) {
            return Err(Error::bad_input(format!("{} is listed twice", entity.label()))
                .hint("Combine its changes in one update"));
        }
        let text = plan.dir.read_plan_file(&entity.file).map_err(errors::io_error)?;
        let file = text.ok_or_else(|| errors::id_not_found(&request.id, &[]))?;
        if file.invalid_utf8_at.is_some() {
            let not_utf8 = EditError::NoEntity("the file is not UTF-8");
            return Err(errors::edit_failed(entity.label(), not_utf8));
        }
        let before = file.text;
        let current_hash = hash_text(&before);
        if request.if_hash.as_ref().is_some_and(|expected| *expected != current_hash) {
            return Err(errors::entity_changed(entity.label(), &entity.file, Some(&current_hash)));
        }
        let edited = request
            .changes
            .apply(&before, &today)
            .map_err(|error| errors::edit_failed(entity.label(), error))?;
        let (id, kind, file) = (entity.label().to_owned(), entity.kind.as_str(), entity.file.clone());
        edits.push(EntityEdit { id, kind, file, before, after: edited.text, changes: edited.changes });
    }
    Ok(edits)
}

/// The answer of the call. For one entity it also has the fields that the npm package answers with.
fn to_response(edits: &[EntityEdit], dry_run: bool) -> Value {
    let entities: Vec<Value> = edits
        .iter()
        .map(|edit| {
            let mut entry = json!({
                "id": edit.id,
                "type": edit.kind,
                "file": edit.file,
                "changed": edit.is_different(),
                "changes": edit.changes_json(),
                "hash": hash_text(if dry_run { &edit.before } else { &edit.after }),
            });
            if let (true, Some(entry)) = (dry_run, entry.as_object_mut()) {
                entry.insert("diff".into(), unified_diff(&edit.file, Some(&edit.before), &edit.after).into());
            }
            entry
        })
        .collect();
    let count = edits.iter().filter(|edit| edit.is_different()).count();
    let mut response = json!({ "dryRun": dry_run, "changed": count, "entities": entities });
    if let ([edit], Some(response)) = (edits, response.as_object_mut()) {
        response.insert("file".into(), edit.file.as_str().into());
        response.insert("type".into(), edit.kind.into());
        response.insert("changes".into(), edit.changes_json());
    }
    response
}
