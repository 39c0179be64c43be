//! The write-ahead log stays short under constant writes.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use quad_store::{Location, testing};

use super::{NOTES, add_note};

/// Size of a note: some pages.
const NOTE_BYTES: usize = 16 * 1024;

/// Notes after which a log that never restarts is too long: 240 MiB.
const NOTES_MAX: i64 = 15_000;

/// Concurrent writers, so that there is always another commit.
const WRITERS: usize = 8;

/// The salt in the log's header, which changes each time the log restarts.
fn wal_salt(wal_path: &Path) -> Option<[u8; 8]> {
    let mut header = [0; 24];
    std::fs::File::open(wal_path).ok()?.read_exact(&mut header).ok()?;
    header[16..].try_into().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn wal_restarts_under_constant_writes() {
    let store = testing::sqlite(&[NOTES]).await.unwrap();
    let Location::Sqlite(file) = &store.location else { panic!("not a SQLite store") };
    let wal_path = file.with_file_name("quad.db-wal");
    let text = "x".repeat(NOTE_BYTES);
    let next = Arc::new(AtomicI64::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let (store, tenant, text, next) =
            (store.store.clone(), store.tenant.clone(), text.clone(), next.clone());
        tasks.spawn(async move {
            loop {
                let id = next.fetch_add(1, Ordering::Relaxed);
                if id >= NOTES_MAX {
                    return;
                }
                add_note(&store, &tenant, id, &text).await.unwrap();
            }
        });
    }
    let (mut restarts, mut last_salt) = (0, wal_salt(&wal_path));
    while restarts < 2 {
        assert!(next.load(Ordering::Relaxed) < NOTES_MAX, "the log has restarted only {restarts} times");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let current_salt = wal_salt(&wal_path);
        if current_salt != last_salt {
            (restarts, last_salt) = (restarts + 1, current_salt);
        }
    }
    next.store(NOTES_MAX, Ordering::Relaxed);
    tasks.join_all().await;
}
