//! Reads lines of limited length.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::limits;

/// Reads lines of limited length. Skips blank lines.
pub(crate) struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    max_len: usize,
}

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// The line, without surrounding whitespace.
    Text(&'a [u8]),
    /// A line that was too long and has been skipped.
    TooLong,
}

/// How far a line was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadLine {
    Complete,
    TooLong,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `max_len` bytes.
    pub(crate) fn new(reader: R, max_len: usize) -> LineReader<R> {
        LineReader {
            reader: BufReader::with_capacity(limits::PIPE_BUFFER_BYTES, reader),
            line: Vec::new(),
            max_len,
        }
    }

    /// The next line that is not blank; `None` at the end.
    pub(crate) async fn next_line(&mut self) -> std::io::Result<Option<Line<'_>>> {
        loop {
            match self.read_line().await? {
                None => return Ok(None),
                Some(ReadLine::TooLong) => return Ok(Some(Line::TooLong)),
                Some(ReadLine::Complete) if self.line.trim_ascii().is_empty() => {}
                Some(ReadLine::Complete) => return Ok(Some(Line::Text(self.line.trim_ascii()))),
            }
        }
    }

    /// Reads into `self.line`, up to the next line end; `None` at the end of the input.
    async fn read_line(&mut self) -> std::io::Result<Option<ReadLine>> {
        self.line.clear();
        let mut read = ReadLine::Complete;
        let mut has_data = false;
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(has_data.then_some(read));
            }
            has_data = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            if self.line.len() + piece.len() > self.max_len {
                read = ReadLine::TooLong;
                // Frees the memory at once; the rest of the line is skipped.
                self.line = Vec::new();
            }
            if read == ReadLine::Complete {
                self.line.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(read));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn skips_blank_lines_and_reports_too_long_lines() {
        let text = b"one\r\n\n  \n12345678901\ntwo\nlast".as_slice();
        let mut lines = LineReader::new(text, 10);
        assert_eq!(lines.next_line().await.unwrap(), Some(Line::Text(b"one")));
        assert_eq!(lines.next_line().await.unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next_line().await.unwrap(), Some(Line::Text(b"two")));
        assert_eq!(lines.next_line().await.unwrap(), Some(Line::Text(b"last")));
        assert_eq!(lines.next_line().await.unwrap(), None);
    }

    #[tokio::test]
    async fn too_long_line_across_buffers_is_reported_once() {
        let text = [b"x".repeat(3 * limits::PIPE_BUFFER_BYTES), b"\nok\n".to_vec()].concat();
        let mut lines = LineReader::new(text.as_slice(), limits::PIPE_BUFFER_BYTES * 2);
        assert_eq!(lines.next_line().await.unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next_line().await.unwrap(), Some(Line::Text(b"ok")));
    }
}
