//! Head leases: a read that conflicted with a write is computed again while no write can commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quad_core::{AppendError, AuditLog, HeadLease, ReadSet, ReadSets, Receipt, Tag, TenantId, Version};
use quad_store::testing::{TestStore, stores};
use quad_store::{AuditMode, Sql, Store, WriteContext};

use crate::{NOTES, add_note, checked_chain, counting_side_effect, event, notes};

/// Runs a future in a task of its own, like a call.
async fn in_task<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    tokio::time::timeout(Duration::from_secs(60), tokio::spawn(future)).await.unwrap().unwrap()
}

async fn lease_head(store: &Store, tenant: &TenantId) -> Box<dyn HeadLease> {
    store.lease_head(tenant, None).await.unwrap().unwrap()
}

/// Appends a read of this version that any write invalidates.
async fn append_leased(lease: Box<dyn HeadLease>, version: Version) -> Result<Receipt, AppendError> {
    let read_set = ReadSet::at_version(version).with_tag(Tag::new("everything"));
    lease.append(event("note.read"), ReadSets::from_iter([Arc::new(read_set)])).await
}

async fn current_version(store: &Store, tenant: &TenantId) -> Version {
    store.read(tenant, |snapshot| Ok(snapshot.version())).await.unwrap()
}

async fn invalidate_everything(store: &Store, tenant: &TenantId) {
    let work = |tx: &mut quad_store::Tx<'_>| {
        tx.invalidate(Tag::new("everything"));
        Ok(())
    };
    store.write(&WriteContext::from(tenant), event("invalidated"), work).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn leased_reads_commit_despite_constant_writes() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        let other_store = Store::open(location.clone(), &[NOTES]).await.unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        // More writers than connections, in the reader's process and in another.
        let writers = (0..40).map(|number| {
            let (store, tenant) =
                (if number % 2 == 0 { store } else { &other_store }.clone(), tenant.clone());
            let is_over = stopped.clone();
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    invalidate_everything(&store, &tenant).await;
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        let (reader, reader_tenant) = (store.clone(), tenant.clone());
        let committed = in_task(async move {
            let mut committed = 0;
            for _ in 0..40 {
                let lease = lease_head(&reader, &reader_tenant).await;
                let version_read = current_version(&reader, &reader_tenant).await;
                match append_leased(lease, version_read).await {
                    Ok(receipt) => {
                        assert_eq!(
                            receipt.version, version_read,
                            "no write was committed between the read and its event"
                        );
                        committed += 1;
                    }
                    // The machine was stalled for longer than a lease lasts.
                    Err(AppendError::Stale(0)) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            committed
        });
        let counted = committed.await;
        stopped.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        assert!(counted > 20, "{counted} of 40");
        let read = checked_chain(store, tenant).await;
        assert_eq!(read.iter().filter(|event| event["action"] == "note.read").count(), counted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_lease_ends_soon_and_dropped_lease_at_once() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let before = checked_chain(store, tenant).await.len();
        let (lease_store, lease_tenant) = (store.clone(), tenant.clone());
        in_task(async move {
            let lease = lease_head(&lease_store, &lease_tenant).await;
            let version_read = current_version(&lease_store, &lease_tenant).await;
            let (store, tenant) = (lease_store.clone(), lease_tenant.clone());
            in_task(async move { invalidate_everything(&store, &tenant).await }).await;
            let late = append_leased(lease, version_read).await;
            assert!(matches!(late, Err(AppendError::Stale(0))), "{late:?}");
            // Dropping a lease ends it at once.
            for _ in 0..1_000 {
                drop(crate::head_lease::lease_head(&lease_store, &lease_tenant).await);
            }
        })
        .await;
        assert_eq!(checked_chain(store, tenant).await.len(), before + 1, "only the write has an event");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writing_releases_the_callers_own_lease() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let (store, tenant) = (store.clone(), tenant.clone());
        in_task(async move {
            // If each write waited for its lease to expire, this would exceed the test's timeout.
            for number in 0..1_300 {
                let lease = lease_head(&store, &tenant).await;
                let version_read = current_version(&store, &tenant).await;
                store.write_unaudited(&tenant, |_| Ok(())).await.unwrap();
                if number % 100 == 0 {
                    let given_up = append_leased(lease, version_read).await;
                    assert!(matches!(given_up, Err(AppendError::Stale(0))), "{given_up:?}");
                }
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn side_effect_commits_only_with_its_leased_event() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        for id in 0..4 {
            add_note(store, tenant, id, "0").await.unwrap();
        }
        let calls = (0..64).map(|number: i64| {
            let (store, tenant) = (store.clone(), tenant.clone());
            tokio::spawn(async move {
                let lease = store.lease_head(&tenant, Some(counting_side_effect(number % 4))).await.unwrap();
                // Some calls drop the lease without an event.
                match lease {
                    Some(lease) if number % 16 != 5 => {
                        let version_read = current_version(&store, &tenant).await;
                        (number % 4, append_leased(lease, version_read).await.is_ok())
                    }
                    _ => (number % 4, false),
                }
            })
        });
        let mut counted = [0; 4];
        for call in calls.collect::<Vec<_>>() {
            let (id, is_recorded) = call.await.unwrap();
            counted[id as usize] += i64::from(is_recorded);
        }
        let stored: Vec<i64> =
            notes(store, tenant).await.iter().map(|(_, text)| text.parse().unwrap()).collect();
        assert_eq!(stored, counted);
        let of = (store.clone(), tenant.clone());
        in_task(async move {
            // Repeat if the machine was stalled for longer than a lease lasts.
            loop {
                let lease = of.0.lease_head(&of.1, Some(counting_side_effect(0))).await.unwrap().unwrap();
                let version_read = current_version(&of.0, &of.1).await;
                if append_leased(lease, version_read).await.is_ok() {
                    break;
                }
            }
        })
        .await;
        assert_eq!(notes(store, tenant).await[0].1, (counted[0] + 1).to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leased_append_rejects_invalidated_credential() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let (store, tenant) = (store.clone(), tenant.clone());
        in_task(async move {
            let before = current_version(&store, &tenant).await;
            invalidate_everything(&store, &tenant).await;
            let refused = loop {
                let lease = lease_head(&store, &tenant).await;
                let answer = ReadSet::at_version(current_version(&store, &tenant).await)
                    .with_tag(Tag::new("everything"));
                let credential = ReadSet::at_version(before).with_tag(Tag::new("everything"));
                let read_sets = ReadSets::from_iter([Arc::new(answer), Arc::new(credential)]);
                match lease.append(event("note.read"), read_sets).await {
                    // Repeat if the machine was stalled for longer than a lease lasts.
                    Err(AppendError::Stale(0)) => {}
                    refused => break refused,
                }
            };
            assert!(matches!(refused, Err(AppendError::Stale(1))), "{refused:?}");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn async_mode_grants_no_lease() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        let (store, tenant) = (store.clone(), tenant.clone());
        assert!(in_task(async move { store.lease_head(&tenant, None).await.unwrap().is_none() }).await);
    }
}
