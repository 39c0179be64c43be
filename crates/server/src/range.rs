//! The `Range` header: one range of bytes, or none.

/// The part of contents that a `Range` header selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// Everything: there is no range, or several, or an invalid one, which HTTP requires to ignore.
    All,
    /// The bytes from `first` to `last`, both included.
    Part {
        /// The first byte.
        first: usize,
        /// The last byte.
        last: usize,
    },
    /// The range begins beyond the end.
    Unsatisfiable,
}

impl Range {
    /// Parses a `Range` header for contents of `length` bytes.
    pub(crate) fn parse(header: Option<&str>, length: usize) -> Range {
        let Some(spec) = header.and_then(|header| header.trim().strip_prefix("bytes=")) else {
            return Range::All;
        };
        let Some((first, last)) = spec.trim().split_once('-') else { return Range::All };
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // A number that overflows is beyond the end.
            plain.then(|| text.parse::<usize>().unwrap_or(usize::MAX))
        };
        match (first.is_empty(), number(first), last.is_empty(), number(last)) {
            (true, _, false, Some(0)) => Range::Unsatisfiable,
            (true, _, false, Some(_)) if length == 0 => Range::Unsatisfiable,
            (true, _, false, Some(tail)) => {
                Range::Part { first: length.saturating_sub(tail), last: length - 1 }
            }
            (false, Some(first), true, _) if first < length => Range::Part { first, last: length - 1 },
            (false, Some(first), false, Some(last)) if last < first => Range::All,
            (false, Some(first), false, Some(last)) if first < length => {
                Range::Part { first, last: last.min(length - 1) }
            }
            (false, Some(_), true, _) | (false, Some(_), false, Some(_)) => Range::Unsatisfiable,
            _ => Range::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_single_range_and_ignores_invalid_ones() {
        let check = |header: &str, length: usize, expect: Range| {
            assert_eq!(Range::parse(Some(header), length), expect, "{header} of {length}");
        };
        let part = |first, last| Range::Part { first, last };
        check("bytes=0-3", 10, part(0, 3));
        check("bytes=5-", 10, part(5, 9));
        check("bytes=-4", 10, part(6, 9));
        check("bytes=-40", 10, part(0, 9));
        check("bytes=0-99999999999999999999999", 10, part(0, 9));
        check("bytes=10-", 10, Range::Unsatisfiable);
        check("bytes=10-12", 10, Range::Unsatisfiable);
        check("bytes=-0", 10, Range::Unsatisfiable);
        check("bytes=0-", 0, Range::Unsatisfiable);
        check("bytes=-1", 0, Range::Unsatisfiable);
        for ignored in
            ["bytes=3-1", "bytes=0-1,4-5", "items=0-1", "bytes=a-b", "bytes=-", "bytes=", "bytes=+1-2"]
        {
            check(ignored, 10, Range::All);
        }
        assert_eq!(Range::parse(None, 10), Range::All);
    }
}
