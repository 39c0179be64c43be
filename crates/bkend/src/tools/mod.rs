//! Tools. One file per resource type, with one function per tool; this file has the table of all tools and shared
//! helpers.
//!
//! Callers send parameters in two notations: the payload is in `body`, or beside the ids if there is no `body`. The ids
//! above a table are optional: a table's id determines them, and ids that are sent must belong together.

mod data;
mod environment;
mod index;
mod lookup;
mod meta;
mod organization;
mod project;
mod schema;
mod table;
mod token;

use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{Error, Principal, ReadSet, Result, Tool, ToolOutput};
use quad_store::{Sql, Tx, WriteContext};
use serde_json::{Map, Value, json};

use crate::Bkend;
use crate::errors::{self, invalid};

/// The tools of the default profile: enough to find a table, create one and use its rows.
const CORE: [&str; 10] = [
    "get_context",
    "backend_project_create",
    "backend_table_list",
    "backend_table_get",
    "backend_table_create",
    "backend_field_manage",
    "backend_data_list",
    "backend_data_get",
    "backend_data_create",
    "backend_data_update",
];

/// All tools, in the order in which they are published.
pub(crate) fn all() -> Vec<Tool> {
    let mut tools = meta::tools();
    tools.extend(organization::tools());
    tools.extend(project::tools());
    tools.extend(environment::tools());
    tools.extend(table::tools());
    tools.extend(schema::tools());
    tools.extend(index::tools());
    tools.extend(data::tools());
    tools.extend(token::tools());
    for tool in &mut tools {
        tool.core = CORE.contains(&tool.name);
    }
    tools
}

/// Calls one.
pub(crate) async fn call(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let name = call.tool.name;
    match name {
        "get_context" | "search_docs" | "get_operation_schema" => meta::call(bkend, call).await,
        name if name.starts_with("backend_org_") => organization::call(bkend, call).await,
        name if name.starts_with("backend_project_") => project::call(bkend, call).await,
        name if name.starts_with("backend_env_") => environment::call(bkend, call).await,
        name if name.starts_with("backend_table_") => table::call(bkend, call).await,
        name if name.starts_with("backend_data_") => data::call(bkend, call).await,
        name if name.starts_with("backend_access_token_") => token::call(bkend, call).await,
        "backend_field_manage" | "backend_schema_version_list" | "backend_schema_version_get" => {
            schema::call(bkend, call).await
        }
        "backend_index_manage" | "backend_index_version_list" | "backend_index_version_get" => {
            index::call(bkend, call).await
        }
        _ => Err(unimplemented_tool(name)),
    }
}

/// A tool that is published but that no file knows.
fn unimplemented_tool(name: &str) -> Error {
    Error::internal(format!("tool {name} is published but not implemented"))
}

/// Runs a tool that only reads.
async fn read(
    bkend: &Bkend,
    caller: &Principal,
    mut read_work: impl FnMut(&mut dyn Sql) -> Result<(ToolOutput, ReadSet)> + Send + 'static,
) -> Result<ToolResult> {
    let (output, basis) = bkend.store.read(&caller.tenant, move |sql| read_work(sql)).await?;
    Ok(ToolResult::read_only(output, basis))
}

/// Runs a tool that writes, in one transaction with its audit event.
async fn write(
    bkend: &Bkend,
    call: ToolCall<'_>,
    write_work: impl FnMut(&mut Tx<'_>) -> Result<ToolOutput> + Send + 'static,
) -> Result<ToolResult> {
    let (output, receipt) =
        bkend.store.write(&WriteContext::from(call.caller), call.event.succeeded(), write_work).await?;
    Ok(ToolResult::committed(output, receipt))
}

/// A result as data, and so as text.
fn json_output(value: Value) -> ToolOutput {
    ToolOutput::structured(value)
}

/// The result of a deletion.
fn delete_output(id: &str) -> ToolOutput {
    json_output(json!({"success": true, "id": id}))
}

/// The arguments of a call.
#[derive(Clone, Debug)]
struct Arguments {
    root: Map<String, Value>,
    body: Option<Map<String, Value>>,
}

impl Arguments {
    fn new(mut root: Map<String, Value>) -> Result<Arguments> {
        let body = match root.remove("body") {
            None | Some(Value::Null) => None,
            Some(Value::Object(body)) => Some(body),
            Some(_) => return Err(invalid("body", "must be an object")),
        };
        Ok(Arguments { root, body })
    }

    /// An id, beside the body or in it.
    fn id(&self, name: &str) -> Result<Option<&str>> {
        let value = self.root.get(name).or_else(|| self.body.as_ref()?.get(name));
        text(name, value)
    }

    /// A required id, beside the body or in it.
    fn required_id(&self, name: &str) -> Result<&str> {
        self.id(name)?.ok_or_else(|| errors::missing(name))
    }

    /// The payload: the body if there is one, otherwise all arguments.
    fn body_or_root(&self) -> &Map<String, Value> {
        self.body.as_ref().unwrap_or(&self.root)
    }

    /// A text in the payload.
    fn text(&self, name: &str) -> Result<Option<&str>> {
        text(name, self.body_or_root().get(name))
    }

    /// A text in the payload that null clears: `None` if it was not sent.
    fn nullable_text(&self, name: &str) -> Result<Option<Option<String>>> {
        match self.body_or_root().get(name) {
            None => Ok(None),
            value => Ok(Some(text(name, value)?.map(str::to_owned))),
        }
    }
}

fn text<'v>(name: &str, value: Option<&'v Value>) -> Result<Option<&'v str>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(name, "must be text")),
    }
}

/// The schema of a tool's arguments: an object with these properties and no others.
fn input_schema(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".into(), required.into());
    }
    schema
}

/// A text property.
fn string_schema(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn organization_id() -> (&'static str, Value) {
    ("organizationId", string_schema("Organization id (org_…)"))
}

fn project_id() -> (&'static str, Value) {
    ("projectId", string_schema("Project id (proj_…)"))
}

fn environment_id() -> (&'static str, Value) {
    ("environmentId", string_schema("Environment id (env_…), or its name when projectId is given"))
}

fn table_id() -> (&'static str, Value) {
    ("tableId", string_schema("Table id (tbl_…), or its name when environmentId is given"))
}

fn page_properties() -> [(&'static str, Value); 2] {
    [
        ("page", json!({"type": ["integer", "string"], "description": "From 1", "default": 1})),
        ("limit", json!({"type": ["integer", "string"], "description": "1 to 100", "default": 20})),
    ]
}

/// The ids of a table and its parents. The table's id is enough; its name needs the environment.
fn table_path() -> Vec<(&'static str, Value)> {
    vec![organization_id(), project_id(), environment_id(), table_id()]
}

/// The schema of a tool's result, for `get_operation_schema`.
fn output_schema(name: &str) -> Value {
    if name == "backend_org_list" {
        return json!({"type": "object", "required": ["organizations"], "properties": {
            "organizations": {"type": "array", "items": {"type": "object", "required": ["id", "name", "plan"]}}}});
    }
    if name.ends_with("_list") {
        return json!({"type": "object", "required": ["items", "pagination"], "properties": {
            "items": {"type": "array", "items": {"type": "object"}},
            "pagination": {"type": "object", "required": ["total", "page", "limit", "totalPages", "hasNext", "hasPrev"]}}});
    }
    if name.ends_with("_delete") {
        return json!({"type": "object", "required": ["success", "id"], "properties": {
            "success": {"const": true}, "id": {"type": "string"}}});
    }
    if name.starts_with("backend_") {
        return json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}});
    }
    json!({"type": "object"})
}

#[cfg(test)]
mod tests {
    use quad_core::tool::ToolEffect;

    use super::*;
    use crate::testing::{caller, test_envs_with_data};

    #[test]
    fn annotations_match_tool_effects() {
        let tools = all();
        assert_eq!(tools.iter().filter(|tool| tool.core).count(), 10);
        for tool in &tools {
            let entry = tool.to_json();
            let hints = &entry["annotations"];
            if tool.name.ends_with("_list") || tool.name.ends_with("_get") {
                assert_eq!(hints["readOnlyHint"], true, "{}", tool.name);
                assert!(tool.required_scope.0.iter().all(|scope| scope.ends_with(":read")), "{}", tool.name);
            }
            assert_eq!(hints["destructiveHint"] == true, tool.name.ends_with("_delete"), "{}", tool.name);
            if tool.effect != ToolEffect::Reads {
                assert!(tool.required_scope.0.iter().all(|scope| !scope.ends_with(":read")), "{}", tool.name);
            }
            assert!(tool.required_scope.0.iter().all(|scope| crate::SCOPES.contains(scope)), "{}", tool.name);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_tool_handles_sample_arguments() {
        let test_env = test_envs_with_data().await.remove(0);
        for tool in all() {
            // A call may succeed or be refused; it must not be an internal error.
            for arguments in [
                json!({}),
                json!({"organizationId": "org_abc123", "projectId": "proj_xyz789", "environmentId": "env_dev001",
                    "tableId": "tbl_users", "recordId": "rec_none", "versionId": 1, "data": {}}),
                json!({"tableId": "tbl_users", "body": {}}),
                json!({"tableId": "\u{0}", "projectId": "\u{0}", "organizationId": "\u{0}"}),
            ] {
                if let Err(error) = test_env.call(tool.name, arguments.clone()).await {
                    assert_ne!(
                        error.kind(),
                        quad_core::Kind::Internal,
                        "{} {arguments}: {}",
                        tool.name,
                        error.cause_chain()
                    );
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn meta_tools_return_expected_json() {
        for test_env in test_envs_with_data().await {
            let context = test_env.call("get_context", json!({})).await.unwrap();
            assert_eq!(context["organization"], json!({"id": "org_abc123", "name": "My Organization"}));
            assert_eq!(context["projects"][0]["environments"][0]["id"], "env_dev001");
            assert_eq!(context["warnings"], json!([]));
            let docs = test_env.call("search_docs", json!({"query": "CRUD filtering"})).await.unwrap();
            assert!((1..=5).contains(&docs["results"].as_array().unwrap().len()));
            let organizations = test_env.call("backend_org_list", json!({})).await.unwrap();
            assert_eq!(organizations["organizations"][0]["id"], "org_abc123");
            assert_eq!(organizations["organizations"][0]["plan"], "self-hosted");
            let schema = test_env
                .call(
                    "get_operation_schema",
                    json!({"operation": "backend_data_delete", "schemaType": "both"}),
                )
                .await
                .unwrap();
            assert_eq!(schema["input"]["required"], json!(["tableId", "recordId"]));
            assert_eq!(schema["output"]["required"], json!(["success", "id"]));
            assert_eq!(
                test_env.error_code("get_operation_schema", json!({"operation": "nope"})).await,
                "VALIDATION_ERROR"
            );
            let tokens = test_env.call("backend_access_token_list", json!({})).await.unwrap();
            assert_eq!(tokens["items"][0]["maskedKey"], "tok_01ABC…");
            assert_eq!(
                test_env.error_code("backend_access_token_get", json!({"accessTokenId": "tok_none"})).await,
                "NOT_FOUND"
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn read_scope_cannot_write() {
        let mut test_env = test_envs_with_data().await.remove(0);
        test_env.caller = caller(&test_env.db.tenant, "*:read");
        let row = json!({"tableId": "tbl_users", "data": {"name": "A", "email": "a@x.io"}});
        assert_eq!(test_env.error_code("backend_data_create", row).await, "SCOPE_INSUFFICIENT");
        assert!(test_env.call("backend_data_list", json!({"tableId": "tbl_users"})).await.is_ok());
    }
}
