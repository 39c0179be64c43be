//! Tests what exists only over stdio: lines in order, and both eras on one connection.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::era;
use crate::instance::TestInstance;
use crate::matrix::Revision;

/// Sends lines, closes the input and returns all lines of output. All must be messages.
fn exchange_lines(instance: &TestInstance, lines: &[String]) -> Vec<Value> {
    let mut command = instance.quad_command(&["stdio"]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // Writes in a thread, since the answers may be larger than the pipe's buffer.
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

fn legacy_request(id: i64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method})
}

fn modern_request(id: i64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": era::add_era_fields(Revision::MODERN, None)})
}

/// The answer with this id.
fn reply_with_id(answers: &[Value], id: i64) -> &Value {
    let matching: Vec<&Value> = answers.iter().filter(|answer| answer["id"] == id).collect();
    assert_eq!(matching.len(), 1, "{id} has not exactly one answer: {answers:#?}");
    matching[0]
}

#[test]
fn invalid_line_gets_error_and_next_line_is_served() {
    let instance = TestInstance::on_sqlite();
    let check = |line: &str, code: i64| {
        let answers = exchange_lines(&instance, &[line.to_owned(), legacy_request(1, "ping").to_string()]);
        assert_eq!(reply_with_id(&answers, 1)["result"], json!({}), "{line}");
        let error_replies: Vec<&Value> = answers.iter().filter(|answer| answer.get("id").is_none()).collect();
        assert_eq!(error_replies.len(), 1, "{line}: {answers:#?}");
        assert_eq!(error_replies[0]["error"]["code"], code, "{line}");
    };
    check("{", -32700);
    check("nonsense", -32700);
    check("5", -32600);
    check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600);
    check(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"ping","x":"{}"}}"#, "x".repeat(17 << 20)), -32600);
}

#[test]
fn both_eras_work_on_one_connection() {
    let instance = TestInstance::on_sqlite();
    let info = json!({"name": "tester", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let lines = [
        // A request before `initialize` is served.
        legacy_request(10, "ping"),
        initialize,
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        legacy_request(2, "resources/list"),
        modern_request(3, "resources/list"),
        modern_request(4, "ping"),
        json!({"jsonrpc": "2.0", "id": "a string", "method": "ping"}),
    ];
    let answers = exchange_lines(&instance, &lines.map(|line| line.to_string()));
    assert_eq!(answers.len(), 6, "{answers:#?}");
    assert_eq!(reply_with_id(&answers, 10)["result"], json!({}));
    assert_eq!(reply_with_id(&answers, 1)["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(reply_with_id(&answers, 2)["result"].get("resultType"), None);
    assert_eq!(reply_with_id(&answers, 3)["result"]["resultType"], "complete");
    assert_eq!(
        reply_with_id(&answers, 2)["result"]["resources"],
        reply_with_id(&answers, 3)["result"]["resources"]
    );
    assert_eq!(reply_with_id(&answers, 4)["error"]["code"], -32601);
    assert!(answers.iter().any(|answer| answer["id"] == "a string" && answer["result"] == json!({})));
}

#[test]
fn batch_is_one_line_in_2025_03_26_only() {
    let instance = TestInstance::on_sqlite();
    let initialize = |revision: &str| {
        let info = json!({"name": "tester", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info});
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
    };
    let batch = json!([legacy_request(2, "resources/list"), legacy_request(3, "tools/list")]).to_string();
    // A batch of two requests gets two answers on one line.
    let answers = exchange_lines(&instance, &[initialize("2025-03-26"), batch.clone()]);
    let batch_reply = answers.iter().find_map(Value::as_array).expect("no array came back");
    let ids: Vec<&Value> = batch_reply.iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [2, 3]);
    let answers = exchange_lines(&instance, &[initialize("2025-11-25"), batch]);
    assert!(answers.iter().any(|answer| answer["error"]["code"] == -32600), "{answers:#?}");
}

#[test]
fn every_request_is_answered_before_exit() {
    let instance = TestInstance::on_sqlite();
    let lines: Vec<String> = (0..200).map(|id| modern_request(id, "resources/list").to_string()).collect();
    let answers = exchange_lines(&instance, &lines);
    assert_eq!(answers.len(), lines.len());
    for id in 0..200 {
        assert!(reply_with_id(&answers, id)["result"]["resources"].is_array());
    }
}

#[test]
fn slow_read_does_not_delay_next_request() {
    let (instance, project) = (TestInstance::on_sqlite(), tempfile::tempdir().unwrap());
    let plan = project.path().join("plan");
    std::fs::create_dir(&plan).unwrap();
    let truncate_files =
        || (0..8).for_each(|number| std::fs::write(plan.join(format!("{number}.md")), "").unwrap());
    truncate_files();
    let mut command = instance.quad_command(&["stdio", "--project", project.path().to_str().unwrap()]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut next_reply = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // An editor truncates the plan's files again and again; a read waits as long as it does.
        scope.spawn(|| {
            for _ in 0..5_000 {
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
                truncate_files();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        for (id, uri) in [(1, "refrakt://plan/status"), (2, "refrakt://detect")] {
            let mut request = modern_request(id, "resources/read");
            request["params"]["uri"] = uri.into();
            writeln!(input, "{request}").unwrap();
        }
        let first = next_reply();
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(first["id"], 2, "detection is there while the plan is still being read");
        assert!(first["result"].is_object(), "{first}");
        let second = next_reply();
        assert!(second["id"] == 1 && second["result"].is_object(), "{second}");
    });
    drop(input);
    assert!(process.wait().unwrap().success());
}

/// Reads the setting from the kernel after the process has answered.
#[cfg(target_os = "linux")]
#[test]
fn server_disables_huge_pages() {
    let instance = TestInstance::on_sqlite();
    let mut command = instance.quad_command(&["stdio"]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    writeln!(input, "{}", legacy_request(1, "ping")).unwrap();
    let mut reply = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut reply).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    drop(input);
    process.wait().unwrap();
    let thp_enabled = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
    // Kernels before 5.0 do not report it.
    if let Some(value) = thp_enabled {
        assert_eq!(value.trim(), "0", "pages of 2 MiB: {status}");
    }
}
