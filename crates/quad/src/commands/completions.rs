//! `quad completions SHELL`

use clap::CommandFactory as _;
use quad_core::Result;

use crate::cli::Cli;

/// Prints the completion script of a shell.
pub fn run(shell: clap_complete::Shell) -> Result<()> {
    clap_complete::generate(shell, &mut Cli::command(), "quad", &mut std::io::stdout());
    Ok(())
}
