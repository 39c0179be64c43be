//! Compares the official Rust client with the client of these tests: both must understand the same answers.

use std::process::Stdio;

use rmcp::model::{CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams, SubscriptionFilter};
use rmcp::service::ServiceError;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::Client;
use crate::instance::{TestInstance, runtime};
use crate::matrix::Revision;
use crate::transcripts;

const TENANT: &str = "oracle";
const TABLES: &str = "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_dev001/tables";
const TABLES_TEMPLATE: &str = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables";

/// A client without handlers of its own.
#[derive(Clone)]
struct NoopHandler;

impl ClientHandler for NoopHandler {}

#[test]
fn official_client_sees_same_results_as_test_client() {
    let instance = TestInstance::on_sqlite();
    instance.add_tenant(TENANT);
    instance.load(TENANT, &transcripts::folder().join("backend.jsonl"));
    let modern = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    for (revision, lifecycle) in
        [(Revision::MODERN, modern), (Revision::LEGACY, ClientLifecycleMode::Initialize)]
    {
        runtime().block_on(compare_clients(&instance, revision, lifecycle));
    }
}

async fn compare_clients(instance: &TestInstance, revision: Revision, lifecycle: ClientLifecycleMode) {
    let arguments = ["stdio", "--tenant", TENANT, "--tools", "all"];
    let mut test_client = Client::over_stdio(revision, instance.quad_command(&arguments));
    let mut command = tokio::process::Command::from(instance.quad_command(&arguments));
    let mut process =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let pipes = (process.stdout.take().unwrap(), process.stdin.take().unwrap());
    let official = NoopHandler
        .serve_with_lifecycle(pipes, lifecycle)
        .await
        .expect("the official client could not connect");
    let mut request = |method: &str, params: Value| test_client.request(method, Some(params)).outcome;

    let listed = request("resources/list", json!({})).unwrap();
    assert_same("resources", &listed["resources"], &official.list_all_resources().await.unwrap());
    let templates = request("resources/templates/list", json!({})).unwrap();
    assert_same(
        "templates",
        &templates["resourceTemplates"],
        &official.list_all_resource_templates().await.unwrap(),
    );
    let tools = request("tools/list", json!({})).unwrap();
    assert_same("tools", &tools["tools"], &official.list_all_tools().await.unwrap());
    let prompts = request("prompts/list", json!({})).unwrap();
    assert_same("prompts", &prompts["prompts"], &official.list_all_prompts().await.unwrap());

    for entry in listed["resources"].as_array().unwrap() {
        let uri = entry["uri"].as_str().unwrap();
        let read = request("resources/read", json!({"uri": uri})).unwrap();
        let official_read = official.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
        assert_same(uri, &read["contents"], &official_read.contents);
    }

    let called = request("tools/call", json!({"name": "get_context", "arguments": {}})).unwrap();
    let official_result = official.call_tool(CallToolRequestParams::new("get_context")).await.unwrap();
    assert_same("content", &called["content"], &official_result.content);
    assert_same("structure", &called["structuredContent"], &official_result.structured_content);
    let missing = json!({"organizationId": "org_none"});
    let called = request("tools/call", json!({"name": "backend_org_get", "arguments": missing})).unwrap();
    let params =
        CallToolRequestParams::new("backend_org_get").with_arguments(missing.as_object().unwrap().clone());
    let official_error = official.call_tool(params).await.unwrap();
    assert_eq!(official_error.is_error, Some(true));
    assert_same("failure", &called["structuredContent"], &official_error.structured_content);

    let reference = json!({"type": "ref/resource", "uri": TABLES_TEMPLATE});
    let argument = json!({"name": "envId", "value": "env_"});
    let completed = request("completion/complete", json!({"ref": reference, "argument": argument})).unwrap();
    let official_completion =
        official.complete_resource_argument(TABLES_TEMPLATE, "envId", "env_", None).await.unwrap();
    assert_same("completion", &completed["completion"], &official_completion);

    for uri in ["bkend://orgs/org_none", "bkend://nope"] {
        let refused = request("resources/read", json!({"uri": uri})).unwrap_err();
        match official.read_resource(ReadResourceRequestParams::new(uri)).await {
            Err(ServiceError::McpError(error)) => assert_same(uri, &refused, &error),
            other => panic!("{uri}: {other:?}"),
        }
    }

    if revision.is_modern() {
        let mut filter = SubscriptionFilter::new();
        filter.resource_subscriptions = Some(vec![TABLES.to_owned()]);
        let mut stream = official.listen(filter).await.expect("the official client could not listen");
        let field = json!({"name": "phone", "type": "string"});
        let change = json!({"tableId": "tbl_users", "action": "add", "field": field});
        request("tools/call", json!({"name": "backend_field_manage", "arguments": change})).unwrap();
        let notification =
            serde_json::to_value(stream.next().await.unwrap().expect("the stream ended")).unwrap();
        assert_eq!(notification["method"], "notifications/resources/updated", "{notification:#}");
        assert_eq!(notification["params"]["uri"], TABLES, "{notification:#}");
    }
    official.cancel().await.unwrap();
}

/// Compares both views; a field that the official client drops or changes would show.
fn assert_same(label: &str, actual: &Value, official: &impl Serialize) {
    let (mut actual_value, mut official_value) = (actual.clone(), serde_json::to_value(official).unwrap());
    round_to_f32(&mut actual_value);
    round_to_f32(&mut official_value);
    assert_eq!(actual_value, official_value, "{label}");
}

/// The official client stores fractions as 32-bit floats.
fn round_to_f32(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(round_to_f32),
        Value::Object(object) => object.values_mut().for_each(round_to_f32),
        Value::Number(number) if number.is_f64() => {
            *value = number.as_f64().map(|fraction| fraction as f32).into()
        }
        _ => {}
    }
}
