//! Readings on the thread that asks for them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Counts to a million in one statement, or in so many statements, which takes longer than a glance may; and how often it began.
async fn long(store: &Store, tenant: &TenantId, statements: i64) -> (i64, usize) {
    const COUNT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS BIGINT)) \
                         SELECT COUNT(*) FROM n";
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let work = move |snapshot: &mut quad_store::Snapshot<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        let mut sum = 0;
        for _ in 0..statements {
            sum += snapshot.query(COUNT, params![1_000_000 / statements])?[0].int(0)?;
        }
        Ok(sum)
    };
    (store.glance(tenant, work).await.unwrap(), begun.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_too_long_begins_again_elsewhere() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        // Now there is a connection that waits to be used.
        assert!(notes(store, tenant).await.is_empty());
        let begun = match store.backend() {
            quad_store::Backend::Sqlite => 2,
            quad_store::Backend::Postgres => 1,
        };
        // One statement that SQLite interrupts, and many of which none is long enough for that.
        assert_eq!(long(store, tenant, 1).await, (1_000_000, begun));
        assert_eq!(long(store, tenant, 20_000).await, (1_000_000, begun));
        // The connection has all the time it wants again.
        add_note(store, tenant, 1, "one").await.unwrap();
        assert_eq!(notes(store, tenant).await, [(1, "one".to_owned())]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_or_an_error_in_a_glance_fails_that_glance_alone() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        assert!(notes(store, tenant).await.is_empty());
        let panicked = store.glance(tenant, |_| -> quad_core::Result<()> { panic!("on purpose") }).await;
        assert_eq!(panicked.unwrap_err().kind(), Kind::Internal);
        let refused = store.glance(tenant, |snapshot| Ok(snapshot.query("SELECT nothing", &[])?.len())).await;
        assert_eq!(refused.unwrap_err().kind(), Kind::Internal);
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        for _ in 0..3 {
            assert_eq!(store.glance(tenant, |snapshot| Ok(snapshot.version())).await.unwrap(), version);
        }
    }
}

/// Whatever is cut short, the connection has no transaction left open.
#[tokio::test(flavor = "multi_thread")]
async fn a_glance_that_is_cut_short_leaves_nothing_open() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        assert_eq!(notes(store, tenant).await.len(), 1);
        // SQLite looks at the time every so many steps of a statement, and counts those of all its runs.
        for _ in 0..1_000 {
            let mut is_first = true;
            let slow = move |snapshot: &mut quad_store::Snapshot<'_>| {
                if std::mem::take(&mut is_first) {
                    std::thread::sleep(quad_store::limits::GLANCE_TIME + Duration::from_micros(100));
                }
                Ok((snapshot.query("SELECT id FROM note", params![])?.len(), snapshot.version()))
            };
            assert_eq!(store.glance(tenant, slow).await.unwrap(), (1, version));
        }
    }
}
