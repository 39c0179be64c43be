//! Whoever watches an address hears of every change, whichever process made it, from the moment the subscription is answered.

use serde_json::json;

use crate::client::Client;
use crate::combination::{Revision, Transport};
use crate::place::{Place, Server};
use crate::transcripts;

const ROUNDS: usize = 40;

const TABLES: &str = "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_dev001/tables";

#[test]
fn no_change_is_lost_between_processes() {
    let places = Place::on_each_backend();
    std::thread::scope(|scope| {
        for place in &places {
            let server = std::sync::Arc::new(place.serve(&[]));
            for transport in [Transport::Stdio, Transport::Http] {
                for revision in [Revision::MODERN, Revision::LEGACY] {
                    let server = server.clone();
                    scope.spawn(move || watch(place, &server, transport, revision));
                }
            }
        }
    });
}

fn watch(place: &Place, server: &Server, transport: Transport, revision: Revision) {
    let tenant = format!("watch-{transport}-{}", revision.0);
    place.add_tenant(&tenant);
    place.load(&tenant, &transcripts::folder().join("backend.jsonl"));
    let stdio = || Client::over_stdio(revision, place.quad(&["stdio", "--tenant", &tenant]));
    let mut watcher = match transport {
        Transport::Stdio => stdio(),
        Transport::Http => {
            let token = place.token(&tenant, "watcher", "*:*");
            Client::over_http(revision, &server.authority, &server.path, Some(&token))
        }
    };
    let mut other = stdio();
    let mut earlier: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        // A new address each time: nothing that was heard before can be mistaken for it.
        let fields = json!([{"name": "title", "type": "string"}]);
        let create = json!({"environmentId": "env_dev001", "name": format!("t{round}"), "fields": fields});
        let table = call(&mut other, "backend_table_create", create);
        let table = table["id"].as_str().unwrap();
        let rows = format!("{TABLES}/{table}/rows");
        watcher.watch(&rows).unwrap();
        let data = json!({"tableId": table, "data": {"title": "x"}});
        let writer = if round % 2 == 0 { &mut other } else { &mut watcher };
        call(writer, "backend_data_create", data);
        loop {
            let heard = watcher.notification();
            let heard =
                heard.unwrap_or_else(|| panic!("{} {tenant}: round {round} was not heard of", place.backend));
            assert_eq!(heard["method"], "notifications/resources/updated", "{tenant}: {heard:#}");
            if heard["params"]["uri"] == rows.as_str() {
                break;
            }
            // A session that looks for subscriptions of other nodes may announce one twice, but only what was watched.
            let known = |known: &String| heard["params"]["uri"] == known.as_str();
            assert!(earlier.iter().any(known), "{tenant}: {heard:#}");
        }
        watcher.unwatch(&rows).unwrap();
        earlier.push(rows);
    }
}

fn call(client: &mut Client, tool: &str, arguments: serde_json::Value) -> serde_json::Value {
    let result =
        client.request("tools/call", Some(json!({"name": tool, "arguments": arguments}))).outcome.unwrap();
    assert_eq!(result["isError"], false, "{result:#}");
    result["structuredContent"].clone()
}
