//! The audit chain: each event's hash covers the hash of the event before it.
//!
//! A record is the canonical JSON of twenty fields, keys sorted, absent ones null. Its SHA-256 is the event's hash, and
//! the next record carries it as `prev_event_hash`. The records of one commit and tenant are stored as one block, one
//! record a line, exactly as they were hashed: whoever has the lines can check the chain with nothing but SHA-256.

use quad_core::canonical;
use quad_core::facts::Facts;
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

/// Links an event to the head, which moves on.
pub(crate) fn link(
    head: &mut Head,
    ulid: String,
    tenant: &TenantId,
    draft: &EventDraft,
    now: Timestamp,
) -> Result<AuditEvent> {
    let id = format!("evt_{ulid}");
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
#[derive(Serialize)]
struct Record<'a> {
    action: &'a str,
    actor: &'a str,
    actor_display_name: Option<&'a str>,
    actor_email: Option<&'a str>,
    after_state: Option<&'a str>,
    before_state: Option<&'a str>,
    created_at: Timestamp,
    event_type: &'a str,
    id: &'a str,
    inputs: &'a Facts,
    key_id: Option<&'a str>,
    layer: &'a str,
    outcome: Option<&'a str>,
    outputs: &'a Facts,
    policy_check_id: Option<&'a str>,
    policy_decision_id: Option<&'a str>,
    policy_version: Option<&'a str>,
    prev_event_hash: Option<&'a str>,
    severity: &'a str,
    tenant_id: &'a str,
}

fn record(
    tenant: &TenantId,
    id: &str,
    draft: &EventDraft,
    now: Timestamp,
    previous: Option<&str>,
) -> Result<String> {
    let record = Record {
        action: draft.action,
        actor: &draft.actor,
        actor_display_name: None,
        actor_email: None,
        after_state: None,
        before_state: None,
        created_at: now,
        event_type: draft.event_type,
        id,
        inputs: &draft.inputs,
        key_id: None,
        layer: draft.layer,
        outcome: draft.outcome,
        outputs: &draft.outputs,
        policy_check_id: None,
        policy_decision_id: None,
        policy_version: None,
        prev_event_hash: previous,
        severity: draft.severity,
        tenant_id: tenant.as_str(),
    };
    let mut text = Vec::with_capacity(RECORD_BYTES);
    serde_json::to_writer(&mut text, &record).map_err(Error::internal)?;
    String::from_utf8(text).map_err(Error::internal)
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
}
