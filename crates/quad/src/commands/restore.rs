//! `quad restore FILE`

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use quad_audit::{CheckpointFile, database_check};
use quad_auth::KeyStorage;
use quad_core::{Error, EventDraft, Kind, Result, TenantId};
use quad_store::{DatabaseCopy, Location, WriteContext, backup};
use serde_json::json;

use crate::app::{App, make_data_dir, open_store};
use crate::backup_contents::{self, Contents, SETTINGS, Secrets, Verified};
use crate::cli::Restore;
use crate::config::Config;
use crate::output;

/// The actor in audit events of this command.
const ACTOR: &str = "quad restore";

/// What a restore did, and what is left to do.
struct Restored {
    verified: Verified,
    created_at: Option<String>,
    files: Vec<String>,
    next_steps: Vec<String>,
}

/// Verifies a backup and puts it into the data folder, which must not hold a database.
pub async fn run(config: Config, flags: &Restore, as_json: bool) -> Result<()> {
    let Location::Sqlite(database) = config.location() else {
        return Err(Error::new(Kind::BadInput, "BACKUP_UNSUPPORTED", "This data is in PostgreSQL").hint(
            "Use pg_restore, put QUAD_KEY and quad.toml back, then accept the older data with \
             `quad audit accept-restore`",
        ));
    };
    let copy = DatabaseCopy::open(&flags.file)?;
    let contents = Contents::read(&copy)?;
    let secrets = read_secrets(&contents, flags)?;
    let verified = backup_contents::verify(&copy, None).await?;
    drop(copy);

    make_data_dir(&config)?;
    check_is_free(&config.data_dir, &database, &secrets)?;
    let mut files = vec!["quad.db".to_owned()];
    for (name, text) in &secrets {
        if create_file(&config.data_dir.join(name), text)? {
            files.push(name.clone());
        }
    }
    if let Some(settings) = &contents.settings
        && create_file(&config.data_dir.join(SETTINGS), settings)?
    {
        files.push(SETTINGS.to_owned());
    }
    // An index of newer data; it is built again.
    let _ = std::fs::remove_dir_all(config.data_dir.join("search"));
    // Last, so that an interrupted restore can be run again.
    backup::restore(&flags.file, &database)?;
    let created_at = contents.manifest.map(|manifest| manifest.created_at);
    let next_steps = finish(&config, flags, created_at.as_deref(), verified).await?;
    print_summary(&config, flags, &Restored { verified, created_at, files, next_steps }, as_json);
    Ok(())
}

fn read_secrets(contents: &Contents, flags: &Restore) -> Result<Secrets> {
    if flags.without_key || contents.encrypted_secrets.is_none() {
        return Ok(Secrets::new());
    }
    match backup_contents::passphrase(flags.passphrase_file.as_deref(), false)? {
        Some(passphrase) => contents.secrets(&passphrase),
        None => Err(Error::bad_input("The signing key in this backup is encrypted")
            .hint("Name the file with its passphrase with --passphrase-file, or use --without-key")),
    }
}

/// Nothing is overwritten: neither a database nor another key.
fn check_is_free(data_dir: &Path, database: &Path, secrets: &Secrets) -> Result<()> {
    let taken = |name: &str| {
        let message = format!("{} exists already", data_dir.join(name).display());
        Error::new(Kind::Conflict, "DATA_EXISTS", message)
            .hint("Move it to another folder first, or restore into a new folder with --data-dir")
    };
    for name in ["quad.db", "quad.db-wal"] {
        if database.with_file_name(name).exists() {
            return Err(taken(name));
        }
    }
    for (name, text) in secrets {
        match std::fs::read_to_string(data_dir.join(name)) {
            Ok(present) if present != *text => return Err(taken(name)),
            _ => {}
        }
    }
    Ok(())
}

/// Creates a file that only its owner can read. Returns whether it was created: a file that exists stays as it is.
fn create_file(path: &Path, text: &str) -> Result<bool> {
    let failed = |error: std::io::Error| {
        Error::bad_input(format!("{} cannot be written: {error}", path.display()))
            .hint("Free some space, or choose another folder with --data-dir")
    };
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
        Ok(mut file) => {
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(true)
        }
    }
}

/// Records the restore in the audit chain, and writes the checkpoint file. Returns what the caller has to do.
async fn finish(
    config: &Config,
    flags: &Restore,
    created_at: Option<&str>,
    verified: Verified,
) -> Result<Vec<String>> {
    let store = open_store(config).await?;
    let name = flags.file.file_name().unwrap_or_default().to_string_lossy();
    let event = EventDraft::system("audit", "backup.restored", ACTOR)
        .input("file", quad_core::event::truncate_for_audit(&name))
        .input("created_at", created_at.unwrap_or_default())
        .output("events", verified.events);
    store.write(&WriteContext::from(&TenantId::system()), event, |_| Ok(())).await?;
    let checkpoints = CheckpointFile::in_folder(&config.data_dir);
    if !checkpoints.path().exists() {
        database_check::rewrite(&store, &checkpoints, None).await?;
    }
    let mut next_steps = Vec::new();
    match database_check::check(&store, &checkpoints).await {
        Err(error) if error.code() == "DATABASE_OLDER" => next_steps.push(format!(
            "checkpoints.jsonl in the folder covers newer events: accept the loss with `quad audit accept-restore` \
             ({})",
            error.message()
        )),
        outcome => outcome?,
    }
    match App::with_store(config.clone(), store).await {
        // Until the loss is accepted, the file stays as it is: its lines are evidence.
        Ok(app) if next_steps.is_empty() => app.finish().await,
        Ok(_) => {}
        Err(error) if error.code() == "KEY_MISSING" => next_steps.push(format!(
            "put {} into the folder, or make a new key with `quad key create`: every token must then be minted again",
            KeyStorage::FILE_NAME
        )),
        Err(error) => return Err(error),
    }
    Ok(next_steps)
}

fn print_summary(config: &Config, flags: &Restore, restored: &Restored, as_json: bool) {
    let (folder, file) = (config.data_dir.display(), flags.file.display());
    let Restored { verified: Verified { chains, events }, created_at, files, next_steps } = restored;
    if as_json {
        output::print_line(json!({
            "restored": file.to_string(),
            "dataDir": folder.to_string(),
            "createdAt": created_at,
            "chains": chains,
            "events": events,
            "files": files,
            "nextSteps": next_steps,
        }));
        return;
    }
    match created_at {
        Some(time) => output::print_line(format_args!("{folder} holds the data of {file}, as of {time}")),
        None => output::print_line(format_args!("{folder} holds the data of {file}")),
    }
    output::print_line(format_args!(
        "    verified: every page and index, {events} events in {chains} audit chains"
    ));
    output::print_line(format_args!("    restored: {}", files.join(", ")));
    if files.iter().any(|name| name == SETTINGS) {
        output::print_line("    move quad.toml to the place where quad reads it, or name it with --config");
    }
    for step in next_steps {
        output::print_line(format_args!("next: {step}"));
    }
}
