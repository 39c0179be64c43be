//! For each `{%` the `%}` that closes it.
//!
//! A `%}` in a string does not count, so the answer depends on every quote in between. A search from each `{%` would
//! take quadratic time on a text with many unclosed tags. One pass from the end of the text answers it for all of them.

/// The ends of all tags in one text.
pub(crate) struct TagCloseIndex {
    markers: Vec<Marker>,
}

/// A byte that may change the answer.
struct Marker {
    offset: u32,
    /// The end of a tag that reaches this position outside a string.
    close_outside_string: Option<u32>,
    /// The end of a tag that reaches this position inside a string.
    close_in_string: Option<u32>,
}

impl TagCloseIndex {
    /// Indexes `text` in one pass.
    pub(crate) fn new(text: &str) -> TagCloseIndex {
        let bytes = text.as_bytes();
        let is_close = |pos: usize| bytes[pos] == b'%' && bytes.get(pos + 1) == Some(&b'}');
        let mut markers: Vec<Marker> = bytes
            .iter()
            .enumerate()
            .filter(|(pos, byte)| matches!(byte, b'"' | b'\\') || is_close(*pos))
            .map(|(pos, _)| Marker { offset: pos as u32, close_outside_string: None, close_in_string: None })
            .collect();
        let closes_from = |markers: &[Marker], index: usize| {
            markers
                .get(index)
                .map_or((None, None), |marker| (marker.close_outside_string, marker.close_in_string))
        };
        for index in (0..markers.len()).rev() {
            let pos = markers[index].offset;
            let (outside, inside) = closes_from(&markers, index + 1);
            let (outside, inside) = match bytes[pos as usize] {
                b'"' => (inside, outside),
                // In a string, a backslash escapes the next character.
                b'\\' => {
                    let escapes_marker = markers.get(index + 1).is_some_and(|next| next.offset == pos + 1);
                    let after_escape =
                        if escapes_marker { closes_from(&markers, index + 2).1 } else { inside };
                    (outside, after_escape)
                }
                _ => (Some(pos), inside),
            };
            markers[index].close_outside_string = outside;
            markers[index].close_in_string = inside;
        }
        TagCloseIndex { markers }
    }

    /// The position of the `%}` that closes the tag at `start`.
    pub(crate) fn close_of(&self, start: usize) -> Option<usize> {
        let index = self.markers.partition_point(|marker| (marker.offset as usize) < start);
        self.markers.get(index)?.close_outside_string.map(|offset| offset as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same answer by a scan from `start`.
    fn find_close_by_scan(text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let (mut in_string, mut pos) = (false, start);
        while pos < bytes.len() {
            match (in_string, bytes[pos]) {
                (true, b'\\') => pos += 1,
                (_, b'"') => in_string = !in_string,
                (false, b'%') if bytes.get(pos + 1) == Some(&b'}') => return Some(pos),
                _ => {}
            }
            pos += 1;
        }
        None
    }

    #[test]
    fn tag_close_index_agrees_with_linear_scan() {
        let samples = [
            "{% a %}",
            "{%}",
            "{% \"%}\" %}",
            "{% \"\\\"%}\" %} %}",
            "{% \" {% a %}",
            "\\\"%}\\\\\"%}",
            "{% \\%} \"\\%}",
            "\"\"\\\"\\\\\"%}\"%}",
        ];
        for text in samples {
            let index = TagCloseIndex::new(text);
            for start in 0..=text.len() {
                assert_eq!(index.close_of(start), find_close_by_scan(text, start), "{text:?} from {start}");
            }
        }
    }
}
