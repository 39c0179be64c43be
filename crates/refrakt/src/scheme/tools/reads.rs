//! The tools that only read.

use std::sync::Arc;

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{Error, ReadSet, Result, Tool};
use quad_runes::catalogue::Catalogue;
use serde_json::{Map, Value, json};

use super::schema::{allowed_values, boolean, input_schema, one_of, site, string};
use super::{non_empty_text, output};
use crate::limits::{CONTENT_BYTES_MAX, NEXT_COUNT_MAX};
use crate::page_lint::{self, Severity};
use crate::plan::next::{self, NextFilter};
use crate::plan::validate::validate;
use crate::plan::{EntityType, IndexFilter, ids};
use crate::project::Site;
use crate::project_cache::ProjectCache;
use crate::scheme::query::{ResourceQuery, hash_text, require_entity, require_plan, require_site};
use crate::scheme::routes::{FORMATS, READ, TYPES};
use crate::scheme::tags::ProjectTags;
use crate::scheme::{Refrakt, errors, runes};

pub(super) fn read_tool(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    schema: Value,
) -> Tool {
    Tool::new(name, title, description, schema, READ, ToolEffect::Reads)
}

pub(super) fn tools() -> Vec<Tool> {
    let mut tools = project_tools();
    tools.extend(super::pages::tools());
    tools.extend(plan_tools());
    tools
}

fn project_tools() -> Vec<Tool> {
    vec![
        read_tool(
            "refrakt.detect",
            "Detect the project",
            "Says what this project is: plan folder, sites, plugins, and what is wrong with its configuration. The same as refrakt://detect.",
            input_schema(&[], &[]),
        ),
        read_tool(
            "refrakt.plugins_list",
            "List plugins",
            "Lists the project's plugins: installed version, where each was found, whether its runes are known here.",
            input_schema(&[], &[]),
        ),
        read_tool(
            "refrakt.reference",
            "Rune reference",
            "Says how runes are written, all of a site or one: attributes, values, defaults, content. The same as refrakt://reference.",
            input_schema(
                &[
                    ("site", site()),
                    ("rune", string("One rune, by name or alias")),
                    ("format", one_of(&FORMATS, "json (default) or markdown")),
                ],
                &[],
            ),
        ),
        read_tool(
            "refrakt.contracts",
            "Structure contracts",
            "Says what markup every rune of a site promises. The same as refrakt://contracts.",
            input_schema(&[("site", site())], &[]),
        ),
        read_tool(
            "refrakt.runes",
            "List runes",
            "Lists the runes of a site in a line each, by package. The same as refrakt://runes.",
            input_schema(&[("site", site())], &[]),
        ),
        read_tool(
            "refrakt.inspect",
            "Show a rune at work",
            "Renders a rune's example with the attributes given: HTML, selectors, the engine's configuration. One attribute may be all, which shows each of its values. The same as refrakt://rune/{name}; without a site in the project, with all official runes.",
            input_schema(
                &[
                    ("rune", string("The rune, by name or alias")),
                    (
                        "attributes",
                        json!({
                            "type": "object",
                            "description": "Attributes of the rune by name",
                            "additionalProperties": {"type": ["string", "number", "boolean", "array", "object"]},
                        }),
                    ),
                    ("site", site()),
                ],
                &["rune"],
            ),
        ),
        read_tool(
            "refrakt.render",
            "Render a text",
            "Renders any Markdoc text with the runes of a site to HTML, with everything in it that a style sheet can select. Without a site in the project, with all official runes.",
            input_schema(
                &[("source", string("The text, as it would stand in its file")), ("site", site())],
                &["source"],
            ),
        ),
        read_tool(
            "refrakt.validate_content",
            "Check a page",
            "Checks a Markdoc text against the runes of a site: broken tags, unknown runes and attributes, missing and invalid values, each with line and column. Without a site in the project, against all official runes.",
            input_schema(
                &[("content", string("The text, as it would stand in its file")), ("site", site())],
                &["content"],
            ),
        ),
    ]
}

fn plan_tools() -> Vec<Tool> {
    let milestone = || string("Only what belongs to this milestone");
    let tag = || string("Only what has this tag");
    let assignee = || string("Only what this person or agent does");
    let id = || string("The entity's id, such as WORK-012; of a milestone its name");
    let types_with_ids = &TYPES[..4];
    vec![
        read_tool(
            "plan.index",
            "List plan entities",
            "Lists the entities of the plan with id, type, status and file. The same as refrakt://plan/index.",
            input_schema(
                &[
                    ("type", one_of(&TYPES, "Only this type")),
                    ("status", one_of(&allowed_values("status"), "Only in this state")),
                    ("milestone", milestone()),
                    ("tag", tag()),
                    ("assignee", assignee()),
                ],
                &[],
            ),
        ),
        read_tool(
            "plan.status",
            "Plan status",
            "Says how the plan stands: counts, milestone progress, what is blocked, ready and done. The same as refrakt://plan/status.",
            input_schema(
                &[("milestone", string("Show the progress of this milestone instead of the current one"))],
                &[],
            ),
        ),
        read_tool(
            "plan.entity",
            "Read a plan entity",
            "Gives one entity's Markdoc source with its hash, which plan.update takes as ifHash. The same text as refrakt://plan/{type}/{id}.",
            input_schema(&[("type", one_of(&TYPES, "Its type, if two share the id")), ("id", id())], &["id"]),
        ),
        read_tool(
            "plan.context",
            "Everything about a plan entity",
            "Gives an entity with the specifications, decisions and dependencies behind it, in one answer. The same as refrakt://plan/context/{id}.",
            input_schema(&[("id", id())], &["id"]),
        ),
        read_tool(
            "plan.next",
            "What to do next",
            "Lists what can be started now, the most important and then the simplest first: its state says so, and nothing that it waits for is open.",
            input_schema(
                &[
                    ("milestone", milestone()),
                    ("tag", tag()),
                    ("assignee", assignee()),
                    ("type", one_of(&["work", "bug", "all"], "work, bug or all (default)")),
                    (
                        "count",
                        json!({"type": "integer", "minimum": 1, "maximum": NEXT_COUNT_MAX, "default": 1}),
                    ),
                ],
                &[],
            ),
        ),
        read_tool(
            "plan.next-id",
            "Next free id",
            "Gives the next free id of a type, and the highest that is taken. plan.create takes it by itself.",
            input_schema(&[("type", one_of(types_with_ids, "The type"))], &["type"]),
        ),
        read_tool(
            "plan.validate",
            "Check the plan",
            "Checks the whole plan: broken references, values outside their vocabulary, rings of dependencies, missing sections, and more.",
            input_schema(&[("strict", boolean("Count warnings as errors"))], &[]),
        ),
    ]
}

/// Calls one.
pub(super) async fn call(refrakt: &Refrakt, call: ToolCall<'_>) -> Result<ToolResult> {
    let (name, arguments) = (call.tool.name, call.arguments);
    let run = move |project: Option<&ProjectCache>| execute(name, &arguments, project);
    let ((value, basis), version) = refrakt.with_project(call.caller, run).await?;
    Ok(ToolResult::read_only(output(value), basis.merge(&ReadSet::at_version(version))))
}

/// The answer and what it rests on, but for the version.
fn execute(
    name: &str,
    arguments: &Map<String, Value>,
    project: Option<&ProjectCache>,
) -> Result<(Value, ReadSet)> {
    if let Some(query) = query_for_tool(name, arguments) {
        let document = query.execute(project)?;
        let value = match document.mime_type {
            "text/markdown" => json!({ "markdown": &*document.text }),
            _ => document.value()?,
        };
        return Ok((value, document.tags.into_iter().fold(ReadSet::default(), ReadSet::with_tag)));
    }
    match name {
        "refrakt.plugins_list" => Ok(list_plugins(project)),
        "refrakt.validate_content" => validate_content(arguments, project),
        "refrakt.inspect" => inspect(arguments, project),
        "refrakt.render" => render(arguments, project),
        _ => execute_plan_tool(name, arguments, project.ok_or_else(|| errors::plan_missing(None))?),
    }
}

/// The resource that a tool mirrors.
fn query_for_tool(name: &str, arguments: &Map<String, Value>) -> Option<ResourceQuery> {
    let text = |name: &str| non_empty_text(arguments, name);
    Some(match name {
        "refrakt.detect" => ResourceQuery::Detect,
        "refrakt.reference" => ResourceQuery::Reference {
            site: text("site"),
            rune: text("rune"),
            markdown: text("format").as_deref() == Some("markdown"),
        },
        "refrakt.contracts" => ResourceQuery::Contracts { site: text("site") },
        "refrakt.runes" => ResourceQuery::Runes { site: text("site") },
        "plan.index" => ResourceQuery::Index(IndexFilter {
            kind: text("type").as_deref().and_then(EntityType::from_tag),
            status: text("status"),
            milestone: text("milestone"),
            tag: text("tag"),
            assignee: text("assignee"),
        }),
        "plan.status" => ResourceQuery::Status { milestone: text("milestone") },
        "plan.context" => ResourceQuery::Context { id: text("id").unwrap_or_default() },
        _ => return super::pages::query_for_tool(name, text),
    })
}

fn list_plugins(project: Option<&ProjectCache>) -> (Value, ReadSet) {
    let Some(project) = project else { return (json!({ "plugins": [] }), ReadSet::default()) };
    let snapshot = project.project_snapshot();
    let plugins: Vec<Value> = snapshot
        .project
        .plugins
        .iter()
        .map(|plugin| {
            let mut entry = plugin.runes_entry();
            if let Some(entry) = entry.as_object_mut() {
                entry.insert("source".into(), plugin.source.as_str().into());
                let namespace = plugin.package().map(|package| package.namespace.as_str());
                entry.insert("namespace".into(), namespace.into());
            }
            entry
        })
        .collect();
    (
        json!({ "plugins": plugins }),
        ReadSet::default().with_tag(ProjectTags::from_path(project.root()).sites()),
    )
}

/// The runes that a text is read with: those of the site that is meant, or all official ones where there is no site.
fn catalogue_for(
    arguments: &Map<String, Value>,
    project: Option<&ProjectCache>,
) -> Result<(Option<Site>, Arc<Catalogue>, ReadSet)> {
    let requested_site = non_empty_text(arguments, "site");
    let snapshot = project.map(ProjectCache::project_snapshot);
    let basis = project.map_or_else(ReadSet::default, |project| {
        ReadSet::default().with_tag(ProjectTags::from_path(project.root()).sites())
    });
    match &snapshot {
        Some(snapshot) if requested_site.is_some() || !snapshot.project.sites.is_empty() => {
            let site = require_site(snapshot, requested_site.as_deref())?;
            Ok((Some(site.clone()), site.catalogue.clone(), basis))
        }
        _ if requested_site.is_none() => Ok((None, Arc::new(Catalogue::all_builtin()), basis)),
        _ => Err(errors::site_error(&crate::project::SiteError::Missing, None)),
    }
}

fn inspect(arguments: &Map<String, Value>, project: Option<&ProjectCache>) -> Result<(Value, ReadSet)> {
    let (site, catalogue, basis) = catalogue_for(arguments, project)?;
    let attribute_arguments = arguments.get("attributes").and_then(Value::as_object);
    let attributes: Vec<(String, String)> = attribute_arguments
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let name = non_empty_text(arguments, "rune").unwrap_or_default();
    let preview = runes::inspect(site.as_ref(), &catalogue, &name, &attributes)?;
    // A structured result is an object.
    let value = if preview.is_array() { json!({ "items": preview }) } else { preview };
    Ok((value, basis))
}

fn render(arguments: &Map<String, Value>, project: Option<&ProjectCache>) -> Result<(Value, ReadSet)> {
    let (_, catalogue, basis) = catalogue_for(arguments, project)?;
    let source = arguments.get("source").and_then(Value::as_str).unwrap_or_default();
    Ok((runes::render(&catalogue, source)?, basis))
}

fn validate_content(
    arguments: &Map<String, Value>,
    project: Option<&ProjectCache>,
) -> Result<(Value, ReadSet)> {
    let content = arguments.get("content").and_then(Value::as_str).unwrap_or_default();
    if content.len() > CONTENT_BYTES_MAX {
        return Err(Error::new(
            quad_core::Kind::Limit,
            "CONTENT_TOO_LONG",
            "The text is too long to be checked",
        )
        .hint("Split it, as the page would have to be")
        .with_detail("limit_bytes", CONTENT_BYTES_MAX));
    }
    let (site, catalogue, basis) = catalogue_for(arguments, project)?;
    let findings = page_lint::lint_page(content, &catalogue);
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let value = json!({
        "site": site.map(|site| site.name),
        "valid": count(Severity::Error) == 0,
        "findings": findings.iter().map(page_lint::Finding::to_json).collect::<Vec<_>>(),
        "counts": { "errors": count(Severity::Error), "warnings": count(Severity::Warning) },
    });
    Ok((value, basis))
}

fn execute_plan_tool(
    name: &str,
    arguments: &Map<String, Value>,
    project: &ProjectCache,
) -> Result<(Value, ReadSet)> {
    let plan = require_plan(project)?;
    let index = &plan.index;
    let project_tags = ProjectTags::from_path(project.root());
    let basis = ReadSet::default().with_tag(project_tags.plan());
    let text = |name: &str| non_empty_text(arguments, name);
    let value = match name {
        "plan.entity" => {
            let id = text("id").unwrap_or_default();
            let entity = match text("type").as_deref().and_then(EntityType::from_tag) {
                Some(kind) => index.find(kind, &id).map_err(|missing| errors::entity_not_found(&missing))?,
                None => require_entity(index, &id)?,
            };
            let source = plan.dir.read_plan_file(&entity.file).map_err(errors::io_error)?;
            let source = source.ok_or_else(|| errors::id_not_found(&id, &[]))?;
            json!({
                "id": entity.label(), "type": entity.kind.as_str(), "file": entity.file,
                "hash": hash_text(&source), "source": source,
            })
        }
        "plan.next" => {
            let filter = NextFilter {
                milestone: text("milestone"),
                tag: text("tag"),
                assignee: text("assignee"),
                kind: text("type").as_deref().and_then(EntityType::from_tag),
            };
            let count = arguments.get("count").and_then(Value::as_u64).unwrap_or(1);
            let count = usize::try_from(count).unwrap_or(NEXT_COUNT_MAX).min(NEXT_COUNT_MAX);
            next::to_json(&next::next_tasks(index, &filter, count))
        }
        "plan.next-id" => {
            let kind = text("type").as_deref().and_then(EntityType::from_tag);
            let next = kind.and_then(|kind| ids::next_id(index, kind));
            next.ok_or_else(|| Error::internal("a type without ids"))?.to_json()
        }
        "plan.validate" => {
            let strict = arguments.get("strict").and_then(Value::as_bool).unwrap_or(false);
            validate(index, strict).to_json()
        }
        _ => return Err(Error::internal(format!("tool {name} is published but not implemented"))),
    };
    Ok((value, basis))
}
