//! `backend_index_manage` and `backend_index_version_*`.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Need, Result, Tool};
use serde_json::{Value, json};

use super::schema::{get, list, version_id};
use super::{Arguments, answer, input, page_properties, place, table_path, unknown, write};
use crate::alter::{self, IndexChanges};
use crate::refusal::{self, invalid};
use crate::schema_version::Series;
use crate::{Bkend, definition, routes};

pub(super) fn tools() -> Vec<Tool> {
    const INDEX: &str = "{\"name\":\"role_idx\",\"fields\":{\"role\":1,\"age\":-1},\"unique\":false,\"sparse\":false}; fields may \
        be a list of names, and the name is derived if left out";
    vec![
        Tool::new(
            "backend_index_manage",
            "Manage indexes",
            "Adds, replaces or removes indexes of a table and writes a new index version. Either action and index, or body.",
            input(
                &[
                    &table_path()[..],
                    &[
                        ("action", json!({"type": "string", "enum": ["add", "delete"]})),
                        ("index", json!({"type": ["object", "string"], "description": INDEX})),
                        (
                            "body",
                            input(
                                &[
                                    (
                                        "indexesToAddOrUpdate",
                                        json!({"type": "array", "items": {"type": "object"}, "description": INDEX}),
                                    ),
                                    ("indexesToRemove", json!({"type": "array", "items": {"type": "string"}})),
                                ],
                                &[],
                            ),
                        ),
                    ],
                ]
                .concat(),
                &["tableId"],
            ),
            Need(&["table:update"]),
            Effect::Updates,
        ),
        Tool::new(
            "backend_index_version_list",
            "List index versions",
            "Lists every set of indexes that a table has had, the newest first.",
            input(&[&table_path()[..], &page_properties()].concat(), &["tableId"]),
            routes::TABLE_READ,
            Effect::Reads,
        ),
        Tool::new(
            "backend_index_version_get",
            "Get an index version",
            "Shows one set of indexes that a table has or had.",
            input(&[&table_path()[..], &[version_id()]].concat(), &["tableId", "versionId"]),
            routes::TABLE_READ,
            Effect::Reads,
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: Call<'_>) -> Result<Called> {
    let arguments = Arguments::new(call.arguments.clone())?;
    match call.tool.name {
        "backend_index_manage" => manage(bkend, call, arguments).await,
        "backend_index_version_list" => list(bkend, call, arguments, Series::Indexes).await,
        "backend_index_version_get" => get(bkend, call, arguments, Series::Indexes).await,
        name => Err(unknown(name)),
    }
}

async fn manage(bkend: &Bkend, call: Call<'_>, arguments: Arguments) -> Result<Called> {
    let changes = if arguments.body.is_some() { of_body(&arguments)? } else { of_action(&arguments)? };
    let actor = call.caller.subject.to_string();
    write(bkend, call, move |tx| {
        let found = place::table(tx, &arguments)?;
        let altered = alter::indexes(tx, &found, &changes, &actor)?;
        let table = &altered.table;
        let result = json!({
            "id": table.id.as_str(),
            "projectId": table.project_id.as_str(),
            "environmentId": table.environment_id.as_str(),
            "environment": table.environment,
            "tableName": table.name,
            "indexVersion": table.index_version,
            "previousIndexVersion": altered.previous,
            "indexes": table.index_entries(),
            "appliedIndexes": {"added": altered.added, "updated": altered.updated, "removed": altered.removed},
            "updatedAt": table.updated_at,
        });
        Ok(answer(result).link(routes::indexes(&table.uri()), format!("Indexes of {}", table.name)))
    })
    .await
}

/// `{action, index}`.
fn of_action(arguments: &Arguments) -> Result<IndexChanges> {
    let action = arguments.text("action")?.ok_or_else(|| refusal::missing("action"))?;
    let index = arguments.root.get("index").ok_or_else(|| refusal::missing("index"))?;
    match action {
        "add" => Ok(IndexChanges { set: vec![index.clone()], remove: Vec::new() }),
        "delete" => {
            let name = index.as_str().or_else(|| index.get("name").and_then(Value::as_str));
            let name = name.ok_or_else(|| refusal::missing("index.name"))?;
            Ok(IndexChanges { set: Vec::new(), remove: vec![name.to_owned()] })
        }
        _ => Err(invalid("action", "must be add or delete")),
    }
}

/// `{indexesToAddOrUpdate, indexesToRemove}`.
fn of_body(arguments: &Arguments) -> Result<IndexChanges> {
    let body = arguments.payload();
    let set = match body.get("indexesToAddOrUpdate") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(indexes)) => indexes.clone(),
        Some(_) => return Err(invalid("indexesToAddOrUpdate", "must be a list")),
    };
    let remove = match body.get("indexesToRemove") {
        None | Some(Value::Null) => Vec::new(),
        Some(names) => definition::read_names(names, "indexesToRemove")?,
    };
    Ok(IndexChanges { set, remove })
}

#[cfg(test)]
mod tests {
    use quad_store::{Backend, Sql};

    use super::*;
    use crate::testing::worlds;

    #[tokio::test(flavor = "multi_thread")]
    async fn an_index_is_made_and_used() {
        for world in worlds().await {
            let body =
                json!({"indexesToAddOrUpdate": [{"name": "role_idx", "fields": {"role": 1, "age": -1}}]});
            let changed = world
                .call("backend_index_manage", json!({"tableId": "tbl_users", "body": body}))
                .await
                .unwrap();
            assert_eq!((&changed["indexVersion"], &changed["previousIndexVersion"]), (&json!(2), &json!(1)));
            assert_eq!(
                changed["appliedIndexes"],
                json!({"added": ["role_idx"], "updated": [], "removed": []})
            );
            assert_eq!(changed["indexes"][1]["fields"], json!({"role": 1, "age": -1}));
            let table = world
                .test
                .store
                .read(&world.test.tenant, |sql| crate::table::find(sql, "tbl_users"))
                .await
                .unwrap();
            let plan = world
                .test
                .store
                .read(&world.test.tenant, move |sql| {
                    let place = crate::physical::qualified(&table);
                    let query = format!(
                        "SELECT \"id\" FROM {place} WHERE \"role\" = 'admin' ORDER BY \"age\" DESC LIMIT 5"
                    );
                    let explain = match sql.backend() {
                        Backend::Sqlite => "EXPLAIN QUERY PLAN",
                        Backend::Postgres => {
                            // A table of one row is scanned unless scanning is made dear.
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
            let gone = json!({"tableId": "tbl_users", "action": "delete", "index": {"name": "role_idx"}});
            assert_eq!(world.call("backend_index_manage", gone).await.unwrap()["indexVersion"], 3);
            let versions =
                world.call("backend_index_version_list", json!({"tableId": "tbl_users"})).await.unwrap();
            assert_eq!(versions["items"].as_array().unwrap().len(), 3);
            assert_eq!(versions["items"][1]["indexes"].as_array().unwrap().len(), 2);
            let second = world
                .call("backend_index_version_get", json!({"tableId": "tbl_users", "versionId": "2"}))
                .await
                .unwrap();
            assert_eq!(second["isActive"], false);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_wrong_index_changes_nothing() {
        for world in worlds().await {
            let manage = |body: Value| json!({"tableId": "tbl_users", "body": body});
            let check = async |body: Value, code: &str| {
                assert_eq!(world.refusal("backend_index_manage", manage(body.clone())).await, code, "{body}");
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
            world.call("backend_data_create", row).await.unwrap();
            let unique = manage(json!({"indexesToAddOrUpdate": [{"fields": ["role"], "unique": true}]}));
            let error = world.call("backend_index_manage", unique).await.unwrap_err();
            assert_eq!(error.code(), "CONFLICT");
            assert_eq!(
                error.get_fact("examples").unwrap()[0],
                json!({"values": {"role": "admin"}, "count": 2})
            );
            let table = world.call("backend_table_get", json!({"tableId": "tbl_users"})).await.unwrap();
            assert_eq!((&table["indexVersion"], table["indexes"].as_array().unwrap().len()), (&json!(1), 1));
            // Without its index the field is no longer unique.
            let dropped = manage(json!({"indexesToRemove": ["idx_users_email_unique"]}));
            world.call("backend_index_manage", dropped).await.unwrap();
            let twin = json!({"tableId": "tbl_users", "data": {"name": "C", "email": "b@x.io"}});
            world.call("backend_data_create", twin).await.unwrap();
        }
    }
}
