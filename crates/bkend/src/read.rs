//! Reads: the contents of each address and their read set.

use quad_core::{Address, Content, Principal, ReadOutput, ReadSet, Result};
use quad_store::Sql;
use serde_json::Value;

use crate::page::Page;
use crate::parents::Parents;
use crate::record::Sort;
use crate::routes::Resource;
use crate::schema_version::{self, VersionKind};
use crate::token::{self, TokenSummary};
use crate::{context, environment, organization, project, record, table, tags};

/// A parsed address with owned values, so that a closure can own it.
#[derive(Clone, Debug)]
pub(crate) struct ReadRequest {
    resource: Resource,
    organization: String,
    project: String,
    environment: String,
    table: String,
    version: String,
    page: Page,
    scopes: context::ContextScopes,
}

impl ReadRequest {
    pub(crate) fn new(resource: Resource, address: &Address, caller: &Principal) -> Result<ReadRequest> {
        let variable = |names: &[&str]| {
            let value = names.iter().find_map(|name| address.variable(name));
            value.unwrap_or_default().to_owned()
        };
        Ok(ReadRequest {
            resource,
            organization: variable(&["orgId", "organizationId"]),
            project: variable(&["projectId"]),
            environment: variable(&["envId", "environmentId"]),
            table: variable(&["tableId"]),
            version: variable(&["n"]),
            page: Page::from_address(address)?,
            scopes: context::ContextScopes::for_caller(caller),
        })
    }

    fn find_environment(&self, sql: &mut dyn Sql) -> Result<environment::Environment> {
        environment::find_at_path(sql, &self.organization, &self.project, &self.environment)
    }

    fn find_table(&self, sql: &mut dyn Sql) -> Result<table::Table> {
        table::find_at_path(sql, &self.organization, &self.project, &self.environment, &self.table)
    }
}

/// Reads an address. Tokens are not in this database; [`read_tokens`] reads them.
pub(crate) fn read_resource(sql: &mut dyn Sql, request: &ReadRequest) -> Result<ReadOutput> {
    let mut read_set = ReadSet::at_version(sql.version());
    let value = match request.resource {
        Resource::Context => {
            let (value, context_basis) = context::read(sql, request.scopes)?;
            read_set = context_basis;
            value
        }
        Resource::Organizations
        | Resource::Organization
        | Resource::Projects
        | Resource::Project
        | Resource::Environments
        | Resource::Environment => read_nested(sql, request, &mut read_set)?,
        Resource::Tables => {
            let environment = request.find_environment(sql)?;
            read_set = read_set.with_tag(tags::tables(environment.id.as_str()));
            let tables = table::list_in_environment(sql, environment.id.as_str())?;
            tables.iter().for_each(|table| table.depend_on_row_count(&mut read_set));
            table::list_json(&tables)
        }
        Resource::Table
        | Resource::Schema
        | Resource::SchemaVersions
        | Resource::SchemaVersion
        | Resource::Indexes
        | Resource::Rows
        | Resource::FlatTable
        | Resource::FlatSchemaVersions
        | Resource::FlatIndexVersions => read_table(sql, request, &mut read_set)?,
        _ => read_flat(sql, request, &mut read_set)?,
    };
    Ok(ReadOutput::new(Content::json(&value)?, read_set))
}

/// The upper levels of the nested family.
fn read_nested(sql: &mut dyn Sql, request: &ReadRequest, read_set: &mut ReadSet) -> Result<Value> {
    let mut depend_on = |tag| {
        read_set.tags.insert(tag);
    };
    let (organization, project) = (request.organization.as_str(), request.project.as_str());
    Ok(match request.resource {
        Resource::Organizations => {
            depend_on(tags::organizations());
            organization::all(sql)?.iter().map(organization::Organization::summary).collect()
        }
        Resource::Organization => {
            depend_on(tags::organization(organization));
            organization::find(sql, organization)?.detail()
        }
        Resource::Projects => {
            organization::find(sql, organization)?;
            depend_on(tags::projects(organization));
            project::list_in_organization(sql, organization)?.iter().map(project::Project::summary).collect()
        }
        Resource::Project => {
            depend_on(tags::project(project));
            project::find_at_path(sql, organization, project)?.detail()
        }
        Resource::Environments => {
            project::find_at_path(sql, organization, project)?;
            depend_on(tags::environments(project));
            let environments = environment::list_in_project(sql, organization, project)?;
            environments.iter().map(environment::Environment::summary).collect()
        }
        _ => {
            depend_on(tags::environment(&request.environment));
            request.find_environment(sql)?.detail()
        }
    })
}

/// All addresses of one table, in both families.
fn read_table(sql: &mut dyn Sql, request: &ReadRequest, read_set: &mut ReadSet) -> Result<Value> {
    let is_flat = matches!(
        request.resource,
        Resource::FlatTable | Resource::FlatSchemaVersions | Resource::FlatIndexVersions
    );
    let table = if is_flat { table::find(sql, &request.table)? } else { request.find_table(sql)? };
    read_set.tags.insert(tags::table(table.id.as_str()));
    Ok(match request.resource {
        Resource::Schema => table.schema_detail(),
        Resource::SchemaVersions => {
            let versions = schema_version::all(sql, VersionKind::Schema, &table)?;
            versions.iter().map(|version| version.summary(VersionKind::Schema, &table)).collect()
        }
        Resource::SchemaVersion => schema_version::find(sql, VersionKind::Schema, &table, &request.version)?
            .detail(VersionKind::Schema, &table)?,
        Resource::Indexes => table.indexes_json().into(),
        Resource::Rows => {
            read_set.tags.insert(tags::rows(table.id.as_str()));
            let rows = record::list_page(sql, &table, request.page, &Sort::default())?;
            request.page.to_json(rows, table.row_count)
        }
        Resource::FlatSchemaVersions => versions_page(sql, VersionKind::Schema, &table, request.page)?,
        Resource::FlatIndexVersions => versions_page(sql, VersionKind::Indexes, &table, request.page)?,
        _ => {
            table.depend_on_row_count(read_set);
            table.detail()
        }
    })
}

/// A page of versions with their bodies.
pub(crate) fn versions_page(
    sql: &mut dyn Sql,
    kind: VersionKind,
    table: &table::Table,
    page: Page,
) -> Result<Value> {
    let versions = schema_version::list_page(sql, kind, table, page)?;
    let items = versions.iter().map(|version| version.detail(kind, table)).collect::<Result<_>>()?;
    Ok(page.to_json(items, schema_version::count(kind, table)))
}

/// The flat family. A parent's payload contains the number of its children, so the list also depends on the children.
fn read_flat(sql: &mut dyn Sql, request: &ReadRequest, read_set: &mut ReadSet) -> Result<Value> {
    let mut depend_on = |tag| {
        read_set.tags.insert(tag);
    };
    let page = request.page;
    Ok(match request.resource {
        Resource::FlatOrganization => {
            depend_on(tags::organization(&request.organization));
            organization::find(sql, &request.organization)?.detail()
        }
        Resource::FlatProject => {
            depend_on(tags::project(&request.project));
            project::find(sql, &request.project)?.detail()
        }
        Resource::FlatEnvironment => {
            depend_on(tags::environment(&request.environment));
            environment::find(sql, &request.environment)?.detail()
        }
        Resource::FlatProjects => {
            depend_on(tags::any_projects());
            depend_on(tags::any_environments());
            let (projects, total) = project::list_page(sql, &Parents::ANY, page)?;
            page.to_json(projects.iter().map(project::Project::detail).collect(), total)
        }
        Resource::FlatEnvironments => {
            depend_on(tags::any_environments());
            depend_on(tags::any_tables());
            let (environments, total) = environment::list_page(sql, &Parents::ANY, page)?;
            page.to_json(environments.iter().map(environment::Environment::detail).collect(), total)
        }
        Resource::FlatTables => {
            depend_on(tags::any_tables());
            let (tables, total) = table::list_page(sql, &Parents::ANY, page)?;
            tables.iter().for_each(|table| table.depend_on_row_count(read_set));
            page.to_json(tables.iter().map(table::Table::detail).collect(), total)
        }
        _ => {
            depend_on(tags::organizations());
            let (organizations, total) = organization::list_page(sql, page)?;
            page.to_json(organizations.iter().map(organization::Organization::detail).collect(), total)
        }
    })
}

/// Tokens, with the read set that their directory returns.
pub(crate) fn read_tokens(
    resource: Resource,
    address: &Address,
    (tokens, read_set): (Vec<TokenSummary>, ReadSet),
) -> Result<ReadOutput> {
    let value = if resource == Resource::AccessToken {
        token::find(&tokens, address.variable("accessTokenId").unwrap_or_default())?
    } else {
        let page = Page::from_address(address)?;
        let total = tokens.len() as i64;
        page.to_json(page.slice(tokens).iter().map(TokenSummary::detail).collect(), total)
    };
    Ok(ReadOutput::new(Content::json(&value)?, read_set))
}

#[cfg(test)]
mod tests {
    use quad_core::{Kind, Tag};
    use serde_json::json;

    use crate::testing::{ENV_URI, test_envs_with_data};

    #[tokio::test(flavor = "multi_thread")]
    async fn list_resources_match_documented_shape() {
        for test_env in test_envs_with_data().await {
            let organizations = test_env.read("bkend://orgs").await.unwrap();
            assert_eq!(organizations.as_array().unwrap().len(), 1);
            assert_eq!(organizations[0]["id"], "org_abc123");
            assert_eq!(organizations[0]["name"], "My Organization");
            assert_eq!(organizations[0]["slug"], "my-organization");
            let projects = test_env.read("bkend://orgs/org_abc123/projects").await.unwrap();
            assert_eq!(projects[0]["id"], "proj_xyz789");
            assert_eq!(projects[0]["name"], "my-app");
            assert_eq!(projects[0]["environmentCount"], 1);
            let environments =
                test_env.read("bkend://orgs/org_abc123/projects/proj_xyz789/environments").await.unwrap();
            assert_eq!(environments[0]["id"], "env_dev001");
            assert_eq!(environments[0]["name"], "dev");
            assert_eq!(environments[0]["status"], "active");
            assert_eq!(environments[0]["tableCount"], 1);
            let tables = test_env.read(&format!("{ENV_URI}/tables")).await.unwrap();
            assert_eq!(tables[0]["id"], "tbl_users");
            assert_eq!(tables[0]["tableName"], "users");
            assert_eq!(tables[0]["rowCount"], 1);
            assert_eq!(tables[0]["schema"]["required"], json!(["name", "email"]));
            assert_eq!(tables[0]["schema"]["properties"]["email"]["bsonType"], "string");
            assert_eq!(tables[0]["schema"]["properties"]["age"]["bsonType"], "double");
            assert_eq!(tables[0]["fields"][1]["unique"], true);
            assert_eq!(tables[0]["indexes"][0]["name"], "idx_users_email_unique");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn missing_and_mismatched_paths_return_not_found() {
        for test_env in test_envs_with_data().await {
            test_env
                .load(&[
                    r#"{"kind":"organization","id":"org_other","name":"Other"}"#,
                    r#"{"kind":"project","id":"proj_other","organizationId":"org_other","name":"other"}"#,
                    r#"{"kind":"environment","id":"env_other","projectId":"proj_other","name":"dev"}"#,
                ])
                .await
                .unwrap();
            let table_path = "tables/tbl_users";
            for uri in [
                "bkend://orgs/org_none",
                "bkend://orgs/org_none/projects",
                "bkend://orgs/org_abc123/projects/proj_other",
                "bkend://orgs/org_abc123/projects/proj_other/environments",
                "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_other",
                "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_other/tables",
                &format!("bkend://orgs/org_other/projects/proj_other/environments/env_other/{table_path}"),
                &format!(
                    "bkend://orgs/org_abc123/projects/proj_other/environments/env_dev001/{table_path}/rows"
                ),
                &format!("{ENV_URI}/tables/tbl_none/schema"),
                &format!("{ENV_URI}/{table_path}/schema/versions/2"),
                "bkend://tables/tbl_none",
                "bkend://access-tokens/tok_none",
            ] {
                let error = test_env.read(uri).await.unwrap_err();
                assert_eq!((error.kind(), error.code()), (Kind::NotFound, "NOT_FOUND"), "{uri}");
                assert_eq!((error.message(), error.uri()), ("Resource not found", Some(uri)));
                let hint = error.hint_text().unwrap();
                assert!(hint.starts_with("List the ") && hint.contains("bkend://"), "{uri}: {hint}");
            }
            assert_eq!(
                test_env
                    .read("bkend://orgs/org_other/projects/proj_other/environments/env_other/tables")
                    .await
                    .unwrap(),
                json!([])
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn flat_and_nested_uris_return_same_json() {
        for test_env in test_envs_with_data().await {
            let table = test_env.read(&format!("{ENV_URI}/tables/tbl_users")).await.unwrap();
            assert_eq!(table, test_env.read("bkend://tables/tbl_users").await.unwrap());
            assert_eq!(table["stats"]["rowCount"], 1);
            assert_eq!(table["documentCount"], 1);
            assert_eq!(table["deployment"]["status"], "deployed");
            assert_eq!(table["permissions"], json!(null));
            assert_eq!(
                test_env.read("bkend://orgs/org_abc123").await.unwrap(),
                test_env.read("bkend://organizations/org_abc123").await.unwrap()
            );
            assert_eq!(
                test_env.read("bkend://orgs/org_abc123/projects/proj_xyz789").await.unwrap(),
                test_env.read("bkend://projects/proj_xyz789").await.unwrap()
            );
            assert_eq!(
                test_env.read(ENV_URI).await.unwrap(),
                test_env.read("bkend://environments/env_dev001").await.unwrap()
            );
            for list in ["organizations", "projects", "environments", "tables", "access-tokens"] {
                let page = test_env.read(&format!("bkend://{list}?limit=1")).await.unwrap();
                let expected = json!({"total": 1, "page": 1, "limit": 1, "totalPages": 1, "hasNext": false, "hasPrev": false});
                assert_eq!(page["pagination"], expected, "{list}");
                assert_eq!(page["items"].as_array().unwrap().len(), 1, "{list}");
            }
            for bad in ["bkend://projects?page=0", "bkend://projects?limit=101"] {
                assert_eq!(test_env.read(bad).await.unwrap_err().kind(), Kind::BadInput, "{bad}");
            }
            let versions = test_env.read("bkend://tables/tbl_users/schema/versions").await.unwrap();
            assert_eq!(
                (&versions["items"][0]["version"], &versions["items"][0]["isActive"]),
                (&json!(1), &json!(true))
            );
            let indexes = test_env.read("bkend://tables/tbl_users/indexes/versions").await.unwrap();
            assert_eq!(indexes["items"][0]["indexes"][0]["unique"], true);
            let nested = test_env.read(&format!("{ENV_URI}/tables/tbl_users/schema/versions")).await.unwrap();
            assert_eq!(nested[0]["version"], 1);
            let version = test_env.read(nested[0]["uri"].as_str().unwrap()).await.unwrap();
            assert_eq!(version["schema"], table["schema"]);
            assert_eq!(
                test_env.read(&format!("{ENV_URI}/tables/tbl_users/indexes")).await.unwrap(),
                table["indexes"]
            );
            assert_eq!(
                test_env.read(&format!("{ENV_URI}/tables/tbl_users/schema")).await.unwrap()["schema"],
                table["schema"]
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rows_are_paginated() {
        for test_env in test_envs_with_data().await {
            let rows = test_env.read(&format!("{ENV_URI}/tables/tbl_users/rows")).await.unwrap();
            assert_eq!(
                rows["items"][0],
                json!({"id": "rec_abc123", "name": "Ada", "email": "ada@example.org", "role": "admin", "age": 36,
                    "createdBy": "agent_1", "createdAt": "2026-02-12T00:00:00.000Z", "updatedAt": "2026-02-12T00:00:00.000Z"})
            );
            let past_end = test_env.read(&format!("{ENV_URI}/tables/tbl_users/rows?page=9")).await.unwrap();
            assert_eq!((&past_end["items"], &past_end["pagination"]["hasNext"]), (&json!([]), &json!(false)));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn tokens_are_masked() {
        for test_env in test_envs_with_data().await {
            let tokens = test_env.read("bkend://access-tokens").await.unwrap();
            assert_eq!(tokens["items"][0]["maskedKey"], "tok_01ABC…");
            let token = test_env.read("bkend://access-tokens/tok_01ABCDEFGH").await.unwrap();
            assert_eq!(token, tokens["items"][0]);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn scope_grants_only_its_own_level() {
        for test_env in test_envs_with_data().await {
            let reader =
                quad_store::testing::agent(&test_env.test_store.tenant, "agent_1", "organization:read");
            assert!(test_env.read_as(&reader, "bkend://orgs").await.is_ok());
            for uri in [
                &format!("{ENV_URI}/tables"),
                "bkend://projects",
                "bkend://access-tokens",
                &format!("{ENV_URI}/tables/tbl_users/rows"),
            ] {
                assert_eq!(test_env.read_as(&reader, uri).await.unwrap_err().kind(), Kind::Scope, "{uri}");
            }
            // The context shows each caller only what it may see; a cached copy is not shared with other scopes.
            let full = test_env.read("bkend://context").await.unwrap();
            assert_eq!(full["organization"]["id"], "org_abc123");
            assert_eq!(full["projects"][0]["environments"][0]["id"], "env_dev001");
            assert_eq!(full["warnings"], json!([]));
            let limited = test_env.read_as(&reader, "bkend://context").await.unwrap();
            assert_eq!(limited["projects"], json!([]));
            assert_eq!(limited["warnings"].as_array().unwrap().len(), 1);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn row_count_invalidates_without_notifying() {
        for test_env in test_envs_with_data().await {
            let rows = [Tag::new("bkend:rows:tbl_users")];
            for uri in [&format!("{ENV_URI}/tables"), "bkend://tables/tbl_users", "bkend://tables"] {
                let read_set = test_env.read_set(uri).await.unwrap();
                assert!(read_set.is_invalidated_by(&rows) && !read_set.notifies_on(&rows), "{uri}");
            }
            assert!(
                test_env
                    .read_set(&format!("{ENV_URI}/tables/tbl_users/rows"))
                    .await
                    .unwrap()
                    .notifies_on(&rows)
            );
            test_env
                .call(
                    "backend_data_create",
                    json!({"tableId": "tbl_users", "data": {"name": "B", "email": "b@x.io"}}),
                )
                .await
                .unwrap();
            assert_eq!(test_env.read(&format!("{ENV_URI}/tables")).await.unwrap()[0]["rowCount"], 2);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn long_table_list_shortens_schemas() {
        let test_env = test_envs_with_data().await.remove(0);
        let allowed: Vec<String> = (0..400).map(|n| format!("{n:0>250}")).collect();
        for table in ["big1", "big2", "big3"] {
            let fields = json!([{"name": "kind", "type": "string", "enum": allowed}]);
            let arguments = json!({"environmentId": "env_dev001", "name": table, "fields": fields});
            test_env.call("backend_table_create", arguments).await.unwrap();
        }
        let tables = test_env.read(&format!("{ENV_URI}/tables")).await.unwrap();
        assert!(tables.to_string().len() < crate::limits::TABLE_LIST_BYTES);
        let tables = tables.as_array().unwrap();
        assert_eq!(tables.len(), 4);
        for table in tables {
            let full_schema = test_env.read(table["schemaUri"].as_str().unwrap()).await.unwrap();
            for (name, kind) in table["schema"]["properties"].as_object().unwrap() {
                assert_eq!(full_schema["schema"]["properties"][name]["bsonType"], kind["bsonType"]);
            }
        }
    }
}
