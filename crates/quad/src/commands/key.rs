//! `quad key rotate|create|list|drop`

use quad_audit::{CheckpointFile, database_check};
use quad_auth::KeyRecord;
use quad_core::Result;
use serde_json::{Value, json};

use crate::app::{App, check_database_exists, key_storage, open_store};
use crate::cli::KeyCommand;
use crate::config::Config;
use crate::output;

/// The actor in audit events of this command.
const ACTOR: &str = "quad key";

/// Lists, rotates or drops signing keys. They belong to the server, not to a tenant.
pub async fn run(app: &App, command: KeyCommand, as_json: bool) -> Result<()> {
    match command {
        KeyCommand::Rotate => {
            let new_key = app.auth.rotate_keys(ACTOR).await?;
            if as_json {
                output::print_json(&new_key.to_json());
            } else {
                output::print_line(format_args!(
                    "{} is the signing key from now on; existing tokens stay valid",
                    new_key.kid
                ));
            }
        }
        // Opens the database itself: without a key, nothing else can.
        KeyCommand::Create => create(app.config.clone(), as_json).await?,
        KeyCommand::List => {
            let keys = app.auth.keys().await?;
            if as_json {
                let entries: Vec<Value> = keys.iter().map(KeyRecord::to_json).collect();
                output::print_json(&json!({"keys": entries}));
            } else {
                keys.iter().for_each(print_key);
            }
        }
        KeyCommand::Drop { kid } => {
            app.auth.drop_key(&kid, ACTOR).await?;
            if as_json {
                output::print_json(&json!({"kid": kid, "dropped": true}));
            } else {
                output::print_line(format_args!(
                    "{kid} is deleted; the tokens that it signed are invalid from now on"
                ));
            }
        }
    }
    Ok(())
}

/// Creates a key where the signing keys are lost.
pub async fn create(config: Config, as_json: bool) -> Result<()> {
    check_database_exists(&config)?;
    let store = open_store(&config).await?;
    let checkpoints = CheckpointFile::in_folder(&config.data_dir);
    let is_current = database_check::check(&store, &checkpoints).await.is_ok();
    let kid = key_storage(&config).replace_lost(&store, ACTOR).await?;
    let app = App::with_store(config, store).await?;
    // On a database that is older than the checkpoint file, a new checkpoint would hide the lost events. The next start
    // refuses it.
    if is_current {
        app.finish().await;
    }
    if as_json {
        output::print_json(&json!({"kid": kid, "created": true}));
    } else {
        output::print_line(format_args!(
            "{kid} is the signing key from now on; mint new tokens, the old ones are invalid"
        ));
    }
    Ok(())
}

fn print_key(key: &KeyRecord) {
    let state = if key.current { "signs" } else { "verifies" };
    let usage = match key.needed_until {
        Some(until) => format!("has tokens until {until}"),
        None => "has no tokens".to_owned(),
    };
    output::print_line(format_args!("{}  {state}  created {}  {usage}", key.kid, key.created_at));
}
