//! Runs every transcript in every combination, and compares the answers of the combinations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use crate::audit_chain;
use crate::client::Reply;
use crate::instance::TestInstance;
use crate::matrix::{Combination, Revision, Transport};
use crate::pattern::{is_id, is_time};
use crate::transcript::Transcript;
use crate::transcript_runner::TranscriptRunner;

/// The folder of the transcripts.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../transcripts")
}

/// `QUAD_TEST_TRANSCRIPT=resources` runs one of them.
const TRANSCRIPT_VARIABLE: &str = "QUAD_TEST_TRANSCRIPT";

/// The answers of one run.
struct Run {
    combination: Combination,
    replies: Vec<(usize, Reply)>,
}

#[test]
fn every_transcript_passes_in_every_combination() {
    let transcripts = read_all(std::env::var(TRANSCRIPT_VARIABLE).ok().as_deref());
    let failures: Mutex<Vec<String>> = Mutex::default();
    let runs: Mutex<BTreeMap<usize, Vec<Run>>> = Mutex::default();
    let instances = TestInstance::on_each_backend();
    std::thread::scope(|scope| {
        for instance in &instances {
            let server = std::sync::Arc::new(instance.serve(&[]));
            for transport in [Transport::Stdio, Transport::Http] {
                let server = server.clone();
                let (transcripts, failures, runs) = (&transcripts, &failures, &runs);
                scope.spawn(move || {
                    for (index, transcript) in transcripts.iter().enumerate() {
                        for revision in revisions(transcript) {
                            let combination = Combination { backend: instance.backend, transport, revision };
                            if !transcript.only.iter().all(|word| combination.matches_word(word)) {
                                continue;
                            }
                            let mut runner =
                                TranscriptRunner::new(transcript, instance, &server, combination);
                            match runner.run() {
                                Ok(()) => {
                                    let replies = std::mem::take(&mut runner.replies);
                                    let run = Run { combination, replies };
                                    runs.lock().unwrap().entry(index).or_default().push(run);
                                }
                                Err(failure) => {
                                    let text = format!(
                                        "{}:{} [{combination}]\n{}",
                                        transcript.path.file_name().unwrap_or_default().display(),
                                        failure.line,
                                        indent(&failure.text)
                                    );
                                    failures.lock().unwrap().push(text);
                                }
                            }
                        }
                    }
                });
            }
        }
    });
    for instance in &instances {
        // After all transcripts, every tenant's audit chain is valid.
        for row in instance.query("SELECT name FROM tenant") {
            audit_chain::verify(instance, row[0].as_deref().unwrap_or_default());
        }
    }
    let mut failures = failures.into_inner().unwrap();
    let runs = runs.into_inner().unwrap();
    for (index, runs) in &runs {
        failures.extend(compare_runs(&transcripts[*index], runs));
    }
    let count: usize = runs.values().map(Vec::len).sum();
    eprintln!("{} transcripts, {count} runs without a fault", transcripts.len());
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}

/// All transcripts, or the selected one.
fn read_all(only_name: Option<&str>) -> Vec<Transcript> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "mcp"));
    paths.sort();
    let transcripts: Vec<Transcript> = paths
        .iter()
        .map(|path| Transcript::read(path).unwrap_or_else(|error| panic!("{error}")))
        .filter(|transcript| only_name.is_none_or(|name| transcript.name() == name))
        .collect();
    assert!(!transcripts.is_empty(), "there is no transcript to run");
    transcripts
}

fn revisions(transcript: &Transcript) -> Vec<Revision> {
    let mut revisions = vec![Revision::MODERN, Revision::LEGACY];
    if transcript.extra_revisions.iter().any(|date| date == Revision::OLDEST.0) {
        revisions.push(Revision::OLDEST);
    }
    revisions
}

/// The numbered behaviours of `brain://`, from the table in `docs/contributing/testing.md`.
fn behaviours() -> Vec<usize> {
    let page = include_str!("../../../../docs/contributing/testing.md");
    let (_, section) = page.split_once("## Behaviours of brain://").expect("the section of the behaviours");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok());
    rows.collect()
}

/// Behaviours that another test shows, with its file and name.
const TESTED_ELSEWHERE: &[(usize, &str, &str)] = &[
    // Needs a server with a low rate limit.
    (10, "authentication.rs", "fn rate_limit_refusals_are_counted_in_tenant_chain()"),
];

/// The numbers that the comments of a transcript name: `# 27.`, `# 35. and 36.`
fn behaviour_numbers(source: &str) -> Vec<usize> {
    let comments = source.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    let words = comments.flat_map(|comment| comment.split(|c: char| c.is_whitespace() || "(),".contains(c)));
    words.filter_map(|word| word.strip_suffix('.')?.parse().ok()).collect()
}

#[test]
fn every_brain_behaviour_has_a_transcript() {
    let mut tests_by_number: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for transcript in read_all(None).iter().filter(|transcript| transcript.scheme == "brain") {
        for number in behaviour_numbers(&std::fs::read_to_string(&transcript.path).unwrap()) {
            tests_by_number.entry(number).or_default().push(transcript.name().to_owned());
        }
    }
    for (number, file, test) in TESTED_ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
        assert!(std::fs::read_to_string(path).unwrap().contains(test), "{file} has no {test}");
        tests_by_number.entry(*number).or_default().push(format!("{file}: {test}"));
    }
    let behaviours = behaviours();
    assert_eq!(behaviours.len(), 45, "the table of behaviours is complete");
    let missing: Vec<&usize> =
        behaviours.iter().filter(|number| !tests_by_number.contains_key(number)).collect();
    assert!(
        missing.is_empty(),
        "no transcript shows {missing:?}; those that are shown: {tests_by_number:#?}"
    );
    let unknown_numbers: Vec<usize> =
        tests_by_number.keys().filter(|number| !behaviours.contains(number)).copied().collect();
    assert!(unknown_numbers.is_empty(), "there are no behaviours {unknown_numbers:?}");
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Compares every combination with the first, except for ids, times and what the revision cannot express.
fn compare_runs(transcript: &Transcript, runs: &[Run]) -> Vec<String> {
    let mut failures = Vec::new();
    let Some((first, others)) = runs.split_first() else { return failures };
    let expected = normalize_replies(first);
    for other in others {
        for ((line, expected), (_, actual)) in expected.iter().zip(normalize_replies(other)) {
            // The oldest revision has no structured content and links, so only its patterns are checked.
            let comparable = first.combination.revision.has_structured_content()
                == other.combination.revision.has_structured_content();
            if let (true, Some(difference)) = (comparable, first_difference(expected, &actual, "")) {
                failures.push(format!(
                    "{}:{line} [{}] and [{}] answer differently\n{}",
                    transcript.path.file_name().unwrap_or_default().display(),
                    first.combination,
                    other.combination,
                    indent(&difference)
                ));
                break;
            }
        }
    }
    failures
}

/// The first difference of two values, and both values there.
fn first_difference(left: &Value, right: &Value, path: &str) -> Option<String> {
    match (left, right) {
        (Value::Object(left_object), Value::Object(right_object)) => {
            let names =
                left_object.keys().chain(right_object.keys().filter(|name| !left_object.contains_key(*name)));
            let absent = Value::from("(absent)");
            let mut differences = names.filter_map(|name| {
                let member_of =
                    |object: &serde_json::Map<String, Value>| object.get(name).unwrap_or(&absent).clone();
                first_difference(&member_of(left_object), &member_of(right_object), &format!("{path}.{name}"))
            });
            differences.next()
        }
        (Value::Array(left_values), Value::Array(right_values))
            if left_values.len() == right_values.len() =>
        {
            let mut pairs = left_values.iter().zip(right_values).enumerate();
            pairs.find_map(|(index, (left_value, right_value))| {
                first_difference(left_value, right_value, &format!("{path}[{index}]"))
            })
        }
        _ if left == right => None,
        _ => Some(format!("{}\n{left:#}\n{right:#}", path.trim_start_matches('.'))),
    }
}

fn normalize_replies(run: &Run) -> Vec<(usize, Value)> {
    let mut ids = Vec::new();
    let normalize = |(line, reply): &(usize, Reply)| {
        let mut value = match &reply.outcome {
            Ok(result) => result.clone(),
            Err(error) => {
                let mut error = error.clone();
                // The error number that differs between the eras.
                if error["code"] == -32002 {
                    error["code"] = Value::from(-32602);
                }
                error
            }
        };
        normalize_value(&mut value, &mut ids);
        (*line, value)
    };
    run.replies.iter().map(normalize).collect()
}

/// Replaces what differs between runs: ids by their order of appearance, times and cursors by a word. Strings that
/// contain JSON are compared as JSON, since the order of members has no meaning.
fn normalize_value(value: &mut Value, ids: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| normalize_value(value, ids)),
        Value::Object(object) => {
            for name in ["nextCursor", "next_cursor"] {
                if let Some(cursor) = object.get_mut(name) {
                    *cursor = "CURSOR".into();
                }
            }
            // A decay score changes between runs.
            if let Some(score) = object.get_mut("decay_score") {
                *score = "SCORE".into();
            }
            // These are hashes over ids.
            for name in ["args_hash", "source_revision"] {
                if let Some(hash) = object.get_mut(name) {
                    *hash = "HASH".into();
                }
            }
            // The sequence and hashes of an audit event depend on all earlier events.
            if object.contains_key("event_hash") {
                for name in ["sequence", "event_hash", "prev_event_hash", "outputs"] {
                    object.remove(name);
                }
            }
            object.values_mut().for_each(|value| normalize_value(value, ids));
        }
        Value::String(text) => {
            if text.starts_with(['{', '['])
                && let Ok(mut parsed) = serde_json::from_str::<Value>(text)
            {
                normalize_value(&mut parsed, ids);
                *value = parsed;
            } else {
                *text = normalize_text(text, ids);
            }
        }
        // Microseconds since 1970.
        Value::Number(number) if number.as_i64().is_some_and(|number| number > 1_000_000_000_000_000) => {
            *value = "TIME".into();
        }
        _ => {}
    }
}

fn normalize_text(text: &str, ids: &mut Vec<String>) -> String {
    let is_part_of_word = |c: char| c.is_ascii_alphanumeric() || "_-:.".contains(c);
    let mut normalized = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_part_of_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if is_time(word) {
            normalized.push_str("TIME");
        } else if is_id(word) {
            let index = ids.iter().position(|existing_id| existing_id == word).unwrap_or_else(|| {
                ids.push(word.to_owned());
                ids.len() - 1
            });
            normalized.push_str(&format!("ID{index}"));
        } else {
            normalized.push_str(word);
        }
        // A percent sign and its two digits are not part of a word.
        let length = if after.starts_with('%') { 3 } else { 1 };
        let end = after.char_indices().nth(length).map_or(after.len(), |(end, _)| end);
        let (separator, next) = after.split_at(end);
        normalized.push_str(separator);
        rest = next;
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_times_and_cursors_are_normalized() {
        let id = "tbl_01HQ7K3AAAAAAAAAAAAAAAAAAA";
        let time = "2026-02-12T00:00:00.000Z";
        let mut value = json!({
            "id": id,
            "uri": format!("x://{id}/y?z=%2F{id}"),
            "at": time,
            "text": format!("{{\"b\":1,\"a\":\"{id}\"}}"),
            "nextCursor": "abc",
            "name": "org_abc123 é",
        });
        normalize_value(&mut value, &mut Vec::new());
        let expect = json!({
            "id": "ID0",
            "uri": "x://ID0/y?z=%2FID0",
            "at": "TIME",
            "text": {"a": "ID0", "b": 1},
            "nextCursor": "CURSOR",
            "name": "org_abc123 é",
        });
        assert_eq!(value, expect);
    }
}
