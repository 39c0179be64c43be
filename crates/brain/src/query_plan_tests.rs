//! Tests of query plans: every list, page and answer reads ranges of indexes, on both databases. A query that scans or
//! sorts the ledger would return the same rows, but be slow at a million rows.

use quad_core::{Result, Timestamp};
use quad_store::testing::ExplainSql;
use quad_store::{Backend, Sql, params};

use crate::account::{AccountStatus, AccountType};
use crate::calendar::Month;
use crate::keyset::Key;
use crate::testing::test_envs_with_data;
use crate::transaction::Filter;
use crate::wiki::{self, PageRef};
use crate::{
    account, completion, contribution, counterparty, listing, obligation, payment_intent, question, raw,
    total,
};

#[tokio::test(flavor = "multi_thread")]
async fn all_reads_use_index_ranges() {
    for env in test_envs_with_data().await {
        let explained = env.test_store.store.read(&env.test_store.tenant, |sql| {
            if sql.backend() == Backend::Postgres {
                // With few rows the planner prefers a scan; without scans and sorts it must use an index, if one fits.
                for setting in ["enable_seqscan", "enable_bitmapscan", "enable_sort"] {
                    sql.query(&format!("SELECT set_config('{setting}', 'off', true)"), params![])?;
                }
            }
            let mut sql = ExplainSql::new(sql);
            run_all_queries(&mut sql)?;
            Ok((sql.plans, sql.sql.backend()))
        });
        let (plans, backend) = explained.await.unwrap();
        assert!(plans.len() > 100, "{} queries", plans.len());
        for (query, plan) in plans {
            // A scan of rows that the same statement has just found.
            let plan = plan.replace("SCAN dealt", "");
            let (uses_index, forbidden): (bool, &[&str]) = match backend {
                Backend::Sqlite => (plan.contains("USING"), &["SCAN", "TEMP B-TREE"]),
                Backend::Postgres => (plan.contains("Index"), &["Seq Scan", "Sort"]),
            };
            assert!(uses_index && !forbidden.iter().any(|pattern| plan.contains(pattern)), "{query}\n{plan}");
        }
    }
}

/// Runs every query whose cost must not depend on the size of the ledger.
fn run_all_queries(sql: &mut dyn Sql) -> Result<()> {
    let now = Timestamp::now();
    account::page(sql, Some(AccountStatus::Active), Some(AccountType::Card), None, 2)?;
    let (_, next) = account::page(sql, None, None, None, 1)?;
    account::page(sql, None, None, next, 1)?;
    account::detail(sql, "acct_8231")?;
    account::by_external_id(sql, "x")?;
    for filter in [
        Filter::default(),
        Filter { account_id: Some("acct_8231".into()), ..Filter::default() },
        Filter {
            counterparty_id: Some("cp_aws".into()),
            since: Some(Timestamp(0)),
            until: Some(now),
            ..Filter::default()
        },
        Filter { since: Some(Timestamp(0)), until: Some(now), ..Filter::default() },
    ] {
        let (_, next): (_, Option<Key>) = filter.page(sql, None, 1)?;
        filter.page(sql, next, 1)?;
    }
    for filter in [
        obligation::Filter::default(),
        obligation::Filter { status: Some(obligation::ObligationStatus::Upcoming), ..Default::default() },
        obligation::Filter {
            kind: Some(obligation::ObligationType::Bill),
            due_before: Some(now),
            ..Default::default()
        },
    ] {
        let (_, next) = filter.page(sql, None, 1)?;
        filter.page(sql, next, 1)?;
    }
    obligation::list_open(sql, None, Some(Timestamp(0)), Some(now), 5)?;
    let (_, next) = counterparty::page(sql, Some("aws"), None, None, 1)?;
    counterparty::page(sql, None, None, next, 1)?;
    counterparty::find_mentioned(sql, "how much did aws cost")?;
    payment_intent::by_agent(sql, "agent_1", None, None, 1)?;
    payment_intent::by_obligation(sql, "obl_1", 1)?;
    total::months(sql, Month::parse("2025-07"), 5)?;
    total::newest_month(sql)?;
    raw::to_json_for(sql, "raw_x", "agent_1", true)?;
    contribution::by_agent(sql, "agent_1", "", 5)?;
    let own_accounts = crate::own_accounts::OwnAccounts::load(sql)?;
    let days = (Timestamp(0), now);
    crate::transfer_matching::find_matches(sql, &own_accounts, days, None)?;
    crate::transfer_matching::find_matches(
        sql,
        &own_accounts,
        days,
        Some(&(Timestamp(1), "tx_1".to_owned())),
    )?;
    if let Some(row) = crate::entity::find::<crate::transaction::Transaction>(sql, "tx_4127")? {
        crate::transfer_matching::find_candidates(sql, &own_accounts, &row)?;
        crate::transfer::find_by_side(sql, &row)?;
    }
    listing::page_by_id::<crate::transaction::Transaction>(sql, "tx_1", 5)?;
    completion::complete_variable(sql, "transaction_id", "tx", "agent_1")?;
    completion::complete_variable(sql, "slug", "accounts/", "agent_1")?;
    for slug in [
        "accounts/acct_8231",
        "counterparties/cp_aws",
        "obligations/obl_1",
        "invoices/inv_1",
        "invoices/all",
        "agents/agent_1",
        "policies/active",
        "monthly-summaries/2025-09",
        "cash-flow/2025-Q3",
    ] {
        let Some(PageRef::Page(name)) = PageRef::parse(slug) else { panic!("{slug}") };
        assert!(wiki::render(sql, &name, None, now)?.is_some(), "{slug}");
        wiki::revision::newest(sql, &name)?;
    }
    for text in [
        "How many transactions in September 2025?",
        "Cash flow summary for 2025-09",
        "Why did spending change in September 2025?",
        "What subscriptions are active?",
        "What is the status of invoice INV-1001?",
        "Which bills are due in the next 7 days?",
        "Spending by category in 2025-09",
        "Who are our top vendors?",
        "What was the largest expense in August 2025?",
        "How much cash do we have?",
        "Are there pending approvals?",
        "Show recent transactions",
        "How much was payroll in August 2025?",
        "What does the policy allow?",
    ] {
        question::answer_question(sql, text, now, 3)?;
    }
    Ok(())
}
