//! The official Rust client as an oracle: what it understands of our answers must be what our own client sees.

use std::process::Stdio;

use rmcp::model::{CallToolRequestParams, ProtocolVersion, ReadResourceRequestParams, SubscriptionFilter};
use rmcp::service::ServiceError;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::Client;
use crate::combination::Revision;
use crate::place::{Place, runtime};
use crate::transcripts;

const TENANT: &str = "oracle";
const TABLES: &str = "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_dev001/tables";
const TABLES_TEMPLATE: &str = "bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables";

/// A client that wants nothing of its own.
#[derive(Clone)]
struct Quiet;

impl ClientHandler for Quiet {}

#[test]
fn the_official_client_understands_what_ours_does() {
    let place = Place::on_sqlite();
    place.add_tenant(TENANT);
    place.load(TENANT, &transcripts::folder().join("backend.jsonl"));
    let modern = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    for (revision, lifecycle) in
        [(Revision::MODERN, modern), (Revision::LEGACY, ClientLifecycleMode::Initialize)]
    {
        runtime().block_on(compare(&place, revision, lifecycle));
    }
}

async fn compare(place: &Place, revision: Revision, lifecycle: ClientLifecycleMode) {
    let arguments = ["stdio", "--tenant", TENANT, "--tools", "all"];
    let mut ours = Client::over_stdio(revision, place.quad(&arguments));
    let mut command = tokio::process::Command::from(place.quad(&arguments));
    let mut process =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let pipes = (process.stdout.take().unwrap(), process.stdin.take().unwrap());
    let theirs =
        Quiet.serve_with_lifecycle(pipes, lifecycle).await.expect("the official client could not connect");
    let mut ask = |method: &str, params: Value| ours.request(method, Some(params)).outcome;

    let listed = ask("resources/list", json!({})).unwrap();
    same("resources", &listed["resources"], &theirs.list_all_resources().await.unwrap());
    let templates = ask("resources/templates/list", json!({})).unwrap();
    same("templates", &templates["resourceTemplates"], &theirs.list_all_resource_templates().await.unwrap());
    let tools = ask("tools/list", json!({})).unwrap();
    same("tools", &tools["tools"], &theirs.list_all_tools().await.unwrap());
    let prompts = ask("prompts/list", json!({})).unwrap();
    same("prompts", &prompts["prompts"], &theirs.list_all_prompts().await.unwrap());

    for entry in listed["resources"].as_array().unwrap() {
        let uri = entry["uri"].as_str().unwrap();
        let read = ask("resources/read", json!({"uri": uri})).unwrap();
        let theirs = theirs.read_resource(ReadResourceRequestParams::new(uri)).await.unwrap();
        same(uri, &read["contents"], &theirs.contents);
    }

    let called = ask("tools/call", json!({"name": "get_context", "arguments": {}})).unwrap();
    let theirs_called = theirs.call_tool(CallToolRequestParams::new("get_context")).await.unwrap();
    same("content", &called["content"], &theirs_called.content);
    same("structure", &called["structuredContent"], &theirs_called.structured_content);
    let missing = json!({"organizationId": "org_none"});
    let called = ask("tools/call", json!({"name": "backend_org_get", "arguments": missing})).unwrap();
    let params =
        CallToolRequestParams::new("backend_org_get").with_arguments(missing.as_object().unwrap().clone());
    let theirs_called = theirs.call_tool(params).await.unwrap();
    assert_eq!(theirs_called.is_error, Some(true));
    same("failure", &called["structuredContent"], &theirs_called.structured_content);

    let reference = json!({"type": "ref/resource", "uri": TABLES_TEMPLATE});
    let argument = json!({"name": "envId", "value": "env_"});
    let completed = ask("completion/complete", json!({"ref": reference, "argument": argument})).unwrap();
    let theirs_completed =
        theirs.complete_resource_argument(TABLES_TEMPLATE, "envId", "env_", None).await.unwrap();
    same("completion", &completed["completion"], &theirs_completed);

    for uri in ["bkend://orgs/org_none", "bkend://nope"] {
        let refused = ask("resources/read", json!({"uri": uri})).unwrap_err();
        match theirs.read_resource(ReadResourceRequestParams::new(uri)).await {
            Err(ServiceError::McpError(error)) => same(uri, &refused, &error),
            other => panic!("{uri}: {other:?}"),
        }
    }

    if revision.is_modern() {
        let mut filter = SubscriptionFilter::new();
        filter.resource_subscriptions = Some(vec![TABLES.to_owned()]);
        let mut stream = theirs.listen(filter).await.expect("the official client could not listen");
        let field = json!({"name": "phone", "type": "string"});
        let change = json!({"tableId": "tbl_users", "action": "add", "field": field});
        ask("tools/call", json!({"name": "backend_field_manage", "arguments": change})).unwrap();
        let heard = serde_json::to_value(stream.next().await.unwrap().expect("the stream ended")).unwrap();
        assert_eq!(heard["method"], "notifications/resources/updated", "{heard:#}");
        assert_eq!(heard["params"]["uri"], TABLES, "{heard:#}");
    }
    theirs.cancel().await.unwrap();
}

/// Both see the same; what the official client dropped or altered on the way would show.
fn same(what: &str, ours: &Value, theirs: &impl Serialize) {
    let (mut ours, mut theirs) = (ours.clone(), serde_json::to_value(theirs).unwrap());
    shorten(&mut ours);
    shorten(&mut theirs);
    assert_eq!(ours, theirs, "{what}");
}

/// The official client keeps fractions in 32 bits.
fn shorten(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(object) => object.values_mut().for_each(shorten),
        Value::Number(number) if number.is_f64() => {
            *value = number.as_f64().map(|fraction| fraction as f32).into()
        }
        _ => {}
    }
}
