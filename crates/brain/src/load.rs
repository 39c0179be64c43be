//! Loading of JSON lines that keep their ids. Loading a file again changes nothing.
//!
//! ```text
//! {"kind":"account","id":"acct_8231","name":"Operating","currency":"USD","current_balance":"1180.00"}
//! {"kind":"counterparty","id":"cp_aws","name":"Amazon Web Services","type":"vendor"}
//! {"kind":"transaction","id":"tx_4127","account_id":"acct_8231","amount":"61404.12","currency":"USD",
//!  "direction":"outflow","transaction_date":"2025-09-14","counterparty_id":"cp_aws"}
//! ```
//!
//! The file is stored as an artifact, and rows without evidence of their own cite it. A load takes several commits; an
//! interrupted one is run again.

use quad_core::{EventDraft, Result, canonical};
use quad_store::{Store, Tx, WriteContext};
use serde_json::{Map, Value};

use crate::raw::{self, NewArtifact, SourceType};
use crate::row_loader::{self, LoadCounts, NumberedLine};
use crate::row_meta::{Provenance, RowMeta};
use crate::upload::Upload;
use crate::{errors, limits};

/// Loads a file. `on_progress` gets the number of processed bytes.
pub async fn load(
    store: &Store,
    writer: &WriteContext,
    actor: &str,
    name: &str,
    bytes: &[u8],
    mut on_progress: impl FnMut(usize),
) -> Result<LoadCounts> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        errors::invalid("file", format!("is not UTF-8 from byte {} on", error.valid_up_to()))
    })?;
    let raw_id =
        Upload::new(actor, name, "application/x-ndjson", bytes.to_vec())?.store(store, writer).await?;
    let mut counts = LoadCounts::default();
    let mut pending: Vec<NumberedLine> = Vec::new();
    let mut processed = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        processed += line.len();
        if line.trim().is_empty() {
            continue;
        }
        pending.push((index + 1, parse_line(index + 1, line)?));
        if pending.len() == limits::LINES_PER_WRITE {
            counts += commit_lines(store, writer, actor, &raw_id, std::mem::take(&mut pending)).await?;
            on_progress(processed);
        }
    }
    if !pending.is_empty() {
        counts += commit_lines(store, writer, actor, &raw_id, pending).await?;
    }
    on_progress(processed);
    Ok(counts)
}

fn parse_line(number: usize, line: &str) -> Result<Map<String, Value>> {
    let line_error = |problem: String| {
        errors::invalid("line", format!("line {number} {problem}")).with_detail("line", number)
    };
    if line.len() > limits::LINE_BYTES {
        return Err(line_error(format!("has more than {} bytes", limits::LINE_BYTES)));
    }
    match serde_json::from_str(line) {
        Ok(Value::Object(line)) => Ok(line),
        Ok(_) => Err(line_error("is not an object".to_owned())),
        Err(error) => Err(line_error(format!("is not JSON: {error}"))),
    }
}

async fn commit_lines(
    store: &Store,
    writer: &WriteContext,
    actor: &str,
    raw_id: &str,
    lines: Vec<NumberedLine>,
) -> Result<LoadCounts> {
    let event = EventDraft::system("ledger", "ledger.loaded", actor).input("raw_id", raw_id).succeeded();
    let raw_id = raw_id.to_owned();
    let work = move |tx: &mut Tx<'_>| {
        let defaults = RowMeta::from_artifact(&raw_id, None, Provenance::Extracted, 1.0, tx.now());
        let mut rows = Vec::with_capacity(lines.len());
        let mut counts = LoadCounts::default();
        for line in &lines {
            if line.1.get("kind").and_then(Value::as_str) == Some(raw::KIND) {
                counts += row_loader::apply_lines(tx, &rows, &defaults)?;
                rows.clear();
                let created = insert_artifact_line(tx, &line.1)?;
                counts +=
                    LoadCounts { created: usize::from(created), updated: 0, skipped: usize::from(!created) };
            } else {
                rows.push(line.clone());
            }
        }
        counts += row_loader::apply_lines(tx, &rows, &defaults)?;
        tx.audit_output("created", counts.created);
        tx.audit_output("updated", counts.updated);
        Ok(counts)
    };
    Ok(store.write(writer, event, work).await?.0)
}

/// A line of kind `raw`: a small document with its content.
fn insert_artifact_line(tx: &mut Tx<'_>, line: &Map<String, Value>) -> Result<bool> {
    let text = |name: &str| line.get(name).and_then(Value::as_str);
    let id = text("id").and_then(crate::ids::RawId::parse).ok_or_else(|| errors::missing("id"))?;
    let payload = text("payload").ok_or_else(|| errors::missing("payload"))?;
    let source_type = match text("source_type") {
        Some(word) => SourceType::parse_arg("source_type", word)?,
        None => SourceType::Other,
    };
    if raw::find(tx, id.as_str())?.is_some() {
        return Ok(false);
    }
    let new = NewArtifact {
        source_type,
        source_ref: line.get("source_ref").and_then(Value::as_object).cloned().unwrap_or_default(),
        mime_type: text("mime_type").map(str::to_owned),
        ingested_by: text("ingested_by").unwrap_or("quad brain load").to_owned(),
        sha256: canonical::sha256_hex(payload.as_bytes()),
        bytes: payload.len() as i64,
    };
    raw::write_chunks(tx, &new.sha256, 0, payload.as_bytes())?;
    Ok(raw::register_with_id(tx, &new, Some(id))?.1)
}

/// Adds one row that a person typed. The typed text is its evidence, with the provenance `human_confirmed`.
pub async fn add(
    store: &Store,
    writer: &WriteContext,
    actor: &str,
    kind: &str,
    fields: Map<String, Value>,
) -> Result<String> {
    let mut line = fields;
    line.insert("kind".into(), kind.into());
    line.retain(|_, value| !value.is_null());
    let id = row_loader::ensure_id(&mut line)?;
    let json = Value::Object(line.clone()).to_string();
    let raw_id =
        Upload::new(actor, "typed", "application/json", json.into_bytes())?.store(store, writer).await?;
    let event = EventDraft::system("ledger", "ledger.added", actor).input("id", id.as_str()).succeeded();
    let work = move |tx: &mut Tx<'_>| {
        let meta = RowMeta::from_artifact(&raw_id, None, Provenance::HumanConfirmed, 1.0, tx.now());
        let counts = row_loader::apply_lines(tx, &[(0, line.clone())], &meta)?;
        if counts.created == 0 {
            return Err(errors::conflict(
                "ledger_row_exists",
                "A row with this id, name or number exists already",
            )
            .hint("Choose another id, name or number"));
        }
        Ok(())
    };
    store.write(writer, event, work).await?;
    Ok(id)
}
