//! For each `<!--` the `-->` that closes it, from one pass over the text.

/// The positions of all `-->` in one text.
pub(crate) struct CommentCloseIndex {
    closes: Vec<CommentClose>,
}

#[derive(Clone, Copy)]
pub(crate) struct CommentClose {
    pub(crate) offset: usize,
    /// Whether only spaces and tabs follow it on its line.
    pub(crate) ends_line: bool,
}

impl CommentCloseIndex {
    pub(crate) fn new(text: &str) -> CommentCloseIndex {
        let closes = text.match_indices("-->").map(|(offset, close)| {
            let rest = text.get(offset + close.len()..).unwrap_or("").trim_start_matches([' ', '\t']);
            CommentClose { offset, ends_line: rest.is_empty() || rest.starts_with('\n') }
        });
        CommentCloseIndex { closes: closes.collect() }
    }

    /// The end of the comment that begins at `start`.
    pub(crate) fn close_of(&self, start: usize) -> Option<CommentClose> {
        let body = start + "<!--".len();
        let index = self.closes.partition_point(|close| close.offset < body);
        self.closes.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comment_closes_at_next_terminator() {
        let index = CommentCloseIndex::new("<!--> a --> b\n<!-- c --> \n");
        let close_of = |start: usize| index.close_of(start).map(|end| (end.offset, end.ends_line));
        assert_eq!(close_of(0), Some((8, false)));
        assert_eq!(close_of(14), Some((21, true)));
        assert_eq!(close_of(22), None);
    }
}
