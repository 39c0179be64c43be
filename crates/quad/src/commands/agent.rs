//! `quad agent list|register|quarantine|restore|revoke`

use quad_auth::{AgentRecord, AgentState, RegisterRequest};
use quad_core::Result;
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::AgentCommand;
use crate::output;

/// The actor in audit events of this command.
const ACTOR: &str = "quad agent";

/// Lists the tenant's agents, or changes one.
pub async fn run(app: &App, command: AgentCommand, as_json: bool) -> Result<()> {
    let set_state =
        async |subject: &str, state| app.auth.set_agent_state(&app.tenant.id, subject, state, ACTOR).await;
    let agent = match command {
        AgentCommand::List => {
            print_agents(&app.auth.agents(&app.tenant.id).await?, as_json);
            return Ok(());
        }
        AgentCommand::Register { subject, kind, scope } => {
            let request = RegisterRequest {
                tenant: app.tenant.id.clone(),
                subject,
                kind: kind.into(),
                scopes: scope,
                actor: ACTOR.to_owned(),
            };
            app.auth.register_agent(request, &app.resolver.all_scopes()).await?
        }
        AgentCommand::Quarantine { subject } => set_state(&subject, AgentState::Quarantined).await?,
        AgentCommand::Restore { subject } => set_state(&subject, AgentState::Active).await?,
        AgentCommand::Revoke { subject } => set_state(&subject, AgentState::Revoked).await?,
    };
    if as_json {
        output::print_json(&agent.to_json());
    } else {
        print_agent(&agent);
    }
    Ok(())
}

fn print_agents(agents: &[AgentRecord], as_json: bool) {
    if as_json {
        let entries: Vec<Value> = agents.iter().map(AgentRecord::to_json).collect();
        output::print_json(&json!({"agents": entries}));
    } else {
        agents.iter().for_each(print_agent);
    }
}

fn print_agent(agent: &AgentRecord) {
    let (subject, kind, state) = (&agent.subject, agent.kind.as_str(), agent.state.as_str());
    let hash = agent.scope_hash.as_deref().unwrap_or("none");
    output::print_line(format_args!("{subject}  {kind}  {state}  {hash}  {}", agent.scopes));
}
