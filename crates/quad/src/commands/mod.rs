//! One file per command. Each opens an [`App`] and uses the same resolver as the server.

mod agent;
mod audit;
mod backup;
mod bkend;
mod brain;
mod call;
mod client_config;
mod completions;
mod doctor;
mod key;
mod ls;
mod markdoc;
mod memory;
mod progress;
mod read;
mod refrakt;
mod restore;
mod serve;
mod stdio;
mod templates;
mod tenant;
mod token;
mod tools;
mod watch;

use quad_core::Result;

use crate::app::App;
use crate::cli::{Cli, Command, KeyCommand, LogFormat, PluginSet, RefraktCommand};
use crate::config::Config;

/// The server's name in the protocol.
const SERVER_NAME: &str = "quadrivium";

/// The server's version in the protocol.
const SERVER_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs a command.
pub async fn run(cli: Cli) -> Result<()> {
    let json = cli.common.json;
    if !matches!(cli.command, Command::Serve(_)) {
        crate::log::start(false, LogFormat::Text);
    }
    if let Command::Completions { shell } = cli.command {
        return completions::run(shell);
    }
    if let Command::Markdoc { command } = &cli.command {
        return markdoc::run(command);
    }
    if let Command::Refrakt { command: RefraktCommand::Render { file, plugins: PluginSet::All, .. } } =
        &cli.command
    {
        return refrakt::render_with_all(file, json);
    }
    if let Command::Audit(flags) = &cli.command
        && let Some(result) = audit::run_offline(&flags.command, json)
    {
        return result;
    }
    let config = Config::load(&cli.common)?;
    if let Command::Serve(flags) = &cli.command {
        // The settings file decides the form of its lines.
        crate::log::start(true, config.log_format(flags.log_format));
    }
    match cli.command {
        Command::Doctor { deep } => doctor::run(config, deep, json).await,
        Command::Serve(flags) => serve::run(App::open(config).await?, &flags, json).await,
        Command::Stdio(flags) => stdio::run(App::open(config).await?, &flags).await,
        Command::Restore(flags) => restore::run(config, &flags, json).await,
        Command::Key { command: KeyCommand::Create } => key::create(config, json).await,
        Command::Audit(flags) if audit::is_for_any_age(&flags.command) => {
            // Signs nothing meanwhile: until the database is accepted, the checkpoint file is evidence.
            let app = App::open_any_age(config).await?;
            let result = audit::run(&app, flags, json).await;
            // A checkpoint after a failure would be added to the evidence.
            if result.is_ok() {
                app.finish().await;
            }
            result
        }
        command => {
            let app = App::open(config).await?;
            app.start_checkpoints();
            let result = run_command(&app, command, json).await;
            app.finish().await;
            result
        }
    }
}

/// Runs a command that does not serve.
async fn run_command(app: &App, command: Command, json: bool) -> Result<()> {
    match command {
        Command::Read { uri } => read::run(app, &uri, json).await,
        Command::Ls { prefix } => ls::run(app, prefix.as_deref(), json).await,
        Command::Tools { name } => tools::run(app, name.as_deref(), json),
        Command::Templates => templates::run(app, json),
        Command::Call { tool, arguments } => call::run(app, &tool, &arguments, json).await,
        Command::Watch { uri } => watch::run(app, &uri, json).await,
        Command::ClientConfig { name, http } => client_config::run(app, name, http).await,
        Command::Backup(flags) => backup::run(app, &flags, json).await,
        Command::Tenant { command } => tenant::run(app, command, json).await,
        Command::Bkend { command } => bkend::run(app, command, json).await,
        Command::Brain { command } => brain::run(app, command, json).await,
        Command::Refrakt { command } => refrakt::run(app, command, json).await,
        Command::Memory { command } => memory::run(app, command, json).await,
        Command::Agent { command } => agent::run(app, command, json).await,
        Command::Key { command } => key::run(app, command, json).await,
        Command::Token { command } => token::run(app, command, json).await,
        Command::Audit(flags) => audit::run(app, flags, json).await,
        // These run without the database, or open it themselves.
        Command::Completions { .. }
        | Command::Doctor { .. }
        | Command::Markdoc { .. }
        | Command::Restore(_)
        | Command::Serve(_)
        | Command::Stdio(_) => Ok(()),
    }
}
