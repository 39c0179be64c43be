//! `rows_by_id` returns exactly the requested rows, whatever their rowids are.

use quad_core::TenantId;
use quad_store::fast_path::{FastSql as _, IdQuery};
use quad_store::testing::{TestStore, stores};
use quad_store::{Sql, Store, Tx, params, tenant};

use crate::NOTES;

static NOTES_BY_ID: IdQuery = IdQuery::new("note", "id", "id, text");

/// Inserts notes of two tenants in turn, in runs of growing length and with gaps, so that rowid predictions fail
/// sometimes. Then deletes some and inserts one of them again.
fn write_notes(tx: &mut Tx<'_>, tenants: &[TenantId; 3]) -> quad_core::Result<()> {
    let mut next = [0, 1_000];
    for run_length in 1..12 {
        for (tenant, next) in tenants.iter().zip(&mut next) {
            for _ in 0..run_length {
                tx.execute(
                    "INSERT INTO note (tenant_id, id, text) VALUES ($1, $2, $3)",
                    params![tenant.as_str(), *next, format!("{tenant} {next}")],
                )?;
                *next += 1;
            }
            *next += i64::from(run_length % 3 == 0);
        }
    }
    // Id 22 does not exist: it is in a gap.
    let first_tenant = tenants[0].as_str();
    tx.execute("DELETE FROM note WHERE tenant_id = $1 AND id IN (20, 21, 40, 22)", params![first_tenant])?;
    tx.execute("INSERT INTO note (tenant_id, id, text) VALUES ($1, 21, 'again')", params![first_tenant])?;
    Ok(())
}

async fn read_by_id(store: &Store, tenant: &TenantId, ids: Vec<i64>) -> Vec<(i64, String)> {
    let read = move |sql: &mut dyn Sql| {
        let rows = sql.rows_by_id(&NOTES_BY_ID, &ids)?;
        let mut pairs: Vec<(i64, String)> = rows
            .iter()
            .map(|row| Ok((row.int(0)?, row.text(1)?.to_owned())))
            .collect::<quad_core::Result<_>>()?;
        pairs.sort();
        Ok(pairs)
    };
    let (in_snapshot, in_transaction) = (read.clone(), read);
    let snapshot = store.read(tenant, move |snapshot| in_snapshot(snapshot)).await.unwrap();
    let transaction = store.write_unaudited(tenant, move |tx| in_transaction(tx)).await.unwrap();
    assert_eq!(snapshot, transaction);
    snapshot
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_by_id_returns_exactly_the_requested_rows() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let create = async |name| tenant::create(store, name).await.unwrap().id;
        let tenants = [tenant.clone(), create("other").await, create("without").await];
        let writing = tenants.clone();
        store.write_unaudited(tenant, move |tx| write_notes(tx, &writing)).await.unwrap();
        let ranges = [0..90, 1_000..1_090, 0..10];
        for ((tenant_id, ids), note_count) in tenants.iter().zip(ranges).zip([64, 66, 0]) {
            let expected = crate::notes(store, tenant_id).await;
            assert_eq!(expected.len(), note_count);
            assert_eq!(read_by_id(store, tenant_id, ids.clone().collect()).await, expected);
            assert_eq!(read_by_id(store, tenant_id, ids.rev().collect()).await, expected);
            assert_eq!(read_by_id(store, tenant_id, Vec::new()).await, []);
            assert_eq!(read_by_id(store, tenant_id, vec![-1, i64::MIN, i64::MAX]).await, []);
            for (note_id, text) in expected {
                assert_eq!(read_by_id(store, tenant_id, vec![note_id]).await, [(note_id, text)]);
            }
        }
    }
}
