//! Lines out of a pipe, each within its limit.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::limits;

/// Reads lines.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    longest: usize,
}

/// What stood between two line ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// The line, without its end.
    Text(&'a [u8]),
    /// A line that was too long, and is gone.
    TooLong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `longest` bytes.
    pub(crate) fn new(reader: R, longest: usize) -> Lines<R> {
        Lines {
            reader: BufReader::with_capacity(limits::PIPE_BUFFER_BYTES, reader),
            line: Vec::new(),
            longest,
        }
    }

    /// The next line that is not blank; `None` at the end.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<Line<'_>>> {
        loop {
            match self.read().await? {
                None => return Ok(None),
                Some(false) => return Ok(Some(Line::TooLong)),
                Some(true) if self.line.trim_ascii().is_empty() => {}
                Some(true) => return Ok(Some(Line::Text(self.line.trim_ascii()))),
            }
        }
    }

    /// Reads to the next line end. False when the line was too long to keep.
    async fn read(&mut self) -> std::io::Result<Option<bool>> {
        self.line.clear();
        let mut kept = true;
        let mut anything = false;
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(anything.then_some(kept));
            }
            anything = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            if self.line.len() + piece.len() > self.longest {
                kept = false;
                // Give the memory back at once; the rest of the line is only skipped.
                self.line = Vec::new();
            }
            if kept {
                self.line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(kept));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn skips_blank_and_too_long_lines_and_goes_on() {
        let text = b"one\r\n\n  \n12345678901\ntwo\nlast".as_slice();
        let mut lines = Lines::new(text, 10);
        assert_eq!(lines.next().await.unwrap(), Some(Line::Text(b"one")));
        assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next().await.unwrap(), Some(Line::Text(b"two")));
        assert_eq!(lines.next().await.unwrap(), Some(Line::Text(b"last")));
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_long_line_may_come_in_many_pieces() {
        let text = [b"x".repeat(3 * limits::PIPE_BUFFER_BYTES), b"\nok\n".to_vec()].concat();
        let mut lines = Lines::new(text.as_slice(), limits::PIPE_BUFFER_BYTES * 2);
        assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next().await.unwrap(), Some(Line::Text(b"ok")));
    }
}
