//! Holds: an answer that others overtake is computed while nobody may change anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quad_core::{ReadSets, ReadSet, HeadLease, AuditLog, AppendError, Receipt, Tag, TenantId, Version};
use quad_store::testing::{TestStore, stores};
use quad_store::{AuditMode, Sql, Store, Writer};

use crate::{NOTES, add_note, checked_chain, counting, event, notes};

/// Runs work as a call: in a task of its own.
async fn call<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    tokio::time::timeout(Duration::from_secs(60), tokio::spawn(work)).await.unwrap().unwrap()
}

async fn hold(store: &Store, tenant: &TenantId) -> Box<dyn HeadLease> {
    store.lease_head(tenant, None).await.unwrap().unwrap()
}

/// Records an answer that anything would touch, as it was at that version.
async fn record(hold: Box<dyn HeadLease>, version: Version) -> Result<Receipt, AppendError> {
    let basis = ReadSet::at_version(version).with_tag(Tag::new("everything"));
    hold.append(event("note.read"), ReadSets::from_iter([Arc::new(basis)])).await
}

async fn version(store: &Store, tenant: &TenantId) -> Version {
    store.read(tenant, |snapshot| Ok(snapshot.version())).await.unwrap()
}

async fn touch_everything(store: &Store, tenant: &TenantId) {
    let work = |tx: &mut quad_store::Tx<'_>| {
        tx.touch(Tag::new("everything"));
        Ok(())
    };
    store.write(&Writer::from(tenant), event("touched"), work).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_writers_that_never_rest_every_held_answer_counts() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        let other = Store::open(location.clone(), &[NOTES]).await.unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        // More than there are connections, in the reader's own process and in another.
        let writers = (0..40).map(|number| {
            let (store, tenant) = (if number % 2 == 0 { store } else { &other }.clone(), tenant.clone());
            let is_over = is_over.clone();
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    touch_everything(&store, &tenant).await;
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        let (reader, of) = (store.clone(), tenant.clone());
        let counted = call(async move {
            let mut counted = 0;
            for _ in 0..40 {
                let hold = hold(&reader, &of).await;
                let seen = version(&reader, &of).await;
                match record(hold, seen).await {
                    Ok(receipt) => {
                        assert_eq!(
                            receipt.version, seen,
                            "nothing was changed between the answer and its event"
                        );
                        counted += 1;
                    }
                    // On a machine that stood still for so long.
                    Err(AppendError::Stale(0)) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            counted
        });
        let counted = counted.await;
        is_over.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        assert!(counted > 20, "{counted} of 40");
        let read = checked_chain(store, tenant).await;
        assert_eq!(read.iter().filter(|event| event["action"] == "note.read").count(), counted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_is_not_used_keeps_nobody_for_long() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let before = checked_chain(store, tenant).await.len();
        let (holding, of) = (store.clone(), tenant.clone());
        call(async move {
            let hold = hold(&holding, &of).await;
            let seen = version(&holding, &of).await;
            let (store, tenant) = (holding.clone(), of.clone());
            call(async move { touch_everything(&store, &tenant).await }).await;
            let late = record(hold, seen).await;
            assert!(matches!(late, Err(AppendError::Stale(0))), "{late:?}");
            // Dropped, it is over at once.
            for _ in 0..1_000 {
                drop(crate::hold::hold(&holding, &of).await);
            }
        })
        .await;
        assert_eq!(
            checked_chain(store, tenant).await.len(),
            before + 1,
            "only what was touched has an event"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_holds_and_writes_does_not_wait_for_itself() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let (store, tenant) = (store.clone(), tenant.clone());
        call(async move {
            // Were each to wait until its hold is over, this would take longer than a test may.
            for number in 0..1_300 {
                let hold = hold(&store, &tenant).await;
                let seen = version(&store, &tenant).await;
                store.jot(&tenant, |_| Ok(())).await.unwrap();
                if number % 100 == 0 {
                    let given_up = record(hold, seen).await;
                    assert!(matches!(given_up, Err(AppendError::Stale(0))), "{given_up:?}");
                }
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_errand_is_run_with_the_event_of_its_hold_or_not_at_all() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        for id in 0..4 {
            add_note(store, tenant, id, "0").await.unwrap();
        }
        let calls = (0..64).map(|number: i64| {
            let (store, tenant) = (store.clone(), tenant.clone());
            tokio::spawn(async move {
                let hold = store.lease_head(&tenant, Some(counting(number % 4))).await.unwrap();
                // Some find that there is nothing to answer.
                match hold {
                    Some(hold) if number % 16 != 5 => {
                        let seen = version(&store, &tenant).await;
                        (number % 4, record(hold, seen).await.is_ok())
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
        call(async move {
            // Once more where the machine stood still for longer than a hold lasts.
            loop {
                let hold = of.0.lease_head(&of.1, Some(counting(0))).await.unwrap().unwrap();
                let seen = version(&of.0, &of.1).await;
                if record(hold, seen).await.is_ok() {
                    break;
                }
            }
        })
        .await;
        assert_eq!(notes(store, tenant).await[0].1, (counted[0] + 1).to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_was_withdrawn_is_noticed_behind_a_hold_too() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let (store, tenant) = (store.clone(), tenant.clone());
        call(async move {
            let before = version(&store, &tenant).await;
            touch_everything(&store, &tenant).await;
            let refused = loop {
                let hold = hold(&store, &tenant).await;
                let answer = ReadSet::at_version(version(&store, &tenant).await).with_tag(Tag::new("everything"));
                let credential = ReadSet::at_version(before).with_tag(Tag::new("everything"));
                let bases = ReadSets::from_iter([Arc::new(answer), Arc::new(credential)]);
                match hold.append(event("note.read"), bases).await {
                    // Once more where the machine stood still for longer than a hold lasts.
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
async fn nobody_is_held_for_an_answer_that_does_not_wait_for_its_event() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        let (store, tenant) = (store.clone(), tenant.clone());
        assert!(call(async move { store.lease_head(&tenant, None).await.unwrap().is_none() }).await);
    }
}
