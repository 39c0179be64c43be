//! 49. Processes are killed in the middle of writing: nothing that was acknowledged is lost, and nothing is half there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::combination::{Backend, Revision};
use crate::era;
use crate::http::IO_TIMEOUT;
use crate::place::{Place, Process};
use crate::{trail, transcripts};

/// Two processes write at the same time, as two clients on one machine would.
const WORKERS: u64 = 2;

/// Rows that are acknowledged in all.
const CREATES: usize = 10_000;

/// Requests that a worker has under way at a time.
const WINDOW: usize = 8;

/// Kills in all; `QUAD_TEST_KILLS` for more of them, `QUAD_TEST_SEED` for the moments of an earlier run.
const KILLS: u64 = 50;

const TENANT: &str = "kill";

#[test]
fn what_was_acknowledged_survives_kills() {
    let setting = |name: &str, default: u64| {
        std::env::var(name)
            .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
    };
    let kills = setting("QUAD_TEST_KILLS", KILLS);
    let seed = setting("QUAD_TEST_SEED", u64::from(std::process::id()));
    eprintln!("{kills} kills, QUAD_TEST_SEED={seed}");
    for place in Place::on_each_backend() {
        place.add_tenant(TENANT);
        place.load(TENANT, &transcripts::folder().join("backend.jsonl"));
        let written: Vec<Written> = std::thread::scope(|scope| {
            let place = &place;
            let start = |number: u64| {
                scope.spawn(move || {
                    let moments = Moments(
                        seed.wrapping_mul(WORKERS).wrapping_add(number).wrapping_mul(0x9e37_79b9) | 1,
                    );
                    Worker { place, number, moments, next: 0, written: Written::default() }
                        .run(kills / WORKERS)
                })
            };
            let workers: Vec<_> = (0..WORKERS).map(start).collect();
            workers.into_iter().map(|worker| worker.join().expect("a worker failed")).collect()
        });
        check(&place, &written);
    }
}

/// What a worker sent, and what of it was acknowledged.
#[derive(Default)]
struct Written {
    /// Emails, each with its number.
    sent: BTreeMap<String, usize>,
    /// Emails by record id.
    acknowledged: BTreeMap<String, String>,
}

struct Worker<'a> {
    place: &'a Place,
    number: u64,
    moments: Moments,
    next: usize,
    written: Written,
}

impl Worker<'_> {
    fn run(mut self, kills: u64) -> Written {
        let goal = CREATES / WORKERS as usize;
        let mean = goal as u64 / kills.max(1);
        for _ in 0..kills {
            let quota = 1 + self.moments.below(2 * mean) as usize;
            self.round(quota, true);
        }
        let left = goal.saturating_sub(self.written.acknowledged.len());
        self.round(left, false);
        self.written
    }

    /// One life of a process: it acknowledges so many rows, then it is killed with requests under way, or left to end.
    fn round(&mut self, quota: usize, kill: bool) {
        let mut command = self.place.quad(&["stdio", "--tenant", TENANT]);
        let mut process = Process(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut input = process.0.stdin.take().unwrap();
        let lines = read_lines(BufReader::new(process.0.stdout.take().unwrap()));
        let mut under_way: BTreeMap<u64, String> = BTreeMap::new();
        let mut acknowledged = 0;
        while acknowledged < quota {
            let wanted = if kill { WINDOW } else { WINDOW.min(quota - acknowledged) };
            while under_way.len() < wanted {
                let (id, email, message) = self.create();
                // A process that has died says so where its answer is awaited.
                let _ = writeln!(input, "{message}");
                under_way.insert(id, email);
            }
            let line = lines.recv_timeout(IO_TIMEOUT).expect("quad stdio did not answer");
            self.take(&line, &mut under_way);
            acknowledged += 1;
        }
        if kill {
            std::thread::sleep(Duration::from_micros(self.moments.below(4_000)));
            process.0.kill().unwrap();
        } else {
            drop(input);
        }
        process.0.wait().unwrap();
        // What was said before the end counts, although nobody had listened yet. The last line may be torn.
        for line in lines {
            if serde_json::from_str::<Value>(&line).is_ok() {
                self.take(&line, &mut under_way);
            }
        }
        assert!(kill || under_way.is_empty(), "a process ended without answering {under_way:?}");
    }

    fn create(&mut self) -> (u64, String, Value) {
        let number = self.next;
        self.next += 1;
        let id = number as u64;
        let email = format!("worker{}-{number}@example.org", self.number);
        let data =
            json!({"name": format!("Name {number}"), "email": email, "role": "x".repeat(64), "age": number});
        let params =
            json!({"name": "backend_data_create", "arguments": {"tableId": "tbl_users", "data": data}});
        let params = era::dress(Revision::MODERN, Some(params));
        self.written.sent.insert(email.clone(), number);
        (id, email, json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    }

    fn take(&mut self, line: &str, under_way: &mut BTreeMap<u64, String>) {
        let reply: Value = serde_json::from_str(line).unwrap();
        let email = reply["id"].as_u64().and_then(|id| under_way.remove(&id)).expect("an answer to nothing");
        assert_eq!(reply["result"]["isError"], false, "{reply:#}");
        let created = &reply["result"]["structuredContent"];
        assert_eq!(created["email"], email.as_str());
        self.written.acknowledged.insert(created["id"].as_str().unwrap().to_owned(), email);
    }
}

/// The lines of a process, as they come.
pub fn read_lines(output: impl BufRead + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Numbers that look random and are the same for the same seed (xorshift).
pub struct Moments(pub u64);

impl Moments {
    /// The next one, below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

fn check(place: &Place, written: &[Written]) {
    let tenant = place.tenant_id(TENANT);
    let catalogue = format!("FROM bkend_table WHERE tenant_id = '{tenant}' AND id = 'tbl_users'");
    let physical =
        place.query(&format!("SELECT physical_schema, physical_name, row_count {catalogue}")).remove(0);
    let part = |index: usize| physical[index].clone().unwrap();
    let table = match place.backend {
        Backend::Sqlite => format!("\"{}\"", part(1)),
        Backend::Postgres => format!("\"{}\".\"{}\"", part(0), part(1)),
    };
    let rows =
        place.query(&format!("SELECT id, name, email, role, age, \"createdAt\", \"updatedAt\" FROM {table}"));
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for row in rows {
        let column = |index: usize| row[index].clone().unwrap_or_default();
        if column(0) == "rec_abc123" {
            continue;
        }
        let number = written.iter().find_map(|worker| worker.sent.get(&column(2)));
        let number = number.unwrap_or_else(|| panic!("nobody sent this row: {row:?}"));
        assert_eq!(column(1), format!("Name {number}"), "{row:?}");
        assert_eq!(column(3), "x".repeat(64), "{row:?}");
        assert_eq!(column(4).parse::<f64>().unwrap(), *number as f64, "{row:?}");
        assert!(!column(5).is_empty() && column(5) == column(6), "{row:?}");
        found.insert(column(0), column(2));
    }
    let acknowledged: usize = written.iter().map(|worker| worker.acknowledged.len()).sum();
    for (id, email) in written.iter().flat_map(|worker| &worker.acknowledged) {
        assert_eq!(found.get(id), Some(email), "an acknowledged row is lost");
    }
    // One row came with the fixture.
    assert_eq!(part(2), (found.len() + 1).to_string(), "row_count and the rows differ");
    let events = trail::verify(place, TENANT);
    let writes: Vec<&Value> =
        events.iter().map(|event| &event["outputs"]).filter(|o| o["record_id"].is_string()).collect();
    let versions: Vec<u64> = writes.iter().filter_map(|outputs| outputs["version"].as_u64()).collect();
    let expected: Vec<u64> = (1..=versions.len() as u64).collect();
    assert_eq!(versions, expected, "the versions have gaps");
    let recorded = writes.iter().filter_map(|outputs| outputs["record_id"].as_str());
    let recorded: BTreeSet<&str> = recorded.filter(|id| *id != "rec_abc123").collect();
    let present: BTreeSet<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(recorded, present, "the trail and the rows differ");
    assert!(acknowledged >= CREATES, "{acknowledged} rows were acknowledged");
    let mut client = Client::over_stdio(Revision::MODERN, place.quad(&["stdio", "--tenant", TENANT]));
    let arguments = json!({"name": "backend_table_get", "arguments": {"tableId": "tbl_users"}});
    let table = client.request("tools/call", Some(arguments)).outcome.unwrap();
    assert_eq!(table["structuredContent"]["stats"]["rowCount"], found.len() + 1);
    eprintln!("{}: {acknowledged} rows acknowledged, {} there", place.backend, found.len());
}
