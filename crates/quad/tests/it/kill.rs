//! Kills processes while they write rows: no acknowledged row is lost, and no write is half done.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::era;
use crate::helpers::{Rng, env_number, read_lines};
use crate::http::IO_TIMEOUT;
use crate::instance::{Process, TestInstance};
use crate::matrix::{Backend, Revision};
use crate::{audit_chain, transcripts};

/// Two processes write at the same time, as those of two local clients do.
const WORKERS: u64 = 2;

/// Acknowledged rows in all.
const CREATES: usize = 10_000;

/// Requests of a worker in flight at a time.
const IN_FLIGHT_MAX: usize = 8;

/// Kills in all. `QUAD_TEST_KILLS` sets another number, `QUAD_TEST_SEED` repeats the kill times of an earlier run.
const KILLS: u64 = 50;

const TENANT: &str = "kill";

#[test]
fn acknowledged_rows_survive_kills() {
    let kills = env_number("QUAD_TEST_KILLS", KILLS);
    let seed = env_number("QUAD_TEST_SEED", u64::from(std::process::id()));
    eprintln!("{kills} kills, QUAD_TEST_SEED={seed}");
    for instance in TestInstance::on_each_backend() {
        instance.add_tenant(TENANT);
        instance.load(TENANT, &transcripts::folder().join("backend.jsonl"));
        let write_logs: Vec<WriteLog> = std::thread::scope(|scope| {
            let instance = &instance;
            let spawn_worker = |index: u64| {
                scope.spawn(move || {
                    let rng = Rng::for_worker(seed, WORKERS, index);
                    Worker { instance, index, rng, next_row: 0, write_log: WriteLog::default() }
                        .run(kills / WORKERS)
                })
            };
            let workers: Vec<_> = (0..WORKERS).map(spawn_worker).collect();
            workers.into_iter().map(|worker| worker.join().expect("a worker failed")).collect()
        });
        check_rows(&instance, &write_logs);
    }
}

/// The rows that a worker sent, and those that were acknowledged.
#[derive(Default)]
struct WriteLog {
    /// Row numbers by email.
    sent: BTreeMap<String, usize>,
    /// Emails by record id.
    acknowledged: BTreeMap<String, String>,
}

struct Worker<'a> {
    instance: &'a TestInstance,
    index: u64,
    rng: Rng,
    next_row: usize,
    write_log: WriteLog,
}

impl Worker<'_> {
    fn run(mut self, kills: u64) -> WriteLog {
        let target_rows = CREATES / WORKERS as usize;
        let mean_quota = target_rows as u64 / kills.max(1);
        for _ in 0..kills {
            let quota = 1 + self.rng.below(2 * mean_quota) as usize;
            self.run_process(quota, true);
        }
        let remaining = target_rows.saturating_sub(self.write_log.acknowledged.len());
        self.run_process(remaining, false);
        self.write_log
    }

    /// Starts a process and lets it acknowledge `quota` rows. Then kills it with requests in flight, or lets it end.
    fn run_process(&mut self, quota: usize, kill: bool) {
        let mut command = self.instance.quad_command(&["stdio", "--tenant", TENANT]);
        let mut process = Process(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut input = process.0.stdin.take().unwrap();
        let lines = read_lines(BufReader::new(process.0.stdout.take().unwrap()));
        let mut in_flight: BTreeMap<u64, String> = BTreeMap::new();
        let mut acknowledged = 0;
        while acknowledged < quota {
            let window = if kill { IN_FLIGHT_MAX } else { IN_FLIGHT_MAX.min(quota - acknowledged) };
            while in_flight.len() < window {
                let (id, email, message) = self.next_request();
                // If the process has died, waiting for its answer fails below.
                let _ = writeln!(input, "{message}");
                in_flight.insert(id, email);
            }
            let line = lines.recv_timeout(IO_TIMEOUT).expect("quad stdio did not answer");
            self.record_reply(&line, &mut in_flight);
            acknowledged += 1;
        }
        if kill {
            std::thread::sleep(Duration::from_micros(self.rng.below(4_000)));
            process.0.kill().unwrap();
        } else {
            drop(input);
        }
        process.0.wait().unwrap();
        // Answers that were printed before the end count as well. The last line may be incomplete.
        for line in lines {
            if serde_json::from_str::<Value>(&line).is_ok() {
                self.record_reply(&line, &mut in_flight);
            }
        }
        assert!(kill || in_flight.is_empty(), "a process ended without answering {in_flight:?}");
    }

    fn next_request(&mut self) -> (u64, String, Value) {
        let row_number = self.next_row;
        self.next_row += 1;
        let id = row_number as u64;
        let email = format!("worker{}-{row_number}@example.org", self.index);
        let data = json!({"name": format!("Name {row_number}"), "email": email, "role": "x".repeat(64), "age": row_number});
        let params =
            json!({"name": "backend_data_create", "arguments": {"tableId": "tbl_users", "data": data}});
        let params = era::add_era_fields(Revision::MODERN, Some(params));
        self.write_log.sent.insert(email.clone(), row_number);
        (id, email, json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    }

    fn record_reply(&mut self, line: &str, in_flight: &mut BTreeMap<u64, String>) {
        let reply: Value = serde_json::from_str(line).unwrap();
        let email =
            reply["id"].as_u64().and_then(|id| in_flight.remove(&id)).expect("an answer without a request");
        assert_eq!(reply["result"]["isError"], false, "{reply:#}");
        let created = &reply["result"]["structuredContent"];
        assert_eq!(created["email"], email.as_str());
        self.write_log.acknowledged.insert(created["id"].as_str().unwrap().to_owned(), email);
    }
}

fn check_rows(instance: &TestInstance, write_logs: &[WriteLog]) {
    let tenant = instance.tenant_id(TENANT);
    let table_filter = format!("FROM bkend_table WHERE tenant_id = '{tenant}' AND id = 'tbl_users'");
    let catalog_row =
        instance.query(&format!("SELECT physical_schema, physical_name, row_count {table_filter}")).remove(0);
    let catalog_column = |index: usize| catalog_row[index].clone().unwrap();
    let table = match instance.backend {
        Backend::Sqlite => format!("\"{}\"", catalog_column(1)),
        Backend::Postgres => format!("\"{}\".\"{}\"", catalog_column(0), catalog_column(1)),
    };
    let rows = instance
        .query(&format!("SELECT id, name, email, role, age, \"createdAt\", \"updatedAt\" FROM {table}"));
    let mut stored: BTreeMap<String, String> = BTreeMap::new();
    for row in rows {
        let column = |index: usize| row[index].clone().unwrap_or_default();
        if column(0) == "rec_abc123" {
            continue;
        }
        let row_number = write_logs.iter().find_map(|worker| worker.sent.get(&column(2)));
        let row_number = row_number.unwrap_or_else(|| panic!("no worker sent this row: {row:?}"));
        assert_eq!(column(1), format!("Name {row_number}"), "{row:?}");
        assert_eq!(column(3), "x".repeat(64), "{row:?}");
        assert_eq!(column(4).parse::<f64>().unwrap(), *row_number as f64, "{row:?}");
        assert!(!column(5).is_empty() && column(5) == column(6), "{row:?}");
        stored.insert(column(0), column(2));
    }
    let acknowledged: usize = write_logs.iter().map(|worker| worker.acknowledged.len()).sum();
    for (id, email) in write_logs.iter().flat_map(|worker| &worker.acknowledged) {
        assert_eq!(stored.get(id), Some(email), "an acknowledged row is lost");
    }
    // One row is part of the loaded file.
    assert_eq!(catalog_column(2), (stored.len() + 1).to_string(), "row_count and the rows differ");
    let events = audit_chain::verify(instance, TENANT);
    let writes: Vec<&Value> =
        events.iter().map(|event| &event["outputs"]).filter(|o| o["record_id"].is_string()).collect();
    let versions: Vec<u64> = writes.iter().filter_map(|outputs| outputs["version"].as_u64()).collect();
    let expected: Vec<u64> = (1..=versions.len() as u64).collect();
    assert_eq!(versions, expected, "the versions have gaps");
    let recorded = writes.iter().filter_map(|outputs| outputs["record_id"].as_str());
    let recorded: BTreeSet<&str> = recorded.filter(|id| *id != "rec_abc123").collect();
    let stored_ids: BTreeSet<&str> = stored.keys().map(String::as_str).collect();
    assert_eq!(recorded, stored_ids, "the audit trail and the rows differ");
    assert!(acknowledged >= CREATES, "{acknowledged} rows were acknowledged");
    let mut client =
        Client::over_stdio(Revision::MODERN, instance.quad_command(&["stdio", "--tenant", TENANT]));
    let arguments = json!({"name": "backend_table_get", "arguments": {"tableId": "tbl_users"}});
    let table = client.request("tools/call", Some(arguments)).outcome.unwrap();
    assert_eq!(table["structuredContent"]["stats"]["rowCount"], stored.len() + 1);
    eprintln!("{}: {acknowledged} rows acknowledged, {} stored", instance.backend, stored.len());
}
