//! `quad client-config NAME`

use quad_core::{Error, Kind, Result};

use crate::app::App;
use crate::cli::Client;
use crate::client_snippet::{ConnectionTarget, snippet};
use crate::{config, local_token, output};

/// Prints the snippet to standard output, and where it belongs to standard error: the output can be piped into a file.
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
    eprintln!("This belongs into {file}");
    Ok(())
}

fn no_local_agent() -> Error {
    Error::new(
        Kind::Conflict,
        "AGENT_QUARANTINED",
        "The local agent is kept out, so there is no token for it",
    )
    .hint("`quad agent list` shows its state; `quad token mint` makes a token for another agent")
}

/// The client starts us from a folder of its own, so every path is absolute.
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
