//! Loading: JSON lines that keep the ids they bring. Doing it twice is doing it once.
//!
//! ```text
//! {"kind":"account","id":"acct_8231","name":"Operating","currency":"USD","current_balance":"1180.00"}
//! {"kind":"counterparty","id":"cp_aws","name":"Amazon Web Services","type":"vendor"}
//! {"kind":"transaction","id":"tx_4127","account_id":"acct_8231","amount":"61404.12","currency":"USD","direction":"outflow",
//!  "transaction_date":"2025-09-14","counterparty_id":"cp_aws"}
//! ```
//!
//! The file itself is stored as evidence, and every row that brings no evidence of its own cites it. A load is many commits;
//! one that was interrupted is simply run again.

use quad_core::{EventDraft, Result, canonical};
use quad_store::{Store, Tx, Writer};
use serde_json::{Map, Value};

use crate::book::{self, Booked, Numbered};
use crate::evidence::Evidence;
use crate::raw::{self, NewArtifact, SourceType};
use crate::standing::{Provenance, Standing};
use crate::{limits, refusal};

/// Loads a file. `done` hears how many of its bytes are behind.
pub async fn load(
    store: &Store,
    writer: &Writer,
    actor: &str,
    name: &str,
    bytes: &[u8],
    mut done: impl FnMut(usize),
) -> Result<Booked> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        refusal::invalid("file", format!("is not UTF-8 from byte {} on", error.valid_up_to()))
    })?;
    let source =
        Evidence::of(actor, name, "application/x-ndjson", bytes.to_vec())?.keep(store, writer).await?;
    let mut booked = Booked::default();
    let mut waiting: Vec<Numbered> = Vec::new();
    let mut behind = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        behind += line.len();
        if line.trim().is_empty() {
            continue;
        }
        waiting.push((index + 1, parse(index + 1, line)?));
        if waiting.len() == limits::LINES_PER_WRITE {
            booked += commit(store, writer, actor, &source, std::mem::take(&mut waiting)).await?;
            done(behind);
        }
    }
    if !waiting.is_empty() {
        booked += commit(store, writer, actor, &source, waiting).await?;
    }
    done(behind);
    Ok(booked)
}

fn parse(number: usize, line: &str) -> Result<Map<String, Value>> {
    let wrong = |what: String| refusal::invalid("line", format!("line {number} {what}")).fact("line", number);
    if line.len() > limits::LINE_BYTES {
        return Err(wrong(format!("has more than {} bytes", limits::LINE_BYTES)));
    }
    match serde_json::from_str(line) {
        Ok(Value::Object(line)) => Ok(line),
        Ok(_) => Err(wrong("is not an object".to_owned())),
        Err(error) => Err(wrong(format!("is not JSON: {error}"))),
    }
}

async fn commit(
    store: &Store,
    writer: &Writer,
    actor: &str,
    source: &str,
    lines: Vec<Numbered>,
) -> Result<Booked> {
    let event = EventDraft::system("ledger", "ledger.loaded", actor).input("raw_id", source).succeeded();
    let source = source.to_owned();
    let work = move |tx: &mut Tx<'_>| {
        let otherwise = Standing::on(&source, None, Provenance::Extracted, 1.0, tx.now());
        let mut plain = Vec::with_capacity(lines.len());
        let mut booked = Booked::default();
        for line in &lines {
            if line.1.get("kind").and_then(Value::as_str) == Some(raw::KIND) {
                booked += book::book(tx, &plain, &otherwise)?;
                plain.clear();
                let created = raw_line(tx, &line.1)?;
                booked +=
                    Booked { created: usize::from(created), updated: 0, skipped: usize::from(!created) };
            } else {
                plain.push(line.clone());
            }
        }
        booked += book::book(tx, &plain, &otherwise)?;
        tx.output("created", booked.created);
        tx.output("updated", booked.updated);
        Ok(booked)
    };
    Ok(store.write(writer, event, work).await?.0)
}

/// A line that brings evidence with its bytes: small documents that travel with a ledger.
fn raw_line(tx: &mut Tx<'_>, line: &Map<String, Value>) -> Result<bool> {
    let text = |name: &str| line.get(name).and_then(Value::as_str);
    let id = text("id").and_then(crate::ids::RawId::parse).ok_or_else(|| refusal::missing("id"))?;
    let payload = text("payload").ok_or_else(|| refusal::missing("payload"))?;
    let source_type = match text("source_type") {
        Some(word) => SourceType::expect("source_type", word)?,
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
    Ok(raw::register_as(tx, &new, Some(id))?.1)
}

/// Adds one row that a person typed. What was typed is its evidence, and the person vouches for it.
pub async fn add(
    store: &Store,
    writer: &Writer,
    actor: &str,
    kind: &str,
    fields: Map<String, Value>,
) -> Result<String> {
    let mut line = fields;
    line.insert("kind".into(), kind.into());
    line.retain(|_, value| !value.is_null());
    let id = book::with_id(&mut line)?;
    let typed = Value::Object(line.clone()).to_string();
    let source =
        Evidence::of(actor, "typed", "application/json", typed.into_bytes())?.keep(store, writer).await?;
    let event = EventDraft::system("ledger", "ledger.added", actor).input("id", id.as_str()).succeeded();
    let work = move |tx: &mut Tx<'_>| {
        let standing = Standing::on(&source, None, Provenance::HumanConfirmed, 1.0, tx.now());
        let booked = book::book(tx, &[(0, line.clone())], &standing)?;
        if booked.created == 0 {
            return Err(refusal::conflict("ledger_row_exists", "Such a row is there already")
                .hint("Choose another id, name or number"));
        }
        Ok(())
    };
    store.write(writer, event, work).await?;
    Ok(id)
}
