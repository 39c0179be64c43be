//! Places: from the ids and names of a call to the thing it is about.
//!
//! Whatever does not fit together is not found, and the answer does not say which part it was.

use quad_core::Result;
use quad_store::Sql;

use super::Arguments;
use crate::environment::{self, Environment};
use crate::project::{self, Project};
use crate::refusal;
use crate::table::{self, Table};

/// The project that a call names.
pub(super) fn project(sql: &mut dyn Sql, arguments: &Arguments) -> Result<Project> {
    let id = arguments.required_id("projectId")?;
    match arguments.id("organizationId")? {
        Some(organization) => project::find_in(sql, organization, id),
        None => project::find(sql, id),
    }
}

/// The environment that a call names, by its id or by its name in a project. The second dialect calls it `environment`.
pub(super) fn environment(sql: &mut dyn Sql, arguments: &Arguments) -> Result<Environment> {
    let wanted = match arguments.id("environmentId")? {
        Some(wanted) => wanted,
        None => arguments.id("environment")?.ok_or_else(|| refusal::missing("environmentId"))?,
    };
    let found = match environment::find(sql, wanted) {
        Err(error) if error.kind() == quad_core::Kind::NotFound => {
            let Some(owner) = arguments.id("projectId")? else { return Err(error) };
            environment::find_named(sql, owner, wanted)?
        }
        found => found?,
    };
    let agrees = agrees(arguments, "organizationId", found.organization_id.as_str())?
        && agrees(arguments, "projectId", found.project_id.as_str())?;
    if agrees { Ok(found) } else { Err(refusal::not_found("Environment")) }
}

/// The table that a call names, by its id or by its name in an environment.
pub(super) fn table(sql: &mut dyn Sql, arguments: &Arguments) -> Result<Table> {
    let wanted = arguments.required_id("tableId")?;
    let has_environment = arguments.id("environmentId")?.is_some();
    let found = match table::find(sql, wanted) {
        Err(error) if error.kind() == quad_core::Kind::NotFound && has_environment => {
            let environment = environment(sql, arguments).map_err(|error| match error.kind() {
                quad_core::Kind::NotFound => refusal::not_found("Table"),
                _ => error,
            })?;
            table::find_named(sql, environment.id.as_str(), wanted)?
        }
        found => found?,
    };
    let in_environment = match arguments.id("environmentId")? {
        Some(wanted) => {
            wanted == found.environment_id.as_str() || wanted.eq_ignore_ascii_case(&found.environment)
        }
        None => true,
    };
    let agrees = in_environment
        && agrees(arguments, "organizationId", found.organization_id.as_str())?
        && agrees(arguments, "projectId", found.project_id.as_str())?;
    if agrees { Ok(found) } else { Err(refusal::not_found("Table")) }
}

fn agrees(arguments: &Arguments, name: &str, actual: &str) -> Result<bool> {
    Ok(arguments.id(name)?.is_none_or(|given| given == actual))
}
