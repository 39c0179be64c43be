//! What a read returns: [`ReadOutput`] from the scheme, then [`SerializedRead`] for the cache and the reply.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;

use crate::json::write_json_string;
use crate::{Error, JsonText, Kind, ReadSet, Result, SideEffect, canonical, limits};

/// One piece of contents.
#[derive(Clone, Debug)]
pub struct Content {
    /// The media type.
    pub mime_type: Cow<'static, str>,
    /// The text or bytes.
    pub body: Body,
}

/// Text, or bytes that are sent as base64.
#[derive(Clone, Debug)]
pub enum Body {
    /// UTF-8 text.
    Text(String),
    /// Anything else.
    Blob(Bytes),
}

impl Content {
    /// A JSON document.
    pub fn json(value: &impl serde::Serialize) -> Result<Content> {
        let text = serde_json::to_string(value).map_err(Error::internal)?;
        Ok(Content { mime_type: Cow::Borrowed("application/json"), body: Body::Text(text) })
    }

    /// A JSON document that is serialized already.
    pub fn from_json_text(json: JsonText) -> Content {
        Content { mime_type: Cow::Borrowed("application/json"), body: Body::Text(json.into_string()) }
    }

    /// Text of the given media type.
    pub fn text(mime_type: &'static str, text: impl Into<String>) -> Content {
        Content { mime_type: Cow::Borrowed(mime_type), body: Body::Text(text.into()) }
    }

    /// The raw bytes, not base64.
    pub fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::Text(text) => text.as_bytes(),
            Body::Blob(bytes) => bytes,
        }
    }
}

/// What a scheme returns for an address.
#[derive(Clone, Debug)]
pub struct ReadOutput {
    /// One or more contents. Never empty: a missing resource is an error.
    pub contents: Vec<Content>,
    /// The read set of the contents.
    pub read_set: ReadSet,
    /// Whether the cache may keep it. False for resources that change by being read.
    pub cacheable: bool,
    /// Whether this address always returns the same bytes.
    pub immutable: bool,
    /// A write that is committed with the read's audit event. Only if not `cacheable`: a cache hit would skip
    /// it.
    pub side_effect: Option<SideEffect>,
}

impl ReadOutput {
    /// A cacheable read with one content.
    pub fn new(content: Content, read_set: ReadSet) -> ReadOutput {
        ReadOutput { contents: vec![content], read_set, cacheable: true, immutable: false, side_effect: None }
    }

    /// Serializes and hashes the contents, so that callers can share them.
    pub fn serialize(self) -> Result<Arc<SerializedRead>> {
        let total_bytes: usize = self.contents.iter().map(|content| content.bytes().len()).sum();
        if total_bytes > limits::CONTENTS_BYTES {
            return Err(Error::new(
                Kind::Limit,
                "CONTENTS_TOO_LARGE",
                "The contents are too large for one read",
            )
            .hint("Read a narrower address, or page through it")
            .with_detail("limit_bytes", limits::CONTENTS_BYTES));
        }
        let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
        for content in &self.contents {
            digest.update(content.bytes());
        }
        let json_suffixes: Vec<Bytes> = self.contents.iter().map(json_suffix).collect();
        Ok(Arc::new(SerializedRead {
            json_suffixes: json_suffixes.into(),
            contents: self.contents.into(),
            content_hash: canonical::hex(digest.finish().as_ref()).into(),
            read_set: Arc::new(self.read_set),
            cacheable: self.cacheable,
            immutable: self.immutable,
            side_effect: self.side_effect,
        }))
    }
}

/// A read, serialized once. Each content of a reply is `{"uri":`, the URI as the caller wrote it, and one of
/// the suffixes: all callers share the suffixes, whatever form of the URI they sent.
#[derive(Debug)]
pub struct SerializedRead {
    /// For each content, the JSON that follows its `uri` value: `,"mimeType":…,"text":…}`.
    pub json_suffixes: Box<[Bytes]>,
    /// The contents as they are, for the HTTP twin and for tools.
    pub contents: Box<[Content]>,
    /// The SHA-256 of the contents' bytes, in hexadecimal. The strong ETag.
    pub content_hash: Arc<str>,
    /// The read set of the contents.
    pub read_set: Arc<ReadSet>,
    /// Whether the cache may keep it.
    pub cacheable: bool,
    /// Whether this address always returns these bytes.
    pub immutable: bool,
    /// A write that is committed with the read's audit event.
    pub side_effect: Option<SideEffect>,
}

impl SerializedRead {
    /// The estimated size in the cache.
    pub fn cached_bytes(&self) -> usize {
        let suffix_bytes: usize = self.json_suffixes.iter().map(Bytes::len).sum();
        let content_bytes: usize = self.contents.iter().map(|content| content.bytes().len()).sum();
        suffix_bytes + content_bytes + 64 * self.read_set.tag_count() + 256
    }

    /// The `contents` array of a reply to `requested`.
    pub fn contents_json(&self, requested: &str) -> Vec<u8> {
        let mut uri_json = Vec::new();
        write_json_string(&mut uri_json, requested);
        let mut json = Vec::with_capacity(self.contents_json_len(uri_json.len()));
        self.write_contents_json(&uri_json, &mut json);
        json
    }

    /// Appends the `contents` array of a reply. `uri_json` is the requested URI as a JSON string.
    pub fn write_contents_json(&self, uri_json: &[u8], out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, suffix) in self.json_suffixes.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(br#"{"uri":"#);
            out.extend_from_slice(uri_json);
            out.extend_from_slice(suffix);
        }
        out.push(b']');
    }

    /// The capacity that [`SerializedRead::write_contents_json`] needs for a URI of `uri_json_len` bytes.
    pub fn contents_json_len(&self, uri_json_len: usize) -> usize {
        self.json_suffixes.iter().map(|suffix| suffix.len() + uri_json_len + 8).sum::<usize>() + 2
    }
}

fn json_suffix(content: &Content) -> Bytes {
    // Text grows by its escapes, bytes by a third in base64.
    let mut json = Vec::with_capacity(content.bytes().len() * 5 / 4 + 64);
    json.extend_from_slice(br#","mimeType":"#);
    write_json_string(&mut json, &content.mime_type);
    match &content.body {
        Body::Text(text) => {
            json.extend_from_slice(br#","text":"#);
            write_json_string(&mut json, text);
        }
        Body::Blob(bytes) => {
            json.extend_from_slice(br#","blob":""#);
            json.extend_from_slice(BASE64.encode(bytes).as_bytes());
            json.push(b'"');
        }
    }
    json.push(b'}');
    json.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn contents_json_echoes_requested_uri() {
        let output = ReadOutput::new(Content::text("text/plain", "a \"b\"\n"), ReadSet::default());
        let serialized = output.serialize().unwrap();
        let parsed: Value = serde_json::from_slice(&serialized.contents_json("x://%41\"")).unwrap();
        assert_eq!(parsed, json!([{"uri": "x://%41\"", "mimeType": "text/plain", "text": "a \"b\"\n"}]));
        assert_eq!(*serialized.content_hash, canonical::sha256_hex(b"a \"b\"\n"));
    }

    #[test]
    fn blob_is_padded_base64() {
        let content =
            Content { mime_type: "image/png".into(), body: Body::Blob(Bytes::from_static(&[0, 255])) };
        let serialized = ReadOutput::new(content, ReadSet::default()).serialize().unwrap();
        let parsed: Value = serde_json::from_slice(&serialized.contents_json("x://y")).unwrap();
        assert_eq!(parsed[0]["blob"], "AP8=");
    }
}
