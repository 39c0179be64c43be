//! Tests `quad audit` as a program: exports verified without the data, receipts, proofs and archives.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::audit_chain;
use crate::client::Client;
use crate::instance::{QUAD, Server, TestInstance};
use crate::matrix::Revision;

/// `quad` without data folder, database or home; only the named files.
fn run_without_data(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(QUAD).args(arguments).env_clear().current_dir(folder).output().unwrap()
}

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn check_passes(folder: &Path, arguments: &[&str]) -> String {
    let output = run_without_data(folder, arguments);
    assert!(output.status.success(), "quad {}: {}", arguments.join(" "), output_text(&output));
    output_text(&output)
}

/// The error envelope of a failing check.
fn check_fails(folder: &Path, arguments: &[&str]) -> Value {
    let output = run_without_data(folder, &[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(5), "quad {}: {}", arguments.join(" "), output_text(&output));
    let envelope: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(envelope["error"]["code"], "AUDIT_BROKEN");
    envelope["error"].clone()
}

fn path_in(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn export_verifies_without_database() {
    for instance in TestInstance::on_each_backend() {
        for _ in 0..12 {
            instance.run(&["read", "bkend://orgs"]);
        }
        let empty_folder = tempfile::tempdir().unwrap();
        let export = path_in(empty_folder.path(), "export.jsonl");
        instance.run(&["audit", "export", &export]);
        let events = audit_chain::verify(&instance, "local");
        let checkpoints = path_in(instance.folder(), "checkpoints.jsonl");
        let report =
            check_passes(empty_folder.path(), &["audit", "verify", &export, "--checkpoints", &checkpoints]);
        assert!(
            report.contains("is valid from event") && report.contains("trusted checkpoints match"),
            "{report}"
        );
        let report = check_passes(empty_folder.path(), &["audit", "verify", &export]);
        assert!(report.contains("the keys were not checked"), "{report}");
        instance.run(&["audit", "verify"]);

        // Changes one byte of one event.
        let text = std::fs::read_to_string(&export).unwrap();
        let id = events[4]["id"].as_str().unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let changed: Vec<String> = lines
            .iter()
            .map(|line| if line.contains(id) { line.replacen("read", "reed", 1) } else { (*line).to_owned() })
            .collect();
        let broken = path_in(empty_folder.path(), "broken.jsonl");
        std::fs::write(&broken, changed.concat()).unwrap();
        let error = check_fails(empty_folder.path(), &["audit", "verify", &broken]);
        assert_eq!((&error["sequence"], &error["event"]), (&Value::from(5), &Value::from(id)));

        // Removes one line, and removes the last lines.
        let line_of = |sequence: usize| {
            let start = format!("{{\"sequence\":{sequence},");
            lines.iter().position(|line| line.starts_with(&start)).unwrap()
        };
        std::fs::write(&broken, [&lines[..line_of(6)], &lines[line_of(6) + 1..]].concat().concat()).unwrap();
        assert_eq!(check_fails(empty_folder.path(), &["audit", "verify", &broken])["sequence"], 6);
        std::fs::write(&broken, lines[..line_of(9)].concat()).unwrap();
        assert_eq!(check_fails(empty_folder.path(), &["audit", "verify", &broken])["sequence"], 9);
        // An old export lacks events that newer checkpoints cover.
        instance.run(&["read", "bkend://orgs"]);
        let newer = path_in(empty_folder.path(), "newer.jsonl");
        instance.run(&["audit", "export", &newer]);
        let error =
            check_fails(empty_folder.path(), &["audit", "verify", &export, "--checkpoints", &checkpoints]);
        assert_eq!(error["sequence"], events.len() as u64 + 1);
        check_passes(empty_folder.path(), &["audit", "verify", &newer, "--checkpoints", &checkpoints]);
        // Another server's checkpoints have other keys.
        let other_instance = TestInstance::on_sqlite();
        other_instance.run(&["audit", "export", &path_in(empty_folder.path(), "other.jsonl")]);
        let other_checkpoints = path_in(other_instance.folder(), "checkpoints.jsonl");
        check_fails(empty_folder.path(), &["audit", "verify", &newer, "--checkpoints", &other_checkpoints]);
    }
}

#[test]
fn receipt_is_checked_against_event() {
    for instance in TestInstance::on_each_backend() {
        let empty_folder = tempfile::tempdir().unwrap();
        let receipt = path_in(empty_folder.path(), "receipt.json");
        let reply = instance.run(&["read", "bkend://orgs", "--json"]);
        std::fs::write(&receipt, &reply).unwrap();
        let report = instance.run(&["audit", "check-receipt", &receipt]);
        assert!(report.contains("recorded this read") && report.contains("the contents match"), "{report}");

        // Without the data: against an export, or a proof of the event.
        let id = serde_json::from_str::<Value>(&reply).unwrap()["event"].as_str().unwrap().to_owned();
        let (export, proof) =
            (path_in(empty_folder.path(), "export.jsonl"), path_in(empty_folder.path(), "proof.json"));
        instance.run(&["audit", "export", &export]);
        std::fs::write(&proof, instance.run(&["audit", "prove", &id])).unwrap();
        let checkpoints = path_in(instance.folder(), "checkpoints.jsonl");
        check_passes(empty_folder.path(), &["audit", "verify", &proof, "--checkpoints", &checkpoints]);
        for source in [&export, &proof] {
            let arguments =
                ["audit", "check-receipt", &receipt, "--against", source, "--checkpoints", &checkpoints];
            check_passes(empty_folder.path(), &arguments);
        }
        // The resource of the event is the same document.
        let served = instance.run(&["read", &format!("audit://events/{id}")]);
        std::fs::write(&proof, served).unwrap();
        check_passes(empty_folder.path(), &["audit", "verify", &proof]);

        for (old, new) in [("Demo", "Dome"), ("\"version\": ", "\"version\": 1"), (id.as_str(), "evt_other")]
        {
            assert!(reply.contains(old), "{old} is not in {reply}");
            std::fs::write(&receipt, reply.replace(old, new)).unwrap();
            check_fails(empty_folder.path(), &["audit", "check-receipt", &receipt, "--against", &export]);
        }
        let missing =
            instance.quad_command(&["audit", "prove", "evt_01M7000000000000000000000X"]).output().unwrap();
        assert_eq!(missing.status.code(), Some(3), "{}", output_text(&missing));
    }
}

#[test]
fn async_audit_receipt_verifies_after_shutdown() {
    for instance in TestInstance::on_each_backend() {
        for (revision, over_http) in
            [Revision::MODERN, Revision::LEGACY].into_iter().flat_map(|era| [(era, false), (era, true)])
        {
            let empty_folder = tempfile::tempdir().unwrap();
            let receipt = path_in(empty_folder.path(), "receipt.json");
            instance.run(&["read", "bkend://orgs"]);
            let before = audit_chain::verify(&instance, "local").len();
            let server = over_http.then(|| instance.serve(&["--audit", "async", "--no-auth"]));
            let client = match &server {
                Some(server) => Client::over_http(revision, &server.authority, &server.path, None),
                None => Client::over_stdio(revision, instance.quad_command(&["stdio", "--audit", "async"])),
            };
            let mut client = client.with_async_audit();
            let mut read = |uri: &str| {
                let reply = client.request("resources/read", Some(json!({"uri": uri})));
                let mut result = reply.outcome.unwrap();
                result["_meta"] = json!({"dev.quadrivium/receipt": reply.receipt});
                result
            };
            let first_read = read("bkend://orgs");
            let receipt_meta = &first_read["_meta"]["dev.quadrivium/receipt"];
            let id = receipt_meta["event"].as_str().unwrap().to_owned();
            assert_eq!(receipt_meta.get("sequence"), None, "{receipt_meta}");
            // A reader of the audit trail in the same process sees its answered reads.
            let events = read("audit://events");
            assert!(events["contents"][0]["text"].as_str().unwrap().contains(&id), "{id}: {events}");
            for _ in 0..300 {
                read("bkend://orgs");
            }
            drop(client);
            server.into_iter().for_each(Server::stop);
            let events = audit_chain::verify(&instance, "local");
            let reads = events[before..].iter().filter(|event| event["inputs"]["uri"] == "bkend://orgs");
            assert_eq!(reads.count(), 301, "all are written when the process ends");

            std::fs::write(&receipt, first_read.to_string()).unwrap();
            let report = instance.run(&["audit", "check-receipt", &receipt]);
            assert!(report.contains("recorded this read") && report.contains(&id), "{report}");
            let (export, proof) =
                (path_in(empty_folder.path(), "export.jsonl"), path_in(empty_folder.path(), "proof.json"));
            instance.run(&["audit", "export", &export]);
            std::fs::write(&proof, instance.run(&["audit", "prove", &id])).unwrap();
            for source in [&export, &proof] {
                check_passes(empty_folder.path(), &["audit", "check-receipt", &receipt, "--against", source]);
            }
            for (old, new) in [("Demo", "Dome"), (id.as_str(), "evt_01M7000000000000000000000X")] {
                std::fs::write(&receipt, first_read.to_string().replace(old, new)).unwrap();
                let output = run_without_data(
                    empty_folder.path(),
                    &["audit", "check-receipt", &receipt, "--against", &export],
                );
                assert!(!output.status.success(), "{old}: {}", output_text(&output));
            }
        }
    }
}

#[test]
fn archived_events_stay_verifiable() {
    for instance in TestInstance::on_each_backend() {
        for _ in 0..5 {
            instance.run(&["read", "bkend://orgs"]);
        }
        let empty_folder = tempfile::tempdir().unwrap();
        let (old, rest) =
            (path_in(empty_folder.path(), "old.jsonl"), path_in(empty_folder.path(), "rest.jsonl"));
        let empty_archive = instance.run(&["audit", "archive", "--before", "2020-01-01", &old]);
        assert!(empty_archive.contains("No events before"), "{empty_archive}");
        let before = audit_chain::verify(&instance, "local").len();
        instance.run(&["audit", "archive", "--before", "2200-01-01", &old]);
        instance.run(&["read", "bkend://orgs"]);
        instance.run(&["audit", "export", &rest]);
        let checkpoints = path_in(instance.folder(), "checkpoints.jsonl");
        let report =
            check_passes(empty_folder.path(), &["audit", "verify", &rest, "--checkpoints", &checkpoints]);
        assert!(report.contains(&format!("event {} to ", before + 1)), "{report}");
        let report = check_passes(
            empty_folder.path(),
            &["audit", "verify", &old, &rest, "--checkpoints", &checkpoints],
        );
        assert!(report.contains("event 1 to "), "{report}");
        instance.run(&["audit", "verify"]);
        let doctor = output_text(&instance.quad_command(&["doctor"]).output().unwrap());
        assert!(doctor.contains("ok    audit chain"), "{doctor}");
        let archived = instance.run(&["audit", "tail", "--action", "audit.archived", "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&archived).unwrap()["sequence"], before as u64 + 1);
    }
}

#[test]
fn tail_lists_actor_outcome_and_method() {
    let instance = TestInstance::on_sqlite();
    instance.run(&["read", "bkend://orgs"]);
    let refused = instance.quad_command(&["read", "bkend://orgs/org_none"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let tail = instance.run(&["audit", "tail", "-n", "2"]);
    let lines: Vec<&str> = tail.lines().collect();
    assert!(lines[0].contains("agent_local  ok  resources/read bkend://orgs"), "{tail}");
    assert!(lines[1].contains("agent_local  NOT_FOUND  resources/read bkend://orgs/org_none"), "{tail}");
    let none = instance.run(&["audit", "tail", "--agent", "agent_local", "--until", "2020-01-01"]);
    assert_eq!(none, "");
    let refused_tail = instance.run(&["audit", "tail", "--outcome", "refused", "--since", "1h"]);
    assert_eq!(refused_tail.lines().count(), 1);
    // The command line reads the chain directly, which writes no event.
    assert_eq!(instance.run(&["audit", "tail", "-n", "2"]), tail);
    let templates = instance.run(&["templates"]);
    for template in ["audit://events{?agent,uri,since,until,outcome,cursor}  ", "audit://events/{id}  "] {
        assert!(templates.contains(template), "{templates}");
    }
    assert!(instance.run(&["audit", "--system", "verify"]).contains("is valid from event"));
}

#[test]
fn server_writes_checkpoint_after_start() {
    for instance in TestInstance::on_each_backend() {
        let _server = instance.serve(&[]);
        let file = instance.folder().join("checkpoints.jsonl");
        // The first poll is immediate; its duration depends on the machine.
        while !std::fs::read_to_string(&file).is_ok_and(|lines| lines.contains(&instance.tenant_id("local")))
        {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        instance.run(&["audit", "verify"]);
    }
}
