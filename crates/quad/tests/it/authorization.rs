//! The authorization matrix: the scope of each address and tool, and the answer to another tenant. It is determined by
//! requests with one token per scope, and compared with a file that is reviewed like code.
//!
//! A new address or tool has no row in the file, so this test fails until its row is added and reviewed
//! (`QUAD_TEST_BLESS=1` writes the file).

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::client::Client;
use crate::http::{HttpClient, Request};
use crate::instance::TestInstance;
use crate::matrix::Revision;
use crate::project::copy_dir;
use crate::transcripts;

/// Addresses without variables; they are not in the list of templates.
const FIXED_URIS: [&str; 7] = [
    "refrakt://detect",
    "brain://payments/action_types",
    "amem://graph/stats",
    "amem://graph/recent",
    "amem://graph/important",
    "bkend://orgs",
    "bkend://context",
];

/// The values of template variables in the fixture.
const VARIABLE_VALUES: [(&str, &str); 18] = [
    ("{account_id}", "acct_8231"),
    ("{transaction_id}", "tx_4127"),
    ("{payment_intent_id}", "pi_a1b2c3"),
    ("{slug}", "accounts%2Facct_8231"),
    ("{raw_artifact_id}", "raw_cited"),
    ("{obligation_id}", "obl_1"),
    ("{counterparty_id}", "cp_aws"),
    ("{invoice_id}", "inv_1"),
    ("{orgId}", "org_abc123"),
    ("{organizationId}", "org_abc123"),
    ("{projectId}", "proj_xyz789"),
    ("{envId}", "env_dev001"),
    ("{environmentId}", "env_dev001"),
    ("{tableId}", "tbl_users"),
    ("{n}", "1"),
    ("{type}", "fact"),
    ("{+url}", "berth-12"),
    ("{name}", "hint"),
];

#[test]
fn matrix_covers_every_uri_and_tool() {
    for instance in TestInstance::on_each_backend() {
        let actual = build_matrix(&instance);
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/authorization-matrix.txt");
        if std::env::var_os("QUAD_TEST_BLESS").is_some() {
            std::fs::write(&file, &actual).unwrap();
        }
        let reviewed = std::fs::read_to_string(&file).unwrap();
        assert_eq!(actual, reviewed, "{}: the matrix differs from the reviewed one", instance.backend);
    }
}

fn build_matrix(instance: &TestInstance) -> String {
    instance.add_tenant("mine");
    instance.add_tenant("theirs");
    instance.load("mine", &transcripts::folder().join("backend.jsonl"));
    instance.load_into("brain", "mine", &transcripts::folder().join("money.jsonl"));
    let project = tempfile::tempdir().unwrap();
    copy_dir(&transcripts::folder().join("projects/full"), project.path());
    let folder = project.path().to_str().unwrap();
    let server = instance.serve(&["--tools", "all", "--tenant", "mine", "--project", folder]);
    let connect =
        |token: &str| Client::over_http(Revision::MODERN, &server.authority, &server.path, Some(token));
    let metadata = Request::new("GET", "/.well-known/oauth-protected-resource");
    let metadata = HttpClient::new(&server.authority).send(&metadata).unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.body).unwrap();
    let mut scopes: Vec<&str> = string_list(&metadata["scopes_supported"]);
    // Only users can have this scope, and no address or tool requires it.
    scopes.retain(|scope| *scope != "payment_intent:approve");
    let mut clients_by_scope: Vec<(&str, Client)> = scopes
        .iter()
        .map(|scope| (*scope, connect(&instance.mint_token("mine", &scope.replace(':', "."), scope))))
        .collect();
    let mut owner = connect(&instance.mint_token("mine", "owner", "*:*"));
    let mut other_tenant_client = connect(&instance.mint_token("theirs", "stranger", "*:*"));

    let memory = json!({"name": "memory_add", "arguments": {"event_type": "fact", "content": "mine"}});
    owner.request("tools/call", Some(memory)).outcome.unwrap();

    let listed = owner.request("resources/templates/list", None).outcome.unwrap();
    let templates =
        listed["resourceTemplates"].as_array().unwrap().iter().map(|t| t["uriTemplate"].as_str().unwrap());
    let mut text =
        String::from("# address: the scopes of which any one opens it | what another tenant gets\n");
    for template in FIXED_URIS.into_iter().chain(templates) {
        let params = json!({"uri": expand_template(template, &mut owner)});
        let is_allowed = |client: &mut Client| !is_scope_refusal(client, "resources/read", &params);
        let opening_scopes = clients_by_scope
            .iter_mut()
            .filter_map(|(scope, client)| is_allowed(client).then_some(*scope))
            .collect();
        let other_tenant_result =
            match other_tenant_client.request("resources/read", Some(params.clone())).outcome {
                Ok(_) => "its own",
                Err(error) => match error["data"]["kind"].as_str().unwrap() {
                    "not_found" => "not found",
                    other => panic!("{template} answers another tenant with {other}: {error:#}"),
                },
            };
        writeln!(text, "{template}: {} | {other_tenant_result}", format_scopes(opening_scopes, scopes.len()))
            .unwrap();
    }

    let listed = owner.request("tools/list", None).outcome.unwrap();
    text.push_str("\n# tool: the scopes of which any one opens it | what it does\n");
    for tool in listed["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        // Without arguments: with the scope, most calls then fail at the schema.
        let params = json!({"name": name, "arguments": {}});
        let is_allowed = |client: &mut Client| !is_scope_refusal(client, "tools/call", &params);
        let opening_scopes = clients_by_scope
            .iter_mut()
            .filter_map(|(scope, client)| is_allowed(client).then_some(*scope))
            .collect();
        let effect = match (&tool["annotations"]["readOnlyHint"], &tool["annotations"]["destructiveHint"]) {
            (Value::Bool(true), _) => "reads",
            (_, Value::Bool(true)) => "deletes",
            _ => "writes",
        };
        writeln!(text, "{name}: {} | {effect}", format_scopes(opening_scopes, scopes.len())).unwrap();
    }
    text
}

fn format_scopes(scopes: Vec<&str>, scope_count: usize) -> String {
    match scopes.len() {
        0 => panic!("no scope allows it"),
        count if count == scope_count => "any scope".to_owned(),
        _ => scopes.join(" "),
    }
}

fn is_scope_refusal(client: &mut Client, method: &str, params: &Value) -> bool {
    match client.request(method, Some(params.clone())).outcome {
        Ok(_) => false,
        Err(error) => error["data"]["kind"] == "scope",
    }
}

fn expand_template(template: &str, owner: &mut Client) -> String {
    let mut uri = template.split_once("{?").map_or(template, |(path, _)| path).to_owned();
    if uri.starts_with("refrakt://") {
        uri = uri.replace("{type}", "work").replace("{id}", "WORK-001");
    }
    for (variable, value) in VARIABLE_VALUES {
        uri = uri.replace(variable, value);
    }
    if uri.contains("{accessTokenId}") {
        let tokens = json!({"name": "backend_access_token_list", "arguments": {}});
        let tokens = owner.request("tools/call", Some(tokens)).outcome.unwrap();
        let id = tokens["structuredContent"]["items"][0]["id"].as_str().unwrap();
        uri = uri.replace("{accessTokenId}", id);
    }
    if uri.starts_with("amem://") {
        // Creates the first node in the first session.
        uri = uri.replace("node/{id}", "node/0").replace("session/{id}", "session/1");
        // A search without words is invalid.
        uri = uri.replace("amem://search", "amem://search?q=mine");
    }
    if uri.starts_with("audit://") && uri.contains("{id}") {
        let events = owner.request("resources/read", Some(json!({"uri": "audit://events"}))).outcome.unwrap();
        let events: Value = serde_json::from_str(events["contents"][0]["text"].as_str().unwrap()).unwrap();
        uri = uri.replace("{id}", events["events"][0]["id"].as_str().unwrap());
    }
    if uri.starts_with("link://") {
        // With an address that the owner can read; the row shows the scope of that address.
        uri.push_str("?uri=bkend%3A%2F%2Forgs%2Forg_abc123");
    }
    assert!(!uri.contains('{'), "{template} has a variable that the fixture does not know");
    uri
}

fn string_list(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}
