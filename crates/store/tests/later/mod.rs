//! `audit = "async"`: calls that are answered ahead of their events.

use quad_core::Receipt;
use quad_store::AuditMode;

use super::*;

/// Records and answers ahead of the event.
async fn answered(store: &Store, tenant: &TenantId, bases: Vec<Arc<ReadSet>>) -> Receipt {
    let receipt = store.append(tenant, event("note.read"), bases).await.unwrap();
    assert_eq!(receipt.sequence, None, "the event has no place yet");
    receipt
}

fn ids(chain: &[serde_json::Value]) -> Vec<&str> {
    chain.iter().filter_map(|event| event["id"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_calls_are_written_in_their_order_and_soon() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        let before = checked_chain(store, tenant).await.len();
        let mut told = Vec::new();
        // More than one commit takes.
        for _ in 0..2 * quad_store::limits::GROUP_JOBS + 3 {
            told.push(answered(store, tenant, Vec::new()).await.event_id);
        }
        store.settle().await.unwrap();
        let chain = checked_chain(store, tenant).await;
        assert_eq!(ids(&chain[before..]), told.iter().map(|id| &**id).collect::<Vec<_>>());
        // By itself, and along with whatever is written.
        let alone = answered(store, tenant, Vec::new()).await.event_id;
        while checked_chain(store, tenant).await.len() == chain.len() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let along = answered(store, tenant, Vec::new()).await.event_id;
        add_note(store, tenant, 1, "one").await.unwrap();
        store.settle().await.unwrap();
        let written = checked_chain(store, tenant).await;
        let ids = ids(&written[chain.len()..]);
        assert_eq!(ids.len(), 3);
        assert_eq!(ids[0], &*alone);
        assert!(ids[1..].contains(&&*along));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stale_is_answered_whoever_changed_it() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        let basis = |tag: &str| Arc::new(ReadSet::at_version(version).with_tag(Tag::new(tag)));
        assert_eq!(answered(store, tenant, vec![basis("note:2")]).await.version, version);
        store.settle().await.unwrap();
        let other = Store::open(location.clone(), &[NOTES]).await.unwrap();
        for (number, writer) in [(2, store), (3, &other)] {
            let newer = add_note(writer, tenant, number, "newer").await.unwrap();
            let events = checked_chain(store, tenant).await.len();
            let bases = vec![basis("note:1"), basis(&format!("note:{number}"))];
            let stale = store.append(tenant, event("note.read"), bases).await;
            assert!(matches!(stale, Err(AppendError::Stale(1))), "{stale:?}");
            assert_eq!(answered(store, tenant, vec![basis("note:1")]).await.version, newer);
            store.settle().await.unwrap();
            assert_eq!(checked_chain(store, tenant).await.len(), events + 1, "a stale read leaves no event");
        }
        let nobody = TenantId::new("tnt_nobody");
        let refused = store.append(&nobody, event("note.read"), Vec::new()).await;
        assert!(matches!(refused, Err(AppendError::Failed(error)) if error.code() == "UNKNOWN_TENANT"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_errand_is_run_once_with_its_event() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        add_note(store, tenant, 1, "0").await.unwrap();
        for _ in 0..50 {
            store.append_with_side_effect(tenant, event("note.read"), ReadSets::new(), Some(counting(1))).await.unwrap();
        }
        store.settle().await.unwrap();
        assert_eq!(notes(store, tenant).await, [(1, "50".to_owned())]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_let_go_still_writes_what_was_answered() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        let before = checked_chain(store, tenant).await.len();
        let other = Store::open(location.clone(), &[NOTES]).await.unwrap();
        other.set_audit_mode(AuditMode::Async);
        for _ in 0..300 {
            answered(&other, tenant, Vec::new()).await;
        }
        drop(other);
        let written = async {
            while checked_chain(store, tenant).await.len() < before + 300 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), written).await.unwrap();
    }
}

/// Moves the table of the chain away, or back.
async fn rename(store: &Store, tenant: &TenantId, from: &'static str, to: &'static str) {
    let rename =
        move |tx: &mut quad_store::Tx<'_>| Ok(tx.batch(&format!("ALTER TABLE {from} RENAME TO {to}"))?);
    store.jot(tenant, rename).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_written_is_kept_and_nobody_else_is_answered_ahead() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        let before = checked_chain(store, tenant).await.len();
        rename(store, tenant, "audit_block", "audit_block_elsewhere").await;
        let first = answered(store, tenant, Vec::new()).await.event_id;
        store.settle().await.unwrap();
        let refused = store.append(tenant, event("note.read"), Vec::new()).await;
        assert!(matches!(refused, Err(AppendError::Failed(_))), "{refused:?}");
        rename(store, tenant, "audit_block_elsewhere", "audit_block").await;
        let waited = store.append(tenant, event("note.read"), Vec::new()).await.unwrap();
        let second = answered(store, tenant, Vec::new()).await.event_id;
        store.settle().await.unwrap();
        let chain = checked_chain(store, tenant).await;
        assert_eq!(ids(&chain[before..]), [&*first, &*waited.event_id, &*second]);
    }
}
