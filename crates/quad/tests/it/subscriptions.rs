//! A subscriber is notified of every change after its subscription is answered, whichever process made the change.

use serde_json::json;

use crate::client::Client;
use crate::helpers::call_tool;
use crate::instance::{Server, TestInstance};
use crate::matrix::{Revision, Transport};
use crate::transcripts;

const ROUNDS: usize = 40;

const TABLES: &str = "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_dev001/tables";

#[test]
fn no_notification_is_lost_between_processes() {
    let instances = TestInstance::on_each_backend();
    std::thread::scope(|scope| {
        for instance in &instances {
            let server = std::sync::Arc::new(instance.serve(&[]));
            for transport in [Transport::Stdio, Transport::Http] {
                for revision in [Revision::MODERN, Revision::LEGACY] {
                    let server = server.clone();
                    scope.spawn(move || run_rounds(instance, &server, transport, revision));
                }
            }
        }
    });
}

fn run_rounds(instance: &TestInstance, server: &Server, transport: Transport, revision: Revision) {
    let tenant = format!("watch-{transport}-{}", revision.0);
    instance.add_tenant(&tenant);
    instance.load(&tenant, &transcripts::folder().join("backend.jsonl"));
    let stdio = || Client::over_stdio(revision, instance.quad_command(&["stdio", "--tenant", &tenant]));
    let mut subscriber = match transport {
        Transport::Stdio => stdio(),
        Transport::Http => {
            let token = instance.mint_token(&tenant, "watcher", "*:*");
            Client::over_http(revision, &server.authority, &server.path, Some(&token))
        }
    };
    let mut other_client = stdio();
    let mut earlier_uris: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        // A new address each time, so that an earlier notification cannot be mistaken for this one.
        let fields = json!([{"name": "title", "type": "string"}]);
        let create = json!({"environmentId": "env_dev001", "name": format!("t{round}"), "fields": fields});
        let table = call_tool(&mut other_client, "backend_table_create", create);
        let table = table["id"].as_str().unwrap();
        let rows = format!("{TABLES}/{table}/rows");
        subscriber.subscribe(&rows).unwrap();
        let data = json!({"tableId": table, "data": {"title": "x"}});
        let writer = if round % 2 == 0 { &mut other_client } else { &mut subscriber };
        call_tool(writer, "backend_data_create", data);
        loop {
            let received = subscriber.next_notification();
            let notification = received
                .unwrap_or_else(|| panic!("{} {tenant}: round {round} was not heard of", instance.backend));
            assert_eq!(
                notification["method"], "notifications/resources/updated",
                "{tenant}: {notification:#}"
            );
            if notification["params"]["uri"] == rows.as_str() {
                break;
            }
            // A session may send a notification twice, but only for subscribed addresses.
            let was_subscribed = |uri: &String| notification["params"]["uri"] == uri.as_str();
            assert!(earlier_uris.iter().any(was_subscribed), "{tenant}: {notification:#}");
        }
        subscriber.unsubscribe(&rows).unwrap();
        earlier_uris.push(rows);
    }
}
