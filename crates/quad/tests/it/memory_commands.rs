//! `quad memory add`, `search`, `show`, `recent`, `sessions`, `correct` and `forget`, from outside.

use serde_json::{Value, json};

use crate::instance::TestInstance;

/// The output of a command in JSON.
fn json_of(instance: &TestInstance, arguments: &[&str]) -> Value {
    serde_json::from_str(&instance.run(&[arguments, &["--json"]].concat())).unwrap()
}

/// The exit code and the error of a command that fails.
fn error_of(instance: &TestInstance, arguments: &[&str]) -> (Option<i32>, String) {
    let output = instance.quad_command(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn memories_are_added_found_corrected_and_forgotten() {
    for instance in TestInstance::on_each_backend() {
        assert!(instance.run(&["memory", "recent"]).starts_with("Nothing is remembered yet."));
        let added = instance.run(&["memory", "add", "The boiler in the cellar is from 2009"]);
        assert_eq!(added, "Remembered as memory 0.\n");
        instance.run(&[
            "memory",
            "add",
            "--type",
            "decision",
            "--because",
            "0",
            "Replace the boiler in 2027",
        ]);
        let added = instance.run(&["memory", "add", "The boiler in our cellar is from the year 2009"]);
        assert!(added.contains("  0  fact  The boiler in the cellar is from 2009\n"), "{added}");
        assert!(added.contains("quad memory correct"), "{added}");
        let forgotten = instance.run(&["memory", "forget", "2"]);
        assert!(
            forgotten.starts_with("Forgot memory 2:\n") && forgotten.contains("the year 2009"),
            "{forgotten}"
        );

        let found = instance.run(&["memory", "search", "boiler", "2027", "--type", "decision"]);
        assert_eq!(found, "  1  decision  just now  Replace the boiler in 2027\n");
        assert_eq!(instance.run(&["memory", "search", "elephant"]), "No memory matches elephant.\n");
        let corrected =
            instance.run(&["memory", "correct", "0", "The boiler is from 2010", "--reason", "the plate"]);
        assert_eq!(corrected, "Memory 3 now corrects memory 0.\n");
        let recent = instance.run(&["memory", "recent", "-n", "2"]);
        assert_eq!(recent.lines().count(), 2);
        assert!(recent.starts_with("  3  correction  just now  The boiler is from 2010\n"), "{recent}");
        let all = instance.run(&["memory", "search", "cellar", "--all"]);
        assert!(all.contains("(corrected by 3) The boiler in the cellar"), "{all}");
        assert!(!instance.run(&["memory", "search", "cellar"]).contains("in the cellar"));

        let shown = instance.run(&["memory", "show", "1"]);
        assert!(shown.starts_with("Memory 1, a decision\n\n  Replace the boiler in 2027\n\n"), "{shown}");
        assert!(shown.contains("because of  0  The boiler in the cellar is from 2009"), "{shown}");
        assert_eq!(json_of(&instance, &["memory", "show", "amem://node/1"])["access_count"], 2);
        assert_eq!(json_of(&instance, &["memory", "recent", "--type", "fact"])["count"], 1);
        assert_eq!(json_of(&instance, &["memory", "add", "Next", "--confidence", "0.5"])["node_id"], 4);

        instance.run(&["call", "session_end", r#"{"summary":"About the heating"}"#]);
        let sessions = instance.run(&["memory", "sessions"]);
        assert_eq!(sessions, "  1  just now  ended  5 memories  About the heating\n");
        assert_eq!(json_of(&instance, &["memory", "sessions"])["sessions"][0]["node_count"], json!(5));
        // Each of them is in the audit trail, like a call of an agent.
        let events = instance.run(&["audit", "tail", "--json", "-n", "100"]);
        for action in ["memory_add", "memory_correct", "memory_forget", "memory_search", "amem://node/1"] {
            assert!(events.contains(action), "{action}");
        }
    }
}

#[test]
fn memory_is_read_from_standard_input_and_control_characters_are_not_printed() {
    let instance = TestInstance::on_sqlite();
    let mut command = instance.quad_command(&["memory", "add", "-"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        "first line\n\u{1b}]0;title\u{7} second\n".as_bytes(),
    )
    .unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let listed = instance.run(&["memory", "recent"]);
    assert_eq!(listed, "  0  fact  just now  first line \u{fffd}]0;title\u{fffd} second\n");
    assert!(!instance.run(&["memory", "show", "0"]).contains('\u{1b}'));
}

#[test]
fn errors_of_memory_commands_name_commands() {
    let instance = TestInstance::on_sqlite();
    for (arguments, exit_code, message) in [
        (vec!["memory", "show", "7"], 3, "quad memory search"),
        (vec!["memory", "show", "seven"], 2, "seven is not the id of a memory"),
        (vec!["memory", "correct", "7", "x"], 3, "quad memory recent"),
        (vec!["memory", "forget", "7"], 3, "quad memory recent"),
        (vec!["memory", "add", " "], 2, "content is empty"),
        (vec!["memory", "add", "x", "--because", "9"], 3, "quad memory recent"),
        (vec!["memory", "add", "x", "--type", "note"], 2, "fact"),
        (vec!["memory", "recent", "-n", "0"], 2, "1..=1000"),
    ] {
        let (code, error) = error_of(&instance, &arguments);
        assert_eq!(code, Some(exit_code), "{arguments:?}: {error}");
        assert!(error.contains(message) && error.contains("hint: "), "{arguments:?}: {error}");
    }
}
