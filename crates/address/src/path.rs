//! The path of a URI: segments, each decoded once.
//!
//! `.` and `..` are rejected as segments, also after an escaped slash or a backslash, so that no value
//! from a path can leave a folder. Empty segments are only noted: whether one is an error depends on
//! the template (the value of a `{+x}` may begin with a slash).

use std::borrow::Cow;

use crate::encoding::decode;
use crate::error::AddressError;

/// A path, split into segments.
#[derive(Debug)]
pub(crate) struct UriPath<'u> {
    raw: &'u str,
    offset: usize,
    /// The first segments: as many as the longest template can use.
    pub(crate) segments: Vec<PathSegment<'u>>,
    /// The number of all segments.
    pub(crate) segment_count: usize,
    /// The offset of the first empty segment.
    pub(crate) first_empty_offset: Option<usize>,
}

/// One decoded segment.
#[derive(Debug)]
pub(crate) struct PathSegment<'u> {
    pub(crate) text: Cow<'u, str>,
    /// Its offset in the URI.
    pub(crate) offset: usize,
}

impl<'u> UriPath<'u> {
    /// Splits `raw`, which begins at byte `offset` of the URI. Keeps the first `max_segments` segments
    /// and counts the rest, so that thousands of slashes need no memory.
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

    /// The text from segment `index` to the end, decoded, and its offset in the URI.
    pub(crate) fn decode_tail(&self, index: usize) -> Result<(Cow<'u, str>, usize), AddressError> {
        let offset = self.tail_offset(index);
        Ok((decode(&self.raw[offset - self.offset..], offset)?, offset))
    }

    /// The offset of the empty part of a tail; the first part may be empty and is skipped. For an empty
    /// part between escaped slashes: the offset of the tail.
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

/// Whether a decoded text has a `.` or `..` part, with the path separators of any operating system.
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
