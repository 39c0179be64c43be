//! Calls as a model makes them when it guesses: wrong names, wrong forms, wrong values, things that do not exist. None may
//! be a dead end: each is answered, or the reply says which call to make next.
//!
//! `wrong-calls.txt` lists the calls, and under each what the reply was and what it lets a model do next.
//! `QUAD_TEST_BLESS=1` writes the replies anew.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{all, default_profile, name};
use crate::client::Client;
use crate::instance::TestInstance;
use crate::matrix::Revision;
use crate::project::copy_dir;
use crate::transcripts;

/// Fewer would not cover every tool of the default profile twice.
const CALLS_MIN: usize = 100;

#[test]
fn no_wrong_call_is_a_dead_end() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/published_tools/wrong-calls.txt");
    let reviewed = std::fs::read_to_string(&file).unwrap();
    let calls: Vec<(&str, Value)> = reviewed.lines().filter_map(parse_call).collect();
    assert!(calls.len() >= CALLS_MIN, "{} calls", calls.len());
    let untried =
        default_profile().iter().map(name).find(|tool| !calls.iter().any(|(called, _)| called == tool));
    assert_eq!(untried, None, "no wrong call of this tool");
    for instance in TestInstance::on_each_backend() {
        let actual = record(&instance, &reviewed);
        if std::env::var_os("QUAD_TEST_BLESS").is_some() {
            std::fs::write(&file, &actual).unwrap();
            continue;
        }
        let differing = reviewed.lines().zip(actual.lines()).find(|(reviewed, actual)| reviewed != actual);
        assert_eq!(differing, None, "{}: a reply differs from the reviewed one", instance.backend);
    }
}

/// The call in a line of the file: a tool's name and its arguments.
fn parse_call(line: &str) -> Option<(&str, Value)> {
    if line.starts_with([' ', '#']) {
        return None;
    }
    let (tool, arguments) = line.split_once(' ')?;
    Some((tool, serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{line}: {error}"))))
}

/// The file with the replies of an instance.
fn record(instance: &TestInstance, reviewed: &str) -> String {
    let project = tempfile::tempdir().unwrap();
    copy_dir(&transcripts::folder().join("projects/full"), project.path());
    let mut client = connect(instance, project.path().to_str().unwrap());
    let mut text = String::new();
    let mut dead_ends = Vec::new();
    for line in reviewed.lines().filter(|line| !line.starts_with(' ')) {
        writeln!(text, "{line}").unwrap();
        let Some((tool, arguments)) = parse_call(line) else { continue };
        let reply = mask_new_ids(&call(&mut client, tool, &arguments));
        match next_step(&reply) {
            Some(next) => writeln!(text, "    {reply}\n    next: {next}").unwrap(),
            None => dead_ends.push(format!("{line}\n    {reply}")),
        }
    }
    assert!(
        dead_ends.is_empty(),
        "{}: {} dead ends\n{}",
        instance.backend,
        dead_ends.len(),
        dead_ends.join("\n")
    );
    text
}

/// A client of a tenant with data in every scheme.
fn connect(instance: &TestInstance, project: &str) -> Client {
    instance.add_tenant("mine");
    instance.load("mine", &transcripts::folder().join("backend.jsonl"));
    instance.load_into("brain", "mine", &transcripts::folder().join("money.jsonl"));
    let command = instance.quad_command(&["stdio", "--tenant", "mine", "--project", project]);
    let mut client = Client::over_stdio(Revision::MODERN, command);
    for content in
        ["The berth is 12 metres long", "We chose PostgreSQL for the harbour", "Forms work without scripts"]
    {
        let arguments = json!({"event_type": "fact", "content": content});
        client
            .request("tools/call", Some(json!({"name": "memory_add", "arguments": arguments})))
            .outcome
            .unwrap();
    }
    client
}

/// The reply with `…` for the part of each id that differs from run to run.
fn mask_new_ids(reply: &str) -> String {
    const ULID_CHARS: usize = 26;
    let mut masked = String::new();
    for part in reply.split_inclusive('_') {
        let is_ulid_char = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
        let rest = part.trim_start_matches(is_ulid_char);
        match part.len() - rest.len() {
            ULID_CHARS => masked.extend(["…", rest]),
            _ => masked.push_str(part),
        }
    }
    masked
}

const ANSWERED: &str = "answered";

/// The reply to a call in one line: that it was answered, or the message that a model sees.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> String {
    let reply = client.request("tools/call", Some(json!({"name": tool, "arguments": arguments})));
    match reply.outcome {
        Ok(result) if result["isError"] == true => {
            let error = &result["structuredContent"]["error"];
            let hint = error["hint"].as_str().map_or_else(String::new, |hint| format!(" → {hint}"));
            format!("{}{hint}", error["message"].as_str().unwrap())
        }
        Ok(_) => ANSWERED.to_owned(),
        Err(error) => error["message"].as_str().unwrap().to_owned(),
    }
}

/// What a reply lets a model do next.
fn next_step(reply: &str) -> Option<String> {
    if reply == ANSWERED {
        return Some("use the answer".to_owned());
    }
    let correction = [
        "Did you mean ",
        "Use one of ",
        "Use only ",
        "Example: ",
        "Send only ",
        "Send ",
        "Leave out ",
        "Give ",
        "Use ",
        "Add ",
        "Choose ",
        "Pass ",
        "Write ",
        "Begin with ",
        "Call the tool without ",
        "Start again without ",
    ];
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut words = reply.split(|c| !is_word(c));
    let lookup =
        words.find(|word| word.contains('_') && default_profile().iter().any(|tool| name(tool) == *word));
    let address = reply.split_whitespace().find(|word| word.contains("://") && !word.starts_with("http"));
    match correction.iter().find(|start| reply.contains(*start)) {
        Some(start) if reply.contains("Example: ") => {
            Some(format!("repeat the call as in the example ({})", start.trim()))
        }
        Some(start) => Some(format!("repeat the call with the correction ({})", start.trim())),
        None => {
            lookup.map(|tool| format!("call {tool}")).or(address.map(|address| format!("read {address}")))
        }
    }
}

#[test]
fn a_reply_without_an_action_is_a_dead_end() {
    assert_eq!(next_step("Table x not found"), None);
    assert_eq!(next_step("The arguments are invalid → See the tool's inputSchema"), None);
    assert!(next_step("Table x not found → List the tables with backend_table_list").is_some());
    assert!(all().len() > default_profile().len());
}
