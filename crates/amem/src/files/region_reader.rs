//! Reads one region of a file from front to back with few system calls, while other regions are read in between.

use std::io::{Read, Seek, SeekFrom};

use quad_core::Result;

use super::limits::READ_BUFFER_BYTES;
use super::parse_error;

/// A buffered region of a file.
#[derive(Default)]
pub(crate) struct RegionReader {
    start: u64,
    bytes: Vec<u8>,
}

impl RegionReader {
    /// `length` bytes from `offset` of a file of `file_bytes`. Uses no more memory than the buffer size or
    /// `length`, and no more than the rest of the file.
    pub fn read_range<R: Read + Seek>(
        &mut self,
        file: &mut R,
        file_bytes: u64,
        offset: u64,
        length: usize,
    ) -> Result<&[u8]> {
        let end = offset.checked_add(length as u64).filter(|end| *end <= file_bytes).ok_or_else(|| {
            parse_error::at_byte(
                offset,
                format!("{length} bytes should follow, but the file ends at byte {file_bytes}"),
            )
        })?;
        if offset < self.start || end > self.start + self.bytes.len() as u64 {
            let buffer_bytes =
                length.max(READ_BUFFER_BYTES).min(usize::try_from(file_bytes - offset).unwrap_or(usize::MAX));
            self.bytes.resize(buffer_bytes, 0);
            self.start = offset;
            let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut self.bytes));
            if let Err(error) = read {
                self.bytes.clear();
                return Err(parse_error::at_byte(offset, format!("the file cannot be read here: {error}")));
            }
        }
        let from = (offset - self.start) as usize;
        self.bytes
            .get(from..from + length)
            .ok_or_else(|| parse_error::at_byte(offset, "the file changed while it was read"))
    }
}

/// Reads numbers of a record by their offsets.
pub(crate) struct RecordView<'a>(pub &'a [u8]);

impl RecordView<'_> {
    fn array<const N: usize>(&self, offset: usize) -> [u8; N] {
        // Records have a fixed length, and the offsets are constants within it.
        self.0.get(offset..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
    }

    pub fn u8(&self, offset: usize) -> u8 {
        u8::from_le_bytes(self.array(offset))
    }

    pub fn u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.array(offset))
    }

    pub fn u64(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.array(offset))
    }

    pub fn f32(&self, offset: usize) -> f32 {
        f32::from_le_bytes(self.array(offset))
    }
}
