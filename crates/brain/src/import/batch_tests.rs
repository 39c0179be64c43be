//! A batch import equals importing the files one after the other, also when one of them is refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quad_core::Kind;
use quad_store::audit::block;
use quad_store::{Sql as _, Tx, params};
use serde_json::{Value, json};

use super::job::ImportJob;
use super::prefetch::Prefetcher;
use super::{FileReport, ImportError, ImportEvent, ImportFile, ImportOptions, schedule};
use crate::limits;
use crate::property_tests::{AccountSums, stored_and_recomputed};
use crate::testing::{TestEnv, test_envs};

/// A statement of one of three accounts: entries of (day, payee, cents, pending), and perhaps a closing balance.
#[derive(Clone, Debug)]
struct TestStatement {
    account: u8,
    entries: Vec<(u8, &'static str, i32, bool)>,
    closing: Option<i32>,
    defect: Defect,
}

/// The reason why a file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    None,
    /// The account does not exist; detected when the file is parsed.
    UnknownAccount,
    /// The currency differs from the account's; detected when the batch is posted.
    WrongCurrency,
}

impl TestStatement {
    fn to_file(&self, number: usize) -> ImportFile {
        let mut csv = String::new();
        let currency = if self.defect == Defect::WrongCurrency { "EUR" } else { "USD" };
        if let Some(closing) = self.closing {
            csv.push_str(&format!("Closing balance,{closing}.00\n"));
        }
        csv.push_str("Date,Payee,Description,Amount,Currency,Status\n");
        for (day, payee, cents, is_pending) in &self.entries {
            let (sign, cents) = (if *cents < 0 { "-" } else { "" }, cents.abs());
            let status = if *is_pending { "pending" } else { "booked" };
            csv.push_str(&format!(
                "2025-01-{day:02},{payee},{payee},{sign}{}.{:02},{currency},{status}\n",
                cents / 100,
                cents % 100
            ));
        }
        let account = if self.defect == Defect::UnknownAccount { 9 } else { self.account };
        let options = ImportOptions { account: Some(format!("acct_{account}")), ..ImportOptions::default() };
        ImportFile { name: format!("{number}.csv"), bytes: csv.into_bytes(), options }
    }
}

fn test_statement() -> impl Strategy<Value = TestStatement> {
    let payee = prop::sample::select(vec!["Bakery", "Transfer", "Transfer to savings", "Employer"]);
    let entry = (
        1_u8..20,
        payee,
        prop::sample::select(vec![-5_000, 5_000, -320, 250_000]),
        prop::bool::weighted(0.2),
    );
    let entries = prop::collection::vec(entry, 1..8);
    let defect = prop_oneof![18 => Just(Defect::None), 1 => Just(Defect::UnknownAccount), 1 => Just(Defect::WrongCurrency)];
    (0_u8..3, entries, prop::option::weighted(0.2, -50..5_000), defect)
        .prop_map(|(account, entries, closing, defect)| TestStatement { account, entries, closing, defect })
}

/// The counts of a report that must be equal in both ways.
fn report_counts(report: &FileReport) -> (usize, usize, usize, (usize, usize)) {
    let posted = &report.statements[0].posted;
    (posted.added, posted.unchanged, posted.updated, (report.transfers.paired, report.transfers.ambiguous))
}

async fn import_all(env: &TestEnv, sources: Vec<ImportFile>) -> (Vec<FileReport>, Option<ImportError>) {
    let mut reports = Vec::new();
    let on_event = |index: usize, event: ImportEvent| {
        if let ImportEvent::FileDone(report) = event {
            assert_eq!(index, reports.len(), "reports come in the order of the files");
            reports.push(*report);
        }
    };
    let sources = sources.into_iter().map(Ok);
    let failure =
        super::import_all(&env.test_store.store, &env.writer(), "test", sources, on_event).await.err();
    (reports, failure)
}

/// Accounts and totals. Totals of counterparties are left out, since their ids differ between ledgers.
async fn stored_state(env: &TestEnv) -> (Vec<AccountSums>, BTreeMap<String, (i64, i128)>) {
    let ((accounts, mut totals), recomputed) = stored_and_recomputed(env).await;
    assert_eq!((&accounts, &totals), (&recomputed.0, &recomputed.1));
    totals.retain(|name, _| !name.starts_with("counterparty"));
    (accounts, totals)
}

/// The audit actions of each commit.
async fn actions_by_commit(env: &TestEnv) -> Vec<Vec<String>> {
    let blocks = env.test_store.store.read(&env.test_store.tenant, |sql| block::blocks_after(sql, 0, 1_000));
    let action = |record: &str| {
        let record: Value = serde_json::from_str(record).unwrap();
        record["action"].as_str().unwrap().to_owned()
    };
    let blocks = blocks.await.unwrap();
    blocks.iter().map(|block| block.records().map(|(_, record)| action(record)).collect()).collect()
}

/// A prefetched file with one entry.
async fn parsed_job(env: &TestEnv, account: u8, closing: Option<i32>, defect: Defect) -> Arc<ImportJob> {
    let entries = vec![(1 + account, "Bakery", -320, false)];
    let statement = TestStatement { account, entries, closing, defect };
    let sources = [Ok(statement.to_file(usize::from(account)))].into_iter();
    let mut prefetcher = Prefetcher::start(&env.test_store.store, &env.writer(), "test", sources);
    prefetcher.next().await.unwrap().unwrap().job
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_file_rolls_back_alone() {
    for env in test_envs().await {
        env.load_three_accounts().await;
        let before = actions_by_commit(&env).await.len();
        let jobs = vec![
            parsed_job(&env, 0, None, Defect::None).await,
            parsed_job(&env, 1, None, Defect::WrongCurrency).await,
            parsed_job(&env, 2, None, Defect::None).await,
        ];
        let (reports, failure) =
            schedule::import_batch_or_each(&env.test_store.store, &env.writer(), jobs).await;
        assert_eq!(reports.iter().map(report_counts).collect::<Vec<_>>(), [(1, 0, 0, (0, 0))]);
        assert_ne!(failure.unwrap().kind(), Kind::Internal);
        let file_actions = ["raw.ingest", "raw.parsed.write", "ledger.imported"];
        assert_eq!(actions_by_commit(&env).await[before..], [file_actions]);
        let counts: Vec<i64> = stored_state(&env).await.0.iter().map(|account| account.3).collect();
        assert_eq!(counts, [1, 0, 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn database_error_stops_the_batch_without_a_second_try() {
    for env in test_envs().await {
        env.load_three_accounts().await;
        let (store, tenant) = (&env.test_store.store, &env.test_store.tenant);
        let earlier = parsed_job(&env, 1, None, Defect::None).await;
        schedule::import_one(store, &env.writer(), earlier).await.unwrap();
        // Corrupts the row, so that a file with the same entry meets an internal error.
        let corrupt = |tx: &mut Tx<'_>| {
            let tenant = tx.tenant().as_str().to_owned();
            let statement =
                "UPDATE brain_transaction SET currency = '?' WHERE tenant_id = $1 AND account_id = 'acct_1'";
            assert_eq!(tx.execute(statement, params![tenant])?, 1);
            Ok(())
        };
        store.write_unaudited(tenant, corrupt).await.unwrap();
        let before = actions_by_commit(&env).await;
        let jobs = vec![
            parsed_job(&env, 0, None, Defect::None).await,
            parsed_job(&env, 1, Some(20), Defect::None).await,
        ];
        let (reports, failure) = schedule::import_batch_or_each(store, &env.writer(), jobs).await;
        assert_eq!(failure.unwrap().kind(), Kind::Internal);
        assert!(reports.is_empty(), "the first file was imported alone, as if the second were bad input");
        assert_eq!(actions_by_commit(&env).await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_files_share_a_commit_with_separate_events() {
    for env in test_envs().await {
        env.load_three_accounts().await;
        let before = actions_by_commit(&env).await.len();
        let mut jobs = Vec::new();
        for number in 0..3 {
            let closing = (number == 1).then_some(20);
            jobs.push(parsed_job(&env, number, closing, Defect::None).await);
        }
        let reports = schedule::import_batch(&env.test_store.store, &env.writer(), jobs).await.unwrap();
        assert_eq!(reports.iter().map(report_counts).collect::<Vec<_>>(), [(1, 0, 0, (0, 0)); 3]);
        let file_actions = ["raw.ingest", "raw.parsed.write", "ledger.imported"];
        let expected: Vec<&str> =
            [&file_actions[..], &file_actions, &["ledger.balance.recorded"], &file_actions]
                .into_iter()
                .flatten()
                .copied()
                .collect();
        assert_eq!(actions_by_commit(&env).await[before..], [expected]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prefetched_file_uses_updated_mapping() {
    // Only a day above 12 shows which number is the month.
    let unambiguous =
        "Date,Description,Amount,Currency\n01/25/2025,Rent,-900.00,USD\n01/26/2025,Bakery,-3.20,USD\n";
    let ambiguous =
        "Date,Description,Amount,Currency\n02/03/2025,Rent,-900.00,USD\n02/04/2025,Bakery,-3.20,USD\n";
    for env in test_envs().await {
        env.load_three_accounts().await;
        let file = |text: &str, account: u8| ImportFile {
            name: "a.csv".to_owned(),
            bytes: text.as_bytes().to_vec(),
            options: ImportOptions { account: Some(format!("acct_{account}")), ..ImportOptions::default() },
        };
        let (reports, failure) =
            import_all(&env, vec![file(unambiguous, 0), file(ambiguous, 0), file(ambiguous, 1)]).await;
        assert!(failure.is_none(), "{failure:?}");
        let mapping = reports[1].mapping.clone().unwrap();
        assert!(mapping.contains("order=mdy"), "{mapping}");
        assert_ne!(reports[2].mapping, reports[1].mapping, "the mapping is saved per account");
        let page = env.call("ledger_transactions_list", json!({"account_id": "acct_0"})).await.unwrap();
        let days: Vec<&str> = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| &row["transaction_date"].as_str().unwrap()[..10])
            .collect();
        assert_eq!(days, ["2025-02-04", "2025-02-03", "2025-01-26", "2025-01-25"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_file_is_split_into_limited_commits() {
    let rows_per_account = limits::ROWS_PER_WRITE * 2 / 5;
    let mut csv = String::from("Account,Date,Description,Amount,Currency\n");
    for account in 0..5 {
        for entry in 0..rows_per_account {
            csv.push_str(&format!(
                "{}{account},2025-03-{:02},Card {entry},-1.{:02},USD\n",
                "12345678901",
                entry % 28 + 1,
                entry % 100
            ));
        }
    }
    for env in test_envs().await {
        let file = ImportFile {
            name: "all.csv".to_owned(),
            bytes: csv.clone().into_bytes(),
            options: ImportOptions::default(),
        };
        let before = actions_by_commit(&env).await.len();
        let (reports, failure) = import_all(&env, vec![file.clone()]).await;
        assert!(failure.is_none(), "{failure:?}");
        let added: Vec<usize> =
            reports[0].statements.iter().map(|statement| statement.posted.added).collect();
        assert_eq!(added, [rows_per_account; 5]);
        let sizes: Vec<usize> = actions_by_commit(&env).await[before..].iter().map(Vec::len).collect();
        // One commit for the file and its projection, then two with two and a half statements each.
        assert_eq!(sizes, [2, 3, 3]);
        stored_state(&env).await;
        let (again, _) = import_all(&env, vec![file]).await;
        assert!(
            again[0].statements.iter().all(
                |statement| statement.posted.added == 0 && statement.posted.unchanged == rows_per_account
            )
        );
    }
}

#[test]
fn batch_import_equals_sequential() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 12, max_shrink_iters: 100, ..Config::default() });
    let outcome = runner.run(&prop::collection::vec(test_statement(), 1..12), |files| {
        runtime.block_on(async {
            for (batch_env, sequential_env) in test_envs().await.iter().zip(&test_envs().await) {
                batch_env.load_three_accounts().await;
                sequential_env.load_three_accounts().await;
                let inputs = || files.iter().enumerate().map(|(number, file)| file.to_file(number));
                let (reports, batch_failure) = import_all(batch_env, inputs().collect()).await;
                let mut expected = Vec::new();
                let mut sequential_failure = None;
                for (number, file) in inputs().enumerate() {
                    let (done, failure) = import_all(sequential_env, vec![file]).await;
                    expected.extend(done);
                    if let Some(ImportError { error, .. }) = failure {
                        sequential_failure = Some((number, error.code().to_owned()));
                        break;
                    }
                }
                assert_eq!(
                    batch_failure.map(|failure| (failure.file_index, failure.error.code().to_owned())),
                    sequential_failure
                );
                assert_eq!(
                    reports.iter().map(report_counts).collect::<Vec<_>>(),
                    expected.iter().map(report_counts).collect::<Vec<_>>()
                );
                assert_eq!(stored_state(batch_env).await, stored_state(sequential_env).await);
            }
        });
        Ok(())
    });
    outcome.unwrap();
}
