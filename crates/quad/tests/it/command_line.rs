//! The command line: every word of its help, its exit codes, and where settings come from.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::place::{Place, QUAD};

/// The checked-in reference; `QUAD_TEST_BLESS=1` writes it anew.
const REFERENCE: &str = "tests/it/cli-reference.txt";

/// `quad` in a folder of its own, with nothing of the surroundings.
fn quad(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(QUAD);
    command.args(arguments).env_clear().env("HOME", folder).current_dir(folder);
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    quad(folder, arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_reference_is_what_help_says() {
    let folder = TempDir::new().unwrap();
    let mut reference = String::new();
    describe(folder.path(), &[], &mut reference);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(REFERENCE);
    if std::env::var_os("QUAD_TEST_BLESS").is_some() {
        std::fs::write(&file, &reference).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let first = known.lines().zip(reference.lines()).find(|(known, new)| known != new);
    assert!(
        known == reference,
        "the help differs from {REFERENCE}, first at {first:?}\nif that is meant, run the test with QUAD_TEST_BLESS=1"
    );
}

/// The help of a command and of everything below it.
fn describe(folder: &Path, command: &[&str], reference: &mut String) {
    let help = output(folder, &[command, &["--help"]].concat());
    assert_eq!(help.status.code(), Some(0), "quad {command:?} --help");
    let help = text(&help.stdout);
    let title = [&["quad"], command].concat().join(" ");
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    reference.push_str(&format!("=== {title}\n\n{}\n\n", lines.join("\n")));
    let below =
        lines.iter().skip_while(|line| **line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A line that is indented further continues the description of the command above it.
    let names = below.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        describe(folder, &[command, &[name]].concat(), reference);
    }
}

#[test]
fn bad_input_has_its_exit_code_and_says_what_to_do() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let check = |arguments: &[&str], code: i32, complaint: &[&str]| {
        let output = output(folder.path(), &[arguments, &["--data-dir", data]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}: a failure prints no result");
        for part in complaint {
            assert!(said.contains(part), "{arguments:?}: {part:?} is not in\n{said}");
        }
    };
    check(&["read", "bkend://nope"], 2, &["error: "]);
    check(&["read", "bkend://orgs/org_none"], 3, &["error: Resource not found"]);
    check(&["call", "backend_org_lst"], 2, &["error: Unknown tool", "hint: The nearest is backend_org_list"]);
    check(&["call", "backend_org_get", "{"], 2, &["error: "]);
    check(&["call", "backend_org_get", "{}"], 2, &["error: ", "organizationId"]);
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
        &["error: --no-auth would let everyone", "hint: "],
    );
    check(&["frob"], 2, &["error: unrecognized subcommand 'frob'"]);
    check(&["stdio", "--only", "bkent"], 3, &["error: ", "bkend"]);
    std::fs::write(
        folder.path().join("bad.jsonl"),
        "{\"kind\":\"organization\",\"id\":\"org_1\",\"name\":\"A\"}\n{\"kind\":5}\n",
    )
    .unwrap();
    check(&["bkend", "load", "bad.jsonl"], 2, &["error: line 2: "]);
    // With --json the complaint is the envelope.
    let output = output(folder.path(), &["read", "bkend://orgs/org_none", "--json", "--data-dir", data]);
    let envelope: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(envelope["error"]["code"], "NOT_FOUND");
    assert_eq!(envelope["error"]["uri"], "bkend://orgs/org_none");
}

#[test]
fn a_flag_wins_over_a_variable_and_a_variable_over_the_file() {
    let folder = TempDir::new().unwrap();
    // Which tenant was meant shows in the complaint that it does not exist.
    let meant = |arguments: &[&str], variable: Option<&str>| {
        let mut command = quad(folder.path(), &[&["ls"], arguments].concat());
        if let Some(tenant) = variable {
            command.env("QUAD_TENANT", tenant);
        }
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        said.lines().find_map(|line| line.strip_prefix("error: There is no tenant named ").map(str::to_owned))
    };
    let file = |content: &str| std::fs::write(folder.path().join("quad.toml"), content).unwrap();
    file("tenant = \"of-file\"\ndata_dir = \"kept-here\"\n");
    assert_eq!(meant(&[], None).as_deref(), Some("of-file"));
    assert!(folder.path().join("kept-here/quad.db").is_file(), "data_dir of quad.toml was not used");
    assert_eq!(meant(&[], Some("of-variable")).as_deref(), Some("of-variable"));
    assert_eq!(meant(&["--tenant", "of-flag"], Some("of-variable")).as_deref(), Some("of-flag"));
    assert_eq!(meant(&["--tenant", "local"], Some("of-variable")), None);
    // Another file, by name.
    std::fs::write(folder.path().join("other.toml"), "tenant = \"of-other\"\n").unwrap();
    assert_eq!(
        meant(&["--config", "other.toml", "--data-dir", "kept-here"], None).as_deref(),
        Some("of-other")
    );
    // A setting that does not exist is refused, with the nearest that does.
    file("tennant = \"x\"\n");
    let output = quad(folder.path(), &["ls"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("tennant is not a setting") && said.contains("hint: The nearest is tenant"),
        "{said}"
    );
    file("");
    let output = quad(folder.path(), &["ls"]).env("QUAD_TENNANT", "x").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("QUAD_TENANT"), "{}", text(&output.stderr));
}

#[test]
fn without_any_setting_there_is_something_to_look_at() {
    let folder = TempDir::new().unwrap();
    let listed = output(folder.path(), &["ls"]);
    assert_eq!(listed.status.code(), Some(0), "{}", text(&listed.stderr));
    assert!(
        text(&listed.stdout).lines().any(|line| line.starts_with("bkend://orgs")),
        "{}",
        text(&listed.stdout)
    );
    let database = folder.path().join(".local/share/quad/quad.db");
    assert!(database.is_file(), "the data is not in the data home");
    let organizations: Value =
        serde_json::from_slice(&output(folder.path(), &["read", "bkend://orgs"]).stdout).unwrap();
    assert_eq!(organizations.as_array().map(Vec::len), Some(1));
    let called = output(folder.path(), &["call", "backend_org_list", "--json"]);
    let called: Value = serde_json::from_slice(&called.stdout).unwrap();
    assert_eq!(called["organizations"][0]["id"], organizations[0]["id"]);
    let templates: Value =
        serde_json::from_slice(&output(folder.path(), &["templates", "--json"]).stdout).unwrap();
    assert!(templates["resourceTemplates"].as_array().is_some_and(|templates| templates.len() > 4));
}

#[test]
fn many_first_starts_at_once_make_one_tenant() {
    let folder = TempDir::new().unwrap();
    let start = || quad(folder.path(), &["read", "bkend://orgs"]).output().unwrap();
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..6).map(|_| scope.spawn(start)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let seen: Vec<String> = outputs
        .iter()
        .map(|output| {
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            text(&output.stdout)
        })
        .collect();
    // Each of them may have come before the demo was made, but none saw another one.
    let last = text(&start().stdout);
    assert!(seen.iter().all(|seen| *seen == last || seen.trim() == "[]"), "{seen:?}\n{last}");
}

#[test]
fn a_backup_opens_like_the_original() {
    let place = Place::on_sqlite();
    let copy = TempDir::new().unwrap();
    let file = copy.path().join("quad.db");
    place.run(&["backup", file.to_str().unwrap()]);
    let original = place.run(&["read", "bkend://orgs"]);
    let copied = output(copy.path(), &["read", "bkend://orgs", "--data-dir", copy.path().to_str().unwrap()]);
    assert_eq!(text(&copied.stdout), original, "{}", text(&copied.stderr));
    // A second one does not overwrite the first.
    let again = place.quad(&["backup", file.to_str().unwrap()]).output().unwrap();
    assert_ne!(again.status.code(), Some(0));
}

#[test]
fn the_data_is_its_owners_alone_and_doctor_sees_when_it_is_not() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::on_sqlite();
    place.run(&["doctor"]);
    let file = place.database_file();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = place.quad(&["doctor"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed.contains("can be read by others; run chmod 600"), "{printed}");
}
