//! Completion: ids by their first characters, below whatever parents are already known, and only of levels that the
//! caller may read.

use quad_core::scheme::Completion;
use quad_core::{Basis, Need, Principal, Result, Tag, id, limits as shared};
use quad_store::{Sql, Value as SqlValue};
use serde_json::{Map, Value};

use crate::{routes, tags};

/// What a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Organization,
    Project,
    Environment,
    Table,
    Version,
    Token,
}

/// What this variable stands for, if its values can be listed.
pub(crate) fn kind(variable: &str) -> Option<Kind> {
    Some(match variable {
        "orgId" | "organizationId" => Kind::Organization,
        "projectId" => Kind::Project,
        "envId" | "environmentId" => Kind::Environment,
        "tableId" => Kind::Table,
        "n" => Kind::Version,
        "accessTokenId" => Kind::Token,
        _ => return None,
    })
}

impl Kind {
    /// What the caller must hold to see the values.
    pub(crate) fn need(self) -> Need {
        match self {
            Kind::Organization => routes::ORGANIZATION_READ,
            Kind::Project => routes::PROJECT_READ,
            Kind::Environment => routes::ENVIRONMENT_READ,
            Kind::Table | Kind::Version => routes::TABLE_READ,
            Kind::Token => routes::TOKEN_READ,
        }
    }

    pub(crate) fn is_visible_to(self, caller: &Principal) -> bool {
        self.need().is_met_by(&caller.scopes)
    }

    fn source(self) -> (&'static str, &'static [(&'static str, &'static [&'static str])], Tag) {
        const ORGANIZATION: &[&str] = &["orgId", "organizationId"];
        const PROJECT: &[&str] = &["projectId"];
        const ENVIRONMENT: &[&str] = &["envId", "environmentId"];
        match self {
            Kind::Project => ("bkend_project", &[("organization_id", ORGANIZATION)], tags::any_projects()),
            Kind::Environment => (
                "bkend_environment",
                &[("organization_id", ORGANIZATION), ("project_id", PROJECT)],
                tags::any_environments(),
            ),
            Kind::Table => (
                "bkend_table",
                &[
                    ("organization_id", ORGANIZATION),
                    ("project_id", PROJECT),
                    ("environment_id", ENVIRONMENT),
                ],
                tags::any_tables(),
            ),
            Kind::Organization | Kind::Version | Kind::Token => {
                ("bkend_organization", &[], tags::organizations())
            }
        }
    }
}

/// Ids that begin with `prefix`.
pub(crate) fn ids(
    sql: &mut dyn Sql,
    kind: Kind,
    prefix: &str,
    known: &Map<String, Value>,
) -> Result<Completion> {
    let (table, parents, tag) = kind.source();
    let basis = Basis::at(sql.version()).on(tag);
    if !prefix.is_empty() && !id::is_id(prefix) {
        return Ok(Completion { basis, ..Completion::default() });
    }
    let mut values = vec![SqlValue::from(sql.tenant().as_str())];
    let mut filter = String::from("tenant_id = $1");
    let mut narrow = |condition: &str, value: String| {
        values.push(SqlValue::from(value));
        filter.push_str(&format!(" AND {condition} ${}", values.len()));
    };
    if let Some(end) = after_prefix(prefix) {
        narrow("id >=", prefix.to_owned());
        narrow("id <", end);
    }
    for (column, variables) in parents {
        let given = variables.iter().find_map(|variable| known.get(*variable)?.as_str());
        if let Some(given) = given.filter(|given| !given.is_empty()) {
            narrow(&format!("{column} ="), given.to_owned());
        }
    }
    let total = sql.query_opt(&format!("SELECT COUNT(*) FROM {table} WHERE {filter}"), &values)?;
    let total = total.map_or(Ok(0), |row| row.int(0))?;
    let rows = sql.query(
        &format!("SELECT id FROM {table} WHERE {filter} ORDER BY id LIMIT {}", shared::COMPLETION_VALUES),
        &values,
    )?;
    let found = rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect::<Result<_>>()?;
    Ok(Completion { values: found, total: total as usize, basis })
}

/// The numbers of a table's schemas that begin with `prefix`, the newest first.
pub(crate) fn versions(sql: &mut dyn Sql, prefix: &str, known: &Map<String, Value>) -> Result<Completion> {
    let basis = Basis::at(sql.version());
    let Some(table) = known.get("tableId").and_then(Value::as_str) else {
        return Ok(Completion { basis, ..Completion::default() });
    };
    let basis = basis.on(tags::table(table));
    let newest = match crate::table::find(sql, table) {
        Ok(table) => table.schema_version,
        Err(error) if error.kind() == quad_core::Kind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let values: Vec<String> = (1..=newest)
        .rev()
        .map(|version| version.to_string())
        .filter(|version| version.starts_with(prefix))
        .collect();
    Ok(Completion { total: values.len(), values, basis })
}

/// The first word after all that begin with `prefix`: ids are ASCII, so the last byte can be counted up.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    let last = end.pop()?;
    end.push(char::from(u8::try_from(last).ok()? + 1));
    Some(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{caller, worlds};

    const TABLES: &str = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables";

    #[tokio::test(flavor = "multi_thread")]
    async fn ids_complete_below_their_parents() {
        for mut world in worlds().await {
            assert_eq!(world.complete(TABLES, "envId", "env_", json!({})).await, ["env_dev001"]);
            assert_eq!(
                world.complete(TABLES, "envId", "", json!({"projectId": "proj_xyz789"})).await,
                ["env_dev001"]
            );
            assert!(
                world.complete(TABLES, "envId", "env_", json!({"projectId": "proj_none"})).await.is_empty()
            );
            assert!(world.complete(TABLES, "envId", "ENV", json!({})).await.is_empty());
            assert!(world.complete(TABLES, "envId", "env_%", json!({})).await.is_empty());
            assert_eq!(world.complete(TABLES, "orgId", "o", json!({})).await, ["org_abc123"]);
            assert_eq!(
                world.complete(TABLES, "projectId", "proj_", json!({"orgId": "org_abc123"})).await,
                ["proj_xyz789"]
            );
            let version = format!("{TABLES}/{{tableId}}/schema/versions/{{n}}");
            assert_eq!(
                world.complete(&version, "tableId", "tbl", json!({"envId": "env_dev001"})).await,
                ["tbl_users"]
            );
            assert_eq!(world.complete(&version, "n", "", json!({"tableId": "tbl_users"})).await, ["1"]);
            assert!(world.complete(&version, "n", "", json!({"tableId": "tbl_none"})).await.is_empty());
            let token = "bkend://access-tokens/{accessTokenId}";
            assert_eq!(world.complete(token, "accessTokenId", "tok", json!({})).await, ["tok_01ABCDEFGH"]);
            // The template is open to this caller, the level of the variable is not.
            world.caller = caller(&world.test.tenant, "table:read");
            assert!(world.complete(TABLES, "orgId", "o", json!({})).await.is_empty());
        }
    }
}
