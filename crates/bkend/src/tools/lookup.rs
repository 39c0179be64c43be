//! Lookup: from the ids and names in a call to what the caller means.
//!
//! A name does where an id is meant, if only one thing has it. The only organization, project or environment is meant if
//! a call names none. What does not belong to the parents that a call names is not found.
//!
//! Each function adds to a read set what its answer depends on.

use quad_core::{Error, Kind, ReadSet, Result, ScopeRequirement};
use quad_store::Sql;
use serde_json::json;

use super::Arguments;
use crate::environment::{self, Environment};
use crate::errors;
use crate::organization::{self, Organization};
use crate::page::Page;
use crate::parents::Parents;
use crate::project::{self, Project};
use crate::table::{self, Table};
use crate::{limits, routes, slug, tags};

/// The organization of a call.
pub(super) fn organization(
    sql: &mut dyn Sql,
    arguments: &Arguments,
    read_set: &mut ReadSet,
) -> Result<Organization> {
    let Some(sent) = arguments.id("organizationId")? else {
        read_set.tags.insert(tags::organizations());
        let (organizations, total) = organization::list_page(sql, Page::FIRST)?;
        return the_only(arguments, organizations, total);
    };
    if let Some(found) = found(organization::find(sql, sent))? {
        read_set.tags.insert(tags::organization(sent));
        return Ok(found);
    }
    read_set.tags.insert(tags::organizations());
    the_one_named(arguments, sent, organization::find_by_name(sql, sent)?)
}

/// The project of a call.
pub(crate) fn project(sql: &mut dyn Sql, arguments: &Arguments, read_set: &mut ReadSet) -> Result<Project> {
    let Some(sent) = arguments.id("projectId")? else {
        let parents = organization_sent(sql, arguments, read_set)?;
        read_set.tags.insert(tags::any_projects());
        let (projects, total) = project::list_page(sql, &parents, Page::FIRST)?;
        return the_only(arguments, projects, total);
    };
    if let Some(found) = found(project::find(sql, sent))? {
        read_set.tags.insert(tags::project(sent));
        let fits = is_in_organization(sql, arguments, found.organization_id.as_str(), read_set)?;
        return if fits { Ok(found) } else { Err(errors::not_found("Project", sent)) };
    }
    let parents = organization_sent(sql, arguments, read_set)?;
    read_set.tags.insert(tags::any_projects());
    the_one_named(arguments, sent, project::find_by_name(sql, &parents, sent)?)
}

/// The environment of a call.
pub(crate) fn environment(
    sql: &mut dyn Sql,
    arguments: &Arguments,
    read_set: &mut ReadSet,
) -> Result<Environment> {
    let Some(sent) = arguments.id("environmentId")? else {
        let parents = project_sent(sql, arguments, read_set)?;
        read_set.tags.insert(tags::any_environments());
        let (environments, total) = environment::list_page(sql, &parents, Page::FIRST)?;
        return the_only(arguments, environments, total);
    };
    if let Some(found) = found(environment::find(sql, sent))? {
        read_set.tags.insert(tags::environment(sent));
        let fits = is_in_project(sql, arguments, found.project_id.as_str(), read_set)?
            && is_in_organization(sql, arguments, found.organization_id.as_str(), read_set)?;
        return if fits { Ok(found) } else { Err(errors::not_found("Environment", sent)) };
    }
    let parents = project_sent(sql, arguments, read_set)?;
    read_set.tags.insert(tags::any_environments());
    the_one_named(arguments, sent, environment::find_by_name(sql, &parents, sent)?)
}

/// The table of a call.
pub(super) fn table(sql: &mut dyn Sql, arguments: &Arguments, read_set: &mut ReadSet) -> Result<Table> {
    let sent = arguments.required("tableId", errors::listing_hint("Table"))?;
    if let Some(found) = found(table::find(sql, sent))? {
        read_set.tags.insert(tags::table(sent));
        let in_environment = arguments.id("environmentId")?.is_none_or(|sent| {
            sent == found.environment_id.as_str() || sent.eq_ignore_ascii_case(&found.environment_name)
        });
        let fits = in_environment
            && is_in_project(sql, arguments, found.project_id.as_str(), read_set)?
            && is_in_organization(sql, arguments, found.organization_id.as_str(), read_set)?;
        return if fits { Ok(found) } else { Err(errors::not_found("Table", sent)) };
    }
    let parents = environment_sent(sql, arguments, read_set)?;
    read_set.tags.insert(tags::any_tables());
    let found = the_one_named(arguments, sent, table::find_by_name(sql, &parents, sent)?)?;
    read_set.tags.insert(tags::table(found.id.as_str()));
    Ok(found)
}

/// The organization that a call names, as a limit; none if it names none.
pub(super) fn organization_sent(
    sql: &mut dyn Sql,
    arguments: &Arguments,
    read_set: &mut ReadSet,
) -> Result<Parents> {
    if arguments.id("organizationId")?.is_none() {
        return Ok(Parents::ANY);
    }
    let found = organization(sql, arguments, read_set)?;
    Ok(Parents { organization: Some(found.id.as_str().to_owned()), ..Parents::ANY })
}

/// The project, or else the organization, that a call names, as a limit.
pub(super) fn project_sent(
    sql: &mut dyn Sql,
    arguments: &Arguments,
    read_set: &mut ReadSet,
) -> Result<Parents> {
    if arguments.id("projectId")?.is_none() {
        return organization_sent(sql, arguments, read_set);
    }
    let found = project(sql, arguments, read_set)?;
    Ok(Parents {
        organization: Some(found.organization_id.as_str().to_owned()),
        project: Some(found.id.as_str().to_owned()),
        environment: None,
    })
}

/// The environment, or else the project or the organization, that a call names, as a limit.
pub(super) fn environment_sent(
    sql: &mut dyn Sql,
    arguments: &Arguments,
    read_set: &mut ReadSet,
) -> Result<Parents> {
    if arguments.id("environmentId")?.is_none() {
        return project_sent(sql, arguments, read_set);
    }
    let found = environment(sql, arguments, read_set)?;
    Ok(Parents {
        organization: Some(found.organization_id.as_str().to_owned()),
        project: Some(found.project_id.as_str().to_owned()),
        environment: Some(found.id.as_str().to_owned()),
    })
}

/// Whether the organization with this id is the one that a call names, or the call names none.
fn is_in_organization(
    sql: &mut dyn Sql,
    arguments: &Arguments,
    id: &str,
    read_set: &mut ReadSet,
) -> Result<bool> {
    let Some(sent) = arguments.id("organizationId")?.filter(|sent| *sent != id) else { return Ok(true) };
    read_set.tags.insert(tags::organization(id));
    let organization = organization::find(sql, id)?;
    Ok(is_called(sent, &organization.name, &organization.slug))
}

/// Whether the project with this id is the one that a call names, or the call names none.
fn is_in_project(sql: &mut dyn Sql, arguments: &Arguments, id: &str, read_set: &mut ReadSet) -> Result<bool> {
    let Some(sent) = arguments.id("projectId")?.filter(|sent| *sent != id) else { return Ok(true) };
    read_set.tags.insert(tags::project(id));
    let project = project::find(sql, id)?;
    Ok(is_called(sent, &project.name, &project.slug))
}

/// The same rule as in the searches by name.
fn is_called(sent: &str, name: &str, slug: &str) -> bool {
    sent == name || slug::from_name(sent) == slug
}

/// The thing, or `None` if it does not exist.
fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind() == Kind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// What a name may mean.
trait Named {
    const KIND: &'static str;
    const PARAMETER: &'static str;
    /// How to get a first one.
    const CREATE: &'static str;
    /// The scope that a caller needs to see which ones there are.
    const READ: ScopeRequirement;

    fn id(&self) -> &str;

    /// What tells it from others of the same name.
    fn place(&self) -> String;
}

impl Named for Organization {
    const KIND: &'static str = "Organization";
    const PARAMETER: &'static str = "organizationId";
    const CREATE: &'static str = "Create one on the command line with `quad bkend org add NAME`";
    const READ: ScopeRequirement = routes::ORGANIZATION_READ;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn place(&self) -> String {
        self.name.clone()
    }
}

impl Named for Project {
    const KIND: &'static str = "Project";
    const PARAMETER: &'static str = "projectId";
    const CREATE: &'static str = "Create one with backend_project_create";
    const READ: ScopeRequirement = routes::PROJECT_READ;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn place(&self) -> String {
        format!("{} in {}", self.name, self.organization_id)
    }
}

impl Named for Environment {
    const KIND: &'static str = "Environment";
    const PARAMETER: &'static str = "environmentId";
    const CREATE: &'static str = "Create a project with backend_project_create; it has an environment dev";
    const READ: ScopeRequirement = routes::ENVIRONMENT_READ;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn place(&self) -> String {
        format!("{} in {}", self.name, self.project_id)
    }
}

impl Named for Table {
    const KIND: &'static str = "Table";
    const PARAMETER: &'static str = "tableId";
    const CREATE: &'static str = "Create one with backend_table_create";
    const READ: ScopeRequirement = routes::TABLE_READ;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn place(&self) -> String {
        format!("{} in {} of {}", self.name, self.environment_name, self.project_id)
    }
}

/// The only one that exists. Takes the first of them and their number.
fn the_only<T: Named>(arguments: &Arguments, mut first: Vec<T>, total: i64) -> Result<T> {
    if total == 1
        && let Some(only) = first.pop()
    {
        return Ok(only);
    }
    let (parameter, kind) = (T::PARAMETER, T::KIND.to_ascii_lowercase());
    let (problem, hint) = match total {
        0 => (format!("there is no {kind} yet"), T::CREATE.to_owned()),
        _ => (format!("there are {total} {kind}s"), choice_hint(arguments, &first, total)),
    };
    Err(Error::bad_input(format!("{parameter} is missing, and {problem}"))
        .hint(hint)
        .with_detail("details", json!([{"field": parameter, "reason": "required"}])))
}

/// The only one with a name.
fn the_one_named<T: Named>(arguments: &Arguments, sent: &str, mut found: Vec<T>) -> Result<T> {
    if found.len() > 1 {
        let shown = errors::truncate_for_message(sent);
        let kind = T::KIND.to_ascii_lowercase();
        let hint = choice_hint(arguments, &found, found.len() as i64);
        return Err(Error::bad_input(format!("Several {kind}s are named {shown}"))
            .hint(hint)
            .with_detail("details", json!([{"field": T::PARAMETER, "reason": "ambiguous"}])));
    }
    found.pop().ok_or_else(|| errors::not_found(T::KIND, sent))
}

/// The ids to choose from, for a caller that may see them.
fn choice_hint<T: Named>(arguments: &Arguments, candidates: &[T], total: i64) -> String {
    let parameter = T::PARAMETER;
    if !T::READ.is_satisfied_by(&arguments.scopes) {
        return format!("Send the id as {parameter}");
    }
    let shown: Vec<String> = candidates
        .iter()
        .take(limits::CANDIDATES_SHOWN)
        .map(|candidate| format!("{} ({})", candidate.id(), candidate.place()))
        .collect();
    let more = if total > shown.len() as i64 { " and others" } else { "" };
    format!("Send {parameter}, one of {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::{TestEnv, test_envs, test_envs_with_data};

    const SECOND_SHOP: [&str; 3] = [
        r#"{"kind":"project","id":"proj_shop","organizationId":"org_abc123","name":"Shop"}"#,
        r#"{"kind":"environment","id":"env_shop","projectId":"proj_shop","name":"dev"}"#,
        r#"{"kind":"table","id":"tbl_shop","environmentId":"env_shop","name":"users","fields":[]}"#,
    ];

    async fn id(test_env: &TestEnv, tool: &str, arguments: Value) -> Value {
        test_env.call(tool, arguments).await.unwrap()["id"].clone()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_parent_is_taken_if_none_is_given() {
        for test_env in test_envs_with_data().await {
            assert_eq!(id(&test_env, "backend_org_get", json!({})).await, "org_abc123");
            assert_eq!(id(&test_env, "backend_project_get", json!({})).await, "proj_xyz789");
            assert_eq!(id(&test_env, "backend_env_get", json!({"projectId": null})).await, "env_dev001");
            let staging = test_env.call("backend_env_create", json!({"name": "staging"})).await.unwrap();
            assert_eq!(staging["projectId"], "proj_xyz789");
            let error =
                test_env.call("backend_table_create", json!({"name": "x", "fields": []})).await.unwrap_err();
            assert_eq!(error.message(), "environmentId is missing, and there are 2 environments");
            let hint = error.hint_text().unwrap();
            assert!(hint.starts_with("Send environmentId, one of env_"), "{hint}");
            assert!(hint.contains("env_dev001 (dev in proj_xyz789)"), "{hint}");
        }
        for test_env in test_envs().await {
            let error = test_env.call("backend_project_create", json!({"name": "x"})).await.unwrap_err();
            assert_eq!(error.message(), "organizationId is missing, and there is no organization yet");
            assert!(error.hint_text().unwrap().starts_with("Create one"));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn name_that_several_things_have_is_refused_with_their_ids() {
        for test_env in test_envs_with_data().await {
            assert_eq!(id(&test_env, "backend_table_get", json!({"tableId": "Users"})).await, "tbl_users");
            test_env.load(&SECOND_SHOP).await.unwrap();
            for (arguments, expect) in [
                (json!({"tableId": "users", "projectId": "shop"}), "tbl_shop"),
                (json!({"tableId": "users", "environmentId": "env_shop"}), "tbl_shop"),
                (json!({"tableId": "users", "projectId": "my-app", "environmentId": "dev"}), "tbl_users"),
                (json!({"tableId": "tbl_shop", "environmentId": "dev"}), "tbl_shop"),
            ] {
                assert_eq!(
                    id(&test_env, "backend_table_get", arguments.clone()).await,
                    expect,
                    "{arguments}"
                );
            }
            let several = json!({"tableId": "users"});
            let error = test_env.call("backend_data_list", several.clone()).await.unwrap_err();
            assert_eq!((error.kind(), error.message()), (Kind::BadInput, "Several tables are named users"));
            assert_eq!(
                error.hint_text().unwrap(),
                "Send tableId, one of tbl_shop (users in dev of proj_shop), tbl_users (users in dev of proj_xyz789)"
            );
            // The ids of tables need a scope of their own.
            let scopes = "table:data:read";
            let reader = quad_store::testing::agent(&test_env.test_store.tenant, "reader", scopes);
            let error = test_env.call_as(&reader, "backend_data_list", several).await.unwrap_err();
            assert_eq!(error.hint_text().unwrap(), "Send the id as tableId");
            let dev = test_env.call("backend_env_delete", json!({"environmentId": "dev"})).await.unwrap_err();
            assert_eq!(dev.message(), "Several environments are named dev");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn answer_by_name_is_stale_when_a_second_thing_gets_the_name() {
        for test_env in test_envs_with_data().await {
            let arguments = json!({"tableId": "users"});
            let arguments = Arguments::new(arguments.as_object().unwrap().clone(), &test_env.caller);
            let read_set = test_env
                .test_store
                .store
                .read(&test_env.test_store.tenant, move |sql| {
                    let mut read_set = ReadSet::at_version(sql.version());
                    table(sql, &arguments, &mut read_set)?;
                    Ok(read_set)
                })
                .await
                .unwrap();
            let mut changes =
                test_env.resolver.change_feed().subscribe(&test_env.test_store.tenant).await.unwrap();
            test_env.load(&SECOND_SHOP).await.unwrap();
            assert!(read_set.notifies_on(&changes.recv().await.unwrap().tags));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn prompts_take_names_too() {
        for test_env in test_envs_with_data().await {
            let messages = test_env.prompt("backend_overview", json!({"projectId": "My App"})).await.unwrap();
            assert!(format!("{messages:?}").contains("tbl_users"));
            let arguments = json!({"purpose": "blog posts", "environmentId": "dev"});
            let messages = test_env.prompt("design_table", arguments).await.unwrap();
            assert!(format!("{messages:?}").contains("tbl_users"));
        }
    }
}
