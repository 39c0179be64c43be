//! `backend_data_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string};
use quad_core::{
    EventDraft, Kind, Principal, ReadSet, Result, ScopeRequirement, Timestamp, Tool, ToolEntry, ToolOutput,
};
use quad_store::{Backend, Sql, Tx, WriteContext};
use serde_json::{Map, Value, json};

use super::{Arguments, UPPER_IDS, delete_output, lookup, page_properties, read, results, table_path};
use crate::errors::{self, invalid};
use crate::page::Page;
use crate::record::{self, NewRecord, Sort};
use crate::table::{self, Table};
use crate::{Bkend, limits, routes, tags};

/// Arguments of similar tools that this server does not support.
const UNSUPPORTED: [&str; 12] = [
    "andFilters",
    "orFilters",
    "search",
    "searchType",
    "select",
    "filter",
    "filters",
    "where",
    "conditions",
    "match",
    "query",
    "q",
];

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    const LIST_UNPUBLISHED: [&str; 14] = {
        let mut names = [""; 14];
        let mut position = 0;
        while position < names.len() {
            names[position] = if position < 12 { UNSUPPORTED[position] } else { UPPER_IDS[position - 12] };
            position += 1;
        }
        names
    };
    let record_id = || ("recordId", string("Row id (rec_…)"));
    let data = |description: &str| ("data", json!({"type": "object", "description": description}));
    let direction = json!({"type": "string", "enum": ["asc", "desc"], "default": "desc"});
    vec![
        ToolEntry::new(
            Tool::new(
                "backend_data_list",
                "List rows",
                "Lists a table's rows in pages, the newest first unless sorted otherwise. There are no filters.",
                object(
                    &[
                        &table_path()[..],
                        &page_properties(),
                        &[("sortBy", string("A field; createdAt if left out")), ("sortDirection", direction)],
                    ]
                    .concat(),
                    &["tableId"],
                ),
                routes::ROWS_READ,
                ToolEffect::Reads,
            )
            .output(results::rows())
            .example(json!({"tableId": "users", "sortBy": "name", "sortDirection": "asc", "limit": 50}))
            .unpublished(&LIST_UNPUBLISHED)
            .with_stored_text(),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_data_get",
                "Get a row",
                "Shows one row of a table.",
                object(&[&table_path()[..], &[record_id()]].concat(), &["tableId", "recordId"]),
                routes::ROWS_READ,
                ToolEffect::Reads,
            )
            .output(results::row())
            .example(json!({"tableId": "users", "recordId": "rec_123"}))
            .unpublished(&UPPER_IDS)
            .with_stored_text(),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_data_create",
                "Create a row",
                "Adds a row to a table. The server sets id and times.",
                object(&[&table_path()[..], &[data("Values by field name")]].concat(), &["tableId", "data"]),
                ScopeRequirement(&["table:data:create"]),
                ToolEffect::Creates,
            )
            .output(results::row())
            .example(json!({"tableId": "users", "data": {"name": "Ada", "email": "ada@example.org"}}))
            .unpublished(&UPPER_IDS)
            .with_stored_text(),
            |bkend, call| Box::pin(create(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_data_update",
                "Update a row",
                "Changes the fields that you send and leaves the others. null clears a field.",
                object(
                    &[
                        &table_path()[..],
                        &[
                            record_id(),
                            data("Only what changes"),
                            ("ifUpdatedAt", string("Only if the row's updatedAt is still this ISO time")),
                        ],
                    ]
                    .concat(),
                    &["tableId", "recordId", "data"],
                ),
                ScopeRequirement(&["table:data:update"]),
                ToolEffect::Updates,
            )
            .output(results::row())
            .example(json!({"tableId": "users", "recordId": "rec_123", "data": {"role": "editor"}}))
            .unpublished(&UPPER_IDS)
            .with_stored_text(),
            |bkend, call| Box::pin(update(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_data_delete",
                "Delete a row",
                "Deletes one row. This cannot be undone.",
                object(&[&table_path()[..], &[record_id()]].concat(), &["tableId", "recordId"]),
                ScopeRequirement(&["table:data:delete"]),
                ToolEffect::Deletes,
            )
            .output(results::deleted())
            .example(json!({"tableId": "users", "recordId": "rec_123"}))
            .unpublished(&UPPER_IDS),
            |bkend, call| Box::pin(delete(bkend, call)),
        ),
    ]
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    read(bkend, call.caller, move |sql| {
        let (table, read_set) = find_table(sql, &arguments)?;
        let found_record = record::find(sql, &table, record_id(&arguments)?)?;
        Ok((record_output(&table, found_record), read_set))
    })
    .await
}

async fn create(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let new = NewRecord {
        id: None,
        data: data_argument(&arguments)?,
        created_by: call.caller.subject.to_string(),
        created_at: None,
        updated_at: None,
    };
    write_rows(bkend, call.caller, call.event, arguments, move |tx, table, _| {
        let created = record::insert(tx, table, &new)?;
        Ok(record_output(table, created))
    })
    .await
}

async fn update(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let changes = data_argument(&arguments)?;
    let if_updated_at = match arguments.id("ifUpdatedAt")? {
        None => None,
        Some(text) => {
            let hint = "Send the updatedAt that you read, such as 2026-02-12T00:00:00.000Z";
            Some(Timestamp::parse(text).ok_or_else(|| invalid("ifUpdatedAt", "is not a time", hint))?)
        }
    };
    write_rows(bkend, call.caller, call.event, arguments, move |tx, table, arguments| {
        let changed = record::update(tx, table, record_id(arguments)?, &changes, if_updated_at)?;
        Ok(record_output(table, changed))
    })
    .await
}

async fn delete(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    write_rows(bkend, call.caller, call.event, arguments, |tx, table, arguments| {
        let id = record_id(arguments)?;
        record::delete(tx, table, id)?;
        Ok(with_rows_link(delete_output(id), table))
    })
    .await
}

fn record_id(arguments: &Arguments) -> Result<&str> {
    arguments.required("recordId", errors::listing_hint("Record"))
}

/// The result with a record.
fn record_output(table: &Table, record: Map<String, Value>) -> ToolOutput {
    with_rows_link(ToolOutput::structured(Value::Object(record)), table)
}

fn with_rows_link(output: ToolOutput, table: &Table) -> ToolOutput {
    output.with_link(routes::rows_uri(&table.uri()), format!("{} rows", table.name))
}

/// The table of a read of rows, and the read set of the read.
fn find_table(sql: &mut dyn Sql, arguments: &Arguments) -> Result<(Table, ReadSet)> {
    let mut read_set = ReadSet::at_version(sql.version());
    let table = lookup::table(sql, arguments, &mut read_set)?;
    let id = table.id.as_str();
    let read_set = read_set.with_tag(tags::table(id)).with_tag(tags::rows(id));
    Ok((table, read_set))
}

fn data_argument(arguments: &Arguments) -> Result<Map<String, Value>> {
    let data = arguments.value("data").and_then(Value::as_object).cloned();
    data.ok_or_else(|| errors::missing("data", "Send the values by field name"))
}

/// Runs a row write, again from the start if the table's schema changed concurrently. On PostgreSQL the statement
/// itself can fail then, because a column has another type or the table is gone; reading the catalogue again decides.
/// The last attempt takes the lock of schema changes first, so that it cannot conflict with them.
async fn write_rows(
    bkend: &Bkend,
    caller: &Principal,
    event: EventDraft,
    arguments: Arguments,
    write_work: impl FnMut(&mut Tx<'_>, &Table, &Arguments) -> Result<ToolOutput> + Clone + Send + 'static,
) -> Result<ToolResult> {
    let writer = WriteContext::from(caller);
    let event = event.succeeded();
    let on_postgres = bkend.store.backend() == Backend::Postgres;
    let mut attempt = 1;
    loop {
        let (arguments, mut write_work) = (arguments.clone(), write_work.clone());
        let result = bkend
            .store
            .write(&writer, event.clone(), move |tx| {
                let mut table = lookup::table(tx, &arguments, &mut ReadSet::default())?;
                if attempt == limits::WRITE_ATTEMPTS {
                    tx.lock(&table::lock_name(table.environment_id.as_str()))?;
                    table = lookup::table(tx, &arguments, &mut ReadSet::default())?;
                }
                write_work(tx, &table, &arguments)
            })
            .await;
        match result {
            Err(error) if record::is_schema_changed(&error) && attempt < limits::WRITE_ATTEMPTS => {
                attempt += 1
            }
            Err(error) if error.kind() == Kind::Internal && attempt == 1 && on_postgres => attempt += 1,
            result => return result.map(|(output, receipt)| ToolResult::committed(output, receipt)),
        }
    }
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    if let Some(name) = UNSUPPORTED.into_iter().find(|name| arguments.value(name).is_some()) {
        return Err(invalid(
            name,
            "is not supported: rows cannot be filtered",
            format!("Leave out {name}, send sortBy and limit, and filter the rows of each page yourself"),
        ));
    }
    let page = Page::from_arguments(&arguments.values)?;
    read(bkend, call.caller, move |sql| {
        let (table, read_set) = find_table(sql, &arguments)?;
        let sort = Sort::parse(&table, arguments.id("sortBy")?, arguments.id("sortDirection")?)?;
        let rows = record::list_page(sql, &table, page, &sort)?;
        let list_json = page.to_json(rows, table.row_count);
        Ok((with_rows_link(ToolOutput::structured(list_json), &table), read_set))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestEnv, test_envs_with_data};

    fn row(data: Value) -> Value {
        json!({"organizationId": "org_abc123", "projectId": "proj_xyz789", "environmentId": "env_dev001",
            "tableId": "tbl_users", "data": data})
    }

    async fn create_table(test_env: &TestEnv, name: &str, fields: Value) {
        let arguments = json!({"environmentId": "env_dev001", "name": name, "fields": fields});
        test_env.call("backend_table_create", arguments).await.unwrap();
    }

    async fn create_row(test_env: &TestEnv, table: &str, data: Value) -> Result<Value> {
        test_env
            .call(
                "backend_data_create",
                json!({"environmentId": "env_dev001", "tableId": table, "data": data}),
            )
            .await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn create_row_validates_and_sets_system_fields() {
        for test_env in test_envs_with_data().await {
            let data =
                json!({"name": "A", "email": "a@x.io", "age": "41", "id": "evil", "createdAt": "1999-01-01"});
            let created = test_env.call("backend_data_create", row(data)).await.unwrap();
            assert!(created["id"].as_str().unwrap().starts_with("rec_"));
            assert_eq!((&created["age"], &created["createdBy"]), (&json!(41), &json!("agent_1")));
            assert_eq!(created["createdAt"], created["updatedAt"]);
            assert!(created.get("role").is_none(), "a missing value is a missing key");
            let get = json!({"tableId": "tbl_users", "recordId": created["id"]});
            assert_eq!(test_env.call("backend_data_get", get).await.unwrap(), created);
            let duplicate = test_env
                .call("backend_data_create", row(json!({"name": "B", "email": "a@x.io"})))
                .await
                .unwrap_err();
            assert_eq!(duplicate.code(), "data/duplicate-value");
            assert_eq!(duplicate.detail("details").unwrap()[0]["field"], "email");
            let missing =
                test_env.call("backend_data_create", row(json!({"email": "c@x.io"}))).await.unwrap_err();
            assert_eq!(missing.code(), "data/validation-error");
            assert_eq!(missing.detail("details").unwrap()[0]["field"], "name");
            let unknown = test_env
                .call("backend_data_create", row(json!({"name": "C", "email": "c@x.io", "nick": 1})))
                .await;
            assert!(unknown.unwrap_err().message().contains("nick"));
            let count = test_env.call("backend_table_get", json!({"tableId": "tbl_users"})).await.unwrap();
            assert_eq!(count["stats"]["rowCount"], 2);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn update_changes_only_sent_fields() {
        for test_env in test_envs_with_data().await {
            let get = || {
                test_env.call("backend_data_get", json!({"tableId": "tbl_users", "recordId": "rec_abc123"}))
            };
            let before = get().await.unwrap();
            let update = |data: Value, more: Value| {
                let mut arguments = json!({"tableId": "tbl_users", "recordId": "rec_abc123", "data": data});
                if let (Some(arguments), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
                    arguments.extend(more.clone());
                }
                test_env.call("backend_data_update", arguments)
            };
            let after = update(json!({"role": "editor"}), json!({})).await.unwrap();
            assert_eq!(
                (&after["role"], &after["name"], &after["age"]),
                (&json!("editor"), &before["name"], &before["age"])
            );
            assert_eq!(after["createdAt"], before["createdAt"]);
            assert!(after["updatedAt"].as_str() > before["updatedAt"].as_str());
            assert_eq!(get().await.unwrap(), after);
            let cleared = update(json!({"role": null}), json!({})).await.unwrap();
            assert!(cleared.get("role").is_none());
            assert!(cleared["updatedAt"].as_str() > after["updatedAt"].as_str());
            let stale =
                update(json!({"role": "x"}), json!({"ifUpdatedAt": after["updatedAt"]})).await.unwrap_err();
            assert_eq!(stale.code(), "CONFLICT");
            update(json!({"role": "x"}), json!({"ifUpdatedAt": cleared["updatedAt"]})).await.unwrap();
            for (data, code) in [
                (json!({"name": null}), "data/validation-error"),
                (json!({}), "data/validation-error"),
                (json!({"id": "x"}), "data/validation-error"),
                (json!({"nope": 1}), "data/validation-error"),
            ] {
                assert_eq!(update(data, json!({})).await.unwrap_err().code(), code);
            }
            let unknown_record =
                json!({"tableId": "tbl_users", "recordId": "rec_none", "data": {"role": "x"}});
            assert_eq!(test_env.error_code("backend_data_update", unknown_record).await, "NOT_FOUND");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn delete_row_updates_row_count() {
        for test_env in test_envs_with_data().await {
            let id = json!({"tableId": "tbl_users", "recordId": "rec_abc123"});
            let output = test_env.call("backend_data_delete", id.clone()).await.unwrap();
            assert_eq!(output, json!({"success": true, "id": "rec_abc123"}));
            assert_eq!(test_env.error_code("backend_data_get", id.clone()).await, "NOT_FOUND");
            assert_eq!(test_env.error_code("backend_data_delete", id).await, "NOT_FOUND");
            let listed = test_env.call("backend_data_list", json!({"tableId": "tbl_users"})).await.unwrap();
            assert_eq!((&listed["items"], &listed["pagination"]["total"]), (&json!([]), &json!(0)));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn list_order_and_paging_equal_on_all_backends() {
        for test_env in test_envs_with_data().await {
            create_table(&test_env, "things", json!({"label": "string", "size": "number", "meta": "object"}))
                .await;
            for (label, size) in
                [("b", json!(2)), ("a", json!(10)), ("B", json!(null)), ("é", json!(-1.5)), ("_", json!(2))]
            {
                create_row(&test_env, "things", json!({"label": label, "size": size})).await.unwrap();
            }
            let labels = async |sort: Value| -> String {
                let mut arguments = json!({"environmentId": "env_dev001", "tableId": "things"});
                arguments.as_object_mut().unwrap().extend(sort.as_object().unwrap().clone());
                let listed = test_env.call("backend_data_list", arguments).await.unwrap();
                listed["items"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap()).collect()
            };
            assert_eq!(labels(json!({"sortBy": "label", "sortDirection": "asc"})).await, "B_abé");
            assert_eq!(labels(json!({"sortBy": "label"})).await, "éba_B");
            assert!(labels(json!({"sortBy": "size", "sortDirection": "asc"})).await.starts_with("Bé"));
            assert!(labels(json!({"sortBy": "size"})).await.starts_with('a'));
            let mut pages = String::new();
            for page in 1..=3 {
                pages.push_str(&labels(json!({"page": page, "limit": 2})).await);
            }
            assert_eq!(pages, labels(json!({"limit": 100})).await);
            assert_eq!(pages.chars().count(), 5);
            assert_eq!(labels(json!({"page": 4, "limit": 2})).await, "");
            for bad in [
                json!({"limit": 101}),
                json!({"page": 0}),
                json!({"sortBy": "nope"}),
                json!({"sortBy": "meta"}),
                json!({"sortDirection": "up"}),
                json!({"andFilters": {"size": 1}}),
                json!({"orFilters": []}),
                json!({"search": "x"}),
                json!({"select": "label"}),
                json!({"pge": 1}),
            ] {
                let mut arguments = json!({"environmentId": "env_dev001", "tableId": "things"});
                arguments.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
                let error = test_env.call("backend_data_list", arguments).await.unwrap_err();
                assert_eq!(error.code(), "VALIDATION_ERROR", "{bad}");
                let key = bad.as_object().unwrap().keys().next().unwrap();
                let error_text = format!("{} {:?}", error.message(), error.detail("details"));
                assert!(
                    error_text.contains(key.as_str()) || error_text.contains("nope"),
                    "{bad}: {error_text}"
                );
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn all_field_types_round_trip() {
        for test_env in test_envs_with_data().await {
            create_table(
                &test_env,
                "all",
                json!({"s": "string", "i": "int", "l": "long", "n": "number", "b": "boolean", "d": "date", "o": "object",
                    "a": "array", "r": {"type": "reference", "ref": "users"}, "m": "mixed"}),
            )
            .await;
            for data in [
                json!({"s": "'; DROP TABLE x; -- \u{1F600} \"q\" \\", "i": -1, "l": 9007199254740993i64, "n": 0.1, "b": true,
                    "d": "2026-02-12T01:02:03.004Z", "o": {"k": [1, {"x": null}]}, "a": ["a", 1, null], "r": "rec_abc123", "m": "text"}),
                json!({"s": "", "i": i64::MAX, "l": i64::MIN, "n": -1e300, "b": false, "d": "0001-01-01T00:00:00.000Z",
                    "o": {}, "a": [], "m": 5}),
                json!({"n": 1_000_000_000_000_000i64, "d": "9999-12-30T21:59:59.999Z", "m": {"k": true}}),
                json!({"m": [1]}),
                json!({"m": false}),
                json!({}),
            ] {
                let created = create_row(&test_env, "all", data.clone()).await.unwrap();
                let get = json!({"environmentId": "env_dev001", "tableId": "all", "recordId": created["id"]});
                let read = test_env.call("backend_data_get", get).await.unwrap();
                assert_eq!(read, created);
                for (key, value) in data.as_object().unwrap() {
                    assert_eq!(&read[key], value, "{key}");
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn unique_allows_one_missing_value_sparse_allows_many() {
        for test_env in test_envs_with_data().await {
            create_table(&test_env, "strict", json!([{"name": "code", "type": "int", "unique": true}])).await;
            create_row(&test_env, "strict", json!({"code": 1})).await.unwrap();
            create_row(&test_env, "strict", json!({})).await.unwrap();
            for duplicate in [json!({}), json!({"code": 1})] {
                let error = create_row(&test_env, "strict", duplicate).await.unwrap_err();
                assert_eq!(error.code(), "data/duplicate-value");
                assert_eq!(error.detail("details").unwrap()[0]["field"], "code");
            }
            create_table(
                &test_env,
                "sparse",
                json!([{"name": "code", "type": "int", "unique": true, "sparse": true}]),
            )
            .await;
            for data in [json!({}), json!({}), json!({"code": 1})] {
                create_row(&test_env, "sparse", data).await.unwrap();
            }
            assert_eq!(
                create_row(&test_env, "sparse", json!({"code": 1})).await.unwrap_err().code(),
                "data/duplicate-value"
            );
            // On two fields: a missing value is compared like any other value.
            create_table(&test_env, "pair", json!({"a": "string", "b": "string"})).await;
            let index = json!({"environmentId": "env_dev001", "tableId": "pair", "action": "add",
                "index": {"name": "both", "fields": ["a", "b"], "unique": true}});
            test_env.call("backend_index_manage", index).await.unwrap();
            for data in [
                json!({"a": "x"}),
                json!({"b": "x"}),
                json!({}),
                json!({"a": "x", "b": ""}),
                json!({"a": "x", "b": "x"}),
            ] {
                create_row(&test_env, "pair", data.clone()).await.unwrap();
                assert_eq!(
                    create_row(&test_env, "pair", data).await.unwrap_err().code(),
                    "data/duplicate-value"
                );
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn oversized_rows_are_rejected() {
        for test_env in test_envs_with_data().await {
            create_table(&test_env, "large", json!([{"name": "key", "type": "string", "unique": true}, {"name": "body", "type": "string"}])).await;
            let error = create_row(&test_env, "large", json!({"body": "x".repeat(limits::RECORD_BYTES)}))
                .await
                .unwrap_err();
            assert_eq!(error.code(), "data/record-too-large");
            let error =
                create_row(&test_env, "large", json!({"key": "x".repeat(limits::INDEXED_TEXT_BYTES + 1)}))
                    .await
                    .unwrap_err();
            assert_eq!(error.code(), "data/validation-error");
            let fits = "x".repeat(limits::RECORD_BYTES - 3_000);
            create_row(
                &test_env,
                "large",
                json!({"body": fits, "key": "k".repeat(limits::INDEXED_TEXT_BYTES)}),
            )
            .await
            .unwrap();
        }
    }
}
