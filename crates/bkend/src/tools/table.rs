//! `backend_table_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, string};
use quad_core::{Error, ReadSet, Result, ScopeRequirement, Tool, ToolEntry, ToolOutput};
use serde_json::{Value, json};

use super::{
    Arguments, UPPER_IDS, delete_output, environment_id, lookup, nullable, page_properties, project_id, read,
    results, table_path, write,
};
use crate::page::Page;
use crate::table::{self, NewTable, Table, TableChange};
use crate::{Bkend, definition, errors, routes, tags};

/// The format of field definitions, for the agent that writes one.
const FIELDS_DESCRIPTION: &str = "Types: string, number, int, long, boolean, date, object, array, reference, mixed. \
     Rules: required, unique, defaultValue, enum, minLength, maxLength, minimum, maximum, pattern. \
     The server adds id, createdBy, createdAt, updatedAt.";

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let [page, limit] = page_properties();
    let display_name = || ("displayName", nullable("A name for people"));
    let description = || ("description", nullable("At most 1,000 characters"));
    let field = json!({"type": "object", "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
        "required": ["name", "type"]});
    vec![
        ToolEntry::new(
            Tool::new(
                "backend_table_list",
                "List tables",
                "Lists tables with their fields, indexes and row counts.",
                object(
                    &[
                        ("environmentId", string("Only those of this environment, by id or name")),
                        ("projectId", string("Only those of this project, by id or name")),
                        page,
                        limit,
                    ],
                    &[],
                ),
                routes::TABLE_READ,
                ToolEffect::Reads,
            )
            .output(results::tables())
            .example(json!({"environmentId": "dev"}))
            .unpublished(&["organizationId"]),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_table_get",
                "Get a table",
                "Shows one table with its fields, indexes and row count.",
                object(&table_path(), &["tableId"]),
                routes::TABLE_READ,
                ToolEffect::Reads,
            )
            .output(results::table())
            .example(json!({"tableId": "users"}))
            .unpublished(&UPPER_IDS),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_table_create",
                "Create a table",
                "Creates a table with typed columns.",
                object(
                    &[
                        project_id(),
                        environment_id(),
                        ("name", string("Begins with a letter; letters, digits, _ and -")),
                        ("fields", array(field, FIELDS_DESCRIPTION)),
                        display_name(),
                        description(),
                    ],
                    &["name", "fields"],
                ),
                ScopeRequirement(&["table:create"]),
                ToolEffect::Creates,
            )
            .output(results::table())
            .example(json!({"name": "books", "fields": [
                {"name": "title", "type": "string", "required": true}, {"name": "pages", "type": "int"}]}))
            .aliases(&[("tableName", "name"), ("table", "name"), ("schema", "fields")])
            .unchecked(&["fields"])
            .unpublished(&["organizationId"])
            .wrapper("body"),
            |bkend, call| Box::pin(create(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_table_update",
                "Update a table",
                "Changes a table's display name, description or permissions. Permissions are stored and shown, and not \
                 enforced: scopes of tokens decide. Fields change with backend_field_manage.",
                object(
                    &[
                        &table_path()[..],
                        &[
                            display_name(),
                            description(),
                            (
                                "permissions",
                                json!({"type": ["object", "null"], "description":
                                    "Replaces the old ones: {admin|user|guest|self: {create|read|update|delete|list: boolean}}"}),
                            ),
                        ],
                    ]
                    .concat(),
                    &["tableId"],
                ),
                ScopeRequirement(&["table:update"]),
                ToolEffect::Updates,
            )
            .output(results::changed_table())
            .example(json!({"tableId": "users", "description": "Who may sign in"}))
            .unpublished(&UPPER_IDS)
            .wrapper("body"),
            |bkend, call| Box::pin(update(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_table_delete",
                "Delete a table",
                "Deletes a table with all its rows. This cannot be undone.",
                object(&table_path(), &["tableId"]),
                ScopeRequirement(&["table:delete"]),
                ToolEffect::Deletes,
            )
            .output(results::deleted())
            .example(json!({"tableId": "users"}))
            .unpublished(&UPPER_IDS),
            |bkend, call| Box::pin(delete(bkend, call)),
        ),
    ]
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version());
        let found = lookup::table(sql, &arguments, &mut read_set)?;
        found.depend_on_row_count(&mut read_set);
        Ok((ToolOutput::structured(found.detail()).with_link(found.uri(), found.name), read_set))
    })
    .await
}

async fn delete(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    write(bkend, call.caller, call.event, move |tx| {
        let found = lookup::table(tx, &arguments, &mut ReadSet::default())?;
        table::delete(tx, &found)?;
        let uri = routes::tables_uri(
            found.organization_id.as_str(),
            found.project_id.as_str(),
            found.environment_id.as_str(),
        );
        Ok(delete_output(found.id.as_str()).with_link(uri, "Tables"))
    })
    .await
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let page = Page::from_arguments(&arguments.values)?;
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version());
        let parents = lookup::environment_sent(sql, &arguments, &mut read_set)?;
        let mut uri = "bkend://tables".to_owned();
        match (&parents.organization, &parents.project, &parents.environment) {
            (Some(organization), Some(project), Some(environment)) => {
                read_set.tags.insert(tags::tables(environment));
                uri = routes::tables_uri(organization, project, environment);
            }
            _ => {
                read_set.tags.insert(tags::any_tables());
            }
        }
        let (tables, total) = table::list_page(sql, &parents, page)?;
        tables.iter().for_each(|table| table.depend_on_row_count(&mut read_set));
        let list_json = page.to_json(tables.iter().map(list_entry).collect(), total);
        Ok((ToolOutput::structured(list_json).with_link(uri, "Tables"), read_set))
    })
    .await
}

/// The element in a list over several environments, with the ids of the parents.
fn list_entry(table: &Table) -> Value {
    let mut entry = table.summary();
    entry["projectId"] = table.project_id.as_str().into();
    entry["environmentId"] = table.environment_id.as_str().into();
    entry["environment"] = table.environment_name.as_str().into();
    entry
}

async fn create(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let fields =
        arguments.value("fields").ok_or_else(|| errors::missing("fields", definition::LIST_EXAMPLE))?;
    let mut new = NewTable {
        id: None,
        environment_id: String::new(),
        name: arguments.text("name")?.unwrap_or_default().to_owned(),
        display_name: arguments.text("displayName")?.map(str::to_owned),
        description: arguments.text("description")?.map(str::to_owned),
        fields: definition::parse_fields(fields)?,
        indexes: Vec::new(),
        created_by: call.caller.subject.to_string(),
    };
    write(bkend, call.caller, call.event, move |tx| {
        let environment = lookup::environment(tx, &arguments, &mut ReadSet::default())?;
        new.environment_id = environment.id.as_str().to_owned();
        let created = table::insert(tx, &new)?;
        Ok(ToolOutput::structured(created.detail()).with_link(created.uri(), created.name.as_str()))
    })
    .await
}

async fn update(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let permissions = arguments.values.get("permissions");
    let change = TableChange {
        display_name: arguments.nullable_text("displayName")?,
        description: arguments.nullable_text("description")?,
        permissions: permissions.map(|value| (!value.is_null()).then(|| value.clone())),
    };
    if change == TableChange::default() {
        return Err(Error::bad_input("The call changes nothing")
            .hint("Send displayName, description or permissions; backend_field_manage changes fields"));
    }
    write(bkend, call.caller, call.event, move |tx| {
        let found = lookup::table(tx, &arguments, &mut ReadSet::default())?;
        let (changed, dropped) = table::update(tx, &found, &change)?;
        let mut result = changed.detail();
        if !dropped.is_empty() {
            let dropped = dropped.join(", ");
            result["warnings"] =
                json!([format!("The new permissions replace the old ones; dropped: {dropped}")]);
        }
        Ok(ToolOutput::structured(result).with_link(changed.uri(), changed.name.as_str()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use quad_core::Tag;

    use super::*;
    use crate::testing::{ENV_URI, test_envs_with_data};

    fn path() -> Value {
        json!({"organizationId": "org_abc123", "projectId": "proj_xyz789", "environmentId": "env_dev001"})
    }

    fn merge_json(mut base: Value, more: Value) -> Value {
        for (key, value) in more.as_object().unwrap() {
            base[key] = value.clone();
        }
        base
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn both_input_formats_create_same_table() {
        for test_env in test_envs_with_data().await {
            let fields = json!([{"name": "title", "type": "string", "required": true},
                {"name": "published", "type": "boolean", "defaultValue": false}]);
            let first = test_env
                .call("backend_table_create", merge_json(path(), json!({"name": "posts", "fields": fields})))
                .await
                .unwrap();
            assert!(first["id"].as_str().unwrap().starts_with("tbl_"));
            assert_eq!((&first["schemaVersion"], &first["indexVersion"]), (&json!(1), &json!(1)));
            let body = json!({"body": {"projectId": "proj_xyz789", "environment": "dev", "tableName": "articles",
                "schema": {"title": {"bsonType": "string", "required": true}, "published": {"bsonType": "bool", "default": false}}}});
            let second = test_env.call("backend_table_create", body).await.unwrap();
            assert_eq!(second["schema"], first["schema"]);
            assert_eq!(
                second["schema"]["properties"]["published"],
                json!({"bsonType": "bool", "default": false})
            );
            let listed = test_env.call("backend_table_list", path()).await.unwrap();
            assert_eq!(listed["pagination"]["total"], 3);
            assert_eq!(test_env.read(ENV_URI).await.unwrap()["tableCount"], 3);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn table_names_are_validated_and_unique() {
        for test_env in test_envs_with_data().await {
            let create = |name: &str| merge_json(path(), json!({"name": name, "fields": []}));
            for taken in ["users", "USERS"] {
                assert_eq!(
                    test_env.error_code("backend_table_create", create(taken)).await,
                    "table/already-exists"
                );
            }
            for bad in ["1abc", "a b", "_x", &"a".repeat(65), "", "sqlite_x", "PG_x", "a\"b", "a.b", "ä"] {
                assert_eq!(
                    test_env.error_code("backend_table_create", create(bad)).await,
                    "VALIDATION_ERROR",
                    "{bad}"
                );
            }
            // Names that would collide if tables and their parts shared a namespace.
            for good in ["users_pkey", "a-b", "a__b", "order", "select", "Users2", &"z".repeat(63)] {
                test_env.call("backend_table_create", create(good)).await.unwrap();
                let row = json!({"environmentId": "env_dev001", "tableId": good, "data": {}});
                test_env.call("backend_data_create", row).await.unwrap();
            }
            let unknown_environment = json!({"environmentId": "env_none", "name": "x", "fields": []});
            assert_eq!(test_env.error_code("backend_table_create", unknown_environment).await, "NOT_FOUND");
            let in_the_only_environment = json!({"name": "x", "fields": []});
            let created = test_env.call("backend_table_create", in_the_only_environment).await.unwrap();
            assert_eq!(created["environmentId"], "env_dev001");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn new_table_is_visible_to_next_read() {
        for test_env in test_envs_with_data().await {
            let mut changes =
                test_env.resolver.change_feed().subscribe(&test_env.test_store.tenant).await.unwrap();
            for round in 0..40 {
                let created = test_env
                    .call(
                        "backend_table_create",
                        merge_json(path(), json!({"name": format!("t{round}"), "fields": {"a": "int"}})),
                    )
                    .await
                    .unwrap();
                let tables = test_env.read(&format!("{ENV_URI}/tables")).await.unwrap();
                assert!(
                    tables.as_array().unwrap().iter().any(|table| table["id"] == created["id"]),
                    "round {round}"
                );
                let touched = changes.recv().await.unwrap();
                assert!(touched.tags.contains(&Tag::new("bkend:tables:env_dev001")));
                assert!(!touched.tags.iter().any(Tag::is_resource_list), "a table is no entry of the list");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn update_table_changes_description_and_permissions() {
        for test_env in test_envs_with_data().await {
            let permissions = json!({"user": {"create": true, "read": true}, "guest": {"read": true}});
            let body =
                json!({"tableId": "tbl_users", "body": {"displayName": "Users", "permissions": permissions}});
            let changed = test_env.call("backend_table_update", body).await.unwrap();
            assert_eq!((&changed["displayName"], &changed["permissions"]), (&json!("Users"), &permissions));
            let fewer = json!({"tableId": "tbl_users", "body": {"permissions": {"user": {"read": true}}}});
            let changed = test_env.call("backend_table_update", fewer).await.unwrap();
            assert!(changed["warnings"][0].as_str().unwrap().ends_with("guest"));
            assert_eq!(changed["schemaVersion"], 1);
            let bad = json!({"tableId": "tbl_users", "body": {"permissions": {"usr": {}}}});
            assert_eq!(test_env.error_code("backend_table_update", bad).await, "VALIDATION_ERROR");
            assert_eq!(
                test_env.error_code("backend_table_update", json!({"tableId": "tbl_users"})).await,
                "VALIDATION_ERROR"
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn mismatched_table_ids_return_not_found() {
        for test_env in test_envs_with_data().await {
            for good in [
                json!({"tableId": "tbl_users"}),
                merge_json(path(), json!({"tableId": "tbl_users"})),
                merge_json(path(), json!({"tableId": "Users"})),
                json!({"projectId": "proj_xyz789", "environmentId": "dev", "tableId": "users"}),
                json!({"environmentId": "env_dev001", "tableId": "users"}),
                json!({"environmentId": "DEV", "tableId": "tbl_users"}),
                json!({"projectId": "My App", "organizationId": "My Organization", "tableId": "tbl_users"}),
                json!({"tableId": "users"}),
            ] {
                assert_eq!(
                    test_env.call("backend_table_get", good.clone()).await.unwrap()["id"],
                    "tbl_users",
                    "{good}"
                );
            }
            for bad in [
                json!({"tableId": "user"}),
                json!({"tableId": "tbl_users", "projectId": "proj_none"}),
                json!({"tableId": "tbl_users", "organizationId": "org_none"}),
                json!({"tableId": "tbl_users", "environmentId": "env_none"}),
                json!({"tableId": "tbl_users", "environmentId": "prod"}),
                json!({"tableId": "users", "environmentId": "prod"}),
            ] {
                assert_eq!(test_env.error_code("backend_table_get", bad.clone()).await, "NOT_FOUND", "{bad}");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn deleted_table_name_can_be_reused() {
        for test_env in test_envs_with_data().await {
            let output =
                test_env.call("backend_table_delete", json!({"tableId": "tbl_users"})).await.unwrap();
            assert_eq!(output, json!({"success": true, "id": "tbl_users"}));
            assert_eq!(
                test_env.error_code("backend_table_delete", json!({"tableId": "tbl_users"})).await,
                "NOT_FOUND"
            );
            let recreated = test_env
                .call(
                    "backend_table_create",
                    merge_json(path(), json!({"name": "users", "fields": {"a": "int"}})),
                )
                .await
                .unwrap();
            assert_eq!(recreated["stats"]["rowCount"], 0);
        }
    }
}
