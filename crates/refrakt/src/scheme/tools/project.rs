//! The tools about the project and its runes.

use std::sync::Arc;

use quad_core::{Error, Result, ToolEntry};
use quad_runes::catalogue::Catalogue;
use serde_json::{Value, json};

use super::schema::{object, site, string, string_enum};
use super::{ToolArguments, read_project, read_resource, read_tool};
use crate::diagnostic::Severity;
use crate::limits::CONTENT_BYTES_MAX;
use crate::page_lint;
use crate::project::Site;
use crate::project_cache::ProjectCache;
use crate::scheme::query::{ResourceQuery, require_site};
use crate::scheme::routes::FORMATS;
use crate::scheme::{Refrakt, errors, runes};

pub(super) fn tools() -> Vec<ToolEntry<Refrakt>> {
    let mut tools = resource_tools();
    tools.extend(rune_tools());
    tools
}

/// The tools that mirror resources about the project, and the list of plugins.
fn resource_tools() -> Vec<ToolEntry<Refrakt>> {
    vec![
        ToolEntry::new(
            read_tool(
                "refrakt.detect",
                "Detect the project",
                "Says what this project is: plan folder, sites, plugins, and what is wrong with its configuration. The same as refrakt://detect.",
                object(&[], &[]),
            ),
            |refrakt, call| Box::pin(read_resource(refrakt, call, |_| ResourceQuery::Detect)),
        ),
        ToolEntry::new(
            read_tool(
                "refrakt.plugins_list",
                "List plugins",
                "Lists the project's plugins: installed version, where each was found, whether its runes are known here.",
                object(&[], &[]),
            ),
            |refrakt, call| Box::pin(read_project(refrakt, call, list_plugins)),
        ),
        ToolEntry::new(
            read_tool(
                "refrakt.reference",
                "Rune reference",
                "Says how runes are written, all of a site or one: attributes, values, defaults, content. The same as refrakt://reference.",
                object(
                    &[
                        ("site", site()),
                        ("rune", string("One rune, by name or alias")),
                        ("format", string_enum(&FORMATS, "json (default) or markdown")),
                    ],
                    &[],
                ),
            ),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Reference {
                    site: arguments.text("site"),
                    rune: arguments.text("rune"),
                    markdown: arguments.text("format").as_deref() == Some("markdown"),
                }))
            },
        ),
        ToolEntry::new(
            read_tool(
                "refrakt.contracts",
                "Structure contracts",
                "Says what markup every rune of a site promises. The same as refrakt://contracts.",
                object(&[("site", site())], &[]),
            ),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Contracts {
                    site: arguments.text("site"),
                }))
            },
        ),
        ToolEntry::new(
            read_tool(
                "refrakt.runes",
                "List runes",
                "Lists the runes of a site in a line each, by package. The same as refrakt://runes.",
                object(&[("site", site())], &[]),
            ),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Runes {
                    site: arguments.text("site"),
                }))
            },
        ),
    ]
}

/// The tools that render and check with the runes of a site.
fn rune_tools() -> Vec<ToolEntry<Refrakt>> {
    vec![
        ToolEntry::new(
            read_tool(
                "refrakt.inspect",
                "Render a rune's example",
                "Renders a rune's example with the attributes given: HTML, selectors, the engine's configuration. One attribute may be all, which shows each of its values. The same as refrakt://rune/{name}; without a site in the project, with all official runes.",
                object(
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
            |refrakt, call| Box::pin(read_project(refrakt, call, inspect)),
        ),
        ToolEntry::new(
            read_tool(
                "refrakt.render",
                "Render a text",
                "Renders any Markdoc text with the runes of a site to HTML, with everything in it that a style sheet can select. Without a site in the project, with all official runes.",
                object(&[("source", string("The text, as in a file")), ("site", site())], &["source"]),
            ),
            |refrakt, call| Box::pin(read_project(refrakt, call, render)),
        ),
        ToolEntry::new(
            read_tool(
                "refrakt.validate_content",
                "Check a page",
                "Checks a Markdoc text against the runes of a site: broken tags, unknown runes and attributes, missing and invalid values, each with line and column. Without a site in the project, against all official runes.",
                object(&[("content", string("The text, as in a file")), ("site", site())], &["content"]),
            ),
            |refrakt, call| Box::pin(read_project(refrakt, call, validate_content)),
        ),
    ]
}

fn list_plugins(_: &ToolArguments, project: Option<&ProjectCache>) -> Result<Value> {
    let Some(project) = project else { return Ok(json!({ "plugins": [] })) };
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
    Ok(json!({ "plugins": plugins }))
}

/// The runes for a text: those of the selected site, or all official ones if the project has no site.
fn catalogue_for(
    arguments: &ToolArguments,
    project: Option<&ProjectCache>,
) -> Result<(Option<Site>, Arc<Catalogue>)> {
    let requested_site = arguments.text("site");
    let snapshot = project.map(ProjectCache::project_snapshot);
    match &snapshot {
        Some(snapshot) if requested_site.is_some() || !snapshot.project.sites.is_empty() => {
            let site = require_site(snapshot, requested_site.as_deref())?;
            Ok((Some(site.clone()), site.catalogue.clone()))
        }
        _ if requested_site.is_none() => Ok((None, Arc::new(Catalogue::all_builtin()))),
        _ => Err(errors::site_error(&crate::project::SiteError::Missing, None)),
    }
}

fn inspect(arguments: &ToolArguments, project: Option<&ProjectCache>) -> Result<Value> {
    let (site, catalogue) = catalogue_for(arguments, project)?;
    let attribute_arguments = arguments.0.get("attributes").and_then(Value::as_object);
    let attributes: Vec<(String, String)> = attribute_arguments
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let name = arguments.text("rune").unwrap_or_default();
    let preview = runes::inspect(site.as_ref(), &catalogue, &name, &attributes)?;
    // A structured result must be an object.
    Ok(if preview.is_array() { json!({ "items": preview }) } else { preview })
}

fn render(arguments: &ToolArguments, project: Option<&ProjectCache>) -> Result<Value> {
    let (_, catalogue) = catalogue_for(arguments, project)?;
    let source = arguments.0.get("source").and_then(Value::as_str).unwrap_or_default();
    runes::render(&catalogue, source)
}

fn validate_content(arguments: &ToolArguments, project: Option<&ProjectCache>) -> Result<Value> {
    let content = arguments.0.get("content").and_then(Value::as_str).unwrap_or_default();
    if content.len() > CONTENT_BYTES_MAX {
        return Err(Error::new(quad_core::Kind::Limit, "CONTENT_TOO_LONG", "The text is longer than 1 MiB")
            .hint("Send at most 1 MiB; split the page")
            .with_detail("limit_bytes", CONTENT_BYTES_MAX));
    }
    let (site, catalogue) = catalogue_for(arguments, project)?;
    let findings = page_lint::lint_page(content, &catalogue);
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    Ok(json!({
        "site": site.map(|site| site.name),
        "valid": count(Severity::Error) == 0,
        "findings": findings.iter().map(page_lint::Finding::to_json).collect::<Vec<_>>(),
        "counts": { "errors": count(Severity::Error), "warnings": count(Severity::Warning) },
    }))
}
