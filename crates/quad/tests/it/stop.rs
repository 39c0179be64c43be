//! A process that stops in an orderly way leaves no event without a checkpoint: a tail that was cut off afterwards is
//! found.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::helpers::{json_body, post_request, with_token};
use crate::http::HttpClient;
use crate::instance::{Process, TestInstance, send_signal};

/// Checks that the newest checkpoint of each chain covers all of it, in the database and in the file.
fn check_covered(instance: &TestInstance, what: &str) {
    let ends = instance.query(
        "SELECT head.tenant_id, head.sequence, MAX(audit_checkpoint.size) FROM head LEFT JOIN audit_checkpoint \
         ON audit_checkpoint.tenant_id = head.tenant_id GROUP BY head.tenant_id, head.sequence",
    );
    let lines = std::fs::read_to_string(instance.folder().join("checkpoints.jsonl")).unwrap_or_default();
    let last_line =
        |tenant: &str| lines.lines().rfind(|line| line.contains(&format!("\"tenant\":\"{tenant}\"")));
    for end in &ends {
        let (tenant, sequence) = (end[0].as_deref().unwrap(), end[1].as_deref().unwrap());
        if sequence == "0" {
            continue;
        }
        assert_eq!(
            end[2].as_deref(),
            Some(sequence),
            "{what}, {}: {tenant} is not covered",
            instance.backend
        );
        let last_line = last_line(tenant).unwrap_or_else(|| panic!("{what}: no line of {tenant}"));
        assert!(last_line.contains(&format!("\"size\":{sequence},")), "{what}: {sequence} and {last_line}");
    }
    assert!(ends.len() > 1, "{what}");
}

#[test]
fn stopped_server_leaves_no_event_without_checkpoint() {
    for instance in TestInstance::on_each_backend() {
        let token = instance.mint_token("local", "reader", "organization:read");
        for (signal, mode) in [("TERM", "durable"), ("INT", "durable"), ("TERM", "async")] {
            let server = instance.serve(&["--audit", mode]);
            let mut client = HttpClient::new(&server.authority);
            for id in 0..20 {
                let read = json!({"jsonrpc": "2.0", "id": id, "method": "resources/read", "params": {"uri": "bkend://orgs"}});
                let response = client.send(&with_token(post_request(read), &token)).unwrap();
                assert_eq!(json_body(&response)["id"], id);
            }
            // A refusal is counted in the system chain.
            client.send(&with_token(post_request(json!({})), "nonsense")).unwrap();
            drop(client);
            server.stop_with(signal);
            check_covered(&instance, &format!("SIG{signal}, {mode}"));
        }
    }
}

#[test]
fn stopped_stdio_process_leaves_no_event_without_checkpoint() {
    for instance in TestInstance::on_each_backend() {
        for signal in [None, Some("TERM"), Some("INT")] {
            let mut command = instance.quad_command(&["stdio"]);
            let mut process = Process(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
            let mut input = process.0.stdin.take().unwrap();
            let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
            for id in 0..5 {
                let read = json!({"jsonrpc": "2.0", "id": id, "method": "resources/read", "params": {"uri": "bkend://orgs"}});
                writeln!(input, "{read}").unwrap();
                lines.next().unwrap().unwrap();
            }
            match signal {
                Some(signal) => send_signal(&process, signal),
                None => drop(input),
            }
            assert!(process.0.wait().unwrap().success(), "{signal:?}");
            check_covered(&instance, &format!("stdio, {signal:?}"));
        }
    }
}

#[test]
fn command_leaves_no_event_without_checkpoint() {
    for instance in TestInstance::on_each_backend() {
        check_covered(&instance, "the first start");
        for arguments in [
            &["read", "bkend://orgs"][..],
            &["call", "memory_add", r#"{"event_type": "fact", "content": "The key is in the shed"}"#],
            &["token", "mint", "--scope", "table:read"],
            &["tenant", "add", "other"],
            &["key", "rotate"],
            &["doctor"],
        ] {
            instance.run(arguments);
            check_covered(&instance, &arguments.join(" "));
        }
        // Also of a command that fails.
        let refused = instance.quad_command(&["read", "bkend://orgs/org_none"]).output().unwrap();
        assert_eq!(refused.status.code(), Some(3));
        check_covered(&instance, "a refused read");
    }
}

#[test]
fn long_command_signs_while_it_runs() {
    for instance in TestInstance::on_each_backend() {
        let mut command = instance.quad_command(&["watch", "bkend://orgs"]);
        let process = Process(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
        let tenant = instance.tenant_id("local");
        let head = format!("SELECT sequence FROM head WHERE tenant_id = '{tenant}'");
        let covered = format!("SELECT MAX(size) FROM audit_checkpoint WHERE tenant_id = '{tenant}'");
        let before = instance.query_one(&head);
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while instance.query_one(&head) == before || instance.query_one(&covered) != instance.query_one(&head)
        {
            assert!(std::time::Instant::now() < deadline, "{before}");
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(process);
    }
}
