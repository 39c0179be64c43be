//! The token that `quad serve` prints: made once, kept beside the data, so that yesterday's snippet works tomorrow.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use quad_core::{Error, PrincipalKind, Result};
use quad_gate::{AgentState, MintRequest};

use crate::app::App;

/// The subject of the token.
const SUBJECT: &str = "agent_local";

/// The kept token if it still opens the door, or else a new one; none if the local agent is kept out, which must not
/// keep everybody else out.
pub async fn ensure(app: &App) -> Result<Option<String>> {
    let file = file(app);
    if let Ok(kept) = std::fs::read_to_string(&file) {
        let kept = kept.trim().to_owned();
        if app.gate.authenticate(Some(&format!("Bearer {kept}"))).await.is_ok() {
            return Ok(Some(kept));
        }
    }
    let agents = app.gate.agents(&app.tenant.id).await?;
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
    let minted = app.gate.mint(request, &app.resolver.all_scopes()).await?;
    keep(&file, &minted.token)?;
    Ok(Some(minted.token))
}

/// One file a tenant: each has its own agent.
fn file(app: &App) -> PathBuf {
    app.config.data_dir.join(format!("{}.token", app.tenant.name))
}

fn keep(file: &PathBuf, token: &str) -> Result<()> {
    let fresh = file.with_extension("token.new");
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut open| writeln!(open, "{token}"))
        .and_then(|()| std::fs::rename(&fresh, file));
    written.map_err(|error| Error::internal(format!("{} cannot be written: {error}", file.display())))
}
