//! The Python script of the audit reference agrees with the verifier. It was written from that page alone.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::testing::{TestExport, TestKey};

/// Runs the script. The error is the line that it prints.
fn run_script(export: &[u8], kept: Option<&[u8]>) -> std::result::Result<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schemes/verify_export.py");
    let mut command = Command::new("python3");
    command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
    let files: Vec<tempfile::NamedTempFile> =
        [Some(export), kept].into_iter().flatten().map(to_file).collect();
    let output = command.args(files.iter().map(tempfile::NamedTempFile::path)).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

fn to_file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn verifies(export: &[u8], kept: Option<&[u8]>) -> bool {
    let trusted = kept.map(|kept| TrustedCheckpoints::read(kept).unwrap());
    let mut verifier = Verifier::new(trusted);
    verifier.verify_file(export, |_| {}).is_ok() && verifier.finish().is_ok()
}

fn checkpoint_lines(export: &TestExport) -> Vec<u8> {
    export.checkpoints.iter().flat_map(|checkpoint| (checkpoint.to_line() + "\n").into_bytes()).collect()
}

#[test]
fn script_accepts_what_verifier_accepts() {
    let key = TestKey::new(1);
    for events in [0, 1, 2, 7, 64, 201] {
        let export = TestExport::new(events, 16, &key);
        let kept = checkpoint_lines(&export);
        let text = export.text();
        let report = run_script(text.as_bytes(), None).unwrap();
        assert!(report.starts_with(&format!("ok: tnt_1, up to event {events}, hash ")), "{report}");
        assert!(report.ends_with("; keys not compared\n"), "{report}");
        if events > 0 {
            assert!(run_script(text.as_bytes(), Some(&kept)).unwrap().ends_with("; keys compared\n"));
        }
    }
    let whole = TestExport::new(37, 5, &key);
    let kept = [checkpoint_lines(&whole), b"{\"event_hash\":\"12".to_vec()].concat();
    let (archive, remainder) = whole.split_at(22, &key);
    run_script(archive.text().as_bytes(), None).unwrap();
    run_script(remainder.text().as_bytes(), Some(&kept)).unwrap();
}

#[test]
fn script_rejects_what_verifier_rejects() {
    let (key, other_key) = (TestKey::new(1), TestKey::new(2));
    let whole = TestExport::new(9, 4, &key);
    let kept = checkpoint_lines(&whole);
    let rejected = |export: &[u8], kept: Option<&[u8]>, reason: &str| {
        assert!(!verifies(export, kept), "{reason}");
        let message = run_script(export, kept).unwrap_err();
        assert!(message.contains(reason), "{reason}: {message}");
    };
    // One changed byte in each line, at a different place of each.
    let text = whole.text();
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let mut changed = text.clone().into_bytes();
        let at = offset + line.len() * (index + 1) / 16;
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        rejected(&changed, None, &format!("line {}: ", index + 1));
        offset += line.len();
    }
    // The whole chain is signed again, with the same key or another one.
    let resigned = TestExport::with_changed_event(9, 4, &key, 2);
    assert!(run_script(resigned.text().as_bytes(), None).is_ok());
    rejected(resigned.text().as_bytes(), Some(&kept), "a kept checkpoint has another root");
    let foreign = TestExport::new(9, 4, &other_key);
    rejected(foreign.text().as_bytes(), Some(&kept), "no kept checkpoint has this key");
    // The tail, a checkpoint or an event is removed and the file is signed again.
    let shortened = |change: &dyn Fn(&mut TestExport)| {
        let mut export = whole.clone();
        change(&mut export);
        export.sign_trailer(&key);
        export.text()
    };
    let without_tail = shortened(&|export| {
        export.entries.truncate(7);
        export.checkpoints.truncate(1);
    });
    assert!(run_script(without_tail.as_bytes(), None).is_ok());
    rejected(without_tail.as_bytes(), Some(&kept), "kept checkpoints cover more events");
    let without_checkpoint = shortened(&|export| drop(export.checkpoints.remove(1)));
    rejected(without_checkpoint.as_bytes(), None, "a checkpoint is missing before it");
    let without_event = shortened(&|export| drop(export.entries.remove(5)));
    rejected(without_event.as_bytes(), None, "events are missing before it");
    let cut = &text[..text.trim_end().rfind('\n').unwrap() + 1];
    rejected(cut.as_bytes(), None, "the file ends without its last line");
    let longer = format!("{text}{{}}\n");
    rejected(longer.as_bytes(), None, "follows the last line");
}
