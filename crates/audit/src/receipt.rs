//! Receipts: comparing a reply with the audit event that recorded it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use quad_core::{Error, Result, canonical};
use serde_json::Value;

use crate::chain_error;
use crate::verify::EventSelector;

/// The `_meta` key of the receipt in a reply.
const RECEIPT_META_KEY: &str = "dev.quadrivium/receipt";

/// A receipt, with the hash of the contents if they were saved with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadReceipt {
    /// The hash of the contents.
    pub content_hash: String,
    /// The version of the tenant.
    pub version: i64,
    /// The sequence of the event, if it was known when the read was answered.
    pub sequence: Option<u64>,
    /// The event id.
    pub event: String,
    /// The hash computed from the saved contents, if the whole reply was saved.
    pub computed_hash: Option<String>,
}

impl ReadReceipt {
    /// Finds the receipt in a saved reply: the receipt alone, the result, or the whole message.
    pub fn parse(saved: &Value) -> Result<ReadReceipt> {
        let result = if saved["result"].is_object() { &saved["result"] } else { saved };
        let receipt = match &result["_meta"][RECEIPT_META_KEY] {
            Value::Null if !saved[RECEIPT_META_KEY].is_null() => &saved[RECEIPT_META_KEY],
            Value::Null => saved,
            inside => inside,
        };
        let text = |name: &str| receipt[name].as_str().map(str::to_owned);
        let parsed = || {
            Some(ReadReceipt {
                content_hash: text("contentHash")?,
                version: receipt["version"].as_i64()?,
                sequence: match &receipt["sequence"] {
                    Value::Null => None,
                    sequence => Some(sequence.as_u64()?),
                },
                event: text("event")?,
                computed_hash: None,
            })
        };
        let Some(receipt) = parsed() else {
            return Err(Error::bad_input("The file contains no receipt").hint(format!(
                "Save the reply of a read, or the value of its _meta.\"{RECEIPT_META_KEY}\": contentHash, version, \
                 sequence, event"
            )));
        };
        Ok(ReadReceipt { computed_hash: contents_hash(&result["contents"])?, ..receipt })
    }

    /// Selects the event of the receipt: by sequence if it is known, so that another event at that sequence is
    /// detected.
    pub fn selector(&self) -> EventSelector {
        self.sequence.map_or_else(|| EventSelector::Id(self.event.clone()), EventSelector::Sequence)
    }

    /// Compares the receipt with the record of the event at that sequence.
    pub fn check(&self, sequence: u64, record: &str) -> Result<()> {
        let event: Value = serde_json::from_str(record).map_err(Error::internal)?;
        let mismatch = |name: &str, expected: &str, actual: &str| {
            let reason = format!("has {name} {actual}, but the receipt says {expected}");
            Err(chain_error::event(sequence, event["id"].as_str(), &reason))
        };
        let display = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if event["id"] != self.event.as_str() {
            return mismatch("the id", &self.event, &display(&event["id"]));
        }
        let outputs = &event["outputs"];
        if outputs["content_hash"] != self.content_hash.as_str() {
            return mismatch("the content hash", &self.content_hash, &display(&outputs["content_hash"]));
        }
        // The event of an answer without a version has none either.
        if !outputs["version"].is_null() && outputs["version"] != self.version {
            return mismatch("the version", &self.version.to_string(), &display(&outputs["version"]));
        }
        if self.computed_hash.as_ref().is_some_and(|contents| *contents != self.content_hash) {
            return Err(chain_error::document("The contents do not match the receipt"));
        }
        Ok(())
    }
}

/// The hash of the concatenated contents of a reply.
fn contents_hash(contents: &Value) -> Result<Option<String>> {
    let Some(contents) = contents.as_array() else { return Ok(None) };
    let mut bytes = Vec::new();
    for content in contents {
        match (content["text"].as_str(), content["blob"].as_str()) {
            (Some(text), _) => bytes.extend_from_slice(text.as_bytes()),
            (None, Some(blob)) => {
                let blob = BASE64.decode(blob);
                bytes.extend(blob.map_err(|_| Error::bad_input("A blob of the reply is not base64"))?);
            }
            (None, None) => return Err(Error::bad_input("A content of the reply has neither text nor blob")),
        }
    }
    Ok(Some(canonical::sha256_hex(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hash() -> String {
        canonical::sha256_hex(b"ab\0")
    }

    fn receipt() -> Value {
        json!({"contentHash": hash(), "version": 4, "sequence": 9, "event": "evt_1"})
    }

    fn record(change: impl FnOnce(&mut Value)) -> String {
        let mut record =
            json!({"id": "evt_1", "outputs": {"content_hash": hash(), "version": 4, "ok": true}});
        change(&mut record);
        record.to_string()
    }

    #[test]
    fn parses_receipt_from_reply_result_or_meta() {
        let result =
            json!({"_meta": {RECEIPT_META_KEY: receipt()}, "contents": [{"text": "ab"}, {"blob": "AA=="}]});
        let whole = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        for (saved, with_contents) in [
            (receipt(), false),
            (json!({RECEIPT_META_KEY: receipt()}), false),
            (result.clone(), true),
            (whole, true),
        ] {
            let parsed = ReadReceipt::parse(&saved).unwrap();
            assert_eq!((parsed.sequence, parsed.version, parsed.event.as_str()), (Some(9), 4, "evt_1"));
            assert_eq!(parsed.selector(), EventSelector::Sequence(9));
            assert_eq!(parsed.computed_hash.is_some(), with_contents);
            parsed.check(9, &record(|_| {})).unwrap();
        }
        let without_sequence = json!({"contentHash": hash(), "version": 4, "event": "evt_1"});
        let parsed = ReadReceipt::parse(&without_sequence).unwrap();
        assert_eq!(parsed.selector(), EventSelector::Id("evt_1".into()));
        parsed.check(9, &record(|_| {})).unwrap();
        assert!(ReadReceipt::parse(&json!({"contentHash": "x"})).unwrap_err().hint_text().is_some());
        assert!(ReadReceipt::parse(&json!([])).is_err());
        let misplaced = json!({"contentHash": hash(), "version": 4, "sequence": "9", "event": "evt_1"});
        assert!(ReadReceipt::parse(&misplaced).is_err());
    }

    #[test]
    fn mismatches_are_named() {
        let check = |saved: &Value, record: &str, expect: &str| {
            let error = ReadReceipt::parse(saved).unwrap().check(9, record).unwrap_err();
            assert!(error.message().contains(expect), "{}", error.message());
        };
        check(&receipt(), &record(|event| event["id"] = "evt_2".into()), "the id evt_2");
        check(
            &receipt(),
            &record(|event| event["outputs"]["content_hash"] = "0".into()),
            "the content hash 0",
        );
        check(&receipt(), &record(|event| event["outputs"]["version"] = 5.into()), "the version 5");
        let changed = json!({"_meta": {RECEIPT_META_KEY: receipt()}, "contents": [{"text": "other"}]});
        check(&changed, &record(|_| {}), "contents");
    }
}
