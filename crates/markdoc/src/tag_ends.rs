//! Where tags end: for each `{%`, the `%}` that closes it.
//!
//! A `%}` within a string does not count, so the answer depends on every quote between the two. Looking for it anew from each
//! `{%` would take quadratic time on a text full of openings without an end; here one pass from the back answers for all of
//! them.

/// The ends of all tags that begin in one text.
pub(crate) struct TagEnds {
    marks: Vec<Mark>,
}

/// A byte that matters to the question.
struct Mark {
    at: u32,
    /// The end of a tag that reaches this place outside of a string.
    outside: Option<u32>,
    /// The end of a tag that reaches this place within a string.
    inside: Option<u32>,
}

impl TagEnds {
    /// Looks through `text` once.
    pub(crate) fn new(text: &str) -> TagEnds {
        let bytes = text.as_bytes();
        let is_close = |at: usize| bytes[at] == b'%' && bytes.get(at + 1) == Some(&b'}');
        let mut marks: Vec<Mark> = bytes
            .iter()
            .enumerate()
            .filter(|(at, byte)| matches!(byte, b'"' | b'\\') || is_close(*at))
            .map(|(at, _)| Mark { at: at as u32, outside: None, inside: None })
            .collect();
        let answer = |marks: &[Mark], index: usize| {
            marks.get(index).map_or((None, None), |mark| (mark.outside, mark.inside))
        };
        for index in (0..marks.len()).rev() {
            let at = marks[index].at;
            let (outside, inside) = answer(&marks, index + 1);
            let (outside, inside) = match bytes[at as usize] {
                b'"' => (inside, outside),
                // In a string a backslash takes the next character with it.
                b'\\' => {
                    let takes_a_mark = marks.get(index + 1).is_some_and(|next| next.at == at + 1);
                    let beyond = if takes_a_mark { answer(&marks, index + 2).1 } else { inside };
                    (outside, beyond)
                }
                _ => (Some(at), inside),
            };
            marks[index].outside = outside;
            marks[index].inside = inside;
        }
        TagEnds { marks }
    }

    /// The place of the `%}` that closes the tag which begins at `start`.
    pub(crate) fn of(&self, start: usize) -> Option<usize> {
        let index = self.marks.partition_point(|mark| (mark.at as usize) < start);
        self.marks.get(index)?.outside.map(|at| at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The question asked the slow way.
    fn scan(text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let (mut in_string, mut at) = (false, start);
        while at < bytes.len() {
            match (in_string, bytes[at]) {
                (true, b'\\') => at += 1,
                (_, b'"') => in_string = !in_string,
                (false, b'%') if bytes.get(at + 1) == Some(&b'}') => return Some(at),
                _ => {}
            }
            at += 1;
        }
        None
    }

    #[test]
    fn agrees_with_a_plain_scan() {
        let samples = [
            "{% a %}", "{%}", "{% \"%}\" %}", "{% \"\\\"%}\" %} %}", "{% \" {% a %}", "\\\"%}\\\\\"%}", "{% \\%} \"\\%}",
            "\"\"\\\"\\\\\"%}\"%}",
        ];
        for text in samples {
            let ends = TagEnds::new(text);
            for start in 0..=text.len() {
                assert_eq!(ends.of(start), scan(text, start), "{text:?} from {start}");
            }
        }
    }
}
