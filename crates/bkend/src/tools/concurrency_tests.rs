//! Row writes beside schema changes.

use std::sync::Arc;

use quad_core::Result;
use serde_json::{Value, json};

use crate::testing::{TestEnv, test_envs_with_data};

async fn create_row(test_env: &TestEnv, data: Value) -> Result<Value> {
    test_env.call("backend_data_create", json!({"tableId": "tbl_users", "data": data})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn insert_respects_concurrent_required_field() {
    for test_env in test_envs_with_data().await {
        let test_env = Arc::new(test_env);
        for round in 0..8 {
            let field = format!("must{round}");
            let mut tasks = Vec::new();
            for writer in 0..4 {
                let test_env = test_env.clone();
                tasks.push(tokio::spawn(async move {
                    // Inserts until the required field exists: then every further insert is refused.
                    for n in 0.. {
                        let email = format!("{round}-{writer}-{n}@x.io");
                        let mut data = json!({"name": "w", "email": email});
                        for earlier_round in 0..round {
                            data[format!("must{earlier_round}")] = json!("x");
                        }
                        if let Err(error) = create_row(&test_env, data).await {
                            assert_eq!(error.code(), "data/validation-error");
                            return;
                        }
                    }
                }));
            }
            tokio::task::yield_now().await;
            let body =
                json!({"fieldsToAddOrUpdate": {field.as_str(): "string"}, "requiredFieldsToAdd": [field]});
            let changed = test_env
                .call("backend_field_manage", json!({"tableId": "tbl_users", "body": body}))
                .await
                .unwrap();
            for task in tasks {
                task.await.unwrap();
            }
            let table = test_env.call("backend_table_get", json!({"tableId": "tbl_users"})).await.unwrap();
            assert_eq!(table["stats"]["rowCount"], changed["rowsMissing"], "round {round}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_inserts_and_schema_changes() {
    for test_env in test_envs_with_data().await {
        let test_env = Arc::new(test_env);
        let mut tasks = Vec::new();
        for writer in 0..4 {
            let test_env = test_env.clone();
            tasks.push(tokio::spawn(async move {
                for n in 0..15 {
                    let data = json!({"name": "w", "email": format!("{writer}-{n}@x.io"), "age": n});
                    create_row(&test_env, data).await.unwrap();
                }
            }));
        }
        for n in 0..6 {
            let body = json!({"fieldsToAddOrUpdate": {format!("extra{n}"): "string"}});
            test_env
                .call("backend_field_manage", json!({"tableId": "tbl_users", "body": body}))
                .await
                .unwrap();
        }
        for task in tasks {
            task.await.unwrap();
        }
        let table = test_env.call("backend_table_get", json!({"tableId": "tbl_users"})).await.unwrap();
        assert_eq!((&table["stats"]["rowCount"], &table["schemaVersion"]), (&json!(61), &json!(7)));
        let listed =
            test_env.call("backend_data_list", json!({"tableId": "tbl_users", "limit": 100})).await.unwrap();
        assert_eq!(listed["items"].as_array().unwrap().len(), 61);
    }
}
