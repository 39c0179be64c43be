//! `quad serve`

use std::net::SocketAddr;
use std::sync::Arc;

use quad_core::{Error, Kind, Result};
use quad_gate::{Issuer, RateLimit};
use quad_server::http::{self, HttpOptions};
use quad_server::{Door, TimeLimits};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::{SERVER_NAME, SERVER_VERSION};
use crate::app::App;
use crate::cli::{Client, Serve};
use crate::client_snippet::{Reach, snippet};
use crate::config::Rate;
use crate::{local_token, outcome};

/// Serves until it is told to stop.
pub async fn run(app: App, flags: &Serve, as_json: bool) -> Result<()> {
    let settings = app.config.serve(flags)?;
    app.store.set_audit_mode(app.config.audit_mode(flags.audit)?);
    let listener = bind(&settings.listen).await?;
    let bound = listener.local_addr().map_err(Error::internal)?;
    let authorization_servers = settings.issuer.iter().map(|issuer| issuer.issuer.clone()).collect();
    let gate = match settings.issuer {
        Some(issuer) => app.gate.clone().with_issuer(Issuer::open(issuer).await?),
        None => app.gate.clone(),
    };
    let (door, token) = if settings.no_auth {
        refuse_open_door_to_the_world(bound)?;
        (Door::Open(app.local_agent().into()), None)
    } else {
        (Door::Guarded(Arc::new(gate.clone())), local_token::ensure(&app).await?)
    };
    greet(&app, &format!("http://{bound}/mcp"), settings.no_auth, token.as_deref(), as_json);
    tokio::spawn(app.keeper.clone().run());
    tokio::spawn(app.project.clone().watch());
    let store = app.store.clone();
    let options = HttpOptions {
        listener,
        resolver: app.resolver.clone(),
        door,
        sessions: Some(Arc::new(app.gate.clone())),
        allowed_hosts: settings.allowed_hosts,
        public_url: settings.public_url,
        authorization_servers,
        all_tools: settings.all_tools,
        rate_limit: rate_limit(settings.rate_limit, bound),
        times: TimeLimits::default(),
        ready: Arc::new(move || {
            let store = store.clone();
            Box::pin(async move { store.is_ready().await })
        }),
        name: SERVER_NAME,
        version: SERVER_VERSION,
    };
    let served = http::serve(options, told_to_stop()).await.map_err(Error::internal);
    gate.flush_refusals().await;
    app.store.flush_audit().await?;
    served
}

/// The rate that the settings say. Where they say nothing, a loopback port has no limit: its callers are this machine's own.
fn rate_limit(said: Rate, bound: SocketAddr) -> Option<RateLimit> {
    match said {
        Rate::Limited(limit) => Some(limit),
        Rate::Unlimited => None,
        Rate::Default => (!bound.ip().is_loopback()).then(RateLimit::default),
    }
}

async fn bind(listen: &str) -> Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "Another program listens there; choose another port with --listen"
            }
            _ => "--listen takes an address of this machine and a port, such as 127.0.0.1:4704",
        };
        Error::new(Kind::BadInput, "LISTEN_FAILED", format!("Cannot listen on {listen}: {error}")).hint(hint)
    })
}

/// Without tokens everyone who reaches the port is the local agent, so only this machine may reach it.
fn refuse_open_door_to_the_world(bound: SocketAddr) -> Result<()> {
    if bound.ip().is_loopback() {
        return Ok(());
    }
    Err(Error::bad_input(format!("--no-auth would let everyone who reaches {bound} act as you")).hint(
        "Listen on 127.0.0.1, or leave --no-auth out and give each client a token with `quad token mint`",
    ))
}

/// The three things to copy.
fn greet(app: &App, endpoint: &str, no_auth: bool, token: Option<&str>, as_json: bool) {
    if as_json {
        outcome::line(json!({"endpoint": endpoint, "token": token, "dataDir": app.config.data_dir}));
        return;
    }
    let (text, file) = snippet(Client::ClaudeCode, &Reach::Http { endpoint, token });
    outcome::line(format_args!("Quadrivium {SERVER_VERSION}, serving tenant {}", app.tenant.name));
    outcome::line(format_args!("  data      {}", app.config.data_dir.display()));
    outcome::line(format_args!("  endpoint  {endpoint}"));
    match token {
        Some(token) => outcome::line(format_args!("  token     {token}")),
        None if no_auth => {
            outcome::line("  token     none needed (--no-auth): everyone on this machine is the local agent")
        }
        None => {
            outcome::line("  token     none: the local agent is kept out; `quad agent list` shows its state")
        }
    }
    outcome::line(format_args!(
        "\nFor Claude Code, in {file} (`quad client-config` knows other clients):\n{text}\n"
    ));
    outcome::line("Stop with Ctrl-C.");
}

async fn told_to_stop() {
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
    fn without_a_word_only_the_world_has_a_rate() {
        let (here, world) = ("127.0.0.1:1".parse().unwrap(), "0.0.0.0:1".parse().unwrap());
        let said = RateLimit { per_second: 1, burst: 1 };
        assert_eq!(rate_limit(Rate::Default, here), None);
        assert_eq!(rate_limit(Rate::Default, world), Some(RateLimit::default()));
        assert_eq!(rate_limit(Rate::Unlimited, world), None);
        assert_eq!(rate_limit(Rate::Limited(said), here), Some(said));
    }

    #[test]
    fn an_open_door_is_for_loopback_only() {
        assert!(refuse_open_door_to_the_world("127.0.0.1:1".parse().unwrap()).is_ok());
        assert!(refuse_open_door_to_the_world("[::1]:1".parse().unwrap()).is_ok());
        let refused = refuse_open_door_to_the_world("0.0.0.0:1".parse().unwrap()).unwrap_err();
        assert!(refused.hint_text().is_some());
    }
}
