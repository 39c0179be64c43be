//! The script of the audit reference verifies exports as `quad audit verify` does.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::client::Client;
use crate::instance::TestInstance;
use crate::matrix::Revision;

/// Runs the script of the documentation with nothing but Python.
fn run_script(files: &[&Path]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schemes/verify_export.py");
    Command::new("python3").arg(script).args(files).env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap()
}

fn check_passes(files: &[&Path], expected: &str) {
    let output = run_script(files);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("ok: tnt_") && text.contains(expected), "{text}");
}

/// Checks that the script fails and names this line.
fn check_fails(files: &[&Path], line: usize) {
    let output = run_script(files);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with(&format!("line {line}: ")), "line {line}: {text}");
}

/// Writes events with every kind of character, and signs several checkpoints.
fn write_events(instance: &TestInstance) {
    for actor in ["agent_local", "quote\"d", "öλ😀", "back\\slash", "line\nbreak\u{1}\u{7f}\u{2028}"] {
        let uri = format!("bkend://orgs/{actor}");
        let mut client = Client::over_stdio(Revision::MODERN, instance.quad_command(&["stdio"]));
        client.request("resources/read", Some(json!({"uri": uri})));
        client.request("resources/read", Some(json!({"uri": "bkend://orgs"})));
        drop(client);
        // A proof needs a checkpoint.
        let newest = instance.run(&["audit", "tail", "-n", "1", "--json"]);
        let newest: serde_json::Value = serde_json::from_str(&newest).unwrap();
        instance.run(&["audit", "prove", newest["id"].as_str().unwrap()]);
    }
}

#[test]
fn script_of_the_reference_verifies_exports_and_archives() {
    for instance in TestInstance::on_each_backend() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let in_folder = |name: &str| file(name).to_str().unwrap().to_owned();
        write_events(&instance);
        instance.run(&["audit", "export", &in_folder("whole")]);
        let kept = instance.folder().join("checkpoints.jsonl");
        let last = last_sequence(&file("whole"));
        check_passes(&[&file("whole")], &format!("up to event {last},"));
        check_passes(&[&file("whole"), &kept], "keys compared");
        instance.run(&["audit", "archive", "--before", "2200-01-01", &in_folder("archive")]);
        write_events(&instance);
        instance.run(&["audit", "export", &in_folder("rest")]);
        check_passes(&[&file("archive")], &format!("up to event {last},"));
        let end = last_sequence(&file("rest"));
        assert!(end > last);
        check_passes(&[&file("rest"), &kept], &format!("up to event {end},"));
        // The older export does not contain what newer checkpoints cover.
        let output = run_script(&[&file("whole"), &kept]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("kept checkpoints cover more"));
    }
}

fn last_sequence(export: &Path) -> u64 {
    let text = std::fs::read_to_string(export).unwrap();
    let end: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    end["end"]["sequence"].as_u64().unwrap()
}

#[test]
fn script_of_the_reference_rejects_changed_exports() {
    let instance = TestInstance::on_sqlite();
    let folder = tempfile::tempdir().unwrap();
    let (export, broken) = (folder.path().join("export"), folder.path().join("broken"));
    write_events(&instance);
    instance.run(&["audit", "export", export.to_str().unwrap()]);
    let kept = instance.folder().join("checkpoints.jsonl");
    let text = std::fs::read_to_string(&export).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let replaced = |at: usize, with: &[&str]| {
        std::fs::write(&broken, [&lines[..at], with, &lines[at + 1..]].concat().concat()).unwrap();
    };
    let first_checkpoint = lines.iter().position(|line| line.starts_with("{\"checkpoint\"")).unwrap();
    let events: Vec<usize> = (1..lines.len()).filter(|at| lines[*at].starts_with("{\"sequence\"")).collect();
    // A changed event, with its old hash and with a new one that no longer fits the next line.
    let (at, event) = (events[1], lines[events[1]]);
    let changed = event.replacen("\"info\"", "\"none\"", 1);
    assert_ne!(changed, event);
    replaced(at, &[&changed]);
    check_fails(&[&broken], at + 1);
    let record = changed.split_once("\"record\":").unwrap().1.trim_end().strip_suffix('}').unwrap();
    let old_hash = &event.split_once("\"event_hash\":\"").unwrap().1[..64];
    let new_hash = quad_core::canonical::sha256_hex(record.as_bytes());
    replaced(at, &[&changed.replacen(old_hash, &new_hash, 1)]);
    check_fails(&[&broken], at + 2);
    // A missing event, a missing checkpoint, a repeated line, a space, a forged signature.
    replaced(events[2], &[]);
    check_fails(&[&broken], events[2] + 1);
    replaced(first_checkpoint, &[]);
    let second_checkpoint =
        lines.iter().skip(first_checkpoint + 1).position(|line| line.starts_with("{\"checkpoint\"")).unwrap();
    check_fails(&[&broken], first_checkpoint + 1 + second_checkpoint);
    replaced(first_checkpoint, &[lines[first_checkpoint], lines[first_checkpoint]]);
    check_fails(&[&broken], first_checkpoint + 2);
    replaced(first_checkpoint, &[&lines[first_checkpoint].replacen(':', ": ", 1)]);
    check_fails(&[&broken], first_checkpoint + 1);
    let last = lines.len() - 1;
    for (at, name) in [(first_checkpoint, "time"), (last, "time"), (last, "signature"), (last, "file_sha256")]
    {
        let (before, value) = lines[at].split_once(&format!("\"{name}\":\"")).unwrap();
        let other = if value.starts_with('1') { '3' } else { '1' };
        replaced(at, &[&format!("{before}\"{name}\":\"{other}{}", &value[1..])]);
        check_fails(&[&broken], at + 1);
    }
    // A file that is cut, and one with a line too many.
    std::fs::write(&broken, lines[..last].concat()).unwrap();
    check_fails(&[&broken], last);
    std::fs::write(&broken, text.clone() + lines[last]).unwrap();
    check_fails(&[&broken], last + 2);
    // Checkpoints of another server, and kept ones whose root was another.
    let other = TestInstance::on_sqlite();
    write_events(&other);
    let other_kept = other.folder().join("checkpoints.jsonl");
    check_fails(&[&export, &other_kept], first_checkpoint + 1);
    let forged = folder.path().join("kept");
    let kept_text = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&forged, kept_text.replacen("\"size\":", "\"size\":1", 1)).unwrap();
    check_fails(&[&export, &forged], 1);
}
