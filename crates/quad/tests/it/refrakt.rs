//! Tests `quad refrakt`: every command that calls a tool, as text and as JSON.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::instance::TestInstance;
use crate::project::copy_dir;
use crate::transcripts;

/// A copy of a project that the transcripts use.
fn copy_project(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_dir(&transcripts::folder().join("projects").join(name), folder.path());
    folder
}

struct CliFixture {
    instance: TestInstance,
    project: TempDir,
}

impl CliFixture {
    fn new(name: &str) -> CliFixture {
        CliFixture { instance: TestInstance::on_sqlite(), project: copy_project(name) }
    }

    fn with_project_flag<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let project = self.project.path().to_str().unwrap();
        [&["refrakt"], arguments, &["--project", project]].concat()
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.instance.run(&self.with_project_flag(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// The exit code and the error of a failing command.
    fn run_failing(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.instance.quad_command(&self.with_project_flag(arguments)).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    fn read_file(&self, path: &str) -> String {
        std::fs::read_to_string(self.project.path().join(path)).unwrap()
    }
}

#[test]
fn plan_commands_read_and_change_plan() {
    let fixture = CliFixture::new("harbour");
    let status = fixture.run(&["plan", "status"]);
    for part in ["milestone  v0.20.2 (active): 0 of 3 done", "ready      WORK-001 Ask for a berth"] {
        assert!(status.contains(part), "{part} is not in\n{status}");
    }
    assert_eq!(fixture.json(&["plan", "status"])["counts"]["work"]["total"], 3);
    let next = fixture.run(&["plan", "next"]);
    assert!(next.starts_with("WORK-001  Ask for a berth (high, simple)\n  [ ] The length"), "{next}");
    assert_eq!(fixture.json(&["plan", "next", "-n", "5"])["items"].as_array().unwrap().len(), 2);

    let before = fixture.read_file("plan/work/WORK-001-request-form.md");
    let change = [
        "plan",
        "update",
        "WORK-001",
        "--status",
        "done",
        "--check",
        "1",
        "--set",
        "assignee=mara",
        "--set",
        "tags=",
    ];
    let diff = fixture.run(&[&change[..], &["--dry-run"]].concat());
    assert!(diff.starts_with("--- a/work/WORK-001-request-form.md\n+++ b/"), "{diff}");
    assert_eq!(fixture.read_file("plan/work/WORK-001-request-form.md"), before);
    assert_eq!(fixture.run(&change), "WORK-001 changed in work/WORK-001-request-form.md\n");
    let expect = before
        .replace("status=\"ready\"", "status=\"done\"")
        .replace(" tags=\"guests,forms\"", " assignee=\"mara\"")
        .replace("[ ] The length", "[x] The length");
    assert_eq!(fixture.read_file("plan/work/WORK-001-request-form.md"), expect);
    let (code, stderr) = fixture.run_failing(&["plan", "update", "WORK-001", "--status", "open"]);
    assert_eq!(code, Some(2), "{stderr}");
    let (code, stderr) =
        fixture.run_failing(&["plan", "update", "WORK-001", "--status", "ready", "--if-hash", "0"]);
    assert_eq!(code, Some(5), "{stderr}");
    let (code, stderr) = fixture.run_failing(&["plan", "update", "WORK-01", "--status", "ready"]);
    assert!(code == Some(3) && stderr.contains("hint: Did you mean"), "{stderr}");

    let body = fixture.project.path().join("body.md");
    std::fs::write(&body, "- [ ] It is cold\n").unwrap();
    let create =
        ["plan", "create", "work", "Sell ice", "--set", "priority=low", "--body", body.to_str().unwrap()];
    assert_eq!(fixture.run(&create), "WORK-101 created in work/WORK-101-sell-ice.md\n");
    assert!(fixture.read_file("plan/work/WORK-101-sell-ice.md").contains("# Sell ice\n\n- [ ] It is cold\n"));
    let (code, stderr) = fixture.run_failing(&["plan", "create", "chore", "x"]);
    assert!(code == Some(2), "{stderr}");
    let report = fixture.run(&["plan", "validate"]);
    assert!(report.ends_with("remarks\n"), "{report}");
    assert_eq!(fixture.run_failing(&["plan", "validate", "--strict"]).0, Some(2));
}

#[test]
fn plan_is_made_listed_and_has_history() {
    let fixture = CliFixture { instance: TestInstance::on_sqlite(), project: tempfile::tempdir().unwrap() };
    let hint = fixture.run(&["detect"]);
    assert!(
        hint.contains("hint     Make a plan with the tool plan_init or `quad refrakt plan init`"),
        "{hint}"
    );
    let made = fixture.run(&["plan", "init"]);
    assert!(made.starts_with("created refrakt.config.json with the plan folder\ncreated "), "{made}");
    assert!(made.contains("/plan/specs/SPEC-001-example-spec.md\n"), "{made}");
    let again = fixture.run(&["plan", "init"]);
    assert!(again.ends_with("/plan is complete\n"), "{again}");
    let index = fixture.run(&["plan", "index", "--type", "work"]);
    assert_eq!(index, "WORK-001     work      draft        work/WORK-001-example-work-item.md\n");
    assert_eq!(fixture.json(&["plan", "index"])["entities"].as_array().unwrap().len(), 4);
    assert_eq!(fixture.run_failing(&["plan", "index", "--status", "redy"]).0, Some(2));
    let (code, stderr) = fixture.run_failing(&["plan", "history"]);
    assert!(code == Some(5) && stderr.contains("hint: Run git log"), "{stderr}");
    let git = |arguments: &[&str]| {
        let command = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let mut git = std::process::Command::new("git");
        let run = git.current_dir(fixture.project.path()).args(command).args(arguments).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "plan"]);
    fixture.run(&["plan", "update", "WORK-001", "--status", "ready", "--check", "1"]);
    git(&["commit", "--quiet", "-am", "ready"]);
    let history = fixture.run(&["plan", "history", "WORK-001", "-n", "1"]);
    let changed = "status: draft → ready; checked: The specification says what to build\n";
    assert!(history.ends_with(changed) && history.lines().count() == 1, "{history}");
    assert_eq!(fixture.json(&["plan", "history", "--type", "spec"])["events"].as_array().unwrap().len(), 1);
}

#[test]
fn detect_contracts_and_reference_print_project() {
    let fixture = CliFixture::new("full");
    let detected = fixture.run(&["detect"]);
    for part in
        ["sites    main\n", "plan     ", "plugin   @refrakt-md/marketing (not installed), runes built-in"]
    {
        assert!(detected.contains(part), "{part} is not in\n{detected}");
    }
    assert_eq!(fixture.json(&["detect"])["site"]["sites"][0], "main");
    assert_eq!(fixture.json(&["contracts"])["runes"].as_object().unwrap().len(), 132);
    assert_eq!(fixture.json(&["reference"])["runes"].as_array().unwrap().len(), 118);
    assert_eq!(fixture.json(&["reference", "callout"])["name"], "hint");
    assert!(fixture.run(&["reference", "hint"]).contains("hint"));
    let (code, stderr) = fixture.run_failing(&["contracts", "--site", "nope"]);
    assert!(code == Some(2) && stderr.contains("hint: Use one of main"), "{stderr}");
    let missing_folder = Path::new("/nowhere").to_str().unwrap();
    let output =
        fixture.instance.quad_command(&["refrakt", "detect", "--project", missing_folder]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
