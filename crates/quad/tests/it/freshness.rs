//! 19. What one process wrote, another one reads: a thousand times, without one miss.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::client::Client;
use crate::combination::Revision;
use crate::place::Place;
use crate::transcripts;

const ROUNDS: usize = 1_000;

/// Tables that stay at a time; the oldest goes when another comes, which must be seen as well.
const TABLES: usize = 12;

const TABLES_URI: &str = "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_dev001/tables";

#[test]
fn a_new_table_is_in_the_next_read_of_another_process() {
    let places = Place::on_each_backend();
    std::thread::scope(|scope| {
        for place in &places {
            scope.spawn(|| create_and_read(place));
        }
    });
}

fn create_and_read(place: &Place) {
    place.add_tenant("fresh");
    place.load("fresh", &transcripts::folder().join("backend.jsonl"));
    // One that waits for its audit events and one that answers ahead of them.
    let open = |revision, audit| {
        Client::over_stdio(revision, place.quad(&["stdio", "--tenant", "fresh", "--audit", audit]))
    };
    let mut processes = [open(Revision::MODERN, "durable"), open(Revision::LEGACY, "async").answered_ahead()];
    let mut tables: VecDeque<String> = VecDeque::new();
    for round in 0..ROUNDS {
        let [writer, reader] = &mut processes;
        let (writer, reader) = if round % 2 == 0 { (writer, reader) } else { (reader, writer) };
        let fields = json!([{"name": "title", "type": "string"}]);
        let arguments = json!({"environmentId": "env_dev001", "name": format!("t{round}"), "fields": fields});
        let created = call(writer, "backend_table_create", arguments);
        tables.push_back(created["id"].as_str().unwrap().to_owned());
        assert_eq!(read(reader), expected(&tables), "{}: round {round}", place.backend);
        if tables.len() > TABLES {
            let oldest = tables.pop_front().unwrap();
            call(reader, "backend_table_delete", json!({"tableId": oldest}));
            assert_eq!(read(writer), expected(&tables), "{}: round {round}, deletion", place.backend);
        }
    }
}

fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let result =
        client.request("tools/call", Some(json!({"name": tool, "arguments": arguments}))).outcome.unwrap();
    assert_eq!(result["isError"], false, "{result:#}");
    result["structuredContent"].clone()
}

/// The ids of the tables, sorted.
fn read(client: &mut Client) -> Vec<String> {
    let result = client.request("resources/read", Some(json!({"uri": TABLES_URI}))).outcome.unwrap();
    let text = result["contents"][0]["text"].as_str().unwrap();
    let tables: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut ids: Vec<String> = tables.iter().map(|table| table["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

fn expected(tables: &VecDeque<String>) -> Vec<String> {
    let mut ids: Vec<String> = tables.iter().cloned().chain(["tbl_users".to_owned()]).collect();
    ids.sort();
    ids
}
