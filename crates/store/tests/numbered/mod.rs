//! Rows by their numbers: whoever's rows came in between, whatever has gone, each is found and no other.

use quad_core::TenantId;
use quad_store::testing::{TestStore, stores};
use quad_store::{Numbered, Sql, Store, Tx, params, tenant};

use crate::NOTES;

static NUMBERS: Numbered = Numbered::new("note", "id", "id, text");

/// Two tenants' notes in turn, in stretches that grow, with gaps; then some go and one comes anew.
fn write(tx: &mut Tx<'_>, tenants: &[TenantId; 3]) -> quad_core::Result<()> {
    let mut next = [0, 1_000];
    for stretch in 1..12 {
        for (tenant, next) in tenants.iter().zip(&mut next) {
            for _ in 0..stretch {
                tx.execute(
                    "INSERT INTO note (tenant_id, id, text) VALUES ($1, $2, $3)",
                    params![tenant.as_str(), *next, format!("{tenant} {next}")],
                )?;
                *next += 1;
            }
            *next += i64::from(stretch % 3 == 0);
        }
    }
    // The last falls into a gap.
    let one = tenants[0].as_str();
    tx.execute("DELETE FROM note WHERE tenant_id = $1 AND id IN (20, 21, 40, 22)", params![one])?;
    tx.execute("INSERT INTO note (tenant_id, id, text) VALUES ($1, 21, 'again')", params![one])?;
    Ok(())
}

async fn found(store: &Store, tenant: &TenantId, numbers: Vec<i64>) -> Vec<(i64, String)> {
    let read = move |sql: &mut dyn Sql| {
        let rows = sql.numbered(&NUMBERS, &numbers)?;
        let mut found: Vec<(i64, String)> = rows
            .iter()
            .map(|row| Ok((row.int(0)?, row.text(1)?.to_owned())))
            .collect::<quad_core::Result<_>>()?;
        found.sort();
        Ok(found)
    };
    let (in_snapshot, in_transaction) = (read.clone(), read);
    let snapshot = store.read(tenant, move |snapshot| in_snapshot(snapshot)).await.unwrap();
    let transaction = store.jot(tenant, move |tx| in_transaction(tx)).await.unwrap();
    assert_eq!(snapshot, transaction);
    snapshot
}

#[tokio::test(flavor = "multi_thread")]
async fn each_is_found_and_no_other() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let create = async |name| tenant::create(store, name).await.unwrap().id;
        let tenants = [tenant.clone(), create("other").await, create("without").await];
        let writing = tenants.clone();
        store.jot(tenant, move |tx| write(tx, &writing)).await.unwrap();
        let ranges = [0..90, 1_000..1_090, 0..10];
        for ((id, numbers), notes) in tenants.iter().zip(ranges).zip([64, 66, 0]) {
            let expected = crate::notes(store, id).await;
            assert_eq!(expected.len(), notes);
            assert_eq!(found(store, id, numbers.clone().collect()).await, expected);
            assert_eq!(found(store, id, numbers.rev().collect()).await, expected);
            assert_eq!(found(store, id, Vec::new()).await, []);
            assert_eq!(found(store, id, vec![-1, i64::MIN, i64::MAX]).await, []);
            for (number, text) in expected {
                assert_eq!(found(store, id, vec![number]).await, [(number, text)]);
            }
        }
    }
}
