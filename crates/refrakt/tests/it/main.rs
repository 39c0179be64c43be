//! Tests from outside: against the original's recorded answers where they are at hand, and against our own snapshots.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adversarial;
mod fixture;
mod pages;
mod plan;
mod recorded;
mod scheme;
