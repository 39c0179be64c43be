//! Black-box tests: against recorded output of npm, and against snapshots.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adversarial;
mod catalogue;
mod identity;
mod inspect;
mod parity;
mod plugins;
mod properties;
mod quirks;
mod recorded;
mod selectors;
mod snapshot;
mod writing_runes;
