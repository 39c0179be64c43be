//! The audit trail from outside: exports that are checked where there is no data, receipts, proofs and archives.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::client::Client;
use crate::combination::Revision;
use crate::place::{Place, QUAD, Server};
use crate::trail;

/// `quad` somewhere else: no data folder, no database, no home, nothing but the files that are named.
fn elsewhere(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(QUAD).args(arguments).env_clear().current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn passes(folder: &Path, arguments: &[&str]) -> String {
    let output = elsewhere(folder, arguments);
    assert!(output.status.success(), "quad {}: {}", arguments.join(" "), said(&output));
    said(&output)
}

/// The envelope with which a check fails.
fn fails(folder: &Path, arguments: &[&str]) -> Value {
    let output = elsewhere(folder, &[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(5), "quad {}: {}", arguments.join(" "), said(&output));
    let envelope: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(envelope["error"]["code"], "AUDIT_BROKEN");
    envelope["error"].clone()
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn an_export_is_checked_where_there_is_no_data() {
    for place in Place::on_each_backend() {
        for _ in 0..12 {
            place.run(&["read", "bkend://orgs"]);
        }
        let away = tempfile::tempdir().unwrap();
        let export = path(away.path(), "export.jsonl");
        place.run(&["audit", "export", &export]);
        let events = trail::verify(&place, "local");
        let pins = path(place.folder(), "checkpoints.jsonl");
        let report = passes(away.path(), &["audit", "verify", &export, "--checkpoints", &pins]);
        assert!(
            report.contains("hold together") && report.contains("1 checkpoints from elsewhere agree"),
            "{report}"
        );
        let report = passes(away.path(), &["audit", "verify", &export]);
        assert!(report.contains("nothing from elsewhere vouches for the keys"), "{report}");
        place.run(&["audit", "verify"]);

        // One byte of one event.
        let text = std::fs::read_to_string(&export).unwrap();
        let id = events[4]["id"].as_str().unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let changed: Vec<String> = lines
            .iter()
            .map(|line| if line.contains(id) { line.replacen("read", "reed", 1) } else { (*line).to_owned() })
            .collect();
        let broken = path(away.path(), "broken.jsonl");
        std::fs::write(&broken, changed.concat()).unwrap();
        let error = fails(away.path(), &["audit", "verify", &broken]);
        assert_eq!((&error["sequence"], &error["event"]), (&Value::from(5), &Value::from(id)));

        // A line less, and a tail less.
        std::fs::write(&broken, [&lines[..6], &lines[7..]].concat().concat()).unwrap();
        assert_eq!(fails(away.path(), &["audit", "verify", &broken])["sequence"], 6);
        std::fs::write(&broken, lines[..9].concat()).unwrap();
        assert_eq!(fails(away.path(), &["audit", "verify", &broken])["sequence"], 9);
        // The export of yesterday lacks what the checkpoints of today cover.
        place.run(&["read", "bkend://orgs"]);
        let newer = path(away.path(), "newer.jsonl");
        place.run(&["audit", "export", &newer]);
        let error = fails(away.path(), &["audit", "verify", &export, "--checkpoints", &pins]);
        assert_eq!(error["sequence"], events.len() as u64 + 1);
        passes(away.path(), &["audit", "verify", &newer, "--checkpoints", &pins]);
        // Another server's checkpoints know none of these keys.
        let other = Place::on_sqlite();
        other.run(&["audit", "export", &path(away.path(), "other.jsonl")]);
        let pins = path(other.folder(), "checkpoints.jsonl");
        fails(away.path(), &["audit", "verify", &newer, "--checkpoints", &pins]);
    }
}

#[test]
fn a_receipt_is_held_against_the_event() {
    for place in Place::on_each_backend() {
        let away = tempfile::tempdir().unwrap();
        let receipt = path(away.path(), "receipt.json");
        let reply = place.run(&["read", "bkend://orgs", "--json"]);
        std::fs::write(&receipt, &reply).unwrap();
        let checked = place.run(&["audit", "check-receipt", &receipt]);
        assert!(
            checked.contains("recorded this read") && checked.contains("the contents are those"),
            "{checked}"
        );

        // Anywhere, against an export or a proof of that one event.
        let id = serde_json::from_str::<Value>(&reply).unwrap()["event"].as_str().unwrap().to_owned();
        let (export, proof) = (path(away.path(), "export.jsonl"), path(away.path(), "proof.json"));
        place.run(&["audit", "export", &export]);
        std::fs::write(&proof, place.run(&["audit", "prove", &id])).unwrap();
        let pins = path(place.folder(), "checkpoints.jsonl");
        passes(away.path(), &["audit", "verify", &proof, "--checkpoints", &pins]);
        for against in [&export, &proof] {
            let arguments =
                ["audit", "check-receipt", &receipt, "--against", against, "--checkpoints", &pins];
            passes(away.path(), &arguments);
        }
        // The address of the event gives the same document.
        let served = place.run(&["read", &format!("audit://events/{id}")]);
        std::fs::write(&proof, served).unwrap();
        passes(away.path(), &["audit", "verify", &proof]);

        for (old, new) in [("Demo", "Dome"), ("\"version\": ", "\"version\": 1"), (id.as_str(), "evt_other")]
        {
            assert!(reply.contains(old), "{old} is not in {reply}");
            std::fs::write(&receipt, reply.replace(old, new)).unwrap();
            fails(away.path(), &["audit", "check-receipt", &receipt, "--against", &export]);
        }
        let missing = place.quad(&["audit", "prove", "evt_01M7000000000000000000000X"]).output().unwrap();
        assert_eq!(missing.status.code(), Some(3), "{}", said(&missing));
    }
}

#[test]
fn an_answer_ahead_of_its_event_has_a_receipt_that_holds() {
    for place in Place::on_each_backend() {
        for (revision, over_http) in
            [Revision::MODERN, Revision::LEGACY].into_iter().flat_map(|era| [(era, false), (era, true)])
        {
            let away = tempfile::tempdir().unwrap();
            let receipt = path(away.path(), "receipt.json");
            place.run(&["read", "bkend://orgs"]);
            let before = trail::verify(&place, "local").len();
            let server = over_http.then(|| place.serve(&["--audit", "async", "--no-auth"]));
            let client = match &server {
                Some(server) => Client::over_http(revision, &server.authority, &server.path, None),
                None => Client::over_stdio(revision, place.quad(&["stdio", "--audit", "async"])),
            };
            let mut client = client.answered_ahead();
            let mut read = |uri: &str| {
                let reply = client.request("resources/read", Some(json!({"uri": uri})));
                let mut result = reply.outcome.unwrap();
                result["_meta"] = json!({"dev.quadrivium/receipt": reply.receipt});
                result
            };
            let kept = read("bkend://orgs");
            let told = &kept["_meta"]["dev.quadrivium/receipt"];
            let id = told["event"].as_str().unwrap().to_owned();
            assert_eq!(told.get("sequence"), None, "{told}");
            // Whoever looks at the trail here sees what was answered here.
            let events = read("audit://events");
            assert!(events["contents"][0]["text"].as_str().unwrap().contains(&id), "{id}: {events}");
            for _ in 0..300 {
                read("bkend://orgs");
            }
            drop(client);
            server.into_iter().for_each(Server::stop);
            let events = trail::verify(&place, "local");
            let reads = events[before..].iter().filter(|event| event["inputs"]["uri"] == "bkend://orgs");
            assert_eq!(reads.count(), 301, "all are written when the process ends");

            std::fs::write(&receipt, kept.to_string()).unwrap();
            let checked = place.run(&["audit", "check-receipt", &receipt]);
            assert!(checked.contains("recorded this read") && checked.contains(&id), "{checked}");
            let (export, proof) = (path(away.path(), "export.jsonl"), path(away.path(), "proof.json"));
            place.run(&["audit", "export", &export]);
            std::fs::write(&proof, place.run(&["audit", "prove", &id])).unwrap();
            for against in [&export, &proof] {
                passes(away.path(), &["audit", "check-receipt", &receipt, "--against", against]);
            }
            for (old, new) in [("Demo", "Dome"), (id.as_str(), "evt_01M7000000000000000000000X")] {
                std::fs::write(&receipt, kept.to_string().replace(old, new)).unwrap();
                let refused =
                    elsewhere(away.path(), &["audit", "check-receipt", &receipt, "--against", &export]);
                assert!(!refused.status.success(), "{old}: {}", said(&refused));
            }
        }
    }
}

#[test]
fn what_is_archived_stays_verifiable() {
    for place in Place::on_each_backend() {
        for _ in 0..5 {
            place.run(&["read", "bkend://orgs"]);
        }
        let away = tempfile::tempdir().unwrap();
        let (old, rest) = (path(away.path(), "old.jsonl"), path(away.path(), "rest.jsonl"));
        let nothing = place.run(&["audit", "archive", "--before", "2020-01-01", &old]);
        assert!(nothing.contains("Nothing is older"), "{nothing}");
        let before = trail::verify(&place, "local").len();
        place.run(&["audit", "archive", "--before", "2200-01-01", &old]);
        place.run(&["read", "bkend://orgs"]);
        place.run(&["audit", "export", &rest]);
        let pins = path(place.folder(), "checkpoints.jsonl");
        let report = passes(away.path(), &["audit", "verify", &rest, "--checkpoints", &pins]);
        assert!(report.contains(&format!("events {} to ", before + 1)), "{report}");
        let report = passes(away.path(), &["audit", "verify", &old, &rest, "--checkpoints", &pins]);
        assert!(report.contains("events 1 to "), "{report}");
        place.run(&["audit", "verify"]);
        let doctor = said(&place.quad(&["doctor"]).output().unwrap());
        assert!(doctor.contains("ok    audit chain"), "{doctor}");
        let archived = place.run(&["audit", "tail", "--action", "audit.archived", "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&archived).unwrap()["sequence"], before as u64 + 1);
    }
}

#[test]
fn the_tail_shows_who_did_what() {
    let place = Place::on_sqlite();
    place.run(&["read", "bkend://orgs"]);
    let refused = place.quad(&["read", "bkend://orgs/org_none"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let tail = place.run(&["audit", "tail", "-n", "2"]);
    let lines: Vec<&str> = tail.lines().collect();
    assert!(lines[0].contains("agent_local  ok  resources/read bkend://orgs"), "{tail}");
    assert!(lines[1].contains("agent_local  NOT_FOUND  resources/read bkend://orgs/org_none"), "{tail}");
    let none = place.run(&["audit", "tail", "--agent", "agent_local", "--until", "2020-01-01"]);
    assert_eq!(none, "");
    let one = place.run(&["audit", "tail", "--outcome", "refused", "--since", "1h"]);
    assert_eq!(one.lines().count(), 1);
    // A look at the trail from the command line is an operator's, and leaves no event.
    assert_eq!(place.run(&["audit", "tail", "-n", "2"]), tail);
    let templates = place.run(&["templates"]);
    for template in ["audit://events{?agent,uri,since,until,outcome,cursor}  ", "audit://events/{id}  "] {
        assert!(templates.contains(template), "{templates}");
    }
    assert!(place.run(&["audit", "--system", "verify"]).contains("hold together"));
}

#[test]
fn a_server_makes_checkpoints_by_itself() {
    for place in Place::on_each_backend() {
        let _server = place.serve(&[]);
        let file = place.folder().join("checkpoints.jsonl");
        // The first look comes at once; how long that takes is the machine's business.
        while !std::fs::read_to_string(&file).is_ok_and(|lines| lines.contains(&place.tenant_id("local"))) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        place.run(&["audit", "verify"]);
    }
}
