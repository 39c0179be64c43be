//! `quad client-config NAME`

use clap::Parser as _;
use quad_core::{Error, Kind, Result};

use crate::app::App;
use crate::cli::{Cli, Client, Command};
use crate::client_snippet::{ConnectionTarget, snippet};
use crate::running_server::{self, RunningServer, reachable_address};
use crate::{local_token, output};

/// Prints the snippet to standard output and the file name to standard error, so that the output can be piped into a
/// file.
pub async fn run(app: &App, client: Client, http: bool) -> Result<()> {
    let (text, file) = if http {
        let server = match running_server::find(&app.config.data_dir, &app.tenant.name) {
            Some(server) => server,
            None => {
                let server = configured_server(app)?;
                eprintln!(
                    "No running server was found. The snippet has the configured address; start the server with `quad serve`"
                );
                server
            }
        };
        if app.config.project.is_some() {
            eprintln!("Over HTTP the server chooses the project: start it with `quad serve --project DIR`");
        }
        let token = if server.no_auth {
            None
        } else {
            Some(local_token::load_or_mint(app).await?.ok_or_else(no_local_agent)?)
        };
        let endpoint = server.client_endpoint();
        snippet(client, &ConnectionTarget::Http { endpoint: &endpoint, token: token.as_deref() })
    } else {
        let program = std::env::current_exe().map_err(Error::internal)?;
        snippet(client, &ConnectionTarget::Stdio { program: &program, arguments: stdio_arguments(app)? })
    };
    output::print_line(text);
    eprintln!("Paste this into {file}");
    Ok(())
}

/// The address of the variables and the settings file, for when no server is running.
fn configured_server(app: &App) -> Result<RunningServer> {
    // Parsed as `quad serve` does, so that the variables count.
    let parsed = Cli::try_parse_from(["quad", "serve"]);
    let Ok(Cli { command: Command::Serve(flags), .. }) = parsed else {
        return Err(Error::bad_input("A variable of `quad serve` has an invalid value")
            .hint("Run `quad serve` to see which"));
    };
    let settings = app.config.serve(&flags)?;
    // Text that is no address, such as `localhost:4800`, stays as it is.
    let address = match settings.listen.parse() {
        Ok(bound) => reachable_address(bound).to_string(),
        Err(_) => settings.listen,
    };
    if address.ends_with(":0") && settings.public_url.is_none() {
        return Err(Error::bad_input(
            "The configured port is 0, so the address is known only while the server runs",
        )
        .hint("Start `quad serve` first, or configure another port with `listen`"));
    }
    Ok(RunningServer {
        tenant: app.tenant.name.clone(),
        endpoint: format!("http://{address}/mcp"),
        public_url: settings.public_url,
        no_auth: settings.no_auth,
    })
}

fn no_local_agent() -> Error {
    Error::new(
        Kind::Conflict,
        "AGENT_QUARANTINED",
        "The local agent is quarantined or revoked, so it has no token",
    )
    .hint(
        "Look up its state with `quad agent list`, or mint a token for another agent with `quad token mint`",
    )
}

/// The arguments of `quad stdio`. The client starts it in another folder, so every path is absolute.
fn stdio_arguments(app: &App) -> Result<Vec<String>> {
    let absolute = |path: &std::path::Path| {
        std::path::absolute(path).map(|path| path.display().to_string()).map_err(Error::internal)
    };
    let mut arguments = vec!["stdio".to_owned(), "--data-dir".to_owned(), absolute(&app.config.data_dir)?];
    if let Some(file) = &app.config.settings_file {
        arguments.extend(["--config".to_owned(), absolute(file)?]);
    }
    if let Some(url) = &app.config.database_url {
        arguments.extend(["--database-url".to_owned(), url.clone()]);
    }
    if let Some(project) = &app.config.project {
        arguments.extend(["--project".to_owned(), absolute(project)?]);
    }
    if app.tenant.name != quad_store::tenant::LOCAL {
        arguments.extend(["--tenant".to_owned(), app.tenant.name.clone()]);
    }
    Ok(arguments)
}
