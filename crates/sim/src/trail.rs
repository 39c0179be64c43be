//! The audit trail at the end, held against every answer of the run.
//!
//! `quad audit verify` is asked, and then not relied on: the export is read again here, with nothing but SHA-256.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::canonical;
use crate::failure::Failure;
use crate::ledger::{Count, Deed, Ledger};
use crate::place::Place;
use crate::plan::Agent;

/// A line of an export that holds an event.
#[derive(Deserialize)]
struct Line<'a> {
    sequence: i64,
    event_hash: &'a str,
    #[serde(borrow)]
    record: &'a RawValue,
}

/// An event.
struct Event {
    sequence: i64,
    record: Value,
}

/// Checks a tenant's trail, and returns how many events it has.
pub fn check(place: &Place, tenant: &str, ledger: &Ledger) -> Result<usize, Failure> {
    let file = place.folder().join(format!("{tenant}.jsonl"));
    let path = file.display().to_string();
    place.run(0, &["audit", "export", &path, "--tenant", tenant])?;
    place.run(0, &["audit", "verify", &path])?;
    for node in 0..2 {
        place.run(node, &["audit", "verify", "--tenant", tenant])?;
    }
    let text = std::fs::read_to_string(&file).map_err(|error| Failure::broken("reading an export", error))?;
    let events = chain(tenant, &text)?;
    check_receipts(tenant, &events, ledger)?;
    check_deeds(tenant, &events, ledger)?;
    Ok(events.len())
}

/// The events of an export, which must be one chain without a gap.
fn chain(tenant: &str, text: &str) -> Result<Vec<Event>, Failure> {
    let broken = |expected: String, seen: &dyn std::fmt::Display| {
        Failure::new(format!("the chain of {tenant}: {expected}"), seen.to_string())
    };
    let mut events: Vec<Event> = Vec::new();
    let mut previous = Value::Null;
    let mut version = 0;
    for line in text.lines().filter(|line| line.starts_with(r#"{"sequence""#)) {
        let parsed: Line<'_> =
            serde_json::from_str(line).map_err(|error| broken("lines in JSON".to_owned(), &error))?;
        let expected = events.len() as i64 + 1;
        if parsed.sequence != expected {
            return Err(broken(format!("event number {expected}"), &parsed.sequence));
        }
        let hash = canonical::sha256_hex(parsed.record.get().as_bytes());
        let record: Value = serde_json::from_str(parsed.record.get()).unwrap_or_default();
        if hash != parsed.event_hash || record["prev_event_hash"] != previous {
            return Err(broken(format!("event {expected} follows {previous} and is {hash}"), &line));
        }
        if let (Some(made), true) = (record["outputs"]["version"].as_i64(), is_write(&record)) {
            if made < version || made > version + 1 {
                return Err(broken(format!("version {version} or the next at event {expected}"), &made));
            }
            version = made;
        }
        previous = hash.into();
        events.push(Event { sequence: parsed.sequence, record });
    }
    Ok(events)
}

/// Whether an event is the one of a change: it has the version that the change made, not the one that was read.
fn is_write(record: &Value) -> bool {
    record["inputs"]["method"] != "resources/read"
}

/// Every receipt names an event that recorded just that read, and no two the same.
fn check_receipts(tenant: &str, events: &[Event], ledger: &Ledger) -> Result<(), Failure> {
    let mut by_id: BTreeMap<&str, &Event> = BTreeMap::new();
    for event in events {
        let id = event.record["id"].as_str().unwrap_or_default();
        if by_id.insert(id, event).is_some() {
            return Err(Failure::new(format!("{tenant}: each event's id once"), id));
        }
    }
    for receipt in &ledger.receipts {
        let Some(event) = by_id.remove(receipt.event.as_str()) else {
            return Err(Failure::new(
                format!("{tenant}: an event of its own for {receipt:?}"),
                "none, or one that another receipt names",
            ));
        };
        let record = &event.record;
        let is_its_own = record["inputs"]["uri"] == receipt.uri.as_str()
            && record["outcome"] == "ok"
            && receipt.sequence.is_none_or(|sequence| sequence == event.sequence)
            && receipt.content_hash.as_deref().is_none_or(|hash| record["outputs"]["content_hash"] == hash);
        if !is_its_own {
            return Err(Failure::new(format!("{tenant}: the event of {receipt:?}"), record.to_string()));
        }
    }
    Ok(())
}

/// Every call that was answered has exactly one event, every call that was not has one or none, and nothing else is there
/// in the name of our agents.
fn check_deeds(tenant: &str, events: &[Event], ledger: &Ledger) -> Result<(), Failure> {
    let mut recorded: BTreeMap<Deed, Count> = BTreeMap::new();
    for event in events {
        let deed = Deed::recorded(&event.record);
        // Refused credentials are counted by the second, under a layer of their own.
        if deed.method.is_empty() || !Agent::ALL.iter().any(|agent| agent.name() == deed.actor) {
            continue;
        }
        let count = recorded.entry(deed).or_default();
        match event.record["outcome"].as_str() {
            Some("ok") => count.ok += 1,
            Some("refused") => count.refused += 1,
            _ => count.unknown += 1,
        }
    }
    for deed in ledger.deeds.keys().filter(|deed| !recorded.contains_key(deed)).cloned().collect::<Vec<_>>() {
        recorded.insert(deed, Count::default());
    }
    for (deed, found) in recorded {
        let made = ledger.deeds.get(&deed).copied().unwrap_or_default();
        let (answered, all) = (made.ok + made.refused, made.ok + made.refused + made.unknown);
        let total = found.ok + found.refused + found.unknown;
        if found.ok < made.ok || found.refused < made.refused || !(answered..=all).contains(&total) {
            return Err(Failure::new(
                format!("{tenant}: one event for each call, {made:?} of {deed:?}"),
                format!("{found:?}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Receipt;
    use serde_json::json;

    fn export(records: &[Value]) -> String {
        let mut text = String::from("{\"quad_audit\":\"export\"}\n");
        let mut previous = Value::Null;
        for (place, record) in records.iter().enumerate() {
            let mut record = record.clone();
            record["prev_event_hash"] = previous;
            let hash = canonical::sha256_hex(record.to_string().as_bytes());
            text.push_str(&format!(
                r#"{{"sequence":{},"event_hash":"{hash}","record":{record}}}"#,
                place + 1
            ));
            text.push('\n');
            previous = hash.into();
        }
        text
    }

    fn read(id: &str) -> Value {
        json!({"id": id, "actor": "reader", "outcome": "ok", "outputs": {"content_hash": "h"},
            "inputs": {"method": "resources/read", "uri": "x://y"}})
    }

    #[test]
    fn a_chain_has_no_gap_and_no_fork() {
        let text = export(&[read("a"), read("b"), read("c")]);
        assert_eq!(chain("t", &text).unwrap().len(), 3);
        let without = |place: usize| -> String {
            let lines = text.lines().enumerate().filter(|(at, _)| *at != place);
            lines.map(|(_, line)| format!("{line}\n")).collect()
        };
        assert!(chain("t", &without(2)).is_err(), "a gap");
        assert!(chain("t", &text.replacen("x://y", "x://z", 1)).is_err(), "a changed record");
    }

    #[test]
    fn every_answer_has_exactly_one_event() {
        let deed = Deed::of("reader", "resources/read", &json!({"uri": "x://y"}));
        let ledger = |count: Count, receipts: &[&str]| Ledger {
            deeds: BTreeMap::from([(deed.clone(), count)]),
            receipts: receipts
                .iter()
                .map(|event| Receipt {
                    event: (*event).to_owned(),
                    sequence: None,
                    content_hash: Some("h".to_owned()),
                    uri: "x://y".to_owned(),
                })
                .collect(),
            sequence: 0,
        };
        let events = chain("t", &export(&[read("a"), read("b")])).unwrap();
        let deeds =
            |ok, unknown| check_deeds("t", &events, &ledger(Count { ok, refused: 0, unknown }, &[])).is_ok();
        assert!(deeds(2, 0) && deeds(1, 1) && deeds(2, 5));
        assert!(!deeds(3, 0), "one has no event");
        assert!(!deeds(1, 0), "one event too many");
        let receipts =
            |receipts: &[&str]| check_receipts("t", &events, &ledger(Count::default(), receipts)).is_ok();
        assert!(receipts(&["b", "a"]));
        assert!(!receipts(&["a", "a"]) && !receipts(&["z"]));
    }
}
