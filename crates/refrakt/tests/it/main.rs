//! Black-box tests: against recorded output of npm, and through the scheme.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adversarial;
mod fixture;
mod pages;
mod plan;
mod recorded;
mod scheme;
