//! What a read returns, before and after sealing.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;

use crate::json::write_text;
use crate::{Basis, Errand, Error, Json, Kind, Result, canonical, limits};

/// One piece of contents.
#[derive(Clone, Debug)]
pub struct Content {
    /// Its media type.
    pub mime_type: Cow<'static, str>,
    /// Its text or bytes.
    pub body: Body,
}

/// Text, or bytes that travel as base64.
#[derive(Clone, Debug)]
pub enum Body {
    /// UTF-8.
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

    /// JSON that has been written.
    pub fn written(json: Json) -> Content {
        Content { mime_type: Cow::Borrowed("application/json"), body: Body::Text(json.into_text()) }
    }

    /// Text of some media type.
    pub fn text(mime_type: &'static str, text: impl Into<String>) -> Content {
        Content { mime_type: Cow::Borrowed(mime_type), body: Body::Text(text.into()) }
    }

    /// The bytes themselves, not their base64.
    pub fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::Text(text) => text.as_bytes(),
            Body::Blob(bytes) => bytes,
        }
    }
}

/// What a scheme hands back for an address.
#[derive(Clone, Debug)]
pub struct Reading {
    /// One or more contents; never none, since a missing thing is an error.
    pub contents: Vec<Content>,
    /// What they rest on.
    pub basis: Basis,
    /// Whether the answer may be kept. False for what changes by being read.
    pub cacheable: bool,
    /// Whether this address will give the same bytes for ever.
    pub immutable: bool,
    /// What is to be written with the read's audit event. Only for what is not cacheable: a kept answer runs no errands.
    pub errand: Option<Errand>,
}

impl Reading {
    /// A cacheable reading of one content.
    pub fn new(content: Content, basis: Basis) -> Reading {
        Reading { contents: vec![content], basis, cacheable: true, immutable: false, errand: None }
    }

    /// Serialises, hashes and freezes.
    pub fn seal(self) -> Result<Arc<Sealed>> {
        let bytes: usize = self.contents.iter().map(|content| content.bytes().len()).sum();
        if bytes > limits::CONTENTS_BYTES {
            return Err(Error::new(
                Kind::Limit,
                "CONTENTS_TOO_LARGE",
                "The contents are too large for one read",
            )
            .hint("Read a narrower address, or page through it")
            .fact("limit_bytes", limits::CONTENTS_BYTES));
        }
        let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
        for content in &self.contents {
            digest.update(content.bytes());
        }
        let tails: Vec<Bytes> = self.contents.iter().map(tail).collect();
        Ok(Arc::new(Sealed {
            tails: tails.into(),
            contents: self.contents.into(),
            content_hash: canonical::hex(digest.finish().as_ref()).into(),
            basis: Arc::new(self.basis),
            cacheable: self.cacheable,
            immutable: self.immutable,
            errand: self.errand,
        }))
    }
}

/// A reading, serialised once. A reply is `{"uri":` + the requested string + one of the tails: the address is echoed as
/// the caller spelt it, and everything after it is shared between callers.
#[derive(Debug)]
pub struct Sealed {
    /// For each content, the JSON that follows its `uri` value: `,"mimeType":…,"text":…}`.
    pub tails: Box<[Bytes]>,
    /// The contents, for callers that want them raw.
    pub contents: Box<[Content]>,
    /// SHA-256 of the contents' bytes, in hexadecimal. The strong ETag.
    pub content_hash: Arc<str>,
    /// What it rests on.
    pub basis: Arc<Basis>,
    /// Whether it may be kept.
    pub cacheable: bool,
    /// Whether it never changes.
    pub immutable: bool,
    /// What is to be written with the read's audit event.
    pub errand: Option<Errand>,
}

impl Sealed {
    /// What it weighs in a cache.
    pub fn weight(&self) -> usize {
        let tails: usize = self.tails.iter().map(Bytes::len).sum();
        let contents: usize = self.contents.iter().map(|content| content.bytes().len()).sum();
        tails + contents + 64 * self.basis.tag_count() + 256
    }

    /// The `contents` array of a reply to `requested`.
    pub fn contents_json(&self, requested: &str) -> Vec<u8> {
        let mut uri = Vec::new();
        write_text(&mut uri, requested);
        let tails: usize = self.tails.iter().map(|tail| tail.len() + uri.len() + 8).sum();
        let mut json = Vec::with_capacity(tails + 2);
        json.push(b'[');
        for (index, tail) in self.tails.iter().enumerate() {
            if index > 0 {
                json.push(b',');
            }
            json.extend_from_slice(br#"{"uri":"#);
            json.extend_from_slice(&uri);
            json.extend_from_slice(tail);
        }
        json.push(b']');
        json
    }
}

fn tail(content: &Content) -> Bytes {
    // Text grows by what is escaped, bytes by a third.
    let mut json = Vec::with_capacity(content.bytes().len() * 5 / 4 + 64);
    json.extend_from_slice(br#","mimeType":"#);
    write_text(&mut json, &content.mime_type);
    match &content.body {
        Body::Text(text) => {
            json.extend_from_slice(br#","text":"#);
            write_text(&mut json, text);
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
    fn a_sealed_reading_echoes_the_requested_address() {
        let reading = Reading::new(Content::text("text/plain", "a \"b\"\n"), Basis::default());
        let sealed = reading.seal().unwrap();
        let parsed: Value = serde_json::from_slice(&sealed.contents_json("x://%41\"")).unwrap();
        assert_eq!(parsed, json!([{"uri": "x://%41\"", "mimeType": "text/plain", "text": "a \"b\"\n"}]));
        assert_eq!(*sealed.content_hash, canonical::sha256_hex(b"a \"b\"\n"));
    }

    #[test]
    fn bytes_travel_as_padded_base64() {
        let content =
            Content { mime_type: "image/png".into(), body: Body::Blob(Bytes::from_static(&[0, 255])) };
        let sealed = Reading::new(content, Basis::default()).seal().unwrap();
        let parsed: Value = serde_json::from_slice(&sealed.contents_json("x://y")).unwrap();
        assert_eq!(parsed[0]["blob"], "AP8=");
    }
}
