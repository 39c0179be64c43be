//! `quad markdoc`: the parser.

use std::path::PathBuf;

use clap::Subcommand;

/// `quad markdoc …`
#[derive(Debug, Subcommand)]
pub enum MarkdocCommand {
    /// Print the tree of a document as JSON
    ///
    /// Errors in the document are on the nodes of the tree. Parts of the document that are not in the tree are reported
    /// on standard error.
    Ast {
        /// The file ("-" reads standard input)
        file: PathBuf,
    },
}
