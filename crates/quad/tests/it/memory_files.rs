//! `quad memory import|export` and `quad doctor --deep`, from outside.

use serde_json::{Value, json};

use crate::place::Place;

/// Runs a command that may fail: its exit code, what it printed, and what it complained about.
fn attempt(place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = place.quad(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn add(place: &Place, content: &str, tenant: &str) {
    let arguments = json!({"event_type": "fact", "content": content}).to_string();
    place.run(&["call", "memory_add", &arguments, "--tenant", tenant]);
}

fn stats(place: &Place, tenant: &str) -> Value {
    serde_json::from_str(&place.run(&["read", "amem://graph/stats", "--tenant", tenant])).unwrap()
}

#[test]
fn memories_go_out_and_come_in() {
    for place in Place::on_each_backend() {
        place.add_tenant("other");
        for number in 0..12 {
            add(&place, &format!("memory number {number}"), "local");
        }
        place.run(&["call", "memory_correct", r#"{"old_node_id":3,"new_content":"number three, rather"}"#]);
        let before = stats(&place, "local");
        for (format, name) in [("jsonl", "a.jsonl"), ("amem", "a.amem"), ("server-memory", "a.entities")] {
            let said = place.run(&["memory", "export", name, "--format", format]);
            assert_eq!(said, format!("{name} holds 13 nodes and 12 edges\n"));
            let mode = std::os::unix::fs::PermissionsExt::mode(
                &std::fs::metadata(place.folder().join(name)).unwrap().permissions(),
            );
            assert_eq!(mode & 0o777, 0o600);
        }
        let out = place.run(&["memory", "export", "-"]);
        assert_eq!(out, std::fs::read_to_string(place.folder().join("a.jsonl")).unwrap());
        // Nothing is overwritten.
        let (code, _, said) = attempt(&place, &["memory", "export", "a.jsonl"]);
        assert_eq!(code, Some(2));
        assert!(said.contains("a.jsonl cannot be made") && said.contains("hint: "), "{said}");

        let said = place.run(&["memory", "import", "a.amem", "--tenant", "other"]);
        assert_eq!(said, "13 nodes, 12 edges and 1 sessions added; 0 nodes and edges were there already\n");
        assert_eq!(stats(&place, "other"), before);
        let again: Value =
            serde_json::from_str(&place.run(&["memory", "import", "a.jsonl", "--tenant", "other", "--json"]))
                .unwrap();
        assert_eq!((&again["nodes"], &again["edges"], &again["known"]), (&json!(0), &json!(0), &json!(25)));
        assert_eq!(stats(&place, "other"), before);
        place.run(&["memory", "import", "a.entities", "--tenant", "other"]);
        assert_eq!(stats(&place, "other")["node_count"], 26);
        let found =
            place.run(&["call", "memory_search", r#"{"query":"rather"}"#, "--tenant", "other", "--json"]);
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found["nodes"].as_array().unwrap().len(), 2, "{found:#}");
        // It is in the audit trail.
        let events =
            place.run(&["audit", "tail", "--action", "memory_imported", "--json", "--tenant", "other"]);
        assert!(events.contains("server-memory"), "{events}");
        assert!(place.run(&["audit", "tail", "--action", "memory_exported", "--json"]).contains("jsonl"));
        let said = place.run(&["doctor", "--deep"]);
        assert!(said.contains("ok    memory of other: 26 nodes"), "{said}");
    }
}

#[test]
fn bad_lines_are_named_and_nothing_else_is_lost() {
    let place = Place::on_sqlite();
    let write = |name: &str, text: &str| std::fs::write(place.folder().join(name), text).unwrap();
    let entity = |name: &str| {
        json!({"type": "entity", "name": name, "entityType": "t", "observations": ["x"]}).to_string()
    };
    write("m.jsonl", &format!("{}\n{{\"type\":\n{}\n{{\"type\":\"wish\"}}\n", entity("Ada"), entity("Bob")));
    let (code, printed, said) = attempt(&place, &["memory", "import", "m.jsonl"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(printed.starts_with("2 nodes, 0 edges and 1 sessions added"), "{printed}");
    assert!(said.contains("line 2: ") && said.contains("line 4: "), "{said}");
    assert!(said.contains("error: 2 lines could not be used") && said.contains("hint: "), "{said}");
    write("m.jsonl", &format!("{}\n{}\n{}\n", entity("Ada"), entity("Cleo"), entity("Bob")));
    assert!(place.run(&["memory", "import", "m.jsonl"]).starts_with("1 nodes, 0 edges"));
    for (name, text) in
        [("empty", ""), ("text", "hello\n"), ("short.amem", "AMEM"), ("header.amem", "AMEM\u{1}\0\0\0")]
    {
        write(name, text);
        let (code, printed, said) = attempt(&place, &["memory", "import", name]);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{name}: {said}");
        assert!(said.starts_with("error: ") && said.contains("hint: "), "{name}: {said}");
    }
    let (code, _, said) = attempt(&place, &["memory", "import", "missing.amem"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("missing.amem cannot be read"), "{said}");
    assert_eq!(stats(&place, "local")["node_count"], 3);
}

/// 39. What does not agree is named, with what to do; the exit code says so.
#[test]
fn a_deep_look_finds_what_is_wrong() {
    let place = Place::on_sqlite();
    for number in 0..4 {
        add(&place, &format!("memory number {number}"), "local");
    }
    let said = place.run(&["doctor", "--deep"]);
    assert!(said.contains("ok    memory of local: 4 nodes and 3 edges"), "{said}");
    assert!(said.contains("ok    search index of local"), "{said}");
    let database = rusqlite::Connection::open(place.database_file()).unwrap();
    database.execute("UPDATE amem_edge SET target_id = 77 WHERE source_id = 1", []).unwrap();
    drop(database);
    // A quick look does not read all of it.
    place.run(&["doctor"]);
    let (code, said, complaint) = attempt(&place, &["doctor", "--deep"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("WRONG memory of local: edges to nodes that do not exist: 1 (1 → 77)"), "{said}");
    assert!(said.contains("restore a backup, or `quad memory export`"), "{said}");
    assert!(complaint.contains("checks failed"), "{complaint}");
    let (_, said, _) = attempt(&place, &["doctor", "--deep", "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["ok"], false);
    // And doing what it says helps: the edge that leads nowhere is named, the rest is as it was.
    place.run(&["memory", "export", "all.jsonl"]);
    let mended = Place::on_sqlite();
    let file = place.folder().join("all.jsonl");
    let (_, printed, said) = attempt(&mended, &["memory", "import", file.to_str().unwrap()]);
    assert!(printed.starts_with("4 nodes, 2 edges"), "{printed}");
    assert!(said.contains("node 77 is not in the lines before"), "{said}");
    mended.run(&["doctor", "--deep"]);
}
