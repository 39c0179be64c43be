//! The addresses of this scheme: the route table, and functions that build addresses.
//!
//! There are two families. The nested one (`bkend://orgs/…`) is canonical; `resources/list` shows it. The flat one
//! (`bkend://projects`, `bkend://tables/{tableId}`) is for clients that know ids without their parents.

use quad_core::{Grammar, RouteDef, RouteTable, ScopeRequirement};

use crate::errors;

/// The resource that an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Organizations,
    Organization,
    Projects,
    Project,
    Environments,
    Environment,
    Tables,
    Table,
    Schema,
    SchemaVersions,
    SchemaVersion,
    Indexes,
    Rows,
    Context,
    FlatOrganizations,
    FlatOrganization,
    FlatProjects,
    FlatProject,
    FlatEnvironments,
    FlatEnvironment,
    FlatTables,
    FlatTable,
    FlatSchemaVersions,
    FlatIndexVersions,
    AccessTokens,
    AccessToken,
}

pub(crate) const ORGANIZATION_READ: ScopeRequirement = ScopeRequirement(&["organization:read"]);
pub(crate) const PROJECT_READ: ScopeRequirement = ScopeRequirement(&["project:read"]);
pub(crate) const ENVIRONMENT_READ: ScopeRequirement = ScopeRequirement(&["environment:read"]);
pub(crate) const TABLE_READ: ScopeRequirement = ScopeRequirement(&["table:read"]);
pub(crate) const ROWS_READ: ScopeRequirement = ScopeRequirement(&["table:data:read"]);
pub(crate) const TOKEN_READ: ScopeRequirement = ScopeRequirement(&["access-token:read"]);

macro_rules! nested {
    ($rest:literal) => {
        concat!("bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}", $rest)
    };
}

/// All routes, in the order of lists.
pub(crate) const ROUTES: RouteTable<Resource> = RouteTable {
    rows: &[
        RouteDef::json(Resource::Organizations, "bkend://orgs", "Organizations", "The organizations that you can see.", ORGANIZATION_READ),
        RouteDef::json(Resource::Organization, "bkend://orgs/{orgId}", "Organization", "An organization with its plan and status.", ORGANIZATION_READ).title("One organization"),
        RouteDef::json(Resource::Projects, "bkend://orgs/{orgId}/projects", "Projects", "The projects of an organization, each with the number of its environments.", PROJECT_READ).title("Projects of an organization"),
        RouteDef::json(Resource::Project, "bkend://orgs/{orgId}/projects/{projectId}", "Project", "A project with its settings.", PROJECT_READ).title("One project"),
        RouteDef::json(Resource::Environments, "bkend://orgs/{orgId}/projects/{projectId}/environments", "Environments", "The environments of a project, each with the number of its tables.", ENVIRONMENT_READ).title("Environments of a project"),
        RouteDef::json(Resource::Environment, nested!(""), "Environment", "An environment with its type and status.", ENVIRONMENT_READ).title("One environment"),
        RouteDef::json(Resource::Tables, nested!("/tables"), "Tables", "The tables of an environment with their schemas, fields and indexes. Read this before you write rows.", TABLE_READ).title("Tables of an environment"),
        RouteDef::json(Resource::Table, nested!("/tables/{tableId}"), "Table", "A table with its schema, fields, indexes and permissions.", TABLE_READ).title("One table"),
        RouteDef::json(Resource::Schema, nested!("/tables/{tableId}/schema"), "Schema", "A table's complete current schema.", TABLE_READ).title("Schema of a table"),
        RouteDef::json(Resource::SchemaVersions, nested!("/tables/{tableId}/schema/versions"), "Schema versions", "Every schema that a table has had, the newest first.", TABLE_READ).title("Schema versions of a table"),
        RouteDef::json(Resource::SchemaVersion, nested!("/tables/{tableId}/schema/versions/{n}"), "Schema version", "A schema that a table has or had, by its number.", TABLE_READ).title("One schema version"),
        RouteDef::json(Resource::Indexes, nested!("/tables/{tableId}/indexes"), "Indexes", "A table's current indexes.", TABLE_READ).title("Indexes of a table"),
        RouteDef::json(Resource::Rows, nested!("/tables/{tableId}/rows{?page,limit}"), "Rows", "A page of a table's rows, the newest first; at most 100 a page.", ROWS_READ).title("Rows of a table"),
        RouteDef::json(Resource::Context, "bkend://context", "Context", "The organization with its projects and environments, in one document.", ORGANIZATION_READ).title("Where you are"),
        RouteDef::json(Resource::FlatOrganizations, "bkend://organizations{?page,limit}", "All organizations", "A page of the organizations that you can see.", ORGANIZATION_READ).title("All organizations, in pages"),
        RouteDef::json(Resource::FlatOrganization, "bkend://organizations/{organizationId}", "Organization by id", "The same as bkend://orgs/{orgId}.", ORGANIZATION_READ).title("One organization, by id"),
        RouteDef::json(Resource::FlatProjects, "bkend://projects{?page,limit}", "All projects", "A page of all projects.", PROJECT_READ).title("All projects, in pages"),
        RouteDef::json(Resource::FlatProject, "bkend://projects/{projectId}", "Project by id", "A project of any organization.", PROJECT_READ).title("One project, by id"),
        RouteDef::json(Resource::FlatEnvironments, "bkend://environments{?page,limit}", "All environments", "A page of all environments.", ENVIRONMENT_READ).title("All environments, in pages"),
        RouteDef::json(Resource::FlatEnvironment, "bkend://environments/{environmentId}", "Environment by id", "An environment of any project.", ENVIRONMENT_READ).title("One environment, by id"),
        RouteDef::json(Resource::FlatTables, "bkend://tables{?page,limit}", "All tables", "A page of all tables, with their schemas.", TABLE_READ).title("All tables, in pages"),
        RouteDef::json(Resource::FlatTable, "bkend://tables/{tableId}", "Table by id", "A table of any environment.", TABLE_READ).title("One table, by id"),
        RouteDef::json(Resource::FlatSchemaVersions, "bkend://tables/{tableId}/schema/versions{?page,limit}", "Schema version pages", "A page of a table's schemas, the newest first.", TABLE_READ).title("Schema versions of a table, in pages"),
        RouteDef::json(Resource::FlatIndexVersions, "bkend://tables/{tableId}/indexes/versions{?page,limit}", "Index version pages", "A page of a table's sets of indexes, the newest first.", TABLE_READ).title("Index versions of a table, in pages"),
        RouteDef::json(Resource::AccessTokens, "bkend://access-tokens{?page,limit}", "Access tokens", "A page of the tokens that may use this server, masked.", TOKEN_READ).title("Access tokens, in pages"),
        RouteDef::json(Resource::AccessToken, "bkend://access-tokens/{accessTokenId}", "Access token", "A token's name, scopes and status; never its secret.", TOKEN_READ).title("One access token"),
    ],
    grammars: &[("n", Grammar::Integer), ("page", Grammar::Integer), ("limit", Grammar::Integer)],
};

impl Resource {
    /// What lists the existing things, for an address that names none of them.
    pub(crate) fn listing_hint(self) -> &'static str {
        errors::listing_hint(match self {
            Resource::Organization | Resource::Projects | Resource::FlatOrganization => "Organization",
            Resource::Project | Resource::Environments | Resource::FlatProject => "Project",
            Resource::Environment | Resource::Tables | Resource::FlatEnvironment => "Environment",
            Resource::AccessToken => "Access token",
            _ => "Table",
        })
    }
}

/// The address of an organization.
pub(crate) fn organization_uri(organization: &str) -> String {
    format!("bkend://orgs/{organization}")
}

/// The address of an organization's projects.
pub(crate) fn projects_uri(organization: &str) -> String {
    format!("bkend://orgs/{organization}/projects")
}

/// The address of a project.
pub(crate) fn project_uri(organization: &str, project: &str) -> String {
    format!("bkend://orgs/{organization}/projects/{project}")
}

/// The address of a project's environments.
pub(crate) fn environments_uri(organization: &str, project: &str) -> String {
    format!("bkend://orgs/{organization}/projects/{project}/environments")
}

/// The address of an environment.
pub(crate) fn environment_uri(organization: &str, project: &str, environment: &str) -> String {
    format!("bkend://orgs/{organization}/projects/{project}/environments/{environment}")
}

/// The address of an environment's tables.
pub(crate) fn tables_uri(organization: &str, project: &str, environment: &str) -> String {
    format!("bkend://orgs/{organization}/projects/{project}/environments/{environment}/tables")
}

/// The address of a table.
pub(crate) fn table_uri(organization: &str, project: &str, environment: &str, table: &str) -> String {
    format!("bkend://orgs/{organization}/projects/{project}/environments/{environment}/tables/{table}")
}

/// The address of a table's schema.
pub(crate) fn schema_uri(table_uri: &str) -> String {
    format!("{table_uri}/schema")
}

/// The address of one schema version of a table.
pub(crate) fn schema_version_uri(table_uri: &str, version: i64) -> String {
    format!("{table_uri}/schema/versions/{version}")
}

/// The address of a table's indexes.
pub(crate) fn indexes_uri(table_uri: &str) -> String {
    format!("{table_uri}/indexes")
}

/// The address of a table's rows.
pub(crate) fn rows_uri(table_uri: &str) -> String {
    format!("{table_uri}/rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_has_a_name_of_its_own_in_sentence_case() {
        let mut names: Vec<&str> = ROUTES.rows.iter().map(|row| row.name).collect();
        for name in &names {
            assert!(name.starts_with(|c: char| c.is_ascii_uppercase()), "{name}");
            assert!(!name.chars().skip(1).any(|c| c.is_ascii_uppercase()), "{name}");
        }
        names.sort_unstable();
        assert_eq!(names.windows(2).find(|pair| pair[0] == pair[1]), None);
    }

    #[test]
    fn templates_parse_and_route_uniquely() {
        let mut router = quad_address::Router::new();
        for (index, route) in ROUTES.routes().unwrap().into_iter().enumerate() {
            router.add(route.spec, index).unwrap();
        }
        let check = |uri: &str, expected: Resource| {
            let (_, index) = router.route(uri).unwrap();
            assert_eq!(ROUTES.resource(*index).unwrap(), expected, "{uri}");
        };
        check("bkend://orgs", Resource::Organizations);
        check(&projects_uri("org_1"), Resource::Projects);
        check(&environments_uri("o", "p"), Resource::Environments);
        check(&tables_uri("o", "p", "e"), Resource::Tables);
        let table = table_uri("o", "p", "e", "t");
        check(&table, Resource::Table);
        check(&schema_uri(&table), Resource::Schema);
        check(&schema_version_uri(&table, 3), Resource::SchemaVersion);
        check(&indexes_uri(&table), Resource::Indexes);
        check(&format!("{}?limit=5", rows_uri(&table)), Resource::Rows);
        check("bkend://tables?page=2", Resource::FlatTables);
        check("bkend://tables/tbl_1/indexes/versions", Resource::FlatIndexVersions);
        check("bkend://context", Resource::Context);
        for bad in
            ["bkend://orgs/..%2f", "bkend://nope", "bkend://orgs?x=1", "bkend://orgs/a/projects/b/nope"]
        {
            assert!(router.route(bad).is_err(), "{bad}");
        }
    }
}
