//! What `Store::read_inline` saves: time and CPU of a small read on SQLite, on the calling thread and on a blocking one.
//!
//! `./x bench` runs it. Reads one row 50,000 times, one read after the other.

// A benchmark that cannot open its store must stop.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cpu;

use std::time::Instant;

use quad_core::{Result, TenantId};
use quad_store::{Snapshot, Sql as _, Store, params, testing};

const READS: u32 = 50_000;
const READS_SMOKE: u32 = 16;

#[tokio::main(flavor = "multi_thread")]
async fn main() {
    let reads = if std::env::args().any(|argument| argument == "--bench") { READS } else { READS_SMOKE };
    let db = testing::sqlite(&[]).await.unwrap();
    println!("a read of one row on SQLite:");
    for (is_inline, name) in [(false, "read"), (true, "read_inline"), (false, "read"), (true, "read_inline")]
    {
        let (elapsed_us, cpu_us) = measure(&db.store, &db.tenant, is_inline, reads).await;
        println!("  {name:<12} {elapsed_us:>6.1} µs  {cpu_us:>6.1} µs of CPU");
    }
}

async fn measure(store: &Store, tenant: &TenantId, is_inline: bool, reads: u32) -> (f64, f64) {
    let read = |snapshot: &mut Snapshot<'_>| -> Result<usize> {
        let tenant = snapshot.tenant().as_str().to_owned();
        Ok(snapshot.query("SELECT name FROM tenant WHERE id = $1", params![tenant])?.len())
    };
    let (started, ticks) = (Instant::now(), cpu::ticks());
    for _ in 0..reads {
        let rows = match is_inline {
            true => store.read_inline(tenant, read).await,
            false => store.read(tenant, read).await,
        };
        assert_eq!(rows.unwrap(), 1);
    }
    let cpu_us = (cpu::ticks() - ticks) as f64 * 10_000.0;
    (started.elapsed().as_micros() as f64 / f64::from(reads), cpu_us / f64::from(reads))
}
