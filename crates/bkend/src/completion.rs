//! Completion of ids by prefix, below the parents that are already chosen, and only for levels that the caller may
//! read.

use quad_core::scheme::Completion;
use quad_core::{Principal, ReadSet, Result, ScopeRequirement, Tag, id, limits as shared};
use quad_store::{Sql, Value as SqlValue};
use serde_json::{Map, Value};

use crate::{routes, tags};

/// What a variable of a template identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableKind {
    Organization,
    Project,
    Environment,
    Table,
    Version,
    Token,
}

/// What the variable identifies, if its values can be listed.
pub(crate) fn variable_kind(variable: &str) -> Option<VariableKind> {
    Some(match variable {
        "orgId" | "organizationId" => VariableKind::Organization,
        "projectId" => VariableKind::Project,
        "envId" | "environmentId" => VariableKind::Environment,
        "tableId" => VariableKind::Table,
        "n" => VariableKind::Version,
        "accessTokenId" => VariableKind::Token,
        _ => return None,
    })
}

impl VariableKind {
    /// The scope that the caller needs to see the values.
    pub(crate) fn need(self) -> ScopeRequirement {
        match self {
            VariableKind::Organization => routes::ORGANIZATION_READ,
            VariableKind::Project => routes::PROJECT_READ,
            VariableKind::Environment => routes::ENVIRONMENT_READ,
            VariableKind::Table | VariableKind::Version => routes::TABLE_READ,
            VariableKind::Token => routes::TOKEN_READ,
        }
    }

    pub(crate) fn is_visible_to(self, caller: &Principal) -> bool {
        self.need().is_satisfied_by(&caller.scopes)
    }

    fn source(self) -> (&'static str, &'static [(&'static str, &'static [&'static str])], Tag) {
        const ORGANIZATION: &[&str] = &["orgId", "organizationId"];
        const PROJECT: &[&str] = &["projectId"];
        const ENVIRONMENT: &[&str] = &["envId", "environmentId"];
        match self {
            VariableKind::Project => {
                ("bkend_project", &[("organization_id", ORGANIZATION)], tags::any_projects())
            }
            VariableKind::Environment => (
                "bkend_environment",
                &[("organization_id", ORGANIZATION), ("project_id", PROJECT)],
                tags::any_environments(),
            ),
            VariableKind::Table => (
                "bkend_table",
                &[
                    ("organization_id", ORGANIZATION),
                    ("project_id", PROJECT),
                    ("environment_id", ENVIRONMENT),
                ],
                tags::any_tables(),
            ),
            VariableKind::Organization | VariableKind::Version | VariableKind::Token => {
                ("bkend_organization", &[], tags::organizations())
            }
        }
    }
}

/// Ids that start with `prefix`.
pub(crate) fn complete_ids(
    sql: &mut dyn Sql,
    kind: VariableKind,
    prefix: &str,
    context_args: &Map<String, Value>,
) -> Result<Completion> {
    let (table, parents, tag) = kind.source();
    let read_set = ReadSet::at_version(sql.version()).with_tag(tag);
    if !prefix.is_empty() && !id::is_id(prefix) {
        return Ok(Completion { read_set, ..Completion::default() });
    }
    let mut values = vec![SqlValue::from(sql.tenant().as_str())];
    let mut filter = String::from("tenant_id = $1");
    let mut add_filter = |condition: &str, value: String| {
        values.push(SqlValue::from(value));
        filter.push_str(&format!(" AND {condition} ${}", values.len()));
    };
    if let Some(end) = prefix_upper_bound(prefix) {
        add_filter("id >=", prefix.to_owned());
        add_filter("id <", end);
    }
    for (column, variables) in parents {
        let parent_id = variables.iter().find_map(|variable| context_args.get(*variable)?.as_str());
        if let Some(parent_id) = parent_id.filter(|id| !id.is_empty()) {
            add_filter(&format!("{column} ="), parent_id.to_owned());
        }
    }
    let total = sql.query_opt(&format!("SELECT COUNT(*) FROM {table} WHERE {filter}"), &values)?;
    let total = total.map_or(Ok(0), |row| row.int(0))?;
    let rows = sql.query(
        &format!("SELECT id FROM {table} WHERE {filter} ORDER BY id LIMIT {}", shared::COMPLETION_VALUES),
        &values,
    )?;
    let matching_ids = rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect::<Result<_>>()?;
    Ok(Completion { values: matching_ids, total: total as usize, read_set })
}

/// The numbers of a table's schemas that start with `prefix`, newest first.
pub(crate) fn complete_versions(
    sql: &mut dyn Sql,
    prefix: &str,
    context_args: &Map<String, Value>,
) -> Result<Completion> {
    let read_set = ReadSet::at_version(sql.version());
    let Some(table) = context_args.get("tableId").and_then(Value::as_str) else {
        return Ok(Completion { read_set, ..Completion::default() });
    };
    let read_set = read_set.with_tag(tags::table(table));
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
    Ok(Completion { total: values.len(), values, read_set })
}

/// The first text after all texts with this prefix. Ids are ASCII, so incrementing the last byte is safe.
fn prefix_upper_bound(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    let last = end.pop()?;
    end.push(char::from(u8::try_from(last).ok()? + 1));
    Some(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::test_envs_with_data;

    const TABLES: &str = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables";

    #[tokio::test(flavor = "multi_thread")]
    async fn completes_ids_within_known_parents() {
        for mut test_env in test_envs_with_data().await {
            assert_eq!(test_env.complete(TABLES, "envId", "env_", json!({})).await.unwrap(), ["env_dev001"]);
            assert_eq!(
                test_env.complete(TABLES, "envId", "", json!({"projectId": "proj_xyz789"})).await.unwrap(),
                ["env_dev001"]
            );
            assert!(
                test_env
                    .complete(TABLES, "envId", "env_", json!({"projectId": "proj_none"}))
                    .await
                    .unwrap()
                    .is_empty()
            );
            assert!(test_env.complete(TABLES, "envId", "ENV", json!({})).await.unwrap().is_empty());
            assert!(test_env.complete(TABLES, "envId", "env_%", json!({})).await.unwrap().is_empty());
            assert_eq!(test_env.complete(TABLES, "orgId", "o", json!({})).await.unwrap(), ["org_abc123"]);
            assert_eq!(
                test_env
                    .complete(TABLES, "projectId", "proj_", json!({"orgId": "org_abc123"}))
                    .await
                    .unwrap(),
                ["proj_xyz789"]
            );
            let version = format!("{TABLES}/{{tableId}}/schema/versions/{{n}}");
            assert_eq!(
                test_env.complete(&version, "tableId", "tbl", json!({"envId": "env_dev001"})).await.unwrap(),
                ["tbl_users"]
            );
            assert_eq!(
                test_env.complete(&version, "n", "", json!({"tableId": "tbl_users"})).await.unwrap(),
                ["1"]
            );
            assert!(
                test_env
                    .complete(&version, "n", "", json!({"tableId": "tbl_none"}))
                    .await
                    .unwrap()
                    .is_empty()
            );
            let token = "bkend://access-tokens/{accessTokenId}";
            assert_eq!(
                test_env.complete(token, "accessTokenId", "tok", json!({})).await.unwrap(),
                ["tok_01ABCDEFGH"]
            );
            // The caller may read the template but not the level of the variable.
            test_env.caller =
                quad_store::testing::agent(&test_env.test_store.tenant, "agent_1", "table:read");
            assert!(test_env.complete(TABLES, "orgId", "o", json!({})).await.unwrap().is_empty());
        }
    }
}
