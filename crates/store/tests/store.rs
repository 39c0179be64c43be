//! Integration tests of the store, on every available database.

// A panic in a helper fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit_query;
mod cache;
mod deferred_audit;
mod head_lease;
mod inline_read;
mod row_visitor;
mod rows_by_id;
mod wal;

use std::sync::Arc;
use std::time::Duration;

use quad_core::{
    AppendError, AuditLog, ChangeFeed, EventDraft, Kind, ReadSet, ReadSets, Tag, TenantId, Version,
};
use quad_store::audit::block;
use quad_store::testing::{TestStore, stores};
use quad_store::{Component, Sql, Store, Value, WriteContext, hash_record, limits, params};

const NOTES: Component = Component {
    name: "notes",
    migrations: &["CREATE TABLE note (tenant_id TEXT NOT NULL, id BIGINT NOT NULL, text TEXT NOT NULL, \
                   PRIMARY KEY (tenant_id, id))"],
};

fn event(action: &'static str) -> EventDraft {
    EventDraft::system("agent", action, "tester")
}

async fn add_note(store: &Store, tenant: &TenantId, id: i64, text: &str) -> quad_core::Result<Version> {
    let text = text.to_owned();
    let work = move |tx: &mut quad_store::Tx<'_>| {
        let tenant = tx.tenant().as_str().to_owned();
        // Out of order on purpose: a parameter is bound by its number, not by its first appearance.
        tx.execute(
            "INSERT INTO note (text, id, tenant_id) VALUES ($3, $2, $1)",
            params![tenant.as_str(), id, text.as_str()],
        )?;
        tx.invalidate(Tag::new(format!("note:{id}")));
        Ok(())
    };
    let ((), receipt) = store.write(&WriteContext::from(tenant), event("note.added"), work).await?;
    Ok(receipt.version)
}

async fn notes(store: &Store, tenant: &TenantId) -> Vec<(i64, String)> {
    store
        .read(tenant, |snapshot| {
            let tenant = snapshot.tenant().as_str().to_owned();
            let rows = snapshot
                .query("SELECT id, text FROM note WHERE tenant_id = $1 ORDER BY id", params![tenant])?;
            rows.iter().map(|row| Ok((row.int(0)?, row.text(1)?.to_owned()))).collect()
        })
        .await
        .unwrap()
}

/// All events of a tenant as stored. Checks sequences, hashes and the head row.
async fn checked_chain(store: &Store, tenant: &TenantId) -> Vec<serde_json::Value> {
    let (blocks, head) = store
        .read(tenant, |snapshot| {
            let tenant = snapshot.tenant().as_str().to_owned();
            let blocks = block::blocks_after(snapshot, 0, i64::MAX)?;
            let head = snapshot
                .query_opt("SELECT sequence, hash FROM head WHERE tenant_id = $1", params![tenant])?;
            Ok((blocks, head.unwrap()))
        })
        .await
        .unwrap();
    let mut previous: Option<String> = None;
    let mut events = Vec::new();
    for block in &blocks {
        assert_eq!(block.first_sequence, events.len() as i64 + 1, "blocks have no gap between them");
        assert_eq!(block.records().count() as i64, block.event_count);
        for (_, line) in block.records() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(record["prev_event_hash"].as_str(), previous.as_deref());
            assert_eq!(record.as_object().unwrap().len(), 20);
            previous = Some(hash_record(line));
            events.push(record);
        }
    }
    assert_eq!(head.int(0).unwrap(), events.len() as i64);
    assert_eq!(head.opt_text(1).unwrap(), previous.as_deref());
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_events_are_stored_compressed_and_readable() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let before = checked_chain(store, tenant).await.len();
        let recording = (0..300).map(|_| {
            let (store, tenant) = (store.clone(), tenant.clone());
            tokio::spawn(async move {
                store.append(&tenant, event("note.read"), ReadSets::new(), None).await.unwrap()
            })
        });
        for recorded in recording.collect::<Vec<_>>() {
            recorded.await.unwrap();
        }
        assert_eq!(checked_chain(store, tenant).await.len(), before + 300);
        let stored = store.read(tenant, |snapshot| {
            let tenant = snapshot.tenant().as_str().to_owned();
            let rows = snapshot
                .query("SELECT body, packed FROM audit_block WHERE tenant_id = $1", params![tenant])?;
            rows.iter().map(|row| Ok((row.text(0)?.len(), row.opt_blob(1)?.is_some()))).collect()
        });
        let stored: Vec<(usize, bool)> = stored.await.unwrap();
        assert!(stored.iter().any(|(_, is_packed)| *is_packed), "300 concurrent appends share commits");
        for (plain, is_packed) in stored {
            let fits = if is_packed { plain == 0 } else { plain <= limits::BLOCK_UNCOMPRESSED_MAX };
            assert!(fits, "{plain} bytes of text, packed: {is_packed}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn write_commits_rows_change_and_event_atomically() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let before = checked_chain(store, tenant).await.len();
        let first = add_note(store, tenant, 1, "one").await.unwrap();
        let second = add_note(store, tenant, 2, "two").await.unwrap();
        assert_eq!(second.0, first.0 + 1, "commit order is version order");
        let refused = add_note(store, tenant, 1, "again").await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Internal);
        assert_eq!(notes(store, tenant).await, [(1, "one".to_owned()), (2, "two".to_owned())]);
        let events = checked_chain(store, tenant).await;
        assert_eq!(events.len(), before + 2, "the failed write left no event");
        assert_eq!(events[before]["outputs"]["version"], first.0);
        assert_eq!(store.read(tenant, |snapshot| Ok(snapshot.version())).await.unwrap(), second);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn write_with_events_commits_each_event_and_needs_at_least_one() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let before = checked_chain(store, tenant).await.len();
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        let steps = |tx: &mut quad_store::Tx<'_>| {
            for id in [2_i64, 3] {
                let tenant = tx.tenant().as_str().to_owned();
                tx.execute(
                    "INSERT INTO note (tenant_id, id, text) VALUES ($1, $2, $3)",
                    params![tenant, id, "a"],
                )?;
                tx.audit_output("id", id);
                tx.emit_event(event("note.step"));
            }
            tx.invalidate(Tag::new("note:2"));
            Ok(())
        };
        store.write_with_events(&WriteContext::from(tenant), steps).await.unwrap();
        let events = checked_chain(store, tenant).await;
        let emitted: Vec<(&str, i64, i64)> = events[before + 1..]
            .iter()
            .map(|event| {
                let number = |name: &str| event["outputs"][name].as_i64().unwrap();
                (event["action"].as_str().unwrap(), number("id"), number("version"))
            })
            .collect();
        assert_eq!(emitted, [("note.step", 2, version.0 + 1), ("note.step", 3, version.0 + 1)]);
        let without_event = |tx: &mut quad_store::Tx<'_>| {
            let tenant = tx.tenant().as_str().to_owned();
            tx.execute("INSERT INTO note (tenant_id, id, text) VALUES ($1, 4, $2)", params![tenant, "a"])?;
            Ok(())
        };
        assert_eq!(
            store.write_with_events(&WriteContext::from(tenant), without_event).await.unwrap_err().kind(),
            Kind::Internal
        );
        assert_eq!(notes(store, tenant).await.len(), 3, "without an event nothing is committed");
        assert_eq!(checked_chain(store, tenant).await.len(), events.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_and_appends_form_one_chain() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let before = checked_chain(store, tenant).await.len();
        let mut tasks = tokio::task::JoinSet::new();
        for id in 0..64 {
            let (store, tenant) = (store.clone(), tenant.clone());
            tasks.spawn(async move {
                if id % 2 == 0 {
                    add_note(&store, &tenant, id, "note").await.unwrap();
                } else {
                    store.append(&tenant, event("note.read"), ReadSets::new(), None).await.unwrap();
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        assert_eq!(notes(store, tenant).await.len(), 32);
        assert_eq!(checked_chain(store, tenant).await.len(), before + 64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn append_is_stale_when_a_read_set_is_invalidated() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        let read_set = |tag: &str| Arc::new(ReadSet::at_version(version).with_tag(Tag::new(tag)));
        let record =
            |read_sets: Vec<_>| store.append(tenant, event("note.read"), ReadSets::from_vec(read_sets), None);
        record(vec![read_set("note:1"), read_set("note:2")]).await.unwrap();
        add_note(store, tenant, 2, "two").await.unwrap();
        record(vec![read_set("note:1")]).await.unwrap();
        let events = checked_chain(store, tenant).await.len();
        match record(vec![read_set("note:1"), read_set("note:2")]).await {
            Err(AppendError::Stale(1)) => {}
            other => panic!("expected the second read set to be stale, got {other:?}"),
        }
        assert_eq!(checked_chain(store, tenant).await.len(), events, "a stale read leaves no event");
    }
}

/// A side effect that increments a counter, which is the text of a note.
fn counting_side_effect(id: i64) -> quad_core::SideEffect {
    quad_store::fast_path::side_effect(id, move |tx| {
        let tenant = tx.tenant().as_str().to_owned();
        // In one statement: two processes may run it at the same time.
        let counted = tx.execute(
            "UPDATE note SET text = CAST(CAST(text AS BIGINT) + 1 AS TEXT) WHERE tenant_id = $1 AND id = $2",
            params![tenant.as_str(), id],
        )?;
        if counted == 0 {
            return Err(quad_core::Error::internal("note not found"));
        }
        Ok(())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn side_effect_commits_with_event_and_its_failure_keeps_event() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        let version = add_note(store, tenant, 1, "0").await.unwrap();
        let other_store = Store::open(location.clone(), &[NOTES]).await.unwrap();
        let read_set =
            |tag: &str| ReadSets::from_iter([Arc::new(ReadSet::at_version(version).with_tag(Tag::new(tag)))]);
        let record =
            |side_effect, read_sets| store.append(tenant, event("note.read"), read_sets, Some(side_effect));
        let before = checked_chain(store, tenant).await.len();
        // Two processes, concurrent appends: each counts exactly once.
        let at_once = (0..20).map(|number| {
            let (store, tenant) =
                (if number % 2 == 0 { store.clone() } else { other_store.clone() }, tenant.clone());
            tokio::spawn(async move {
                store
                    .append(&tenant, event("note.read"), ReadSets::new(), Some(counting_side_effect(1)))
                    .await
                    .unwrap()
            })
        });
        for counted in at_once.collect::<Vec<_>>() {
            assert_eq!(counted.await.unwrap().version, version, "a side effect advances no version");
        }
        assert_eq!(notes(store, tenant).await, [(1, "20".to_owned())]);
        // A side effect that fails or panics leaves only its event.
        record(counting_side_effect(9), ReadSets::new()).await.unwrap();
        record(quad_store::fast_path::side_effect(0, |_| panic!("on purpose")), ReadSets::new())
            .await
            .unwrap();
        assert_eq!(checked_chain(store, tenant).await.len(), before + 22);
        // A stale append does not run its side effect.
        add_note(&other_store, tenant, 2, "0").await.unwrap();
        let stale = record(counting_side_effect(1), read_set("note:2")).await;
        assert!(matches!(stale, Err(AppendError::Stale(0))), "{stale:?}");
        record(counting_side_effect(1), read_set("note:1")).await.unwrap();
        assert_eq!(notes(store, tenant).await[0].1, "21");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_process_validates_read_sets_older_than_itself() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        add_note(store, tenant, 2, "two").await.unwrap();
        let other_store = Store::open(location.clone(), &[NOTES]).await.unwrap();
        let read_set =
            |tag: &str| ReadSets::from_iter([Arc::new(ReadSet::at_version(version).with_tag(Tag::new(tag)))]);
        other_store.append(tenant, event("note.read"), read_set("note:1"), None).await.unwrap();
        let stale = other_store.append(tenant, event("note.read"), read_set("note:2"), None).await;
        assert!(matches!(stale, Err(AppendError::Stale(0))), "{stale:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn write_fails_when_credential_is_invalidated() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        let context = WriteContext {
            tenant: tenant.clone(),
            credential_read_set: Some(Arc::new(ReadSet::at_version(version).with_tag(Tag::new("note:2")))),
        };
        store.write(&context, event("allowed"), |_| Ok(())).await.unwrap();
        add_note(store, tenant, 2, "invalidates the credential").await.unwrap();
        let refused = store.write(&context, event("refused"), |_| Ok(())).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Credential);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_process_is_notified_and_rejects_stale_reads() {
    for TestStore { store, tenant, location, .. } in &stores(&[NOTES]).await.unwrap() {
        let version = add_note(store, tenant, 1, "one").await.unwrap();
        let other_store = Store::open(location.clone(), &[NOTES]).await.unwrap();
        let mut feed = other_store.subscribe(tenant).await.unwrap();
        add_note(store, tenant, 2, "two").await.unwrap();
        let change = tokio::time::timeout(Duration::from_secs(20), feed.recv()).await.unwrap().unwrap();
        assert_eq!(change.tags, [Tag::new("note:2")]);
        assert_eq!(change.version.0, version.0 + 1);
        add_note(store, tenant, 3, "three").await.unwrap();
        // No wait for the poller: the audit commit itself finds the newer change.
        let read_set = Arc::new(ReadSet::at_version(change.version).with_tag(Tag::new("note:3")));
        let stale =
            other_store.append(tenant, event("note.read"), ReadSets::from_iter([read_set]), None).await;
        assert!(matches!(stale, Err(AppendError::Stale(0))), "{stale:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tenant_does_not_fail_the_batch() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let unknown_tenant = TenantId::new("tnt_unknown");
        let (unknown_write, unknown_append, known_write) = tokio::join!(
            add_note(store, &unknown_tenant, 1, "theirs"),
            store.append(&unknown_tenant, event("note.read"), ReadSets::new(), None),
            add_note(store, tenant, 1, "ours"),
        );
        assert_eq!(unknown_write.unwrap_err().code(), "UNKNOWN_TENANT");
        assert!(
            matches!(unknown_append, Err(AppendError::Failed(error)) if error.code() == "UNKNOWN_TENANT")
        );
        known_write.unwrap();
        assert!(notes(store, &unknown_tenant).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unaudited_write_adds_no_version_or_event() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let events = checked_chain(store, tenant).await.len();
        let version = store.read(tenant, |snapshot| Ok(snapshot.version())).await.unwrap();
        let inserted = store.write_unaudited(tenant, |tx| {
            let tenant = tx.tenant().as_str().to_owned();
            Ok(tx
                .execute("INSERT INTO note (tenant_id, id, text) VALUES ($1, 9, $2)", params![tenant, "x"])?)
        });
        assert_eq!(inserted.await.unwrap(), 1);
        // It must not invalidate what others have read.
        let with_tag = store.write_unaudited(tenant, |tx| {
            let tenant = tx.tenant().as_str().to_owned();
            tx.invalidate(Tag::new("note:8"));
            Ok(tx
                .execute("INSERT INTO note (tenant_id, id, text) VALUES ($1, 8, $2)", params![tenant, "x"])?)
        });
        assert_eq!(with_tag.await.unwrap_err().kind(), Kind::Internal);
        assert_eq!(notes(store, tenant).await.len(), 1);
        assert_eq!(checked_chain(store, tenant).await.len(), events);
        assert_eq!(store.read(tenant, |snapshot| Ok(snapshot.version())).await.unwrap(), version);
    }
}

/// PostgreSQL drops a table even while an open snapshot still sees it in the catalogue.
#[tokio::test(flavor = "multi_thread")]
async fn read_is_retried_when_a_table_is_missing() {
    let Some(TestStore { store, tenant, .. }) = quad_store::testing::postgres(&[NOTES]).await.unwrap() else {
        eprintln!("skipped on PostgreSQL: QUAD_TEST_POSTGRES_URL is not set");
        return;
    };
    let mut attempts = 0;
    let result = store.read(&tenant, move |snapshot| {
        attempts += 1;
        if attempts == 1 {
            snapshot.query("SELECT 1 FROM dropped", params![])?;
        }
        Ok(attempts)
    });
    assert_eq!(result.await.unwrap(), 2);
    let missing =
        store.read(&tenant, |snapshot| Ok(snapshot.query("SELECT 1 FROM dropped", params![])?.len()));
    assert_eq!(
        missing.await.unwrap_err().kind(),
        Kind::Internal,
        "a table that stays missing is an internal error"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn write_is_retried_when_its_closure_hides_the_conflict() {
    let Some(TestStore { store, tenant, .. }) = quad_store::testing::postgres(&[NOTES]).await.unwrap() else {
        eprintln!("skipped on PostgreSQL: QUAD_TEST_POSTGRES_URL is not set");
        return;
    };
    let before = checked_chain(&store, &tenant).await.len();
    let mut attempts = 0;
    let work = move |tx: &mut quad_store::Tx<'_>| {
        attempts += 1;
        if attempts == 1 {
            // The error of the missing table can be retried; the error of the closure does not show that.
            tx.query("SELECT 1 FROM dropped", params![])
                .map_err(|_| quad_core::Error::bad_input("another error"))?;
        }
        Ok(attempts)
    };
    let (attempts, _) = store.write(&WriteContext::from(&tenant), event("note.added"), work).await.unwrap();
    assert_eq!(attempts, 2);
    assert_eq!(checked_chain(&store, &tenant).await.len(), before + 1);
    let refused = |_: &mut quad_store::Tx<'_>| -> quad_core::Result<()> {
        Err(quad_core::Error::bad_input("not retried"))
    };
    let error = store.write(&WriteContext::from(&tenant), event("note.added"), refused).await.unwrap_err();
    assert_eq!(error.message(), "not retried");
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_in_a_transaction_fails_only_that_transaction() {
    for TestStore { store, tenant, .. } in &stores(&[NOTES]).await.unwrap() {
        let refused = store
            .write(&WriteContext::from(tenant), event("bad"), |tx| -> quad_core::Result<()> {
                let tenant = tx.tenant().as_str().to_owned();
                tx.execute(
                    "INSERT INTO note (tenant_id, id, text) VALUES ($1, 1, $2)",
                    params![tenant, "x"],
                )?;
                panic!("on purpose")
            })
            .await
            .unwrap_err();
        assert_eq!(refused.kind(), Kind::Internal);
        assert!(notes(store, tenant).await.is_empty());
        add_note(store, tenant, 1, "the commit thread still runs").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_round_trip() {
    const CELLS: Component = Component {
        name: "cells",
        migrations: &["CREATE TABLE cell (id BIGINT PRIMARY KEY, i BIGINT, d DOUBLE, t TEXT, b BLOB)"],
    };
    for TestStore { store, tenant, .. } in &stores(&[CELLS]).await.unwrap() {
        let cells = [
            Value::Int(i64::MIN),
            Value::Real(0.1 + 0.2),
            Value::Text("é\u{1F600}\n\"'".to_owned()),
            Value::Blob(vec![0, 255, 10]),
        ];
        let written = cells.clone();
        let write = store.write_unaudited(tenant, move |tx| {
            let mut row = vec![Value::Int(1)];
            row.extend_from_slice(&written);
            tx.execute("INSERT INTO cell (id, i, d, t, b) VALUES ($1, $2, $3, $4, $5)", &row)?;
            tx.execute("INSERT INTO cell (id, i, d, t, b) VALUES (2, NULL, NULL, NULL, NULL)", &[])?;
            Ok(())
        });
        write.await.unwrap();
        let rows = store
            .read(tenant, |s| Ok(s.query("SELECT i, d, t, b FROM cell ORDER BY id", &[])?))
            .await
            .unwrap();
        for (index, cell) in cells.iter().enumerate() {
            assert_eq!(rows[0].value(index), cell);
            assert_eq!(rows[1].value(index), &Value::Null);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_rejects_data_from_newer_version() {
    const NEWER: Component = Component {
        name: "notes",
        migrations: &[NOTES.migrations[0], "CREATE TABLE extra (id BIGINT PRIMARY KEY)"],
    };
    for TestStore { store, location, .. } in stores(&[NEWER]).await.unwrap() {
        drop(store);
        let refused = Store::open(location, &[NOTES]).await.err().unwrap();
        assert_eq!(refused.code(), "DATA_TOO_NEW");
        assert!(refused.message().contains("notes is at 2"), "{}", refused.message());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_opens_as_a_database() {
    let TestStore { store, tenant, .. } = &quad_store::testing::sqlite(&[NOTES]).await.unwrap();
    add_note(store, tenant, 1, "kept").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    store.backup(&file, |_, _| {}).await.unwrap().publish().unwrap();
    let copy = Store::open(quad_store::Location::Sqlite(file.clone()), &[NOTES]).await.unwrap();
    assert_eq!(notes(&copy, tenant).await, [(1, "kept".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_never_overwrites_a_file() {
    let TestStore { store, .. } = &quad_store::testing::sqlite(&[NOTES]).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    std::fs::write(&file, "older").unwrap();
    let refused = store.backup(&file, |_, _| {}).await.unwrap_err();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "older");
    assert_eq!(refused.kind(), Kind::BadInput, "a backup never overwrites");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn concurrent_opens_of_a_new_file_succeed() {
    // A collision is rare: without a retry, a few of these rounds fail.
    for _ in 0..300 {
        let folder = tempfile::tempdir().unwrap();
        let location = quad_store::Location::Sqlite(folder.path().join("quad.db"));
        let opens: Vec<_> = (0..8)
            .map(|_| {
                let location = location.clone();
                tokio::spawn(async move { Store::open(location, &[]).await.map(drop) })
            })
            .collect();
        for open in opens {
            open.await.unwrap().unwrap();
        }
    }
}
