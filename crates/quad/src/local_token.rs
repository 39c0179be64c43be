//! The token that `quad serve` prints. It is minted once and kept in the data folder, so that a client's configuration
//! stays valid over restarts.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use quad_auth::{AgentState, MintRequest};
use quad_core::{Error, PrincipalKind, Result};

use crate::app::App;

/// The agent that holds the token.
const SUBJECT: &str = "agent_local";

/// The saved token if it is still valid, or a new one. None if the local agent is quarantined or revoked: the server
/// then starts without a local token, so that other agents can still connect.
pub async fn load_or_mint(app: &App) -> Result<Option<String>> {
    let path = token_path(app);
    if let Ok(saved) = std::fs::read_to_string(&path) {
        let saved = saved.trim().to_owned();
        if app.auth.authenticate(Some(&format!("Bearer {saved}"))).await.is_ok() {
            return Ok(Some(saved));
        }
    }
    let agents = app.auth.agents(&app.tenant.id).await?;
    if agents.iter().any(|agent| agent.subject == SUBJECT && agent.state != AgentState::Active) {
        return Ok(None);
    }
    let agent = app.local_agent();
    let request = MintRequest {
        tenant: app.tenant.id.clone(),
        subject: SUBJECT.to_owned(),
        kind: PrincipalKind::Agent,
        scopes: agent.scopes.to_string(),
        ttl_ms: None,
        actor: "quad serve".to_owned(),
    };
    let minted = app.auth.mint(request, &app.resolver.all_scopes()).await?;
    save(&path, &minted.token)?;
    Ok(Some(minted.token))
}

/// One file per tenant, since each tenant has its own local agent.
pub fn token_path(app: &App) -> PathBuf {
    app.config.data_dir.join(format!("{}.token", app.tenant.name))
}

fn save(file: &PathBuf, token: &str) -> Result<()> {
    let temp_path = file.with_extension("token.new");
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temp_path)
        .and_then(|mut file| writeln!(file, "{token}"))
        .and_then(|()| std::fs::rename(&temp_path, file));
    written.map_err(|error| Error::internal(format!("{} cannot be written: {error}", file.display())))
}
