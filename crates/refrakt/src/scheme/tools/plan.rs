//! The tools that read the plan.

use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{Error, ReadSet, Result, ToolEntry};
use serde_json::{Value, json};

use super::schema::{boolean, object, string, string_enum};
use super::{ToolArguments, output, read_plan, read_resource, read_tool, results};
use crate::limits::NEXT_COUNT_MAX;
use crate::plan::next::{self, NextFilter};
use crate::plan::validate::validate;
use crate::plan::{Entity, IndexFilter, ids};
use crate::project_cache::PlanSnapshot;
use crate::scheme::answer_pages::page_of;
use crate::scheme::query::{ResourceQuery, hash_text, require_entity, require_milestone};
use crate::scheme::routes::TYPES;
use crate::scheme::{Refrakt, errors};

pub(super) fn tools() -> Vec<ToolEntry<Refrakt>> {
    let mut tools = resource_tools();
    tools.extend(planning_tools());
    tools
}

fn milestone() -> Value {
    string("Milestone name")
}

fn tag() -> Value {
    string("Only with this tag")
}

fn assignee() -> Value {
    string("Only of this person or agent")
}

fn cursor() -> Value {
    string("nextCursor of the page before")
}

fn id() -> Value {
    string("Id such as WORK-012, milestone name, or title")
}

/// Other names of filters.
const FILTER_NAMES: &[(&str, &str)] =
    &[("tags", "tag"), ("label", "tag"), ("labels", "tag"), ("owner", "assignee"), ("state", "status")];

/// Other names of the argument `id`.
const ID_NAMES: &[(&str, &str)] = &[
    ("entity", "id"),
    ("name", "id"),
    ("title", "id"),
    ("ref", "id"),
    ("task", "id"),
    ("item", "id"),
    ("milestone", "id"),
    ("uri", "id"),
];

/// The tools that mirror resources, and the one that reads an entity with its hash.
fn resource_tools() -> Vec<ToolEntry<Refrakt>> {
    vec![
        ToolEntry::new(
            read_tool(
                "plan_index",
                "List plan entities",
                "Lists plan entities: id, type, status, file.",
                object(
                    &[
                        ("type", string_enum(&TYPES, "Only this type")),
                        ("status", string("Only in this state, such as ready or done")),
                        ("milestone", milestone()),
                        ("tag", tag()),
                        ("assignee", assignee()),
                    ],
                    &[],
                ),
            )
            .dotted("plan.index")
            .output(results::index())
            .example(json!({"type": "work", "status": "ready"}))
            .aliases(FILTER_NAMES)
            .with_stored_text(),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| {
                    ResourceQuery::Index(IndexFilter {
                        kind: arguments.entity_type(),
                        status: arguments.text("status"),
                        milestone: arguments.text("milestone"),
                        tag: arguments.text("tag"),
                        assignee: arguments.text("assignee"),
                    })
                }))
            },
        ),
        ToolEntry::new(
            read_tool(
                "plan_status",
                "Plan status",
                "Summarises the plan: counts, milestone progress, blocked, ready and done tasks.",
                object(
                    &[("milestone", string("Milestone to show instead of the current one")), ("cursor", cursor())],
                    &[],
                ),
            )
            .dotted("plan.status")
            .output(results::status())
            .example(json!({"milestone": "v1.0"}))
            .with_stored_text(),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Status {
                    milestone: arguments.text("milestone"),
                    cursor: arguments.text("cursor"),
                }))
            },
        ),
        ToolEntry::new(
            read_tool(
                "plan_entity",
                "Read a plan entity",
                "Reads the Markdoc source of a plan entity, with the hash that plan_update takes as ifHash.",
                object(&[("type", string_enum(&TYPES, "Type, if two share the id")), ("id", id())], &["id"]),
            )
            .dotted("plan.entity")
            .output(results::entity())
            .example(json!({"id": "WORK-012"}))
            .aliases(ID_NAMES)
            .with_stored_text(),
            |refrakt, call| Box::pin(read_entity(refrakt, call)),
        ),
        ToolEntry::new(
            read_tool(
                "plan_context",
                "Everything about a plan entity",
                "Reads a plan entity with the specs, decisions and dependencies behind it, and the hash of its file.",
                object(&[("id", id())], &["id"]),
            )
            .dotted("plan.context")
            .output(results::context())
            .example(json!({"id": "WORK-012"}))
            .aliases(ID_NAMES)
            .with_stored_text(),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Context {
                    id: arguments.text("id").unwrap_or_default(),
                }))
            },
        ),
    ]
}

/// The tools for planning work.
fn planning_tools() -> Vec<ToolEntry<Refrakt>> {
    // A milestone has a name instead of an id.
    let types_with_ids = &TYPES[..4];
    let limit = json!({"type": "integer", "minimum": 1, "maximum": NEXT_COUNT_MAX, "default": 1, "description": "Number of tasks"});
    vec![
        ToolEntry::new(
            read_tool(
                "plan_next",
                "What to do next",
                "Lists tasks that can start now, most important first, then simplest.",
                object(
                    &[
                        ("milestone", milestone()),
                        ("tag", tag()),
                        ("assignee", assignee()),
                        ("type", string_enum(&["work", "bug", "all"], "Default all")),
                        ("limit", limit),
                    ],
                    &[],
                ),
            )
            .dotted("plan.next")
            .output(results::next())
            .example(json!({"limit": 3}))
            .aliases(FILTER_NAMES)
            .with_stored_text(),
            |refrakt, call| Box::pin(read_plan(refrakt, call, next_tasks)),
        ),
        ToolEntry::new(
            read_tool(
                "plan_next-id",
                "Next free id",
                "Gives the next free id of a type, which plan_create takes by itself. A milestone has a name instead.",
                object(&[("type", string_enum(types_with_ids, "Type of the entity"))], &["type"]),
            )
            .dotted("plan.next-id")
            .output(results::next_id())
            .example(json!({"type": "work"})),
            |refrakt, call| Box::pin(read_plan(refrakt, call, next_id)),
        ),
        ToolEntry::new(
            read_tool(
                "plan_validate",
                "Check the plan",
                "Checks the plan: broken references, invalid values, cyclic dependencies, missing sections.",
                object(&[("strict", boolean("Count warnings as errors")), ("cursor", cursor())], &[]),
            )
            .dotted("plan.validate")
            .output(results::validation())
            .example(json!({"strict": true}))
            .with_stored_text(),
            |refrakt, call| Box::pin(read_plan(refrakt, call, validate_plan)),
        ),
    ]
}

/// Reads an entity from its file if the plan has not been read yet.
async fn read_entity(refrakt: &Refrakt, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = ToolArguments(call.arguments);
    let (kind, id) = (arguments.entity_type(), arguments.text("id").unwrap_or_default());
    let Some(((entity, source), version)) = refrakt.entity_before_plan(call.caller, kind, id).await? else {
        return read_plan(refrakt, ToolCall { arguments: arguments.0, ..call }, entity).await;
    };
    let tags = refrakt.project.tags();
    let read_set = ReadSet::at_version(version).with_tag(tags.entity(&entity)).with_tag(tags.bulk_entities());
    Ok(ToolResult::read_only(output(entity_json(&entity, &source)), read_set))
}

fn entity_json(entity: &Entity, source: &str) -> Value {
    json!({
        "id": entity.label(), "type": entity.kind.as_str(), "file": entity.file,
        "hash": hash_text(source), "source": source,
    })
}

fn entity(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    let (index, id) = (&plan.index, arguments.text("id").unwrap_or_default());
    let entity = require_entity(index, arguments.entity_type(), &id)?;
    let source = plan.dir.read_plan_file(&entity.file).map_err(errors::io_error)?;
    let source = source.ok_or_else(|| errors::id_not_found(&id, &[]))?.text;
    Ok(entity_json(entity, &source))
}

fn next_tasks(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    let filter = NextFilter {
        milestone: arguments
            .text("milestone")
            .map(|name| require_milestone(&plan.index, &name))
            .transpose()?,
        tag: arguments.text("tag"),
        assignee: arguments.text("assignee"),
        kind: arguments.entity_type(),
    };
    let limit = arguments.0.get("limit").and_then(Value::as_u64).unwrap_or(1);
    let limit = usize::try_from(limit).unwrap_or(NEXT_COUNT_MAX).min(NEXT_COUNT_MAX);
    Ok(next::to_json(&next::next_tasks(&plan.index, &filter, limit)))
}

fn next_id(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    let next = arguments.entity_type().and_then(|kind| ids::next_id(&plan.index, kind));
    Ok(next.ok_or_else(|| Error::internal("the type has no ids"))?.to_json())
}

fn validate_plan(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    let is_strict = arguments.flag("strict");
    let list = format!("validate {is_strict} {}", plan.fingerprint());
    page_of(validate(&plan.index, is_strict).to_json(), &list, arguments.text("cursor").as_deref())
}
