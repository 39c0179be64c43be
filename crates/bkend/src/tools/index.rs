//! `backend_index_manage` and `backend_index_version_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, string_enum};
use quad_core::{ReadSet, Result, ScopeRequirement, Tool, ToolEntry, ToolOutput};
use serde_json::{Value, json};

use super::schema::{VERSION_ALIASES, get_version, list_versions, version_id};
use super::{Arguments, UPPER_IDS, lookup, page_properties, results, table_path, write};
use crate::alter::{self, IndexChanges};
use crate::errors;
use crate::index::{self, INDEX_EXAMPLE};
use crate::schema_version::VersionKind;
use crate::{Bkend, definition, routes};

/// Lists of changes as clients of the hosted service send them, instead of an action.
const INDEX_LISTS: [&str; 2] = ["indexesToAddOrUpdate", "indexesToRemove"];

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    const UNPUBLISHED: [&str; 4] = [UPPER_IDS[0], UPPER_IDS[1], INDEX_LISTS[0], INDEX_LISTS[1]];
    const INDEXES: &str = "Each as {\"fields\":[\"role\",\"-age\"],\"unique\":false,\"sparse\":false}; - is descending. \
         A name is derived if left out, and is enough to delete";
    let index = json!({"type": "object", "properties": {"name": {"type": "string"},
        "fields": {"type": "array", "items": {"type": "string"}}, "unique": {"type": "boolean"},
        "sparse": {"type": "boolean"}}});
    vec![
        ToolEntry::new(
            Tool::new(
                "backend_index_manage",
                "Manage indexes",
                "Adds, replaces or removes indexes of a table.",
                object(
                    &[
                        &table_path()[..],
                        &[
                            ("action", string_enum(&["add", "delete"], "One for all indexes")),
                            ("indexes", array(index, INDEXES)),
                        ],
                    ]
                    .concat(),
                    &["tableId"],
                ),
                ScopeRequirement(&["table:update"]),
                ToolEffect::Updates,
            )
            .output(results::index_changes())
            .example(json!({"tableId": "users", "action": "add", "indexes": [{"fields": ["role", "-age"]}]}))
            .aliases(&[("index", "indexes")])
            .unchecked(&["indexes"])
            .unpublished(&UNPUBLISHED)
            .wrapper("body"),
            |bkend, call| Box::pin(manage(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_index_version_list",
                "List index versions",
                "Lists every set of indexes that a table has had, the newest first.",
                object(&[&table_path()[..], &page_properties()].concat(), &["tableId"]),
                routes::TABLE_READ,
                ToolEffect::Reads,
            )
            .output(results::index_versions())
            .example(json!({"tableId": "users"}))
            .unpublished(&UPPER_IDS),
            |bkend, call| Box::pin(list_versions(bkend, call, VersionKind::Indexes)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_index_version_get",
                "Get an index version",
                "Shows one set of indexes that a table has or had.",
                object(&[&table_path()[..], &[version_id()]].concat(), &["tableId", "versionId"]),
                routes::TABLE_READ,
                ToolEffect::Reads,
            )
            .output(results::index_version())
            .example(json!({"tableId": "users", "versionId": "1"}))
            .aliases(&VERSION_ALIASES)
            .unpublished(&UPPER_IDS),
            |bkend, call| Box::pin(get_version(bkend, call, VersionKind::Indexes)),
        ),
    ]
}

async fn manage(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let changes = if INDEX_LISTS.iter().any(|name| arguments.value(name).is_some()) {
        changes_from_lists(&arguments)?
    } else {
        changes_from_action(&arguments)?
    };
    let actor = call.caller.subject.to_string();
    write(bkend, call.caller, call.event, move |tx| {
        let found_table = lookup::table(tx, &arguments, &mut ReadSet::default())?;
        let altered = alter::alter_indexes(tx, &found_table, &changes, &actor)?;
        let table = &altered.table;
        let result = json!({
            "id": table.id.as_str(),
            "projectId": table.project_id.as_str(),
            "environmentId": table.environment_id.as_str(),
            "environment": table.environment_name,
            "tableName": table.name,
            "indexVersion": table.index_version,
            "previousIndexVersion": altered.previous_version,
            "indexes": table.indexes_json(),
            "appliedIndexes": {"added": altered.added, "updated": altered.updated, "removed": altered.removed},
            "updatedAt": table.updated_at,
        });
        let uri = routes::indexes_uri(&table.uri());
        Ok(ToolOutput::structured(result).with_link(uri, format!("Indexes of {}", table.name)))
    })
    .await
}

/// A call, for hints.
const EXAMPLE: &str = "Send action (add or delete) and indexes, such as {\"action\":\"add\",\"indexes\":[{\"fields\":[\"role\"]}]}";

/// Parses `{action, indexes}`.
fn changes_from_action(arguments: &Arguments) -> Result<IndexChanges> {
    let action = arguments.required("action", EXAMPLE)?;
    let indexes = arguments.value("indexes").ok_or_else(|| errors::missing("indexes", EXAMPLE))?;
    let indexes = index::parse_list(indexes);
    if action != "delete" {
        return Ok(IndexChanges { set: indexes, remove: Vec::new() });
    }
    let name = |index: &Value| {
        let name = index.as_str().or_else(|| index.get("name").and_then(Value::as_str));
        let hint = "Send the name of the index; backend_table_get shows the indexes";
        name.map(str::to_owned).ok_or_else(|| errors::missing("indexes.name", hint))
    };
    Ok(IndexChanges { set: Vec::new(), remove: indexes.iter().map(name).collect::<Result<_>>()? })
}

/// Parses `{indexesToAddOrUpdate, indexesToRemove}`.
fn changes_from_lists(arguments: &Arguments) -> Result<IndexChanges> {
    if let Some(name) = ["action", "indexes"].into_iter().find(|name| arguments.value(name).is_some()) {
        return Err(errors::invalid(name, "and lists of changes are in one call", EXAMPLE));
    }
    let set = match arguments.value(INDEX_LISTS[0]) {
        None => Vec::new(),
        Some(Value::Array(indexes)) => indexes.clone(),
        Some(_) => return Err(errors::invalid(INDEX_LISTS[0], "is not a list", INDEX_EXAMPLE)),
    };
    let remove = match arguments.value(INDEX_LISTS[1]) {
        None => Vec::new(),
        Some(names) => definition::parse_names(names, INDEX_LISTS[1])?,
    };
    Ok(IndexChanges { set, remove })
}

#[cfg(test)]
mod tests {
    use quad_store::{Backend, Sql};

    use super::*;
    use crate::testing::test_envs_with_data;

    #[tokio::test(flavor = "multi_thread")]
    async fn created_index_is_used_by_query() {
        for test_env in test_envs_with_data().await {
            let body =
                json!({"indexesToAddOrUpdate": [{"name": "role_idx", "fields": {"role": 1, "age": -1}}]});
            let changed = test_env
                .call("backend_index_manage", json!({"tableId": "tbl_users", "body": body}))
                .await
                .unwrap();
            assert_eq!((&changed["indexVersion"], &changed["previousIndexVersion"]), (&json!(2), &json!(1)));
            assert_eq!(
                changed["appliedIndexes"],
                json!({"added": ["role_idx"], "updated": [], "removed": []})
            );
            assert_eq!(changed["indexes"][1]["fields"], json!({"role": 1, "age": -1}));
            let table = test_env
                .test_store
                .store
                .read(&test_env.test_store.tenant, |sql| crate::table::find(sql, "tbl_users"))
                .await
                .unwrap();
            let plan = test_env
                .test_store
                .store
                .read(&test_env.test_store.tenant, move |sql| {
                    let table_name = crate::physical::qualified_name(&table);
                    let query = format!(
                        "SELECT \"id\" FROM {table_name} WHERE \"role\" = 'admin' ORDER BY \"age\" DESC LIMIT 5"
                    );
                    let explain = match sql.backend() {
                        Backend::Sqlite => "EXPLAIN QUERY PLAN",
                        Backend::Postgres => {
                            // PostgreSQL scans a table of one row unless sequential scans are disabled.
                            sql.query("SELECT set_config('enable_seqscan', 'off', true)", &[])?;
                            "EXPLAIN"
                        }
                    };
                    let rows = sql.query(&format!("{explain} {query}"), &[])?;
                    Ok(format!("{rows:?}"))
                })
                .await
                .unwrap();
            assert!(plan.contains("role_idx"), "{plan}");
            let delete_index =
                json!({"tableId": "tbl_users", "action": "delete", "index": {"name": "role_idx"}});
            assert_eq!(test_env.call("backend_index_manage", delete_index).await.unwrap()["indexVersion"], 3);
            let versions =
                test_env.call("backend_index_version_list", json!({"tableId": "tbl_users"})).await.unwrap();
            assert_eq!(versions["items"].as_array().unwrap().len(), 3);
            assert_eq!(versions["items"][1]["indexes"].as_array().unwrap().len(), 2);
            let second = test_env
                .call("backend_index_version_get", json!({"tableId": "tbl_users", "versionId": "2"}))
                .await
                .unwrap();
            assert_eq!(second["isActive"], false);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn invalid_index_changes_nothing() {
        for test_env in test_envs_with_data().await {
            let manage = |body: Value| json!({"tableId": "tbl_users", "body": body});
            let check = async |body: Value, code: &str| {
                assert_eq!(
                    test_env.error_code("backend_index_manage", manage(body.clone())).await,
                    code,
                    "{body}"
                );
            };
            check(json!({}), "VALIDATION_ERROR").await;
            check(json!({"indexesToRemove": ["nope"]}), "VALIDATION_ERROR").await;
            check(json!({"indexesToRemove": ["_id_"]}), "CANNOT_REMOVE_SYSTEM_INDEX").await;
            check(
                json!({"indexesToAddOrUpdate": [{"name": "_id_", "fields": ["age"]}]}),
                "CANNOT_MODIFY_SYSTEM_INDEX",
            )
            .await;
            check(json!({"indexesToAddOrUpdate": [{"fields": ["nope"]}]}), "VALIDATION_ERROR").await;
            let row =
                json!({"tableId": "tbl_users", "data": {"name": "B", "email": "b@x.io", "role": "admin"}});
            test_env.call("backend_data_create", row).await.unwrap();
            let unique = manage(json!({"indexesToAddOrUpdate": [{"fields": ["role"], "unique": true}]}));
            let error = test_env.call("backend_index_manage", unique).await.unwrap_err();
            assert_eq!(error.code(), "CONFLICT");
            assert_eq!(
                error.detail("examples").unwrap()[0],
                json!({"values": {"role": "admin"}, "count": 2})
            );
            let table = test_env.call("backend_table_get", json!({"tableId": "tbl_users"})).await.unwrap();
            assert_eq!((&table["indexVersion"], table["indexes"].as_array().unwrap().len()), (&json!(1), 1));
            // Without its index the field is no longer unique.
            let dropped = manage(json!({"indexesToRemove": ["idx_users_email_unique"]}));
            test_env.call("backend_index_manage", dropped).await.unwrap();
            let duplicate = json!({"tableId": "tbl_users", "data": {"name": "C", "email": "b@x.io"}});
            test_env.call("backend_data_create", duplicate).await.unwrap();
        }
    }
}
