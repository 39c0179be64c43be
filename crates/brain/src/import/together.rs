//! Files that are imported together: the same as one after the other, whatever is in them and whichever of them is refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quad_store::audit::block;
use serde_json::{Value, json};

use super::ahead::Ahead;
use super::filing::{self, Filing};
use super::{Report, Request, Said, Source, Stopped};
use crate::limits;
use crate::properties::{Held, state};
use crate::testing::{World, worlds};

/// A statement of one of three accounts: day, what, cents and whether it is still pending; perhaps with what is left at its end.
#[derive(Clone, Debug)]
struct Written {
    account: u8,
    entries: Vec<(u8, &'static str, i32, bool)>,
    closing: Option<i32>,
    wrong: Wrong,
}

/// Why a file is refused, if it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// Its account does not exist: that is found when it is read.
    Account,
    /// Its currency is not its account's: that is found when it is posted, with others.
    Currency,
}

impl Written {
    fn source(&self, number: usize) -> Source {
        let mut csv = String::new();
        let currency = if self.wrong == Wrong::Currency { "EUR" } else { "USD" };
        if let Some(closing) = self.closing {
            csv.push_str(&format!("Closing balance,{closing}.00\n"));
        }
        csv.push_str("Date,Payee,Description,Amount,Currency,Status\n");
        for (day, what, cents, is_pending) in &self.entries {
            let (sign, cents) = (if *cents < 0 { "-" } else { "" }, cents.abs());
            let status = if *is_pending { "pending" } else { "booked" };
            csv.push_str(&format!(
                "2025-01-{day:02},{what},{what},{sign}{}.{:02},{currency},{status}\n",
                cents / 100,
                cents % 100
            ));
        }
        let account = if self.wrong == Wrong::Account { 9 } else { self.account };
        let request = Request { account: Some(format!("acct_{account}")), ..Request::default() };
        Source { name: format!("{number}.csv"), bytes: csv.into_bytes(), request }
    }
}

fn written() -> impl Strategy<Value = Written> {
    let what = prop::sample::select(vec!["Bakery", "Transfer", "Transfer to savings", "Employer"]);
    let entry =
        (1_u8..20, what, prop::sample::select(vec![-5_000, 5_000, -320, 250_000]), prop::bool::weighted(0.2));
    let entries = prop::collection::vec(entry, 1..8);
    let wrong =
        prop_oneof![18 => Just(Wrong::Nothing), 1 => Just(Wrong::Account), 1 => Just(Wrong::Currency)];
    (0_u8..3, entries, prop::option::weighted(0.2, -50..5_000), wrong)
        .prop_map(|(account, entries, closing, wrong)| Written { account, entries, closing, wrong })
}

/// What matters of a report.
fn told(report: &Report) -> (usize, usize, usize, (usize, usize)) {
    let posted = &report.statements[0].posted;
    (posted.added, posted.known, posted.updated, (report.transfers.paired, report.transfers.ambiguous))
}

async fn three_accounts(world: &World) {
    let account = |number: u8| json!({"kind": "account", "id": format!("acct_{number}"), "name": "A", "currency": "USD"});
    let lines: Vec<String> = (0..3).map(|number| account(number).to_string()).collect();
    world.load(&lines.join("\n")).await.unwrap();
}

async fn import_all(world: &World, sources: Vec<Source>) -> (Vec<Report>, Option<Stopped>) {
    let mut reports = Vec::new();
    let said = |file: usize, said: Said| {
        if let Said::Done(report) = said {
            assert_eq!(file, reports.len(), "reports come in the order of the files");
            reports.push(*report);
        }
    };
    let sources = sources.into_iter().map(Ok);
    let stopped = super::import_all(&world.test.store, &world.writer(), "test", sources, said).await.err();
    (reports, stopped)
}

/// Accounts, and totals that name no counterparty, since those have ids of their own in every ledger.
async fn held(world: &World) -> (Vec<Held>, BTreeMap<String, (i64, i128)>) {
    let ((accounts, mut totals), recounted) = state(world).await;
    assert_eq!((&accounts, &totals), (&recounted.0, &recounted.1));
    totals.retain(|name, _| !name.starts_with("counterparty"));
    (accounts, totals)
}

/// The actions that the audit trail tells, a list for each commit.
async fn commits(world: &World) -> Vec<Vec<String>> {
    let blocks = world.test.store.read(&world.test.tenant, |sql| block::after(sql, 0, 1_000));
    let action = |record: &str| {
        let record: Value = serde_json::from_str(record).unwrap();
        record["action"].as_str().unwrap().to_owned()
    };
    let blocks = blocks.await.unwrap();
    blocks.iter().map(|block| block.records().map(|(_, record)| action(record)).collect()).collect()
}

/// A file of one entry, as it is when it was read ahead.
async fn opened(world: &World, account: u8, closing: Option<i32>, wrong: Wrong) -> Arc<Filing> {
    let entries = vec![(1 + account, "Bakery", -320, false)];
    let written = Written { account, entries, closing, wrong };
    let sources = [Ok(written.source(usize::from(account)))].into_iter();
    let mut ahead = Ahead::start(&world.test.store, &world.writer(), "test", sources);
    ahead.next().await.unwrap().unwrap().filing
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_refused_takes_none_before_it_along_and_leaves_no_trace() {
    for world in worlds().await {
        three_accounts(&world).await;
        let before = commits(&world).await.len();
        let filings = vec![
            opened(&world, 0, None, Wrong::Nothing).await,
            opened(&world, 1, None, Wrong::Currency).await,
            opened(&world, 2, None, Wrong::Nothing).await,
        ];
        let (reports, refused) = filing::in_order(&world.test.store, &world.writer(), filings).await;
        assert_eq!(reports.iter().map(told).collect::<Vec<_>>(), [(1, 0, 0, (0, 0))]);
        assert_ne!(refused.unwrap().kind(), quad_core::Kind::Internal);
        let file = ["raw.ingest", "raw.parsed.write", "ledger.imported"];
        assert_eq!(commits(&world).await[before..], [file]);
        let counts: Vec<i64> = held(&world).await.0.iter().map(|held| held.3).collect();
        assert_eq!(counts, [1, 0, 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_files_share_a_commit_and_each_leaves_its_own_events() {
    for world in worlds().await {
        three_accounts(&world).await;
        let before = commits(&world).await.len();
        let mut filings = Vec::new();
        for number in 0..3 {
            let closing = (number == 1).then_some(20);
            filings.push(opened(&world, number, closing, Wrong::Nothing).await);
        }
        let reports = filing::at_once(&world.test.store, &world.writer(), filings).await.unwrap();
        assert_eq!(reports.iter().map(told).collect::<Vec<_>>(), [(1, 0, 0, (0, 0)); 3]);
        let file = ["raw.ingest", "raw.parsed.write", "ledger.imported"];
        let expected: Vec<&str> =
            [&file[..], &file, &["ledger.balance.recorded"], &file].into_iter().flatten().copied().collect();
        assert_eq!(commits(&world).await[before..], [expected]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_read_ahead_is_read_as_the_one_before_it_has_taught() {
    // Only a day behind the twelfth tells which number is the month.
    let clear =
        "Date,Description,Amount,Currency\n01/25/2025,Rent,-900.00,USD\n01/26/2025,Bakery,-3.20,USD\n";
    let unclear =
        "Date,Description,Amount,Currency\n02/03/2025,Rent,-900.00,USD\n02/04/2025,Bakery,-3.20,USD\n";
    for world in worlds().await {
        three_accounts(&world).await;
        let source = |text: &str, account: u8| Source {
            name: "a.csv".to_owned(),
            bytes: text.as_bytes().to_vec(),
            request: Request { account: Some(format!("acct_{account}")), ..Request::default() },
        };
        let (reports, stopped) =
            import_all(&world, vec![source(clear, 0), source(unclear, 0), source(unclear, 1)]).await;
        assert!(stopped.is_none(), "{stopped:?}");
        let taught = reports[1].mapping.clone().unwrap();
        assert!(taught.contains("order=mdy"), "{taught}");
        assert_ne!(reports[2].mapping, reports[1].mapping, "nobody has taught the other account");
        let page = world.call("ledger.transactions.list", json!({"account_id": "acct_0"})).await.unwrap();
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
async fn statements_of_one_file_share_commits_and_a_large_one_is_many() {
    let each = limits::ROWS_PER_WRITE * 2 / 5;
    let mut csv = String::from("Account,Date,Description,Amount,Currency\n");
    for account in 0..5 {
        for entry in 0..each {
            csv.push_str(&format!(
                "{}{account},2025-03-{:02},Card {entry},-1.{:02},USD\n",
                "12345678901",
                entry % 28 + 1,
                entry % 100
            ));
        }
    }
    for world in worlds().await {
        let source = Source {
            name: "all.csv".to_owned(),
            bytes: csv.clone().into_bytes(),
            request: Request::default(),
        };
        let before = commits(&world).await.len();
        let (reports, stopped) = import_all(&world, vec![source.clone()]).await;
        assert!(stopped.is_none(), "{stopped:?}");
        let added: Vec<usize> =
            reports[0].statements.iter().map(|statement| statement.posted.added).collect();
        assert_eq!(added, [each; 5]);
        let sizes: Vec<usize> = commits(&world).await[before..].iter().map(Vec::len).collect();
        // The file and its projection, then two statements and a half each.
        assert_eq!(sizes, [2, 3, 3]);
        held(&world).await;
        let (again, _) = import_all(&world, vec![source]).await;
        assert!(again[0].statements.iter().all(|it| it.posted.added == 0 && it.posted.known == each));
    }
}

#[test]
fn together_is_the_same_as_one_after_the_other() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 12, max_shrink_iters: 100, ..Config::default() });
    let outcome = runner.run(&prop::collection::vec(written(), 1..12), |files| {
        runtime.block_on(async {
            for (together, alone) in worlds().await.iter().zip(&worlds().await) {
                three_accounts(together).await;
                three_accounts(alone).await;
                let sources = || files.iter().enumerate().map(|(number, file)| file.source(number));
                let (reports, stopped) = import_all(together, sources().collect()).await;
                let mut expected = Vec::new();
                let mut refused = None;
                for (number, source) in sources().enumerate() {
                    let (done, stopped) = import_all(alone, vec![source]).await;
                    expected.extend(done);
                    if let Some(Stopped { error, .. }) = stopped {
                        refused = Some((number, error.code().to_owned()));
                        break;
                    }
                }
                assert_eq!(stopped.map(|it| (it.file, it.error.code().to_owned())), refused);
                assert_eq!(
                    reports.iter().map(told).collect::<Vec<_>>(),
                    expected.iter().map(told).collect::<Vec<_>>()
                );
                assert_eq!(held(together).await, held(alone).await);
            }
        });
        Ok(())
    });
    outcome.unwrap();
}
