//! `quad client-config NAME`

use quad_core::{Error, Kind, Result};

use crate::app::App;
use crate::cli::Client;
use crate::client_snippet::{ConnectionTarget, snippet};
use crate::{config, local_token, output};

/// Prints the snippet to standard output and the file name to standard error, so that the output can be piped into a
/// file.
pub async fn run(app: &App, client: Client, http: bool) -> Result<()> {
    let program = std::env::current_exe().map_err(Error::internal)?;
    let token;
    let endpoint = format!("http://{}/mcp", config::DEFAULT_LISTEN);
    let target = if http {
        token = local_token::load_or_mint(app).await?.ok_or_else(no_local_agent)?;
        ConnectionTarget::Http { endpoint: &endpoint, token: Some(&token) }
    } else {
        ConnectionTarget::Stdio { program: &program, arguments: stdio_arguments(app)? }
    };
    let (text, file) = snippet(client, &target);
    output::print_line(text);
    eprintln!("Paste this into {file}");
    Ok(())
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
