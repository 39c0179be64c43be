//! A seeded simulator that tests what `quad` promises: after a notification no reader gets anything older, no acknowledged
//! write is lost, the audit chain never forks, and no byte crosses a tenant.
//!
//! From a seed comes a schedule ([`planner`]); it is played ([`driver`]) against two real `quad serve` processes on one
//! database, while they are killed, made to stand still and cut off; and every answer is held against a model ([`model`]) of
//! what acknowledged and unanswered writes allow. The schedule, the faults and the checks are the same for the same seed,
//! byte for byte. How the processes' threads interleave is not: real processes are the point.
//!
//! It knows `quad` from outside only: its command line, its HTTP endpoints and its database's locks. Nothing of `quad`'s own
//! code is used, so that a mistake there cannot hide itself here.

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
pub mod round;
pub mod sandbox;
pub mod state;
mod steps;
mod watch;

use std::path::Path;

pub use driver::Summary;
pub use failure::Failure;
pub use plan::Backend;

/// The steps of a run, unless somebody wants more or fewer.
pub const STEPS: usize = 120;

/// A run that failed: why, and how to do it again.
#[derive(Clone, Debug)]
pub struct FailedRun {
    /// The seed.
    pub seed: u64,
    /// What did not hold.
    pub failure: Failure,
    /// The command that plays the same schedule.
    pub command: String,
    /// Where everything was left.
    pub artifacts: String,
}

impl std::fmt::Display for FailedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FailedRun { seed, failure, command, artifacts } = self;
        write!(f, "seed      {seed}\n{failure}\nagain     {command}\nleft at   {artifacts}")
    }
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The program under test.
    pub quad: &'a Path,
    /// The database.
    pub backend: Backend,
    /// The URL of a PostgreSQL server, where one is needed.
    pub server_url: Option<&'a str>,
    /// How many steps.
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
        .map_err(|failure| failed_run(failure, "nothing was begun".to_owned()))?;
    match driver::run(&sandbox, &plan, verbose) {
        Ok(summary) => {
            sandbox.clean_up().map_err(|failure| failed_run(failure, "the database".to_owned()))?;
            Ok(summary)
        }
        Err(failure) => Err(failed_run(failure, sandbox.keep_files())),
    }
}

use sandbox::Sandbox;
