//! Loading of JSON lines that contain their ids. Loading is idempotent.
//!
//! ```text
//! {"kind":"organization","id":"org_abc123","name":"My Organization"}
//! {"kind":"project","id":"proj_xyz789","organizationId":"org_abc123","name":"my-app"}
//! {"kind":"environment","id":"env_dev001","projectId":"proj_xyz789","name":"dev"}
//! {"kind":"table","id":"tbl_users","environmentId":"env_dev001","name":"users","fields":[…],"indexes":[…]}
//! {"kind":"record","id":"rec_abc123","tableId":"tbl_users","data":{…}}
//! ```
//!
//! A loaded project gets no default environment: the file contains its environments. A line whose id exists is skipped,
//! so an interrupted load can be run again.

use quad_core::{Error, EventDraft, Kind, Result, Timestamp, id};
use quad_store::{Store, Tx, WriteContext};
use serde_json::{Map, Value};

use crate::environment::{self, EnvironmentId, NewEnvironment};
use crate::errors::{self, invalid};
use crate::organization::{self, NewOrganization, OrganizationId};
use crate::project::{self, NewProject, ProjectId};
use crate::record::{self, NewRecord, RecordId};
use crate::table::{self, NewTable, Table, TableId};
use crate::{definition, limits};

/// A line, for hints.
const LINE_EXAMPLE: &str =
    "Write lines such as {\"kind\":\"organization\",\"id\":\"org_1\",\"name\":\"Shop\"}";

/// The counts of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// Lines that created something.
    pub created: usize,
    /// Lines whose id existed already.
    pub skipped: usize,
}

/// Loads lines in transactions of at most [`limits::LOAD_LINES`]. An invalid line stops the load with an error that
/// names the line; transactions before it stay committed.
pub async fn load(
    store: &Store,
    writer: &WriteContext,
    lines: impl IntoIterator<Item = std::io::Result<String>>,
) -> Result<LoadSummary> {
    let mut lines = lines.into_iter().zip(1usize..);
    let mut total = LoadSummary::default();
    loop {
        let mut batch: Vec<(usize, Map<String, Value>)> = Vec::new();
        for (line, number) in lines.by_ref() {
            let line = line.map_err(|error| {
                let hint = "Check that the file is UTF-8 text and can be read";
                with_line_number(number, invalid("line", format!("cannot be read: {error}"), hint))
            })?;
            if !line.trim().is_empty() {
                batch.push((number, parse(&line).map_err(|error| with_line_number(number, error))?));
            }
            if batch.len() == limits::LOAD_LINES {
                break;
            }
        }
        let (Some((first, _)), Some((last, _))) = (batch.first(), batch.last()) else { return Ok(total) };
        let event = EventDraft::system("backend", "backend_loaded", "quad_load")
            .input("first_line", *first)
            .input("last_line", *last)
            .succeeded();
        let (loaded, _) = store.write(writer, event, move |tx| load_batch(tx, &batch)).await?;
        total.created += loaded.created;
        total.skipped += loaded.skipped;
    }
}

fn parse(line: &str) -> Result<Map<String, Value>> {
    if line.len() > limits::LOAD_LINE_BYTES {
        return Err(invalid(
            "line",
            format!("has more than {} bytes", limits::LOAD_LINE_BYTES),
            "Split the record or the definition",
        ));
    }
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(invalid("line", "is not a JSON object", LINE_EXAMPLE)),
        Err(error) => Err(invalid("line", format!("is not JSON: {error}"), LINE_EXAMPLE)),
    }
}

fn with_line_number(number: usize, error: Error) -> Error {
    if error.may_pass() {
        return error;
    }
    let numbered =
        Error::new(error.kind(), error.code().to_owned(), format!("line {number}: {}", error.message()));
    let numbered = numbered.with_detail("line", number);
    match error.hint_text() {
        Some(hint) => numbered.hint(hint),
        None => numbered,
    }
}

fn load_batch(tx: &mut Tx<'_>, batch: &[(usize, Map<String, Value>)]) -> Result<LoadSummary> {
    let mut loaded = LoadSummary::default();
    // Consecutive rows usually belong to one table. Its definition is read once per sequence, since no line changes it.
    let mut last_table: Option<Table> = None;
    for (number, line) in batch {
        let created =
            load_line(tx, line, &mut last_table).map_err(|error| with_line_number(*number, error))?;
        if created {
            loaded.created += 1;
        } else {
            loaded.skipped += 1;
        }
    }
    tx.audit_output("created", loaded.created);
    tx.audit_output("skipped", loaded.skipped);
    Ok(loaded)
}

/// Loads one line. Returns false if its id exists.
fn load_line(tx: &mut Tx<'_>, line: &Map<String, Value>, last_table: &mut Option<Table>) -> Result<bool> {
    let id = required_text(line, "id")?;
    if !id::is_id(&id) {
        return Err(invalid(
            "id",
            format!("cannot be \"{}\"", errors::truncate_for_message(&id)),
            "Use 1 to 64 characters of A-Z, a-z, 0-9, _ and -",
        ));
    }
    match required_text(line, "kind")?.as_str() {
        "organization" => {
            if exists(organization::find(tx, &id))? {
                return Ok(false);
            }
            let new = NewOrganization {
                id: OrganizationId::parse(&id),
                name: required_text(line, "name")?,
                slug: optional_text(line, "slug")?,
                display_name: optional_text(line, "displayName")?,
                description: optional_text(line, "description")?,
                plan: optional_text(line, "plan")?,
            };
            organization::insert(tx, &new)?;
        }
        "project" => {
            if exists(project::find(tx, &id))? {
                return Ok(false);
            }
            let new = NewProject {
                id: ProjectId::parse(&id),
                organization_id: required_text(line, "organizationId")?,
                name: required_text(line, "name")?,
                slug: optional_text(line, "slug")?,
                description: optional_text(line, "description")?,
                primary_cloud: optional_text(line, "primaryCloud")?,
                primary_region: optional_text(line, "primaryRegion")?,
                with_dev: false,
            };
            project::insert(tx, &new)?;
        }
        "environment" => {
            if exists(environment::find(tx, &id))? {
                return Ok(false);
            }
            let new = NewEnvironment {
                id: EnvironmentId::parse(&id),
                project_id: required_text(line, "projectId")?,
                name: required_text(line, "name")?,
                kind: optional_text(line, "type")?,
            };
            environment::insert(tx, &new)?;
        }
        "table" => {
            if exists(table::find(tx, &id))? {
                return Ok(false);
            }
            load_table(tx, &id, line)?;
        }
        "record" => {
            let table_id = required_text(line, "tableId")?;
            let table = match last_table.take() {
                Some(table) if table.id.as_str() == table_id => table,
                _ => table::find(tx, &table_id)?,
            };
            let created = load_record(tx, &table, &id, line);
            *last_table = Some(table);
            return created;
        }
        other => {
            const KINDS: [&str; 5] = ["organization", "project", "environment", "table", "record"];
            return Err(errors::unknown("kind of line named", other, KINDS));
        }
    }
    Ok(true)
}

fn load_table(tx: &mut Tx<'_>, id: &str, line: &Map<String, Value>) -> Result<()> {
    let definition = line.get("fields").or_else(|| line.get("schema")).ok_or_else(|| {
        errors::missing("fields", "Add fields such as [{\"name\":\"email\",\"type\":\"string\"}]")
    })?;
    let new = NewTable {
        id: TableId::parse(id),
        environment_id: required_text(line, "environmentId")?,
        name: required_text(line, "name")?,
        display_name: optional_text(line, "displayName")?,
        description: optional_text(line, "description")?,
        fields: definition::parse_fields(definition)?,
        indexes: match line.get("indexes") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(indexes)) => indexes.clone(),
            Some(_) => return Err(invalid("indexes", "is not a list", "Send [{\"fields\":[\"email\"]}]")),
        },
        created_by: optional_text(line, "createdBy")?.unwrap_or_default(),
    };
    table::insert(tx, &new).map(|_| ())
}

fn load_record(tx: &mut Tx<'_>, table: &Table, id: &str, line: &Map<String, Value>) -> Result<bool> {
    if record::exists(tx, table, id)? {
        return Ok(false);
    }
    let data = match line.get("data") {
        Some(Value::Object(data)) => data.clone(),
        _ => return Err(invalid("data", "is not an object", "Send the values by field name")),
    };
    let time = |name: &str| match optional_text(line, name)? {
        None => Ok(None),
        Some(text) => Timestamp::parse(&text).map(Some).ok_or_else(|| {
            invalid(name, "is not a time", "Send an ISO 8601 time such as 2026-02-12T00:00:00Z")
        }),
    };
    let new = NewRecord {
        id: RecordId::parse(id),
        data,
        created_by: optional_text(line, "createdBy")?.unwrap_or_default(),
        created_at: time("createdAt")?,
        updated_at: time("updatedAt")?,
    };
    record::insert(tx, table, &new)?;
    Ok(true)
}

fn exists<T>(result: Result<T>) -> Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == Kind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn required_text(line: &Map<String, Value>, name: &str) -> Result<String> {
    optional_text(line, name)?.ok_or_else(|| errors::missing(name, LINE_EXAMPLE))
}

fn optional_text(line: &Map<String, Value>, name: &str) -> Result<Option<String>> {
    match line.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(name, "is not text", format!("Send {name} as text"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{test_envs, test_envs_with_data};

    #[tokio::test(flavor = "multi_thread")]
    async fn load_is_idempotent() {
        for test_env in test_envs_with_data().await {
            let duplicate_lines = [
                r#"{"kind":"organization","id":"org_abc123","name":"Other name"}"#,
                "",
                r#"{"kind":"table","id":"tbl_users","environmentId":"env_dev001","name":"users","fields":[]}"#,
                r#"{"kind":"record","id":"rec_abc123","tableId":"tbl_users","data":{}}"#,
                r#"{"kind":"record","id":"rec_2","tableId":"tbl_users","data":{"name":"B","email":"b@x.io"}}"#,
            ];
            assert_eq!(
                test_env.load(&duplicate_lines).await.unwrap(),
                LoadSummary { created: 1, skipped: 3 }
            );
            assert_eq!(test_env.read("bkend://orgs").await.unwrap()[0]["name"], "My Organization");
            assert_eq!(test_env.read("bkend://tables/tbl_users").await.unwrap()["documentCount"], 2);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn load_splits_lines_into_transactions() {
        for test_env in test_envs_with_data().await {
            let lines: Vec<String> = (0..limits::LOAD_LINES + 10)
                .map(|n| json!({"kind": "record", "id": format!("r{n}"), "tableId": "tbl_users", "data": {"name": "N", "email": format!("{n}@x")}}))
                .map(|line| line.to_string())
                .collect();
            let loaded = test_env.load(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
            assert_eq!(loaded.created, limits::LOAD_LINES + 10);
            assert_eq!(
                test_env.read("bkend://tables/tbl_users").await.unwrap()["documentCount"],
                limits::LOAD_LINES + 11
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bad_line_is_reported_and_transaction_rolls_back() {
        for test_env in test_envs().await {
            let good = r#"{"kind":"organization","id":"org_1","name":"One"}"#;
            for bad in [
                "{",
                "[]",
                r#"{"kind":"organization","name":"x"}"#,
                r#"{"kind":"organisation","id":"a","name":"x"}"#,
                r#"{"kind":"organization","id":"a b","name":"x"}"#,
                r#"{"kind":"project","id":"p","organizationId":"org_none","name":"x"}"#,
                r#"{"kind":"record","id":"r","tableId":"tbl_none","data":{}}"#,
            ] {
                let error = test_env.load(&[good, "", bad]).await.unwrap_err();
                assert!(error.message().starts_with("line 3: "), "{bad}: {}", error.message());
            }
            assert_eq!(test_env.read("bkend://orgs").await.unwrap(), json!([]));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn two_tenants_can_load_same_ids() {
        for test_env in test_envs_with_data().await {
            let other = quad_store::tenant::create(&test_env.test_store.store, "other").await.unwrap().id;
            let lines = crate::testing::lines(&[
                r#"{"kind":"organization","id":"org_abc123","name":"Theirs"}"#,
                r#"{"kind":"project","id":"proj_xyz789","organizationId":"org_abc123","name":"theirs"}"#,
                r#"{"kind":"environment","id":"env_dev001","projectId":"proj_xyz789","name":"dev"}"#,
                r#"{"kind":"table","id":"tbl_users","environmentId":"env_dev001","name":"users","fields":{"x":"int"}}"#,
                r#"{"kind":"record","id":"rec_abc123","tableId":"tbl_users","data":{"x":7}}"#,
            ]);
            load(&test_env.test_store.store, &WriteContext::from(&other), lines).await.unwrap();
            let other_caller = quad_store::testing::agent(&other, "agent_1", "*:*");
            let rows = format!("{}/tables/tbl_users/rows", crate::testing::ENV_URI);
            assert_eq!(test_env.read_as(&other_caller, &rows).await.unwrap()["items"][0]["x"], 7);
            assert_eq!(test_env.read(&rows).await.unwrap()["items"][0]["name"], "Ada");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn unusual_environment_ids_get_unique_physical_names() {
        for test_env in test_envs_with_data().await {
            let long = "e".repeat(64);
            for (id, name) in [
                ("env_a", "a"),
                ("env_A", "b"),
                ("env_a__b", "c"),
                ("0", "d"),
                (long.as_str(), "e"),
                ("env_", "f"),
            ] {
                let environment =
                    json!({"kind": "environment", "id": id, "projectId": "proj_xyz789", "name": name});
                let table = json!({"kind": "table", "id": format!("t_{name}"), "environmentId": id, "name": "b__c", "fields": []});
                let plain = json!({"kind": "table", "id": format!("u_{name}"), "environmentId": id, "name": "c", "fields": []});
                let lines = [environment.to_string(), table.to_string(), plain.to_string()];
                test_env.load(&[&lines[0], &lines[1], &lines[2]]).await.unwrap();
            }
            let table_count = test_env
                .test_store
                .store
                .read(&test_env.test_store.tenant, |sql| {
                    let tenant = quad_store::Sql::tenant(sql).clone();
                    let query = "SELECT physical_schema, physical_name, environment_name FROM bkend_tables WHERE tenant_id = $1";
                    Ok(quad_store::Sql::query(sql, query, quad_store::params![tenant.as_str()])?.len())
                })
                .await
                .unwrap();
            assert_eq!(table_count, 13);
        }
    }
}
