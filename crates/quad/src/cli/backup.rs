//! `quad backup` and `quad restore`.

use std::path::PathBuf;

use clap::Args;

/// `quad backup`
#[derive(Args, Debug)]
pub struct Backup {
    /// The file; it must not exist
    pub file: PathBuf,
    /// Encrypt the signing key and the local tokens with the first line of this file, of 12 characters or more
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Leave out the signing key and the local tokens: keep signing.key in another place
    #[arg(long, conflicts_with = "passphrase_file")]
    pub without_key: bool,
}

/// `quad restore`
#[derive(Args, Debug)]
pub struct Restore {
    /// A file that `quad backup` made
    pub file: PathBuf,
    /// Decrypt the signing key and the local tokens with the first line of this file
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
    /// Restore without the signing key and the local tokens
    #[arg(long, conflicts_with = "passphrase_file")]
    pub without_key: bool,
}
