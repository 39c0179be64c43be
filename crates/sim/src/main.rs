//! `quad-sim`: runs seeds of the simulator against `quad`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use quad_sim::{Backend, Options, STEPS, planner};

/// Tests what quad promises, with two real processes, delays and kills, from a seed.
///
/// The same seed gives the same schedule, faults and checks. Exit codes: 0 all guarantees held, 1 one was violated,
/// 2 usage error.
#[derive(Debug, Parser)]
#[command(name = "quad-sim", version, max_term_width = 100)]
struct Cli {
    /// The seed, or the first of several
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many seeds to run, one after the other
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    seeds: u64,
    /// How many steps a run has
    #[arg(long, value_name = "N", default_value_t = STEPS)]
    steps: usize,
    /// The database under the two processes
    #[arg(long, value_enum, default_value_t = Backend::Sqlite)]
    backend: Backend,
    /// A PostgreSQL server; each run makes a database of its own there and drops it
    #[arg(long, env = "QUAD_TEST_POSTGRES_URL", value_name = "URL", hide_env_values = true)]
    database_url: Option<String>,
    /// The quad to test [default: the one beside this program]
    #[arg(long, env = "QUAD_BIN", value_name = "FILE")]
    quad: Option<PathBuf>,
    /// Print the schedule
    #[arg(long)]
    verbose: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let default_quad_path = || std::env::current_exe().ok().map(|path| path.with_file_name("quad"));
    let Some(quad) = cli.quad.or_else(default_quad_path).filter(|quad| quad.is_file()) else {
        eprintln!("error: quad program not found\nhint: build it (cargo build -p quad), or set --quad");
        return ExitCode::from(2);
    };
    if cli.backend == Backend::Postgres && cli.database_url.is_none() {
        eprintln!("error: --backend postgres needs a server\nhint: set --database-url");
        return ExitCode::from(2);
    }
    for seed in cli.seed..cli.seed.saturating_add(cli.seeds) {
        let plan = planner::plan(seed, cli.steps, cli.backend);
        println!(
            "seed {seed} on {}: {} steps, schedule {}",
            cli.backend,
            plan.step_count(),
            &plan.hash()[..16]
        );
        let options = Options {
            quad: &quad,
            backend: cli.backend,
            server_url: cli.database_url.as_deref(),
            steps: cli.steps,
            verbose: cli.verbose,
        };
        let started_at = Instant::now();
        match quad_sim::run(seed, options) {
            Ok(summary) => println!(
                "  held: {} calls answered and {} not, {} kills, {} notifications checked, {} events checked, \
                 {} steps skipped, {:.1} s",
                summary.answered,
                summary.unanswered,
                summary.kills,
                summary.notifications_checked,
                summary.events,
                summary.skipped_steps,
                started_at.elapsed().as_secs_f64()
            ),
            Err(failed_run) => {
                println!("FAILED\n{failed_run}");
                return ExitCode::from(1);
            }
        }
    }
    ExitCode::SUCCESS
}
