//! The addresses of this scheme: their templates, and how each is spelt.
//!
//! Two families. The nested one (`bkend://orgs/…`) is canonical and what `resources/list` shows; the flat one
//! (`bkend://projects`, `bkend://tables/{tableId}`) serves clients that know it.

use quad_core::{Error, Grammar, Result, Route, RouteSpec, ScopeRequirement};

/// What an address names.
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

/// One line of the table of routes.
struct RouteDef {
    resource: Resource,
    template: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    need: ScopeRequirement,
}

pub(crate) const ORGANIZATION_READ: ScopeRequirement = ScopeRequirement(&["organization:read"]);
pub(crate) const PROJECT_READ: ScopeRequirement = ScopeRequirement(&["project:read"]);
pub(crate) const ENVIRONMENT_READ: ScopeRequirement = ScopeRequirement(&["environment:read"]);
pub(crate) const TABLE_READ: ScopeRequirement = ScopeRequirement(&["table:read"]);
pub(crate) const ROWS_READ: ScopeRequirement = ScopeRequirement(&["table:data:read"]);
pub(crate) const TOKEN_READ: ScopeRequirement = ScopeRequirement(&["access-token:read"]);

macro_rules! route {
    ($resource:ident, $template:expr, $name:literal, $title:literal, $description:literal, $need:ident) => {
        RouteDef {
            resource: Resource::$resource,
            template: $template,
            name: $name,
            title: $title,
            description: $description,
            need: $need,
        }
    };
}

macro_rules! nested {
    ($rest:literal) => {
        concat!("bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}", $rest)
    };
}

const ROUTES: [RouteDef; 26] = [
    route!(
        Organizations,
        "bkend://orgs",
        "Organizations",
        "Organizations",
        "The organizations that you can see.",
        ORGANIZATION_READ
    ),
    route!(
        Organization,
        "bkend://orgs/{orgId}",
        "Organization",
        "One organization",
        "An organization with its plan and status.",
        ORGANIZATION_READ
    ),
    route!(
        Projects,
        "bkend://orgs/{orgId}/projects",
        "Projects",
        "Projects of an organization",
        "The projects of an organization, each with the number of its environments.",
        PROJECT_READ
    ),
    route!(
        Project,
        "bkend://orgs/{orgId}/projects/{projectId}",
        "Project",
        "One project",
        "A project with its settings.",
        PROJECT_READ
    ),
    route!(
        Environments,
        "bkend://orgs/{orgId}/projects/{projectId}/environments",
        "Environments",
        "Environments of a project",
        "The environments of a project, each with the number of its tables.",
        ENVIRONMENT_READ
    ),
    route!(
        Environment,
        nested!(""),
        "Environment",
        "One environment",
        "An environment with its type and status.",
        ENVIRONMENT_READ
    ),
    route!(
        Tables,
        nested!("/tables"),
        "Tables",
        "Tables of an environment",
        "The tables of an environment with their schemas, fields and indexes. Read this before you write rows.",
        TABLE_READ
    ),
    route!(
        Table,
        nested!("/tables/{tableId}"),
        "Table",
        "One table",
        "A table with its schema, fields, indexes and permissions.",
        TABLE_READ
    ),
    route!(
        Schema,
        nested!("/tables/{tableId}/schema"),
        "Schema",
        "Schema of a table",
        "A table's present schema, whole.",
        TABLE_READ
    ),
    route!(
        SchemaVersions,
        nested!("/tables/{tableId}/schema/versions"),
        "SchemaVersions",
        "Schema versions of a table",
        "Every schema that a table has had, the newest first.",
        TABLE_READ
    ),
    route!(
        SchemaVersion,
        nested!("/tables/{tableId}/schema/versions/{n}"),
        "SchemaVersion",
        "One schema version",
        "A schema that a table has or had, by its number.",
        TABLE_READ
    ),
    route!(
        Indexes,
        nested!("/tables/{tableId}/indexes"),
        "Indexes",
        "Indexes of a table",
        "A table's present indexes.",
        TABLE_READ
    ),
    route!(
        Rows,
        nested!("/tables/{tableId}/rows{?page,limit}"),
        "Rows",
        "Rows of a table",
        "A page of a table's rows, the newest first; at most 100 a page.",
        ROWS_READ
    ),
    route!(
        Context,
        "bkend://context",
        "Context",
        "Where you are",
        "The organization with its projects and environments, in one document.",
        ORGANIZATION_READ
    ),
    route!(
        FlatOrganizations,
        "bkend://organizations{?page,limit}",
        "Organization",
        "All organizations, in pages",
        "A page of the organizations that you can see.",
        ORGANIZATION_READ
    ),
    route!(
        FlatOrganization,
        "bkend://organizations/{organizationId}",
        "Organization",
        "One organization, by id",
        "The same as bkend://orgs/{orgId}.",
        ORGANIZATION_READ
    ),
    route!(
        FlatProjects,
        "bkend://projects{?page,limit}",
        "Project",
        "All projects, in pages",
        "A page of all projects.",
        PROJECT_READ
    ),
    route!(
        FlatProject,
        "bkend://projects/{projectId}",
        "Project",
        "One project, by id",
        "A project, wherever it is.",
        PROJECT_READ
    ),
    route!(
        FlatEnvironments,
        "bkend://environments{?page,limit}",
        "Environment",
        "All environments, in pages",
        "A page of all environments.",
        ENVIRONMENT_READ
    ),
    route!(
        FlatEnvironment,
        "bkend://environments/{environmentId}",
        "Environment",
        "One environment, by id",
        "An environment, wherever it is.",
        ENVIRONMENT_READ
    ),
    route!(
        FlatTables,
        "bkend://tables{?page,limit}",
        "Table",
        "All tables, in pages",
        "A page of all tables, with their schemas.",
        TABLE_READ
    ),
    route!(
        FlatTable,
        "bkend://tables/{tableId}",
        "Table",
        "One table, by id",
        "A table, wherever it is.",
        TABLE_READ
    ),
    route!(
        FlatSchemaVersions,
        "bkend://tables/{tableId}/schema/versions{?page,limit}",
        "SchemaVersion",
        "Schema versions of a table, in pages",
        "A page of a table's schemas, the newest first.",
        TABLE_READ
    ),
    route!(
        FlatIndexVersions,
        "bkend://tables/{tableId}/indexes/versions{?page,limit}",
        "IndexVersion",
        "Index versions of a table, in pages",
        "A page of a table's sets of indexes, the newest first.",
        TABLE_READ
    ),
    route!(
        AccessTokens,
        "bkend://access-tokens{?page,limit}",
        "AccessToken",
        "Access tokens, in pages",
        "A page of the tokens that may use this server, masked.",
        TOKEN_READ
    ),
    route!(
        AccessToken,
        "bkend://access-tokens/{accessTokenId}",
        "AccessToken",
        "One access token",
        "A token's name, scopes and status; never its secret.",
        TOKEN_READ
    ),
];

/// All routes, in the order of [`noun`].
pub(crate) fn all() -> Vec<Route> {
    ROUTES.iter().filter_map(|def| parse_spec(def).map(|spec| to_route(def, spec)).ok()).collect()
}

fn parse_spec(def: &RouteDef) -> Result<RouteSpec> {
    let mut spec = RouteSpec::parse(def.template).map_err(|error| Error::internal(error.to_string()))?;
    for variable in ["n", "page", "limit"] {
        if spec.template.variables().any(|name| name == variable) {
            spec = spec.with_grammar(variable, Grammar::Integer);
        }
    }
    Ok(spec)
}

fn to_route(def: &RouteDef, spec: RouteSpec) -> Route {
    Route {
        spec,
        name: def.name,
        title: def.title,
        description: def.description,
        mime_type: Some("application/json"),
        required_scope: def.need,
        advertised: true,
    }
}

/// What route number so-and-so names.
pub(crate) fn resource_at(index: usize) -> Result<Resource> {
    ROUTES
        .get(index)
        .map(|def| def.resource)
        .ok_or_else(|| Error::internal(format!("there is no route {index}")))
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

/// The address of one of a table's schemas.
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
    fn templates_parse_and_route_uniquely() {
        let mut router = quad_address::Router::new();
        assert_eq!(all().len(), ROUTES.len());
        for (index, route) in all().into_iter().enumerate() {
            router.add(route.spec, index).unwrap();
        }
        let check = |uri: &str, expected: Resource| {
            let (_, index) = router.route(uri).unwrap();
            assert_eq!(resource_at(*index).unwrap(), expected, "{uri}");
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
