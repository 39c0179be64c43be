//! A seeded simulator that tests the guarantees of `quad`: after a notification no reader gets older data, no
//! acknowledged write is lost, the audit chain never forks, and no data crosses tenants.
//!
//! The seed determines a schedule ([`planner`]). The [`driver`] runs it against two real `quad serve` processes on
//! one database, while they are killed, paused and disconnected. Every reply is compared with a [`model`] of the
//! states that acknowledged and unanswered writes allow. The schedule, the faults and the checks are the same for the
//! same seed, byte for byte. The interleaving of threads is not: the processes are real on purpose.
//!
//! The simulator knows `quad` only from outside: its command line, its HTTP endpoints and the locks of its database.
//! It shares no code with `quad`, so a defect there cannot hide itself here.

mod access_checks;
pub mod audit_check;
pub mod audit_expectations;
pub mod canonical;
pub mod client;
pub mod database;
pub mod driver;
pub mod failure;
pub mod http;
pub mod listener;
pub mod model;
pub mod node;
pub mod plan;
pub mod planner;
pub mod random;
mod reply_check;
pub mod round;
pub mod sandbox;
pub mod state;
mod steps;
mod watch;

use std::path::Path;

pub use driver::Summary;
pub use failure::Failure;
pub use plan::Backend;

/// The default number of steps of a run.
pub const STEPS: usize = 120;

/// A failed run and how to repeat it.
#[derive(Clone, Debug)]
pub struct FailedRun {
    /// The seed.
    pub seed: u64,
    /// The violated guarantee.
    pub failure: Failure,
    /// The command that repeats the schedule.
    pub command: String,
    /// Where the files of the run are.
    pub artifacts: String,
}

impl std::fmt::Display for FailedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FailedRun { seed, failure, command, artifacts } = self;
        write!(f, "seed      {seed}\n{failure}\nagain     {command}\nleft at   {artifacts}")
    }
}

/// The options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The `quad` program under test.
    pub quad: &'a Path,
    /// The kind of database.
    pub backend: Backend,
    /// The URL of a PostgreSQL server, if one is needed.
    pub server_url: Option<&'a str>,
    /// The number of steps.
    pub steps: usize,
    /// Whether to print the schedule.
    pub verbose: bool,
}

/// Runs one seed.
pub fn run(seed: u64, options: Options<'_>) -> Result<Summary, Box<FailedRun>> {
    let Options { quad, backend, server_url, steps, verbose } = options;
    let plan = planner::plan(seed, steps, backend);
    let failed_run = |failure, artifacts| {
        let command = format!("quad-sim --seed {seed} --steps {steps} --backend {backend}");
        Box::new(FailedRun { seed, failure, command, artifacts })
    };
    let sandbox = Sandbox::create(quad, backend, server_url, seed)
        .map_err(|failure| failed_run(failure, "none: the run did not start".to_owned()))?;
    match driver::run(&sandbox, &plan, verbose) {
        Ok(summary) => {
            sandbox.clean_up().map_err(|failure| failed_run(failure, "the database".to_owned()))?;
            Ok(summary)
        }
        Err(failure) => Err(failed_run(failure, sandbox.keep_files())),
    }
}

use sandbox::Sandbox;
