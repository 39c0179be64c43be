//! The tools that read the plan.

use quad_core::{Error, Result, ToolEntry};
use serde_json::{Value, json};

use super::schema::{allowed_values, boolean, object, string, string_enum};
use super::{ToolArguments, read_plan, read_resource, read_tool};
use crate::limits::NEXT_COUNT_MAX;
use crate::plan::next::{self, NextFilter};
use crate::plan::validate::validate;
use crate::plan::{IndexFilter, ids};
use crate::project_cache::PlanSnapshot;
use crate::scheme::query::{ResourceQuery, hash_text, require_entity};
use crate::scheme::routes::TYPES;
use crate::scheme::{Refrakt, errors};

pub(super) fn tools() -> Vec<ToolEntry<Refrakt>> {
    let mut tools = resource_tools();
    tools.extend(planning_tools());
    tools
}

fn milestone() -> Value {
    string("Only what belongs to this milestone")
}

fn tag() -> Value {
    string("Only what has this tag")
}

fn assignee() -> Value {
    string("Only what this person or agent does")
}

fn id() -> Value {
    string("The entity's id, such as WORK-012; of a milestone its name")
}

/// The tools that mirror resources, and the one that reads an entity with its hash.
fn resource_tools() -> Vec<ToolEntry<Refrakt>> {
    vec![
        ToolEntry::new(
            read_tool(
                "plan.index",
                "List plan entities",
                "Lists the entities of the plan with id, type, status and file. The same as refrakt://plan/index.",
                object(
                    &[
                        ("type", string_enum(&TYPES, "Only this type")),
                        ("status", string_enum(&allowed_values("status"), "Only in this state")),
                        ("milestone", milestone()),
                        ("tag", tag()),
                        ("assignee", assignee()),
                    ],
                    &[],
                ),
            ),
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
                "plan.status",
                "Plan status",
                "Says how the plan stands: counts, milestone progress, what is blocked, ready and done. The same as refrakt://plan/status.",
                object(
                    &[(
                        "milestone",
                        string("Show the progress of this milestone instead of the current one"),
                    )],
                    &[],
                ),
            ),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Status {
                    milestone: arguments.text("milestone"),
                }))
            },
        ),
        ToolEntry::new(
            read_tool(
                "plan.entity",
                "Read a plan entity",
                "Gives one entity's Markdoc source with its hash, which plan.update takes as ifHash. The same text as refrakt://plan/{type}/{id}.",
                object(
                    &[("type", string_enum(&TYPES, "Its type, if two share the id")), ("id", id())],
                    &["id"],
                ),
            ),
            |refrakt, call| Box::pin(read_plan(refrakt, call, entity)),
        ),
        ToolEntry::new(
            read_tool(
                "plan.context",
                "Everything about a plan entity",
                "Gives an entity with the specifications, decisions and dependencies behind it, in one answer. The same as refrakt://plan/context/{id}.",
                object(&[("id", id())], &["id"]),
            ),
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
    vec![
        ToolEntry::new(
            read_tool(
                "plan.next",
                "What to do next",
                "Lists what can be started now, the most important and then the simplest first: its state says so, and nothing that it waits for is open.",
                object(
                    &[
                        ("milestone", milestone()),
                        ("tag", tag()),
                        ("assignee", assignee()),
                        ("type", string_enum(&["work", "bug", "all"], "work, bug or all (default)")),
                        (
                            "count",
                            json!({"type": "integer", "minimum": 1, "maximum": NEXT_COUNT_MAX, "default": 1}),
                        ),
                    ],
                    &[],
                ),
            ),
            |refrakt, call| Box::pin(read_plan(refrakt, call, next_tasks)),
        ),
        ToolEntry::new(
            read_tool(
                "plan.next-id",
                "Next free id",
                "Gives the next free id of a type, and the highest that is taken. plan.create takes it by itself.",
                object(&[("type", string_enum(types_with_ids, "The type"))], &["type"]),
            ),
            |refrakt, call| Box::pin(read_plan(refrakt, call, next_id)),
        ),
        ToolEntry::new(
            read_tool(
                "plan.validate",
                "Check the plan",
                "Checks the whole plan: broken references, values outside their vocabulary, rings of dependencies, missing sections, and more.",
                object(&[("strict", boolean("Count warnings as errors"))], &[]),
            ),
            |refrakt, call| Box::pin(read_plan(refrakt, call, validate_plan)),
        ),
    ]
}

fn entity(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    let (index, id) = (&plan.index, arguments.text("id").unwrap_or_default());
    let entity = match arguments.entity_type() {
        Some(kind) => index.find(kind, &id).map_err(|missing| errors::entity_not_found(&missing))?,
        None => require_entity(index, &id)?,
    };
    let source = plan.dir.read_plan_file(&entity.file).map_err(errors::io_error)?;
    let source = source.ok_or_else(|| errors::id_not_found(&id, &[]))?;
    Ok(json!({
        "id": entity.label(), "type": entity.kind.as_str(), "file": entity.file,
        "hash": hash_text(&source), "source": source,
    }))
}

fn next_tasks(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    let filter = NextFilter {
        milestone: arguments.text("milestone"),
        tag: arguments.text("tag"),
        assignee: arguments.text("assignee"),
        kind: arguments.entity_type(),
    };
    let count = arguments.0.get("count").and_then(Value::as_u64).unwrap_or(1);
    let count = usize::try_from(count).unwrap_or(NEXT_COUNT_MAX).min(NEXT_COUNT_MAX);
    Ok(next::to_json(&next::next_tasks(&plan.index, &filter, count)))
}

fn next_id(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    let next = arguments.entity_type().and_then(|kind| ids::next_id(&plan.index, kind));
    Ok(next.ok_or_else(|| Error::internal("the type has no ids"))?.to_json())
}

fn validate_plan(arguments: &ToolArguments, plan: &PlanSnapshot) -> Result<Value> {
    Ok(validate(&plan.index, arguments.flag("strict")).to_json())
}
