//! Tools. One file per resource type, with one function per tool; this file has the table of all tools and shared
//! helpers.
//!
//! The published arguments are flat. Existing clients also send them in `body`, under the names of the hosted service.
//! The ids above a table are optional: a table's id determines them, and ids that are sent must belong together.

#[cfg(test)]
mod concurrency_tests;
mod data;
mod environment;
mod index;
pub(crate) mod lookup;
mod meta;
mod organization;
mod project;
#[cfg(test)]
mod published_tests;
#[cfg(test)]
mod refusal_tests;
mod results;
mod schema;
mod table;
mod token;

use quad_core::tool::ToolResult;
use quad_core::tool_schema::{integer, string};
use quad_core::{EventDraft, Principal, ReadSet, Result, ScopeSet, ToolOutput, ToolTable};
use quad_store::{Sql, Tx, WriteContext};
use serde_json::{Map, Value, json};

use crate::errors::{self, invalid};
use crate::{Bkend, limits};

/// The tools of the default profile: enough to find a table, create one and use its rows.
const CORE: [&str; 12] = [
    "get_context",
    "search_docs",
    "backend_project_create",
    "backend_table_list",
    "backend_table_get",
    "backend_table_create",
    "backend_field_manage",
    "backend_data_list",
    "backend_data_get",
    "backend_data_create",
    "backend_data_update",
    "backend_data_delete",
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

/// The arguments of a call, and what its caller may see.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    values: Map<String, Value>,
    scopes: ScopeSet,
}

impl Arguments {
    pub(crate) fn new(values: Map<String, Value>, caller: &Principal) -> Arguments {
        Arguments { values, scopes: caller.scopes.clone() }
    }

    /// An argument that is not null.
    fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// A text.
    fn text(&self, name: &str) -> Result<Option<&str>> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid(name, "is not text", format!("Send {name} as text"))),
        }
    }

    /// An id or a name. An empty one is none: some clients send every argument.
    pub(crate) fn id(&self, name: &str) -> Result<Option<&str>> {
        Ok(self.text(name)?.map(str::trim).filter(|text| !text.is_empty()))
    }

    /// An id or a name that the call must have.
    fn required(&self, name: &str, hint: &str) -> Result<&str> {
        self.id(name)?.ok_or_else(|| errors::missing(name, hint))
    }

    /// A text that null clears: `None` if it was not sent.
    fn nullable_text(&self, name: &str) -> Result<Option<Option<String>>> {
        match self.values.get(name) {
            None => Ok(None),
            Some(_) => Ok(Some(self.text(name)?.map(str::to_owned))),
        }
    }
}

fn organization_id() -> (&'static str, Value) {
    ("organizationId", string("Organization id or name; needed if there are several"))
}

fn project_id() -> (&'static str, Value) {
    ("projectId", string("Project id or name; needed if there are several"))
}

fn environment_id() -> (&'static str, Value) {
    ("environmentId", string("Environment id or name; needed if there are several"))
}

/// The arguments that name a table. Its id is enough; its name is, too, unless several environments have it.
fn table_path() -> Vec<(&'static str, Value)> {
    vec![
        ("tableId", string("Table id or name")),
        ("environmentId", string("Environment id or name, if several have such a table")),
    ]
}

/// The ids above an environment: tools that take a table accept and check them.
const UPPER_IDS: [&str; 2] = ["organizationId", "projectId"];

fn page_properties() -> [(&'static str, Value); 2] {
    [
        ("page", json!({"type": "integer", "minimum": 1, "default": 1})),
        ("limit", integer(1, limits::PAGE_MAX, limits::PAGE_DEFAULT)),
    ]
}

/// A text that null clears.
fn nullable(description: &str) -> Value {
    json!({"type": ["string", "null"], "description": description})
}

#[cfg(test)]
mod tests {
    use quad_core::tool::ToolEffect;

    use super::*;
    use crate::testing::test_envs_with_data;

    #[test]
    fn annotations_match_tool_effects() {
        let tools = table().tools();
        assert_eq!(tools.iter().filter(|tool| tool.core).count(), CORE.len());
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
            let tools = table().tools();
            let published = tools.iter().find(|tool| tool.name == "backend_data_delete").unwrap().to_json();
            assert_eq!(
                (&schema["input"], &schema["output"]),
                (&published["inputSchema"], &published["outputSchema"])
            );
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
            let named = test_env.call("backend_access_token_get", json!({"accessTokenId": "ci"})).await;
            assert_eq!(named.unwrap()["id"], "tok_01ABCDEFGH");
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
