//! Where comments end: for each `<!--`, the `-->` that closes it, found once for a whole text.

/// All places of `-->` in one text.
pub(crate) struct CommentEnds {
    ends: Vec<CommentEnd>,
}

#[derive(Clone, Copy)]
pub(crate) struct CommentEnd {
    pub(crate) at: usize,
    /// Whether only blanks follow it on its line.
    pub(crate) ends_line: bool,
}

impl CommentEnds {
    pub(crate) fn new(text: &str) -> CommentEnds {
        let ends = text.match_indices("-->").map(|(at, close)| {
            let rest = text.get(at + close.len()..).unwrap_or("").trim_start_matches([' ', '\t']);
            CommentEnd { at, ends_line: rest.is_empty() || rest.starts_with('\n') }
        });
        CommentEnds { ends: ends.collect() }
    }

    /// The end of the comment that begins at `start`.
    pub(crate) fn of(&self, start: usize) -> Option<CommentEnd> {
        let body = start + "<!--".len();
        let index = self.ends.partition_point(|end| end.at < body);
        self.ends.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_end_closes() {
        let ends = CommentEnds::new("<!--> a --> b\n<!-- c --> \n");
        let of = |start: usize| ends.of(start).map(|end| (end.at, end.ends_line));
        assert_eq!(of(0), Some((8, false)));
        assert_eq!(of(14), Some((21, true)));
        assert_eq!(of(22), None);
    }
}
