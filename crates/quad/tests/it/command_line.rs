//! Tests the command line: help texts, exit codes, and the order of settings.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::instance::{QUAD, TestInstance};

/// The checked-in reference; `QUAD_TEST_BLESS=1` writes it.
const REFERENCE: &str = "tests/it/cli-reference.txt";

/// `quad` in its own folder, without the environment of the test.
fn quad_command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(QUAD);
    command.args(arguments).env_clear().env("HOME", folder).current_dir(folder);
    command
}

fn run_quad(folder: &Path, arguments: &[&str]) -> Output {
    quad_command(folder, arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn cli_reference_matches_help() {
    let folder = TempDir::new().unwrap();
    let mut reference = String::new();
    append_help(folder.path(), &[], &mut reference);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(REFERENCE);
    if std::env::var_os("QUAD_TEST_BLESS").is_some() {
        std::fs::write(&file, &reference).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    let first = reviewed.lines().zip(reference.lines()).find(|(old_line, new)| old_line != new);
    assert!(
        reviewed == reference,
        "the help differs from {REFERENCE}, first at {first:?}\nif that is meant, run the test with QUAD_TEST_BLESS=1"
    );
}

/// The help of a command and its subcommands.
fn append_help(folder: &Path, command: &[&str], reference: &mut String) {
    let help = run_quad(folder, &[command, &["--help"]].concat());
    assert_eq!(help.status.code(), Some(0), "quad {command:?} --help");
    let help = text(&help.stdout);
    let title = [&["quad"], command].concat().join(" ");
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    reference.push_str(&format!("=== {title}\n\n{}\n\n", lines.join("\n")));
    let subcommand_lines =
        lines.iter().skip_while(|line| **line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A line with deeper indentation continues the description above it.
    let names = subcommand_lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        append_help(folder, &[command, &[name]].concat(), reference);
    }
}

#[test]
fn bad_input_exits_with_code_and_hint() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let check = |arguments: &[&str], code: i32, expected_parts: &[&str]| {
        let output = run_quad(folder.path(), &[arguments, &["--data-dir", data]].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}: a failure prints no result");
        for part in expected_parts {
            assert!(stderr.contains(part), "{arguments:?}: {part:?} is not in\n{stderr}");
        }
    };
    check(&["read", "bkend://nope"], 2, &["error: "]);
    check(&["read", "bkend://orgs/org_none"], 3, &["error: Resource not found"]);
    check(
        &["call", "backend_org_lst"],
        2,
        &["error: Unknown tool", "hint: Use backend_org_list, the nearest name"],
    );
    check(&["call", "backend_org_get", "{"], 2, &["error: "]);
    check(&["call", "backend_data_get", "{}"], 2, &["error: Missing argument", "recordId", "hint: "]);
    check(
        &["call", "backend_org_get", r#"{"organizationId":"org_none"}"#],
        3,
        &["error: Organization not found", "hint: "],
    );
    check(&["--tenant", "nobody", "ls"], 3, &["error: There is no tenant named nobody", "hint: "]);
    check(&["tenant", "add", "local"], 5, &["error: ", "local"]);
    check(&["tenant", "add", "Not A Name"], 2, &["error: "]);
    check(&["token", "mint", "--subject", "a", "--scope", "table:reed"], 2, &["error: ", "table:read"]);
    check(&["token", "revoke", "tok_none"], 3, &["error: ", "hint: "]);
    check(&["bkend", "load", "missing.jsonl"], 2, &["error: missing.jsonl cannot be read"]);
    check(&["serve", "--listen", "nonsense"], 2, &["error: Cannot listen on nonsense", "hint: "]);
    check(
        &["serve", "--listen", "0.0.0.0:0", "--no-auth"],
        2,
        &["error: --no-auth is allowed on loopback only", "hint: "],
    );
    check(&["frob"], 2, &["error: unrecognized subcommand 'frob'"]);
    check(&["stdio", "--only", "bkent"], 3, &["error: ", "bkend"]);
    std::fs::write(
        folder.path().join("bad.jsonl"),
        "{\"kind\":\"organization\",\"id\":\"org_1\",\"name\":\"A\"}\n{\"kind\":5}\n",
    )
    .unwrap();
    check(&["bkend", "load", "bad.jsonl"], 2, &["error: line 2: "]);
    // With --json the error is printed as an envelope.
    let output = run_quad(folder.path(), &["read", "bkend://orgs/org_none", "--json", "--data-dir", data]);
    let envelope: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(envelope["error"]["code"], "NOT_FOUND");
    assert_eq!(envelope["error"]["uri"], "bkend://orgs/org_none");
}

#[test]
fn flag_overrides_variable_and_variable_overrides_file() {
    let folder = TempDir::new().unwrap();
    // The error about the missing tenant shows which tenant was configured.
    let effective_tenant = |arguments: &[&str], variable: Option<&str>| {
        let mut command = quad_command(folder.path(), &[&["ls"], arguments].concat());
        if let Some(tenant) = variable {
            command.env("QUAD_TENANT", tenant);
        }
        let output = command.output().unwrap();
        let stderr = text(&output.stderr);
        stderr
            .lines()
            .find_map(|line| line.strip_prefix("error: There is no tenant named ").map(str::to_owned))
    };
    let write_config = |content: &str| std::fs::write(folder.path().join("quad.toml"), content).unwrap();
    write_config("tenant = \"of-file\"\ndata_dir = \"kept-here\"\n");
    assert_eq!(effective_tenant(&[], None).as_deref(), Some("of-file"));
    assert!(folder.path().join("kept-here/quad.db").is_file(), "data_dir of quad.toml was not used");
    assert_eq!(effective_tenant(&[], Some("of-variable")).as_deref(), Some("of-variable"));
    assert_eq!(effective_tenant(&["--tenant", "of-flag"], Some("of-variable")).as_deref(), Some("of-flag"));
    assert_eq!(effective_tenant(&["--tenant", "local"], Some("of-variable")), None);
    // Another file, by name.
    std::fs::write(folder.path().join("other.toml"), "tenant = \"of-other\"\n").unwrap();
    assert_eq!(
        effective_tenant(&["--config", "other.toml", "--data-dir", "kept-here"], None).as_deref(),
        Some("of-other")
    );
    // An unknown setting is refused with the nearest known one.
    write_config("tennant = \"x\"\n");
    let output = quad_command(folder.path(), &["ls"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("tennant is not a setting")
            && stderr.contains("hint: Use tenant, the nearest setting"),
        "{stderr}"
    );
    write_config("");
    let output = quad_command(folder.path(), &["ls"]).env("QUAD_TENNANT", "x").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("QUAD_TENANT"), "{}", text(&output.stderr));
}

#[test]
fn first_start_without_settings_serves_demo_data() {
    let folder = TempDir::new().unwrap();
    let listed = run_quad(folder.path(), &["ls"]);
    assert_eq!(listed.status.code(), Some(0), "{}", text(&listed.stderr));
    assert!(
        text(&listed.stdout).lines().any(|line| line.starts_with("bkend://orgs")),
        "{}",
        text(&listed.stdout)
    );
    let database = folder.path().join(".local/share/quad/quad.db");
    assert!(database.is_file(), "the data is not in the data home");
    let organizations: Value =
        serde_json::from_slice(&run_quad(folder.path(), &["read", "bkend://orgs"]).stdout).unwrap();
    assert_eq!(organizations.as_array().map(Vec::len), Some(1));
    let called = run_quad(folder.path(), &["call", "backend_org_list", "--json"]);
    let called: Value = serde_json::from_slice(&called.stdout).unwrap();
    assert_eq!(called["organizations"][0]["id"], organizations[0]["id"]);
    let templates: Value =
        serde_json::from_slice(&run_quad(folder.path(), &["templates", "--json"]).stdout).unwrap();
    assert!(templates["resourceTemplates"].as_array().is_some_and(|templates| templates.len() > 4));
}

#[test]
fn concurrent_first_starts_create_one_tenant() {
    let folder = TempDir::new().unwrap();
    let start = || quad_command(folder.path(), &["read", "bkend://orgs"]).output().unwrap();
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..6).map(|_| scope.spawn(start)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let stdouts: Vec<String> = outputs
        .iter()
        .map(|output| {
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            text(&output.stdout)
        })
        .collect();
    // Each process may have run before the demo was created, but none created a second one.
    let final_stdout = text(&start().stdout);
    assert!(
        stdouts.iter().all(|stdout| *stdout == final_stdout || stdout.trim() == "[]"),
        "{stdouts:?}\n{final_stdout}"
    );
}

#[test]
fn backup_reads_like_original() {
    let instance = TestInstance::on_sqlite();
    let copy = TempDir::new().unwrap();
    let file = copy.path().join("quad.db");
    instance.run(&["backup", file.to_str().unwrap()]);
    let original = instance.run(&["read", "bkend://orgs"]);
    let copied =
        run_quad(copy.path(), &["read", "bkend://orgs", "--data-dir", copy.path().to_str().unwrap()]);
    assert_eq!(text(&copied.stdout), original, "{}", text(&copied.stderr));
    // A second backup does not overwrite the first.
    let again = instance.quad_command(&["backup", file.to_str().unwrap()]).output().unwrap();
    assert_ne!(again.status.code(), Some(0));
}

#[test]
fn database_is_private_and_doctor_reports_wrong_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let instance = TestInstance::on_sqlite();
    instance.run(&["doctor"]);
    let file = instance.database_file();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = instance.quad_command(&["doctor"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed.contains("is readable by other users; run chmod 600"), "{printed}");
}

#[test]
fn version_prints_commit_and_date() {
    let folder = TempDir::new().unwrap();
    let output = quad_command(folder.path(), &["--version"]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let rest = printed.trim().strip_prefix(concat!("quad ", env!("CARGO_PKG_VERSION"))).unwrap();
    let is_repository = Command::new("git")
        .args(["ls-files", "--error-unmatch", "build.rs"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .is_ok_and(|output| output.status.success());
    if !is_repository {
        assert_eq!(rest, "", "a source archive has no commit");
        return;
    }
    let commit_and_date = rest.strip_prefix(" (").unwrap().strip_suffix(')').unwrap();
    let (commit, date) = commit_and_date.split_once(' ').unwrap();
    assert!(commit.len() >= 9 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{printed}");
    assert!(quad_core::Timestamp::parse(date).is_some() && date.len() == 10, "{printed}");
}
