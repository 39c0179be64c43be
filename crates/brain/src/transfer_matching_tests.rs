//! Tests of transfer matching, from statements to transfers: what is matched, what is reported as ambiguous, and that
//! all sums stay correct.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::import::{FileReport, ImportOptions};
use crate::listing::page_by_id;
use crate::property_tests::stored_and_recomputed;
use crate::testing::{TestEnv, test_envs};
use crate::transaction::{Direction, Effect, Transaction};
use crate::transfer::Transfer;
use crate::{calendar, contribution, limits};

async fn import_csv(env: &TestEnv, account: Option<&str>, csv: &str) -> FileReport {
    let options = ImportOptions { account: account.map(str::to_owned), ..ImportOptions::default() };
    env.import("a.csv", csv, &options).await.unwrap()
}

fn csv(entries: &[(u8, &str, &str)]) -> String {
    let mut csv = String::from("Date,Description,Amount,Currency\n");
    for (day, description, amount) in entries {
        csv.push_str(&format!("2025-01-{day:02},{description},{amount},USD\n"));
    }
    csv
}

async fn count_directions(env: &TestEnv) -> BTreeMap<String, usize> {
    let page = env.call("ledger_transactions_list", json!({})).await.unwrap();
    let mut counts = BTreeMap::new();
    for row in page["items"].as_array().unwrap() {
        *counts.entry(row["direction"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_sides_match_in_either_import_order() {
    for env in test_envs().await {
        env.load_three_accounts().await;
        let first = import_csv(
            &env,
            Some("acct_0"),
            &csv(&[(3, "Transfer to savings", "-100.00"), (4, "Bakery", "-100.00")]),
        )
        .await;
        assert_eq!((first.transfers.paired, first.transfers.ambiguous), (0, 0));
        // Three days later, and not marked as a transfer by its own bank.
        let second =
            import_csv(&env, Some("acct_1"), &csv(&[(7, "From A", "100.00"), (20, "Transfer", "55.00")]))
                .await;
        assert_eq!((second.transfers.paired, second.transfers.ambiguous), (1, 0));
        let expect =
            BTreeMap::from([("inflow".to_owned(), 1), ("outflow".to_owned(), 1), ("transfer".to_owned(), 2)]);
        assert_eq!(count_directions(&env).await, expect);
        let page = env.call("ledger_transactions_list", json!({"direction": "transfer"})).await.unwrap();
        let (into, out) = (&page["items"][0], &page["items"][1]);
        let transaction_uri =
            |row: &Value| format!("brain://ledger/transactions/{}", row["id"].as_str().unwrap());
        let transaction = env.read(&transaction_uri(out)).await.unwrap();
        assert_eq!(transaction["transfer"]["other_transaction_id"], into["id"]);
        assert_eq!(transaction["reconciliation_status"], "matched");
        assert_eq!(env.read(&transaction_uri(into)).await.unwrap()["transfer"]["other_account_id"], "acct_0");
        // A second import finds nothing new.
        let again =
            import_csv(&env, Some("acct_1"), &csv(&[(7, "From A", "100.00"), (20, "Transfer", "55.00")]))
                .await;
        assert_eq!((again.transfers.paired, again.statements[0].posted.unchanged), (0, 2));
        let (stored, recomputed) = stored_and_recomputed(&env).await;
        assert_eq!(stored, recomputed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_transfer_is_reported() {
    for env in test_envs().await {
        env.load_three_accounts().await;
        import_csv(&env, Some("acct_0"), &csv(&[(3, "Transfer", "-100.00")])).await;
        import_csv(&env, Some("acct_1"), &csv(&[(4, "Gift", "40.00")])).await;
        let two_credits = csv(&[(4, "From A", "100.00"), (5, "From B", "100.00")]);
        let report = import_csv(&env, Some("acct_2"), &two_credits).await;
        assert_eq!((report.transfers.paired, report.transfers.ambiguous), (0, 1));
        let message = &report.transfers.messages[0];
        assert!(message.contains("100.00 USD on 2025-01-03") && message.contains(" or "), "{message}");
        assert_eq!(count_directions(&env).await.get("transfer"), None);
        // Equal amounts that are not marked as transfers are not matched, nor are transfers too far apart.
        import_csv(&env, Some("acct_0"), &csv(&[(4, "Gift", "-40.00"), (20, "Transfer", "-70.00")])).await;
        let far = import_csv(&env, Some("acct_1"), &csv(&[(26, "Transfer", "70.00")])).await;
        assert_eq!((far.transfers.paired, far.transfers.ambiguous), (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn explicit_account_number_wins() {
    const HEAD: &str = "Account,Date,Counterparty account,Description,Amount,Currency\n";
    for env in test_envs().await {
        // Two accounts received the same amount that day; the sender names the account.
        let report = import_csv(
            &env,
            None,
            &format!("{HEAD}1001,2025-01-03,1003,Payment,-100.00,USD\n1002,2025-01-03,,Deposit,100.00,USD\n1003,2025-01-03,,Deposit,100.00,USD\n"),
        )
        .await;
        assert_eq!((report.transfers.paired, report.transfers.ambiguous), (1, 0), "{:?}", report.transfers);
        let page = env.call("ledger_transactions_list", json!({"direction": "transfer"})).await.unwrap();
        assert_eq!(page["items"].as_array().unwrap().len(), 2);
        // A transfer to an unknown number is spending.
        let report = import_csv(
            &env,
            None,
            &format!("{HEAD}1001,2025-02-03,7777,Transfer,-60.00,USD\n1002,2025-02-03,,Deposit,60.00,USD\n"),
        )
        .await;
        assert_eq!((report.transfers.paired, report.transfers.ambiguous), (0, 0), "{:?}", report.transfers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_rows_are_unconfirmed_until_bank_row_matches() {
    for env in test_envs().await {
        env.load_three_accounts().await;
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
        let payload = csv(&[(3, "Transfer", "100.00"), (4, "Tea", "-3.00")]);
        let arguments =
            json!({"payload": payload, "mime_type": "text/csv", "source_ref": {"account_id": "acct_0"}});
        env.call("raw_contribute", arguments).await.unwrap();
        let account = async || env.read("brain://ledger/accounts/acct_0").await.unwrap()["account"].clone();
        assert_eq!(
            (&account().await["current_balance"], &account().await["includes_unconfirmed"]),
            (&json!("97.00"), &json!("97.00"))
        );
        // The statement of the other account has the other side.
        let report = import_csv(&env, Some("acct_1"), &csv(&[(2, "Transfer", "-100.00")])).await;
        assert_eq!(report.transfers.paired, 1);
        assert_eq!(
            (&account().await["current_balance"], &account().await["includes_unconfirmed"]),
            (&json!("97.00"), &json!("-3.00"))
        );
        let answer = env.ask("What is the balance of acct_0?").await;
        assert!(
            answer["answer"].as_str().unwrap().contains("of which -3.00 USD are unconfirmed"),
            "{answer}"
        );
        // A reported balance includes everything before it.
        env.load(r#"{"kind":"balance","account_id":"acct_0","as_of":"2025-01-31","current_balance":"97.00","currency":"USD"}"#).await.unwrap();
        assert_eq!(account().await.get("includes_unconfirmed"), None);
        let (stored, recomputed) = stored_and_recomputed(&env).await;
        assert_eq!(stored, recomputed);
    }
}

/// A statement of one account: small amounts within some days, some of them marked as transfers.
#[derive(Clone, Debug)]
struct TestStatement {
    account: u8,
    by_agent: bool,
    entries: Vec<(u8, u8, bool, bool)>,
}

fn test_statement() -> impl Strategy<Value = TestStatement> {
    let entry = (1_u8..28, 1_u8..5, any::<bool>(), any::<bool>());
    (0_u8..3, any::<bool>(), prop::collection::vec(entry, 1..8))
        .prop_map(|(account, by_agent, entries)| TestStatement { account, by_agent, entries })
}

impl TestStatement {
    fn csv(&self) -> String {
        let mut csv = String::from("Date,Description,Amount,Currency\n");
        for (day, amount, is_out, is_transfer) in &self.entries {
            let (sign, description) =
                (if *is_out { "-" } else { "" }, if *is_transfer { "Transfer" } else { "Groceries" });
            csv.push_str(&format!("2025-01-{day:02},{description},{sign}{amount}0.00,USD\n"));
        }
        csv
    }
}

#[test]
fn transfer_matching_preserves_sums() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // Each case creates a database.
    let mut runner = TestRunner::new(Config { cases: 12, max_shrink_iters: 100, ..Config::default() });
    let paired = std::cell::Cell::new(0);
    let outcome = runner.run(&prop::collection::vec(test_statement(), 2..7), |files| {
        runtime.block_on(async {
            for env in test_envs().await {
                env.load_three_accounts().await;
                contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
                for file in &files {
                    let account = format!("acct_{}", file.account);
                    if file.by_agent {
                        let arguments = json!({"payload": file.csv(), "source_ref": {"account_id": account}});
                        env.call("raw_contribute", arguments).await.unwrap();
                    } else {
                        import_csv(&env, Some(&account), &file.csv()).await;
                    }
                    let (stored, recomputed) = stored_and_recomputed(&env).await;
                    assert_eq!(stored, recomputed);
                }
                paired.set(paired.get() + check_transfers(&env).await);
            }
        });
        Ok(())
    });
    outcome.unwrap();
    assert!(paired.get() > 0, "nothing was ever paired");
}

/// Checks that the sides of every transfer fit and that no transaction has two transfers. Returns the number of
/// transfers.
async fn check_transfers(env: &TestEnv) -> usize {
    let read = env.test_store.store.read(&env.test_store.tenant, |sql| {
        Ok((page_by_id::<Transfer>(sql, "", 1_000)?, page_by_id::<Transaction>(sql, "", 1_000)?))
    });
    let (transfers, rows) = read.await.unwrap();
    let mut sides: Vec<&str> = Vec::new();
    for transfer in &transfers {
        let side = |id: &str| rows.iter().find(|row| row.id.as_str() == id).unwrap();
        let (from, to) =
            (side(transfer.from_transaction_id.as_str()), side(transfer.to_transaction_id.as_str()));
        assert_eq!((from.effect, to.effect), (Effect::Debit, Effect::Credit));
        assert_eq!((from.direction, to.direction), (Direction::Transfer, Direction::Transfer));
        assert_eq!((from.amount, from.currency), (to.amount, to.currency));
        assert_ne!(from.account_id, to.account_id);
        let distance_ms = (from.transaction_date.0 - to.transaction_date.0).abs();
        assert!(distance_ms <= limits::TRANSFER_DAYS * calendar::DAY_MS);
        sides.extend([from.id.as_str(), to.id.as_str()]);
    }
    let count = sides.len();
    sides.sort_unstable();
    sides.dedup();
    assert_eq!(sides.len(), count, "a transaction is a side of two transfers");
    transfers.len()
}
