//! `backend_field_manage` and `backend_schema_version_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, string, string_enum};
use quad_core::{ReadSet, Result, ScopeRequirement, Tool, ToolEntry, ToolOutput};
use serde_json::{Value, json};

use super::{Arguments, UPPER_IDS, lookup, page_properties, read, results, table_path, write};
use crate::alter::{self, FieldChanges};
use crate::errors::{self, invalid};
use crate::page::Page;
use crate::schema_version::{self, VersionKind};
use crate::{Bkend, definition, field, read, routes, tags};

/// Lists of changes as clients of the hosted service send them, instead of an action.
const FIELD_LISTS: [&str; 4] =
    ["fieldsToAddOrUpdate", "fieldsToRemove", "requiredFieldsToAdd", "requiredFieldsToRemove"];

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    const UNPUBLISHED: [&str; 6] =
        [UPPER_IDS[0], UPPER_IDS[1], FIELD_LISTS[0], FIELD_LISTS[1], FIELD_LISTS[2], FIELD_LISTS[3]];
    let field = json!({"type": "object", "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
        "required": ["name"]});
    vec![
        ToolEntry::new(
            Tool::new(
                "backend_field_manage",
                "Manage fields",
                "Adds, updates or removes fields of a table. The values of a removed field cannot be read or restored.",
                object(
                    &[
                        &table_path()[..],
                        &[
                            ("action", string_enum(&["add", "update", "delete"], "One for all fields")),
                            (
                                "fields",
                                array(field, "As for backend_table_create; update keeps what is left out"),
                            ),
                        ],
                    ]
                    .concat(),
                    &["tableId"],
                ),
                ScopeRequirement(&["table:update"]),
                ToolEffect::Updates,
            )
            .output(results::field_changes())
            .example(json!({"tableId": "users", "action": "add", "fields": [{"name": "phone", "type": "string"}]}))
            .aliases(&[("field", "fields")])
            .unchecked(&["fields"])
            .unpublished(&UNPUBLISHED)
            .wrapper("body"),
            |bkend, call| Box::pin(manage(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_schema_version_list",
                "List schema versions",
                "Lists every schema that a table has had, the newest first.",
                object(&[&table_path()[..], &page_properties()].concat(), &["tableId"]),
                routes::TABLE_READ,
                ToolEffect::Reads,
            )
            .output(results::schema_versions())
            .example(json!({"tableId": "users"}))
            .unpublished(&UPPER_IDS),
            |bkend, call| Box::pin(list_versions(bkend, call, VersionKind::Schema)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_schema_version_get",
                "Get a schema version",
                "Shows one schema that a table has or had.",
                object(&[&table_path()[..], &[version_id()]].concat(), &["tableId", "versionId"]),
                routes::TABLE_READ,
                ToolEffect::Reads,
            )
            .output(results::schema_version())
            .example(json!({"tableId": "users", "versionId": "1"}))
            .aliases(&VERSION_ALIASES)
            .unpublished(&UPPER_IDS),
            |bkend, call| Box::pin(get_version(bkend, call, VersionKind::Schema)),
        ),
    ]
}

/// Other names of the argument that names a version.
pub(super) const VERSION_ALIASES: [(&str, &str); 2] = [("version", "versionId"), ("number", "versionId")];

/// The argument that names a version.
pub(super) fn version_id() -> (&'static str, Value) {
    ("versionId", string("The number or the id of the version"))
}

/// A page of versions.
pub(super) async fn list_versions(
    bkend: &Bkend,
    call: ToolCall<'_>,
    kind: VersionKind,
) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let page = Page::from_arguments(&arguments.values)?;
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version());
        let table = lookup::table(sql, &arguments, &mut read_set)?;
        let read_set = read_set.with_tag(tags::table(table.id.as_str()));
        let list_json = read::versions_page(sql, kind, &table, page)?;
        Ok((ToolOutput::structured(list_json).with_link(table.uri(), table.name), read_set))
    })
    .await
}

/// One version.
pub(super) async fn get_version(bkend: &Bkend, call: ToolCall<'_>, kind: VersionKind) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version());
        let table = lookup::table(sql, &arguments, &mut read_set)?;
        let read_set = read_set.with_tag(tags::table(table.id.as_str()));
        let sent = arguments.required("versionId", "Send the number of the version, from 1")?;
        let version = schema_version::find(sql, kind, &table, sent)?.detail(kind, &table)?;
        Ok((ToolOutput::structured(version).with_link(table.uri(), table.name), read_set))
    })
    .await
}

async fn manage(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let changes = if FIELD_LISTS.iter().any(|name| arguments.value(name).is_some()) {
        changes_from_lists(&arguments)?
    } else {
        changes_from_action(&arguments)?
    };
    let actor = call.caller.subject.to_string();
    write(bkend, call.caller, call.event, move |tx| {
        let found_table = lookup::table(tx, &arguments, &mut ReadSet::default())?;
        let altered = alter::alter_fields(tx, &found_table, &changes, &actor)?;
        let table = &altered.table;
        let result = json!({
            "id": table.id.as_str(),
            "projectId": table.project_id.as_str(),
            "environmentId": table.environment_id.as_str(),
            "environment": table.environment_name,
            "tableName": table.name,
            "schemaVersion": table.schema_version,
            "previousVersion": altered.previous_version,
            "schema": field::schema(&table.fields),
            "indexVersion": table.index_version,
            "appliedFields": {"added": altered.added, "updated": altered.updated, "removed": altered.removed},
            "appliedRequired": {"added": altered.required, "removed": altered.made_optional},
            "rowsMissing": altered.rows_missing,
            "updatedAt": table.updated_at,
        });
        Ok(ToolOutput::structured(result).with_link(table.uri(), table.name.as_str()))
    })
    .await
}

/// A call, for hints.
const EXAMPLE: &str = "Send action (add, update or delete) and fields, such as \
     {\"action\":\"add\",\"fields\":[{\"name\":\"phone\",\"type\":\"string\"}]}";

/// Parses `{action, fields}`.
fn changes_from_action(arguments: &Arguments) -> Result<FieldChanges> {
    let action = arguments.required("action", EXAMPLE)?;
    let fields = arguments.value("fields").ok_or_else(|| errors::missing("fields", EXAMPLE))?;
    let mut changes = FieldChanges::default();
    for (name, definition) in definition::parse_named("fields", fields)? {
        if action == "delete" {
            changes.remove.push(name);
        } else {
            let definition =
                definition.ok_or_else(|| invalid(&name, "has no definition", definition::FIELD_EXAMPLE))?;
            changes.set.push((name, definition));
        }
    }
    if action != "delete" {
        changes.only_new = Some(action == "add");
    }
    Ok(changes)
}

/// Parses `{fieldsToAddOrUpdate, fieldsToRemove, requiredFieldsToAdd, requiredFieldsToRemove}`.
fn changes_from_lists(arguments: &Arguments) -> Result<FieldChanges> {
    if let Some(name) = ["action", "fields"].into_iter().find(|name| arguments.value(name).is_some()) {
        return Err(invalid(name, "and lists of changes are in one call", EXAMPLE));
    }
    let names = |key: &str| match arguments.value(key) {
        None => Ok(Vec::new()),
        Some(value) => definition::parse_names(value, key),
    };
    let set = match arguments.value(FIELD_LISTS[0]) {
        None => Vec::new(),
        Some(fields) => definition::parse_named(FIELD_LISTS[0], fields)?
            .into_iter()
            .map(|(name, definition)| match definition {
                Some(definition) => Ok((name, definition)),
                None => Err(invalid(&name, "has no definition", definition::FIELD_EXAMPLE)),
            })
            .collect::<Result<_>>()?,
    };
    Ok(FieldChanges {
        set,
        remove: names(FIELD_LISTS[1])?,
        require: names(FIELD_LISTS[2])?,
        make_optional: names(FIELD_LISTS[3])?,
        only_new: None,
    })
}

#[cfg(test)]
mod tests {
    use quad_core::Tag;

    use super::*;
    use crate::testing::{ENV_URI, TestEnv, test_envs_with_data};

    async fn manage(test_env: &TestEnv, body: Value) -> Result<Value> {
        test_env.call("backend_field_manage", json!({"tableId": "tbl_users", "body": body})).await
    }

    async fn table(test_env: &TestEnv) -> Value {
        test_env.call("backend_table_get", json!({"tableId": "tbl_users"})).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn adding_required_field_counts_rows_missing_it() {
        for test_env in test_envs_with_data().await {
            let mut changes =
                test_env.resolver.change_feed().subscribe(&test_env.test_store.tenant).await.unwrap();
            let read_set = test_env.read_set(&format!("{ENV_URI}/tables")).await.unwrap();
            let body = json!({"fieldsToAddOrUpdate": {"phone": {"bsonType": "string"}}, "requiredFieldsToAdd": ["phone"]});
            let changed = manage(&test_env, body).await.unwrap();
            assert_eq!((&changed["schemaVersion"], &changed["previousVersion"]), (&json!(2), &json!(1)));
            assert_eq!(changed["appliedFields"], json!({"added": ["phone"], "updated": [], "removed": []}));
            assert_eq!(changed["appliedRequired"], json!({"added": ["phone"], "removed": []}));
            assert_eq!(changed["rowsMissing"], 1);
            let touched = changes.recv().await.unwrap();
            assert!(read_set.notifies_on(&touched.tags), "a subscriber of the table list hears of it");
            assert!(!touched.tags.iter().any(Tag::is_resource_list));
            let versions = test_env.read("bkend://tables/tbl_users/schema/versions").await.unwrap();
            assert_eq!(
                (&versions["items"][0]["version"], &versions["items"][0]["isActive"]),
                (&json!(2), &json!(true))
            );
            assert_eq!(
                (&versions["items"][1]["version"], &versions["items"][1]["isActive"]),
                (&json!(1), &json!(false))
            );
            for version_or_id in [json!(1), json!("1"), versions["items"][1]["id"].clone()] {
                let version = test_env
                    .call(
                        "backend_schema_version_get",
                        json!({"tableId": "tbl_users", "versionId": version_or_id}),
                    )
                    .await
                    .unwrap();
                assert_eq!(version["schema"]["properties"].as_object().unwrap().len(), 4);
            }
            let row = json!({"tableId": "tbl_users", "data": {"name": "A", "email": "a@x.io"}});
            assert_eq!(test_env.error_code("backend_data_create", row).await, "data/validation-error");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn contradictory_changes_change_nothing() {
        for test_env in test_envs_with_data().await {
            let check = async |body: Value, code: &str| {
                assert_eq!(manage(&test_env, body.clone()).await.unwrap_err().code(), code, "{body}");
            };
            check(
                json!({"fieldsToAddOrUpdate": {"role": "string"}, "fieldsToRemove": ["role"]}),
                "FIELD_CONFLICT",
            )
            .await;
            check(
                json!({"requiredFieldsToAdd": ["role"], "requiredFieldsToRemove": ["role"]}),
                "REQUIRED_CONFLICT",
            )
            .await;
            check(json!({"fieldsToRemove": ["createdAt"]}), "SYSTEM_FIELD_PROTECTED").await;
            check(json!({"fieldsToAddOrUpdate": {"createdAt": "date"}}), "SYSTEM_FIELD_PROTECTED").await;
            check(json!({"requiredFieldsToAdd": ["id"]}), "SYSTEM_FIELD_PROTECTED").await;
            check(json!({"fieldsToRemove": ["nope"]}), "VALIDATION_ERROR").await;
            check(json!({"requiredFieldsToAdd": ["nope"]}), "VALIDATION_ERROR").await;
            check(json!({"fieldsToAddOrUpdate": {"Role": "string"}}), "VALIDATION_ERROR").await;
            check(json!({"fieldsToAddOrUpdate": {"x": {}}}), "VALIDATION_ERROR").await;
            check(json!({}), "VALIDATION_ERROR").await;
            // A change that fails midway changes nothing.
            check(json!({"fieldsToAddOrUpdate": {"good": "string", "bad": "nonsense"}}), "VALIDATION_ERROR")
                .await;
            let action =
                json!({"tableId": "tbl_users", "action": "add", "field": {"name": "role", "type": "string"}});
            assert_eq!(test_env.error_code("backend_field_manage", action).await, "VALIDATION_ERROR");
            let action = json!({"tableId": "tbl_users", "action": "update", "field": {"name": "nope", "type": "string"}});
            assert_eq!(test_env.error_code("backend_field_manage", action).await, "VALIDATION_ERROR");
            assert_eq!(table(&test_env).await["schemaVersion"], 1);
            manage(&test_env, json!({"fieldsToAddOrUpdate": {"good": "string"}})).await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn removed_field_is_hidden_and_name_is_reusable() {
        for test_env in test_envs_with_data().await {
            let action = json!({"tableId": "tbl_users", "action": "delete", "field": {"name": "email"}});
            let changed = test_env.call("backend_field_manage", action).await.unwrap();
            assert_eq!(changed["appliedFields"]["removed"], json!(["email"]));
            assert_eq!(changed["schema"]["required"], json!(["name"]));
            assert_eq!(changed["indexVersion"], 2, "its unique index goes with it");
            let get = || {
                test_env.call("backend_data_get", json!({"tableId": "tbl_users", "recordId": "rec_abc123"}))
            };
            assert!(get().await.unwrap().get("email").is_none());
            // The name is used again by a field of another type, without the old values.
            let action = json!({"tableId": "tbl_users", "action": "add", "field": {"name": "Email", "type": "int", "unique": true}});
            test_env.call("backend_field_manage", action).await.unwrap();
            assert!(get().await.unwrap().get("Email").is_none());
            let update = json!({"tableId": "tbl_users", "recordId": "rec_abc123", "data": {"Email": 5}});
            assert_eq!(test_env.call("backend_data_update", update).await.unwrap()["Email"], 5);
            // Once more: the columns of two removed fields of one name must not collide.
            for round in 0..3 {
                manage(&test_env, json!({"fieldsToRemove": ["Email"]})).await.unwrap();
                manage(&test_env, json!({"fieldsToAddOrUpdate": {"Email": "date"}})).await.unwrap();
                assert_eq!(table(&test_env).await["schemaVersion"], 5 + 2 * round);
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn type_change_requires_all_values_to_convert() {
        for test_env in test_envs_with_data().await {
            let set =
                |definition: Value| manage(&test_env, json!({"fieldsToAddOrUpdate": {"age": definition}}));
            assert_eq!(
                set(json!({"bsonType": "string"})).await.unwrap()["schema"]["properties"]["age"]["bsonType"],
                "string"
            );
            let get = || {
                test_env.call("backend_data_get", json!({"tableId": "tbl_users", "recordId": "rec_abc123"}))
            };
            assert_eq!(get().await.unwrap()["age"], "36");
            let unique = set(json!({"type": "long", "unique": true})).await.unwrap();
            assert_eq!(unique["schema"]["properties"]["age"]["bsonType"], "long");
            assert_eq!(get().await.unwrap()["age"], 36);
            let error = manage(&test_env, json!({"fieldsToAddOrUpdate": {"role": {"type": "int"}}}))
                .await
                .unwrap_err();
            assert_eq!(error.code(), "CONFLICT");
            assert_eq!(error.detail("examples").unwrap()[0], json!({"id": "rec_abc123", "value": "admin"}));
            assert_eq!(get().await.unwrap()["role"], "admin");
            // The index still exists after the conversion: values must be unique.
            let duplicate =
                json!({"tableId": "tbl_users", "data": {"name": "B", "email": "b@x.io", "age": 36}});
            assert_eq!(test_env.error_code("backend_data_create", duplicate).await, "data/duplicate-value");
            set(json!({"type": "double", "unique": false})).await.unwrap();
            let duplicate =
                json!({"tableId": "tbl_users", "data": {"name": "B", "email": "b@x.io", "age": 36}});
            assert_eq!(test_env.call("backend_data_create", duplicate).await.unwrap()["age"], 36);
        }
    }
}
