//! Refusals: each says what to do next, with the tools of the default profile and addresses only.

use serde_json::{Value, json};

use super::{CORE, table};
use crate::testing::{TestEnv, test_envs_with_data};

/// What a hint may start with.
const VERBS: [&str; 18] = [
    "Add", "Begin", "Call", "Change", "Choose", "Correct", "Create", "Define", "Delete", "Did", "Example:",
    "Leave", "List", "Read", "Repeat", "Send", "Shorten", "Use",
];

/// The message and the hint of a refused call.
async fn refusal(test_env: &TestEnv, tool: &str, arguments: Value) -> String {
    let error = match test_env.call(tool, arguments.clone()).await {
        Ok(result) => panic!("{tool} {arguments}: {result}"),
        Err(error) => error,
    };
    let hint = error.hint_text().unwrap_or_else(|| panic!("{tool} {arguments}: {}", error.message()));
    let text = format!("{} | {hint}", error.message());
    assert!(VERBS.contains(&hint.split([' ', ',']).next().unwrap()), "{tool} {arguments}: {text}");
    for other in table().names().into_iter().filter(|name| !CORE.contains(name) && *name != tool) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        assert!(!text.split(|c| !is_word(c)).any(|word| word == other), "{tool} {arguments}: {text}");
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_says_what_to_do() {
    for test_env in test_envs_with_data().await {
        let users = |more: Value| {
            let mut arguments = json!({"tableId": "users"});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            arguments
        };
        for (tool, arguments, expect) in [
            ("search_docs", json!({}), "Missing argument query"),
            ("backend_project_create", json!({"name": ""}), "name is empty"),
            ("backend_project_create", json!({"name": "x", "organizationId": "org_none"}), "get_context"),
            ("backend_project_create", json!({"name": "x", "slug": "my-app"}), "The slug my-app is taken"),
            ("backend_project_update", json!({"projectId": "my-app"}), "The call changes nothing"),
            ("backend_project_delete", json!({}), "Missing argument projectId"),
            ("backend_env_delete", json!({}), "Missing argument environmentId"),
            ("backend_env_create", json!({"name": "dev"}), "has an environment dev already"),
            ("backend_env_create", json!({"name": "x", "environmentType": "production"}), "one of prod, "),
            (
                "backend_table_list",
                json!({"projectId": "my-ap"}),
                "Project not found: my-ap | List the projects",
            ),
            ("backend_table_list", json!({"environmentId": "prod"}), "Environment not found: prod"),
            ("backend_table_list", json!({"limit": 1000}), "limit is 1000"),
            ("backend_table_get", json!({"tableId": "user"}), "backend_table_list"),
            ("backend_table_get", json!({}), "Missing argument tableId"),
            ("backend_table_create", json!({"name": "books"}), "Missing argument fields"),
            (
                "backend_table_create",
                json!({"name": "books", "fields": "title, author"}),
                "fields is no list",
            ),
            ("backend_table_create", json!({"name": "books", "fields": [{"type": "int"}]}), "fields[0].name"),
            ("backend_table_create", json!({"name": "books", "fields": {"title": "varchar(20)"}}), "string"),
            ("backend_table_create", json!({"name": "users", "fields": []}), "has a table users already"),
            ("backend_table_create", json!({"name": "my books", "fields": []}), "cannot be \"my books\""),
            ("backend_table_update", users(json!({})), "The call changes nothing"),
            ("backend_table_update", users(json!({"permissions": {"usr": {}}})), "Use one of user, "),
            ("backend_field_manage", users(json!({})), "action is missing"),
            ("backend_field_manage", users(json!({"action": "add"})), "fields is missing"),
            (
                "backend_field_manage",
                users(json!({"action": "remove", "field": "age"})),
                "Use one of delete, ",
            ),
            (
                "backend_field_manage",
                users(json!({"action": "add", "field": "phone"})),
                "phone has no definition",
            ),
            (
                "backend_field_manage",
                users(json!({"action": "add", "field": {"name": "x"}})),
                "x has no type",
            ),
            (
                "backend_field_manage",
                users(json!({"action": "add", "field": {"name": "age", "type": "int"}})),
                "update",
            ),
            ("backend_field_manage", users(json!({"action": "delete", "field": "agee"})), "one of age, "),
            ("backend_index_manage", users(json!({"action": "add"})), "indexes is missing"),
            ("backend_index_manage", users(json!({"action": "add", "index": {"fields": ["agee"]}})), "age"),
            ("backend_index_manage", users(json!({"action": "delete", "index": "nope"})), "nope"),
            ("backend_schema_version_get", users(json!({"versionId": 9})), "Use a number from 1 to 1"),
            ("backend_data_list", users(json!({"sortBy": "nme"})), "Use one of name, "),
            ("backend_data_list", users(json!({"sortDirection": "descending"})), "Use one of desc, asc"),
            ("backend_data_list", users(json!({"filter": {"role": "admin"}})), "filter is not supported"),
            ("backend_data_list", users(json!({"page": 0})), "page is 0"),
            ("backend_data_get", users(json!({"recordId": "rec_none"})), "backend_data_list"),
            ("backend_data_create", users(json!({"data": {"name": "A"}})), "email is required"),
            (
                "backend_data_create",
                users(json!({"data": {"name": "A", "email": "ada@example.org"}})),
                "Another record",
            ),
            (
                "backend_data_create",
                users(json!({"data": {"name": "A", "mail": "a@x.io"}})),
                "which has email, ",
            ),
            ("backend_data_create", users(json!({"data": [{"name": "A"}]})), "Send data as an object"),
            ("backend_data_create", users(json!({"name": "A"})), "Unknown argument name"),
            (
                "backend_data_update",
                users(json!({"recordId": "rec_none", "data": {"age": 1}})),
                "Record not found",
            ),
            (
                "backend_data_update",
                users(json!({"recordId": "rec_abc123", "data": {"age": 1}, "ifUpdatedAt": "yesterday"})),
                "ifUpdatedAt is not a time",
            ),
            (
                "backend_data_update",
                users(
                    json!({"recordId": "rec_abc123", "data": {"age": 1}, "ifUpdatedAt": "2020-01-01T00:00:00Z"}),
                ),
                "has changed",
            ),
            ("backend_data_delete", users(json!({"recordId": "rec_none"})), "Record not found: rec_none"),
            ("backend_access_token_get", json!({"accessTokenId": "nope"}), "bkend://access-tokens"),
            ("get_operation_schema", json!({"operation": "backend_tabel_get"}), "one of backend_table_get, "),
        ] {
            // The schema tool lists every tool that it knows.
            if tool == "get_operation_schema" {
                let error = test_env.call(tool, arguments).await.unwrap_err();
                assert!(error.hint_text().unwrap().contains(expect));
                continue;
            }
            let text = refusal(&test_env, tool, arguments.clone()).await;
            assert!(text.contains(expect), "{tool} {arguments}: {text}");
        }
    }
}

/// A reserved name of either database is refused on both, so that a definition fits either.
#[tokio::test(flavor = "multi_thread")]
async fn reserved_column_names_are_refused() {
    for test_env in test_envs_with_data().await {
        for name in ["rowid", "RowId", "_rowid_", "oid", "ctid", "xmin", "xmax", "cmin", "cmax", "TABLEOID"] {
            let fields = json!([{"name": name, "type": "int"}]);
            let create = json!({"name": "reserved", "fields": fields});
            let add = json!({"tableId": "users", "action": "add", "fields": fields});
            for (tool, arguments) in [("backend_table_create", create), ("backend_field_manage", add)] {
                let text = refusal(&test_env, tool, arguments).await;
                let fact = format!("{name} cannot be the name of a field: the database reserves it");
                assert!(text.starts_with(&fact), "{tool}: {text}");
            }
        }
        // Words that SQL reserves are ordinary names here, on both.
        let fields = json!([{"name": "order", "type": "int"}, {"name": "select", "type": "string"},
            {"name": "user", "type": "string"}, {"name": "row_id", "type": "int"}]);
        test_env.call("backend_table_create", json!({"name": "words", "fields": fields})).await.unwrap();
        let data = json!({"order": 1, "select": "a", "user": "b", "row_id": 2});
        let row = json!({"tableId": "words", "data": data});
        assert_eq!(test_env.call("backend_data_create", row).await.unwrap()["order"], 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plausible_forms_are_accepted() {
    for test_env in test_envs_with_data().await {
        let call = async |tool: &str, arguments: Value| {
            test_env.call(tool, arguments.clone()).await.unwrap_or_else(|error| {
                panic!("{tool} {arguments}: {} | {:?}", error.message(), error.hint_text())
            })
        };
        for (name, fields) in [
            ("a", json!([{"name": "title", "type": "text"}])),
            ("b", json!({"title": "string"})),
            ("c", json!("[{\"name\":\"title\",\"type\":\"string\"}]")),
            ("d", json!({"type": "object", "properties": {"title": {"type": "string"}}})),
        ] {
            let created = call("backend_table_create", json!({"tableName": name, "columns": fields})).await;
            assert_eq!(created["fields"][0]["type"], "string", "{name}");
        }
        let body = json!({"body": {"environment": "dev", "tableName": "e", "schema": {"title": {"bsonType": "string"}}}});
        assert_eq!(call("backend_table_create", body).await["name"], "e");
        let several = json!([{"name": "x", "type": "int"}, {"name": "y", "type": "bigint"}]);
        let added =
            call("backend_field_manage", json!({"table": "a", "action": "Add", "fields": several})).await;
        assert_eq!(added["appliedFields"]["added"], json!(["x", "y"]));
        for fields in [json!("x"), json!([{"name": "y"}])] {
            call("backend_field_manage", json!({"table": "a", "action": "delete", "fields": fields})).await;
        }
        let indexed = call(
            "backend_index_manage",
            json!({"tableId": "users", "action": "add", "index": {"fields": ["role", "-age"]}}),
        );
        assert_eq!(indexed.await["indexes"][1]["fields"], json!({"role": 1, "age": -1}));
        let row = json!({"table": "users", "row": "{\"name\":\"Joan\",\"email\":\"joan@example.org\"}"});
        let created = call("backend_data_create", row).await;
        let changed = json!({"table_name": "users", "id": created["id"], "data": {"age": "7"}, "ifUpdatedAt": created["updatedAt"]});
        assert_eq!(call("backend_data_update", changed).await["age"], 7);
        let listed =
            call("backend_data_list", json!({"table": "users", "max_results": "1", "organizationId": ""}))
                .await;
        assert_eq!(listed["pagination"]["limit"], 1);
        assert_eq!(
            call("backend_table_list", json!({"project": "my-app", "limit": "10"})).await["pagination"]["total"],
            6
        );
        assert_eq!(
            call("backend_project_create", json!({"organization": "My Organization", "title": "web shop"}))
                .await["slug"],
            "web-shop"
        );
    }
}
