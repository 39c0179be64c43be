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

use quad_core::tool::ToolResult;
use quad_core::tool_schema::string;
use quad_core::{EventDraft, Principal, ReadSet, Result, ToolOutput, ToolTable};
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
pub(crate) fn table() -> ToolTable<Bkend> {
    let groups = [
        meta::entries(),
        organization::entries(),
        project::entries(),
        environment::entries(),
        table::entries(),
        schema::entries(),
        index::entries(),
        data::entries(),
        token::entries(),
    ];
    ToolTable::new(groups.into_iter().flatten(), |name| CORE.contains(&name))
}

/// Runs a tool that only reads.
async fn read(
    bkend: &Bkend,
    caller: &Principal,
    mut read_work: impl FnMut(&mut dyn Sql) -> Result<(ToolOutput, ReadSet)> + Send + 'static,
) -> Result<ToolResult> {
    let (output, read_set) = bkend.store.read(&caller.tenant, move |sql| read_work(sql)).await?;
    Ok(ToolResult::read_only(output, read_set))
}

/// Runs a tool that writes, in one transaction with its audit event.
async fn write(
    bkend: &Bkend,
    caller: &Principal,
    event: EventDraft,
    write_work: impl FnMut(&mut Tx<'_>) -> Result<ToolOutput> + Send + 'static,
) -> Result<ToolResult> {
    let (output, receipt) =
        bkend.store.write(&WriteContext::from(caller), event.succeeded(), write_work).await?;
    Ok(ToolResult::committed(output, receipt))
}

/// The result of a deletion.
fn delete_output(id: &str) -> ToolOutput {
    ToolOutput::structured(json!({"success": true, "id": id}))
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
            Some(_) => return Err(invalid("body", "is not an object", "Send the arguments without body")),
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
        self.id(name)?.ok_or_else(|| errors::missing(name, format!("Send {name}")))
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
        Some(_) => Err(invalid(name, "is not text", format!("Send {name} as text"))),
    }
}

fn organization_id() -> (&'static str, Value) {
    ("organizationId", string("Organization id (org_…)"))
}

fn project_id() -> (&'static str, Value) {
    ("projectId", string("Project id (proj_…)"))
}

fn environment_id() -> (&'static str, Value) {
    ("environmentId", string("Environment id (env_…), or its name when projectId is given"))
}

fn table_id() -> (&'static str, Value) {
    ("tableId", string("Table id (tbl_…), or its name when environmentId is given"))
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
    use crate::testing::test_envs_with_data;

    #[test]
    fn annotations_match_tool_effects() {
        let tools = table().tools();
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
        for tool in table().tools() {
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
        test_env.caller = quad_store::testing::agent(&test_env.test_store.tenant, "agent_1", "*:read");
        let row = json!({"tableId": "tbl_users", "data": {"name": "A", "email": "a@x.io"}});
        assert_eq!(test_env.error_code("backend_data_create", row).await, "SCOPE_INSUFFICIENT");
        assert!(test_env.call("backend_data_list", json!({"tableId": "tbl_users"})).await.is_ok());
    }
}
