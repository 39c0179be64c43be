//! The lines of an export. An archive has the same format.
//!
//! ```text
//! {"anchor":null,"format":1,"quad_audit":"export","tenant":"tnt_…"}
//! {"sequence":1,"event_hash":"…","record":{…}}
//! {"sequence":2,"event_hash":"…","record":{…}}
//! {"checkpoint":{…}}
//! {"end":{…}}
//! ```
//!
//! A `record` is exactly the text that was hashed, so SHA-256 and a text editor are enough to verify a link by hand.
//! A checkpoint follows the last event that it covers. The last line names the last event, contains the SHA-256 of
//! every byte before it, and is signed. Each line has exactly one valid encoding, so that no byte of a file can
//! change unnoticed.

use quad_core::{Timestamp, canonical};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::chain_reader::ChainEntry;
use crate::checkpoint::Checkpoint;
use crate::hash::{Hash, decode_hex};
use crate::merkle::Frontier;
use crate::signer::{SignatureWithKey, Signer, is_valid_signature, kid};

/// Precedes the signed text of the last line.
const SIGNATURE_PREFIX: &str = "quadrivium audit export 1\n";

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A copy of the stored chain.
    Export,
    /// Events that were moved out of the database.
    Archive,
}

impl FileKind {
    fn as_str(self) -> &'static str {
        match self {
            FileKind::Export => "export",
            FileKind::Archive => "archive",
        }
    }
}

/// The start of a file that does not begin with the first event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportAnchor {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) frontier: Frontier,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: FileKind,
    pub(crate) tenant: String,
    pub(crate) anchor: Option<ExportAnchor>,
}

impl Header {
    pub(crate) fn to_line(&self) -> String {
        let anchor = self.anchor.as_ref().map(
            |start| json!({"checkpoint": start.checkpoint.to_json(), "frontier": start.frontier.hashes()}),
        );
        canonical::to_string(&json!({
            "anchor": anchor,
            "format": 1,
            "quad_audit": self.kind.as_str(),
            "tenant": self.tenant,
        }))
    }

    pub(crate) fn parse(line: &str) -> Option<Header> {
        let value: Value = serde_json::from_str(line).ok()?;
        let anchor = match &value["anchor"] {
            Value::Null => None,
            anchor => {
                let checkpoint = Checkpoint::from_json(&anchor["checkpoint"])?;
                let hashes = anchor["frontier"].as_array()?.iter().map(|hash| Hash::parse(hash.as_str()?));
                let frontier =
                    Frontier::from_hashes(checkpoint.statement.size, hashes.collect::<Option<_>>()?)?;
                Some(ExportAnchor { checkpoint, frontier })
            }
        };
        let kind = [FileKind::Export, FileKind::Archive]
            .into_iter()
            .find(|kind| value["quad_audit"] == kind.as_str())?;
        let header = Header { kind, tenant: value["tenant"].as_str()?.to_owned(), anchor };
        (header.to_line() == line).then_some(header)
    }
}

/// Formats the line of an event.
pub(crate) fn format_event(ChainEntry { sequence, claimed_hash, record }: &ChainEntry) -> String {
    format!(r#"{{"sequence":{sequence},"event_hash":"{claimed_hash}","record":{record}}}"#)
}

pub(crate) fn parse_event(line: &str) -> Option<ChainEntry> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Line<'l> {
        sequence: u64,
        event_hash: Hash,
        #[serde(borrow)]
        record: &'l RawValue,
    }
    let parsed: Line<'_> = serde_json::from_str(line).ok()?;
    let record = parsed.record.get().to_owned();
    let entry = ChainEntry { sequence: parsed.sequence, claimed_hash: parsed.event_hash, record };
    (format_event(&entry) == line).then_some(entry)
}

/// Formats the line of a checkpoint.
pub(crate) fn format_checkpoint(checkpoint: &Checkpoint) -> String {
    format!(r#"{{"checkpoint":{}}}"#, checkpoint.to_line())
}

pub(crate) fn parse_checkpoint(line: &str) -> Option<Checkpoint> {
    Checkpoint::parse(line.strip_prefix(r#"{"checkpoint":"#)?.strip_suffix('}')?)
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) sequence: u64,
    pub(crate) event_hash: Option<Hash>,
    pub(crate) file_sha256: Hash,
    pub(crate) time: Timestamp,
    pub(crate) signature: SignatureWithKey,
}

impl Trailer {
    pub(crate) fn sign(
        sequence: u64,
        event_hash: Option<Hash>,
        file_sha256: Hash,
        signer: &dyn Signer,
    ) -> Trailer {
        let unsigned = SignatureWithKey { public_key: Vec::new(), signature: Vec::new() };
        let mut trailer =
            Trailer { sequence, event_hash, file_sha256, time: Timestamp::now(), signature: unsigned };
        trailer.signature = signer.sign(trailer.message().as_bytes());
        trailer
    }

    fn statement(&self) -> Value {
        json!({
            "event_hash": self.event_hash,
            "file_sha256": self.file_sha256,
            "sequence": self.sequence,
            "time": self.time,
        })
    }

    fn message(&self) -> String {
        format!("{SIGNATURE_PREFIX}{}", canonical::to_string(&self.statement()))
    }

    pub(crate) fn has_valid_signature(&self) -> bool {
        is_valid_signature(&self.signature.public_key, self.message().as_bytes(), &self.signature.signature)
    }

    pub(crate) fn to_line(&self) -> String {
        let mut value = self.statement();
        value["kid"] = kid(&self.signature.public_key).into();
        value["public_key"] = canonical::hex(&self.signature.public_key).into();
        value["signature"] = canonical::hex(&self.signature.signature).into();
        canonical::to_string(&json!({"end": value}))
    }

    pub(crate) fn parse(line: &str) -> Option<Trailer> {
        let value: Value = serde_json::from_str(line).ok()?;
        let end = &value["end"];
        let text = |name: &str| end[name].as_str();
        let trailer = Trailer {
            sequence: end["sequence"].as_u64()?,
            event_hash: match &end["event_hash"] {
                Value::Null => None,
                hash => Some(Hash::parse(hash.as_str()?)?),
            },
            file_sha256: Hash::parse(text("file_sha256")?)?,
            time: Timestamp::parse(text("time")?)?,
            signature: SignatureWithKey {
                public_key: decode_hex(text("public_key")?)?,
                signature: decode_hex(text("signature")?)?,
            },
        };
        (trailer.to_line() == line).then_some(trailer)
    }
}
