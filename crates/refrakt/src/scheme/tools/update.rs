//! `plan.update`: changes status, attributes, criteria and resolutions of one or several entities. All changes apply,
//! or none.

use indexmap::IndexMap;
use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{Error, Kind, ReadSet, Result, Tool, ToolEntry};
use serde_json::{Map, Value, json};

use super::schema::{allowed_values, boolean, object, string, string_enum};
use super::{non_empty_text, output, today};
use crate::limits::UPDATE_ENTITIES_MAX;
use crate::plan::diff::unified_diff;
use crate::plan::edit::{CriterionSelector, EntityChanges};
use crate::project_cache::{PlanSnapshot, ProjectCache};
use crate::scheme::journaled_write::{FileWrite, PlannedWrite, write};
use crate::scheme::query::{hash_text, require_entity, require_plan};
use crate::scheme::routes::WRITE;
use crate::scheme::{Refrakt, errors};

/// Attributes with an argument of their own. Others are passed in `attrs`.
const ATTRIBUTE_ARGUMENTS: [&str; 9] = [
    "status",
    "priority",
    "severity",
    "complexity",
    "assignee",
    "milestone",
    "supersedes",
    "pr",
    "released-in",
];

pub(super) fn tool() -> ToolEntry<Refrakt> {
    let mut properties = change_properties();
    let update_schema = object(&[&[("id", string("Which entity"))][..], &properties].concat(), &["id"]);
    properties.splice(
        0..0,
        [
            ("id", string("Which entity")),
            ("ids", json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": UPDATE_ENTITIES_MAX, "description": "Several entities, which all get the same change"})),
            ("updates", json!({"type": "array", "items": update_schema, "minItems": 1, "maxItems": UPDATE_ENTITIES_MAX, "description": "Several entities, each with its own change"})),
        ],
    );
    properties.push(("dryRun", boolean("Only show what would change, as a diff")));
    let mut schema = object(&properties, &[]);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(
            "oneOf".into(),
            json!([{"required": ["id"]}, {"required": ["ids"]}, {"required": ["updates"]}]),
        );
    }
    let tool = Tool::new(
        "plan.update",
        "Update plan entities",
        "Changes entities in their files: status, attributes, criteria to check and uncheck, a resolution. Every other byte stays. ifHash refuses the change if the file is not the one you read; dryRun shows a diff. Several entities change together or not at all.",
        schema,
        WRITE,
        ToolEffect::Updates,
    );
    ToolEntry::new(tool, |refrakt, call| Box::pin(run(refrakt, call)))
}

fn change_properties() -> Vec<(&'static str, Value)> {
    let criteria = |action: &str| {
        let selector = json!({"type": ["string", "integer"]});
        let list = json!({"type": "array", "items": selector});
        json!({"anyOf": [{"type": ["string", "integer"]}, list], "description": format!("Criteria to {action}: the text or a part of it that fits only one, or the number from 1; one or a list")})
    };
    let attributes = json!({
        "type": "object",
        "additionalProperties": {"type": ["string", "null"]},
        "description": "Any other attribute by name; null takes it away",
    });
    vec![
        ("status", string_enum(&allowed_values("status"), "Its new state, of those that its type has")),
        ("priority", string_enum(&allowed_values("priority"), "Its new priority")),
        ("severity", string_enum(&allowed_values("severity"), "Its new severity")),
        ("complexity", string_enum(&allowed_values("complexity"), "Its new complexity")),
        ("assignee", string("Who does it")),
        ("milestone", string("The milestone that it counts towards")),
        ("supersedes", string("The id of what it replaces")),
        ("pr", string("Pull requests, as owner/repository#number, separated by commas")),
        ("released-in", string("The version that a specification shipped in")),
        ("attrs", attributes),
        ("check", criteria("tick")),
        ("uncheck", criteria("clear")),
        ("resolve", string("How it ended: becomes a section Resolution with today's date")),
        ("ifHash", string("SHA-256 of the file that you read; anything else there refuses the change")),
    ]
}

async fn run(refrakt: &Refrakt, call: ToolCall<'_>) -> Result<ToolResult> {
    let requests = parse_requests(&call.arguments)?;
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
struct UpdateRequest {
    id: String,
    changes: EntityChanges,
    if_hash: Option<String>,
}

fn parse_requests(arguments: &Map<String, Value>) -> Result<Vec<UpdateRequest>> {
    let parse_request = |id: String, request_arguments: &Map<String, Value>| {
        let changes = parse_changes(request_arguments);
        if changes.is_empty() {
            return Err(Error::bad_input(format!("{}: there is nothing to change", errors::excerpt(&id)))
                .hint("Pass status, another attribute, check, uncheck or resolve"));
        }
        Ok(UpdateRequest { id, changes, if_hash: non_empty_text(request_arguments, "ifHash") })
    };
    let array_argument = |name: &str| arguments.get(name).and_then(Value::as_array);
    if let Some(updates) = array_argument("updates") {
        if !parse_changes(arguments).is_empty() || arguments.contains_key("ifHash") {
            return Err(Error::bad_input("updates: changes must be inside each update")
                .hint("Use ids to make the same change to several entities"));
        }
        let updates = updates.iter().filter_map(Value::as_object);
        return updates
            .map(|update| parse_request(non_empty_text(update, "id").unwrap_or_default(), update))
            .collect();
    }
    if let Some(ids) = array_argument("ids") {
        if arguments.contains_key("ifHash") {
            return Err(Error::bad_input("ifHash: one hash cannot match several files")
                .hint("Use updates, with an ifHash in each"));
        }
        return ids
            .iter()
            .filter_map(Value::as_str)
            .map(|id| parse_request(id.to_owned(), arguments))
            .collect();
    }
    Ok(vec![parse_request(non_empty_text(arguments, "id").unwrap_or_default(), arguments)?])
}

fn parse_changes(arguments: &Map<String, Value>) -> EntityChanges {
    let mut attributes: IndexMap<String, Option<String>> = IndexMap::new();
    for name in ATTRIBUTE_ARGUMENTS {
        if let Some(value) = arguments.get(name).and_then(Value::as_str) {
            attributes.insert(name.to_owned(), Some(value.to_owned()));
        }
    }
    for (name, value) in arguments.get("attrs").and_then(Value::as_object).into_iter().flatten() {
        attributes.insert(name.clone(), value.as_str().map(str::to_owned));
    }
    EntityChanges {
        attributes,
        check: parse_criteria(arguments.get("check")),
        uncheck: parse_criteria(arguments.get("uncheck")),
        resolution: non_empty_text(arguments, "resolve"),
    }
}

fn parse_criteria(argument: Option<&Value>) -> Vec<CriterionSelector> {
    let parse_selector = |value: &Value| match value {
        Value::String(text) => Some(CriterionSelector::Text(text.clone())),
        Value::Number(number) => Some(CriterionSelector::Number(
            number.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0),
        )),
        _ => None,
    };
    match argument {
        Some(Value::Array(values)) => values.iter().filter_map(parse_selector).collect(),
        Some(value) => parse_selector(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// An entity's file before and after its changes.
struct EntityEdit {
    id: String,
    kind: &'static str,
    file: String,
    before: String,
    after: String,
}

impl EntityEdit {
    fn is_different(&self) -> bool {
        self.before != self.after
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
        let entity = require_entity(&plan.index, &request.id)?;
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
                format!("{} is the id of several files", request.id),
            )
            .hint(format!("Give each file its own id: {}", files_with_id.join(", "))));
        }
        if edits.iter().any(|edit| edit.file == entity.file) {
            return Err(Error::bad_input(format!("{} is listed twice", request.id))
                .hint("Combine its changes in one update"));
        }
        let text = plan.dir.read_plan_file(&entity.file).map_err(errors::io_error)?;
        let before = text.ok_or_else(|| errors::id_not_found(&request.id, &[]))?;
        let current_hash = hash_text(&before);
        if request.if_hash.as_ref().is_some_and(|expected| *expected != current_hash) {
            return Err(errors::entity_changed(&request.id, &entity.file, Some(&current_hash)));
        }
        let after = request
            .changes
            .apply(&before, &today)
            .map_err(|error| errors::edit_failed(&request.id, error))?;
        let (id, kind, file) = (entity.label().to_owned(), entity.kind.as_str(), entity.file.clone());
        edits.push(EntityEdit { id, kind, file, before, after });
    }
    Ok(edits)
}

fn to_response(edits: &[EntityEdit], dry_run: bool) -> Value {
    let entities: Vec<Value> = edits
        .iter()
        .map(|edit| {
            let mut entry = json!({
                "id": edit.id,
                "type": edit.kind,
                "file": edit.file,
                "changed": edit.is_different(),
                "hash": hash_text(if dry_run { &edit.before } else { &edit.after }),
            });
            if let (true, Some(entry)) = (dry_run, entry.as_object_mut()) {
                entry.insert("diff".into(), unified_diff(&edit.file, Some(&edit.before), &edit.after).into());
            }
            entry
        })
        .collect();
    let count = edits.iter().filter(|edit| edit.is_different()).count();
    json!({ "dryRun": dry_run, "changed": count, "entities": entities })
}
