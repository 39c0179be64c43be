//! `quad memory import|export` and `quad doctor --deep`, from outside.

use serde_json::{Value, json};

use crate::instance::TestInstance;

/// Runs a command that may fail: its exit code, standard output and standard error.
fn run_command(instance: &TestInstance, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = instance.quad_command(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn add_memory(instance: &TestInstance, content: &str, tenant: &str) {
    let arguments = json!({"event_type": "fact", "content": content}).to_string();
    instance.run(&["call", "memory_add", &arguments, "--tenant", tenant]);
}

fn read_stats(instance: &TestInstance, tenant: &str) -> Value {
    serde_json::from_str(&instance.run(&["read", "amem://graph/stats", "--tenant", tenant])).unwrap()
}

#[test]
fn memory_export_import_round_trips() {
    for instance in TestInstance::on_each_backend() {
        instance.add_tenant("other");
        for number in 0..12 {
            add_memory(&instance, &format!("memory number {number}"), "local");
        }
        instance.run(&[
            "call",
            "memory_correct",
            r#"{"old_node_id":3,"new_content":"number three, rather"}"#,
        ]);
        let before = read_stats(&instance, "local");
        for (format, name) in [("jsonl", "a.jsonl"), ("amem", "a.amem"), ("server-memory", "a.entities")] {
            let output = instance.run(&["memory", "export", name, "--format", format]);
            assert_eq!(output, format!("{name} holds 13 nodes and 12 edges\n"));
            let mode = std::os::unix::fs::PermissionsExt::mode(
                &std::fs::metadata(instance.folder().join(name)).unwrap().permissions(),
            );
            assert_eq!(mode & 0o777, 0o600);
        }
        let exported = instance.run(&["memory", "export", "-"]);
        assert_eq!(exported, std::fs::read_to_string(instance.folder().join("a.jsonl")).unwrap());
        // An existing file is not overwritten.
        let (code, _, stderr) = run_command(&instance, &["memory", "export", "a.jsonl"]);
        assert_eq!(code, Some(2));
        assert!(stderr.contains("a.jsonl cannot be created") && stderr.contains("hint: "), "{stderr}");

        let output = instance.run(&["memory", "import", "a.amem", "--tenant", "other"]);
        assert_eq!(output, "13 nodes, 12 edges and 1 sessions added; 0 nodes and edges already present\n");
        assert_eq!(read_stats(&instance, "other"), before);
        let second_import: Value = serde_json::from_str(
            &instance.run(&["memory", "import", "a.jsonl", "--tenant", "other", "--json"]),
        )
        .unwrap();
        assert_eq!(
            (&second_import["nodes"], &second_import["edges"], &second_import["known"]),
            (&json!(0), &json!(0), &json!(25))
        );
        assert_eq!(read_stats(&instance, "other"), before);
        instance.run(&["memory", "import", "a.entities", "--tenant", "other"]);
        assert_eq!(read_stats(&instance, "other")["node_count"], 26);
        let search_output =
            instance.run(&["call", "memory_search", r#"{"query":"rather"}"#, "--tenant", "other", "--json"]);
        let search_result: Value = serde_json::from_str(&search_output).unwrap();
        assert_eq!(search_result["nodes"].as_array().unwrap().len(), 2, "{search_result:#}");
        // The import is in the audit trail.
        let events =
            instance.run(&["audit", "tail", "--action", "memory_imported", "--json", "--tenant", "other"]);
        assert!(events.contains("server-memory"), "{events}");
        assert!(instance.run(&["audit", "tail", "--action", "memory_exported", "--json"]).contains("jsonl"));
        let report = instance.run(&["doctor", "--deep"]);
        assert!(report.contains("ok    memory of other: 26 nodes"), "{report}");
    }
}

#[test]
fn bad_lines_are_reported_and_others_imported() {
    let instance = TestInstance::on_sqlite();
    let write = |name: &str, text: &str| std::fs::write(instance.folder().join(name), text).unwrap();
    let entity = |name: &str| {
        json!({"type": "entity", "name": name, "entityType": "t", "observations": ["x"]}).to_string()
    };
    write("m.jsonl", &format!("{}\n{{\"type\":\n{}\n{{\"type\":\"wish\"}}\n", entity("Ada"), entity("Bob")));
    let (code, stdout, stderr) = run_command(&instance, &["memory", "import", "m.jsonl"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stdout.starts_with("2 nodes, 0 edges and 1 sessions added"), "{stdout}");
    assert!(stderr.contains("line 2: ") && stderr.contains("line 4: "), "{stderr}");
    assert!(stderr.contains("error: 2 lines could not be read") && stderr.contains("hint: "), "{stderr}");
    write("m.jsonl", &format!("{}\n{}\n{}\n", entity("Ada"), entity("Cleo"), entity("Bob")));
    assert!(instance.run(&["memory", "import", "m.jsonl"]).starts_with("1 nodes, 0 edges"));
    for (name, text) in
        [("empty", ""), ("text", "hello\n"), ("short.amem", "AMEM"), ("header.amem", "AMEM\u{1}\0\0\0")]
    {
        write(name, text);
        let (code, stdout, stderr) = run_command(&instance, &["memory", "import", name]);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{name}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains("hint: "), "{name}: {stderr}");
    }
    let (code, _, stderr) = run_command(&instance, &["memory", "import", "missing.amem"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("missing.amem cannot be read"), "{stderr}");
    assert_eq!(read_stats(&instance, "local")["node_count"], 3);
}

#[test]
fn deep_doctor_reports_broken_edges() {
    let instance = TestInstance::on_sqlite();
    for number in 0..4 {
        add_memory(&instance, &format!("memory number {number}"), "local");
    }
    let report = instance.run(&["doctor", "--deep"]);
    assert!(report.contains("ok    memory of local: 4 nodes and 3 edges"), "{report}");
    assert!(report.contains("ok    search index of local"), "{report}");
    let database = rusqlite::Connection::open(instance.database_file()).unwrap();
    database.execute("UPDATE amem_edge SET target_id = 77 WHERE source_id = 1", []).unwrap();
    drop(database);
    // Without --deep, doctor does not read the whole graph.
    instance.run(&["doctor"]);
    let (code, report, stderr) = run_command(&instance, &["doctor", "--deep"]);
    assert_eq!(code, Some(1), "{report}");
    assert!(
        report.contains("WRONG memory of local: edges to nodes that do not exist: 1 (1 → 77)"),
        "{report}"
    );
    assert!(report.contains("restore a backup, or run `quad memory export`"), "{report}");
    assert!(stderr.contains("checks failed"), "{stderr}");
    let (_, report_text, _) = run_command(&instance, &["doctor", "--deep", "--json"]);
    let report: Value = serde_json::from_str(&report_text).unwrap();
    assert_eq!(report["ok"], false);
    // The suggested repair works: the import names the broken edge and keeps the rest.
    instance.run(&["memory", "export", "all.jsonl"]);
    let repaired = TestInstance::on_sqlite();
    let file = instance.folder().join("all.jsonl");
    let (_, stdout, stderr) = run_command(&repaired, &["memory", "import", file.to_str().unwrap()]);
    assert!(stdout.starts_with("4 nodes, 2 edges"), "{stdout}");
    assert!(stderr.contains("node 77 is not in the lines before"), "{stderr}");
    repaired.run(&["doctor", "--deep"]);
}
