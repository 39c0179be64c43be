//! A URI split into scheme, path and query, before routing.
//!
//! The checks here concern the whole string and take one pass each. After them, each part can be
//! decoded without further checks of its characters and escapes.

use crate::encoding::decode;
use crate::error::{AddressError, UriSyntaxError};
use crate::limits::{QUERY_KEYS_MAX, URI_BYTES_MAX};

/// The parts of a URI, still encoded, with their offsets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawUri<'u> {
    /// In lower case.
    pub(crate) scheme: String,
    /// Everything between `://` and `?`.
    pub(crate) path: &'u str,
    pub(crate) path_offset: usize,
    /// Everything after the first `?`. No query and an empty query are the same.
    pub(crate) query: &'u str,
    pub(crate) query_offset: usize,
}

impl<'u> RawUri<'u> {
    /// Checks length, characters and escapes, then splits.
    pub(crate) fn split(uri: &'u str) -> Result<RawUri<'u>, AddressError> {
        if uri.len() > URI_BYTES_MAX {
            return Err(AddressError::TooLong { bytes: uri.len(), max: URI_BYTES_MAX });
        }
        for (offset, character) in uri.char_indices() {
            if character.is_control() {
                return Err(AddressError::ControlCharacter { offset });
            }
            if character == ' ' {
                return Err(malformed(UriSyntaxError::Space { offset }));
            }
        }
        decode(uri, 0)?;

        if uri.is_empty() {
            return Err(malformed(UriSyntaxError::Empty));
        }
        let (scheme, rest) = uri.split_once("://").ok_or(malformed(UriSyntaxError::NoScheme))?;
        if !is_scheme(scheme) {
            return Err(malformed(UriSyntaxError::BadScheme));
        }
        if rest.contains('#') {
            return Err(AddressError::Fragment);
        }
        let path_offset = scheme.len() + "://".len();
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if path.split('/').next().is_some_and(|first| first.contains('@')) {
            return Err(AddressError::UserInfo);
        }
        if let Some(position) = path.find(['{', '}']) {
            return Err(malformed(UriSyntaxError::Brace { offset: path_offset + position }));
        }
        Ok(RawUri {
            scheme: scheme.to_ascii_lowercase(),
            path,
            path_offset,
            query,
            query_offset: uri.len() - query.len(),
        })
    }

    /// The query's keys and values, decoded, in the order sent. Skips empty pairs, as in `a=1&&b=2`. A
    /// key without `=` has an empty value.
    pub(crate) fn query_pairs(&self) -> Result<Vec<(String, String)>, AddressError> {
        let mut pairs = Vec::new();
        let mut offset = self.query_offset;
        for pair in self.query.split('&') {
            if !pair.is_empty() {
                if pairs.len() == QUERY_KEYS_MAX {
                    return Err(AddressError::TooManyKeys { max: QUERY_KEYS_MAX });
                }
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                let value_offset = offset + pair.len() - value.len();
                pairs.push((decode(key, offset)?.into_owned(), decode(value, value_offset)?.into_owned()));
            }
            offset += pair.len() + 1;
        }
        Ok(pairs)
    }
}

/// RFC 3986: a letter, then letters, digits, `+`, `-` and `.`.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

fn malformed(reason: UriSyntaxError) -> AddressError {
    AddressError::NotAUri { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_uses_first_separators() {
        let uri = RawUri::split("Amem://node/a:b?q=x?y&z").unwrap();
        assert_eq!(uri.scheme, "amem");
        assert_eq!((uri.path, uri.path_offset), ("node/a:b", 7));
        assert_eq!((uri.query, uri.query_offset), ("q=x?y&z", 16));
        let pairs = [("q", "x?y"), ("z", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(uri.query_pairs().unwrap(), pairs);
        assert_eq!(RawUri::split("a://b?").unwrap().query_pairs().unwrap(), []);
    }

    #[test]
    fn plus_in_query_is_not_a_space() {
        let uri = RawUri::split("a://b?&q=c++%20%2B&&").unwrap();
        assert_eq!(uri.query_pairs().unwrap(), [("q".to_owned(), "c++ +".to_owned())]);
    }

    #[test]
    fn split_rejects_malformed_uris() {
        let check = |uri: &str, expect: AddressError| assert_eq!(RawUri::split(uri), Err(expect), "{uri:?}");
        check("", malformed(UriSyntaxError::Empty));
        check("amem:node", malformed(UriSyntaxError::NoScheme));
        check("://node", malformed(UriSyntaxError::BadScheme));
        check("1a://node", malformed(UriSyntaxError::BadScheme));
        check("a/b://node", malformed(UriSyntaxError::BadScheme));
        check("a://b c", malformed(UriSyntaxError::Space { offset: 5 }));
        check("a://b/{id}", malformed(UriSyntaxError::Brace { offset: 6 }));
        check("a://b\u{0}", AddressError::ControlCharacter { offset: 5 });
        check("a://b\u{85}", AddressError::ControlCharacter { offset: 5 });
        check("a://b#c", AddressError::Fragment);
        check("a://me@b/c", AddressError::UserInfo);
        // Order: length before characters, characters before escapes, escapes before structure.
        check(&"\u{0}".repeat(9000), AddressError::TooLong { bytes: 9000, max: URI_BYTES_MAX });
        check("%zz\u{0}", AddressError::ControlCharacter { offset: 3 });
        check("%zz", AddressError::BadEscape { offset: 0 });
    }
}
