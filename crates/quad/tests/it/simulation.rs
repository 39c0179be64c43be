//! Runs the simulator with fixed seeds: the promises hold under delays, kills and lost connections.
//!
//! Run more seeds with `quad-sim --seeds 100`.

use std::path::Path;

use quad_sim::{Backend, Options};

use crate::instance::QUAD;

const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// Steps of a run.
const STEPS: usize = 80;

#[test]
fn fault_simulation_passes_on_sqlite() {
    run_seeds(Backend::Sqlite, None);
}

#[test]
fn fault_simulation_passes_on_postgres() {
    match std::env::var("QUAD_TEST_POSTGRES_URL") {
        Ok(server) => run_seeds(Backend::Postgres, Some(&server)),
        Err(_) => eprintln!("skipped on PostgreSQL: QUAD_TEST_POSTGRES_URL is not set"),
    }
}

fn run_seeds(backend: Backend, server: Option<&str>) {
    for seed in SEEDS {
        let options =
            Options { quad: Path::new(QUAD), backend, server_url: server, steps: STEPS, verbose: false };
        match quad_sim::run(seed, options) {
            Ok(summary) => {
                eprintln!("{backend}, seed {seed}: {summary:?}");
                assert!(summary.answered > summary.steps && summary.events > summary.answered, "{summary:?}");
            }
            Err(failed_run) => panic!("\n{failed_run}\n"),
        }
    }
}
