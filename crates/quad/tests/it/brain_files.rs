//! Imports statements of every format into the ledger, by command and as evidence of an agent. The files contain odd
//! cases from practice: byte order marks, CRLF, thousands separators, trailing minus signs, duplicate ids, time zones,
//! refunds, and transfers between own accounts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use serde_json::{Value, json};

use crate::audit_chain;
use crate::helpers::{run_tool, sum_field};
use crate::instance::TestInstance;

/// The tenant of the commands, and the tenant whose agent contributes the same files.
const PERSON: &str = "person";
const AGENT: &str = "agent";

/// A file of the corpus, its account if it names none, and the expected numbers of entries and paired transfers.
struct CorpusFile {
    name: &'static str,
    account: Option<&'static str>,
    format: &'static str,
    added: usize,
    paired: usize,
}

const fn corpus_file(name: &'static str, format: &'static str, added: usize) -> CorpusFile {
    CorpusFile { name, account: None, format, added, paired: 0 }
}

/// In the order in which they are imported: later files find the accounts of earlier ones.
const FILES: [CorpusFile; 9] = [
    corpus_file("us_bank.ofx", "ofx", 5),
    // It contains one entry twice with one id, and two entries with another id.
    corpus_file("card.qfx", "ofx", 5),
    corpus_file("xml_two_accounts.ofx", "ofx", 2),
    corpus_file("statement_02.xml", "camt", 4),
    corpus_file("statements_08.xml", "camt", 2),
    CorpusFile { paired: 1, ..corpus_file("household.journal", "hledger", 12) },
    CorpusFile { paired: 1, ..corpus_file("own_accounts.csv", "csv", 4) },
    CorpusFile { account: Some("acct_shop"), ..corpus_file("processor_time_zone.csv", "csv", 3) },
    CorpusFile { account: Some("acct_es"), ..corpus_file("es_trailing_minus.csv", "csv", 4) },
];

/// The final balance of each account, by its number or id.
const BALANCES: [(&str, &str); 12] = [
    ("999000111/0042004200", "2345.67"),
    ("XXXXXXXXXXXX4242", "-16.50"),
    // The bank's balance of 3000.00 in March, minus the transfer to savings and a fee.
    ("DE72500999990123456789", "2698.00"),
    ("DE24500999990987654321", "301.25"),
    ("CH1709999000123456789", "601.00"),
    ("USD-77", "0.00"),
    // Pending entries do not count: two of 3.40.
    ("assets:bank:giro/EUR", "656.80"),
    ("assets:bank:savings/EUR", "200.00"),
    ("assets:cash:usd/USD", "97.50"),
    ("liabilities:visa/EUR", "20.00"),
    ("Umlauf/EUR", "1.00"),
    ("acct_es", "2182.50"),
];

fn corpus_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../statements/tests/statements").join(name)
}

fn instances_with_accounts() -> Vec<TestInstance> {
    let instances = TestInstance::on_each_backend();
    for instance in &instances {
        for tenant in [PERSON, AGENT] {
            instance.add_tenant(tenant);
            for (id, name, currency) in [("acct_shop", "Shop", "USD"), ("acct_es", "Cuenta", "EUR")] {
                instance.run(&[
                    "brain",
                    "add",
                    "account",
                    name,
                    "--currency",
                    currency,
                    "--id",
                    id,
                    "--tenant",
                    tenant,
                ]);
            }
        }
    }
    instances
}

fn import_file(instance: &TestInstance, path: &Path, account: Option<&str>) -> Value {
    let mut arguments = vec!["brain", "import", path.to_str().unwrap(), "--tenant", PERSON, "--json"];
    arguments.extend(account.into_iter().flat_map(|account| ["--account", account]));
    let printed: Value = serde_json::from_str(&instance.run(&arguments)).unwrap();
    printed["files"][0].clone()
}

fn list_accounts(instance: &TestInstance, tenant: &str) -> Vec<Value> {
    let page = run_tool(instance, tenant, "ledger.accounts.list", &json!({"limit": 100}));
    page["items"].as_array().unwrap().clone()
}

/// The balances of all accounts, by number or id.
fn balances_by_account(instance: &TestInstance, tenant: &str) -> BTreeMap<String, String> {
    let name_and_balance = |account: &Value| {
        let name = account["external_account_id"].as_str().or(account["id"].as_str()).unwrap();
        (name.to_owned(), account["current_balance"].as_str().unwrap().to_owned())
    };
    list_accounts(instance, tenant).iter().map(name_and_balance).collect()
}

/// All rows without their provenance.
fn transaction_rows(instance: &TestInstance, tenant: &str) -> Vec<Vec<Option<String>>> {
    let tenant = instance.tenant_id(tenant);
    instance.query(&format!(
        "SELECT t.transaction_date, t.amount_units, t.amount_nanos, t.currency, t.direction, t.effect, t.status, \
         t.external_transaction_id, t.posted_date, t.description_raw, COALESCE(a.external_account_id, a.id) \
         FROM brain_transaction t JOIN brain_account a ON a.tenant_id = t.tenant_id AND a.id = t.account_id \
         WHERE t.tenant_id = '{tenant}' ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"
    ))
}

#[test]
fn every_format_imports_by_command_and_as_evidence() {
    for instance in instances_with_accounts() {
        for file in &FILES {
            let report = import_file(&instance, &corpus_path(file.name), file.account);
            assert_eq!(report["format"], file.format, "{}", file.name);
            assert_eq!(sum_field(&report, "added"), file.added, "{} {report:#}", file.name);
            assert_eq!(report["transfers"]["paired"], file.paired, "{} {report:#}", file.name);
        }
        let actual_balances = balances_by_account(&instance, PERSON);
        for (account, balance) in BALANCES {
            assert_eq!(
                actual_balances.get(account).map(String::as_str),
                Some(balance),
                "{account} in {actual_balances:#?}"
            );
        }
        assert_eq!(actual_balances.len(), BALANCES.len() + 1, "{actual_balances:#?}");
        assert_eq!(actual_balances["acct_shop"], "0.00");
        check_time_zones_and_refunds(&instance);
        let before = transaction_rows(&instance, PERSON);
        check_reimport_adds_nothing(&instance);
        assert_eq!(transaction_rows(&instance, PERSON), before);
        assert_eq!(balances_by_account(&instance, PERSON), actual_balances);
        check_contribution_as_evidence(&instance, &before);
        audit_chain::verify(&instance, PERSON);
        audit_chain::verify(&instance, AGENT);
        check_export_balances(&instance);
    }
}

/// The date is the bank's local date; the time is exact. A refund is an inflow.
fn check_time_zones_and_refunds(instance: &TestInstance) {
    let page = run_tool(instance, PERSON, "ledger.transactions.list", &json!({"limit": 100}));
    let items = page["items"].as_array().unwrap();
    let with_id = |id: &str| items.iter().find(|row| row["external_transaction_id"] == id).unwrap();
    let coffee = with_id("2024010512345");
    assert_eq!(coffee["transaction_date"], "2024-01-05T00:00:00.000Z");
    assert_eq!(coffee["posted_date"], "2024-01-06T04:00:00.000Z");
    let refund = with_id("C0003");
    assert_eq!((&refund["direction"], &refund["amount"]), (&json!("inflow"), &json!("99.99")));
    let transfer_rows: Vec<&Value> = items.iter().filter(|row| row["amount"] == "300.00").collect();
    assert!(
        transfer_rows.len() == 2 && transfer_rows.iter().all(|row| row["direction"] == "transfer"),
        "{transfer_rows:#?}"
    );
    assert!(transfer_rows.iter().all(|row| row["reconciliation_status"] == "matched"), "{transfer_rows:#?}");
}

/// Imports the same files again, unchanged and with other line ends and a byte order mark. No entry is added.
fn check_reimport_adds_nothing(instance: &TestInstance) {
    for file in &FILES {
        let report = import_file(instance, &corpus_path(file.name), file.account);
        assert_eq!(
            (sum_field(&report, "added"), sum_field(&report, "updated")),
            (0, 0),
            "{} {report:#}",
            file.name
        );
        assert_eq!(report["transfers"]["paired"], 0, "{}", file.name);
        let text = std::fs::read_to_string(corpus_path(file.name)).unwrap();
        let with_bom_and_crlf = format!("\u{feff}{}", text.replace("\r\n", "\n").replace('\n', "\r\n"));
        let path = instance.folder().join(file.name);
        std::fs::write(&path, with_bom_and_crlf).unwrap();
        let report = import_file(instance, &path, file.account);
        assert_eq!(
            (sum_field(&report, "added"), sum_field(&report, "updated")),
            (0, 0),
            "{} {report:#}",
            file.name
        );
    }
}

/// An agent contributes the same files. The rows are equal except for their provenance.
fn check_contribution_as_evidence(instance: &TestInstance, expected: &[Vec<Option<String>>]) {
    instance.run(&["brain", "release", "agent_local", "--tenant", AGENT]);
    for file in &FILES {
        let payload =
            base64::engine::general_purpose::STANDARD.encode(std::fs::read(corpus_path(file.name)).unwrap());
        let source = file.account.map_or(json!({}), |account| json!({"account_id": account}));
        let arguments = json!({"payload": payload, "encoding": "base64", "source_ref": source});
        for deduplicated in [false, true] {
            let result = run_tool(instance, AGENT, "raw.contribute", &arguments);
            assert_eq!(result["deduplicated"], deduplicated, "{}", file.name);
        }
    }
    assert_eq!(transaction_rows(instance, AGENT), expected);
    let page = run_tool(instance, AGENT, "ledger.transactions.list", &json!({"limit": 100}));
    for row in page["items"].as_array().unwrap() {
        assert_eq!((&row["provenance"], &row["confidence"]), (&json!("agent_contributed"), &json!(0.5)));
    }
    for account in list_accounts(instance, AGENT) {
        let has_rows =
            expected.iter().any(|row| row[10].as_deref() == account["external_account_id"].as_str());
        assert!(!has_rows || account["includes_unconfirmed"].is_string(), "{account:#}");
    }
}

/// hledger computes the same balances from the export.
fn check_export_balances(instance: &TestInstance) {
    let journal = instance.folder().join("out.journal");
    instance.run(&["brain", "export", journal.to_str().unwrap(), "--tenant", PERSON]);
    let mut command = Command::new("hledger");
    command.arg("-f").arg(&journal).args(["balance", "--flat", "--empty", "--no-total", "-O", "csv"]);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            assert!(
                std::env::var_os("CI").is_none(),
                "hledger does not start: {error}; ./x setup installs it"
            );
            eprintln!(
                "balances of the export are not compared: hledger does not start ({error}); ./x setup installs it"
            );
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    for account in list_accounts(instance, PERSON) {
        let id = account["id"].as_str().unwrap();
        let line = printed.lines().find(|line| line.contains(&format!(":{id}\"")));
        // An account without transactions is not in the journal.
        let hledger_cents = line.map_or(0, |line| {
            let amount = line.rsplit("\",\"").next().unwrap().trim_end_matches('"');
            parse_cents(amount.split(' ').next().unwrap())
        });
        assert_eq!(
            hledger_cents,
            parse_cents(account["current_balance"].as_str().unwrap()),
            "{id}\n{printed}"
        );
    }
}

fn parse_cents(text: &str) -> i64 {
    let digits = text.replace(['.', ','], "");
    let decimals = text.rsplit_once('.').map_or(0, |(_, fraction)| fraction.len());
    digits.parse::<i64>().unwrap() * 10_i64.pow(2 - u32::try_from(decimals).unwrap())
}
