//! The audit chain: each event's hash covers the hash of the event before it.
//!
//! A record is the canonical JSON of twenty fields, keys sorted, absent ones null. Its SHA-256 is the event's hash, and
//! the next record carries it as `prev_event_hash`. The records of one commit and tenant are stored as one block, one
//! record a line, exactly as they were hashed: whoever has the lines can check the chain with nothing but SHA-256.

use quad_core::canonical;
use quad_core::{Error, EventDraft, Result, TenantId, Timestamp};
use serde::Serialize;

use crate::connection::Connection;
use crate::head::Head;
use crate::{DbError, params};

/// The version of the record's form.
pub(crate) const HASH_SCHEMA_VERSION: i64 = 4;

/// Room for a usual record, so that writing one does not grow it step by step.
const RECORD_BYTES: usize = 896;

/// One link of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEvent {
    /// `evt_` and a ULID.
    pub id: String,
    /// Its place, from 1.
    pub sequence: i64,
    /// The canonical record that was hashed.
    pub record: String,
    /// SHA-256 of the record, in hexadecimal.
    pub hash: String,
}

/// The hash of a record.
pub fn hash_of(record: &str) -> String {
    canonical::sha256_hex(record.as_bytes())
}

/// The id of an event.
pub(crate) fn event_id(ulid: &str) -> String {
    format!("evt_{ulid}")
}

/// Links an event to the head, which moves on.
pub(crate) fn link(
    head: &mut Head,
    ulid: String,
    tenant: &TenantId,
    draft: &EventDraft,
    now: Timestamp,
) -> Result<AuditEvent> {
    let id = event_id(&ulid);
    let record = record(tenant, &id, draft, now, head.hash.as_deref())?;
    let hash = hash_of(&record);
    head.sequence += 1;
    head.hash = Some(hash.clone());
    Ok(AuditEvent { id, sequence: head.sequence, record, hash })
}

/// Stores the events of one commit, which are consecutive.
pub(crate) fn insert_block(
    connection: &mut Connection,
    tenant: &TenantId,
    events: &[AuditEvent],
    now: Timestamp,
) -> Result<(), DbError> {
    let Some(first) = events.first() else { return Ok(()) };
    let body = events.iter().map(|event| event.record.as_str()).collect::<Vec<_>>().join("\n");
    connection.execute(
        "INSERT INTO audit_block (tenant_id, first_sequence, events, hash_schema_version, created_at, body) \
         VALUES ($1, $2, $3, $4, $5, $6)",
        params![tenant.as_str(), first.sequence, events.len() as i64, HASH_SCHEMA_VERSION, now, body],
    )?;
    Ok(())
}

/// The twenty hashed fields, in the order of their names: that order is the canonical one.
fn record(
    tenant: &TenantId,
    id: &str,
    draft: &EventDraft,
    now: Timestamp,
    previous: Option<&str>,
) -> Result<String> {
    let mut record = Pen(Vec::with_capacity(RECORD_BYTES));
    record.put("{\"action\":");
    record.text(draft.action)?;
    record.put(",\"actor\":");
    record.text(&draft.actor)?;
    record.put(
        ",\"actor_display_name\":null,\"actor_email\":null,\"after_state\":null,\"before_state\":null,\"created_at\":",
    );
    record.value(&now)?;
    record.put(",\"event_type\":");
    record.text(draft.event_type)?;
    record.put(",\"id\":");
    record.text(id)?;
    record.put(",\"inputs\":");
    record.value(&draft.inputs)?;
    record.put(",\"key_id\":null,\"layer\":");
    record.text(draft.layer)?;
    record.put(",\"outcome\":");
    record.optional(draft.outcome)?;
    record.put(",\"outputs\":");
    record.value(&draft.outputs)?;
    record.put(
        ",\"policy_check_id\":null,\"policy_decision_id\":null,\"policy_version\":null,\"prev_event_hash\":",
    );
    record.optional(previous)?;
    record.put(",\"severity\":");
    record.text(draft.severity)?;
    record.put(",\"tenant_id\":");
    record.text(tenant.as_str())?;
    record.put("}");
    String::from_utf8(record.0).map_err(Error::internal)
}

/// Writes JSON whose shape is known: what never differs is not put together anew for each record.
struct Pen(Vec<u8>);

impl Pen {
    fn put(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn text(&mut self, text: &str) -> Result<()> {
        if text.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            return self.value(&text);
        }
        self.0.push(b'"');
        self.put(text);
        self.0.push(b'"');
        Ok(())
    }

    fn optional(&mut self, text: Option<&str>) -> Result<()> {
        match text {
            Some(text) => self.text(text),
            None => {
                self.put("null");
                Ok(())
            }
        }
    }

    fn value(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.0, value).map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published vectors of the record's fourth form.
    #[test]
    fn hashes_as_the_published_vectors_do() {
        let tenant = TenantId::new("tnt_01HQ7K3BBBBBBBBBBBBBBBBBBB");
        let mut draft =
            EventDraft::system("agent", quad_core::event::MCP_CALL, "agent_01HQ7K3CCCCCCCCCCCCCCCCCCC");
        draft = draft
            .input("tool", "ledger.accounts.list")
            .output("ok", true)
            .output("result_kind", "tool_result");
        let start = Timestamp::parse("2025-09-01").unwrap();
        let first = record(&tenant, "evt_01HQ7K3AAAAAAAAAAAAAAAAAAA", &draft, start, None).unwrap();
        let first = hash_of(&first);
        assert_eq!(first, "d1781541c67f7b6de9b34c69f6a432306381cfe547d14aaba6983ba54dccfd52");
        let second =
            record(&tenant, "evt_01HQ7K3DDDDDDDDDDDDDDDDDDD", &draft, start.plus_ms(1), Some(&first))
                .unwrap();
        assert_eq!(hash_of(&second), "68abbf318e9712979a5af07cfb6a0718a4333a8a3100e714bd4b89c28a9145be");
    }

    #[test]
    fn a_record_is_the_canonical_json_of_its_twenty_fields() {
        let tenant = TenantId::new("tnt_é");
        let odd = "a\"b\\c\u{1}\u{7f}é\u{2028}😀\n";
        let mut draft = EventDraft::system("agent", "x.y", odd).input("uri", odd).output("ok", true);
        for (outcome, previous) in [(None, None), (Some("refused"), Some(odd))] {
            draft.outcome = outcome;
            let text = record(&tenant, odd, &draft, Timestamp(1_756_684_800_123), previous).unwrap();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(canonical::to_string(&value), text);
            assert_eq!(value.as_object().unwrap().len(), 20);
            assert_eq!(
                (&value["actor"], &value["id"], &value["inputs"]["uri"]),
                (&odd.into(), &odd.into(), &odd.into())
            );
            assert_eq!((&value["outcome"], &value["prev_event_hash"]), (&outcome.into(), &previous.into()));
            assert_eq!(value["created_at"], "2025-09-01T00:00:00.123Z");
        }
    }
}
