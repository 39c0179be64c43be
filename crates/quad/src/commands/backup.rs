//! `quad backup FILE`

use indicatif::{ProgressBar, ProgressStyle};
use quad_auth::passphrase_encryption;
use quad_core::Result;
use quad_store::DatabaseCopy;
use serde_json::json;

use crate::app::App;
use crate::backup_contents::{self, Contents, Verified};
use crate::cli::Backup;
use crate::output;

/// Copies the database, with a progress bar, and verifies the copy.
pub async fn run(app: &App, flags: &Backup, as_json: bool) -> Result<()> {
    let file = flags.file.display().to_string();
    let passphrase = backup_contents::passphrase(flags.passphrase_file.as_deref(), flags.without_key)?;
    if let Some(passphrase) = &passphrase {
        passphrase_encryption::check_passphrase(passphrase)?;
    }
    // So that signed checkpoints cover every event of the copy. The file is read before the copy is made: while a
    // server runs, it soon has newer ones.
    app.checkpoint_signer.finish().await?;
    let current_key = app.checkpoint_signer.signer().sign(b"").public_key;
    let checkpoints = backup_contents::own_checkpoints(app.checkpoint_signer.file(), current_key)?;
    let bar = new_bar("pages");
    let progress = {
        let bar = bar.clone();
        move |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        }
    };
    let backup = app.store.backup(&flags.file, progress).await?;
    // After the copy, so that no token in it is newer than the keys.
    let contents = Contents::collect(&app.config, passphrase.as_deref())?;
    backup.add_items(&contents.to_items()?)?;
    let verified =
        backup_contents::verify(&DatabaseCopy::open(backup.temp_path())?, checkpoints.as_ref()).await?;
    backup.publish()?;
    bar.finish_and_clear();
    print_summary(&file, &contents, verified, as_json);
    if contents.encrypted_secrets.is_none() && !flags.without_key {
        warn_without_key(as_json);
    }
    Ok(())
}

fn print_summary(file: &str, contents: &Contents, verified: Verified, as_json: bool) {
    let Verified { chains, events } = verified;
    let has_key = contents.encrypted_secrets.is_some();
    if as_json {
        output::print_line(json!({
            "backup": file,
            "chains": chains,
            "events": events,
            "signingKey": if has_key { "encrypted" } else { "left_out" },
            "settings": contents.settings.is_some(),
        }));
        return;
    }
    output::print_line(format_args!("{file} is a copy of the database as of now"));
    output::print_line(format_args!(
        "    verified: every page and index, {events} events in {chains} audit chains"
    ));
    output::print_line(match has_key {
        true => "    the signing key is in it, encrypted with the passphrase",
        false => "    the signing key is not in it: keep signing.key in another place",
    });
    if contents.settings.is_some() {
        output::print_line("    the settings are in it");
    }
}

fn warn_without_key(as_json: bool) {
    let message = "Without the signing key, a restore ends all tokens";
    let hint =
        "Use --passphrase-file FILE to encrypt the key into the backup, or --without-key to leave it out";
    if as_json {
        eprintln!("{}", json!({"warning": {"message": message, "hint": hint}}));
    } else {
        eprintln!("warning: {message}\nhint: {hint}");
    }
}

/// A progress bar on standard error. Nothing is drawn if that is not a terminal.
pub fn new_bar(unit: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.with_message(unit)
}
