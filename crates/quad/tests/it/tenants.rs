//! Tenants are apart even where their ids are equal.

use serde_json::Value;

use crate::place::Place;
use crate::transcripts;

const TENANTS: usize = 6;

#[test]
fn tenants_may_load_the_same_ids_at_once() {
    for place in Place::on_each_backend() {
        let names: Vec<String> = (0..TENANTS).map(|number| format!("twin{number}")).collect();
        names.iter().for_each(|name| place.add_tenant(name));
        let file = transcripts::folder().join("backend.jsonl");
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(|| place.load(name, &file));
            }
        });
        // Each has a row of its own: what one changes, the others do not see.
        for (number, name) in names.iter().enumerate() {
            let update =
                format!(r#"{{"tableId":"tbl_users","recordId":"rec_abc123","data":{{"age":{number}}}}}"#);
            place.run(&["call", "backend_data_update", &update, "--tenant", name]);
        }
        for (number, name) in names.iter().enumerate() {
            let get = r#"{"tableId":"tbl_users","recordId":"rec_abc123"}"#;
            let row: Value =
                serde_json::from_str(&place.run(&["call", "backend_data_get", get, "--tenant", name]))
                    .unwrap();
            assert_eq!(row["age"], number, "{}", place.backend);
        }
    }
}
