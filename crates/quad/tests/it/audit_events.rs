//! Every call leaves exactly one audit event, allowed or refused.

use serde_json::{Value, json};

use crate::client::Client;
use crate::instance::TestInstance;
use crate::matrix::Revision;
use crate::{audit_chain, transcripts};

#[test]
fn every_call_appends_exactly_one_event() {
    for instance in TestInstance::on_each_backend() {
        instance.add_tenant("shop");
        instance.load("shop", &transcripts::folder().join("backend.jsonl"));
        let server = instance.serve(&[]);
        for revision in [Revision::MODERN, Revision::LEGACY] {
            let token = instance.mint_token("shop", "teller", "organization:read project:read");
            let mut client = Client::over_http(revision, &server.authority, &server.path, Some(&token));
            let before = audit_chain::verify(&instance, "shop").len();
            let expected: Vec<(&str, &str)> = calls()
                .into_iter()
                .map(|(method, params, outcome)| {
                    client.request(method, Some(params));
                    (method, outcome)
                })
                .collect();
            let events = audit_chain::verify(&instance, "shop");
            let actual: Vec<(&str, &str)> = events[before..].iter().map(method_and_outcome).collect();
            assert_eq!(actual, expected, "{} {}", instance.backend, revision.0);
            // An event has the hash and version of the contents, never the contents.
            let read = &events[before];
            assert_eq!(read["inputs"]["uri"], "bkend://orgs");
            assert_eq!(read["outputs"]["content_hash"].as_str().map(str::len), Some(64));
            assert!(read["outputs"]["version"].is_i64());
            assert_eq!(read["actor"], "teller");
            assert!(!events.iter().any(|event| event.to_string().contains("My Organization")));
        }
    }
}

fn calls() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("resources/read", json!({"uri": "bkend://orgs"}), "ok"),
        ("resources/read", json!({"uri": "bkend://orgs"}), "ok"),
        ("resources/read", json!({"uri": "bkend://orgs/org_none"}), "refused"),
        ("resources/read", json!({"uri": "bkend://tables/tbl_users"}), "refused"),
        ("resources/read", json!({"uri": "nothing at all"}), "refused"),
        ("resources/list", json!({}), "ok"),
        ("resources/list", json!({"cursor": "garbage"}), "refused"),
        ("resources/templates/list", json!({}), "ok"),
        ("tools/list", json!({}), "ok"),
        ("prompts/list", json!({}), "ok"),
        ("tools/call", json!({"name": "backend_org_list", "arguments": {}}), "ok"),
        ("tools/call", json!({"name": "backend_org_get", "arguments": {"organizationId": 5}}), "refused"),
        ("tools/call", json!({"name": "backend_table_create", "arguments": {}}), "refused"),
        ("tools/call", json!({"name": "no_such_tool", "arguments": {}}), "refused"),
        ("tools/call", json!({"name": "resource_read", "arguments": {"uri": "bkend://orgs"}}), "ok"),
        ("tools/call", json!({"name": "resource_read", "arguments": {"uri": "bkend://nope"}}), "refused"),
        ("prompts/get", json!({"name": "no_such_prompt"}), "refused"),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "bkend://orgs/{orgId}/projects"},
                "argument": {"name": "orgId", "value": ""}}),
            "ok",
        ),
    ]
}

fn method_and_outcome(event: &Value) -> (&str, &str) {
    let method = event["inputs"]["method"].as_str().unwrap_or_else(|| panic!("no method: {event:#}"));
    (method, event["outcome"].as_str().unwrap())
}

#[test]
fn refused_subscription_is_audited() {
    for instance in TestInstance::on_each_backend() {
        instance.add_tenant("shop");
        let mut client =
            Client::over_stdio(Revision::LEGACY, instance.quad_command(&["stdio", "--tenant", "shop"]));
        let before = audit_chain::verify(&instance, "shop").len();
        client.request("resources/subscribe", Some(json!({"uri": "bkend://orgs/org_none"})));
        let events = audit_chain::verify(&instance, "shop");
        let actual: Vec<(&str, &str)> = events[before..].iter().map(method_and_outcome).collect();
        assert_eq!(actual, [("resources/subscribe", "refused")]);
        assert_eq!(events[before]["inputs"]["uri"], "bkend://orgs/org_none");
    }
}
