//! Tenants are isolated even if their ids are equal.

use serde_json::Value;

use crate::instance::TestInstance;
use crate::transcripts;

const TENANTS: usize = 6;

#[test]
fn tenants_with_equal_ids_are_isolated() {
    for instance in TestInstance::on_each_backend() {
        let names: Vec<String> = (0..TENANTS).map(|number| format!("twin{number}")).collect();
        names.iter().for_each(|name| instance.add_tenant(name));
        let file = transcripts::folder().join("backend.jsonl");
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(|| instance.load(name, &file));
            }
        });
        // Each tenant has its own row: a change of one is invisible to the others.
        for (number, name) in names.iter().enumerate() {
            let update =
                format!(r#"{{"tableId":"tbl_users","recordId":"rec_abc123","data":{{"age":{number}}}}}"#);
            instance.run(&["call", "backend_data_update", &update, "--tenant", name]);
        }
        for (number, name) in names.iter().enumerate() {
            let get = r#"{"tableId":"tbl_users","recordId":"rec_abc123"}"#;
            let row: Value =
                serde_json::from_str(&instance.run(&["call", "backend_data_get", get, "--tenant", name]))
                    .unwrap();
            assert_eq!(row["age"], number, "{}", instance.backend);
        }
    }
}
