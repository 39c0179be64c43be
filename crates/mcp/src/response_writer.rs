//! Writes a response directly as bytes: the id as written, the fields of the result, the era's own fields.
//!
//! There is no JSON tree of the result, because most responses are cached contents that only have to be copied.

use quad_core::{Error, JsonText, Receipt, Result, SerializedRead, write_json_string};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::server_state::ServerState;
use crate::{Era, Revision};

/// How long a client may cache a result, and for whom. Only the modern era has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheHint {
    ttl_ms: u64,
    scope: &'static str,
}

impl CacheHint {
    /// For everything that can change. A client that cached it would miss changes and hide its reads from the audit
    /// log.
    pub(crate) const NEVER: CacheHint = CacheHint { ttl_ms: 0, scope: "private" };
    /// For contents that never change: 1 day, for this caller.
    pub(crate) const IMMUTABLE: CacheHint = CacheHint { ttl_ms: 86_400_000, scope: "private" };
    /// For the templates, which are the same for every caller and change only with the server's version: 5 minutes.
    pub(crate) const TEMPLATES: CacheHint = CacheHint { ttl_ms: 300_000, scope: "public" };
    /// For the capabilities of an endpoint: 1 hour.
    pub(crate) const DISCOVERY: CacheHint = CacheHint { ttl_ms: 3_600_000, scope: "public" };
}

/// A response that is being written.
pub(crate) struct ResponseWriter {
    out: Vec<u8>,
    fields: usize,
}

impl ResponseWriter {
    /// Starts the response to `id`; `capacity` is the expected size of the result in bytes.
    pub(crate) fn new(id: &RawValue, capacity: usize) -> ResponseWriter {
        let mut out = Vec::with_capacity(id.get().len() + capacity + 512);
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(id.get().as_bytes());
        out.extend_from_slice(br#","result":{"#);
        ResponseWriter { out, fields: 0 }
    }

    /// Adds a field of the result.
    pub(crate) fn field(mut self, name: &str, value: &impl Serialize) -> Result<ResponseWriter> {
        self.key(name);
        serde_json::to_writer(&mut self.out, value).map_err(Error::internal)?;
        Ok(self)
    }

    /// Adds an optional field of the result.
    pub(crate) fn optional_field(self, name: &str, value: Option<&impl Serialize>) -> Result<ResponseWriter> {
        match value {
            Some(value) => self.field(name, value),
            None => Ok(self),
        }
    }

    /// Adds a field whose value is JSON already.
    pub(crate) fn raw_field(mut self, name: &str, value: &JsonText) -> ResponseWriter {
        self.key(name);
        self.out.extend_from_slice(value.as_str().as_bytes());
        self
    }

    /// Adds `contents`: for each content the URI as the caller wrote it, then the cached bytes.
    pub(crate) fn contents(mut self, uri: &RawValue, read: &SerializedRead) -> ResponseWriter {
        self.key("contents");
        read.write_contents_json(uri.get().as_bytes(), &mut self.out);
        self
    }

    /// Adds `content`: an optional text block, then the other blocks.
    pub(crate) fn content(mut self, text: Option<&str>, blocks: &[Value]) -> Result<ResponseWriter> {
        self.key("content");
        self.out.push(b'[');
        if let Some(text) = text {
            self.out.extend_from_slice(br#"{"type":"text","text":"#);
            write_json_string(&mut self.out, text);
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

    /// Ends the response with the era's own fields and `_meta`.
    pub(crate) fn finish(self, server: &ServerState, revision: Revision, hint: Option<CacheHint>) -> Vec<u8> {
        self.finish_with_meta(server, revision, hint, &[])
    }

    /// Ends the response; `entries` are further members of `_meta`, each a name and its JSON.
    pub(crate) fn finish_with_meta(
        mut self,
        server: &ServerState,
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
                self.out.extend_from_slice(server.server_info.as_bytes());
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

/// The key of the read receipt in `_meta`.
pub(crate) const RECEIPT_KEY: &str = "dev.quadrivium/receipt";

/// The key in `_meta` of a read whose contents the caller already has; `contents` is then empty.
pub(crate) const NOT_MODIFIED_KEY: &str = "dev.quadrivium/notModified";

/// The key in `_meta` of a result that carries stored text: rows, memories, statements, pages. A client shows it to the
/// model as data, never as instructions.
pub(crate) const STORED_TEXT_KEY: &str = "dev.quadrivium/storedText";

/// The receipt of a read: the hash of the contents, the version and the audit event.
pub(crate) fn receipt_json(read: &SerializedRead, receipt: &Receipt) -> String {
    let version = read.read_set.version.unwrap_or(receipt.version);
    let mut buffer = itoa::Buffer::new();
    let mut json = String::with_capacity(192);
    json.push_str(r#"{"contentHash":""#);
    json.push_str(&read.content_hash);
    json.push_str(r#"","version":"#);
    json.push_str(buffer.format(version.0));
    if let Some(sequence) = receipt.sequence {
        json.push_str(r#","sequence":"#);
        json.push_str(buffer.format(sequence));
    }
    json.push_str(r#","event":""#);
    // Needs no escaping: `evt_`, letters and digits.
    json.push_str(&receipt.event_id);
    json.push_str(r#""}"#);
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use quad_core::{Content, ReadOutput, ReadSet, Version};
    use serde_json::json;

    #[test]
    fn uri_and_id_are_written_verbatim() {
        let mut output = ReadOutput::new(Content::text("text/plain", "a\n"), ReadSet::at_version(Version(4)));
        output.contents.push(Content::text("text/plain", "b"));
        let read = output.serialize().unwrap();
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        let mut reply = ResponseWriter::new(&raw("\"\\u0041\""), 0).contents(&raw("\"x:\\/\\/y\""), &read);
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
    fn receipt_has_version_of_the_read() {
        let read = ReadOutput::new(Content::text("text/plain", "a"), ReadSet::at_version(Version(4)))
            .serialize()
            .unwrap();
        let mut audit_receipt = Receipt { version: Version(6), sequence: Some(9), event_id: "evt_1".into() };
        let parsed = |audit_receipt: &Receipt| -> Value {
            serde_json::from_str(&receipt_json(&read, audit_receipt)).unwrap()
        };
        let mut expect =
            json!({"contentHash": *read.content_hash, "version": 4, "sequence": 9, "event": "evt_1"});
        assert_eq!(parsed(&audit_receipt), expect);
        audit_receipt.sequence = None;
        expect.as_object_mut().unwrap().remove("sequence");
        assert_eq!(parsed(&audit_receipt), expect, "an event that is not committed yet has no sequence");
    }
}
