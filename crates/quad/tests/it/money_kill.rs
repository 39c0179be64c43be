//! Imports of a bank statement are killed half-way, again and again: the next one goes on, every row is there once, and what
//! it says adds up.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::kill::Moments;
use crate::place::{Place, Process};
use crate::trail;

/// Entries of each of the two accounts of the file.
const ENTRIES: usize = 5_500;

/// How many rows are posted when a life of the process ends, at least: before the first, between, and with one commit left.
const DEATHS: [usize; 6] = [0, 1, 2_500, 5_500, 6_500, 10_000];

const TENANT: &str = "money";

#[test]
fn an_import_that_is_killed_goes_on() {
    let seed = std::env::var("QUAD_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("QUAD_TEST_SEED={seed}");
    for place in Place::on_each_backend() {
        place.add_tenant(TENANT);
        let file = place.folder().join("two.csv");
        std::fs::write(&file, statement()).unwrap();
        let arguments = ["brain", "import", file.to_str().unwrap(), "--tenant", TENANT, "--json"];
        let mut moments = Moments(seed.wrapping_mul(0x9e37_79b9) | 1);
        let mut was_interrupted = false;
        for death in DEATHS {
            let mut command = place.quad(&arguments);
            let mut process = Process(command.stdout(Stdio::null()).spawn().unwrap());
            while posted(&place) < death {
                let ended = process.0.try_wait().unwrap();
                assert_eq!(ended, None, "the import ended before {death} rows were there");
            }
            std::thread::sleep(Duration::from_micros(moments.below(30_000)));
            process.0.kill().unwrap();
            process.0.wait().unwrap();
            was_interrupted |= posted(&place) < 2 * ENTRIES;
        }
        assert!(was_interrupted, "every import was faster than its death");
        let before = posted(&place);
        let file = &import(&place, &arguments)["files"][0];
        assert_eq!(sum(file, "entries"), 2 * ENTRIES, "{file:#}");
        assert_eq!(sum(file, "known"), before, "{file:#}");
        assert_eq!(sum(file, "added"), 2 * ENTRIES - before, "{file:#}");
        // One that was killed after its last row may have said that it was done.
        assert!(before == 2 * ENTRIES || file["resumed"] == true, "{file:#}");
        check(&place);
        let again = &import(&place, &arguments)["files"][0];
        assert_eq!((sum(again, "added"), sum(again, "known")), (0, 2 * ENTRIES), "{again:#}");
        assert_eq!(again["resumed"], false);
        check(&place);
        trail::verify(&place, TENANT);
    }
}

/// Two accounts whose lines alternate. Equal lines are separate purchases.
fn statement() -> String {
    let mut csv = String::from("Account,Date,Payee,Description,Amount,Currency\n");
    for row in 0..ENTRIES {
        // Five of a kind: only how many they are tells them apart.
        let kind = row / 5;
        let (day, shop, units, cents) = (kind * 5 * 28 / ENTRIES + 1, kind % 40, kind % 90 + 1, kind % 40);
        for account in ["10001", "10002"] {
            writeln!(csv, "{account},2025-03-{day:02},Shop {shop},Purchase {kind},-{units}.{cents:02},USD")
                .unwrap();
        }
    }
    csv
}

/// What the rows of one account add up to, in cents.
fn spent() -> i64 {
    (0..ENTRIES).map(|row| ((row / 5 % 90 + 1) * 100 + row / 5 % 40) as i64).sum()
}

fn import(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&place.run(arguments)).unwrap()
}

fn sum(file: &Value, field: &str) -> usize {
    let statements = file["statements"].as_array().unwrap();
    statements.iter().map(|statement| statement[field].as_u64().unwrap() as usize).sum()
}

fn posted(place: &Place) -> usize {
    place.query_one("SELECT COUNT(*) FROM brain_transaction").parse().unwrap()
}

/// Every entry once, its evidence once, and every sum right.
fn check(place: &Place) {
    let one = |sql: &str| place.query_one(sql);
    assert_eq!(posted(place), 2 * ENTRIES);
    assert_eq!(one("SELECT COUNT(*) FROM brain_raw"), "1");
    assert_eq!(one("SELECT projection_status FROM brain_raw"), "projected");
    assert_eq!(one("SELECT COUNT(*) FROM brain_parsed"), "1");
    let (units, cents) = (spent() / 100, spent() % 100);
    let accounts = place.query(
        "SELECT current_balance_units, current_balance_nanos, transaction_count FROM brain_account ORDER BY id",
    );
    let held = [-units, -cents * 10_000_000, ENTRIES as i64].map(|number| Some(number.to_string()));
    assert_eq!(accounts, [held.to_vec(), held.to_vec()]);
    let total = "FROM brain_total WHERE kind = 'all' AND period = '2025-03' AND direction = 'outflow'";
    assert_eq!(one(&format!("SELECT count {total}")), (2 * ENTRIES).to_string());
    let nanos = i128::from(spent()) * 2 * 10_000_000;
    let (kept_units, kept_nanos): (i128, i128) = (
        one(&format!("SELECT units {total}")).parse().unwrap(),
        one(&format!("SELECT nanos {total}")).parse().unwrap(),
    );
    assert_eq!(kept_units * 1_000_000_000 + kept_nanos, nanos);
}
