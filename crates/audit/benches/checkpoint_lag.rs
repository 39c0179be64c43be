//! How far checkpoints are behind the chain under load, and what they cost.
//!
//! A number of tasks append audit events of reads as fast as they can, once without checkpoints and once with them. The
//! lag is read from the database every 10 ms: events after the newest checkpoint, and since when there are any.
//! `cargo test -p quad-audit --bench checkpoint_lag -- --bench` runs it; with `QUAD_TEST_POSTGRES_URL` on PostgreSQL too.

// A benchmark that cannot open its store must stop.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_audit::{CheckpointFile, CheckpointSigner, SignatureWithKey, Signer};
use quad_core::{AuditLog as _, EventDraft, ReadSets};
use quad_store::audit::{block, checkpoint};
use quad_store::testing::{TestStore, stores};
use quad_store::{AuditMode, Backend};
use ring::signature::{Ed25519KeyPair, KeyPair as _};

const TASKS: usize = 64;
const DURATION: Duration = Duration::from_secs(10);
const DURATION_SMOKE: Duration = Duration::from_millis(200);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

struct Key(Ed25519KeyPair);

impl Signer for Key {
    fn sign(&self, message: &[u8]) -> SignatureWithKey {
        let (public_key, signature) = (self.0.public_key().as_ref().to_vec(), self.0.sign(message));
        SignatureWithKey { public_key, signature: signature.as_ref().to_vec() }
    }
}

#[tokio::main(flavor = "multi_thread")]
async fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let duration = if measuring { DURATION } else { DURATION_SMOKE };
    println!("checkpoints while {TASKS} tasks append events:");
    for mode in [AuditMode::Durable, AuditMode::Async] {
        for with_checkpoints in [false, true] {
            for db in stores(&[]).await.unwrap() {
                measure(db, mode, with_checkpoints, duration).await;
            }
        }
    }
}

async fn measure(db: TestStore, mode: AuditMode, with_checkpoints: bool, duration: Duration) {
    db.store.set_audit_mode(mode);
    let folder = tempfile::tempdir().unwrap();
    let key = Key(Ed25519KeyPair::from_seed_unchecked(&[1; 32]).unwrap());
    let file = CheckpointFile::in_folder(folder.path());
    let signer = CheckpointSigner::new(db.store.clone(), Arc::new(key), file);
    let signing = with_checkpoints.then(|| tokio::spawn(signer.run()));
    let (started, ticks) = (Instant::now(), cpu_ticks());
    let appending: Vec<_> = (0..TASKS)
        .map(|task| {
            let (store, tenant) = (db.store.clone(), db.tenant.clone());
            tokio::spawn(async move {
                while started.elapsed() < duration {
                    let event =
                        EventDraft::system("agent", quad_core::event::MCP_CALL, &format!("agent_{task}"))
                            .input("method", "resources/read")
                            .input("uri", "bkend://orgs/org_abc123")
                            .output("content_hash", "0123456789abcdef".repeat(4))
                            .succeeded();
                    store.append(&tenant, event, ReadSets::new(), None).await.unwrap();
                }
            })
        })
        .collect();
    let (mut events_max, mut behind_max, mut behind_since) = (0, Duration::ZERO, None);
    while started.elapsed() < duration {
        tokio::time::sleep(SAMPLE_INTERVAL).await;
        let ends =
            db.store.read(&db.tenant, |sql| Ok((block::chain_end(sql)?.sequence, checkpoint::latest(sql)?)));
        let (end, latest) = ends.await.unwrap();
        let (covered, made_at) = latest.map_or((0, None), |row| (row.size, Some(row.created_at)));
        events_max = events_max.max(end - covered);
        // The events after a checkpoint are at most as old as the checkpoint.
        let since: &mut (_, Instant) = behind_since.get_or_insert((made_at, Instant::now()));
        if since.0 != made_at {
            *since = (made_at, Instant::now());
        }
        behind_max = behind_max.max(since.1.elapsed());
    }
    for task in appending {
        task.await.unwrap();
    }
    let (elapsed, cpu) = (started.elapsed().as_secs_f64(), (cpu_ticks() - ticks) as f64 * 10_000.0);
    let counts =
        db.store.read(&db.tenant, |sql| Ok((block::chain_end(sql)?.sequence, checkpoint::latest(sql)?)));
    let (events, latest) = counts.await.unwrap();
    let backend = if db.store.backend() == Backend::Sqlite { "SQLite" } else { "PostgreSQL" };
    let rate = events as f64 / elapsed;
    let mode = if mode == AuditMode::Async { "async" } else { "durable" };
    print!("  {backend:<10} {mode:<7} {rate:>7.0} events/s  {:>6.2} µs of CPU each", cpu / events as f64);
    match latest.filter(|_| with_checkpoints) {
        Some(row) => println!(
            "  {:>5} checkpoints, at most {events_max} events and {behind_max:.0?} behind",
            row.number
        ),
        None => println!("  no checkpoints"),
    }
    if let Some(signing) = signing {
        signing.abort();
    }
}

/// The CPU time that this process has used, in units of 10 ms.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
