//! The context: the organization with its projects and environments, in one document.

use quad_core::{Principal, ReadSet, Result};
use quad_store::{Sql, params};
use serde_json::{Value, json};

use crate::{limits, organization, routes, tags};

/// The levels that the caller may see. Callers with equal values share a cached context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextScopes {
    pub projects: bool,
    pub environments: bool,
}

impl ContextScopes {
    pub(crate) fn for_caller(caller: &Principal) -> ContextScopes {
        ContextScopes {
            projects: routes::PROJECT_READ.is_satisfied_by(&caller.scopes),
            environments: routes::ENVIRONMENT_READ.is_satisfied_by(&caller.scopes),
        }
    }

    /// As a word, for the cache key.
    pub(crate) fn cache_key(self) -> String {
        format!("projects={} environments={}", self.projects, self.environments)
    }
}

/// Reads the context.
pub(crate) fn read(sql: &mut dyn Sql, scopes: ContextScopes) -> Result<(Value, ReadSet)> {
    let mut read_set = ReadSet::at_version(sql.version()).with_tag(tags::organizations());
    let mut warnings = Vec::new();
    let organizations = organization::all(sql)?;
    if organizations.is_empty() {
        warnings.push("There is no organization yet; `quad bkend org add` makes one".to_owned());
    }
    let mut projects = Vec::new();
    if scopes.projects {
        read_set = read_set.with_tag(tags::any_projects());
        projects = read_projects(sql, &mut warnings)?;
        if scopes.environments {
            read_set = read_set.with_tag(tags::any_environments());
            fill_environments(sql, &mut projects, &mut warnings)?;
        } else {
            warnings.push("Environments are not shown: this needs the scope environment:read".to_owned());
        }
    } else {
        warnings.push("Projects are not shown: this needs the scope project:read".to_owned());
    }
    let id_and_name = |organization: &organization::Organization| json!({"id": organization.id.as_str(), "name": organization.name});
    let all: Vec<Value> = organizations.iter().take(limits::CONTEXT_PROJECTS).map(id_and_name).collect();
    let context = json!({
        "organization": organizations.first().map(id_and_name),
        "organizations": all,
        "projects": projects,
        "apiEndpoint": null,
        "warnings": warnings,
    });
    Ok((context, read_set))
}

fn read_projects(sql: &mut dyn Sql, warnings: &mut Vec<String>) -> Result<Vec<Value>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        "SELECT id, name, organization_id FROM bkend_project WHERE tenant_id = $1 ORDER BY organization_id, id LIMIT $2",
        params![tenant.as_str(), limits::CONTEXT_PROJECTS as i64 + 1],
    )?;
    if rows.len() > limits::CONTEXT_PROJECTS {
        warnings.push(format!(
            "Only the first {} projects are shown; page through bkend://projects for the rest",
            limits::CONTEXT_PROJECTS
        ));
    }
    rows.iter()
        .take(limits::CONTEXT_PROJECTS)
        .map(|row| {
            Ok(json!({
                "id": row.text(0)?,
                "name": row.text(1)?,
                "organizationId": row.text(2)?,
                "environments": [],
            }))
        })
        .collect()
}

fn fill_environments(sql: &mut dyn Sql, projects: &mut [Value], warnings: &mut Vec<String>) -> Result<()> {
    let Some(last) = projects.last() else { return Ok(()) };
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        "SELECT id, name, status, project_id, organization_id FROM bkend_environment
         WHERE tenant_id = $1 AND (organization_id, project_id) <= ($2, $3)
         ORDER BY organization_id, project_id, id LIMIT $4",
        params![
            tenant.as_str(),
            last["organizationId"].as_str().unwrap_or_default(),
            last["id"].as_str().unwrap_or_default(),
            limits::CONTEXT_ENVIRONMENTS as i64 + 1,
        ],
    )?;
    if rows.len() > limits::CONTEXT_ENVIRONMENTS {
        warnings.push(format!(
            "Only the first {} environments are shown; page through bkend://environments for the rest",
            limits::CONTEXT_ENVIRONMENTS
        ));
    }
    // Both lists have the same order, so they are joined in one pass.
    let mut position = 0;
    for row in rows.iter().take(limits::CONTEXT_ENVIRONMENTS) {
        let project_id = row.text(3)?;
        while projects.get(position).is_some_and(|project| project["id"] != project_id) {
            position += 1;
        }
        let Some(Value::Array(environments)) =
            projects.get_mut(position).map(|project| &mut project["environments"])
        else {
            break;
        };
        let (id, project, organization) = (row.text(0)?, project_id, row.text(4)?);
        environments.push(json!({
            "id": id,
            "name": row.text(1)?,
            "status": row.text(2)?,
            "tablesUri": routes::tables_uri(organization, project, id),
        }));
    }
    Ok(())
}

/// Renders the context as text for people.
pub(crate) fn to_markdown(context: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut output = match context["organization"].as_object() {
        Some(_) => format!(
            "# {}\n\nOrganization `{}`.\n",
            text(&context["organization"]["name"]),
            text(&context["organization"]["id"])
        ),
        None => "# No organization\n".to_owned(),
    };
    for project in context["projects"].as_array().into_iter().flatten() {
        output.push_str(&format!("\n- project **{}** `{}`\n", text(&project["name"]), text(&project["id"])));
        for environment in project["environments"].as_array().into_iter().flatten() {
            output.push_str(&format!(
                "  - environment {} `{}` ({}): tables at {}\n",
                text(&environment["name"]),
                text(&environment["id"]),
                text(&environment["status"]),
                text(&environment["tablesUri"])
            ));
        }
    }
    for warning in context["warnings"].as_array().into_iter().flatten() {
        output.push_str(&format!("\n> {}\n", text(warning)));
    }
    output
}
