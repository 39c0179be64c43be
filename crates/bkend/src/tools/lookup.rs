//! Lookup: from the ids and names in a call to the project, environment or table.
//!
//! If the parts do not belong together, the answer is "not found" and does not say which part is wrong.

use quad_core::Result;
use quad_store::Sql;

use super::Arguments;
use crate::environment::{self, Environment};
use crate::errors;
use crate::project::{self, Project};
use crate::table::{self, Table};

/// The project of a call.
pub(super) fn project(sql: &mut dyn Sql, arguments: &Arguments) -> Result<Project> {
    let id = arguments.required_id("projectId")?;
    match arguments.id("organizationId")? {
        Some(organization) => project::find_at_path(sql, organization, id),
        None => project::find(sql, id),
    }
}

/// The environment of a call, by its id or by its name in a project. The second notation calls it `environment`.
pub(super) fn environment(sql: &mut dyn Sql, arguments: &Arguments) -> Result<Environment> {
    let id_or_name = match arguments.id("environmentId")? {
        Some(id_or_name) => id_or_name,
        None => arguments
            .id("environment")?
            .ok_or_else(|| errors::missing("environmentId", errors::listing_hint("Environment")))?,
    };
    let resolved = match environment::find(sql, id_or_name) {
        Err(error) if error.kind() == quad_core::Kind::NotFound => {
            let Some(project_id) = arguments.id("projectId")? else { return Err(error) };
            environment::find_by_name(sql, project_id, id_or_name)?
        }
        result => result?,
    };
    let is_match = matches_arg(arguments, "organizationId", resolved.organization_id.as_str())?
        && matches_arg(arguments, "projectId", resolved.project_id.as_str())?;
    if is_match { Ok(resolved) } else { Err(errors::not_found("Environment", id_or_name)) }
}

/// The table of a call, by its id or by its name in an environment.
pub(super) fn table(sql: &mut dyn Sql, arguments: &Arguments) -> Result<Table> {
    let id_or_name = arguments.required_id("tableId")?;
    let has_environment = arguments.id("environmentId")?.is_some();
    let resolved = match table::find(sql, id_or_name) {
        Err(error) if error.kind() == quad_core::Kind::NotFound && has_environment => {
            let environment = environment(sql, arguments).map_err(|error| match error.kind() {
                quad_core::Kind::NotFound => errors::not_found("Table", id_or_name),
                _ => error,
            })?;
            table::find_by_name(sql, environment.id.as_str(), id_or_name)?
        }
        result => result?,
    };
    let in_environment = match arguments.id("environmentId")? {
        Some(id_or_name) => {
            id_or_name == resolved.environment_id.as_str()
                || id_or_name.eq_ignore_ascii_case(&resolved.environment_name)
        }
        None => true,
    };
    let is_match = in_environment
        && matches_arg(arguments, "organizationId", resolved.organization_id.as_str())?
        && matches_arg(arguments, "projectId", resolved.project_id.as_str())?;
    if is_match { Ok(resolved) } else { Err(errors::not_found("Table", id_or_name)) }
}

fn matches_arg(arguments: &Arguments, name: &str, actual: &str) -> Result<bool> {
    Ok(arguments.id(name)?.is_none_or(|value| value == actual))
}
