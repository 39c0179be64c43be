//! Rows that are shown one after the other are those that a query gives.

use std::ops::ControlFlow;

use quad_core::Error;
use quad_store::testing::stores;
use quad_store::{Row, Sql, Writer, params};

use crate::{NOTES, add_note, event};

/// Texts of all lengths, every third of them missing.
const QUERY: &str = "SELECT id, CASE WHEN id % 3 = 0 THEN NULL ELSE text END, text FROM note WHERE tenant_id = $1 ORDER BY id";

/// Checks in a snapshot or in a transaction.
fn check(sql: &mut dyn Sql) -> quad_core::Result<()> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(QUERY, params![tenant.as_str()])?;
    assert_eq!(rows.len(), 10);
    let mut shown: Vec<Row> = Vec::new();
    sql.each(QUERY, params![tenant.as_str()], &mut |row| {
        shown.push(row.clone());
        Ok(ControlFlow::Continue(()))
    })?;
    assert_eq!(shown, rows);

    let mut seen = 0;
    sql.each(QUERY, params![tenant.as_str()], &mut |_| {
        seen += 1;
        Ok(if seen == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    assert_eq!(seen, 4, "nothing is shown to whoever has seen enough");

    let refused = sql.each(QUERY, params![tenant.as_str()], &mut |_| Err(Error::bad_input("not this one")));
    assert_eq!(refused.unwrap_err().message(), "not this one");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_shown_are_those_of_a_query() {
    for test in stores(&[NOTES]).await.unwrap() {
        for id in 0..10 {
            add_note(&test.store, &test.tenant, id, &"é".repeat((id * 7 % 10) as usize)).await.unwrap();
        }
        test.store.read(&test.tenant, |snapshot| check(snapshot)).await.unwrap();
        test.store.glance(&test.tenant, |snapshot| check(snapshot)).await.unwrap();
        let writer = Writer::from(&test.tenant);
        test.store.write(&writer, event("note.checked"), |tx| check(tx)).await.unwrap();
        let failed = test.store.read(&test.tenant, |snapshot| {
            snapshot.each("SELECT nothing FROM nowhere", params![], &mut |_| panic!("a row of nothing"))
        });
        assert_eq!(failed.await.unwrap_err().kind(), quad_core::Kind::Internal);
    }
}
