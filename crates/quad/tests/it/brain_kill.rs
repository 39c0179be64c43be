//! Kills imports of a bank statement again and again: the next import continues, every row is stored once, and all
//! totals are right.

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::audit_chain;
use crate::helpers::{Rng, env_number, sum_field};
use crate::instance::{Process, TestInstance};

/// Entries of each of the two accounts of the file.
const ENTRIES: usize = 5_500;

/// Posted rows after which a process is killed: before the first commit, between commits, and before the last.
const KILL_AFTER_ROWS: [usize; 6] = [0, 1, 2_500, 5_500, 6_500, 10_000];

const TENANT: &str = "money";

#[test]
fn killed_import_resumes_and_adds_each_row_once() {
    let seed = env_number("QUAD_TEST_SEED", u64::from(std::process::id()));
    eprintln!("QUAD_TEST_SEED={seed}");
    for instance in TestInstance::on_each_backend() {
        instance.add_tenant(TENANT);
        let file = instance.folder().join("two.csv");
        std::fs::write(&file, statement_csv()).unwrap();
        let arguments = ["brain", "import", file.to_str().unwrap(), "--tenant", TENANT, "--json"];
        let mut rng = Rng::for_worker(seed, 1, 0);
        let mut was_interrupted = false;
        for row_count in KILL_AFTER_ROWS {
            let mut command = instance.quad_command(&arguments);
            let mut process = Process(command.stdout(Stdio::null()).spawn().unwrap());
            while posted_row_count(&instance) < row_count {
                let exit_status = process.0.try_wait().unwrap();
                assert_eq!(exit_status, None, "the import ended before {row_count} rows were posted");
            }
            std::thread::sleep(Duration::from_micros(rng.below(30_000)));
            process.0.kill().unwrap();
            process.0.wait().unwrap();
            was_interrupted |= posted_row_count(&instance) < 2 * ENTRIES;
        }
        assert!(was_interrupted, "no kill interrupted an import");
        let before = posted_row_count(&instance);
        let file = &run_import(&instance, &arguments)["files"][0];
        assert_eq!(sum_field(file, "entries"), 2 * ENTRIES, "{file:#}");
        assert_eq!(sum_field(file, "known"), before, "{file:#}");
        assert_eq!(sum_field(file, "added"), 2 * ENTRIES - before, "{file:#}");
        // An import that was killed after its last row may already be recorded as done.
        assert!(before == 2 * ENTRIES || file["resumed"] == true, "{file:#}");
        check_ledger(&instance);
        let second_import = &run_import(&instance, &arguments)["files"][0];
        assert_eq!(
            (sum_field(second_import, "added"), sum_field(second_import, "known")),
            (0, 2 * ENTRIES),
            "{second_import:#}"
        );
        assert_eq!(second_import["resumed"], false);
        check_ledger(&instance);
        audit_chain::verify(&instance, TENANT);
    }
}

/// Two accounts whose lines alternate. Equal lines are separate purchases.
fn statement_csv() -> String {
    let mut csv = String::from("Account,Date,Payee,Description,Amount,Currency\n");
    for row in 0..ENTRIES {
        // Five equal lines: only their number distinguishes them.
        let kind = row / 5;
        let (day, shop, units, cents) = (kind * 5 * 28 / ENTRIES + 1, kind % 40, kind % 90 + 1, kind % 40);
        for account in ["10001", "10002"] {
            writeln!(csv, "{account},2025-03-{day:02},Shop {shop},Purchase {kind},-{units}.{cents:02},USD")
                .unwrap();
        }
    }
    csv
}

/// The sum of the rows of one account, in cents.
fn total_cents_per_account() -> i64 {
    (0..ENTRIES).map(|row| ((row / 5 % 90 + 1) * 100 + row / 5 % 40) as i64).sum()
}

fn run_import(instance: &TestInstance, arguments: &[&str]) -> Value {
    serde_json::from_str(&instance.run(arguments)).unwrap()
}

fn posted_row_count(instance: &TestInstance) -> usize {
    instance.query_one("SELECT COUNT(*) FROM brain_transaction").parse().unwrap()
}

/// Checks that every entry and its evidence is stored once, and that all totals are right.
fn check_ledger(instance: &TestInstance) {
    let query_value = |sql: &str| instance.query_one(sql);
    assert_eq!(posted_row_count(instance), 2 * ENTRIES);
    assert_eq!(query_value("SELECT COUNT(*) FROM brain_raw"), "1");
    assert_eq!(query_value("SELECT projection_status FROM brain_raw"), "projected");
    assert_eq!(query_value("SELECT COUNT(*) FROM brain_parsed"), "1");
    let (units, cents) = (total_cents_per_account() / 100, total_cents_per_account() % 100);
    let accounts = instance.query(
        "SELECT current_balance_units, current_balance_nanos, transaction_count FROM brain_account ORDER BY id",
    );
    let expected_account =
        [-units, -cents * 10_000_000, ENTRIES as i64].map(|number| Some(number.to_string()));
    assert_eq!(accounts, [expected_account.to_vec(), expected_account.to_vec()]);
    let total = "FROM brain_total WHERE kind = 'all' AND period = '2025-03' AND direction = 'outflow'";
    assert_eq!(query_value(&format!("SELECT count {total}")), (2 * ENTRIES).to_string());
    let expected_nanos = i128::from(total_cents_per_account()) * 2 * 10_000_000;
    let (actual_units, actual_nanos): (i128, i128) = (
        query_value(&format!("SELECT units {total}")).parse().unwrap(),
        query_value(&format!("SELECT nanos {total}")).parse().unwrap(),
    );
    assert_eq!(actual_units * 1_000_000_000 + actual_nanos, expected_nanos);
}
