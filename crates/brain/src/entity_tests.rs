//! Compares the declared columns of every entity with its migrated table.

use std::collections::BTreeSet;

use quad_core::Result;
use quad_store::{Backend, Sql, params};

use crate::entity::Entity;
use crate::testing::test_envs;

/// The columns that the migrations have created, without `tenant_id`.
fn migrated_columns(sql: &mut dyn Sql, table: &str) -> Result<BTreeSet<String>> {
    let query = match sql.backend() {
        Backend::Sqlite => "SELECT name FROM pragma_table_info($1)",
        Backend::Postgres => {
            "SELECT CAST(column_name AS TEXT) FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = $1"
        }
    };
    let mut columns = BTreeSet::new();
    for row in &sql.query(query, params![table])? {
        columns.insert(row.text(0)?.to_owned());
    }
    columns.remove("tenant_id");
    Ok(columns)
}

fn check_columns<N: Entity>(sql: &mut dyn Sql) -> Result<()> {
    let declared: Vec<&str> = N::columns().split(", ").collect();
    assert_eq!(declared.len(), N::column_count(), "{}", N::TABLE);
    let declared: BTreeSet<String> = declared.into_iter().map(str::to_owned).collect();
    assert_eq!(declared, migrated_columns(sql, N::TABLE)?, "{}", N::TABLE);
    Ok(())
}

fn check_all_columns(sql: &mut dyn Sql) -> Result<()> {
    check_columns::<crate::account::Account>(sql)?;
    check_columns::<crate::balance::Snapshot>(sql)?;
    check_columns::<crate::category::Category>(sql)?;
    check_columns::<crate::counterparty::Counterparty>(sql)?;
    check_columns::<crate::invoice::Invoice>(sql)?;
    check_columns::<crate::obligation::Obligation>(sql)?;
    check_columns::<crate::payment_intent::PaymentIntent>(sql)?;
    check_columns::<crate::policy::Policy>(sql)?;
    check_columns::<crate::reconciliation::Match>(sql)?;
    check_columns::<crate::transaction::Transaction>(sql)?;
    check_columns::<crate::transfer::Transfer>(sql)
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_match_the_migrated_tables() {
    for env in test_envs().await {
        let (store, tenant) = (&env.test_store.store, &env.test_store.tenant);
        store.read(tenant, |sql| check_all_columns(sql)).await.unwrap();
    }
}
