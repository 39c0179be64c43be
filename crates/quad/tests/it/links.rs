//! Tests links on the command line, at the endpoint of all schemes, and over plain HTTP.

use serde_json::{Value, json};

use crate::client::Client;
use crate::http::{HttpClient, Request};
use crate::instance::TestInstance;
use crate::matrix::Revision;
use crate::transcripts;

const CITING_NODE: &str = "link%3A%2F%2Fciting%3Furi%3Damem%3A%2F%2Fnode%2F0";

#[test]
fn links_are_readable_from_cli_mcp_and_http() {
    for instance in TestInstance::on_each_backend() {
        instance.load("local", &transcripts::folder().join("backend.jsonl"));
        instance.run(&["call", "memory_add", r#"{"event_type": "fact", "content": "zero"}"#]);
        let link = r#"{"from": "bkend://orgs/org_abc123", "to": "amem://node/0", "relation": "supports"}"#;
        let created = instance.run(&["call", "link", link]);
        assert!(created.contains("\"created\""), "{created}");
        let read = instance.run(&["read", "link://citing?uri=amem://node/0"]);
        let read: Value = serde_json::from_str(&read).unwrap();
        assert_eq!(read["links"][0]["from"], "bkend://orgs/org_abc123");
        let templates = instance.run(&["templates"]);
        for template in ["link://citing{?uri,cursor}  ", "link://from{?uri}  "] {
            assert!(templates.contains(template), "{templates}");
        }

        let server = instance.serve(&[]);
        let full_token = instance.mint_token("local", "sees_all", "memory:read organization:read");
        let memory_token = instance.mint_token("local", "sees_memory", "memory:read");
        let mut client =
            Client::over_http(Revision::MODERN, &server.authority, &server.path, Some(&full_token));
        let tools = client.request("tools/list", None).outcome.unwrap();
        let names: Vec<&str> =
            tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        // `unlink` is in the full list only.
        assert!(names.contains(&"link") && !names.contains(&"unlink"), "{names:?}");
        // Links are not in `resources/list`.
        let listed = client.request("resources/list", Some(json!({}))).outcome.unwrap();
        assert!(!listed.to_string().contains("link://"));

        let get = |uri: &str, token: &str| {
            let request = Request::new("GET", &format!("/v1/resources?uri={uri}"));
            let request = request.header("Authorization", &format!("Bearer {token}"));
            HttpClient::new(&server.authority).send(&request).unwrap()
        };
        for (token, count) in [(&full_token, 1), (&memory_token, 0)] {
            let response = get(CITING_NODE, token);
            assert_eq!(response.status, 200);
            assert_eq!(response.header("etag"), None, "whether something is left out does not show");
            assert_eq!(response.header("cache-control"), Some("no-store"));
            let document: Value = serde_json::from_slice(&response.body).unwrap();
            assert_eq!(document["links"].as_array().unwrap().len(), count);
            let neighborhood = get("amem%3A%2F%2Fnode%2F0%2Fneighborhood", token);
            assert_eq!((neighborhood.status, neighborhood.header("etag")), (200, None));
            let neighborhood_json: Value = serde_json::from_slice(&neighborhood.body).unwrap();
            assert_eq!(
                neighborhood_json.get("links").map_or(0, |links| links.as_array().unwrap().len()),
                count
            );
        }
        let refused = get("link%3A%2F%2Fciting%3Furi%3Dbkend%3A%2F%2Forgs%2Forg_abc123", &memory_token);
        assert_eq!(refused.status, 403);
        assert!(refused.header("www-authenticate").unwrap().contains("organization:read"));
        let missing = get("link%3A%2F%2Fciting%3Furi%3Damem%3A%2F%2Fnode%2F9", &full_token);
        assert_eq!(missing.status, 404);
    }
}
