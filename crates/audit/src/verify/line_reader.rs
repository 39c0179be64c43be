//! The lines of an export.

use std::io::{BufRead, Read as _};

use quad_core::{Error, Result};
use ring::digest::{Context, SHA256};

use crate::limits;

/// Reads the lines of a file with a limit on their length, and hashes all bytes.
pub(super) struct LineReader<R> {
    source: R,
    pub(super) line_number: u64,
    /// The SHA-256 of all bytes read so far.
    pub(super) digest: Context,
    line: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(source: R) -> LineReader<R> {
        LineReader { source, line_number: 0, digest: Context::new(&SHA256), line: Vec::new() }
    }

    pub(super) fn next_line(&mut self) -> Result<Option<&str>> {
        self.line.clear();
        let read = self.source.by_ref().take(limits::LINE_BYTES_MAX).read_until(b'\n', &mut self.line);
        if read.map_err(|error| Error::bad_input(format!("The file cannot be read: {error}")))? == 0 {
            return Ok(None);
        }
        self.line_number += 1;
        self.digest.update(&self.line);
        // An incomplete line, or one that is not UTF-8, is rejected like any unreadable line.
        let text = self.line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        Ok(Some(text.unwrap_or("")))
    }
}
