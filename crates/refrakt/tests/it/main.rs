//! Tests from outside: against the original's recorded answers where they are at hand, and against our own snapshots.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adversarial;
mod recorded;
mod pages;
mod plan;
mod scheme;
mod fixture;
