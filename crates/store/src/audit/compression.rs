//! How the text of a block lies in the database: as it is while it is short, packed once it would not fit a page.
//!
//! The records of one commit are alike but for their hashes, so an eighth of the space is enough for a block of readings. What that
//! saves, since a block is written twice, into the log and into the file, is more than it costs to pack.

use crate::limits;

/// The text as it is stored: itself, or nothing and its packed form.
pub(crate) fn compress(text: &str) -> (&str, Option<Vec<u8>>) {
    if text.len() <= limits::BLOCK_UNCOMPRESSED_MAX {
        return (text, None);
    }
    ("", Some(lz4_flex::compress_prepend_size(text.as_bytes())))
}

/// The text of what is stored. Of a damaged block it is empty, and so no record that any check would take.
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
