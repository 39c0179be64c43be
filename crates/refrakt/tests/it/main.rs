//! Tests from outside: against the original's recorded answers where they are at hand, and against our own snapshots.

mod catalogue;
mod oracle;
mod plan;
mod snapshot;
mod writing_runes;
