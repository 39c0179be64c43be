//! The drill: back up, destroy, restore. The restored data give the same answers, with the same tokens and chain.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::client::Client;
use crate::database::copy_database;
use crate::helpers::{call_tool, json_body, run_tool, with_token};
use crate::http::{HttpClient, Request};
use crate::instance::TestInstance;
use crate::matrix::{Backend, Revision};

const PASSPHRASE: &str = "five random words are enough\n";

/// What a person reads before and after.
const ADDRESSES: [&str; 3] = ["bkend://orgs", "amem://graph/stats", "audit://events?agent=reader"];

/// A folder for backups, with a passphrase.
struct BackupFolder(tempfile::TempDir);

impl BackupFolder {
    fn new() -> BackupFolder {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("passphrase"), PASSPHRASE).unwrap();
        BackupFolder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The arguments that name a backup and the passphrase.
    fn arguments(&self, command: &str, file: &str) -> Vec<String> {
        [command, &self.text(file), "--passphrase-file", &self.text("passphrase"), "--json"]
            .map(str::to_owned)
            .to_vec()
    }
}

fn run_json(instance: &TestInstance, arguments: &[String]) -> Value {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    serde_json::from_str(&instance.run(&arguments)).unwrap()
}

fn output_of(instance: &TestInstance, arguments: &[String]) -> Output {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    instance.quad_command(&arguments).output().unwrap()
}

fn check_fails(instance: &TestInstance, arguments: &[String], code: &str) {
    let output = output_of(instance, arguments);
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains(&format!("\"code\":\"{code}\"")), "{arguments:?}: {text}");
}

fn remove_contents(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
    }
}

/// Some data of each kind, and a token.
fn fill(instance: &TestInstance) -> String {
    run_tool(
        instance,
        "local",
        "memory_add",
        &json!({"event_type": "fact", "content": "The spare key is in the shed"}),
    );
    instance.mint_token("local", "reader", "*:read")
}

/// What a client with a token gets from a running server.
fn answers(instance: &TestInstance, token: &str) -> Vec<Value> {
    let server = instance.serve(&[]);
    let mut client = Client::over_http(Revision::MODERN, &server.authority, &server.path, Some(token));
    let read = |client: &mut Client, uri: &&str| {
        client.request("resources/read", Some(json!({"uri": uri}))).outcome.unwrap()["contents"].clone()
    };
    let answers = ADDRESSES.iter().map(|uri| read(&mut client, uri)).collect();
    drop(client);
    server.stop();
    answers
}

#[test]
fn restored_backup_has_the_same_answers_tokens_and_chain() {
    let instance = TestInstance::on_sqlite();
    let backups = BackupFolder::new();
    let token = fill(&instance);
    std::fs::write(instance.folder().join("quad.toml"), "tools = \"all\"\n").unwrap();
    let before = answers(&instance, &token);
    let local_token = std::fs::read(instance.folder().join("local.token")).unwrap();
    let checkpoints = std::fs::read_to_string(instance.folder().join("checkpoints.jsonl")).unwrap();

    // While a server runs and a client writes.
    let server = instance.serve(&[]);
    let writer_token = instance.mint_token("local", "writer", "memory:write");
    let report = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut client =
                Client::over_http(Revision::MODERN, &server.authority, &server.path, Some(&writer_token));
            for number in 0..20 {
                let node = json!({"event_type": "fact", "content": format!("Fact {number}")});
                call_tool(&mut client, "memory_add", node);
            }
        });
        let report = run_json(&instance, &backups.arguments("backup", "monday.db"));
        writing.join().unwrap();
        report
    });
    server.stop();
    assert_eq!((&report["signingKey"], &report["settings"]), (&json!("encrypted"), &json!(true)), "{report}");
    assert!(report["events"].as_u64().unwrap() > 5, "{report}");
    let names = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    assert_eq!(names(backups.0.path()), 2, "no file is left beside the backup");

    remove_contents(instance.folder());
    let restored = run_json(&instance, &backups.arguments("restore", "monday.db"));
    assert_eq!(restored["nextSteps"], json!([]), "{restored}");
    assert_eq!(restored["files"], json!(["quad.db", "local.token", "signing.key", "quad.toml"]));

    instance.run(&["doctor", "--deep"]);
    instance.run(&["audit", "verify"]);
    instance.run(&["audit", "--system", "verify"]);
    // Checkpoints that were copied away before the backup still fit.
    let kept = backups.text("kept.jsonl");
    std::fs::write(&kept, checkpoints).unwrap();
    let verified = instance.run(&["audit", "verify", "--checkpoints", &kept]);
    assert!(verified.contains("the keys were checked against"), "{verified}");
    let after = answers(&instance, &token);
    // The writer may have added facts before the copy; the rest is equal.
    assert_eq!(after[0], before[0]);
    let events = |answer: &Value| serde_json::from_str::<Value>(answer[0]["text"].as_str().unwrap()).unwrap();
    let newest_first = events(&after[2])["events"].as_array().unwrap().clone();
    for event in events(&before[2])["events"].as_array().unwrap() {
        assert!(newest_first.contains(event), "{event}");
    }
    assert_eq!(std::fs::read(instance.folder().join("local.token")).unwrap(), local_token);
    assert_eq!(std::fs::read_to_string(instance.folder().join("quad.toml")).unwrap(), "tools = \"all\"\n");
    let system_tail = instance.run(&["audit", "--system", "tail"]);
    assert!(system_tail.contains("quad restore") && system_tail.contains("backup.restored"), "{system_tail}");
}

#[test]
fn dump_of_postgres_restores_with_its_key_and_checkpoints() {
    for mut instance in TestInstance::on_each_backend() {
        if instance.backend == Backend::Sqlite {
            continue;
        }
        let token = fill(&instance);
        let before = answers(&instance, &token);
        let refused = instance.quad_command(&["backup", "all.db"]).output().unwrap();
        let message = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(message.contains("pg_dump") && message.contains("checkpoints.jsonl"), "{message}");
        // As `pg_dump` and `pg_restore`: the database as it is now, in another one.
        let dump = copy_database(&instance, "restored");
        instance.run(&["read", "bkend://orgs"]);
        dump.put_in_place_of(&mut instance);
        let output = instance.quad_command(&["ls"]).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("is older than checkpoints.jsonl"));
        instance.run(&["audit", "accept-restore"]);
        instance.run(&["doctor", "--deep"]);
        instance.run(&["audit", "verify"]);
        let after = answers(&instance, &token);
        assert_eq!(after[..2], before[..2]);
    }
}

#[test]
fn backup_without_key_says_so_and_restores_what_it_has() {
    let instance = TestInstance::on_sqlite();
    let backups = BackupFolder::new();
    let token = fill(&instance);
    let file = backups.text("plain.db");
    let output = instance.quad_command(&["backup", &file]).output().unwrap();
    assert!(output.status.success());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("the signing key is not in it"), "{stdout}");
    assert!(stderr.contains("warning: Without the signing key"), "{stderr}");
    let key = std::fs::read(instance.folder().join("signing.key")).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let seed = key.split(|byte| *byte == b' ').next().unwrap();
    assert!(!bytes.windows(seed.len()).any(|window| window == seed), "the key is not in the file");
    let quiet =
        instance.quad_command(&["backup", &backups.text("quiet.db"), "--without-key"]).output().unwrap();
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{quiet:?}");

    remove_contents(instance.folder());
    let restored = instance.run(&["restore", &file]);
    assert!(restored.contains("next: put signing.key into the folder"), "{restored}");
    let refused = instance.quad_command(&["ls"]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("signing.key is missing"));
    instance.run(&["key", "create"]);
    instance.run(&["audit", "verify"]);
    let server = instance.serve(&[]);
    let request = with_token(Request::new("GET", "/v1/resources?uri=bkend://orgs"), &token);
    let response = HttpClient::new(&server.authority).send(&request).unwrap();
    assert_eq!((response.status, &json_body(&response)["reason"]), (401, &json!("unknown_key")));
}

#[test]
fn restore_overwrites_nothing_and_refuses_wrong_passphrases() {
    let instance = TestInstance::on_sqlite();
    let backups = BackupFolder::new();
    fill(&instance);
    run_json(&instance, &backups.arguments("backup", "monday.db"));
    let again = output_of(&instance, &backups.arguments("backup", "monday.db"));
    assert_eq!(again.status.code(), Some(2), "a backup is never overwritten");
    check_fails(&instance, &backups.arguments("restore", "monday.db"), "DATA_EXISTS");

    let other = TestInstance::without_data(Backend::Sqlite, None);
    std::fs::write(backups.path("passphrase"), "another passphrase\n").unwrap();
    check_fails(&other, &backups.arguments("restore", "monday.db"), "PASSPHRASE_WRONG");
    let without = ["restore", &backups.text("monday.db"), "--json"].map(str::to_owned).to_vec();
    check_fails(&other, &without, "VALIDATION_ERROR");
    std::fs::write(backups.path("passphrase"), PASSPHRASE).unwrap();
    // Another key in the folder.
    std::fs::write(other.folder().join("signing.key"), "another key\n").unwrap();
    check_fails(&other, &backups.arguments("restore", "monday.db"), "DATA_EXISTS");
    assert_eq!(std::fs::read(other.folder().join("signing.key")).unwrap(), b"another key\n");
    assert_eq!(std::fs::read_dir(other.folder()).unwrap().count(), 1, "a refused restore writes nothing");
    std::fs::write(backups.path("passphrase"), "short\n").unwrap();
    let short = output_of(&instance, &backups.arguments("backup", "short.db"));
    assert_eq!(short.status.code(), Some(2));
    assert!(!backups.path("short.db").exists() && !backups.path("short.db.partial").exists());
}

#[test]
fn restore_beside_newer_checkpoints_asks_to_accept_the_loss() {
    let instance = TestInstance::on_sqlite();
    let backups = BackupFolder::new();
    let token = fill(&instance);
    run_json(&instance, &backups.arguments("backup", "monday.db"));
    instance.run(&["read", "bkend://orgs"]);
    // The database is lost, the rest of the folder is not.
    for name in ["quad.db", "quad.db-wal", "quad.db-shm"] {
        let _ = std::fs::remove_file(instance.folder().join(name));
    }
    let evidence = std::fs::read(instance.folder().join("checkpoints.jsonl")).unwrap();
    let restored = run_json(&instance, &backups.arguments("restore", "monday.db"));
    assert!(restored["nextSteps"][0].as_str().unwrap().contains("`quad audit accept-restore`"), "{restored}");
    assert_eq!(std::fs::read(instance.folder().join("checkpoints.jsonl")).unwrap(), evidence);
    instance.run(&["audit", "accept-restore"]);
    instance.run(&["audit", "verify"]);
    answers(&instance, &token);
}

#[test]
fn damaged_backup_is_not_restored_and_broken_chain_is_not_backed_up() {
    let instance = TestInstance::on_sqlite();
    let backups = BackupFolder::new();
    fill(&instance);
    run_json(&instance, &backups.arguments("backup", "monday.db"));
    let good = std::fs::read(backups.path("monday.db")).unwrap();
    let other = TestInstance::without_data(Backend::Sqlite, None);
    // A page of zeros in the middle, half the file, and a file that is no database.
    let mut damaged = good.clone();
    damaged[8 * 4096..9 * 4096].fill(0);
    std::fs::write(backups.path("damaged.db"), &damaged).unwrap();
    std::fs::write(backups.path("half.db"), &good[..good.len() / 2]).unwrap();
    std::fs::write(backups.path("text.db"), "not a database").unwrap();
    for name in ["damaged.db", "half.db", "text.db", "none.db"] {
        let output = output_of(&other, &backups.arguments("restore", name));
        assert_eq!(output.status.code(), Some(2), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(std::fs::read_dir(other.folder()).unwrap().count(), 0, "{name}");
    }
    let tampered = rusqlite::Connection::open(backups.path("monday.db")).unwrap();
    let change = "UPDATE audit_block SET body = replace(body, 'memory_add', 'memory_got')";
    assert!(tampered.execute(change, []).unwrap() > 0);
    tampered.close().unwrap();
    check_fails(&other, &backups.arguments("restore", "monday.db"), "AUDIT_BROKEN");
    instance.execute(change);
    check_fails(&instance, &backups.arguments("backup", "broken.db"), "AUDIT_BROKEN");
    assert!(!backups.path("broken.db").exists() && !backups.path("broken.db.partial").exists());
}
