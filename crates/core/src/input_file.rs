//! Files that a command reads: their kind and size are checked first, and reads are bounded.
//!
//! A pipe or a device has no size: reading a pipe without a writer never ends, and `/dev/zero` fills the memory.

use std::fs::File;
use std::io::{BufRead, ErrorKind, Read};
use std::path::Path;

use crate::{Error, Kind, Result};

/// Opens a regular file and returns its size in bytes. Anything else is an error, and is not opened.
pub fn open(path: &Path) -> Result<(File, u64)> {
    let failed = |error: std::io::Error| read_error(path.display(), &error);
    // Before `open`, which waits for the writer of a pipe.
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(read_error(path.display(), &ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(Error::bad_input(format!("{} is a pipe or a device, not a file", path.display()))
            .hint("Write the data into a file first and name that file"));
    }
    let file = File::open(path).map_err(failed)?;
    Ok((file, metadata.len()))
}

/// Opens a regular file of at most `bytes_max` bytes.
pub fn open_bounded(path: &Path, bytes_max: u64) -> Result<(File, u64)> {
    let (file, bytes) = open(path)?;
    if bytes > bytes_max { Err(too_large(path.display(), bytes_max)) } else { Ok((file, bytes)) }
}

/// The content of a regular file of at most `bytes_max` bytes.
pub fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let (file, bytes) = open_bounded(path, bytes_max)?;
    read_source(file, path.display(), bytes, bytes_max)
}

/// Everything that a source such as standard input gives, if that is at most `bytes_max` bytes.
pub fn read_stream(source: impl Read, name: &str, bytes_max: u64) -> Result<Vec<u8>> {
    read_source(source, name, 0, bytes_max)
}

fn read_source(
    source: impl Read,
    name: impl std::fmt::Display,
    bytes: u64,
    bytes_max: u64,
) -> Result<Vec<u8>> {
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
    // A file that grows while it is read is cut off too.
    let read =
        source.take(bytes_max + 1).read_to_end(&mut content).map_err(|error| read_error(&name, &error))?;
    if read as u64 > bytes_max { Err(too_large(name, bytes_max)) } else { Ok(content) }
}

/// Content as text.
pub fn text(content: Vec<u8>, name: impl std::fmt::Display) -> Result<String> {
    String::from_utf8(content).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::bad_input(format!("{name} is not UTF-8 at byte {at}")).hint("Save the file as UTF-8 text")
    })
}

/// The lines of a text, without their line breaks. Of a line with more than `bytes_max` bytes the first
/// `bytes_max + 1` are returned, so that its reader sees that it is too long; no more of it is kept.
pub fn lines(source: impl BufRead, bytes_max: usize) -> impl Iterator<Item = std::io::Result<String>> {
    let mut source = source;
    std::iter::from_fn(move || next_line(&mut source, bytes_max).transpose())
}

fn next_line(source: &mut impl BufRead, bytes_max: usize) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    // Two bytes more, for the line break.
    if source.by_ref().take(bytes_max as u64 + 2).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let is_complete = line.last() == Some(&b'\n');
    if is_complete {
        line.pop();
        line.pop_if(|byte| *byte == b'\r');
    }
    if line.len() > bytes_max {
        line.truncate(bytes_max + 1);
        if !is_complete {
            source.skip_until(b'\n')?;
        }
        return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
    }
    String::from_utf8(line)
        .map(Some)
        .map_err(|_| std::io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

fn too_large(name: impl std::fmt::Display, bytes_max: u64) -> Error {
    Error::new(Kind::Limit, "FILE_TOO_LARGE", format!("{name} has more than {bytes_max} bytes"))
        .hint("Split the file")
        .with_detail("limit_bytes", bytes_max)
}

/// The error of a file that cannot be read.
pub fn read_error(file: impl std::fmt::Display, error: &std::io::Error) -> Error {
    let hint = match error.kind() {
        ErrorKind::NotFound => "Check the path; relative paths start in the working directory",
        ErrorKind::PermissionDenied => "Make the file readable for this user",
        ErrorKind::IsADirectory => "Name a file, not a folder",
        ErrorKind::InvalidData => "Save the file as UTF-8 text",
        _ => "Check the file and its folder",
    };
    Error::bad_input(format!("{file} cannot be read: {error}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipe_device_and_folder_are_rejected_without_reading() {
        for path in ["/dev/zero", "/dev/null", "/"] {
            let error = read(Path::new(path), u64::MAX - 1).unwrap_err();
            assert_eq!(error.kind(), Kind::BadInput, "{path}: {error}");
            assert!(error.hint_text().is_some(), "{path}");
        }
    }

    #[test]
    fn stream_is_read_up_to_its_limit() {
        let read = |bytes: &'static [u8]| read_stream(bytes, "standard input", 3);
        assert_eq!(read(b"abc").unwrap(), b"abc");
        assert_eq!(read(b"abcd").unwrap_err().code(), "FILE_TOO_LARGE");
        assert_eq!(read_stream(std::io::repeat(0), "it", 1 << 20).unwrap_err().code(), "FILE_TOO_LARGE");
    }

    #[test]
    fn long_line_is_cut_and_the_next_one_is_complete() {
        let split =
            |text: &'static str| -> Vec<String> { lines(text.as_bytes(), 3).map(Result::unwrap).collect() };
        assert_eq!(split("abc\r\nde\n\nf"), ["abc", "de", "", "f"]);
        assert_eq!(split("abcd\nabcdefgh\nxyz\n"), ["abcd", "abcd", "xyz"]);
        assert_eq!(split("abcd\r\nx"), ["abcd", "x"]);
        assert_eq!(split(""), [""; 0]);
        assert!(lines(&b"a\xff\n"[..], 3).next().unwrap().is_err());
        // A line without end does not fill the memory.
        let endless = std::io::BufReader::new(std::io::repeat(b'x').take(64 << 20));
        assert_eq!(lines(endless, 10).map(|line| line.unwrap().len()).collect::<Vec<_>>(), [11]);
    }
}
