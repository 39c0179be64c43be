//! What one process writes, the next read of another process returns: a thousand rounds without a stale answer.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::client::Client;
use crate::helpers::call_tool;
use crate::instance::TestInstance;
use crate::matrix::Revision;
use crate::transcripts;

const ROUNDS: usize = 1_000;

/// Most tables at a time. Creating another deletes the oldest, which the other process must see as well.
const TABLES_MAX: usize = 12;

const TABLES_URI: &str = "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_dev001/tables";

#[test]
fn new_table_is_in_next_read_of_other_process() {
    let instances = TestInstance::on_each_backend();
    std::thread::scope(|scope| {
        for instance in &instances {
            scope.spawn(|| create_and_read(instance));
        }
    });
}

fn create_and_read(instance: &TestInstance) {
    instance.add_tenant("fresh");
    instance.load("fresh", &transcripts::folder().join("backend.jsonl"));
    // One process with durable and one with async audit.
    let open_client = |revision, audit| {
        Client::over_stdio(revision, instance.quad_command(&["stdio", "--tenant", "fresh", "--audit", audit]))
    };
    let mut processes =
        [open_client(Revision::MODERN, "durable"), open_client(Revision::LEGACY, "async").with_async_audit()];
    let mut tables: VecDeque<String> = VecDeque::new();
    for round in 0..ROUNDS {
        let [writer, reader] = &mut processes;
        let (writer, reader) = if round % 2 == 0 { (writer, reader) } else { (reader, writer) };
        let fields = json!([{"name": "title", "type": "string"}]);
        let arguments = json!({"environmentId": "env_dev001", "name": format!("t{round}"), "fields": fields});
        let created = call_tool(writer, "backend_table_create", arguments);
        tables.push_back(created["id"].as_str().unwrap().to_owned());
        assert_eq!(
            read_table_ids(reader),
            expected_table_ids(&tables),
            "{}: round {round}",
            instance.backend
        );
        if tables.len() > TABLES_MAX {
            let oldest = tables.pop_front().unwrap();
            call_tool(reader, "backend_table_delete", json!({"tableId": oldest}));
            assert_eq!(
                read_table_ids(writer),
                expected_table_ids(&tables),
                "{}: round {round}, deletion",
                instance.backend
            );
        }
    }
}

/// The ids of the tables, sorted.
fn read_table_ids(client: &mut Client) -> Vec<String> {
    let result = client.request("resources/read", Some(json!({"uri": TABLES_URI}))).outcome.unwrap();
    let text = result["contents"][0]["text"].as_str().unwrap();
    let tables: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut ids: Vec<String> = tables.iter().map(|table| table["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

fn expected_table_ids(tables: &VecDeque<String>) -> Vec<String> {
    let mut ids: Vec<String> = tables.iter().cloned().chain(["tbl_users".to_owned()]).collect();
    ids.sort();
    ids
}
