//! The tools about the project and its runes.

use std::sync::Arc;

use quad_core::{Error, Result, ToolEntry};
use quad_runes::catalogue::Catalogue;
use serde_json::{Value, json};

use super::schema::{free_object, object, site, string, string_enum};
use super::{ToolArguments, read_project, read_resource, read_tool, results};
use crate::diagnostic::Severity;
use crate::limits::CONTENT_BYTES_MAX;
use crate::page_lint;
use crate::project::{Site, SiteError};
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
                "refrakt_detect",
                "Detect the project",
                "Shows what the project has: plan folder, sites, plugins, configuration mistakes.",
                object(&[], &[]),
            )
            .dotted("refrakt.detect")
            .output(results::detect()),
            |refrakt, call| Box::pin(read_resource(refrakt, call, |_| ResourceQuery::Detect)),
        ),
        ToolEntry::new(
            read_tool(
                "refrakt_plugins_list",
                "List plugins",
                "Lists the plugins of the project: installed version, where each was found, whether its runes are known.",
                object(&[], &[]),
            )
            .dotted("refrakt.plugins_list")
            .output(results::plugins()),
            |refrakt, call| Box::pin(read_project(refrakt, call, list_plugins)),
        ),
        ToolEntry::new(
            read_tool(
                "refrakt_reference",
                "Rune reference",
                "Explains how runes (Markdoc tags) are written: attributes, values, content. All runes of a site, or one.",
                object(
                    &[
                        ("site", site()),
                        ("rune", string("Rune name or alias")),
                        ("format", string_enum(&FORMATS, "Default json")),
                    ],
                    &[],
                ),
            )
            .dotted("refrakt.reference")
            .output(results::reference())
            .example(json!({"rune": "hint", "format": "markdown"}))
            .aliases(RUNE_NAMES)
            .with_stored_text(),
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
                "refrakt_contracts",
                "Structure contracts",
                "Shows the markup that each rune of a site promises.",
                object(&[("site", site())], &[]),
            )
            .dotted("refrakt.contracts")
            .output(results::contracts())
            .example(json!({"site": "main"})),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Contracts {
                    site: arguments.text("site"),
                }))
            },
        ),
        ToolEntry::new(
            read_tool(
                "refrakt_runes",
                "List runes",
                "Lists the runes of a site, one line each, by package.",
                object(&[("site", site())], &[]),
            )
            .dotted("refrakt.runes")
            .output(results::runes())
            .example(json!({"site": "main"}))
            .with_stored_text(),
            |refrakt, call| {
                Box::pin(read_resource(refrakt, call, |arguments| ResourceQuery::Runes {
                    site: arguments.text("site"),
                }))
            },
        ),
    ]
}

/// Other names of the argument `rune`.
const RUNE_NAMES: &[(&str, &str)] = &[("name", "rune"), ("tag", "rune")];

/// Refuses `file`, which for other tools is another name of a text. These tools read no file, and would take its name
/// for the text.
const NO_FILE: &[(&str, &str)] = &[("file", "file")];

/// The tools that render and check with the runes of a site.
fn rune_tools() -> Vec<ToolEntry<Refrakt>> {
    vec![
        ToolEntry::new(
            read_tool(
                "refrakt_inspect",
                "Render a rune's example",
                "Renders a rune's example: HTML, selectors, engine configuration. Without a site, with all official runes.",
                object(
                    &[
                        ("rune", string("Rune name or alias")),
                        (
                            "attributes",
                            free_object("Attributes of the rune by name; one value may be all, which shows each value"),
                        ),
                        ("site", site()),
                    ],
                    &["rune"],
                ),
            )
            .dotted("refrakt.inspect")
            .output(results::inspect())
            .example(json!({"rune": "hint", "attributes": {"type": "warning"}}))
            .aliases(RUNE_NAMES)
            .with_stored_text(),
            |refrakt, call| Box::pin(read_project(refrakt, call, inspect)),
        ),
        ToolEntry::new(
            read_tool(
                "refrakt_render",
                "Render a text",
                "Renders Markdoc text to HTML with the runes of a site; without a site, with all official runes.",
                object(&[("source", string("Markdoc text")), ("site", site())], &["source"]),
            )
            .dotted("refrakt.render")
            .output(results::render())
            .example(json!({"source": "{% hint type=\"warning\" %}\nThe pier is wet.\n{% /hint %}"}))
            .aliases(NO_FILE),
            |refrakt, call| Box::pin(read_project(refrakt, call, render)),
        ),
        ToolEntry::new(
            read_tool(
                "refrakt_validate_content",
                "Check a page",
                "Checks Markdoc text against the runes of a site: broken tags, unknown runes, attributes and values, with line and column.",
                object(&[("content", string("Markdoc text of the page")), ("site", site())], &["content"]),
            )
            .dotted("refrakt.validate_content")
            .output(results::findings())
            .example(json!({"content": "# Berths\n\n{% hint %}\nBook early.\n{% /hint %}"}))
            .aliases(NO_FILE),
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
    if let Some(snapshot) = snapshot.filter(|snapshot| !snapshot.project.sites.is_empty()) {
        let site = require_site(&snapshot, requested_site.as_deref())?;
        return Ok((Some(site.clone()), site.catalogue.clone()));
    }
    match requested_site {
        None => Ok((None, Arc::new(Catalogue::all_builtin()))),
        Some(_) => Err(errors::site_error(&SiteError::Missing, None)
            .hint("Leave site out to use all official runes, or declare a site in refrakt.config.json")),
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
    let (site, catalogue) = catalogue_for(arguments, project)?;
    let source = arguments.0.get("source").and_then(Value::as_str).unwrap_or_default();
    runes::render_for_site(site.as_ref(), &catalogue, source)
}

fn validate_content(arguments: &ToolArguments, project: Option<&ProjectCache>) -> Result<Value> {
    let content = arguments.0.get("content").and_then(Value::as_str).unwrap_or_default();
    if content.len() > CONTENT_BYTES_MAX {
        return Err(Error::new(quad_core::Kind::Limit, "CONTENT_TOO_LONG", "content is longer than 1 MiB")
            .hint("Split the page, and check each part")
            .with_detail("limit_bytes", CONTENT_BYTES_MAX));
    }
    let (site, catalogue) = catalogue_for(arguments, project)?;
    let options = site.as_ref().map(Site::parse_options).unwrap_or_default();
    let findings = page_lint::lint_page(content, &catalogue, options);
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    Ok(json!({
        "site": site.map(|site| site.name),
        "valid": count(Severity::Error) == 0,
        "findings": findings.iter().map(page_lint::Finding::to_json).collect::<Vec<_>>(),
        "counts": { "errors": count(Severity::Error), "warnings": count(Severity::Warning) },
    }))
}
