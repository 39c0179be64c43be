//! Page cursors: opaque to the caller, validated when they are sent back.
//!
//! A cursor holds the key after which the next page starts. It grants nothing, because each page is
//! authorized again. So it has no signature, only a checksum that ties it to one list. The name of a list
//! includes everything that makes it a different list, such as its filter and its tenant.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use crate::{Error, Result, canonical};

/// A cursor of `list` that continues after `key`.
pub fn encode(list: &str, key: &str) -> String {
    BASE64.encode(format!("{}{key}", checksum(list, key)))
}

/// The key in a cursor of `list`. Fails on a cursor of another list.
pub fn decode(list: &str, cursor: &str) -> Result<String> {
    BASE64
        .decode(cursor)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| {
            let (prefix, key) = text.split_at_checked(8)?;
            (prefix == checksum(list, key)).then(|| key.to_owned())
        })
        .ok_or_else(|| {
            Error::bad_input("The cursor does not belong to this list")
                .hint("Start again without a cursor")
                .with_code("INVALID_CURSOR")
        })
}

fn checksum(list: &str, key: &str) -> String {
    let mut digest = canonical::sha256_hex(format!("{list}\n{key}").as_bytes());
    digest.truncate(8);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_rejects_cursor_of_another_list() {
        let cursor = encode("resources", "bkend\norg_1");
        assert_eq!(decode("resources", &cursor).unwrap(), "bkend\norg_1");
        for (list, cursor) in
            [("tools", cursor.as_str()), ("resources", "garbage"), ("resources", ""), ("resources", "é")]
        {
            assert_eq!(decode(list, cursor).unwrap_err().code(), "INVALID_CURSOR");
        }
    }
}
