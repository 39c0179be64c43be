//! Audit events of reads per second of one process on SQLite, and CPU per event.
//!
//! `./x bench` runs it. A number of tasks append one event after the other; the commit thread batches them. The first row,
//! with one task, shows how many commits per second the disk allows.

// A benchmark that cannot open its store must stop.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cpu;

use std::time::Instant;

use quad_core::{AuditLog as _, EventDraft, ReadSets};
use quad_store::{AuditMode, testing};

const EVENTS: usize = 200_000;
const EVENTS_SMOKE: usize = 256;

#[tokio::main(flavor = "multi_thread")]
async fn main() {
    let measuring = std::env::args().any(|argument| argument == "--bench");
    println!("audit events on SQLite, one tenant:");
    for (mode, name) in [(AuditMode::Durable, "durable"), (AuditMode::Async, "async")] {
        for tasks in [1, 64, 1_024] {
            let events = if measuring { EVENTS.min(tasks * 4_000) } else { EVENTS_SMOKE };
            let (rate, cpu_us) = measure(mode, tasks, events).await;
            println!("  {name:<8} {tasks:>5} at a time  {rate:>9.0} events/s  {cpu_us:>6.2} µs of CPU each");
        }
    }
}

async fn measure(mode: AuditMode, tasks: usize, events: usize) -> (f64, f64) {
    let db = testing::sqlite(&[]).await.unwrap();
    db.store.set_audit_mode(mode);
    let (started, ticks) = (Instant::now(), cpu::ticks());
    let recording: Vec<_> = (0..tasks)
        .map(|_| {
            let (store, tenant) = (db.store.clone(), db.tenant.clone());
            tokio::spawn(async move {
                for _ in 0..events.div_ceil(tasks) {
                    let event = EventDraft::system("agent", quad_core::event::MCP_CALL, "agent_bench")
                        .input("method", "resources/read")
                        .input("uri", "bkend://orgs")
                        .succeeded();
                    store.append(&tenant, event, ReadSets::new(), None).await.unwrap();
                }
            })
        })
        .collect();
    for task in recording {
        task.await.unwrap();
    }
    let total_events = (events.div_ceil(tasks) * tasks) as f64;
    let cpu_us = (cpu::ticks() - ticks) as f64 * 10_000.0;
    (total_events / started.elapsed().as_secs_f64(), cpu_us / total_events)
}
