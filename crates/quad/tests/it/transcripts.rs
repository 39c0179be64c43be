//! Runs every transcript in every combination, and compares what the combinations answered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use crate::client::Reply;
use crate::combination::{Combination, Revision, Transport};
use crate::conversation::Conversation;
use crate::pattern::{is_id, is_time};
use crate::place::Place;
use crate::trail;
use crate::transcript::Transcript;

/// The folder of the transcripts.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../transcripts")
}

/// `QUAD_TEST_TRANSCRIPT=resources` runs one of them.
const CHOICE: &str = "QUAD_TEST_TRANSCRIPT";

/// What one run of one transcript gave.
struct Run {
    combination: Combination,
    replies: Vec<(usize, Reply)>,
}

#[test]
fn every_transcript_holds_in_every_combination() {
    let transcripts = read_all(std::env::var(CHOICE).ok().as_deref());
    let failures: Mutex<Vec<String>> = Mutex::default();
    let runs: Mutex<BTreeMap<usize, Vec<Run>>> = Mutex::default();
    let places = Place::on_each_backend();
    std::thread::scope(|scope| {
        for place in &places {
            let server = std::sync::Arc::new(place.serve(&[]));
            for transport in [Transport::Stdio, Transport::Http] {
                let server = server.clone();
                let (transcripts, failures, runs) = (&transcripts, &failures, &runs);
                scope.spawn(move || {
                    for (index, transcript) in transcripts.iter().enumerate() {
                        for revision in revisions(transcript) {
                            let combination = Combination { backend: place.backend, transport, revision };
                            if !transcript.only.iter().all(|word| combination.is(word)) {
                                continue;
                            }
                            let mut conversation = Conversation::new(transcript, place, &server, combination);
                            match conversation.run() {
                                Ok(()) => {
                                    let replies = std::mem::take(&mut conversation.replies);
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
    for place in &places {
        // Whatever was said, every tenant's trail is whole.
        for row in place.query("SELECT name FROM tenant") {
            trail::verify(place, row[0].as_deref().unwrap_or_default());
        }
    }
    let mut failures = failures.into_inner().unwrap();
    let runs = runs.into_inner().unwrap();
    for (index, runs) in &runs {
        failures.extend(compare(&transcripts[*index], runs));
    }
    let count: usize = runs.values().map(Vec::len).sum();
    eprintln!("{} transcripts, {count} runs without a fault", transcripts.len());
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}

/// All of them, or the one that was chosen.
fn read_all(choice: Option<&str>) -> Vec<Transcript> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "mcp"));
    paths.sort();
    let transcripts: Vec<Transcript> = paths
        .iter()
        .map(|path| Transcript::read(path).unwrap_or_else(|error| panic!("{error}")))
        .filter(|transcript| choice.is_none_or(|choice| transcript.name() == choice))
        .collect();
    assert!(!transcripts.is_empty(), "there is no transcript to run");
    transcripts
}

fn revisions(transcript: &Transcript) -> Vec<Revision> {
    let mut revisions = vec![Revision::MODERN, Revision::LEGACY];
    if transcript.revisions.iter().any(|date| date == Revision::OLD.0) {
        revisions.push(Revision::OLD);
    }
    revisions
}

/// The behaviours of money that a contract numbers: those of policy and payment are another matter.
fn behaviours() -> impl Iterator<Item = usize> {
    (1..=40).chain(51..=55)
}

/// Behaviours that no conversation with one server can show, the test that does, and why.
const SHOWN_ELSEWHERE: &[(usize, &str, &str)] = &[
    // It needs a server with a lower rate, or six hundred calls within a minute.
    (10, "gate.rs", "fn a_rate_is_kept_and_its_refusals_are_counted_in_the_tenants_chain()"),
];

/// The numbers that the comments of a transcript name: `# 27.`, `# 35. and 36.`
fn numbers(source: &str) -> Vec<usize> {
    let comments = source.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    let words = comments.flat_map(|comment| comment.split(|c: char| c.is_whitespace() || "(),".contains(c)));
    words.filter_map(|word| word.strip_suffix('.')?.parse().ok()).collect()
}

#[test]
fn every_behaviour_of_money_has_a_transcript() {
    let mut shown: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for transcript in read_all(None).iter().filter(|transcript| transcript.scheme == "brain") {
        for number in numbers(&std::fs::read_to_string(&transcript.path).unwrap()) {
            shown.entry(number).or_default().push(transcript.name().to_owned());
        }
    }
    for (number, file, test) in SHOWN_ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
        assert!(std::fs::read_to_string(path).unwrap().contains(test), "{file} has no {test}");
        shown.entry(*number).or_default().push(format!("{file}: {test}"));
    }
    let missing: Vec<usize> = behaviours().filter(|number| !shown.contains_key(number)).collect();
    assert!(missing.is_empty(), "no transcript shows {missing:?}; those that are shown: {shown:#?}");
    let stray: Vec<usize> =
        shown.keys().filter(|number| behaviours().all(|known| known != **number)).copied().collect();
    assert!(stray.is_empty(), "there are no behaviours {stray:?}");
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Every combination must have answered as the first one did, but for ids, times and what the revision cannot say.
fn compare(transcript: &Transcript, runs: &[Run]) -> Vec<String> {
    let mut failures = Vec::new();
    let Some((first, others)) = runs.split_first() else { return failures };
    let expected = neutral_replies(first);
    for other in others {
        for ((line, expected), (_, got)) in expected.iter().zip(neutral_replies(other)) {
            // An old revision leaves structure and links out: only its patterns say what it answers.
            let comparable =
                first.combination.revision.has_structure() == other.combination.revision.has_structure();
            if let (true, Some(difference)) = (comparable, difference(expected, &got, "")) {
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

/// The first place where two values differ, and both.
fn difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            let absent = Value::from("(absent)");
            let mut differences = names.filter_map(|name| {
                let of =
                    |object: &serde_json::Map<String, Value>| object.get(name).unwrap_or(&absent).clone();
                difference(&of(one), &of(other), &format!("{path}.{name}"))
            });
            differences.next()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut pairs = one.iter().zip(other).enumerate();
            pairs.find_map(|(index, (one, other))| difference(one, other, &format!("{path}[{index}]")))
        }
        _ if one == other => None,
        _ => Some(format!("{}\n{one:#}\n{other:#}", path.trim_start_matches('.'))),
    }
}

fn neutral_replies(run: &Run) -> Vec<(usize, Value)> {
    let mut ids = Vec::new();
    let neutral = |(line, reply): &(usize, Reply)| {
        let mut value = match &reply.outcome {
            Ok(result) => result.clone(),
            Err(error) => {
                let mut error = error.clone();
                // The one number that the eras spell differently.
                if error["code"] == -32002 {
                    error["code"] = Value::from(-32602);
                }
                error
            }
        };
        neutralize(&mut value, &mut ids);
        (*line, value)
    };
    run.replies.iter().map(neutral).collect()
}

/// Replaces what differs from run to run: ids by their order of appearance, times and cursors by a word. Strings that
/// hold JSON are compared as JSON, since the order of an object's members means nothing.
fn neutralize(value: &mut Value, ids: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| neutralize(value, ids)),
        Value::Object(object) => {
            for name in ["nextCursor", "next_cursor"] {
                if let Some(cursor) = object.get_mut(name) {
                    *cursor = "CURSOR".into();
                }
            }
            // A score fades between one run and the next.
            if let Some(score) = object.get_mut("decay_score") {
                *score = "SCORE".into();
            }
            // These cover ids.
            for name in ["args_hash", "source_revision"] {
                if let Some(hash) = object.get_mut(name) {
                    *hash = "HASH".into();
                }
            }
            // An audit event's place and hashes depend on all that happened before it.
            if object.contains_key("event_hash") {
                for name in ["sequence", "event_hash", "prev_event_hash", "outputs"] {
                    object.remove(name);
                }
            }
            object.values_mut().for_each(|value| neutralize(value, ids));
        }
        Value::String(text) => {
            if text.starts_with(['{', '['])
                && let Ok(mut parsed) = serde_json::from_str::<Value>(text)
            {
                neutralize(&mut parsed, ids);
                *value = parsed;
            } else {
                *text = neutral_text(text, ids);
            }
        }
        // Microseconds since 1970.
        Value::Number(number) if number.as_i64().is_some_and(|number| number > 1_000_000_000_000_000) => {
            *value = "TIME".into();
        }
        _ => {}
    }
}

fn neutral_text(text: &str, ids: &mut Vec<String>) -> String {
    let is_part_of_word = |c: char| c.is_ascii_alphanumeric() || "_-:.".contains(c);
    let mut neutral = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_part_of_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if is_time(word) {
            neutral.push_str("TIME");
        } else if is_id(word) {
            let place = ids.iter().position(|known| known == word).unwrap_or_else(|| {
                ids.push(word.to_owned());
                ids.len() - 1
            });
            neutral.push_str(&format!("ID{place}"));
        } else {
            neutral.push_str(word);
        }
        // A percent sign takes the two digits after it along: they belong to no word.
        let length = if after.starts_with('%') { 3 } else { 1 };
        let end = after.char_indices().nth(length).map_or(after.len(), |(end, _)| end);
        let (separator, next) = after.split_at(end);
        neutral.push_str(separator);
        rest = next;
    }
    neutral
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_from_run_to_run_is_neutral() {
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
        neutralize(&mut value, &mut Vec::new());
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
