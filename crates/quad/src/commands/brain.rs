//! `quad brain import|add|load|export|release|tombstone`

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use quad_brain::import::{FileReport, ImportEvent, ImportFile, ImportOptions, StatementReport};
use quad_brain::{Brain, contribution, export, import, load, raw};
use quad_core::{Error, Kind, Result, input_file};
use quad_store::WriteContext;
use serde_json::{Map, Value, json};

use super::backup::new_bar;
use crate::app::{AgentDirectoryAdapter, App};
use crate::cli::{BrainAdd, BrainCommand, BrainImport};
use crate::output;

/// The actor in audit events of this command.
const ACTOR: &str = "quad brain";

/// Imports, adds, loads and exports ledger data, and manages evidence.
pub async fn run(app: &App, command: BrainCommand, as_json: bool) -> Result<()> {
    let writer = WriteContext::from(&app.tenant.id);
    match command {
        BrainCommand::Import(flags) => run_import(app, &writer, &flags, as_json).await,
        BrainCommand::Add { command } => {
            let (kind, fields) = add_fields(command);
            let id = load::add(&app.store, &writer, ACTOR, kind, fields).await?;
            if as_json {
                output::print_json(&json!({"id": id}));
            } else {
                output::print_line(id);
            }
            Ok(())
        }
        BrainCommand::Load { file } => {
            let bytes = read_file(&file, quad_brain::limits::UPLOAD_BYTES)?;
            let bar = new_bar("bytes");
            bar.set_length(bytes.len() as u64);
            let name = file_name(&file);
            let loaded =
                load::load(&app.store, &writer, ACTOR, &name, &bytes, |done| bar.set_position(done as u64))
                    .await?;
            bar.finish_and_clear();
            if as_json {
                output::print_json(
                    &json!({"created": loaded.created, "updated": loaded.updated, "skipped": loaded.skipped}),
                );
            } else {
                output::print_line(format_args!(
                    "{} created, {} updated, {} already present",
                    loaded.created, loaded.updated, loaded.skipped
                ));
            }
            Ok(())
        }
        BrainCommand::Export { file } => run_export(app, &file, as_json).await,
        BrainCommand::Release { agent } => {
            let at = contribution::release(&app.store, &writer, ACTOR, &agent).await?;
            let brain = Brain::new(app.store.clone(), Arc::new(AgentDirectoryAdapter(app.auth.clone())));
            let extracted = brain.extract_pending(&writer, &agent).await?;
            if as_json {
                output::print_json(&json!({"agent": agent, "released_at": at, "extracted": extracted}));
            } else {
                output::print_line(format_args!(
                    "{agent} is released; {extracted} contributions were imported into the ledger"
                ));
            }
            Ok(())
        }
        BrainCommand::Tombstone { id } => {
            let at = raw::tombstone(&app.store, &writer, ACTOR, &id).await?;
            if as_json {
                output::print_json(&json!({"id": id, "tombstoned_at": at}));
            } else {
                output::print_line(format_args!("{id} was withdrawn at {at}"));
            }
            Ok(())
        }
    }
}

/// The content of a file. Its kind and size are checked before it is read.
fn read_file(file: &Path, bytes_max: usize) -> Result<Vec<u8>> {
    input_file::read(file, bytes_max as u64).map_err(|error| match error.kind() {
        Kind::Limit => error.with_code("raw_artifact_too_large"),
        _ => error,
    })
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

async fn run_import(app: &App, writer: &WriteContext, flags: &BrainImport, as_json: bool) -> Result<()> {
    let request = ImportOptions {
        account: flags.account.clone(),
        currency: flags.currency.clone(),
        settings: flags.map.clone(),
        dry_run: flags.dry_run,
    };
    let sources = flags.files.clone().into_iter().map(move |file| {
        Ok(ImportFile {
            name: file_name(&file),
            bytes: read_file(&file, quad_brain::limits::STATEMENT_BYTES)?,
            options: request.clone(),
        })
    });
    let (mut reports, mut left_out) = (Vec::new(), 0);
    let bar = new_bar("entries");
    let on_progress = |number: usize, event: ImportEvent| match event {
        ImportEvent::Progress(done, total) => {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        }
        ImportEvent::FileDone(report) => {
            // The first import of a file has reported its lines; importing it again adds nothing and leaves nothing out.
            left_out += if report.was_imported { 0 } else { report.error_count };
            if as_json {
                reports.push(report_json(&flags.files[number], &report));
            } else {
                bar.suspend(|| print_report(&flags.files[number], &report, flags.dry_run));
            }
        }
    };
    let imported = import::import_all(&app.store, writer, ACTOR, sources, on_progress).await;
    bar.finish_and_clear();
    imported.map_err(|stopped| with_file_name(&flags.files[stopped.file_index], stopped.error))?;
    if !flags.dry_run {
        app.store.truncate_wal().await?;
    }
    if as_json {
        output::print_json(&json!({"files": reports}));
    }
    if left_out == 0 {
        return Ok(());
    }
    let message = format!("{left_out} lines or parts of the files could not be read");
    Err(Error::new(Kind::BadInput, "LINES_LEFT_OUT", message)
        .hint("Correct the lines named above in a copy and import the copy; what was imported is not added twice")
        .with_detail("lines", left_out))
}

/// Adds the file name to an error about its content.
fn with_file_name(file: &Path, error: Error) -> Error {
    if error.may_pass() {
        return error;
    }
    let message = format!("{}: {}", file.display(), error.message());
    let error_with_file = Error::new(error.kind(), error.code().to_owned(), message);
    match error.hint_text() {
        Some(hint) => error_with_file.hint(hint),
        None => error_with_file,
    }
}

fn report_json(file: &Path, report: &FileReport) -> Value {
    let statement = |statement: &StatementReport| {
        json!({
            "account_id": statement.account_id,
            "account_name": statement.account_name,
            "currency": statement.currency,
            "new_account": statement.is_new_account,
            "entries": statement.entries,
            "added": statement.posted.added,
            "updated": statement.posted.updated,
            "known": statement.posted.unchanged,
        })
    };
    json!({
        "file": file.display().to_string(),
        "raw_id": report.raw_id,
        "format": report.format,
        "mapping": report.mapping.as_deref().map(|mapping| mapping.lines().collect::<Vec<_>>()),
        "statements": report.statements.iter().map(statement).collect::<Vec<_>>(),
        "findings": report.diagnostics,
        "has_errors": report.has_errors,
        "resumed": report.is_resumed,
        "transfers": {
            "paired": report.transfers.paired,
            "ambiguous": report.transfers.ambiguous,
            "sentences": report.transfers.messages,
        },
    })
}

fn print_report(file: &Path, report: &FileReport, dry_run: bool) {
    let evidence = report.raw_id.as_deref().map(|id| format!(", evidence {id}")).unwrap_or_default();
    let resumed = if report.is_resumed { ", continues an interrupted import" } else { "" };
    output::print_line(format_args!("{}: {}{evidence}{resumed}", file.display(), report.format));
    for setting in report.mapping.iter().flat_map(|mapping| mapping.lines()) {
        output::print_line(format_args!("  --map '{setting}'"));
    }
    let (added, existing) =
        if dry_run { ("would be added", "are present") } else { ("added", "already present") };
    for statement in &report.statements {
        let id = statement.account_id.as_deref().unwrap_or("a new account");
        let new_marker = if statement.is_new_account { ", new" } else { "" };
        output::print_line(format_args!(
            "  {} ({id}, {}{new_marker}): {} of {} entries {added}, {} updated, {} {existing}",
            statement.account_name,
            statement.currency,
            statement.posted.added,
            statement.entries,
            statement.posted.updated,
            statement.posted.unchanged
        ));
    }
    for finding in &report.diagnostics {
        output::print_line(format_args!("  {finding}"));
    }
    let transfers = &report.transfers;
    if transfers.paired > 0 {
        output::print_line(format_args!("  {} transfers between own accounts paired", transfers.paired));
    }
    for sentence in &transfers.messages {
        output::print_line(format_args!("  {sentence}"));
    }
    let unnamed = transfers.ambiguous - transfers.messages.len();
    if unnamed > 0 {
        output::print_line(format_args!("  {unnamed} more stay unpaired"));
    }
}

async fn run_export(app: &App, file: &Path, as_json: bool) -> Result<()> {
    let to_stdout = file == Path::new("-");
    let write_error = |error| {
        Error::bad_input(format!("{} cannot be written: {error}", file.display()))
            .hint("Name a new file in an existing folder, or `-` for standard output")
    };
    let mut out: Box<dyn std::io::Write> = if to_stdout {
        Box::new(std::io::stdout().lock())
    } else {
        Box::new(std::io::BufWriter::new(std::fs::File::create_new(file).map_err(write_error)?))
    };
    let written = export::export_journal(&app.store, &app.tenant.id, |text| {
        out.write_all(text.as_bytes()).map_err(write_error)
    })
    .await?;
    out.flush().map_err(write_error)?;
    if as_json && !to_stdout {
        output::print_json(&json!({"transactions": written}));
    } else if !to_stdout {
        output::print_line(format_args!("{written} transactions written"));
    }
    Ok(())
}

/// The kind and fields of a row, in the form of `quad brain load`.
fn add_fields(command: BrainAdd) -> (&'static str, Map<String, Value>) {
    let (kind, value) = match command {
        BrainAdd::Account { name, currency, account_type, institution, number, balance, id } => (
            "account",
            json!({"id": id, "name": name, "currency": currency, "account_type": account_type, "institution": institution,
                "external_account_id": number, "current_balance": balance}),
        ),
        BrainAdd::Counterparty { name, counterparty_type, alias, id } => {
            ("counterparty", json!({"id": id, "name": name, "type": counterparty_type, "aliases": alias}))
        }
        BrainAdd::Obligation {
            counterparty,
            amount,
            currency,
            due,
            obligation_type,
            direction,
            recurrence,
            id,
        } => (
            "obligation",
            json!({"id": id, "counterparty_id": counterparty, "amount_due": amount, "currency": currency, "due_date": due,
                "type": obligation_type, "direction": direction, "recurrence": recurrence}),
        ),
        BrainAdd::Invoice { number, counterparty, amount, paid, currency, issued, due, id } => (
            "invoice",
            json!({"id": id, "invoice_number": number, "counterparty_id": counterparty, "amount_due": amount,
                "amount_paid": paid, "currency": currency, "issue_date": issued, "due_date": due}),
        ),
    };
    (kind, value.as_object().cloned().unwrap_or_default())
}
