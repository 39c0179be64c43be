//! The audit chain: each event's hash covers the hash of the event before it.
//!
//! A record is the canonical JSON of twenty fields, keys sorted, absent ones null. Its SHA-256 is the event's hash, and
//! the next record carries it as `prev_event_hash`. The records of one commit and tenant are stored as one block, one
//! record a line, exactly as they were hashed (a long block packed as a whole): whoever has the lines can check the chain with nothing but SHA-256.

use std::cell::Cell;
use std::fmt::Write as _;

use quad_core::facts::{AuditValue, AuditFields};
use quad_core::{Error, EventDraft, Receipt, Result, TenantId, Timestamp, canonical};
use serde::Serialize;

use crate::audit::packing;
use crate::connection::Connection;
use crate::head::Head;
use crate::{limits, params};

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

thread_local! {
    /// What the last block of this thread was written on: for the next, which is about as long.
    static PAPER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The events of one commit and tenant, which are consecutive: the block, while it is written.
pub(crate) struct Links {
    pen: Pen,
    events: i64,
    /// The last time that was written. The events of a commit have one time, but for those of answers that were given before.
    time: (Timestamp, String),
}

impl Links {
    /// No event yet, with room for so many.
    pub(crate) fn with_room_for(events: usize) -> Links {
        let mut paper = PAPER.take();
        paper.reserve(events * RECORD_BYTES);
        Links { pen: Pen(paper), events: 0, time: (Timestamp(i64::MIN), String::new()) }
    }

    /// Links an event to the head, which moves on.
    pub(crate) fn add(
        &mut self,
        head: &mut Head,
        ulid: &str,
        tenant: &TenantId,
        draft: &EventDraft,
        at: Timestamp,
    ) -> Result<Receipt> {
        let id = event_id(ulid);
        if self.time.0 != at {
            self.time.0 = at;
            self.time.1.clear();
            write!(self.time.1, "{at}").map_err(Error::internal)?;
        }
        if self.events > 0 {
            self.pen.0.push(b'\n');
        }
        let start = self.pen.0.len();
        self.pen.record(tenant, &id, draft, &self.time.1, head.hash.as_deref())?;
        head.hash = Some(canonical::sha256_hex(&self.pen.0[start..]));
        head.sequence += 1;
        self.events += 1;
        Ok(Receipt { version: head.version, sequence: Some(head.sequence), event_id: id.into() })
    }

    /// Stores the block, whose last event is where `head` stands.
    pub(crate) fn store(
        self,
        connection: &mut Connection,
        tenant: &TenantId,
        head: &Head,
        now: Timestamp,
    ) -> Result<()> {
        if self.events == 0 {
            return Ok(());
        }
        let first_sequence = head.sequence - self.events + 1;
        let (body, packed) = packing::pack(str::from_utf8(&self.pen.0).map_err(Error::internal)?);
        let stored = connection.execute(
            "INSERT INTO audit_block (tenant_id, first_sequence, events, hash_schema_version, created_at, body, packed) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            params![tenant.as_str(), first_sequence, self.events, HASH_SCHEMA_VERSION, now, body, packed],
        );
        let mut paper = self.pen.0;
        if paper.capacity() <= limits::PAPER_BYTES {
            paper.clear();
            PAPER.set(paper);
        }
        stored?;
        Ok(())
    }
}

/// Writes JSON whose shape is known: what never differs is not put together anew for each record.
struct Pen(Vec<u8>);

impl Pen {
    /// The twenty hashed fields, in the order of their names: that order is the canonical one.
    fn record(
        &mut self,
        tenant: &TenantId,
        id: &str,
        draft: &EventDraft,
        at: &str,
        previous: Option<&str>,
    ) -> Result<()> {
        self.put("{\"action\":");
        self.text(draft.action)?;
        self.put(",\"actor\":");
        self.text(&draft.actor)?;
        self.put(
            ",\"actor_display_name\":null,\"actor_email\":null,\"after_state\":null,\"before_state\":null,\"created_at\":",
        );
        self.text(at)?;
        self.put(",\"event_type\":");
        self.text(draft.event_type)?;
        self.put(",\"id\":");
        self.text(id)?;
        self.put(",\"inputs\":");
        self.facts(&draft.inputs)?;
        self.put(",\"key_id\":null,\"layer\":");
        self.text(draft.layer)?;
        self.put(",\"outcome\":");
        self.optional(draft.outcome)?;
        self.put(",\"outputs\":");
        self.facts(&draft.outputs)?;
        self.put(
            ",\"policy_check_id\":null,\"policy_decision_id\":null,\"policy_version\":null,\"prev_event_hash\":",
        );
        self.optional(previous)?;
        self.put(",\"severity\":");
        self.text(draft.severity)?;
        self.put(",\"tenant_id\":");
        self.text(tenant.as_str())?;
        self.put("}");
        Ok(())
    }

    fn put(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn text(&mut self, text: &str) -> Result<()> {
        // All of it, whatever is found: that is done for many bytes at a time.
        let needs_escapes = |odd: bool, byte: u8| odd | (byte < 0x20) | (byte == b'"') | (byte == b'\\');
        if text.bytes().fold(false, needs_escapes) {
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

    fn facts(&mut self, facts: &AuditFields) -> Result<()> {
        let mut before = b'{';
        for (name, fact) in facts.iter() {
            self.0.push(before);
            before = b',';
            self.text(name)?;
            self.0.push(b':');
            match fact {
                AuditValue::Static(word) => self.text(word)?,
                AuditValue::Str(text) => self.text(text)?,
                other => self.value(other)?,
            }
        }
        self.put(if before == b'{' { "{}" } else { "}" });
        Ok(())
    }

    fn value(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.0, value).map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use quad_core::Version;

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
        let mut head = Head { version: Version(3), sequence: 0, hash: None };
        let mut links = Links::with_room_for(2);
        let mut hash_after = |ulid: &str, at: Timestamp| {
            let receipt = links.add(&mut head, ulid, &tenant, &draft, at).unwrap();
            assert_eq!((receipt.version, &*receipt.event_id), (Version(3), format!("evt_{ulid}").as_str()));
            (receipt.sequence, head.hash.clone().unwrap())
        };
        let first = "d1781541c67f7b6de9b34c69f6a432306381cfe547d14aaba6983ba54dccfd52";
        assert_eq!(hash_after("01HQ7K3AAAAAAAAAAAAAAAAAAA", start), (Some(1), first.to_owned()));
        let second = "68abbf318e9712979a5af07cfb6a0718a4333a8a3100e714bd4b89c28a9145be";
        assert_eq!(hash_after("01HQ7K3DDDDDDDDDDDDDDDDDDD", start.plus_ms(1)), (Some(2), second.to_owned()));
        let body = String::from_utf8(links.pen.0).unwrap();
        assert_eq!(body.lines().map(hash_of).collect::<Vec<_>>(), [first, second], "one record a line");
    }

    #[test]
    fn a_record_is_the_canonical_json_of_its_twenty_fields() {
        let tenant = TenantId::new("tnt_é");
        let odd = "a\"b\\c\u{1}\u{7f}é\u{2028}😀\n";
        let mut draft = EventDraft::system("agent", "x.y", odd).input("uri", odd).output("ok", true);
        for (outcome, previous) in [(None, None), (Some("refused"), Some(odd))] {
            draft.outcome = outcome;
            let mut pen = Pen(Vec::new());
            pen.record(&tenant, odd, &draft, "2025-09-01T00:00:00.123Z", previous).unwrap();
            let text = String::from_utf8(pen.0).unwrap();
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
