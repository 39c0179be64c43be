//! Reads: what each address holds, and what that rests on.

use quad_core::{Address, Basis, Content, Principal, Reading, Result};
use quad_store::Sql;
use serde_json::Value;

use crate::page::Page;
use crate::record::Sort;
use crate::routes::Noun;
use crate::schema_version::{self, Series};
use crate::token::{self, TokenSummary};
use crate::{context, environment, organization, project, record, table, tags};

/// An address, taken apart into owned values that a closure can keep.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    noun: Noun,
    organization: String,
    project: String,
    environment: String,
    table: String,
    version: String,
    page: Page,
    view: context::View,
}

impl Question {
    pub(crate) fn new(noun: Noun, address: &Address, caller: &Principal) -> Result<Question> {
        let variable = |names: &[&str]| {
            let value = names.iter().find_map(|name| address.variable(name));
            value.unwrap_or_default().to_owned()
        };
        Ok(Question {
            noun,
            organization: variable(&["orgId", "organizationId"]),
            project: variable(&["projectId"]),
            environment: variable(&["envId", "environmentId"]),
            table: variable(&["tableId"]),
            version: variable(&["n"]),
            page: Page::from_address(address)?,
            view: context::View::of(caller),
        })
    }

    fn in_environment(&self, sql: &mut dyn Sql) -> Result<environment::Environment> {
        environment::find_in(sql, &self.organization, &self.project, &self.environment)
    }

    fn in_table(&self, sql: &mut dyn Sql) -> Result<table::Table> {
        table::find_in(sql, &self.organization, &self.project, &self.environment, &self.table)
    }
}

/// Reads what an address names. Tokens are not in this database's keeping and have [`tokens`].
pub(crate) fn read(sql: &mut dyn Sql, question: &Question) -> Result<Reading> {
    let mut basis = Basis::at(sql.version());
    let value = match question.noun {
        Noun::Context => {
            let (value, known) = context::read(sql, question.view)?;
            basis = known;
            value
        }
        Noun::Organizations
        | Noun::Organization
        | Noun::Projects
        | Noun::Project
        | Noun::Environments
        | Noun::Environment => of_tree(sql, question, &mut basis)?,
        Noun::Tables => {
            let environment = question.in_environment(sql)?;
            basis = basis.on(tags::tables(environment.id.as_str()));
            let tables = table::of_environment(sql, environment.id.as_str())?;
            tables.iter().for_each(|table| table.count_into(&mut basis));
            table::list_payload(&tables)
        }
        Noun::Table
        | Noun::Schema
        | Noun::SchemaVersions
        | Noun::SchemaVersion
        | Noun::Indexes
        | Noun::Rows
        | Noun::FlatTable
        | Noun::FlatSchemaVersions
        | Noun::FlatIndexVersions => of_table(sql, question, &mut basis)?,
        _ => flat(sql, question, &mut basis)?,
    };
    Ok(Reading::new(Content::json(&value)?, basis))
}

/// The upper levels of the nested family.
fn of_tree(sql: &mut dyn Sql, question: &Question, basis: &mut Basis) -> Result<Value> {
    let mut on = |tag| {
        basis.tags.insert(tag);
    };
    let (organization, project) = (question.organization.as_str(), question.project.as_str());
    Ok(match question.noun {
        Noun::Organizations => {
            on(tags::organizations());
            organization::all(sql)?.iter().map(organization::Organization::summary).collect()
        }
        Noun::Organization => {
            on(tags::organization(organization));
            organization::find(sql, organization)?.detail()
        }
        Noun::Projects => {
            organization::find(sql, organization)?;
            on(tags::projects(organization));
            project::of_organization(sql, organization)?.iter().map(project::Project::summary).collect()
        }
        Noun::Project => {
            on(tags::project(project));
            project::find_in(sql, organization, project)?.detail()
        }
        Noun::Environments => {
            project::find_in(sql, organization, project)?;
            on(tags::environments(project));
            let environments = environment::of_project(sql, organization, project)?;
            environments.iter().map(environment::Environment::summary).collect()
        }
        _ => {
            on(tags::environment(&question.environment));
            question.in_environment(sql)?.detail()
        }
    })
}

/// Everything about one table, in either family.
fn of_table(sql: &mut dyn Sql, question: &Question, basis: &mut Basis) -> Result<Value> {
    let is_flat =
        matches!(question.noun, Noun::FlatTable | Noun::FlatSchemaVersions | Noun::FlatIndexVersions);
    let table = if is_flat { table::find(sql, &question.table)? } else { question.in_table(sql)? };
    basis.tags.insert(tags::table(table.id.as_str()));
    Ok(match question.noun {
        Noun::Schema => table.schema_detail(),
        Noun::SchemaVersions => {
            let versions = schema_version::all(sql, Series::Schema, &table)?;
            versions.iter().map(|version| version.summary(Series::Schema, &table)).collect()
        }
        Noun::SchemaVersion => schema_version::find(sql, Series::Schema, &table, &question.version)?
            .detail(Series::Schema, &table)?,
        Noun::Indexes => table.index_entries().into(),
        Noun::Rows => {
            basis.tags.insert(tags::rows(table.id.as_str()));
            let rows = record::page(sql, &table, question.page, &Sort::default())?;
            question.page.envelope(rows, table.row_count)
        }
        Noun::FlatSchemaVersions => versions(sql, Series::Schema, &table, question.page)?,
        Noun::FlatIndexVersions => versions(sql, Series::Indexes, &table, question.page)?,
        _ => {
            table.count_into(basis);
            table.detail()
        }
    })
}

/// A page of versions with their bodies.
pub(crate) fn versions(sql: &mut dyn Sql, series: Series, table: &table::Table, page: Page) -> Result<Value> {
    let versions = schema_version::page(sql, series, table, page)?;
    let items = versions.iter().map(|version| version.detail(series, table)).collect::<Result<_>>()?;
    Ok(page.envelope(items, schema_version::count(series, table)))
}

/// The flat family. A child's count in a parent's payload makes the list depend on the children too.
fn flat(sql: &mut dyn Sql, question: &Question, basis: &mut Basis) -> Result<Value> {
    let mut on = |tag| {
        basis.tags.insert(tag);
    };
    let page = question.page;
    Ok(match question.noun {
        Noun::FlatOrganization => {
            on(tags::organization(&question.organization));
            organization::find(sql, &question.organization)?.detail()
        }
        Noun::FlatProject => {
            on(tags::project(&question.project));
            project::find(sql, &question.project)?.detail()
        }
        Noun::FlatEnvironment => {
            on(tags::environment(&question.environment));
            environment::find(sql, &question.environment)?.detail()
        }
        Noun::FlatProjects => {
            on(tags::any_projects());
            on(tags::any_environments());
            let (projects, total) = project::page(sql, None, page)?;
            page.envelope(projects.iter().map(project::Project::detail).collect(), total)
        }
        Noun::FlatEnvironments => {
            on(tags::any_environments());
            on(tags::any_tables());
            let (environments, total) = environment::page(sql, None, page)?;
            page.envelope(environments.iter().map(environment::Environment::detail).collect(), total)
        }
        Noun::FlatTables => {
            on(tags::any_tables());
            let (tables, total) = table::page(sql, None, page)?;
            tables.iter().for_each(|table| table.count_into(basis));
            page.envelope(tables.iter().map(table::Table::detail).collect(), total)
        }
        _ => {
            on(tags::organizations());
            let (organizations, total) = organization::page(sql, page)?;
            page.envelope(organizations.iter().map(organization::Organization::detail).collect(), total)
        }
    })
}

/// Tokens, with what whoever keeps them says that they rest on.
pub(crate) fn tokens(
    noun: Noun,
    address: &Address,
    (tokens, basis): (Vec<TokenSummary>, Basis),
) -> Result<Reading> {
    let value = if noun == Noun::AccessToken {
        token::find(&tokens, address.variable("accessTokenId").unwrap_or_default())?
    } else {
        let page = Page::from_address(address)?;
        let total = tokens.len() as i64;
        page.envelope(page.cut(tokens).iter().map(TokenSummary::detail).collect(), total)
    };
    Ok(Reading::new(Content::json(&value)?, basis))
}

#[cfg(test)]
mod tests {
    use quad_core::{Kind, Tag};
    use serde_json::json;

    use crate::testing::{B, caller, worlds};

    #[tokio::test(flavor = "multi_thread")]
    async fn the_four_lists_have_the_documented_shapes() {
        for world in worlds().await {
            let organizations = world.read("bkend://orgs").await.unwrap();
            assert_eq!(organizations.as_array().unwrap().len(), 1);
            assert_eq!(organizations[0]["id"], "org_abc123");
            assert_eq!(organizations[0]["name"], "My Organization");
            assert_eq!(organizations[0]["slug"], "my-organization");
            let projects = world.read("bkend://orgs/org_abc123/projects").await.unwrap();
            assert_eq!(projects[0]["id"], "proj_xyz789");
            assert_eq!(projects[0]["name"], "my-app");
            assert_eq!(projects[0]["environmentCount"], 1);
            let environments =
                world.read("bkend://orgs/org_abc123/projects/proj_xyz789/environments").await.unwrap();
            assert_eq!(environments[0]["id"], "env_dev001");
            assert_eq!(environments[0]["name"], "dev");
            assert_eq!(environments[0]["status"], "active");
            assert_eq!(environments[0]["tableCount"], 1);
            let tables = world.read(&format!("{B}/tables")).await.unwrap();
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
    async fn missing_and_inconsistent_paths_are_one_answer() {
        for world in worlds().await {
            world
                .load(&[
                    r#"{"kind":"organization","id":"org_other","name":"Other"}"#,
                    r#"{"kind":"project","id":"proj_other","organizationId":"org_other","name":"other"}"#,
                    r#"{"kind":"environment","id":"env_other","projectId":"proj_other","name":"dev"}"#,
                ])
                .await
                .unwrap();
            let t = "tables/tbl_users";
            for uri in [
                "bkend://orgs/org_none",
                "bkend://orgs/org_none/projects",
                "bkend://orgs/org_abc123/projects/proj_other",
                "bkend://orgs/org_abc123/projects/proj_other/environments",
                "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_other",
                "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_other/tables",
                &format!("bkend://orgs/org_other/projects/proj_other/environments/env_other/{t}"),
                &format!("bkend://orgs/org_abc123/projects/proj_other/environments/env_dev001/{t}/rows"),
                &format!("{B}/tables/tbl_none/schema"),
                &format!("{B}/{t}/schema/versions/2"),
                "bkend://tables/tbl_none",
                "bkend://access-tokens/tok_none",
            ] {
                let error = world.read(uri).await.unwrap_err();
                assert_eq!((error.kind(), error.code()), (Kind::NotFound, "NOT_FOUND"), "{uri}");
                assert_eq!((error.message(), error.uri()), ("Resource not found", Some(uri)));
                assert_eq!(error.next_step(), None);
            }
            assert_eq!(
                world
                    .read("bkend://orgs/org_other/projects/proj_other/environments/env_other/tables")
                    .await
                    .unwrap(),
                json!([])
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn single_nouns_and_the_flat_family_agree() {
        for world in worlds().await {
            let table = world.read(&format!("{B}/tables/tbl_users")).await.unwrap();
            assert_eq!(table, world.read("bkend://tables/tbl_users").await.unwrap());
            assert_eq!(table["stats"]["rowCount"], 1);
            assert_eq!(table["documentCount"], 1);
            assert_eq!(table["deployment"]["status"], "deployed");
            assert_eq!(table["permissions"], json!(null));
            assert_eq!(
                world.read("bkend://orgs/org_abc123").await.unwrap(),
                world.read("bkend://organizations/org_abc123").await.unwrap()
            );
            assert_eq!(
                world.read("bkend://orgs/org_abc123/projects/proj_xyz789").await.unwrap(),
                world.read("bkend://projects/proj_xyz789").await.unwrap()
            );
            assert_eq!(
                world.read(B).await.unwrap(),
                world.read("bkend://environments/env_dev001").await.unwrap()
            );
            for list in ["organizations", "projects", "environments", "tables", "access-tokens"] {
                let page = world.read(&format!("bkend://{list}?limit=1")).await.unwrap();
                let expected = json!({"total": 1, "page": 1, "limit": 1, "totalPages": 1, "hasNext": false, "hasPrev": false});
                assert_eq!(page["pagination"], expected, "{list}");
                assert_eq!(page["items"].as_array().unwrap().len(), 1, "{list}");
            }
            for bad in ["bkend://projects?page=0", "bkend://projects?limit=101"] {
                assert_eq!(world.read(bad).await.unwrap_err().kind(), Kind::BadInput, "{bad}");
            }
            let versions = world.read("bkend://tables/tbl_users/schema/versions").await.unwrap();
            assert_eq!(
                (&versions["items"][0]["version"], &versions["items"][0]["isActive"]),
                (&json!(1), &json!(true))
            );
            let indexes = world.read("bkend://tables/tbl_users/indexes/versions").await.unwrap();
            assert_eq!(indexes["items"][0]["indexes"][0]["unique"], true);
            let nested = world.read(&format!("{B}/tables/tbl_users/schema/versions")).await.unwrap();
            assert_eq!(nested[0]["version"], 1);
            let one = world.read(nested[0]["uri"].as_str().unwrap()).await.unwrap();
            assert_eq!(one["schema"], table["schema"]);
            assert_eq!(world.read(&format!("{B}/tables/tbl_users/indexes")).await.unwrap(), table["indexes"]);
            assert_eq!(
                world.read(&format!("{B}/tables/tbl_users/schema")).await.unwrap()["schema"],
                table["schema"]
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rows_come_in_pages() {
        for world in worlds().await {
            let rows = world.read(&format!("{B}/tables/tbl_users/rows")).await.unwrap();
            assert_eq!(
                rows["items"][0],
                json!({"id": "rec_abc123", "name": "Ada", "email": "ada@example.org", "role": "admin", "age": 36,
                    "createdBy": "agent_1", "createdAt": "2026-02-12T00:00:00.000Z", "updatedAt": "2026-02-12T00:00:00.000Z"})
            );
            let past = world.read(&format!("{B}/tables/tbl_users/rows?page=9")).await.unwrap();
            assert_eq!((&past["items"], &past["pagination"]["hasNext"]), (&json!([]), &json!(false)));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn tokens_are_masked() {
        for world in worlds().await {
            let tokens = world.read("bkend://access-tokens").await.unwrap();
            assert_eq!(tokens["items"][0]["maskedKey"], "tok_01ABC…");
            let one = world.read("bkend://access-tokens/tok_01ABCDEFGH").await.unwrap();
            assert_eq!(one, tokens["items"][0]);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_scope_opens_its_own_level_only() {
        for world in worlds().await {
            let reader = caller(&world.test.tenant, "organization:read");
            assert!(world.read_as(&reader, "bkend://orgs").await.is_ok());
            for uri in [
                &format!("{B}/tables"),
                "bkend://projects",
                "bkend://access-tokens",
                &format!("{B}/tables/tbl_users/rows"),
            ] {
                assert_eq!(world.read_as(&reader, uri).await.unwrap_err().kind(), Kind::Scope, "{uri}");
            }
            // The context shows each caller what it may see, and no cached copy of somebody else's.
            let full = world.read("bkend://context").await.unwrap();
            assert_eq!(full["organization"]["id"], "org_abc123");
            assert_eq!(full["projects"][0]["environments"][0]["id"], "env_dev001");
            assert_eq!(full["warnings"], json!([]));
            let narrow = world.read_as(&reader, "bkend://context").await.unwrap();
            assert_eq!(narrow["projects"], json!([]));
            assert_eq!(narrow["warnings"].as_array().unwrap().len(), 1);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_row_count_makes_stale_and_wakes_nobody() {
        for world in worlds().await {
            let rows = [Tag::new("bkend:rows:tbl_users")];
            for uri in [&format!("{B}/tables"), "bkend://tables/tbl_users", "bkend://tables"] {
                let basis = world.basis(uri).await;
                assert!(basis.is_touched_by(&rows) && !basis.is_announced_by(&rows), "{uri}");
            }
            assert!(world.basis(&format!("{B}/tables/tbl_users/rows")).await.is_announced_by(&rows));
            world
                .call(
                    "backend_data_create",
                    json!({"tableId": "tbl_users", "data": {"name": "B", "email": "b@x.io"}}),
                )
                .await
                .unwrap();
            assert_eq!(world.read(&format!("{B}/tables")).await.unwrap()[0]["rowCount"], 2);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_long_table_list_shrinks_its_schemas() {
        let world = worlds().await.remove(0);
        let allowed: Vec<String> = (0..400).map(|n| format!("{n:0>250}")).collect();
        for table in ["big1", "big2", "big3"] {
            let fields = json!([{"name": "kind", "type": "string", "enum": allowed}]);
            let arguments = json!({"environmentId": "env_dev001", "name": table, "fields": fields});
            world.call("backend_table_create", arguments).await.unwrap();
        }
        let tables = world.read(&format!("{B}/tables")).await.unwrap();
        assert!(tables.to_string().len() < crate::limits::TABLE_LIST_BYTES);
        let tables = tables.as_array().unwrap();
        assert_eq!(tables.len(), 4);
        for table in tables {
            let whole = world.read(table["schemaUri"].as_str().unwrap()).await.unwrap();
            for (name, kind) in table["schema"]["properties"].as_object().unwrap() {
                assert_eq!(whole["schema"]["properties"][name]["bsonType"], kind["bsonType"]);
            }
        }
    }
}
