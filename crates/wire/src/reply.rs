//! A response, written straight into its bytes: the id as it came, the result's fields, and what the era adds.

use quad_core::{Error, Json, Receipt, Result, Sealed, write_text};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::endpoint::Hub;
use crate::{Era, Revision};

/// How long a client may keep a result, and for whom. Only the modern era has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheHint {
    ttl_ms: u64,
    scope: &'static str,
}

impl CacheHint {
    /// Everything that can change: a client that kept it would not see a change, and would hide its reads.
    pub(crate) const NEVER: CacheHint = CacheHint { ttl_ms: 0, scope: "private" };
    /// What an address that never changes gave to this caller.
    pub(crate) const IMMUTABLE: CacheHint = CacheHint { ttl_ms: 86_400_000, scope: "private" };
    /// The templates: the same for everyone, until the server is replaced.
    pub(crate) const TEMPLATES: CacheHint = CacheHint { ttl_ms: 300_000, scope: "public" };
    /// What the endpoint can do.
    pub(crate) const DISCOVERY: CacheHint = CacheHint { ttl_ms: 3_600_000, scope: "public" };
}

/// A response under construction.
pub(crate) struct Reply {
    out: Vec<u8>,
    fields: usize,
}

impl Reply {
    /// Begins the response to `id`, with room for a result of so many bytes.
    pub(crate) fn to(id: &RawValue, room: usize) -> Reply {
        let mut out = Vec::with_capacity(id.get().len() + room + 512);
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(id.get().as_bytes());
        out.extend_from_slice(br#","result":{"#);
        Reply { out, fields: 0 }
    }

    /// Adds a field of the result.
    pub(crate) fn field(mut self, name: &str, value: &impl Serialize) -> Result<Reply> {
        self.key(name);
        serde_json::to_writer(&mut self.out, value).map_err(Error::internal)?;
        Ok(self)
    }

    /// Adds an optional field of the result.
    pub(crate) fn optional(self, name: &str, value: Option<&impl Serialize>) -> Result<Reply> {
        match value {
            Some(value) => self.field(name, value),
            None => Ok(self),
        }
    }

    /// Adds a field whose value has been written.
    pub(crate) fn written(mut self, name: &str, value: &Json) -> Reply {
        self.key(name);
        self.out.extend_from_slice(value.as_str().as_bytes());
        self
    }

    /// Adds `contents`: the address as the caller wrote it, spliced before the shared bytes.
    pub(crate) fn contents(mut self, uri: &RawValue, sealed: &Sealed) -> Reply {
        self.key("contents");
        self.out.push(b'[');
        for (index, tail) in sealed.tails.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(br#"{"uri":"#);
            self.out.extend_from_slice(uri.get().as_bytes());
            self.out.extend_from_slice(tail);
        }
        self.out.push(b']');
        self
    }

    /// Adds `content`: a text, if there is one, and blocks.
    pub(crate) fn content(mut self, text: Option<&str>, blocks: &[Value]) -> Result<Reply> {
        self.key("content");
        self.out.push(b'[');
        if let Some(text) = text {
            self.out.extend_from_slice(br#"{"type":"text","text":"#);
            write_text(&mut self.out, text);
            self.out.push(b'}');
        }
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 || text.is_some() {
                self.out.push(b',');
            }
            serde_json::to_writer(&mut self.out, block).map_err(Error::internal)?;
        }
        self.out.push(b']');
        Ok(self)
    }

    /// Ends the response: the era's own fields, and `_meta`.
    pub(crate) fn end(self, hub: &Hub, revision: Revision, hint: Option<CacheHint>) -> Vec<u8> {
        self.end_with(hub, revision, hint, &[])
    }

    /// Ends the response with more entries in `_meta`, each a name and its JSON.
    pub(crate) fn end_with(
        mut self,
        hub: &Hub,
        revision: Revision,
        hint: Option<CacheHint>,
        entries: &[(&str, &str)],
    ) -> Vec<u8> {
        let modern = revision.era() == Era::Modern;
        if modern {
            self.key("resultType");
            self.out.extend_from_slice(br#""complete""#);
            if let Some(hint) = hint {
                self.key("ttlMs");
                self.out.extend_from_slice(itoa::Buffer::new().format(hint.ttl_ms).as_bytes());
                self.key("cacheScope");
                self.out.push(b'"');
                self.out.extend_from_slice(hint.scope.as_bytes());
                self.out.push(b'"');
            }
        }
        if modern || !entries.is_empty() {
            self.key("_meta");
            self.out.push(b'{');
            for (index, (name, json)) in entries.iter().enumerate() {
                self.out.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(br#"":"#);
                self.out.extend_from_slice(json.as_bytes());
            }
            if modern {
                if !entries.is_empty() {
                    self.out.push(b',');
                }
                self.out.extend_from_slice(hub.server_info.as_bytes());
            }
            self.out.push(b'}');
        }
        self.out.extend_from_slice(b"}}");
        self.out
    }

    fn key(&mut self, name: &str) {
        if self.fields > 0 {
            self.out.push(b',');
        }
        self.fields += 1;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(br#"":"#);
    }
}

/// The key under which a read's proof stands in `_meta`.
pub(crate) const RECEIPT: &str = "dev.quadrivium/receipt";

/// The key in `_meta` that says that the caller has the contents already; `contents` is then empty.
pub(crate) const NOT_MODIFIED: &str = "dev.quadrivium/notModified";

/// The proof of a read: what was shown, at which version, and where that is written down.
pub(crate) fn receipt(sealed: &Sealed, receipt: &Receipt) -> String {
    let version = sealed.basis.version.unwrap_or(receipt.version);
    let mut number = itoa::Buffer::new();
    let mut json = String::with_capacity(192);
    json.push_str(r#"{"contentHash":""#);
    json.push_str(&sealed.content_hash);
    json.push_str(r#"","version":"#);
    json.push_str(number.format(version.0));
    if let Some(place) = receipt.sequence {
        json.push_str(r#","sequence":"#);
        json.push_str(number.format(place));
    }
    json.push_str(r#","event":""#);
    // An id of ours: `evt_`, letters and digits.
    json.push_str(&receipt.event_id);
    json.push_str(r#""}"#);
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use quad_core::{Basis, Content, Reading, Version};
    use serde_json::json;

    #[test]
    fn the_address_and_the_id_are_spliced_as_written() {
        let mut reading = Reading::new(Content::text("text/plain", "a\n"), Basis::at(Version(4)));
        reading.contents.push(Content::text("text/plain", "b"));
        let sealed = reading.seal().unwrap();
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        let mut reply = Reply::to(&raw("\"\\u0041\""), 0).contents(&raw("\"x:\\/\\/y\""), &sealed);
        reply.out.extend_from_slice(b"}}");
        let text = String::from_utf8(reply.out).unwrap();
        assert!(
            text.starts_with(r#"{"jsonrpc":"2.0","id":"\u0041","result":{"contents":[{"uri":"x:\/\/y","#),
            "{text}"
        );
        let parsed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            parsed["result"]["contents"][1],
            json!({"uri": "x://y", "mimeType": "text/plain", "text": "b"})
        );
    }

    #[test]
    fn a_receipt_names_the_version_that_was_read() {
        let sealed = Reading::new(Content::text("text/plain", "a"), Basis::at(Version(4))).seal().unwrap();
        let mut written = Receipt { version: Version(6), sequence: Some(9), event_id: "evt_1".into() };
        let parsed =
            |written: &Receipt| -> Value { serde_json::from_str(&receipt(&sealed, written)).unwrap() };
        let mut expect =
            json!({"contentHash": *sealed.content_hash, "version": 4, "sequence": 9, "event": "evt_1"});
        assert_eq!(parsed(&written), expect);
        written.sequence = None;
        expect.as_object_mut().unwrap().remove("sequence");
        assert_eq!(parsed(&written), expect, "an event that is not written yet has no place");
    }
}
