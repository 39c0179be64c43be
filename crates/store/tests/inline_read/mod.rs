//! Reads on the calling thread (`Store::read_inline`).

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Counts to a million in this many statements, which exceeds the budget of an inline read. Returns the count and how
/// often the closure ran.
async fn slow_count(store: &Store, tenant: &TenantId, statements: i64) -> (i64, usize) {
    const COUNT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT)) \
                         SELECT COUNT(*) FROM n";
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let count_rows = move |snapshot: &mut quad_store::Snapshot<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        let mut sum = 0;
        for _ in 0..statements {
            sum += snapshot.query(COUNT, params![1_000_000 / statements])?[0].int(0)?;
        }
        Ok(sum)
    };
    (store.read_inline(tenant, count_rows).await.unwrap(), runs.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_inline_read_restarts_on_blocking_thread() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        // Leaves an idle connection in the pool.
        assert!(notes(store, tenant).await.is_empty());
        let expected_runs = match store.backend() {
            quad_store::Backend::Sqlite => 2,
            quad_store::Backend::Postgres => 1,
        };
        // One statement that SQLite interrupts, and many statements that are each too short for that.
        assert_eq!(slow_count(store, tenant, 1).await, (1_000_000, expected_runs));
        assert_eq!(slow_count(store, tenant, 20_000).await, (1_000_000, expected_runs));
        // The time limit is removed from the connection.
        add_note(store, tenant, 1, "one").await.unwrap();
        assert_eq!(notes(store, tenant).await, [(1, "one".to_owned())]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_inline_read_does_not_affect_later_reads() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        assert!(notes(store, tenant).await.is_empty());
        let panicked = store.read_inline(tenant, |_| -> quad_core::Result<()> { panic!("on purpose") }).await;
        assert_eq!(panicked.unwrap_err().kind(), Kind::Internal);
        let refused =
            store.read_inline(tenant, |snapshot| Ok(snapshot.query("SELECT nothing", &[])?.len())).await;
        assert_eq!(refused.unwrap_err().kind(), Kind::Internal);
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        for _ in 0..3 {
            assert_eq!(store.read_inline(tenant, |snapshot| Ok(snapshot.version())).await.unwrap(), version);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn timed_out_inline_read_leaves_no_open_transaction() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        assert_eq!(notes(store, tenant).await.len(), 1);
        // SQLite counts the steps of a statement over all its runs, so even a short one, such as ROLLBACK, can be the
        // one that reaches the check.
        for _ in 0..1_000 {
            let mut is_first = true;
            let slow = move |snapshot: &mut quad_store::Snapshot<'_>| {
                if std::mem::take(&mut is_first) {
                    std::thread::sleep(quad_store::limits::INLINE_READ_BUDGET + Duration::from_micros(100));
                }
                Ok((snapshot.query("SELECT id FROM note", params![])?.len(), snapshot.version()))
            };
            assert_eq!(store.read_inline(tenant, slow).await.unwrap(), (1, version));
        }
    }
}
