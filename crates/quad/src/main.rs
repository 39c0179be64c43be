//! `quad`: a resource server for AI agents, and the command line on the same code path.
#![forbid(unsafe_code)]

mod app;
mod cli;
mod client_snippet;
mod commands;
mod config;
mod local_token;
mod log;
mod output;
mod rune_flags;

use clap::Parser as _;

/// A read allocates a few dozen small things on one thread and frees some of them on another; this allocator is made for
/// that. `docs/decisions/0002-what-a-read-costs.md` has the figures.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tells the kernel to give memory in small pages. In pages of 2 MiB the allocator's many small heaps weigh twice as much, and the read
/// that touches a new one waits for all of it to be cleared; `docs/decisions/0003-memory.md` has the figures.
fn disable_huge_pages() {
    // A kernel that cannot is one that works as before.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

fn main() -> std::process::ExitCode {
    disable_huge_pages();
    let cli = cli::Cli::parse_from(rune_flags::rewrite_args(std::env::args_os().collect()));
    let json = cli.common.json;
    let result = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(quad_core::Error::internal)
        .and_then(|runtime| {
            let result = runtime.block_on(commands::run(cli));
            // Reading standard input cannot be cancelled; nobody waits for a line that will not come.
            runtime.shutdown_background();
            result
        });
    output::exit_code(result, json)
}
