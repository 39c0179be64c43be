//! `quad markdoc ast`: the parser from the command line.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::instance::QUAD;

fn run_ast(folder: &Path, file: &str, input: &[u8]) -> Output {
    let mut command = Command::new(QUAD);
    command.args(["markdoc", "ast", file]).env_clear().env("HOME", folder).current_dir(folder);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The program may end before it has read all of its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn file_and_stdin_give_same_ast() {
    let folder = TempDir::new().unwrap();
    let source = "{% note a=1 %}\n*x*\n{% /note %}\n";
    std::fs::write(folder.path().join("page.md"), source).unwrap();
    let from_file = run_ast(folder.path(), "page.md", b"");
    let from_input = run_ast(folder.path(), "-", source.as_bytes());
    assert_eq!((from_file.status.code(), text(&from_file.stderr)), (Some(0), String::new()));
    assert_eq!(from_file.stdout, from_input.stdout);
    let tree: Value = serde_json::from_slice(&from_file.stdout).unwrap();
    let note = &tree["children"][0];
    assert_eq!((&note["type"], &note["tag"]), (&json!("tag"), &json!("note")));
    assert_eq!(note["attributes"], json!({"a": 1}));
    assert_eq!(note["annotations"], json!([{"type": "attribute", "name": "a", "value": 1}]));
    assert_eq!(note["lines"], json!([0, 1, 2, 3]));
    assert_eq!(note["children"][0]["children"][0]["children"][0]["type"], "em");
    // It needs no data folder and creates none.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn document_errors_are_in_ast_and_dropped_text_is_warned() {
    let folder = TempDir::new().unwrap();
    let output = run_ast(folder.path(), "-", b"{% a\nb=1 %} lost\n\n{% c= %}\n");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stderr),
        "warning: standard input:2:8: the text after a tag's closing `%}` is left out; put it on a line of its own\n"
    );
    let tree: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tree["children"][0]["errors"][0]["id"], "missing-closing");
    assert_eq!(tree["children"][0]["children"][0]["errors"][0]["id"], "parse-error");
}

#[test]
fn unreadable_input_is_rejected_with_reason() {
    let folder = TempDir::new().unwrap();
    let check = |file: &str, input: &[u8], code: i32, expected_error: &str| {
        let output = run_ast(folder.path(), file, input);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), String::new()), "{stderr}");
        assert!(
            stderr.starts_with("error: ") && stderr.contains(expected_error),
            "{expected_error:?} is not in\n{stderr}"
        );
    };
    check("missing.md", b"", 2, "missing.md cannot be read");
    check(".", b"", 2, ". cannot be read");
    check("-", b"ab\xFFc", 2, "standard input is not UTF-8 at byte 2");
    check("-", &vec![b'a'; 2 * 1024 * 1024 + 1], 6, "a document has at most 2097152 bytes");
}
