//! The path of a URI: segments, each decoded once.
//!
//! Dots are refused wherever they stand, also behind an escaped slash or a backslash, so that no
//! value that comes out of a path can climb a folder. Empty segments are only remembered: whether
//! one is wrong depends on the template (the value of a `{+x}` may begin with a slash).

use std::borrow::Cow;

use crate::encoding::decode;
use crate::error::AddressError;

/// A path, split.
#[derive(Debug)]
pub(crate) struct UriPath<'u> {
    raw: &'u str,
    offset: usize,
    /// The first segments, as many as the longest template can use.
    pub(crate) segments: Vec<PathSegment<'u>>,
    /// How many segments there are in all.
    pub(crate) segment_count: usize,
    /// Where the first empty segment is.
    pub(crate) first_empty_offset: Option<usize>,
}

/// One decoded segment.
#[derive(Debug)]
pub(crate) struct PathSegment<'u> {
    pub(crate) text: Cow<'u, str>,
    /// Where it begins in the URI.
    pub(crate) offset: usize,
}

impl<'u> UriPath<'u> {
    /// Splits `raw`, which begins at byte `offset` of the URI, and keeps the first `kept` segments:
    /// eight thousand slashes are counted, not collected.
    pub(crate) fn split(
        raw: &'u str,
        offset: usize,
        max_segments: usize,
    ) -> Result<UriPath<'u>, AddressError> {
        let mut path =
            UriPath { raw, offset, segments: Vec::new(), segment_count: 0, first_empty_offset: None };
        for (segment_offset, segment) in split_with_offsets(raw, offset) {
            let text = decode(segment, segment_offset)?;
            if has_dot_segment(&text) {
                return Err(AddressError::DotSegment { offset: segment_offset });
            }
            if text.is_empty() {
                path.first_empty_offset.get_or_insert(segment_offset);
            }
            if path.segment_count < max_segments {
                path.segments.push(PathSegment { text, offset: segment_offset });
            }
            path.segment_count += 1;
        }
        Ok(path)
    }

    /// Everything from segment `index` on, decoded as one text, and where it begins.
    pub(crate) fn decode_tail(&self, index: usize) -> Result<(Cow<'u, str>, usize), AddressError> {
        let offset = self.tail_offset(index);
        Ok((decode(&self.raw[offset - self.offset..], offset)?, offset))
    }

    /// Where a tail that has an empty part has it; its first part may be empty. An empty part
    /// between escaped slashes is placed at the beginning of the tail.
    pub(crate) fn empty_part_offset(&self, index: usize) -> usize {
        let offset = self.tail_offset(index);
        let raw = &self.raw[offset - self.offset..];
        split_with_offsets(raw, offset)
            .skip(1)
            .find(|(_, segment)| segment.is_empty())
            .map_or(offset, |(segment_offset, _)| segment_offset)
    }

    fn tail_offset(&self, index: usize) -> usize {
        self.segments.get(index).map_or(self.offset + self.raw.len(), |segment| segment.offset)
    }
}

fn split_with_offsets(raw: &str, mut offset: usize) -> impl Iterator<Item = (usize, &str)> {
    raw.split('/').map(move |segment| {
        let start = offset;
        offset += segment.len() + 1;
        (start, segment)
    })
}

/// Whether a decoded text would climb or stay when read as a path, on any operating system.
pub(crate) fn has_dot_segment(text: &str) -> bool {
    text.contains('.') && text.split(['/', '\\']).any(|part| part == "." || part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_keeps_only_max_segments() {
        let path = UriPath::split("a/b%20c//d", 4, 2).unwrap();
        let segments: Vec<_> = path.segments.iter().map(|segment| (&*segment.text, segment.offset)).collect();
        assert_eq!(segments, [("a", 4), ("b c", 6)]);
        assert_eq!((path.segment_count, path.first_empty_offset), (4, Some(12)));
        assert_eq!(path.decode_tail(1).unwrap(), (Cow::Borrowed("b c//d"), 6));
        assert_eq!(path.empty_part_offset(1), 12);
    }

    #[test]
    fn split_rejects_dot_segments_in_any_encoding() {
        let check = |raw: &str, offset: usize| {
            let error = UriPath::split(raw, 0, 8).unwrap_err();
            assert_eq!(error, AddressError::DotSegment { offset }, "{raw}");
        };
        check("..", 0);
        check("a/./b", 2);
        check("a/%2e%2E", 2);
        check("a/x%2f..%2fy", 2);
        check("a/..%5cy", 2);
        check("a/..\\y", 2);
        assert!(UriPath::split("a/...", 0, 8).is_ok());
        assert!(UriPath::split("a/.b", 0, 8).is_ok());
    }
}
