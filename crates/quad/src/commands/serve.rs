//! `quad serve`

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;

use quad_auth::{Issuer, RateLimit};
use quad_core::{Error, Kind, Result};
use quad_server::http::{self, HttpOptions};
use quad_server::{AuthPolicy, CredentialVerifier, Timeouts};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::{SERVER_NAME, SERVER_VERSION};
use crate::app::App;
use crate::cli::{Client, Serve};
use crate::client_snippet::{ConnectionTarget, snippet};
use crate::config::RateSetting;
use crate::running_server::{RunningServer, ServerFile, reachable_address};
use crate::{local_token, output, process_metrics, readiness};

/// Serves over HTTP until SIGINT or SIGTERM.
pub async fn run(app: App, flags: &Serve, as_json: bool) -> Result<()> {
    refuse_hangups()?;
    let settings = app.config.serve(flags)?;
    app.store.set_audit_mode(app.config.audit_mode(flags.audit));
    let listener = bind(&settings.listen).await?;
    let bound = listener.local_addr().map_err(Error::internal)?;
    let authorization_servers = settings.issuer.iter().map(|issuer| issuer.issuer.clone()).collect();
    let auth = match settings.issuer {
        Some(issuer) => app.auth.clone().with_issuer(Issuer::open(issuer).await?),
        None => app.auth.clone(),
    };
    let (auth_policy, token) = if settings.no_auth {
        require_loopback(bound)?;
        let refusals = Some(Arc::new(auth.clone()) as Arc<dyn CredentialVerifier>);
        (AuthPolicy::LocalOnly { principal: app.local_agent().into(), refusals }, None)
    } else {
        (AuthPolicy::Token(Arc::new(auth.clone())), local_token::load_or_mint(&app).await?)
    };
    let running = RunningServer {
        tenant: app.tenant.name.clone(),
        endpoint: format!("http://{}/mcp", reachable_address(bound)),
        public_url: settings.public_url.clone(),
        no_auth: settings.no_auth,
    };
    // Removed when the server stops.
    let _server_file = ServerFile::create(&app.config.data_dir, &running)?;
    print_banner(&app, &running, token.as_deref(), as_json);
    if is_unencrypted(bound, settings.public_url.as_deref()) {
        print_unencrypted_warning(bound, as_json);
    }
    tokio::spawn(app.checkpoint_signer.clone().run());
    tokio::spawn(app.project.clone().watch());
    let (tenant, database) = (app.tenant.name.as_str(), format!("{:?}", app.store.backend()));
    tracing::info!(
        version = SERVER_VERSION,
        address = %bound,
        database,
        schemes = app.resolver.scheme_names().join(","),
        tenant,
        "started"
    );
    let options = HttpOptions {
        listener,
        resolver: app.resolver.clone(),
        auth_policy,
        sessions: Some(Arc::new(app.auth.clone())),
        allowed_hosts: settings.allowed_hosts,
        public_url: settings.public_url,
        authorization_servers,
        all_tools: settings.all_tools,
        tool_names: settings.tool_names,
        rate_limit: rate_limit(settings.rate_limit, bound),
        timeouts: Timeouts::default(),
        ready: readiness::check(&app),
        metrics: process_metrics::registry(&app),
        access_log: settings.access_log,
        name: SERVER_NAME,
        version: SERVER_VERSION,
    };
    let result = http::serve(options, shutdown_signal()).await.map_err(Error::internal);
    tracing::info!("stopped");
    auth.flush_refusals().await;
    // The last checkpoints: events after them could be cut off unnoticed.
    app.checkpoint_signer.finish().await?;
    result
}

/// The configured rate limit. By default, loopback has none, since its callers are local.
fn rate_limit(configured: RateSetting, bound: SocketAddr) -> Option<RateLimit> {
    match configured {
        RateSetting::Limited(limit) => Some(limit),
        RateSetting::Unlimited => None,
        RateSetting::Default => (!bound.ip().is_loopback()).then(RateLimit::default),
    }
}

async fn bind(listen: &str) -> Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "Choose another port with --listen; another program uses this one"
            }
            _ => "Give --listen an address of this machine and a port, such as 127.0.0.1:4704",
        };
        Error::new(Kind::BadInput, "LISTEN_FAILED", format!("Cannot listen on {listen}: {error}")).hint(hint)
    })
}

/// Refuses an address beyond loopback: without tokens, every request acts as the local agent.
fn require_loopback(bound: SocketAddr) -> Result<()> {
    if bound.ip().is_loopback() {
        return Ok(());
    }
    Err(Error::bad_input(format!("--no-auth is allowed on loopback only, not on {bound}"))
        .hint("Listen on 127.0.0.1, or remove --no-auth and give each client a token with `quad token mint`"))
}

/// Whether tokens and data can be read on the network. Behind a public URL with https there is a TLS proxy.
fn is_unencrypted(bound: SocketAddr, public_url: Option<&str>) -> bool {
    !bound.ip().is_loopback() && !public_url.is_some_and(|url| url.starts_with("https://"))
}

fn print_unencrypted_warning(bound: SocketAddr, as_json: bool) {
    let message = format!("{bound} serves plain HTTP: tokens and data can be read on the network");
    let hint =
        "Listen on 127.0.0.1, or put a TLS proxy in front and name its address with --public-url https://…";
    if as_json {
        eprintln!("{}", json!({"warning": {"message": message, "hint": hint}}));
    } else {
        eprintln!("warning: {message}\nhint: {hint}");
    }
}

/// Prints the endpoint, the token and a client configuration. Where standard output is not a terminal, it is a log or
/// a file, so the name of the token's file stands for the token.
fn print_banner(app: &App, running: &RunningServer, token: Option<&str>, as_json: bool) {
    let RunningServer { endpoint, public_url, no_auth, .. } = running;
    let token_file = token.map(|_| local_token::token_path(app));
    let is_terminal = std::io::stdout().is_terminal();
    if as_json {
        output::print_line(json!({
            "endpoint": endpoint,
            "publicUrl": public_url,
            "token": token.filter(|_| is_terminal),
            "tokenFile": token_file,
            "dataDir": app.config.data_dir,
        }));
        return;
    }
    let hidden_token = token_file.filter(|_| !is_terminal).map(|file| format!("in {}", file.display()));
    let client_endpoint = running.client_endpoint();
    let target = ConnectionTarget::Http { endpoint: &client_endpoint, token };
    let (text, file) = snippet(Client::ClaudeCode, &target);
    output::print_line(format_args!("Quadrivium {SERVER_VERSION}, serving tenant {}", app.tenant.name));
    output::print_line(format_args!("  data      {}", app.config.data_dir.display()));
    output::print_line(format_args!("  endpoint  {endpoint}"));
    if let Some(url) = public_url {
        output::print_line(format_args!("  public    {url}"));
    }
    match hidden_token.as_deref().or(token) {
        Some(token) => output::print_line(format_args!("  token     {token}")),
        None if *no_auth => {
            output::print_line("  token     not needed (--no-auth): every request is the local agent's")
        }
        None => output::print_line(
            "  token     none: the local agent is quarantined or revoked, see `quad agent list`",
        ),
    }
    if hidden_token.is_some() {
        output::print_line("\nFor a client's configuration, run `quad client-config NAME --http`.");
        return;
    }
    output::print_line(format_args!(
        "\nFor Claude Code, in {file} (for other clients see `quad client-config`):\n{text}\n"
    ));
    output::print_line("Stop with Ctrl-C.");
}

/// SIGHUP would end the process. It is often sent to make a server read its settings again, which this one does at its
/// start only.
fn refuse_hangups() -> Result<()> {
    let mut hangups = signal(SignalKind::hangup()).map_err(Error::internal)?;
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            tracing::warn!("SIGHUP is ignored: restart the server to read its settings again");
        }
    });
    Ok(())
}

pub async fn shutdown_signal() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_rate_limit_applies_only_beyond_loopback() {
        let (loopback, public) = ("127.0.0.1:1".parse().unwrap(), "0.0.0.0:1".parse().unwrap());
        let configured = RateLimit { per_second: 1, burst: 1 };
        assert_eq!(rate_limit(RateSetting::Default, loopback), None);
        assert_eq!(rate_limit(RateSetting::Default, public), Some(RateLimit::default()));
        assert_eq!(rate_limit(RateSetting::Unlimited, public), None);
        assert_eq!(rate_limit(RateSetting::Limited(configured), loopback), Some(configured));
    }

    #[test]
    fn plain_http_is_a_warning_beyond_loopback() {
        let check = |bound: &str, public_url: Option<&str>, expected: bool| {
            assert_eq!(
                is_unencrypted(bound.parse().unwrap(), public_url),
                expected,
                "{bound} {public_url:?}"
            );
        };
        check("127.0.0.1:1", None, false);
        check("[::1]:1", None, false);
        check("0.0.0.0:1", None, true);
        check("192.0.2.1:1", Some("http://quad.example.com"), true);
        check("0.0.0.0:1", Some("https://quad.example.com"), false);
    }

    #[test]
    fn no_auth_requires_loopback() {
        assert!(require_loopback("127.0.0.1:1".parse().unwrap()).is_ok());
        assert!(require_loopback("[::1]:1".parse().unwrap()).is_ok());
        let refused = require_loopback("0.0.0.0:1".parse().unwrap()).unwrap_err();
        assert!(refused.hint_text().is_some());
    }
}
