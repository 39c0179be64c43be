//! The audit chain: each event's hash covers the hash of the event before it.
//!
//! A record is the canonical JSON of twenty fields, with sorted keys and `null` for absent values. Its SHA-256 is the
//! event's hash, and the next record contains it as `prev_event_hash`. The records of one commit and tenant are
//! stored as one block, one record per line, exactly as they were hashed (a long block is compressed as a whole). So
//! the lines and SHA-256 are enough to verify the chain.

use std::cell::Cell;
use std::fmt::Write as _;

use quad_core::audit_fields::{AuditFields, AuditValue};
use quad_core::{Error, EventDraft, Receipt, Result, TenantId, Timestamp, canonical};
use serde::Serialize;

use crate::audit::compression;
use crate::connection::Connection;
use crate::head::Head;
use crate::tx_error::TxError;
use crate::{limits, params};

/// The version of the record format.
pub(crate) const HASH_SCHEMA_VERSION: i64 = 4;

/// Capacity reserved per record. A typical record is shorter, so the buffer does not grow while it is written.
const RECORD_BYTES: usize = 896;

/// One event of a chain, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEvent {
    /// `evt_` and a ULID.
    pub id: String,
    /// Its position in the chain, from 1.
    pub sequence: i64,
    /// The canonical record that was hashed.
    pub record: String,
    /// SHA-256 of the record, in hexadecimal.
    pub hash: String,
}

/// The hash of a record.
pub fn hash_record(record: &str) -> String {
    canonical::sha256_hex(record.as_bytes())
}

/// The id of an event.
pub(crate) fn event_id(ulid: &str) -> String {
    format!("evt_{ulid}")
}

thread_local! {
    /// The buffer of this thread's last block, reused for the next one.
    static BLOCK_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Builds the block of one commit and tenant: consecutive events, one record per line.
pub(crate) struct BlockBuilder {
    writer: RecordWriter,
    event_count: i64,
    /// The last timestamp and its text. All events of a commit have the same time, except those of calls that were
    /// already answered.
    last_time: (Timestamp, String),
}

impl BlockBuilder {
    /// An empty block with room for `event_count` records.
    pub(crate) fn with_capacity(event_count: usize) -> BlockBuilder {
        let mut buffer = BLOCK_BUFFER.take();
        buffer.reserve(event_count * RECORD_BYTES);
        BlockBuilder {
            writer: RecordWriter(buffer),
            event_count: 0,
            last_time: (Timestamp(i64::MIN), String::new()),
        }
    }

    /// Appends an event after `head`, and advances `head` to it.
    pub(crate) fn append(
        &mut self,
        head: &mut Head,
        ulid: &str,
        tenant: &TenantId,
        draft: &EventDraft,
        at: Timestamp,
    ) -> Result<Receipt> {
        let id = event_id(ulid);
        if self.last_time.0 != at {
            self.last_time.0 = at;
            self.last_time.1.clear();
            write!(self.last_time.1, "{at}").map_err(Error::internal)?;
        }
        if self.event_count > 0 {
            self.writer.0.push(b'\n');
        }
        let start = self.writer.0.len();
        self.writer.write_record(tenant, &id, draft, &self.last_time.1, head.hash.as_deref())?;
        head.hash = Some(canonical::sha256_hex(&self.writer.0[start..]));
        head.sequence += 1;
        self.event_count += 1;
        Ok(Receipt { version: head.version, sequence: Some(head.sequence), event_id: id.into() })
    }

    /// Stores the block. `head` is at its last event.
    pub(crate) fn insert(
        self,
        connection: &mut Connection,
        tenant: &TenantId,
        head: &Head,
        now: Timestamp,
    ) -> Result<(), TxError> {
        if self.event_count == 0 {
            return Ok(());
        }
        let first_sequence = head.sequence - self.event_count + 1;
        let (body, packed) = compression::compress(str::from_utf8(&self.writer.0).map_err(Error::internal)?);
        let result = connection.execute(
            "INSERT INTO audit_block (tenant_id, first_sequence, events, hash_schema_version, created_at, body, packed) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            params![tenant.as_str(), first_sequence, self.event_count, HASH_SCHEMA_VERSION, now, body, packed],
        );
        let mut buffer = self.writer.0;
        if buffer.capacity() <= limits::BLOCK_BUFFER_MAX {
            buffer.clear();
            BLOCK_BUFFER.set(buffer);
        }
        result?;
        Ok(())
    }
}

/// Writes records as JSON of a fixed shape: the keys are constants, so only the values are formatted.
struct RecordWriter(Vec<u8>);

impl RecordWriter {
    /// The twenty hashed fields, sorted by name as canonical JSON requires.
    fn write_record(
        &mut self,
        tenant: &TenantId,
        id: &str,
        draft: &EventDraft,
        at: &str,
        previous: Option<&str>,
    ) -> Result<()> {
        self.write_raw("{\"action\":");
        self.write_string(draft.action)?;
        self.write_raw(",\"actor\":");
        self.write_string(&draft.actor)?;
        self.write_raw(
            ",\"actor_display_name\":null,\"actor_email\":null,\"after_state\":null,\"before_state\":null,\"created_at\":",
        );
        self.write_string(at)?;
        self.write_raw(",\"event_type\":");
        self.write_string(draft.event_type)?;
        self.write_raw(",\"id\":");
        self.write_string(id)?;
        self.write_raw(",\"inputs\":");
        self.write_fields(&draft.inputs)?;
        self.write_raw(",\"key_id\":null,\"layer\":");
        self.write_string(draft.layer)?;
        self.write_raw(",\"outcome\":");
        self.write_opt_string(draft.outcome)?;
        self.write_raw(",\"outputs\":");
        self.write_fields(&draft.outputs)?;
        self.write_raw(
            ",\"policy_check_id\":null,\"policy_decision_id\":null,\"policy_version\":null,\"prev_event_hash\":",
        );
        self.write_opt_string(previous)?;
        self.write_raw(",\"severity\":");
        self.write_string(draft.severity)?;
        self.write_raw(",\"tenant_id\":");
        self.write_string(tenant.as_str())?;
        self.write_raw("}");
        Ok(())
    }

    fn write_raw(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn write_string(&mut self, text: &str) -> Result<()> {
        // No early exit: the compiler vectorises this loop.
        let needs_escapes =
            |escape_seen: bool, byte: u8| escape_seen | (byte < 0x20) | (byte == b'"') | (byte == b'\\');
        if text.bytes().fold(false, needs_escapes) {
            return self.write_json(&text);
        }
        self.0.push(b'"');
        self.write_raw(text);
        self.0.push(b'"');
        Ok(())
    }

    fn write_opt_string(&mut self, text: Option<&str>) -> Result<()> {
        match text {
            Some(text) => self.write_string(text),
            None => {
                self.write_raw("null");
                Ok(())
            }
        }
    }

    fn write_fields(&mut self, fields: &AuditFields) -> Result<()> {
        let mut separator = b'{';
        for (name, value) in fields.iter() {
            self.0.push(separator);
            separator = b',';
            self.write_string(name)?;
            self.0.push(b':');
            match value {
                AuditValue::Static(word) => self.write_string(word)?,
                AuditValue::Str(text) => self.write_string(text)?,
                other => self.write_json(other)?,
            }
        }
        self.write_raw(if separator == b'{' { "{}" } else { "}" });
        Ok(())
    }

    fn write_json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.0, value).map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use quad_core::Version;

    use super::*;

    /// The published test vectors of record format 4.
    #[test]
    fn hash_matches_published_vectors() {
        let tenant = TenantId::new("tnt_01HQ7K3BBBBBBBBBBBBBBBBBBB");
        let mut draft =
            EventDraft::system("agent", quad_core::event::MCP_CALL, "agent_01HQ7K3CCCCCCCCCCCCCCCCCCC");
        draft = draft
            .input("tool", "ledger.accounts.list")
            .output("ok", true)
            .output("result_kind", "tool_result");
        let start = Timestamp::parse("2025-09-01").unwrap();
        let mut head = Head { version: Version(3), sequence: 0, hash: None };
        let mut block = BlockBuilder::with_capacity(2);
        let mut hash_after = |ulid: &str, at: Timestamp| {
            let receipt = block.append(&mut head, ulid, &tenant, &draft, at).unwrap();
            assert_eq!((receipt.version, &*receipt.event_id), (Version(3), format!("evt_{ulid}").as_str()));
            (receipt.sequence, head.hash.clone().unwrap())
        };
        let first = "d1781541c67f7b6de9b34c69f6a432306381cfe547d14aaba6983ba54dccfd52";
        assert_eq!(hash_after("01HQ7K3AAAAAAAAAAAAAAAAAAA", start), (Some(1), first.to_owned()));
        let second = "68abbf318e9712979a5af07cfb6a0718a4333a8a3100e714bd4b89c28a9145be";
        assert_eq!(hash_after("01HQ7K3DDDDDDDDDDDDDDDDDDD", start.plus_ms(1)), (Some(2), second.to_owned()));
        let body = String::from_utf8(block.writer.0).unwrap();
        assert_eq!(body.lines().map(hash_record).collect::<Vec<_>>(), [first, second], "one record per line");
    }

    #[test]
    fn record_is_canonical_json_of_its_twenty_fields() {
        let tenant = TenantId::new("tnt_é");
        let special_text = "a\"b\\c\u{1}\u{7f}é\u{2028}😀\n";
        let mut draft =
            EventDraft::system("agent", "x.y", special_text).input("uri", special_text).output("ok", true);
        for (outcome, previous) in [(None, None), (Some("refused"), Some(special_text))] {
            draft.outcome = outcome;
            let mut writer = RecordWriter(Vec::new());
            writer.write_record(&tenant, special_text, &draft, "2025-09-01T00:00:00.123Z", previous).unwrap();
            let text = String::from_utf8(writer.0).unwrap();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(canonical::to_string(&value), text);
            assert_eq!(value.as_object().unwrap().len(), 20);
            assert_eq!(
                (&value["actor"], &value["id"], &value["inputs"]["uri"]),
                (&special_text.into(), &special_text.into(), &special_text.into())
            );
            assert_eq!((&value["outcome"], &value["prev_event_hash"]), (&outcome.into(), &previous.into()));
            assert_eq!(value["created_at"], "2025-09-01T00:00:00.123Z");
        }
    }
}
