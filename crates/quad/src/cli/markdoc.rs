//! `quad markdoc`: the parser.

use std::path::PathBuf;

use clap::Subcommand;

/// `quad markdoc …`
#[derive(Debug, Subcommand)]
pub enum MarkdocCommand {
    /// Print the tree of a document as JSON
    ///
    /// What is wrong with the document stands on the nodes of the tree. What is not in the tree, though it is in the document,
    /// is reported on standard error.
    Ast {
        /// The file ("-" reads standard input)
        file: PathBuf,
    },
}
