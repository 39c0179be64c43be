//! Reads the lines of a text file, each of bounded length, with their numbers.

use std::io::{BufRead, Read};

use quad_core::Result;

use super::limits::LINE_BYTES;
use super::parse_error;

/// Reads line by line.
pub(crate) struct LineReader<R> {
    file: R,
    buffer: Vec<u8>,
    number: u64,
}

/// A line, or why it was rejected.
pub(crate) enum Line<'a> {
    Text(&'a str),
    Invalid(&'static str),
}

impl<R: BufRead> LineReader<R> {
    pub fn new(file: R) -> LineReader<R> {
        LineReader { file, buffer: Vec::new(), number: 0 }
    }

    /// The number of the last line read, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its line break, if there is one.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        self.buffer.clear();
        let mut bounded = self.file.by_ref().take(LINE_BYTES as u64 + 1);
        let read = bounded.read_until(b'\n', &mut self.buffer).map_err(parse_error::io_error)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if read > LINE_BYTES {
            self.skip_rest()?;
            return Ok(Some(Line::Invalid("it is longer than 1 MiB")));
        }
        Ok(Some(match std::str::from_utf8(&self.buffer) {
            Ok(text) => Line::Text(text.trim_end_matches('\r')),
            Err(_) => Line::Invalid("it is not UTF-8"),
        }))
    }

    fn skip_rest(&mut self) -> Result<()> {
        loop {
            let chunk = self.file.fill_buf().map_err(parse_error::io_error)?;
            if chunk.is_empty() {
                return Ok(());
            }
            match chunk.iter().position(|byte| *byte == b'\n') {
                Some(index) => {
                    self.file.consume(index + 1);
                    return Ok(());
                }
                None => {
                    let length = chunk.len();
                    self.file.consume(length);
                }
            }
        }
    }
}
