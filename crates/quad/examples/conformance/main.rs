//! A server for the MCP conformance suite: the resolver, store, protocol and HTTP server of `quad`, with a scheme
//! `test` that has the fixtures the suite asks for.
//!
//! ```text
//! cargo run -p quad --example conformance -- --listen 127.0.0.1:4705
//! ```
//!
//! It answers at `/mcp` without authentication, so it listens on loopback only. Its audit chain is on SQLite in a
//! temporary folder.

mod fixtures;
mod media;
mod prompts;
mod resources;
mod tools;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use prometheus_client::registry::Registry;
use quad_auth::{AuthService, KeyStorage};
use quad_core::{Error, Principal, Resolver, Result, Scheme};
use quad_server::http::{HttpOptions, serve};
use quad_server::{AuthPolicy, Timeouts};
use quad_store::{Location, Store, tenant};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use fixtures::Fixtures;

/// Serves the fixtures of the MCP conformance suite.
#[derive(clap::Parser)]
struct Arguments {
    /// The loopback address to listen on.
    #[arg(long, default_value = "127.0.0.1:4705")]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { listen } = Arguments::parse();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    match run(listen).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(cause = error.cause_chain(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until SIGINT or SIGTERM.
async fn run(listen: SocketAddr) -> Result<()> {
    if !listen.ip().is_loopback() {
        return Err(Error::bad_input("The fixtures are served on loopback only"));
    }
    let folder = tempfile::tempdir().map_err(Error::internal)?;
    let store = Store::open(Location::Sqlite(folder.path().join("quad.db")), &[quad_auth::COMPONENT]).await?;
    let auth = AuthService::open(store.clone(), KeyStorage::new(folder.path(), None)).await?;
    let local = tenant::ensure(&store, tenant::LOCAL).await?;
    let schemes: Vec<Arc<dyn Scheme>> = vec![Arc::new(Fixtures::new()?)];
    let audit_log = Arc::new(store.clone());
    let resolver = Arc::new(Resolver::new(schemes, audit_log.clone(), audit_log)?);
    let options = HttpOptions {
        listener: TcpListener::bind(listen).await.map_err(Error::internal)?,
        auth_policy: AuthPolicy::LocalOnly {
            principal: Principal::local_agent(local.id, resolver.all_scopes()).into(),
            refusals: None,
        },
        resolver,
        sessions: Some(Arc::new(auth)),
        allowed_hosts: Vec::new(),
        public_url: None,
        authorization_servers: Vec::new(),
        all_tools: false,
        tool_names: quad_mcp::ToolNames::Portable,
        rate_limit: None,
        timeouts: Timeouts::default(),
        ready: Arc::new(move || {
            let store = store.clone();
            Box::pin(async move { store.check_writable().await })
        }),
        metrics: Registry::default(),
        access_log: false,
        name: "quadrivium-fixtures",
        version: env!("CARGO_PKG_VERSION"),
    };
    let mut interrupted = signal(SignalKind::interrupt()).map_err(Error::internal)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(Error::internal)?;
    let shutdown = async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    };
    serve(options, shutdown).await.map_err(Error::internal)
}
