//! Measures a ledger of a given size: `cargo bench -p quad-brain --bench ledger -- [TRANSACTIONS]` (10,000 by default),
//! over 200 accounts.
//!
//! Statements are imported the way the command does it, with durable commits, on SQLite. Reads go through the resolver.
//! Prints figures and asserts nothing.

// A failed expectation aborts the measurement.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_brain::import::{self, ImportEvent, ImportFile, ImportOptions};
use quad_brain::{AgentDirectory, AgentSummary, Brain, COMPONENT, load};
use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{Principal, PrincipalKind, ReadSet, Resolver, Result, Scheme, ScopeSet, TenantId};
use quad_store::{WriteContext, testing};
use serde_json::{Map, Value, json};

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ACCOUNTS: usize = 200;

struct EmptyAgentDirectory;

#[async_trait::async_trait]
impl AgentDirectory for EmptyAgentDirectory {
    async fn list(&self, _: &TenantId) -> Result<(Vec<AgentSummary>, ReadSet)> {
        Ok((Vec::new(), ReadSet::default()))
    }
}

struct BenchEnv {
    resolver: Resolver,
    caller: Principal,
}

impl BenchEnv {
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        let output = self.resolver.call_tool(&self.caller, View::All, tool, arguments, &NoProgress).await;
        output.unwrap().structured_value().unwrap_or_default()
    }

    async fn read(&self, uri: &str) {
        self.resolver.read(&self.caller, View::All, uri).await.unwrap();
    }
}

fn main() {
    let transactions: usize =
        std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).next_back().unwrap_or(10_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(transactions));
}

/// The CPU time of this process; zero where `/proc` does not exist.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, the process name, may contain spaces and ends at the last parenthesis. User and system time are
    // fields 14 and 15, in hundredths of a second on Linux.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// A statement of one account: entries over three years with fifty counterparties.
fn statement(account: usize, rows: usize) -> String {
    let mut csv = String::from("Date,Payee,Description,Amount,Currency\n");
    for row in 0..rows {
        // Sorted by date, as bank statements are.
        let day = row * 1_080 / rows.max(1);
        let (year, month, date) = (2023 + day / 360, day % 360 / 30 + 1, day % 30 % 28 + 1);
        let (units, cents) = ((row * 37 + account) % 900 + 1, row % 100);
        let sign = if row % 7 == 0 { "" } else { "-" };
        writeln!(
            csv,
            "{year}-{month:02}-{date:02},Shop {:02},Purchase {row} of card {account},{sign}{units}.{cents:02},USD",
            row % 50
        )
        .unwrap();
    }
    csv
}

async fn measure(transactions: usize) {
    let test = testing::sqlite(&[COMPONENT]).await.unwrap();
    let writer = WriteContext::from(&test.tenant);
    let mut lines = String::new();
    for account in 0..ACCOUNTS {
        writeln!(lines, "{}", json!({"kind": "account", "id": format!("acct_{account:03}"), "name": format!("Account {account}"), "currency": "USD"})).unwrap();
    }
    load::load(&test.store, &writer, "bench", "accounts", lines.as_bytes(), |_| {}).await.unwrap();
    let files: Vec<String> =
        (0..ACCOUNTS).map(|account| statement(account, transactions / ACCOUNTS)).collect();
    let sources = files.into_iter().enumerate().map(|(account, file)| {
        let options =
            ImportOptions { account: Some(format!("acct_{account:03}")), ..ImportOptions::default() };
        Ok(ImportFile { name: format!("{account}.csv"), bytes: file.into_bytes(), options })
    });
    let mut added = 0;
    let on_event = |_: usize, event: ImportEvent| {
        if let ImportEvent::FileDone(report) = event {
            added += report.statements.iter().map(|statement| statement.posted.added).sum::<usize>();
        }
    };
    let (started, before) = (Instant::now(), cpu());
    import::import_all(&test.store, &writer, "bench", sources, on_event).await.unwrap();
    let taken = started.elapsed();
    println!(
        "import: {added} rows in {:.1} s, {:.0} rows/s, {:.0} µs of CPU each",
        taken.as_secs_f64(),
        added as f64 / taken.as_secs_f64(),
        (cpu() - before).as_micros() as f64 / added as f64
    );

    let scheme: Arc<dyn Scheme> = Arc::new(Brain::new(test.store.clone(), Arc::new(EmptyAgentDirectory)));
    let store = Arc::new(test.store.clone());
    let resolver = Resolver::new(vec![scheme], store.clone(), store).unwrap();
    let caller = Principal {
        tenant: test.tenant.clone(),
        subject: "bench".into(),
        kind: PrincipalKind::Agent,
        scopes: ScopeSet::parse("*:*"),
        credential_read_set: None,
        expires_at: None,
    };
    let env = BenchEnv { resolver, caller };
    // Single rows, each read once, then one row read many times.
    let page = env.call("ledger_transactions_list", json!({"limit": 300})).await;
    let ids: Vec<String> =
        page["items"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    let mut times = Vec::new();
    for id in &ids {
        let started = Instant::now();
        env.read(&format!("brain://ledger/transactions/{id}")).await;
        times.push(started.elapsed());
    }
    print("transaction, not cached", &mut times);
    let first = format!("brain://ledger/transactions/{}", ids[0]);
    repeat("transaction, cached", 300, || env.read(&first)).await;
    for account in 0..ACCOUNTS {
        let started = Instant::now();
        env.read(&format!("brain://ledger/accounts/acct_{account:03}")).await;
        times.push(started.elapsed());
    }
    print("account, not cached", &mut times);
    repeat("account, cached", 300, || env.read("brain://ledger/accounts/acct_000")).await;
    repeat("transactions.list, first page of 100", 100, || async {
        env.call("ledger_transactions_list", json!({})).await;
    })
    .await;
    // A counterparty with transactions on every account.
    let counterparties = env.call("ledger_counterparties_list", json!({"limit": 1})).await;
    let counterparty = counterparties["items"][0]["id"].clone();
    repeat("transactions.list of a counterparty, first page of 100", 100, || async {
        env.call("ledger_transactions_list", json!({"counterparty_id": counterparty})).await;
    })
    .await;
    let mut cursor = Value::Null;
    let size = (transactions / 1_001).clamp(1, 100);
    for _ in 0..999 {
        let arguments =
            if cursor.is_null() { json!({"limit": size}) } else { json!({"limit": size, "cursor": cursor}) };
        cursor = env.call("ledger_transactions_list", arguments).await["next_cursor"].clone();
    }
    repeat(&format!("transactions.list, 1,000th page of {size}"), 100, || async {
        env.call("ledger_transactions_list", json!({"limit": size, "cursor": cursor})).await;
    })
    .await;
    for number in 0..20 {
        let line = json!({"kind": "transaction", "id": format!("tx_new{number}"), "account_id": "acct_000", "amount": "1.00",
            "currency": "USD", "direction": "outflow", "transaction_date": "2025-06-15"});
        load::load(&test.store, &writer, "bench", "one", line.to_string().as_bytes(), |_| {}).await.unwrap();
        let started = Instant::now();
        env.read("brain://wiki/monthly-summaries/2025-06").await;
        times.push(started.elapsed());
    }
    print("monthly page after one new transaction", &mut times);
    repeat("wiki_question", 100, || async {
        env.call("wiki_question", json!({"question": "How much did I spend in June 2025?"})).await;
    })
    .await;
}

async fn repeat<F: Future<Output = ()>>(name: &str, times: usize, mut work: impl FnMut() -> F) {
    let mut taken = Vec::with_capacity(times);
    for _ in 0..times {
        let started = Instant::now();
        work().await;
        taken.push(started.elapsed());
    }
    print(name, &mut taken);
}

fn print(name: &str, times: &mut Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)].as_micros();
    println!("{name}: p50 {} µs, p99 {} µs", at(50), at(99));
    times.clear();
}
