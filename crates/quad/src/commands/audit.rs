//! `quad audit tail|export|verify|prove|check-receipt|archive`

use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use quad_core::{Error, Kind, Result, TenantId, Timestamp};
use quad_store::AuditEvent;
use quad_store::audit::{Filter, block, find, walk};
use quad_trail::{Pins, Receipt, Report, Verifier, Wanted, archive, export, limits, proof};
use serde_json::{Value, json};

use super::backup::bar;
use crate::app::App;
use crate::cli::{Audit, AuditCommand, Tail};
use crate::outcome;

/// Who did it, in the audit trail: the person at this command line.
const ACTOR: &str = "quad audit";

/// How often `--follow` looks for new events.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// Runs what needs no database, if that is what was asked for.
pub fn offline(command: &AuditCommand, as_json: bool) -> Option<Result<()>> {
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

/// Runs what needs the database.
pub async fn run(app: &App, Audit { system, command }: Audit, as_json: bool) -> Result<()> {
    let tenant = if system { TenantId::system() } else { app.tenant.id.clone() };
    match command {
        AuditCommand::Tail(flags) => tail(app, &tenant, flags, as_json).await,
        AuditCommand::Export { file } => export_to(app, &tenant, &file, as_json).await,
        AuditCommand::Verify { files, checkpoints } if files.is_empty() => {
            verify_stored(app, &tenant, checkpoints.as_deref(), as_json).await
        }
        AuditCommand::Verify { files, checkpoints } => verify_files(&files, checkpoints.as_deref(), as_json),
        AuditCommand::Prove { event } => prove(app, &tenant, &event).await,
        AuditCommand::CheckReceipt { file, against: None, checkpoints } => {
            check_receipt(app, &tenant, &file, checkpoints.as_deref(), as_json).await
        }
        AuditCommand::CheckReceipt { file, against: Some(against), checkpoints } => {
            check_receipt_offline(&file, &against, checkpoints.as_deref(), as_json)
        }
        AuditCommand::Archive { before, file } => archive_to(app, &tenant, before, &file, as_json).await,
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
    let mut events = events_above(app, tenant, &filter, end + 1, 0, flags.count).await?;
    events.iter().rev().for_each(|event| print(event, as_json));
    if !flags.follow {
        return Ok(());
    }
    let mut seen = end;
    loop {
        tokio::select! {
            () = tokio::time::sleep(FOLLOW_INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
        let end = app.store.read(tenant, |sql| block::chain_end(sql)).await?.sequence;
        if end > seen {
            events = events_above(app, tenant, &filter, end + 1, seen, usize::MAX).await?;
            events.iter().rev().for_each(|event| print(event, as_json));
            seen = end;
        }
    }
}

/// The events below one place and above another that match, newest first.
async fn events_above(
    app: &App,
    tenant: &TenantId,
    filter: &Filter,
    below: i64,
    above: i64,
    most: usize,
) -> Result<Vec<AuditEvent>> {
    let mut events: Vec<AuditEvent> = Vec::new();
    // The first page finds its own beginning, so that `--until` skips what is newer.
    let mut next = (filter.until.is_none()).then_some(below);
    loop {
        let (filter, room) = (filter.clone(), most - events.len());
        let page = app.store.read(tenant, move |sql| walk::page(sql, &filter, next, room)).await?;
        let is_done = page.next.is_none_or(|next| next <= above + 1);
        events
            .extend(page.events.into_iter().filter(|event| event.sequence > above && event.sequence < below));
        if is_done || events.len() >= most {
            return Ok(events);
        }
        next = page.next;
    }
}

fn print(event: &AuditEvent, as_json: bool) {
    let Ok(entry) = quad_trail::entry(event) else { return };
    if as_json {
        outcome::line(entry);
        return;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let inputs = &entry["inputs"];
    let what = ["uri", "tool", "prompt", "name"].into_iter().find_map(|name| text(&inputs[name]));
    let did = text(&inputs["method"]).or_else(|| text(&entry["action"])).unwrap_or_default();
    let (time, actor) =
        (text(&entry["created_at"]).unwrap_or_default(), text(&entry["actor"]).unwrap_or_default());
    let went = text(&entry["outputs"]["error_code"]).or_else(|| text(&entry["outcome"])).unwrap_or_default();
    let (sequence, what) = (event.sequence, what.unwrap_or_default());
    outcome::line(format!("{sequence}  {time}  {actor}  {went}  {did} {what}").trim_end());
}

async fn export_to(app: &App, tenant: &TenantId, file: &Path, as_json: bool) -> Result<()> {
    let bar = bar("events");
    let progress = events_on(&bar);
    if file == Path::new("-") {
        let mut out = BufWriter::new(std::io::stdout());
        export::export(&app.keeper, tenant, &mut out, progress).await?;
        bar.finish_and_clear();
        return Ok(());
    }
    // Made, never overwritten, and for the owner alone: it says who read what.
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let made = made.map_err(|error| {
        let hint = format!("Choose a file that does not exist in a folder that does: {error}");
        Error::bad_input(format!("{} cannot be made", file.display())).hint(hint)
    })?;
    let mut out = BufWriter::new(&made);
    let exported = export::export(&app.keeper, tenant, &mut out, progress).await?;
    out.flush().and_then(|()| made.sync_all()).map_err(Error::internal)?;
    bar.finish_and_clear();
    let (first, last) = (exported.first_sequence, exported.last_sequence);
    if as_json {
        outcome::line(
            json!({"export": file.display().to_string(), "firstSequence": first, "lastSequence": last}),
        );
    } else {
        outcome::line(format_args!(
            "{} holds events {first} to {last}; `quad audit verify {0}` checks it anywhere",
            file.display()
        ));
    }
    Ok(())
}

async fn verify_stored(
    app: &App,
    tenant: &TenantId,
    checkpoints: Option<&Path>,
    as_json: bool,
) -> Result<()> {
    let own = app.keeper.file().path();
    let checkpoints = checkpoints.or_else(|| own.is_file().then_some(own));
    let bar = bar("events");
    let progress = events_on(&bar);
    let report = export::verify_stored(&app.store, tenant, pins(checkpoints)?, progress).await?;
    bar.finish_and_clear();
    print_report(&report, checkpoints, as_json);
    Ok(())
}

fn verify_files(files: &[PathBuf], checkpoints: Option<&Path>, as_json: bool) -> Result<()> {
    let pins = pins(checkpoints)?;
    if let [file] = files
        && let Some(document) = proof_in(file)?
    {
        let proven = proof::verify(&document, pins.as_ref())?;
        let (size, kid) = (proven.checkpoint.statement.size, proven.checkpoint.kid());
        if as_json {
            outcome::json(&json!({
                "ok": true,
                "event": proven.id,
                "sequence": proven.sequence,
                "checkpoint": proven.checkpoint.json(),
                "pinned": pins.is_some(),
            }));
        } else {
            outcome::line(format_args!(
                "ok: event {} ({}) is among the {size} that key {kid} signed for",
                proven.sequence, proven.id
            ));
            say_what_vouches(checkpoints);
        }
        return Ok(());
    }
    let mut verifier = Verifier::new(pins);
    check_files(&mut verifier, files)?;
    print_report(&verifier.finish()?, checkpoints, as_json);
    Ok(())
}

fn check_files(verifier: &mut Verifier, files: &[PathBuf]) -> Result<()> {
    let bar = bar("bytes");
    bar.set_length(files.iter().filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum());
    for file in files {
        verifier.file(BufReader::new(open(file)?), |bytes| bar.inc(bytes)).map_err(|error| {
            let error = error.with_detail("file", file.display().to_string());
            match error.hint_text() {
                Some(_) => error,
                None => error.hint(format!("It was found in {}", file.display())),
            }
        })?;
    }
    bar.finish_and_clear();
    Ok(())
}

async fn prove(app: &App, tenant: &TenantId, id: &str) -> Result<()> {
    app.keeper.checkpoint(tenant).await?;
    let wanted = id.to_owned();
    let document = app.store.read(tenant, move |sql| {
        find::event_by_id(sql, &wanted)?.map(|event| proof::document(sql, &event)).transpose()
    });
    let document = document.await?.ok_or_else(|| {
        Error::new(Kind::NotFound, "NOT_FOUND", format!("There is no event {id} in the stored chain"))
            .hint("`quad audit tail` shows the newest ids; an archived event lies in its archive")
    })?;
    // A document without a proof says why.
    proof::verify(&document, None)?;
    outcome::json(&document);
    Ok(())
}

async fn check_receipt(
    app: &App,
    tenant: &TenantId,
    file: &Path,
    checkpoints: Option<&Path>,
    as_json: bool,
) -> Result<()> {
    let receipt = Receipt::parse(&read_json(file)?)?;
    app.keeper.checkpoint(tenant).await?;
    let wanted = receipt.event();
    let document = app.store.read(tenant, move |sql| {
        let event = match &wanted {
            Wanted::Id(id) => find::event_by_id(sql, id)?,
            Wanted::Place(place) => {
                let sequence = i64::try_from(*place).unwrap_or(i64::MAX);
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
    let document = document.await?.ok_or_else(|| not_there(&receipt))?;
    let own = app.keeper.file().path();
    let checkpoints = checkpoints.or_else(|| own.is_file().then_some(own));
    let proven = proof::verify(&document, pins(checkpoints)?.as_ref())?;
    receipt.check(proven.sequence, &proven.record)?;
    print_receipt(&receipt, proven.sequence, as_json);
    Ok(())
}

fn check_receipt_offline(
    file: &Path,
    against: &Path,
    checkpoints: Option<&Path>,
    as_json: bool,
) -> Result<()> {
    let receipt = Receipt::parse(&read_json(file)?)?;
    let pins = pins(checkpoints)?;
    let found = match proof_in(against)? {
        Some(document) => {
            let proven = proof::verify(&document, pins.as_ref())?;
            receipt.event().is(proven.sequence, &proven.id).then_some((proven.sequence, proven.record))
        }
        None => {
            let mut verifier = Verifier::new(pins).wanting(receipt.event());
            check_files(&mut verifier, &[against.to_owned()])?;
            let found = verifier.wanted();
            verifier.finish()?;
            found
        }
    };
    let (sequence, record) = found.ok_or_else(|| not_there(&receipt))?;
    receipt.check(sequence, &record)?;
    print_receipt(&receipt, sequence, as_json);
    if !as_json {
        say_what_vouches(checkpoints);
    }
    Ok(())
}

fn not_there(receipt: &Receipt) -> Error {
    let event = receipt.event();
    Error::new(Kind::NotFound, "NOT_FOUND", format!("Event {event}, which the receipt names, is not there"))
        .hint("If it was archived, name the archive with --against")
}

fn print_receipt(receipt: &Receipt, sequence: u64, as_json: bool) {
    let (event, version) = (&receipt.event, receipt.version);
    if as_json {
        let contents = receipt.contents.is_some();
        outcome::json(
            &json!({"ok": true, "event": event, "sequence": sequence, "version": version, "contents": contents}),
        );
        return;
    }
    outcome::line(format_args!("ok: event {sequence} ({event}) recorded this read, at version {version}"));
    match receipt.contents {
        Some(_) => outcome::line("    the contents are those that were shown"),
        None => outcome::line("    the contents were not kept with it, so only their hash was compared"),
    }
}

async fn archive_to(
    app: &App,
    tenant: &TenantId,
    before: Timestamp,
    file: &Path,
    as_json: bool,
) -> Result<()> {
    let bar = bar("events");
    let progress = events_on(&bar);
    let archived = archive::archive(&app.keeper, tenant, before, file, ACTOR, progress).await?;
    bar.finish_and_clear();
    let file = file.display();
    match archived {
        None if as_json => outcome::line(json!({"archive": null})),
        None => outcome::line(format_args!("Nothing is older than {before}")),
        Some(moved) => {
            let (first, last) = (moved.first_sequence, moved.last_sequence);
            if as_json {
                outcome::line(
                    json!({"archive": file.to_string(), "firstSequence": first, "lastSequence": last}),
                );
            } else {
                outcome::line(format_args!(
                    "{file} holds events {first} to {last}, which left the database; keep it"
                ));
            }
        }
    }
    Ok(())
}

fn print_report(report: &Report, checkpoints: Option<&Path>, as_json: bool) {
    if as_json {
        outcome::json(&json!({
            "ok": true,
            "tenant": report.tenant,
            "firstSequence": report.first_sequence,
            "lastSequence": report.last_sequence,
            "lastHash": report.last_hash,
            "checkpoints": report.checkpoints,
            "coveredTo": report.covered_to,
            "pinned": report.pinned,
            "pinnedBefore": report.pinned_before,
            "keys": report.keys,
        }));
        return;
    }
    let Report { tenant, first_sequence: first, last_sequence: last, .. } = report;
    outcome::line(format_args!("ok: events {first} to {last} of {tenant} hold together"));
    if *first > 1 {
        outcome::line(format_args!(
            "    those before {first} are in an archive; a signed anchor vouches for them"
        ));
    }
    let keys: Vec<&str> = report.keys.iter().map(String::as_str).collect();
    outcome::line(format_args!(
        "    {} checkpoints agree, the last over {} events; signed with {}",
        report.checkpoints,
        report.covered_to,
        if keys.is_empty() { "no key".to_owned() } else { keys.join(", ") },
    ));
    if checkpoints.is_some() {
        outcome::line(format_args!("    {} checkpoints from elsewhere agree", report.pinned));
    }
    say_what_vouches(checkpoints);
}

/// A file alone proves only that it holds together.
fn say_what_vouches(checkpoints: Option<&Path>) {
    match checkpoints {
        Some(file) => outcome::line(format_args!("    the keys are those of {}", file.display())),
        None => outcome::line(
            "    nothing from elsewhere vouches for the keys: name a kept checkpoint file with --checkpoints",
        ),
    }
}

fn pins(file: Option<&Path>) -> Result<Option<Pins>> {
    let Some(file) = file else { return Ok(None) };
    let pins = Pins::read(BufReader::new(open(file)?))?;
    if pins.unreadable > 0 {
        tracing::warn!(lines = pins.unreadable, "some lines of {} are no checkpoints", file.display());
    }
    Ok(Some(pins))
}

/// The proof in a file, if it is one: a single JSON object, however it is laid out. An export has one object a line.
fn proof_in(file: &Path) -> Result<Option<Value>> {
    let mut text = Vec::new();
    let read = open(file)?.take(limits::LINE_BYTES).read_to_end(&mut text);
    read.map_err(|error| unreadable(file, &error))?;
    Ok(serde_json::from_slice(&text).ok().filter(proof::is_proof))
}

fn read_json(file: &Path) -> Result<Value> {
    let mut text = Vec::new();
    let read = open(file)?.take(limits::DOCUMENT_BYTES).read_to_end(&mut text);
    read.map_err(|error| unreadable(file, &error))?;
    serde_json::from_slice(&text)
        .map_err(|error| Error::bad_input(format!("{} is not JSON: {error}", file.display())))
}

fn open(file: &Path) -> Result<File> {
    File::open(file).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &std::io::Error) -> Error {
    Error::bad_input(format!("{} cannot be read: {error}", file.display()))
}

/// Reports progress in events on a bar.
fn events_on(bar: &ProgressBar) -> impl FnMut(u64, u64) + Send + 'static {
    let bar = bar.clone();
    move |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    }
}
