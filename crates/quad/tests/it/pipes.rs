//! What only stdio has: lines, one after the other, in both eras on the same pipe.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::combination::Revision;
use crate::era;
use crate::place::Place;

/// Sends lines, closes the input and returns every line that came back. Nothing but messages may come.
fn converse(place: &Place, lines: &[String]) -> Vec<Value> {
    let mut command = place.quad(&["stdio"]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // Written beside the reading: the answers may be longer than what a pipe holds.
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = process.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let printed = String::from_utf8(output.stdout).unwrap();
    printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no message: {line}")))
        .collect()
}

fn legacy(id: i64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method})
}

fn modern(id: i64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": era::dress(Revision::MODERN, None)})
}

/// The answer with this id.
fn answer(answers: &[Value], id: i64) -> &Value {
    let found: Vec<&Value> = answers.iter().filter(|answer| answer["id"] == id).collect();
    assert_eq!(found.len(), 1, "{id} has not exactly one answer: {answers:#?}");
    found[0]
}

#[test]
fn a_line_that_is_no_message_is_answered_and_the_next_one_served() {
    let place = Place::on_sqlite();
    let check = |line: &str, number: i64| {
        let answers = converse(&place, &[line.to_owned(), legacy(1, "ping").to_string()]);
        assert_eq!(answer(&answers, 1)["result"], json!({}), "{line}");
        let refused: Vec<&Value> = answers.iter().filter(|answer| answer.get("id").is_none()).collect();
        assert_eq!(refused.len(), 1, "{line}: {answers:#?}");
        assert_eq!(refused[0]["error"]["code"], number, "{line}");
    };
    check("{", -32700);
    check("nonsense", -32700);
    check("5", -32600);
    check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600);
    check(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"ping","x":"{}"}}"#, "x".repeat(17 << 20)), -32600);
}

#[test]
fn both_eras_share_the_pipe() {
    let place = Place::on_sqlite();
    let info = json!({"name": "tester", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let lines = [
        // Before any handshake a request is served, as an old client's would be.
        legacy(10, "ping"),
        initialize,
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        legacy(2, "resources/list"),
        modern(3, "resources/list"),
        modern(4, "ping"),
        json!({"jsonrpc": "2.0", "id": "a string", "method": "ping"}),
    ];
    let answers = converse(&place, &lines.map(|line| line.to_string()));
    assert_eq!(answers.len(), 6, "{answers:#?}");
    assert_eq!(answer(&answers, 10)["result"], json!({}));
    assert_eq!(answer(&answers, 1)["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer(&answers, 2)["result"].get("resultType"), None);
    assert_eq!(answer(&answers, 3)["result"]["resultType"], "complete");
    assert_eq!(answer(&answers, 2)["result"]["resources"], answer(&answers, 3)["result"]["resources"]);
    assert_eq!(answer(&answers, 4)["error"]["code"], -32601);
    assert!(answers.iter().any(|answer| answer["id"] == "a string" && answer["result"] == json!({})));
}

#[test]
fn a_batch_is_one_line_in_the_revision_that_has_batches() {
    let place = Place::on_sqlite();
    let initialize = |revision: &str| {
        let info = json!({"name": "tester", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info});
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
    };
    let batch = json!([legacy(2, "resources/list"), legacy(3, "tools/list")]).to_string();
    // 8. Two requests, two answers, one line.
    let answers = converse(&place, &[initialize("2025-03-26"), batch.clone()]);
    let answered = answers.iter().find_map(Value::as_array).expect("no array came back");
    let ids: Vec<&Value> = answered.iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [2, 3]);
    let answers = converse(&place, &[initialize("2025-11-25"), batch]);
    assert!(answers.iter().any(|answer| answer["error"]["code"] == -32600), "{answers:#?}");
}

#[test]
fn everything_that_was_asked_is_answered_before_the_end() {
    let place = Place::on_sqlite();
    let lines: Vec<String> = (0..200).map(|id| modern(id, "resources/list").to_string()).collect();
    let answers = converse(&place, &lines);
    assert_eq!(answers.len(), lines.len());
    for id in 0..200 {
        assert!(answer(&answers, id)["result"]["resources"].is_array());
    }
}

#[test]
fn a_slow_read_does_not_delay_the_next_one_on_the_pipe() {
    let (place, project) = (Place::on_sqlite(), tempfile::tempdir().unwrap());
    let plan = project.path().join("plan");
    std::fs::create_dir(&plan).unwrap();
    let empty = || (0..8).for_each(|number| std::fs::write(plan.join(format!("{number}.md")), "").unwrap());
    empty();
    let mut command = place.quad(&["stdio", "--project", project.path().to_str().unwrap()]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // An editor that empties the plan's files again and again: they are waited for as long as it does.
        scope.spawn(|| {
            for _ in 0..5_000 {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                empty();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        for (id, uri) in [(1, "refrakt://plan/status"), (2, "refrakt://detect")] {
            let mut request = modern(id, "resources/read");
            request["params"]["uri"] = uri.into();
            writeln!(input, "{request}").unwrap();
        }
        let first = next();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(first["id"], 2, "detection is there while the plan is still being read");
        assert!(first["result"].is_object(), "{first}");
        let second = next();
        assert!(second["id"] == 1 && second["result"].is_object(), "{second}");
    });
    drop(input);
    assert!(process.wait().unwrap().success());
}

/// As the kernel tells it of a process that has answered.
#[cfg(target_os = "linux")]
#[test]
fn memory_comes_in_small_pages() {
    let place = Place::on_sqlite();
    let mut command = place.quad(&["stdio"]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    writeln!(input, "{}", legacy(1, "ping")).unwrap();
    let mut answered = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut answered).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    drop(input);
    process.wait().unwrap();
    let told = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
    // A kernel before 5.0 does not tell.
    if let Some(told) = told {
        assert_eq!(told.trim(), "0", "pages of 2 MiB: {status}");
    }
}
