//! `audit = "async"`: calls that are answered before their audit events are committed.

use quad_core::Receipt;
use quad_store::AuditMode;

use super::*;

/// Appends an event and returns before its commit.
async fn append_async(store: &Store, tenant: &TenantId, read_sets: Vec<Arc<ReadSet>>) -> Receipt {
    let receipt = store.append(tenant, event("note.read"), read_sets.into(), None).await.unwrap();
    assert_eq!(receipt.sequence, None, "the event has no sequence yet");
    receipt
}

fn ids(chain: &[serde_json::Value]) -> Vec<&str> {
    chain.iter().filter_map(|event| event["id"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn deferred_events_are_flushed_soon_and_in_order() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        let before = checked_chain(store, tenant).await.len();
        let mut event_ids = Vec::new();
        // More than one batch.
        for _ in 0..2 * quad_store::limits::BATCH_JOBS_MAX + 3 {
            event_ids.push(append_async(store, tenant, Vec::new()).await.event_id);
        }
        store.flush_audit().await.unwrap();
        let chain = checked_chain(store, tenant).await;
        assert_eq!(ids(&chain[before..]), event_ids.iter().map(|id| &**id).collect::<Vec<_>>());
        // An event is flushed alone, and together with a write.
        let alone = append_async(store, tenant, Vec::new()).await.event_id;
        while checked_chain(store, tenant).await.len() == chain.len() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let along = append_async(store, tenant, Vec::new()).await.event_id;
        add_note(store, tenant, 1, "one").await.unwrap();
        store.flush_audit().await.unwrap();
        let written = checked_chain(store, tenant).await;
        let ids = ids(&written[chain.len()..]);
        assert_eq!(ids.len(), 3);
        assert_eq!(ids[0], &*alone);
        assert!(ids[1..].contains(&&*along));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn async_append_rejects_stale_read_sets() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        let read_set = |tag: &str| Arc::new(ReadSet::at_version(version).with_tag(Tag::new(tag)));
        assert_eq!(append_async(store, tenant, vec![read_set("note:2")]).await.version, version);
        store.flush_audit().await.unwrap();
        let other_store = Store::open(location.clone(), &[NOTES]).await.unwrap();
        for (number, writing_store) in [(2, store), (3, &other_store)] {
            let newer = add_note(writing_store, tenant, number, "newer").await.unwrap();
            let events = checked_chain(store, tenant).await.len();
            let read_sets = vec![read_set("note:1"), read_set(&format!("note:{number}"))];
            let stale = store.append(tenant, event("note.read"), read_sets.into(), None).await;
            assert!(matches!(stale, Err(AppendError::Stale(1))), "{stale:?}");
            assert_eq!(append_async(store, tenant, vec![read_set("note:1")]).await.version, newer);
            store.flush_audit().await.unwrap();
            assert_eq!(checked_chain(store, tenant).await.len(), events + 1, "a stale read leaves no event");
        }
        let unknown_tenant = TenantId::new("tnt_unknown");
        let refused = store.append(&unknown_tenant, event("note.read"), ReadSets::new(), None).await;
        assert!(matches!(refused, Err(AppendError::Failed(error)) if error.code() == "UNKNOWN_TENANT"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn side_effect_runs_once_per_async_event() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        add_note(store, tenant, 1, "0").await.unwrap();
        for _ in 0..50 {
            store
                .append(tenant, event("note.read"), ReadSets::new(), Some(counting_side_effect(1)))
                .await
                .unwrap();
        }
        store.flush_audit().await.unwrap();
        assert_eq!(notes(store, tenant).await, [(1, "50".to_owned())]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_store_flushes_deferred_events() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        let before = checked_chain(store, tenant).await.len();
        let other_store = Store::open(location.clone(), &[NOTES]).await.unwrap();
        other_store.set_audit_mode(AuditMode::Async);
        for _ in 0..300 {
            append_async(&other_store, tenant, Vec::new()).await;
        }
        drop(other_store);
        let written = async {
            while checked_chain(store, tenant).await.len() < before + 300 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), written).await.unwrap();
    }
}

/// Renames a table, so that commits fail until it is renamed back.
async fn rename_table(store: &Store, tenant: &TenantId, from: &'static str, to: &'static str) {
    let rename =
        move |tx: &mut quad_store::Tx<'_>| Ok(tx.execute_ddl(&format!("ALTER TABLE {from} RENAME TO {to}"))?);
    store.write_unaudited(tenant, rename).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_flush_keeps_events_and_stops_async_replies() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        store.set_audit_mode(AuditMode::Async);
        let before = checked_chain(store, tenant).await.len();
        rename_table(store, tenant, "audit_block", "audit_block_elsewhere").await;
        let first = append_async(store, tenant, Vec::new()).await.event_id;
        store.flush_audit().await.unwrap();
        let refused = store.append(tenant, event("note.read"), ReadSets::new(), None).await;
        assert!(matches!(refused, Err(AppendError::Failed(_))), "{refused:?}");
        rename_table(store, tenant, "audit_block_elsewhere", "audit_block").await;
        let waited = store.append(tenant, event("note.read"), ReadSets::new(), None).await.unwrap();
        let second = append_async(store, tenant, Vec::new()).await.event_id;
        store.flush_audit().await.unwrap();
        let chain = checked_chain(store, tenant).await;
        assert_eq!(ids(&chain[before..]), [&*first, &*waited.event_id, &*second]);
    }
}
