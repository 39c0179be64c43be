//! Errors about a file, with the place.

use quad_core::{Error, Kind};

/// The content is invalid at this byte.
pub(crate) fn at_byte(offset: u64, problem: impl std::fmt::Display) -> Error {
    Error::new(Kind::BadInput, "BAD_FILE", format!("Byte {offset}: {problem}"))
        .hint(
            "Check whether the file is complete and of a supported format; nothing after this byte was read",
        )
        .with_detail("offset", offset)
}

/// The content is invalid in this line.
pub(crate) fn at_line(line: u64, problem: impl std::fmt::Display) -> Error {
    Error::new(Kind::BadInput, "BAD_FILE", format!("Line {line}: {problem}"))
        .hint("Correct or remove the line; nothing after it was read")
        .with_detail("line", line)
}

/// The file cannot be read or written.
pub(crate) fn io_error(error: std::io::Error) -> Error {
    Error::new(Kind::BadInput, "FILE_ERROR", format!("The file cannot be used: {error}"))
        .hint("Check whether the disk has free space and no errors, then try again")
        .with_cause(error)
}
