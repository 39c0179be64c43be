//! The project at the command line: every twin of a tool, in its readable form and as JSON.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::place::Place;
use crate::project::copy_all;
use crate::transcripts;

/// A copy of a project that the transcripts use.
fn project(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_all(&transcripts::folder().join("projects").join(name), folder.path());
    folder
}

struct Desk {
    place: Place,
    project: TempDir,
}

impl Desk {
    fn new(name: &str) -> Desk {
        Desk { place: Place::on_sqlite(), project: project(name) }
    }

    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let project = self.project.path().to_str().unwrap();
        [&["refrakt"], arguments, &["--project", project]].concat()
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.place.run(&self.arguments(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// The exit code and the complaint of a command that fails.
    fn refused(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.place.quad(&self.arguments(arguments)).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    fn file(&self, path: &str) -> String {
        std::fs::read_to_string(self.project.path().join(path)).unwrap()
    }
}

#[test]
fn a_plan_is_read_and_changed_at_the_command_line() {
    let desk = Desk::new("harbour");
    let status = desk.run(&["plan", "status"]);
    for part in ["milestone  v0.20.2 (active): 0 of 3 done", "ready      WORK-001 Ask for a berth"] {
        assert!(status.contains(part), "{part} is not in\n{status}");
    }
    assert_eq!(desk.json(&["plan", "status"])["counts"]["work"]["total"], 3);
    let next = desk.run(&["plan", "next"]);
    assert!(next.starts_with("WORK-001  Ask for a berth (high, simple)\n  [ ] The length"), "{next}");
    assert_eq!(desk.json(&["plan", "next", "-n", "5"])["items"].as_array().unwrap().len(), 2);

    let before = desk.file("plan/work/WORK-001-request-form.md");
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
    let diff = desk.run(&[&change[..], &["--dry-run"]].concat());
    assert!(diff.starts_with("--- a/work/WORK-001-request-form.md\n+++ b/"), "{diff}");
    assert_eq!(desk.file("plan/work/WORK-001-request-form.md"), before);
    assert_eq!(desk.run(&change), "WORK-001 is changed in work/WORK-001-request-form.md\n");
    let expect = before
        .replace("status=\"ready\"", "status=\"done\"")
        .replace(" tags=\"guests,forms\"", " assignee=\"mara\"")
        .replace("[ ] The length", "[x] The length");
    assert_eq!(desk.file("plan/work/WORK-001-request-form.md"), expect);
    let (code, complaint) =
        desk.refused(&["plan", "update", "WORK-001", "--status", "open", "--if-hash", "0"]);
    assert_eq!(code, Some(2), "{complaint}");
    let (code, complaint) =
        desk.refused(&["plan", "update", "WORK-001", "--status", "ready", "--if-hash", "0"]);
    assert_eq!(code, Some(5), "{complaint}");
    let (code, complaint) = desk.refused(&["plan", "update", "WORK-01", "--status", "ready"]);
    assert!(code == Some(3) && complaint.contains("hint: Nearest ids"), "{complaint}");

    let body = desk.project.path().join("body.md");
    std::fs::write(&body, "- [ ] It is cold\n").unwrap();
    let create =
        ["plan", "create", "work", "Sell ice", "--set", "priority=low", "--body", body.to_str().unwrap()];
    assert_eq!(desk.run(&create), "WORK-101 is in work/WORK-101-sell-ice.md\n");
    assert!(desk.file("plan/work/WORK-101-sell-ice.md").contains("# Sell ice\n\n- [ ] It is cold\n"));
    let (code, complaint) = desk.refused(&["plan", "create", "chore", "x"]);
    assert!(code == Some(2), "{complaint}");
    let valid = desk.run(&["plan", "validate"]);
    assert!(valid.ends_with("remarks\n"), "{valid}");
    assert_eq!(desk.refused(&["plan", "validate", "--strict"]).0, Some(2));
}

#[test]
fn sites_and_runes_are_shown_at_the_command_line() {
    let desk = Desk::new("full");
    let detected = desk.run(&["detect"]);
    for part in
        ["sites    main\n", "plan     ", "plugin   @refrakt-md/marketing (not installed), runes built-in"]
    {
        assert!(detected.contains(part), "{part} is not in\n{detected}");
    }
    assert_eq!(desk.json(&["detect"])["site"]["sites"][0], "main");
    assert_eq!(desk.json(&["contracts"])["runes"].as_object().unwrap().len(), 132);
    assert_eq!(desk.json(&["reference"])["runes"].as_array().unwrap().len(), 118);
    assert_eq!(desk.json(&["reference", "callout"])["name"], "hint");
    assert!(desk.run(&["reference", "hint"]).contains("hint"));
    let (code, complaint) = desk.refused(&["contracts", "--site", "nope"]);
    assert!(code == Some(2) && complaint.contains("hint: There are: main"), "{complaint}");
    let nowhere = Path::new("/nowhere").to_str().unwrap();
    let output = desk.place.quad(&["refrakt", "detect", "--project", nowhere]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
