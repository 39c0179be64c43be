//! The tools that only read.

use std::sync::Arc;

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Error, Result, Tool};
use quad_runes::catalogue::Catalogue;
use serde_json::{Map, Value, json};

use super::schema::{input, one_of, site, string, words_of, yes_or_no};
use super::{output, text};
use crate::content::{self, Severity};
use crate::limits::{CONTENT_BYTES_MAX, NEXT_COUNT_MAX};
use crate::live::Live;
use crate::plan::next::{self, NextFilter};
use crate::plan::validate::validate;
use crate::plan::{EntityType, IndexFilter, ids};
use crate::project::Site;
use crate::scheme::question::{Question, chosen, entity_of, hash, plan};
use crate::scheme::routes::{FORMATS, READ, TYPES};
use crate::scheme::tags::Root;
use crate::scheme::{Refrakt, refusal, runes};

pub(super) fn reader(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    schema: Value,
) -> Tool {
    Tool::new(name, title, description, schema, READ, Effect::Reads)
}

pub(super) fn tools() -> Vec<Tool> {
    let mut tools = project_tools();
    tools.extend(super::pages::tools());
    tools.extend(plan_tools());
    tools
}

fn project_tools() -> Vec<Tool> {
    vec![
        reader(
            "refrakt.detect",
            "Detect the project",
            "Says what this project is: plan folder, sites, plugins, and what is wrong with its configuration. The same as refrakt://detect.",
            input(&[], &[]),
        ),
        reader(
            "refrakt.plugins_list",
            "List plugins",
            "Lists the project's plugins: installed version, where each was found, whether its runes are known here.",
            input(&[], &[]),
        ),
        reader(
            "refrakt.reference",
            "Rune reference",
            "Says how runes are written, all of a site or one: attributes, values, defaults, content. The same as refrakt://reference.",
            input(
                &[
                    ("site", site()),
                    ("rune", string("One rune, by name or alias")),
                    ("format", one_of(&FORMATS, "json (default) or markdown")),
                ],
                &[],
            ),
        ),
        reader(
            "refrakt.contracts",
            "Structure contracts",
            "Says what markup every rune of a site promises. The same as refrakt://contracts.",
            input(&[("site", site())], &[]),
        ),
        reader(
            "refrakt.runes",
            "List runes",
            "Lists the runes of a site in a line each, by package. The same as refrakt://runes.",
            input(&[("site", site())], &[]),
        ),
        reader(
            "refrakt.inspect",
            "Show a rune at work",
            "Renders a rune's example with the attributes given: HTML, selectors, the engine's configuration. One attribute may be all, which shows each of its values. The same as refrakt://rune/{name}; without a site in the project, with all official runes.",
            input(
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
        reader(
            "refrakt.render",
            "Render a text",
            "Renders any Markdoc text with the runes of a site to HTML, with everything in it that a style sheet can select. Without a site in the project, with all official runes.",
            input(
                &[("source", string("The text, as it would stand in its file")), ("site", site())],
                &["source"],
            ),
        ),
        reader(
            "refrakt.validate_content",
            "Check a page",
            "Checks a Markdoc text against the runes of a site: broken tags, unknown runes and attributes, missing and invalid values, each with line and column. Without a site in the project, against all official runes.",
            input(
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
        reader(
            "plan.index",
            "List plan entities",
            "Lists the entities of the plan with id, type, status and file. The same as refrakt://plan/index.",
            input(
                &[
                    ("type", one_of(&TYPES, "Only this type")),
                    ("status", one_of(&words_of("status"), "Only in this state")),
                    ("milestone", milestone()),
                    ("tag", tag()),
                    ("assignee", assignee()),
                ],
                &[],
            ),
        ),
        reader(
            "plan.status",
            "Plan status",
            "Says how the plan stands: counts, milestone progress, what is blocked, ready and done. The same as refrakt://plan/status.",
            input(
                &[("milestone", string("Show the progress of this milestone instead of the current one"))],
                &[],
            ),
        ),
        reader(
            "plan.entity",
            "Read a plan entity",
            "Gives one entity's Markdoc source with its hash, which plan.update takes as ifHash. The same text as refrakt://plan/{type}/{id}.",
            input(&[("type", one_of(&TYPES, "Its type, if two share the id")), ("id", id())], &["id"]),
        ),
        reader(
            "plan.context",
            "Everything about a plan entity",
            "Gives an entity with the specifications, decisions and dependencies behind it, in one answer. The same as refrakt://plan/context/{id}.",
            input(&[("id", id())], &["id"]),
        ),
        reader(
            "plan.next",
            "What to do next",
            "Lists what can be started now, the most important and then the simplest first: its state says so, and nothing that it waits for is open.",
            input(
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
        reader(
            "plan.next-id",
            "Next free id",
            "Gives the next free id of a type, and the highest that is taken. plan.create takes it by itself.",
            input(&[("type", one_of(types_with_ids, "The type"))], &["type"]),
        ),
        reader(
            "plan.validate",
            "Check the plan",
            "Checks the whole plan: broken references, values outside their vocabulary, rings of dependencies, missing sections, and more.",
            input(&[("strict", yes_or_no("Count warnings as errors"))], &[]),
        ),
    ]
}

/// Calls one.
pub(super) async fn call(refrakt: &Refrakt, call: Call<'_>) -> Result<Called> {
    let (name, arguments) = (call.tool.name, call.arguments);
    let work = move |live: Option<&Live>| answer(name, &arguments, live);
    let ((value, basis), version) = refrakt.look(call.caller, work).await?;
    Ok(Called::read(output(value), basis.and(&Basis::at(version))))
}

/// The answer and what it rests on, but for the version.
fn answer(name: &str, arguments: &Map<String, Value>, live: Option<&Live>) -> Result<(Value, Basis)> {
    if let Some(question) = mirrored(name, arguments) {
        let answer = question.answer(live)?;
        let value = match answer.mime_type {
            "text/markdown" => json!({ "markdown": &*answer.text }),
            _ => answer.value()?,
        };
        return Ok((value, answer.tags.into_iter().fold(Basis::default(), Basis::on)));
    }
    match name {
        "refrakt.plugins_list" => Ok(plugins(live)),
        "refrakt.validate_content" => findings(arguments, live),
        "refrakt.inspect" => inspected(arguments, live),
        "refrakt.render" => rendered(arguments, live),
        _ => of_plan(name, arguments, live.ok_or_else(|| refusal::no_plan(None))?),
    }
}

/// The resource that a tool mirrors.
fn mirrored(name: &str, arguments: &Map<String, Value>) -> Option<Question> {
    let text = |name: &str| text(arguments, name);
    Some(match name {
        "refrakt.detect" => Question::Detect,
        "refrakt.reference" => Question::Reference {
            site: text("site"),
            rune: text("rune"),
            markdown: text("format").as_deref() == Some("markdown"),
        },
        "refrakt.contracts" => Question::Contracts { site: text("site") },
        "refrakt.runes" => Question::Runes { site: text("site") },
        "plan.index" => Question::Index(IndexFilter {
            kind: text("type").as_deref().and_then(EntityType::of_tag),
            status: text("status"),
            milestone: text("milestone"),
            tag: text("tag"),
            assignee: text("assignee"),
        }),
        "plan.status" => Question::Status { milestone: text("milestone") },
        "plan.context" => Question::Context { id: text("id").unwrap_or_default() },
        _ => return super::pages::mirrored(name, text),
    })
}

fn plugins(live: Option<&Live>) -> (Value, Basis) {
    let Some(live) = live else { return (json!({ "plugins": [] }), Basis::default()) };
    let detected = live.detected();
    let plugins: Vec<Value> = detected
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
    (json!({ "plugins": plugins }), Basis::default().on(Root::of(live.root()).sites()))
}

/// The runes that a text is read with: those of the site that is meant, or all official ones where there is no site.
fn runes_of(
    arguments: &Map<String, Value>,
    live: Option<&Live>,
) -> Result<(Option<Site>, Arc<Catalogue>, Basis)> {
    let wanted = text(arguments, "site");
    let detected = live.map(Live::detected);
    let basis = live.map_or_else(Basis::default, |live| Basis::default().on(Root::of(live.root()).sites()));
    match &detected {
        Some(detected) if wanted.is_some() || !detected.project.sites.is_empty() => {
            let site = chosen(detected, wanted.as_deref())?;
            Ok((Some(site.clone()), site.catalogue.clone(), basis))
        }
        _ if wanted.is_none() => Ok((None, Arc::new(Catalogue::all_builtin()), basis)),
        _ => Err(refusal::site(&crate::project::SiteError::Missing, None)),
    }
}

fn inspected(arguments: &Map<String, Value>, live: Option<&Live>) -> Result<(Value, Basis)> {
    let (site, catalogue, basis) = runes_of(arguments, live)?;
    let given = arguments.get("attributes").and_then(Value::as_object);
    let attributes: Vec<(String, String)> = given
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let name = text(arguments, "rune").unwrap_or_default();
    let shown = runes::inspect(site.as_ref(), &catalogue, &name, &attributes)?;
    // A structured result is an object.
    let value = if shown.is_array() { json!({ "items": shown }) } else { shown };
    Ok((value, basis))
}

fn rendered(arguments: &Map<String, Value>, live: Option<&Live>) -> Result<(Value, Basis)> {
    let (_, catalogue, basis) = runes_of(arguments, live)?;
    let source = arguments.get("source").and_then(Value::as_str).unwrap_or_default();
    Ok((runes::render(&catalogue, source)?, basis))
}

fn findings(arguments: &Map<String, Value>, live: Option<&Live>) -> Result<(Value, Basis)> {
    let content = arguments.get("content").and_then(Value::as_str).unwrap_or_default();
    if content.len() > CONTENT_BYTES_MAX {
        return Err(Error::new(
            quad_core::Kind::Limit,
            "CONTENT_TOO_LONG",
            "The text is too long to be checked",
        )
        .hint("Split it, as the page would have to be")
        .fact("limit_bytes", CONTENT_BYTES_MAX));
    }
    let (site, catalogue, basis) = runes_of(arguments, live)?;
    let found = content::validate(content, &catalogue);
    let count = |severity: Severity| found.iter().filter(|finding| finding.severity == severity).count();
    let value = json!({
        "site": site.map(|site| site.name),
        "valid": count(Severity::Error) == 0,
        "findings": found.iter().map(content::Finding::to_json).collect::<Vec<_>>(),
        "counts": { "errors": count(Severity::Error), "warnings": count(Severity::Warning) },
    });
    Ok((value, basis))
}

fn of_plan(name: &str, arguments: &Map<String, Value>, live: &Live) -> Result<(Value, Basis)> {
    let plan = plan(live)?;
    let index = &plan.index;
    let root = Root::of(live.root());
    let basis = Basis::default().on(root.plan());
    let text = |name: &str| text(arguments, name);
    let value = match name {
        "plan.entity" => {
            let id = text("id").unwrap_or_default();
            let entity = match text("type").as_deref().and_then(EntityType::of_tag) {
                Some(kind) => index.find(kind, &id).map_err(|missing| refusal::no_entity(&missing))?,
                None => entity_of(index, &id)?,
            };
            let source = plan.folder.plan_text(&entity.file).map_err(refusal::disk)?;
            let source = source.ok_or_else(|| refusal::no_such_id(&id, &[]))?;
            json!({
                "id": entity.label(), "type": entity.kind.as_str(), "file": entity.file,
                "hash": hash(&source), "source": source,
            })
        }
        "plan.next" => {
            let filter = NextFilter {
                milestone: text("milestone"),
                tag: text("tag"),
                assignee: text("assignee"),
                kind: text("type").as_deref().and_then(EntityType::of_tag),
            };
            let count = arguments.get("count").and_then(Value::as_u64).unwrap_or(1);
            let count = usize::try_from(count).unwrap_or(NEXT_COUNT_MAX).min(NEXT_COUNT_MAX);
            next::to_json(&next::next(index, &filter, count))
        }
        "plan.next-id" => {
            let kind = text("type").as_deref().and_then(EntityType::of_tag);
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
