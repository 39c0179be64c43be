//! Verifies a chain: every hash link, the recomputed Merkle tree and every signature. Needs no database.
//!
//! The hash of an event covers all events before it. The signature of a checkpoint covers its events; the signature
//! of the last line covers the whole file. An attacker who has the signing key can write all of these again. A
//! trusted copy of the checkpoint file ([`TrustedCheckpoints`]) detects that too: with it, a chain that was
//! truncated, or signed again with another key, is rejected.

mod chain;
mod line_reader;
mod report;
#[cfg(test)]
mod script_tests;
mod selector;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::BufRead;

use quad_core::{Error, Result};

use crate::chain_error;
use crate::chain_reader::ChainEntry;
use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::TrustedCheckpoints;
use crate::export_format::{self, ExportAnchor, Header, Trailer};
use crate::hash::Hash;
use crate::merkle::Frontier;
use chain::Chain;
use line_reader::LineReader;
use selector::Selection;

pub use report::Report;
pub use selector::EventSelector;

/// Verifies the chain of one tenant: one file, an archive and what follows it, or the stored chain.
pub struct Verifier {
    trusted: Option<TrustedCheckpoints>,
    selection: Option<Selection>,
    chain: Option<Chain>,
    keys: BTreeSet<String>,
}

impl Verifier {
    /// Creates a verifier that accepts the keys in the chain, or only those of `trusted`.
    pub fn new(trusted: Option<TrustedCheckpoints>) -> Verifier {
        Verifier { trusted, selection: None, chain: None, keys: BTreeSet::new() }
    }

    /// Also keeps the record of one event.
    pub fn select(mut self, selector: EventSelector) -> Verifier {
        self.selection = Some(Selection::new(selector));
        self
    }

    /// The sequence and the record of the selected event, if it was found.
    pub fn take_selected(&mut self) -> Option<(u64, String)> {
        self.selection.as_mut()?.take_found()
    }

    /// Verifies an export or archive that continues what was verified before. `progress` gets the number of bytes
    /// read.
    pub fn verify_file(&mut self, source: impl BufRead, mut progress: impl FnMut(u64)) -> Result<()> {
        let mut lines = LineReader::new(source);
        let Some(first) = lines.next_line()? else {
            return Err(chain_error::file(1, "is missing: the file is empty"));
        };
        let header = Header::parse(first).ok_or_else(|| {
            chain_error::file(1, "is not the first line of an export")
                .hint("Create one with `quad audit export FILE`")
        })?;
        self.begin_file(&header)?;
        loop {
            // The digest of the bytes before the last line: the last line contains it.
            let before = lines.digest.clone();
            let Some(line) = lines.next_line()? else {
                let last_checked = self.last_checked()?;
                return Err(chain_error::event(
                    last_checked + 1,
                    None,
                    "is missing: the file ends without its last line",
                ));
            };
            progress(line.len() as u64 + 1);
            if let Some(entry) = export_format::parse_event(line) {
                self.add_event(entry)?;
            } else if let Some(checkpoint) = export_format::parse_checkpoint(line) {
                self.add_checkpoint(&checkpoint)?;
            } else if let Some(trailer) = Trailer::parse(line) {
                let digest = Hash::from_slice(before.finish().as_ref());
                self.check_trailer(&trailer, digest, lines.line_number)?;
                break;
            } else {
                let last_checked = self.last_checked()?;
                let reason = format!("cannot be read: line {} is damaged", lines.line_number);
                return Err(chain_error::event(last_checked + 1, None, &reason));
            }
        }
        match lines.next_line()? {
            None => Ok(()),
            Some(_) => Err(chain_error::file(lines.line_number, "follows the last line of the export")),
        }
    }

    /// Starts a chain, or continues it after the previous file.
    pub(crate) fn begin_file(&mut self, header: &Header) -> Result<()> {
        if let Some(ExportAnchor { checkpoint, frontier }) = &header.anchor {
            let size = checkpoint.statement.size;
            self.check_signature(checkpoint, &header.tenant)?;
            if frontier.root() != checkpoint.statement.root {
                return Err(chain_error::checkpoint(
                    size,
                    "has another root than the right edge of its tree",
                ));
            }
        }
        let Some(chain) = &mut self.chain else {
            let origin = self.trusted.as_ref().map(TrustedCheckpoints::origin).unwrap_or_default();
            let trusted =
                self.trusted.as_ref().map(|trusted| trusted.of_tenant(&header.tenant)).unwrap_or_default();
            self.chain = Some(Chain::new(header, trusted, origin)?);
            return Ok(());
        };
        chain.check_pending(None, &mut self.selection)?;
        let last_checked = chain.frontier.size();
        let Some(anchor) = &header.anchor else {
            return Err(chain_error::file(
                1,
                "begins with the first event, but the previous file ended later",
            )
            .hint("Name archives in their order, oldest first, and the export last"));
        };
        let statement = &anchor.checkpoint.statement;
        if header.tenant != chain.tenant {
            return Err(chain_error::file(1, "belongs to another tenant than the previous file"));
        }
        if statement.size != last_checked || Some(statement.event_hash) != chain.hash {
            let reason = format!(
                "begins after event {}, but the previous file ended with {last_checked}",
                statement.size
            );
            return Err(chain_error::file(1, &reason)
                .hint("Name archives in their order, oldest first, and the export last"));
        }
        if anchor.frontier != chain.frontier {
            return Err(chain_error::checkpoint(
                statement.size,
                "has another tree than the events before it",
            ));
        }
        Ok(())
    }

    pub(crate) fn add_event(&mut self, entry: ChainEntry) -> Result<()> {
        let chain = chain_mut(&mut self.chain)?;
        chain.check_pending(Some(&entry), &mut self.selection)?;
        chain.pending = Some(entry);
        Ok(())
    }

    pub(crate) fn add_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let last_checked = self.last_checked()?;
        let chain = chain_mut(&mut self.chain)?;
        let (statement, size) = (&checkpoint.statement, checkpoint.statement.size);
        if size > last_checked {
            return Err(chain_error::event(
                last_checked + 1,
                None,
                &format!("is missing: a checkpoint covers {size} events"),
            ));
        }
        if size < last_checked {
            return Err(chain_error::checkpoint(size, &format!("follows event {last_checked}")));
        }
        if statement.root != chain.frontier.root() || Some(statement.event_hash) != chain.hash {
            return Err(chain_error::checkpoint(size, "does not agree with the events"));
        }
        if chain.last_checkpoint.is_some_and(|last| Some(last) != statement.previous) {
            return Err(chain_error::checkpoint(size, "does not follow the checkpoint before it"));
        }
        chain.last_checkpoint = Some(checkpoint.hash());
        chain.checkpoints += 1;
        chain.covered_to = size;
        let tenant = chain.tenant.clone();
        self.check_signature(checkpoint, &tenant)
    }

    /// Checks that the chain ends here.
    pub(crate) fn check_end(&mut self, sequence: u64, hash: Option<Hash>) -> Result<()> {
        let last_checked = self.last_checked()?;
        let chain = chain_mut(&mut self.chain)?;
        if sequence > last_checked {
            return Err(chain_error::event(
                last_checked + 1,
                None,
                &format!("is missing: the chain ends with event {sequence}"),
            ));
        }
        if sequence < last_checked || hash != chain.hash {
            return Err(chain_error::event(last_checked, None, "is not the one that the chain ends with"));
        }
        Ok(())
    }

    fn check_trailer(&mut self, trailer: &Trailer, digest: Option<Hash>, line: u64) -> Result<()> {
        self.check_end(trailer.sequence, trailer.event_hash)?;
        if digest != Some(trailer.file_sha256) {
            return Err(chain_error::file(line, "has another hash than the lines before it"));
        }
        if !trailer.has_valid_signature() {
            return Err(chain_error::file(line, "has a bad signature"));
        }
        if let Some(trusted) = &self.trusted
            && !trusted.has_key(&trailer.signature.public_key)
        {
            return Err(unknown_key(chain_error::file(line, &signed_with_unknown_key(trusted))));
        }
        self.keys.insert(crate::signer::kid(&trailer.signature.public_key));
        Ok(())
    }

    /// Finishes the verification. No trusted checkpoint may cover more events.
    pub fn finish(mut self) -> Result<Report> {
        let last_checked = self.last_checked()?;
        let chain = chain_mut(&mut self.chain)?;
        if let Some((size, _)) = chain.trusted.iter().find(|(size, _)| **size > last_checked) {
            let reason = format!("is missing: a {} covers {size} events", chain.origin.checkpoint());
            return Err(chain_error::event(last_checked + 1, None, &reason));
        }
        Ok(Report {
            tenant: chain.tenant.clone(),
            first_sequence: chain.first_sequence,
            last_sequence: last_checked,
            last_hash: chain.hash,
            checkpoints: chain.checkpoints,
            covered_to: chain.covered_to,
            trusted_matched: chain.trusted_matched,
            trusted_before_start: chain.trusted_before_start,
            keys: self.keys,
        })
    }

    /// The right edge of the tree over all verified events.
    pub(crate) fn frontier(&mut self) -> Result<Frontier> {
        self.last_checked()?;
        Ok(chain_mut(&mut self.chain)?.frontier.clone())
    }

    /// The sequence of the last event; verifies the pending one first.
    fn last_checked(&mut self) -> Result<u64> {
        let chain = chain_mut(&mut self.chain)?;
        chain.check_pending(None, &mut self.selection)?;
        Ok(chain.frontier.size())
    }

    fn check_signature(&mut self, checkpoint: &Checkpoint, tenant: &str) -> Result<()> {
        let size = checkpoint.statement.size;
        if checkpoint.statement.tenant != tenant {
            return Err(chain_error::checkpoint(size, "belongs to another tenant"));
        }
        if !checkpoint.has_valid_signature() {
            return Err(chain_error::checkpoint(size, "has a bad signature"));
        }
        check_key(self.trusted.as_ref(), checkpoint)?;
        self.keys.insert(checkpoint.kid());
        Ok(())
    }
}

/// With trusted checkpoints, only their keys are accepted.
pub(crate) fn check_key(trusted: Option<&TrustedCheckpoints>, checkpoint: &Checkpoint) -> Result<()> {
    if let Some(trusted) = trusted
        && !trusted.has_key(&checkpoint.signature.public_key)
    {
        let size = checkpoint.statement.size;
        return Err(unknown_key(chain_error::checkpoint(size, &signed_with_unknown_key(trusted))));
    }
    Ok(())
}

fn signed_with_unknown_key(trusted: &TrustedCheckpoints) -> String {
    format!("is signed with a key that no {} has", trusted.origin().checkpoint())
}

fn unknown_key(error: Error) -> Error {
    error.hint(
        "After a key rotation use a newer copy of the checkpoint file; otherwise the chain was signed again with \
         another key",
    )
}

fn chain_mut(chain: &mut Option<Chain>) -> Result<&mut Chain> {
    chain.as_mut().ok_or_else(|| Error::internal("nothing was checked"))
}
