//! The final check of the audit log against every reply of the run.
//!
//! `quad audit verify` must succeed, but is not relied on: the export is verified again here, with SHA-256 only.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::audit_expectations::{AuditExpectations, CallCounts, CallKey};
use crate::canonical;
use crate::failure::Failure;
use crate::plan::Agent;
use crate::sandbox::Sandbox;

/// The line of an event in an export.
#[derive(Deserialize)]
struct ExportLine<'a> {
    sequence: i64,
    event_hash: &'a str,
    #[serde(borrow)]
    record: &'a RawValue,
}

/// A parsed audit event.
struct AuditEvent {
    sequence: i64,
    record: Value,
}

/// Checks the audit log of a tenant and returns its number of events.
pub fn check_audit_log(
    sandbox: &Sandbox,
    tenant: &str,
    expectations: &AuditExpectations,
) -> Result<usize, Failure> {
    let file = sandbox.folder().join(format!("{tenant}.jsonl"));
    let path = file.display().to_string();
    sandbox.run_quad(0, &["audit", "export", &path, "--tenant", tenant])?;
    sandbox.run_quad(0, &["audit", "verify", &path])?;
    for node in 0..2 {
        sandbox.run_quad(node, &["audit", "verify", "--tenant", tenant])?;
    }
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Failure::environment_error("reading an export", error))?;
    let events = parse_chain(tenant, &text)?;
    check_receipts(tenant, &events, expectations)?;
    check_calls(tenant, &events, expectations)?;
    Ok(events.len())
}

/// Parses the events of an export. They must form one chain without gaps.
fn parse_chain(tenant: &str, text: &str) -> Result<Vec<AuditEvent>, Failure> {
    let chain_failure = |expected: String, observed: &dyn std::fmt::Display| {
        Failure::new(format!("the chain of {tenant}: {expected}"), observed.to_string())
    };
    let mut events: Vec<AuditEvent> = Vec::new();
    let mut previous = Value::Null;
    let mut version = 0;
    for line in text.lines().filter(|line| line.starts_with(r#"{"sequence""#)) {
        let parsed: ExportLine<'_> =
            serde_json::from_str(line).map_err(|error| chain_failure("lines in JSON".to_owned(), &error))?;
        let expected_sequence = events.len() as i64 + 1;
        if parsed.sequence != expected_sequence {
            return Err(chain_failure(format!("event number {expected_sequence}"), &parsed.sequence));
        }
        let hash = canonical::sha256_hex(parsed.record.get().as_bytes());
        let record: Value = serde_json::from_str(parsed.record.get()).unwrap_or_default();
        if hash != parsed.event_hash || record["prev_event_hash"] != previous {
            return Err(chain_failure(
                format!("event {expected_sequence} follows {previous} and is {hash}"),
                &line,
            ));
        }
        if let (Some(event_version), true) = (record["outputs"]["version"].as_i64(), is_write(&record)) {
            if event_version < version || event_version > version + 1 {
                return Err(chain_failure(
                    format!("version {version} or the next at event {expected_sequence}"),
                    &event_version,
                ));
            }
            version = event_version;
        }
        previous = hash.into();
        events.push(AuditEvent { sequence: parsed.sequence, record });
    }
    Ok(events)
}

/// Whether an event records a write: its `version` is the one that the write created, not the one that was read.
fn is_write(record: &Value) -> bool {
    record["inputs"]["method"] != "resources/read"
}

/// Every receipt must name an event that recorded this read, and no two receipts the same event.
fn check_receipts(
    tenant: &str,
    events: &[AuditEvent],
    expectations: &AuditExpectations,
) -> Result<(), Failure> {
    let mut by_id: BTreeMap<&str, &AuditEvent> = BTreeMap::new();
    for event in events {
        let id = event.record["id"].as_str().unwrap_or_default();
        if by_id.insert(id, event).is_some() {
            return Err(Failure::new(format!("{tenant}: each event's id once"), id));
        }
    }
    for receipt in &expectations.receipts {
        let Some(event) = by_id.remove(receipt.event_id.as_str()) else {
            return Err(Failure::new(
                format!("{tenant}: an event of its own for {receipt:?}"),
                "none, or one that another receipt names",
            ));
        };
        let record = &event.record;
        let matches_receipt = record["inputs"]["uri"] == receipt.uri.as_str()
            && record["outcome"] == "ok"
            && receipt.sequence.is_none_or(|sequence| sequence == event.sequence)
            && receipt.content_hash.as_deref().is_none_or(|hash| record["outputs"]["content_hash"] == hash);
        if !matches_receipt {
            return Err(Failure::new(format!("{tenant}: the event of {receipt:?}"), record.to_string()));
        }
    }
    Ok(())
}

/// Every call with a reply must have exactly one event, every call without a reply at most one. No other events of
/// the simulated agents may exist.
fn check_calls(tenant: &str, events: &[AuditEvent], expectations: &AuditExpectations) -> Result<(), Failure> {
    let mut recorded: BTreeMap<CallKey, CallCounts> = BTreeMap::new();
    for event in events {
        let key = CallKey::from_audit_record(&event.record);
        // Rejected credentials are counted per second, under a layer of their own.
        if key.method.is_empty() || !Agent::ALL.iter().any(|agent| agent.name() == key.actor) {
            continue;
        }
        let count = recorded.entry(key).or_default();
        match event.record["outcome"].as_str() {
            Some("ok") => count.ok += 1,
            Some("refused") => count.rejected += 1,
            _ => count.unknown += 1,
        }
    }
    for key in
        expectations.calls.keys().filter(|key| !recorded.contains_key(key)).cloned().collect::<Vec<_>>()
    {
        recorded.insert(key, CallCounts::default());
    }
    for (key, recorded_counts) in recorded {
        let expected_counts = expectations.calls.get(&key).copied().unwrap_or_default();
        let (answered, issued) = (
            expected_counts.ok + expected_counts.rejected,
            expected_counts.ok + expected_counts.rejected + expected_counts.unknown,
        );
        let total = recorded_counts.ok + recorded_counts.rejected + recorded_counts.unknown;
        if recorded_counts.ok < expected_counts.ok
            || recorded_counts.rejected < expected_counts.rejected
            || !(answered..=issued).contains(&total)
        {
            return Err(Failure::new(
                format!("{tenant}: one event for each call, {expected_counts:?} of {key:?}"),
                format!("{recorded_counts:?}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit_expectations::Receipt;
    use serde_json::json;

    fn export_text(records: &[Value]) -> String {
        let mut text = String::from("{\"quad_audit\":\"export\"}\n");
        let mut previous = Value::Null;
        for (index, record) in records.iter().enumerate() {
            let mut record = record.clone();
            record["prev_event_hash"] = previous;
            let hash = canonical::sha256_hex(record.to_string().as_bytes());
            text.push_str(&format!(
                r#"{{"sequence":{},"event_hash":"{hash}","record":{record}}}"#,
                index + 1
            ));
            text.push('\n');
            previous = hash.into();
        }
        text
    }

    fn read_record(id: &str) -> Value {
        json!({"id": id, "actor": "reader", "outcome": "ok", "outputs": {"content_hash": "h"},
            "inputs": {"method": "resources/read", "uri": "x://y"}})
    }

    #[test]
    fn parse_chain_rejects_gap_and_changed_record() {
        let text = export_text(&[read_record("a"), read_record("b"), read_record("c")]);
        assert_eq!(parse_chain("t", &text).unwrap().len(), 3);
        let without_line = |skipped_index: usize| -> String {
            let lines = text.lines().enumerate().filter(|(index, _)| *index != skipped_index);
            lines.map(|(_, line)| format!("{line}\n")).collect()
        };
        assert!(parse_chain("t", &without_line(2)).is_err(), "gap");
        assert!(parse_chain("t", &text.replacen("x://y", "x://z", 1)).is_err(), "a changed record");
    }

    #[test]
    fn check_calls_expects_one_event_per_answer() {
        let key = CallKey::from_request("reader", "resources/read", &json!({"uri": "x://y"}));
        let expectations = |count: CallCounts, event_ids: &[&str]| AuditExpectations {
            calls: BTreeMap::from([(key.clone(), count)]),
            receipts: event_ids
                .iter()
                .map(|event_id| Receipt {
                    event_id: (*event_id).to_owned(),
                    sequence: None,
                    content_hash: Some("h".to_owned()),
                    uri: "x://y".to_owned(),
                })
                .collect(),
            last_sequence: 0,
        };
        let events = parse_chain("t", &export_text(&[read_record("a"), read_record("b")])).unwrap();
        let calls_match = |ok, unknown| {
            check_calls("t", &events, &expectations(CallCounts { ok, rejected: 0, unknown }, &[])).is_ok()
        };
        assert!(calls_match(2, 0) && calls_match(1, 1) && calls_match(2, 5));
        assert!(!calls_match(3, 0), "one has no event");
        assert!(!calls_match(1, 0), "one event too many");
        let receipts_match = |event_ids: &[&str]| {
            check_receipts("t", &events, &expectations(CallCounts::default(), event_ids)).is_ok()
        };
        assert!(receipts_match(&["b", "a"]));
        assert!(!receipts_match(&["a", "a"]) && !receipts_match(&["z"]));
    }
}
