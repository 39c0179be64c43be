//! Properties that hold after any sequence of operations: stored sums equal recomputed sums, and a failed operation
//! leaves no trace. The model recomputes from all rows; the production code never does.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quad_core::Result;
use quad_store::Sql;
use serde_json::{Value, json};

use crate::account::Account;
use crate::listing::page_by_id;
use crate::obligation::Obligation;
use crate::row_meta::RowMeta;
use crate::testing::{TestEnv, test_envs};
use crate::transaction::{Effect, Transaction};

/// One operation: a line to load.
#[derive(Clone, Debug)]
struct Step(Value);

const STATUSES: [&str; 6] = ["pending", "posted", "cleared", "failed", "reversed", "disputed"];
const DIRECTIONS: [&str; 4] = ["inflow", "outflow", "transfer", "adjustment"];
const OBLIGATIONS: [&str; 6] = ["upcoming", "due", "paid", "overdue", "cancelled", "disputed"];

fn amount() -> impl Strategy<Value = String> {
    (0_u64..2_000_000, 0_u32..1_000_000_000, 0_usize..10).prop_map(|(units, nanos, decimals)| {
        let fraction = format!("{nanos:09}");
        if decimals == 0 { units.to_string() } else { format!("{units}.{}", &fraction[..decimals.min(9)]) }
    })
}

fn day() -> impl Strategy<Value = String> {
    (1_u32..=4, 1_u32..=28).prop_map(|(month, day)| format!("2025-{month:02}-{day:02}"))
}

fn transaction() -> impl Strategy<Value = Step> {
    let parts = (
        0_u8..12,
        0_u8..3,
        amount(),
        0_usize..4,
        0_usize..6,
        day(),
        prop::option::of(0_u8..3),
        any::<bool>(),
        provenance(),
    );
    parts.prop_map(|(id, account, amount, direction, status, day, counterparty, upsert, provenance)| {
        let mut line = json!({
            "kind": "transaction", "id": format!("tx_{id}"), "account_id": format!("acct_{account}"),
            "amount": amount, "currency": "USD", "direction": DIRECTIONS[direction], "status": STATUSES[status],
            "transaction_date": day, "counterparty_id": counterparty.map(|id| format!("cp_{id}")),
            "provenance": provenance,
        });
        if upsert {
            line["operation"] = "upsert".into();
        }
        Step(line)
    })
}

fn obligation() -> impl Strategy<Value = Step> {
    (0_u8..4, amount(), 0_usize..6, day(), any::<bool>(), any::<bool>()).prop_map(
        |(id, amount, status, day, payable, upsert)| {
            let mut line = json!({
                "kind": "obligation", "id": format!("obl_{id}"), "counterparty_id": "cp_0", "amount_due": amount,
                "currency": "USD", "due_date": day, "status": OBLIGATIONS[status],
                "direction": if payable { "payable" } else { "receivable" },
            });
            if upsert {
                line["operation"] = "upsert".into();
            }
            Step(line)
        },
    )
}

fn balance() -> impl Strategy<Value = Step> {
    (0_u8..3, amount(), day(), provenance()).prop_map(|(account, amount, day, provenance)| {
        Step(json!({"kind": "balance", "account_id": format!("acct_{account}"), "as_of": day,
            "current_balance": amount, "currency": "USD", "provenance": provenance}))
    })
}

/// Mostly statements of a bank, sometimes of an agent.
fn provenance() -> impl Strategy<Value = &'static str> {
    prop_oneof![2 => Just("extracted"), 1 => Just("agent_contributed")]
}

/// Lines that are refused, after valid ones in the same commit.
fn invalid_line() -> impl Strategy<Value = Step> {
    (0_u8..3).prop_map(|case| {
        Step(match case {
            0 => json!({"kind": "transaction", "id": "tx_b", "account_id": "acct_0", "amount": "-1", "currency": "USD",
                "direction": "inflow", "transaction_date": "2025-01-01"}),
            1 => json!({"kind": "transaction", "id": "tx_b", "account_id": "acct_0", "amount": "1", "currency": "EUR",
                "direction": "inflow", "transaction_date": "2025-01-01"}),
            _ => json!({"kind": "obligation", "id": "obl_b", "counterparty_id": "cp_none", "amount_due": "1",
                "currency": "USD", "due_date": "2025-01-01"}),
        })
    })
}

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step = prop_oneof![6 => transaction(), 2 => obligation(), 1 => balance(), 1 => invalid_line()];
    prop::collection::vec(prop::collection::vec(step, 1..5), 1..12)
}

/// All stored sums.
pub(crate) type StoredSums = (Vec<AccountSums>, BTreeMap<String, (i64, i128)>);

/// The stored sums of an account: id, current balance, posted sum, number of rows, and (sum, number) of the unconfirmed
/// ones.
pub(crate) type AccountSums = (String, i128, i128, i64, (i128, i64));

fn load_stored_sums(sql: &mut dyn Sql) -> Result<StoredSums> {
    let accounts = page_by_id::<Account>(sql, "", 100)?
        .into_iter()
        .map(|account| {
            let id = account.id.as_str().to_owned();
            (
                id,
                account.current_balance.0.total_nanos(),
                account.posted.0.total_nanos(),
                account.transaction_count,
                (account.unconfirmed.0.total_nanos(), account.unconfirmed_count),
            )
        })
        .collect();
    let mut totals = BTreeMap::new();
    let rows = sql.query(
        "SELECT kind, subject_id, period, currency, direction, count, units, nanos FROM brain_total WHERE tenant_id = $1",
        &[sql.tenant().as_str().into()],
    )?;
    for row in &rows {
        let name: Vec<&str> = (0..5).map(|column| row.text(column)).collect::<std::result::Result<_, _>>()?;
        let (count, units, nanos) = (row.int(5)?, row.int(6)?, row.int(7)?);
        assert!((0..1_000_000_000).contains(&nanos) && units >= 0, "{name:?} {units} {nanos}");
        if count != 0 {
            totals.insert(name.join(" "), (count, i128::from(units) * 1_000_000_000 + i128::from(nanos)));
        } else {
            assert_eq!((units, nanos), (0, 0), "{name:?}");
        }
    }
    Ok((accounts, totals))
}

/// The same sums, recomputed from all rows.
fn recompute_sums(sql: &mut dyn Sql) -> Result<StoredSums> {
    let rows = page_by_id::<Transaction>(sql, "", 10_000)?;
    let mut totals: BTreeMap<String, (i64, i128)> = BTreeMap::new();
    let mut add = |name: String, nanos: i128| {
        let total = totals.entry(name).or_default();
        *total = (total.0 + 1, total.1 + nanos);
    };
    for row in rows.iter().filter(|row| row.status.affects_totals()) {
        let month = &row.transaction_date.to_string()[..7];
        for period in [month, "ever"] {
            let nanos = row.amount.total_nanos();
            add(format!("all  {period} USD {}", row.direction), nanos);
            add(format!("account {} {period} USD {}", row.account_id, row.direction), nanos);
            if let Some(counterparty) = &row.counterparty_id {
                add(format!("counterparty {counterparty} {period} USD {}", row.direction), nanos);
            }
        }
    }
    for row in page_by_id::<Obligation>(sql, "", 10_000)?.iter().filter(|row| row.status.is_open()) {
        let nanos = row.amount_due.total_nanos();
        add(format!("all  open USD {}", row.direction_or_payable()), nanos);
        add(format!("counterparty {} open USD {}", row.counterparty_id, row.direction_or_payable()), nanos);
    }
    let mut accounts = Vec::new();
    for account in page_by_id::<Account>(sql, "", 100)? {
        let account_rows: Vec<&Transaction> =
            rows.iter().filter(|row| row.account_id == account.id).collect();
        let counted_rows = |after: Option<i64>| {
            account_rows.iter().filter(move |row| {
                row.status.affects_totals() && after.is_none_or(|after| row.transaction_date.0 > after)
            })
        };
        let signed =
            |row: &Transaction| row.amount.total_nanos() * if row.effect == Effect::Credit { 1 } else { -1 };
        let newest = crate::balance::latest(sql, account.id.as_str())?;
        let since = newest.as_ref().map(|balance| balance.as_of.0);
        let balance_amount = newest.as_ref().map_or(0, |balance| balance.current_balance.0.total_nanos());
        let current = balance_amount + counted_rows(since).map(|row| signed(row)).sum::<i128>();
        let posted = counted_rows(None).map(|row| signed(row)).sum();
        let is_asserted = |meta: &RowMeta| meta.provenance.is_assertion();
        let unconfirmed_rows: Vec<&&Transaction> =
            counted_rows(since).filter(|row| is_asserted(&row.meta)).collect();
        let mut unconfirmed =
            (unconfirmed_rows.iter().map(|row| signed(row)).sum::<i128>(), unconfirmed_rows.len() as i64);
        if newest.is_some_and(|balance| is_asserted(&balance.meta)) {
            unconfirmed = (unconfirmed.0 + balance_amount, unconfirmed.1 + 1);
        }
        accounts.push((
            account.id.as_str().to_owned(),
            current,
            posted,
            account_rows.len() as i64,
            unconfirmed,
        ));
    }
    Ok((accounts, totals))
}

pub(crate) async fn stored_and_recomputed(env: &TestEnv) -> (StoredSums, StoredSums) {
    env.test_store
        .store
        .read(&env.test_store.tenant, |sql| Ok((load_stored_sums(sql)?, recompute_sums(sql)?)))
        .await
        .unwrap()
}

#[test]
fn totals_match_recomputation() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // Each case creates a database.
    let mut runner = TestRunner::new(Config { cases: 12, max_shrink_iters: 200, ..Config::default() });
    let outcome = runner.run(&steps(), |commits| {
        runtime.block_on(async {
            for env in test_envs().await {
                let mut lines = String::new();
                for number in 0..3 {
                    lines.push_str(&format!("{}\n", json!({"kind": "account", "id": format!("acct_{number}"), "name": "A", "currency": "USD"})));
                    lines.push_str(&format!("{}\n", json!({"kind": "counterparty", "id": format!("cp_{number}"), "name": format!("C{number}")})));
                }
                env.load(&lines).await.unwrap();
                for commit in &commits {
                    let lines: Vec<String> = commit.iter().map(|step| step.0.to_string()).collect();
                    let before = stored_and_recomputed(&env).await;
                    let result = env.load(&lines.join("\n")).await;
                    let (stored, recomputed) = stored_and_recomputed(&env).await;
                    if let Err(error) = &result {
                        assert_ne!(error.kind(), quad_core::Kind::Internal, "{}", error.cause_chain());
                        assert_eq!(before.0, stored, "a failed load has left a trace");
                    }
                    assert_eq!(stored, recomputed);
                }
            }
        });
        Ok(())
    });
    outcome.unwrap();
}
