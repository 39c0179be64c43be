//! A database that is older than the checkpoints beside it, or without its key, is not served until a person says so.

use std::process::Output;

use serde_json::Value;

use crate::audit_chain;
use crate::database::copy_database;
use crate::instance::TestInstance;
use crate::matrix::Backend;

fn error_of(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no error: {text}"));
    serde_json::from_str::<Value>(line).unwrap()["error"].clone()
}

/// Runs a command, which must fail with this code, and returns its error.
fn check_fails(instance: &TestInstance, arguments: &[&str], code: &str) -> Value {
    let output = instance.quad_command(&[arguments, &["--json"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}: {output:?}", arguments.join(" "));
    let error = error_of(&output);
    assert_eq!(error["code"], code, "{error}");
    error
}

#[test]
fn database_older_than_its_checkpoints_is_refused_until_accepted() {
    for mut instance in TestInstance::on_each_backend() {
        instance.run(&["read", "bkend://orgs"]);
        let older = copy_database(&instance, "older");
        let events_before: u64 = instance.query_one("SELECT MAX(sequence) FROM head").parse().unwrap();
        for _ in 0..3 {
            instance.run(&["read", "bkend://orgs"]);
        }
        instance.run(&["audit", "verify"]);
        older.put_in_place_of(&mut instance);

        let error = check_fails(&instance, &["read", "bkend://orgs"], "DATABASE_OLDER");
        assert_eq!(error["checkpoint"], events_before + 3, "{error}");
        let expected = format!("it has {events_before} events of tenant {}", instance.tenant_id("local"));
        assert!(error["message"].as_str().unwrap().contains(&expected), "{error}");
        check_fails(&instance, &["serve", "--listen", "127.0.0.1:0"], "DATABASE_OLDER");
        check_fails(&instance, &["stdio"], "DATABASE_OLDER");
        let doctor = instance.quad_command(&["doctor"]).output().unwrap();
        let report = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(report.contains("WRONG database: The database is older than checkpoints.jsonl"), "{report}");
        // What is wrong can still be looked at, and nothing is added to the evidence.
        let checkpoints = instance.folder().join("checkpoints.jsonl");
        let evidence = std::fs::read(&checkpoints).unwrap();
        let error = check_fails(&instance, &["audit", "verify"], "AUDIT_BROKEN");
        assert_eq!(error["sequence"], events_before + 1);
        assert!(
            error["message"].as_str().unwrap().contains("a checkpoint in checkpoints.jsonl covers"),
            "{error}"
        );
        instance.run(&["audit", "tail"]);
        assert_eq!(std::fs::read(&checkpoints).unwrap(), evidence);

        let report: Value =
            serde_json::from_str(&instance.run(&["audit", "accept-restore", "--json"])).unwrap();
        assert_eq!(report["accepted"][0]["events"], events_before, "{report}");
        let former_file = report["formerFile"].as_str().unwrap();
        assert_eq!(std::fs::read(former_file).unwrap(), evidence);
        instance.run(&["read", "bkend://orgs"]);
        let verified = instance.run(&["audit", "verify"]);
        assert!(verified.contains("checkpoints of checkpoints.jsonl match"), "{verified}");
        let tail = instance.run(&["audit", "tail", "--action", "audit.restore_accepted"]);
        assert!(tail.contains("quad audit"), "{tail}");
        // The former file still proves the loss.
        check_fails(&instance, &["audit", "verify", "--checkpoints", former_file], "AUDIT_BROKEN");
        let again = instance.run(&["audit", "accept-restore"]);
        assert!(again.contains("has every checkpoint"), "{again}");
    }
}

#[test]
fn missing_database_is_not_created_beside_its_checkpoints() {
    let instance = TestInstance::on_sqlite();
    instance.run(&["read", "bkend://orgs"]);
    std::fs::remove_file(instance.database_file()).unwrap();
    for arguments in [&["read", "bkend://orgs"][..], &["audit", "verify"], &["stdio"]] {
        check_fails(&instance, arguments, "DATABASE_MISSING");
        assert!(!instance.database_file().exists());
    }
    let checkpoints = instance.folder().join("checkpoints.jsonl");
    std::fs::rename(&checkpoints, instance.folder().join("kept.jsonl")).unwrap();
    instance.run(&["read", "bkend://orgs"]);
}

#[test]
fn missing_key_beside_tokens_is_an_error() {
    for instance in TestInstance::on_each_backend() {
        let token = instance.mint_token("local", "reader", "organization:read");
        match instance.backend {
            Backend::Sqlite => std::fs::remove_file(instance.folder().join("signing.key")).unwrap(),
            Backend::Postgres => instance.execute("DELETE FROM gate_key"),
        }
        let error = check_fails(&instance, &["read", "bkend://orgs"], "KEY_MISSING");
        assert!(error["hint"].as_str().unwrap().contains("`quad key create`"), "{error}");
        check_fails(&instance, &["serve", "--listen", "127.0.0.1:0"], "KEY_MISSING");
        assert!(!instance.folder().join("signing.key").exists());
        let created = instance.run(&["key", "create"]);
        assert!(created.contains("is the signing key from now on"), "{created}");
        check_fails(&instance, &["key", "create"], "KEY_EXISTS");
        let new_token = instance.mint_token("local", "reader", "organization:read");
        assert_ne!(crate::authentication::kid_of(&new_token), crate::authentication::kid_of(&token));
        instance.run(&["audit", "verify"]);
        instance.run(&["audit", "--system", "verify"]);
    }
}

#[test]
fn verify_names_the_first_event_of_a_dropped_newest_block() {
    for instance in TestInstance::on_each_backend() {
        for _ in 0..4 {
            instance.run(&["read", "bkend://orgs"]);
        }
        let tenant = instance.tenant_id("local");
        let newest = format!("SELECT MAX(first_sequence) FROM audit_block WHERE tenant_id = '{tenant}'");
        let first: u64 = instance.query_one(&newest).parse().unwrap();
        instance.execute(&format!(
            "DELETE FROM audit_block WHERE tenant_id = '{tenant}' AND first_sequence = {first}"
        ));
        assert_eq!(check_fails(&instance, &["audit", "verify"], "AUDIT_BROKEN")["sequence"], first);
        let export = instance.folder().join("export.jsonl");
        let arguments = ["audit", "export", export.to_str().unwrap()];
        assert_eq!(check_fails(&instance, &arguments, "AUDIT_BROKEN")["sequence"], first);
        // Also with a head that was adapted to it, and no file.
        let before = first - 1;
        let hash = audit_chain::hash_of_last_event(&instance, &tenant);
        instance.execute(&format!(
            "UPDATE head SET sequence = {before}, hash = '{hash}' WHERE tenant_id = '{tenant}'"
        ));
        std::fs::remove_file(instance.folder().join("checkpoints.jsonl")).unwrap();
        let error = check_fails(&instance, &["audit", "verify"], "AUDIT_BROKEN");
        assert_eq!(error["sequence"], first, "{error}");
        assert!(
            error["message"].as_str().unwrap().contains("a checkpoint in the database covers"),
            "{error}"
        );
    }
}
