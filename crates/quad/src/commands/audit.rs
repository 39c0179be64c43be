//! `quad audit tail|export|verify|prove|check-receipt|accept-restore|archive`

use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use quad_audit::database_check::{self, AcceptedDatabase, MissingCheckpoint};
use quad_audit::{
    EventSelector, Origin, ReadReceipt, Report, TrustedCheckpoints, Verifier, archive, export, limits, proof,
};
use quad_core::{Error, Kind, Result, TenantId, Timestamp, input_file};
use quad_store::AuditEvent;
use quad_store::audit::{Filter, block, lookup, query};
use serde_json::{Value, json};

use super::backup::new_bar;
use crate::app::App;
use crate::cli::{Audit, AuditCommand, Tail};
use crate::output;

/// The actor in audit events of this command.
const ACTOR: &str = "quad audit";

/// How often `--follow` polls for new events.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// Runs a command that needs no database; None if this command needs it.
pub fn run_offline(command: &AuditCommand, as_json: bool) -> Option<Result<()>> {
    match command {
        AuditCommand::Verify { files, checkpoints } if !files.is_empty() => {
            Some(verify_files(files, checkpoints.as_deref(), as_json))
        }
        AuditCommand::CheckReceipt { file, against: Some(against), checkpoints } => {
            Some(check_receipt_offline(file, against, checkpoints.as_deref(), as_json))
        }
        _ => None,
    }
}

/// Whether the command also runs on a database that is older than the checkpoints beside it.
pub fn is_for_any_age(command: &AuditCommand) -> bool {
    matches!(command, AuditCommand::Verify { .. } | AuditCommand::Tail(_) | AuditCommand::AcceptRestore)
}

/// Runs a command with the database.
pub async fn run(app: &App, Audit { system, command }: Audit, as_json: bool) -> Result<()> {
    let tenant = if system { TenantId::system() } else { app.tenant.id.clone() };
    match command {
        AuditCommand::Tail(flags) => tail(app, &tenant, flags, as_json).await,
        AuditCommand::Export { file } => export_to_file(app, &tenant, &file, as_json).await,
        AuditCommand::Verify { files, checkpoints } if files.is_empty() => {
            verify_database(app, &tenant, checkpoints.as_deref(), as_json).await
        }
        AuditCommand::Verify { files, checkpoints } => verify_files(&files, checkpoints.as_deref(), as_json),
        AuditCommand::Prove { event } => prove(app, &tenant, &event).await,
        AuditCommand::CheckReceipt { file, against: None, checkpoints } => {
            check_receipt(app, &tenant, &file, checkpoints.as_deref(), as_json).await
        }
        AuditCommand::CheckReceipt { file, against: Some(against), checkpoints } => {
            check_receipt_offline(&file, &against, checkpoints.as_deref(), as_json)
        }
        AuditCommand::AcceptRestore => accept_restore(app, as_json).await,
        AuditCommand::Archive { before, file } => archive_to_file(app, &tenant, before, &file, as_json).await,
    }
}

async fn tail(app: &App, tenant: &TenantId, flags: Tail, as_json: bool) -> Result<()> {
    let filter = Filter {
        actor: flags.agent,
        uri: flags.uri,
        action: flags.action,
        outcome: flags.outcome,
        since: flags.since,
        until: flags.until,
    };
    let end = app.store.read(tenant, |sql| block::chain_end(sql)).await?.sequence;
    let mut events = events_after(app, tenant, &filter, end + 1, 0, flags.count).await?;
    events.iter().rev().for_each(|event| print_event(event, as_json));
    if !flags.follow {
        return Ok(());
    }
    let mut last_shown = end;
    loop {
        tokio::select! {
            () = tokio::time::sleep(FOLLOW_INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
        let end = app.store.read(tenant, |sql| block::chain_end(sql)).await?.sequence;
        if end > last_shown {
            events = events_after(app, tenant, &filter, end + 1, last_shown, usize::MAX).await?;
            events.iter().rev().for_each(|event| print_event(event, as_json));
            last_shown = end;
        }
    }
}

/// The matching events between two sequence numbers, both exclusive, newest first.
async fn events_after(
    app: &App,
    tenant: &TenantId,
    filter: &Filter,
    before: i64,
    after: i64,
    limit: usize,
) -> Result<Vec<AuditEvent>> {
    let mut events: Vec<AuditEvent> = Vec::new();
    // Without a start, the first page begins at `--until` and skips newer events.
    let mut next = (filter.until.is_none()).then_some(before);
    loop {
        let (filter, remaining) = (filter.clone(), limit - events.len());
        let page = app.store.read(tenant, move |sql| query::page(sql, &filter, next, remaining)).await?;
        let is_done = page.next.is_none_or(|next| next <= after + 1);
        events.extend(
            page.events.into_iter().filter(|event| event.sequence > after && event.sequence < before),
        );
        if is_done || events.len() >= limit {
            return Ok(events);
        }
        next = page.next;
    }
}

fn print_event(event: &AuditEvent, as_json: bool) {
    let Ok(entry) = quad_audit::event_json(event) else { return };
    if as_json {
        output::print_line(entry);
        return;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let inputs = &entry["inputs"];
    let target = ["uri", "tool", "prompt", "name"].into_iter().find_map(|name| text(&inputs[name]));
    let operation = text(&inputs["method"]).or_else(|| text(&entry["action"])).unwrap_or_default();
    let (time, actor) =
        (text(&entry["created_at"]).unwrap_or_default(), text(&entry["actor"]).unwrap_or_default());
    let result =
        text(&entry["outputs"]["error_code"]).or_else(|| text(&entry["outcome"])).unwrap_or_default();
    let (sequence, target) = (event.sequence, target.unwrap_or_default());
    output::print_line(format!("{sequence}  {time}  {actor}  {result}  {operation} {target}").trim_end());
}

async fn export_to_file(app: &App, tenant: &TenantId, file: &Path, as_json: bool) -> Result<()> {
    let bar = new_bar("events");
    let progress = progress_callback(&bar);
    if file == Path::new("-") {
        let mut out = BufWriter::new(std::io::stdout());
        export::export(&app.checkpoint_signer, tenant, &mut out, progress).await?;
        bar.finish_and_clear();
        return Ok(());
    }
    // A new file, readable by its owner only: it says who read what.
    let created = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let created = created.map_err(|error| {
        let hint = format!("Choose a new file in an existing folder: {error}");
        Error::bad_input(format!("{} cannot be created", file.display())).hint(hint)
    })?;
    let mut out = BufWriter::new(&created);
    let exported = export::export(&app.checkpoint_signer, tenant, &mut out, progress).await?;
    out.flush().and_then(|()| created.sync_all()).map_err(Error::internal)?;
    bar.finish_and_clear();
    let (first, last) = (exported.first_sequence, exported.last_sequence);
    if as_json {
        output::print_line(
            json!({"export": file.display().to_string(), "firstSequence": first, "lastSequence": last}),
        );
    } else {
        output::print_line(format_args!(
            "{} holds events {first} to {last}; verify it anywhere with `quad audit verify {0}`",
            file.display()
        ));
    }
    Ok(())
}

async fn verify_database(
    app: &App,
    tenant: &TenantId,
    checkpoints: Option<&Path>,
    as_json: bool,
) -> Result<()> {
    let source = CheckpointSource::of_server(app, checkpoints);
    let trusted = source.load(Some(app))?;
    let bar = new_bar("events");
    let progress = progress_callback(&bar);
    let report = export::verify_stored(&app.store, tenant, trusted, progress).await?;
    bar.finish_and_clear();
    print_report(&report, &source, as_json);
    Ok(())
}

fn verify_files(files: &[PathBuf], checkpoints: Option<&Path>, as_json: bool) -> Result<()> {
    let source = CheckpointSource::named(checkpoints);
    let trusted = source.load(None)?;
    if let [file] = files
        && let Some(document) = read_proof(file)?
    {
        let verified = proof::verify(&document, trusted.as_ref())?;
        let (size, kid) = (verified.checkpoint.statement.size, verified.checkpoint.kid());
        if as_json {
            output::print_json(&json!({
                "ok": true,
                "event": verified.id,
                "sequence": verified.sequence,
                "checkpoint": verified.checkpoint.to_json(),
                "pinned": trusted.is_some(),
            }));
        } else {
            output::print_line(format_args!(
                "ok: event {} ({}) is one of {size} events that key {kid} signed",
                verified.sequence, verified.id
            ));
            print_trust_note(&source);
        }
        return Ok(());
    }
    let mut verifier = Verifier::new(trusted);
    check_files(&mut verifier, files)?;
    print_report(&verifier.finish()?, &source, as_json);
    Ok(())
}

fn check_files(verifier: &mut Verifier, files: &[PathBuf]) -> Result<()> {
    let bar = new_bar("bytes");
    bar.set_length(files.iter().filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum());
    for file in files {
        verifier.verify_file(BufReader::new(open(file)?), |bytes| bar.inc(bytes)).map_err(|error| {
            let error = error.with_detail("file", file.display().to_string());
            match error.hint_text() {
                Some(_) => error,
                None => error.hint(format!("Check the file {}", file.display())),
            }
        })?;
    }
    bar.finish_and_clear();
    Ok(())
}

async fn prove(app: &App, tenant: &TenantId, id: &str) -> Result<()> {
    app.checkpoint_signer.checkpoint(tenant).await?;
    let event_id = id.to_owned();
    let document = app.store.read(tenant, move |sql| {
        lookup::event_by_id(sql, &event_id)?.map(|event| proof::document(sql, &event)).transpose()
    });
    let document = document.await?.ok_or_else(|| {
        Error::new(Kind::NotFound, "NOT_FOUND", format!("Event {id} not found in the stored chain"))
            .hint("List the newest ids with `quad audit tail`; look for older events in the archives")
    })?;
    // Fails with the reason if the document has no proof.
    proof::verify(&document, None)?;
    output::print_json(&document);
    Ok(())
}

async fn check_receipt(
    app: &App,
    tenant: &TenantId,
    file: &Path,
    checkpoints: Option<&Path>,
    as_json: bool,
) -> Result<()> {
    let receipt = ReadReceipt::parse(&read_json(file)?)?;
    app.checkpoint_signer.checkpoint(tenant).await?;
    let selector = receipt.selector();
    let document = app.store.read(tenant, move |sql| {
        let event = match &selector {
            EventSelector::Id(id) => lookup::event_by_id(sql, id)?,
            EventSelector::Sequence(sequence) => {
                let sequence = i64::try_from(*sequence).unwrap_or(i64::MAX);
                block::record_at(sql, sequence)?
                    .map(|record| {
                        let (id, hash) = (block::record_id(&record)?, quad_store::hash_record(&record));
                        Ok::<_, Error>(AuditEvent { id, sequence, record, hash })
                    })
                    .transpose()?
            }
        };
        event.map(|event| proof::document(sql, &event)).transpose()
    });
    let document = document.await?.ok_or_else(|| event_missing(&receipt))?;
    let trusted = CheckpointSource::of_server(app, checkpoints).load(Some(app))?;
    let verified = proof::verify(&document, trusted.as_ref())?;
    receipt.check(verified.sequence, &verified.record)?;
    print_receipt(&receipt, verified.sequence, as_json);
    Ok(())
}

fn check_receipt_offline(
    file: &Path,
    against: &Path,
    checkpoints: Option<&Path>,
    as_json: bool,
) -> Result<()> {
    let receipt = ReadReceipt::parse(&read_json(file)?)?;
    let source = CheckpointSource::named(checkpoints);
    let trusted = source.load(None)?;
    let event = match read_proof(against)? {
        Some(document) => {
            let verified = proof::verify(&document, trusted.as_ref())?;
            receipt
                .selector()
                .matches(verified.sequence, &verified.id)
                .then_some((verified.sequence, verified.record))
        }
        None => {
            let mut verifier = Verifier::new(trusted).select(receipt.selector());
            check_files(&mut verifier, &[against.to_owned()])?;
            let event = verifier.take_selected();
            verifier.finish()?;
            event
        }
    };
    let (sequence, record) = event.ok_or_else(|| event_missing(&receipt))?;
    receipt.check(sequence, &record)?;
    print_receipt(&receipt, sequence, as_json);
    if !as_json {
        print_trust_note(&source);
    }
    Ok(())
}

fn event_missing(receipt: &ReadReceipt) -> Error {
    let event = receipt.selector();
    Error::new(Kind::NotFound, "NOT_FOUND", format!("Event {event} of the receipt was not found"))
        .hint("Name the archive with --against if the event was archived")
}

fn print_receipt(receipt: &ReadReceipt, sequence: u64, as_json: bool) {
    let (event, version) = (&receipt.event, receipt.version);
    if as_json {
        let contents = receipt.computed_hash.is_some();
        output::print_json(
            &json!({"ok": true, "event": event, "sequence": sequence, "version": version, "contents": contents}),
        );
        return;
    }
    output::print_line(format_args!(
        "ok: event {sequence} ({event}) recorded this read at version {version}"
    ));
    match receipt.computed_hash {
        Some(_) => output::print_line("    the contents match the event"),
        None => output::print_line("    the receipt has no contents; only the hash was compared"),
    }
}

async fn accept_restore(app: &App, as_json: bool) -> Result<()> {
    let accepted = database_check::accept(&app.store, app.checkpoint_signer.file(), ACTOR).await?;
    let Some(AcceptedDatabase { missing, former_file }) = accepted else {
        match as_json {
            true => output::print_line(json!({"accepted": []})),
            false => output::print_line("The database has every checkpoint of checkpoints.jsonl"),
        }
        return Ok(());
    };
    if as_json {
        let entry = |missing: &MissingCheckpoint| json!({"tenant": missing.tenant.as_str(), "events": missing.events, "checkpoint": missing.size});
        let entries: Vec<Value> = missing.iter().map(entry).collect();
        output::print_json(&json!({"accepted": entries, "formerFile": former_file.display().to_string()}));
        return Ok(());
    }
    for MissingCheckpoint { tenant, size, events } in &missing {
        let events = events.unwrap_or(0);
        output::print_line(format_args!(
            "accepted: the database has {events} events of {}, checkpoints.jsonl covered {size}",
            tenant.as_str()
        ));
    }
    output::print_line(format_args!("{} is the former file; keep it as evidence", former_file.display()));
    Ok(())
}

async fn archive_to_file(
    app: &App,
    tenant: &TenantId,
    before: Timestamp,
    file: &Path,
    as_json: bool,
) -> Result<()> {
    let bar = new_bar("events");
    let progress = progress_callback(&bar);
    let archived = archive::archive(&app.checkpoint_signer, tenant, before, file, ACTOR, progress).await?;
    bar.finish_and_clear();
    let file = file.display();
    match archived {
        None if as_json => output::print_line(json!({"archive": null})),
        None => output::print_line(format_args!("No events before {before}")),
        Some(summary) => {
            let (first, last) = (summary.first_sequence, summary.last_sequence);
            if as_json {
                output::print_line(
                    json!({"archive": file.to_string(), "firstSequence": first, "lastSequence": last}),
                );
            } else {
                output::print_line(format_args!(
                    "{file} holds events {first} to {last}; they were removed from the database, so keep the file"
                ));
            }
        }
    }
    Ok(())
}

fn print_report(report: &Report, source: &CheckpointSource, as_json: bool) {
    if as_json {
        output::print_json(&json!({
            "ok": true,
            "tenant": report.tenant,
            "firstSequence": report.first_sequence,
            "lastSequence": report.last_sequence,
            "lastHash": report.last_hash,
            "checkpoints": report.checkpoints,
            "coveredTo": report.covered_to,
            "pinned": report.trusted_matched,
            "pinnedBefore": report.trusted_before_start,
            "checkpointSource": source.as_json(),
            "keys": report.keys,
        }));
        return;
    }
    let Report { tenant, first_sequence: first, last_sequence: last, .. } = report;
    output::print_line(format_args!("ok: the chain of {tenant} is valid from event {first} to {last}"));
    if *first > 1 {
        output::print_line(format_args!(
            "    events before {first} are in an archive; a signed anchor covers them"
        ));
    }
    let keys: Vec<&str> = report.keys.iter().map(String::as_str).collect();
    output::print_line(format_args!(
        "    {} checkpoints match, the last covers {} events; signed with {}",
        report.checkpoints,
        report.covered_to,
        if keys.is_empty() { "no key".to_owned() } else { keys.join(", ") },
    ));
    let matched = report.trusted_matched;
    match source {
        CheckpointSource::None => {}
        CheckpointSource::DataFolder(_) => {
            output::print_line(format_args!("    {matched} checkpoints of checkpoints.jsonl match"))
        }
        CheckpointSource::KeptCopy(_) => {
            output::print_line(format_args!("    {matched} trusted checkpoints match"))
        }
    }
    print_trust_note(source);
}

/// Says which keys were trusted. Without trusted checkpoints, a file proves only that it is consistent in itself.
fn print_trust_note(source: &CheckpointSource) {
    match source {
        CheckpointSource::KeptCopy(file) => {
            output::print_line(format_args!("    the keys were checked against {}", file.display()))
        }
        CheckpointSource::DataFolder(_) => output::print_line(
            "    that file is the server's own: name a copy that is kept elsewhere with --checkpoints",
        ),
        CheckpointSource::None => output::print_line(
            "    the keys were not checked: name a trusted checkpoint file with --checkpoints",
        ),
    }
}

/// The checkpoints that a chain is compared with.
enum CheckpointSource {
    /// None: a file proves only that it is consistent in itself.
    None,
    /// The file in the data folder. An administrator of the server can rewrite it together with the chain.
    DataFolder(PathBuf),
    /// A file that the caller trusts.
    KeptCopy(PathBuf),
}

impl CheckpointSource {
    fn named(file: Option<&Path>) -> CheckpointSource {
        file.map_or(CheckpointSource::None, |file| CheckpointSource::KeptCopy(file.to_owned()))
    }

    /// The named file, or that of the data folder.
    fn of_server(app: &App, file: Option<&Path>) -> CheckpointSource {
        let own_file = app.checkpoint_signer.file().path();
        // The server's own file is no other by being named.
        let is_own = |file: &Path| file.canonicalize().ok() == own_file.canonicalize().ok();
        match file {
            Some(file) if !is_own(file) => CheckpointSource::KeptCopy(file.to_owned()),
            None if !own_file.is_file() => CheckpointSource::None,
            _ => CheckpointSource::DataFolder(own_file.to_owned()),
        }
    }

    fn as_json(&self) -> Value {
        match self {
            CheckpointSource::None => Value::Null,
            CheckpointSource::DataFolder(_) => "data_folder".into(),
            CheckpointSource::KeptCopy(_) => "kept_copy".into(),
        }
    }

    fn load(&self, app: Option<&App>) -> Result<Option<TrustedCheckpoints>> {
        match self {
            CheckpointSource::None => Ok(None),
            CheckpointSource::KeptCopy(file) => load_trusted_checkpoints(file).map(Some),
            CheckpointSource::DataFolder(file) => {
                let trusted = load_trusted_checkpoints(file)?.with_origin(Origin::DataFolder);
                // After a rotation, another node may have signed with the new key first.
                Ok(Some(match app {
                    Some(app) => trusted.with_key(app.checkpoint_signer.signer().sign(b"").public_key),
                    None => trusted,
                }))
            }
        }
    }
}

fn load_trusted_checkpoints(file: &Path) -> Result<TrustedCheckpoints> {
    let trusted = TrustedCheckpoints::read(BufReader::new(open(file)?))?;
    if trusted.unreadable_lines > 0 {
        tracing::warn!(
            lines = trusted.unreadable_lines,
            "skipped lines of {} that are not checkpoints",
            file.display()
        );
    }
    Ok(trusted)
}

/// The proof in a file, or None if the file is an export. A proof is one JSON object in any layout; an export has one
/// object a line.
fn read_proof(file: &Path) -> Result<Option<Value>> {
    let mut text = Vec::new();
    let read = open(file)?.take(limits::LINE_BYTES_MAX).read_to_end(&mut text);
    read.map_err(|error| output::read_error(file.display(), &error))?;
    Ok(serde_json::from_slice(&text).ok().filter(proof::is_proof_document))
}

fn read_json(file: &Path) -> Result<Value> {
    let mut text = Vec::new();
    let read = open(file)?.take(limits::DOCUMENT_BYTES_MAX).read_to_end(&mut text);
    read.map_err(|error| output::read_error(file.display(), &error))?;
    serde_json::from_slice(&text).map_err(|error| {
        Error::bad_input(format!("{} is not JSON: {error}", file.display()))
            .hint("Name a file with one JSON document, such as a reply with its receipt")
    })
}

fn open(file: &Path) -> Result<File> {
    Ok(input_file::open(file)?.0)
}

/// Reports progress in events on a bar.
fn progress_callback(bar: &ProgressBar) -> impl FnMut(u64, u64) + Send + 'static {
    let bar = bar.clone();
    move |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    }
}
