//! `quad markdoc …`: the parser alone, without a database.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;

use quad_core::{Error, Kind, Result};
use quad_markdoc::limits::SOURCE_BYTES_MAX;

use crate::cli::MarkdocCommand;
use crate::output;

/// Parses documents.
pub fn run(command: &MarkdocCommand) -> Result<()> {
    match command {
        MarkdocCommand::Ast { file } => print_ast(file),
    }
}

fn print_ast(file: &Path) -> Result<()> {
    let is_standard_input = file == Path::new("-");
    let name = if is_standard_input { "standard input".to_owned() } else { file.display().to_string() };
    let bytes = if is_standard_input {
        read_limited(io::stdin().lock())
    } else {
        File::open(file).and_then(read_limited)
    };
    let bytes = bytes.map_err(|error| output::read_error(&name, &error))?;
    if bytes.len() > SOURCE_BYTES_MAX {
        let message = format!("{name} is too long: a document has at most {SOURCE_BYTES_MAX} bytes");
        return Err(Error::new(Kind::Limit, "DOCUMENT_TOO_LONG", message).hint("Split the document"));
    }
    let source = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::bad_input(format!("{name} is not UTF-8 at byte {at}")).hint("Save the document as UTF-8 text")
    })?;
    let document = quad_markdoc::parse(&source).map_err(|error| {
        Error::new(Kind::Limit, "DOCUMENT_TOO_LONG", error.to_string()).hint("Split the document")
    })?;
    for warning in &document.warnings {
        let _ = writeln!(io::stderr(), "warning: {name}:{warning}");
    }
    let tree = serde_json::to_value(&document.root).map_err(Error::internal)?;
    output::print_json(&tree);
    Ok(())
}

/// Reads the largest document and one byte more, which tells that the source is too long.
fn read_limited(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(SOURCE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
