//! `quad token mint|list|revoke`

use quad_auth::{MintRequest, TokenRecord};
use quad_core::{PrincipalKind, Result, Timestamp, id};
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::{Mint, TokenCommand};
use crate::output;

/// The actor in audit events of this command.
const ACTOR: &str = "quad token";

/// Mints, lists or revokes tokens of the tenant.
pub async fn run(app: &App, command: TokenCommand, as_json: bool) -> Result<()> {
    match command {
        TokenCommand::Mint(flags) => mint(app, flags, as_json).await,
        TokenCommand::List => {
            let tokens = app.auth.tokens(&app.tenant.id).await?;
            if as_json {
                let entries: Vec<Value> = tokens.iter().map(TokenRecord::to_json).collect();
                output::print_json(&json!({"tokens": entries}));
            } else {
                tokens.iter().for_each(print_token);
            }
            Ok(())
        }
        TokenCommand::Revoke { id } => {
            let revoked = app.auth.revoke(&app.tenant.id, &id, ACTOR).await?;
            if as_json {
                output::print_json(&revoked.to_json());
            } else {
                output::print_line(format_args!("{id} is revoked; the next request with it is refused"));
            }
            Ok(())
        }
    }
}

async fn mint(app: &App, flags: Mint, as_json: bool) -> Result<()> {
    let kind = flags.kind.into();
    let is_generated = flags.subject.is_none();
    let subject = match flags.subject {
        Some(subject) => subject,
        None => generate_subject(kind)?,
    };
    let request = MintRequest {
        tenant: app.tenant.id.clone(),
        subject: subject.clone(),
        kind,
        scopes: flags.scope,
        ttl_ms: flags.ttl,
        actor: ACTOR.to_owned(),
    };
    let minted = app.auth.mint(request, &app.resolver.all_scopes()).await?;
    if as_json {
        let mut entry = minted.record.to_json();
        entry["token"] = minted.token.into();
        output::print_json(&entry);
    } else {
        if is_generated {
            // Standard output has the token alone, so that it can go into a file.
            eprintln!("The token is for {subject}; choose another name with --subject");
        }
        output::print_line(minted.token);
    }
    Ok(())
}

/// A new name for the holder of a token, such as `agent_7h2k9qxd`.
fn generate_subject(kind: PrincipalKind) -> Result<String> {
    let ulid = id::ulid()?;
    // The end of a ULID is random, its start is the time.
    let random = &ulid[ulid.len() - GENERATED_CHARS..];
    Ok(format!("{}_{}", kind.as_str(), random.to_ascii_lowercase()))
}

/// Random characters of a generated name: 40 bits, enough for the agents of a tenant.
const GENERATED_CHARS: usize = 8;

fn print_token(token: &TokenRecord) {
    let state = match (token.revoked_at, token.expires_at <= Timestamp::now()) {
        (Some(_), _) => "revoked",
        (None, true) => "expired",
        (None, false) => "active",
    };
    let (id, subject, kind) = (&token.id, &token.subject, token.kind.as_str());
    output::print_line(format_args!(
        "{id}  {state}  {kind} {subject}  until {}  {}",
        token.expires_at, token.scopes
    ));
}
