//! The promise, under delays, kills and lost connections: some seeds of the simulator, the same ones each time.
//!
//! More of them by hand: `quad-sim --seeds 100`.

use std::path::Path;

use quad_sim::{Backend, Options};

use crate::place::QUAD;

const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// Steps of a run.
const STEPS: usize = 80;

#[test]
fn the_promise_holds_between_two_processes_on_one_file() {
    run(Backend::Sqlite, None);
}

#[test]
fn the_promise_holds_between_two_nodes_on_one_server() {
    match std::env::var("QUAD_TEST_POSTGRES_URL") {
        Ok(server) => run(Backend::Postgres, Some(&server)),
        Err(_) => eprintln!("skipped on PostgreSQL: QUAD_TEST_POSTGRES_URL is not set"),
    }
}

fn run(backend: Backend, server: Option<&str>) {
    for seed in SEEDS {
        let options = Options { quad: Path::new(QUAD), backend, server_url: server, steps: STEPS, verbose: false };
        match quad_sim::run(seed, options) {
            Ok(done) => {
                eprintln!("{backend}, seed {seed}: {done:?}");
                assert!(done.answered > done.steps && done.events > done.answered, "{done:?}");
            }
            Err(failed) => panic!("\n{failed}\n"),
        }
    }
}
