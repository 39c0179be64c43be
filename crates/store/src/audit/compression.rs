//! The stored form of a block: plain text while it is short, LZ4 when it would not fit a page.
//!
//! The records of one commit differ in little but their hashes, so a block of reads shrinks to an eighth. A block is
//! written twice, to the log and to the file; compressing it costs less than that writing.

use crate::limits;

/// The stored form of a text: itself, or an empty text and its compressed bytes.
pub(crate) fn compress(text: &str) -> (&str, Option<Vec<u8>>) {
    if text.len() <= limits::BLOCK_UNCOMPRESSED_MAX {
        return (text, None);
    }
    ("", Some(lz4_flex::compress_prepend_size(text.as_bytes())))
}

/// The text of a stored block. Empty for a damaged block, which fails every check of the chain.
pub(crate) fn decompress(text: &str, packed: Option<&[u8]>) -> String {
    let Some(packed) = packed else { return text.to_owned() };
    let decompressed = lz4_flex::block::uncompressed_size(packed)
        .ok()
        .filter(|(bytes, _)| *bytes <= limits::BLOCK_BYTES_MAX)
        .and_then(|(bytes, rest)| lz4_flex::decompress(rest, bytes).ok());
    decompressed.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_round_trips_and_shrinks_long_text() {
        let record = |number: usize| format!(r#"{{"action":"é","id":"evt_{number}","outcome":null}}"#);
        let short = record(1);
        assert_eq!(compress(&short), (short.as_str(), None));
        assert_eq!(decompress(&short, None), short);
        let long = (0..1_000).map(record).collect::<Vec<_>>().join("\n");
        let (text, packed) = compress(&long);
        let packed = packed.unwrap();
        assert!(text.is_empty() && packed.len() < long.len() / 3, "{} of {}", packed.len(), long.len());
        assert_eq!(decompress(text, Some(&packed)), long);
    }

    #[test]
    fn damaged_data_decompresses_to_empty_text() {
        let packed = compress(&"{}\n".repeat(10_000)).1.unwrap();
        let huge = [&u32::MAX.to_le_bytes(), &packed[4..]].concat();
        for damaged in [&[], &packed[..3], &packed[..packed.len() - 1], &huge[..]] {
            assert_eq!(decompress("", Some(damaged)), "");
        }
    }
}
