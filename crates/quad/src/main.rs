//! `quad`: a resource server for AI agents. The server and the command line share one code path.
#![forbid(unsafe_code)]

mod app;
mod backup_contents;
mod cli;
mod client_snippet;
mod commands;
mod config;
mod local_token;
mod log;
mod output;
mod process_metrics;
mod readiness;
mod rune_flags;
mod running_server;

use clap::Parser as _;

/// A read makes a few dozen small allocations on one thread and frees some of them on another. This allocator is fast
/// at that. `docs/decisions/0002-what-a-read-costs.md` has the figures.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Turns transparent huge pages off for this process. With pages of 2 MiB the allocator's many small heaps need twice
/// the memory, and a read that touches a new page waits until all of it is cleared. `docs/decisions/0003-memory.md` has
/// the figures.
fn disable_huge_pages() {
    // An old kernel cannot turn them off. That costs memory, nothing else.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

fn main() -> std::process::ExitCode {
    disable_huge_pages();
    let arguments = rune_flags::rewrite_args(std::env::args_os().collect());
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let cli = match cli::Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return output::usage_exit_code(&error, &arguments, wants_json),
    };
    let json = cli.common.json;
    let result = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(quad_core::Error::internal)
        .and_then(|runtime| {
            let result = runtime.block_on(commands::run(cli));
            // A blocking read of standard input cannot be cancelled, so shutdown must not wait for it.
            runtime.shutdown_background();
            result
        });
    output::exit_code(result, json)
}
