//! Tags: what reads of this scheme depend on and what its writes touch.
//!
//! Each list has its own tag, so a subscriber of one environment's tables is not notified about another's. The tags
//! without an id (`any_…`) belong to the flat lists over the whole tenant. A parent's payload contains the number of
//! its children (`environmentCount`, `tableCount`), so creating or removing a child also touches the parent.

use quad_core::Tag;

use crate::environment::Environment;
use crate::project::Project;
use crate::table::Table;

/// `resources/list`.
pub(crate) fn listing() -> Tag {
    Tag::resource_list("bkend")
}

/// The list of organizations.
pub(crate) fn organizations() -> Tag {
    Tag::new("bkend:orgs")
}

/// One organization.
pub(crate) fn organization(id: &str) -> Tag {
    Tag::new(format!("bkend:org:{id}"))
}

/// The projects of one organization.
pub(crate) fn projects(organization: &str) -> Tag {
    Tag::new(format!("bkend:projects:{organization}"))
}

/// The projects of the tenant.
pub(crate) fn any_projects() -> Tag {
    Tag::new("bkend:projects")
}

/// One project.
pub(crate) fn project(id: &str) -> Tag {
    Tag::new(format!("bkend:project:{id}"))
}

/// The environments of one project.
pub(crate) fn environments(project: &str) -> Tag {
    Tag::new(format!("bkend:envs:{project}"))
}

/// The environments of the tenant.
pub(crate) fn any_environments() -> Tag {
    Tag::new("bkend:envs")
}

/// One environment.
pub(crate) fn environment(id: &str) -> Tag {
    Tag::new(format!("bkend:env:{id}"))
}

/// The tables of one environment.
pub(crate) fn tables(environment: &str) -> Tag {
    Tag::new(format!("bkend:tables:{environment}"))
}

/// The tables of the tenant.
pub(crate) fn any_tables() -> Tag {
    Tag::new("bkend:tables")
}

/// One table's definition.
pub(crate) fn table(id: &str) -> Tag {
    Tag::new(format!("bkend:table:{id}"))
}

/// One table's rows.
pub(crate) fn rows(table: &str) -> Tag {
    Tag::new(format!("bkend:rows:{table}"))
}

/// Touched when an organization is created or changed.
pub(crate) fn for_organization_change(id: &str) -> Vec<Tag> {
    vec![organizations(), organization(id), listing()]
}

/// Touched when a project is created, changed or deleted.
pub(crate) fn for_project_change(changed: &Project) -> Vec<Tag> {
    vec![projects(changed.organization_id.as_str()), any_projects(), project(changed.id.as_str()), listing()]
}

/// Touched when an environment is created or deleted; includes the project, which has its count.
pub(crate) fn for_environment_change(changed: &Environment) -> Vec<Tag> {
    vec![
        environments(changed.project_id.as_str()),
        any_environments(),
        environment(changed.id.as_str()),
        project(changed.project_id.as_str()),
        projects(changed.organization_id.as_str()),
        listing(),
    ]
}

/// Touched when a table's definition changes.
pub(crate) fn for_table_change(changed: &Table) -> Vec<Tag> {
    vec![tables(changed.environment_id.as_str()), any_tables(), table(changed.id.as_str())]
}

/// Touched when a table is created or deleted; includes the environment, which has its count.
pub(crate) fn for_table_set_change(changed: &Table) -> Vec<Tag> {
    let mut touched = for_table_change(changed);
    touched.push(environment(changed.environment_id.as_str()));
    touched.push(environments(changed.project_id.as_str()));
    touched.push(rows(changed.id.as_str()));
    touched
}
