//! A SHA-256 hash, written as 64 lowercase hexadecimal digits.

use quad_core::canonical;
use ring::digest::{Context, SHA256, digest};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Computes the hash of `bytes`.
    pub fn compute(bytes: &[u8]) -> Hash {
        Hash::from_slice(digest(&SHA256, bytes).as_ref()).unwrap_or(Hash([0; 32]))
    }

    /// Computes the hash of the parts, one after the other.
    pub fn compute_parts(parts: &[&[u8]]) -> Hash {
        let mut context = Context::new(&SHA256);
        parts.iter().for_each(|part| context.update(part));
        Hash::from_slice(context.finish().as_ref()).unwrap_or(Hash([0; 32]))
    }

    /// A hash from its 32 bytes.
    pub fn from_slice(bytes: &[u8]) -> Option<Hash> {
        bytes.try_into().ok().map(Hash)
    }

    /// Parses 64 lowercase hexadecimal digits.
    pub fn parse(text: &str) -> Option<Hash> {
        Hash::from_slice(&decode_hex(text)?)
    }

    /// Whether `text` is this hash in hexadecimal. Does not allocate, unlike a comparison of texts.
    pub fn is_written_as(&self, text: &str) -> bool {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let pairs = text.as_bytes().chunks_exact(2);
        text.len() == 64
            && self
                .0
                .iter()
                .zip(pairs)
                .all(|(byte, pair)| pair == [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&canonical::hex(&self.0))
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Hash::parse(&text).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
    }
}

/// Decodes lowercase hexadecimal digits. Uppercase is rejected: each value has one encoding.
pub(crate) fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_accepts_only_64_lowercase_hex_digits() {
        let hash = Hash::compute(b"");
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash.to_string(), text);
        assert_eq!(Hash::parse(text), Some(hash));
        assert!(hash.is_written_as(text) && !hash.is_written_as(&text.to_uppercase()));
        for other in ["", &text[..62], &format!("{text}00"), &text.replace("55", "56")] {
            assert!(!hash.is_written_as(other), "{other}");
        }
        assert_eq!(Hash::parse(&text.to_uppercase()), None);
        assert_eq!(Hash::parse(&text[1..]), None);
        assert_eq!(Hash::parse(&text[2..]), None);
    }
}
