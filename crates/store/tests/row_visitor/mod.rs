//! `for_each_row` visits exactly the rows that `query` returns.

use std::ops::ControlFlow;

use quad_core::Error;
use quad_store::fast_path::FastSql as _;
use quad_store::testing::stores;
use quad_store::{Row, Sql, WriteContext, params};

use crate::{NOTES, add_note, event};

/// Texts of different lengths, every third `NULL`.
const QUERY: &str = "SELECT id, CASE WHEN id % 3 = 0 THEN NULL ELSE text END, text FROM note WHERE tenant_id = $1 ORDER BY id";

/// Checks in any kind of snapshot or transaction.
fn check_row_visitor(sql: &mut dyn Sql) -> quad_core::Result<()> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(QUERY, params![tenant.as_str()])?;
    assert_eq!(rows.len(), 10);
    let mut visited: Vec<Row> = Vec::new();
    sql.for_each_row(QUERY, params![tenant.as_str()], &mut |row| {
        visited.push(row.clone());
        Ok(ControlFlow::Continue(()))
    })?;
    assert_eq!(visited, rows);

    let mut count = 0;
    sql.for_each_row(QUERY, params![tenant.as_str()], &mut |_| {
        count += 1;
        Ok(if count == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    assert_eq!(count, 4, "no row is visited after `Break`");

    let refused = sql.for_each_row(QUERY, params![tenant.as_str()], &mut |_| {
        Err(Error::bad_input("stopped by the visitor"))
    });
    assert_eq!(refused.unwrap_err().message(), "stopped by the visitor");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn for_each_row_visits_the_rows_of_the_query() {
    for test in stores(&[NOTES]).await.unwrap() {
        for id in 0..10 {
            add_note(&test.store, &test.tenant, id, &"é".repeat((id * 7 % 10) as usize)).await.unwrap();
        }
        test.store.read(&test.tenant, |snapshot| check_row_visitor(snapshot)).await.unwrap();
        test.store.read_inline(&test.tenant, |snapshot| check_row_visitor(snapshot)).await.unwrap();
        let context = WriteContext::from(&test.tenant);
        test.store.write(&context, event("note.checked"), |tx| check_row_visitor(tx)).await.unwrap();
        let failed = test.store.read(&test.tenant, |snapshot| {
            snapshot.for_each_row("SELECT nothing FROM nowhere", params![], &mut |_| {
                panic!("a row of a missing table")
            })
        });
        assert_eq!(failed.await.unwrap_err().kind(), quad_core::Kind::Internal);
    }
}
