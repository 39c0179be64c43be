//! Verifies a chain: every hash link, the recomputed Merkle tree and every signature. Needs no database.
//!
//! The hash of an event covers all events before it. The signature of a checkpoint covers its events; the signature
//! of the last line covers the whole file. An attacker who has the signing key can write all of these again. A
//! trusted copy of the checkpoint file ([`TrustedCheckpoints`]) detects that too: with it, a chain that was
//! truncated, or signed again with another key, is rejected.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read as _};

use quad_core::{Error, Result};
use ring::digest::{Context, SHA256};
use serde::Deserialize;

use crate::chain_reader::ChainEntry;
use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::TrustedCheckpoints;
use crate::export_format::{self, ExportAnchor, Header, Trailer};
use crate::hash::Hash;
use crate::merkle::Frontier;
use crate::{chain_error, limits, tree_store};

/// The result of a successful verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The tenant of the chain.
    pub tenant: String,
    /// The first verified event. A signed anchor covers the events before it.
    pub first_sequence: u64,
    /// The last event.
    pub last_sequence: u64,
    /// The hash of the last event.
    pub last_hash: Option<Hash>,
    /// Checkpoints among the events that match them.
    pub checkpoints: u64,
    /// The last event that one of these checkpoints covers.
    pub covered_to: u64,
    /// Trusted checkpoints that match.
    pub trusted_matched: u64,
    /// Trusted checkpoints of events before the first; they cannot be compared.
    pub trusted_before_start: u64,
    /// The ids of the keys that signed.
    pub keys: BTreeSet<String>,
}

/// Verifies the chain of one tenant: one file, an archive and what follows it, or the stored chain.
pub struct Verifier {
    trusted: Option<TrustedCheckpoints>,
    /// The selected event, and its record once it was found.
    selection: Option<(EventSelector, Option<(u64, String)>)>,
    chain: Option<Chain>,
    keys: BTreeSet<String>,
}

/// The verified part of the chain.
struct Chain {
    tenant: String,
    first_sequence: u64,
    hash: Option<Hash>,
    frontier: Frontier,
    /// An event is held back until the next one is known: only then it is clear which of the two was changed.
    pending: Option<ChainEntry>,
    trusted: BTreeMap<u64, Checkpoint>,
    trusted_matched: u64,
    trusted_before_start: u64,
    last_checkpoint: Option<Hash>,
    checkpoints: u64,
    covered_to: u64,
}

/// Selects one event of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSelector {
    /// By its sequence.
    Sequence(u64),
    /// By its id.
    Id(String),
}

impl EventSelector {
    /// Whether the event with this sequence and id is selected.
    pub fn matches(&self, sequence: u64, id: &str) -> bool {
        match self {
            EventSelector::Sequence(selected) => *selected == sequence,
            EventSelector::Id(selected) => selected == id,
        }
    }
}

impl std::fmt::Display for EventSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EventSelector::Sequence(sequence) => sequence.fmt(f),
            EventSelector::Id(id) => f.write_str(id),
        }
    }
}

/// The position fields of a record.
#[derive(Deserialize)]
struct RecordHeader<'r> {
    #[serde(borrow)]
    id: Cow<'r, str>,
    #[serde(borrow)]
    tenant_id: Cow<'r, str>,
    #[serde(borrow)]
    prev_event_hash: Option<Cow<'r, str>>,
}

impl Verifier {
    /// Creates a verifier that accepts the keys in the chain, or only those of `trusted`.
    pub fn new(trusted: Option<TrustedCheckpoints>) -> Verifier {
        Verifier { trusted, selection: None, chain: None, keys: BTreeSet::new() }
    }

    /// Also keeps the record of one event.
    pub fn select(mut self, selector: EventSelector) -> Verifier {
        self.selection = Some((selector, None));
        self
    }

    /// The sequence and the record of the selected event, if it was found.
    pub fn take_selected(&mut self) -> Option<(u64, String)> {
        self.selection.as_mut()?.1.take()
    }

    /// Verifies an export or archive that continues what was verified before. `progress` gets the number of bytes
    /// read.
    pub fn verify_file(&mut self, source: impl BufRead, mut progress: impl FnMut(u64)) -> Result<()> {
        let mut lines =
            LineReader { source, line_number: 0, digest: Context::new(&SHA256), line: Vec::new() };
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
            let trusted =
                self.trusted.as_ref().map(|trusted| trusted.of_tenant(&header.tenant)).unwrap_or_default();
            self.chain = Some(Chain::new(header, trusted)?);
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
        if self.trusted.as_ref().is_some_and(|pins| !pins.has_key(&trailer.signature.public_key)) {
            return Err(unknown_key(chain_error::file(
                line,
                "is signed with a key that no trusted checkpoint has",
            )));
        }
        self.keys.insert(crate::signer::kid(&trailer.signature.public_key));
        Ok(())
    }

    /// Finishes the verification. No trusted checkpoint may cover more events.
    pub fn finish(mut self) -> Result<Report> {
        let last_checked = self.last_checked()?;
        let chain = chain_mut(&mut self.chain)?;
        if let Some((size, _)) = chain.trusted.iter().find(|(size, _)| **size > last_checked) {
            let reason = format!("is missing: a trusted checkpoint covers {size} events");
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
    if trusted.is_some_and(|pins| !pins.has_key(&checkpoint.signature.public_key)) {
        let size = checkpoint.statement.size;
        return Err(unknown_key(chain_error::checkpoint(
            size,
            "is signed with a key that no trusted checkpoint has",
        )));
    }
    Ok(())
}

fn unknown_key(error: Error) -> Error {
    error.hint("After a key rotation use a newer copy of the checkpoint file; otherwise the chain was signed again with another key")
}

fn chain_mut(chain: &mut Option<Chain>) -> Result<&mut Chain> {
    chain.as_mut().ok_or_else(|| Error::internal("nothing was checked"))
}

impl Chain {
    fn new(header: &Header, mut trusted: BTreeMap<u64, Checkpoint>) -> Result<Chain> {
        let (hash, frontier, previous) = match &header.anchor {
            None => (None, Frontier::default(), None),
            Some(ExportAnchor { checkpoint, frontier }) => {
                (Some(checkpoint.statement.event_hash), frontier.clone(), checkpoint.statement.previous)
            }
        };
        let last_sequence = frontier.size();
        let remaining = trusted.split_off(&last_sequence);
        let mut chain = Chain {
            tenant: header.tenant.clone(),
            first_sequence: last_sequence + 1,
            hash,
            frontier,
            pending: None,
            trusted: remaining,
            trusted_matched: 0,
            trusted_before_start: trusted.len() as u64,
            last_checkpoint: previous,
            checkpoints: 0,
            covered_to: last_sequence,
        };
        chain.compare_trusted()?;
        Ok(chain)
    }

    /// Verifies the pending event, if there is one.
    fn check_pending(
        &mut self,
        next: Option<&ChainEntry>,
        selection: &mut Option<(EventSelector, Option<(u64, String)>)>,
    ) -> Result<()> {
        let Some(entry) = self.pending.take() else { return Ok(()) };
        let expected = self.frontier.size() + 1;
        let Ok(header) = serde_json::from_str::<RecordHeader<'_>>(&entry.record) else {
            return Err(chain_error::event(expected, None, "cannot be read"));
        };
        let hash = Hash::compute(entry.record.as_bytes());
        if hash != entry.claimed_hash {
            return Err(match next.and_then(|next| tampered_successor(&entry, next)) {
                Some(id) => chain_error::event(expected + 1, Some(&id), "was changed after it was written"),
                None => chain_error::event(expected, Some(&header.id), "was changed after it was written"),
            });
        }
        let follows = header.prev_event_hash.as_deref() == self.hash.map(|hash| hash.to_string()).as_deref();
        if entry.sequence != expected {
            let (sequence, id) = (entry.sequence, &header.id);
            return Err(match follows {
                true => chain_error::event(expected, Some(id), &format!("has the sequence {sequence}")),
                false => {
                    let reason = format!("is missing: event {sequence} ({id}) is in its place");
                    chain_error::event(expected, None, &reason)
                }
            });
        }
        if !follows {
            return Err(chain_error::event(
                expected,
                Some(&header.id),
                "does not follow the event before it",
            ));
        }
        if header.tenant_id != self.tenant {
            return Err(chain_error::event(expected, Some(&header.id), "belongs to another tenant"));
        }
        self.hash = Some(hash);
        self.frontier.append(tree_store::event_leaf_hash(&hash), |_| {});
        if let Some((selector, matched)) = selection
            && selector.matches(expected, &header.id)
        {
            *matched = Some((expected, entry.record));
        }
        self.compare_trusted()
    }

    /// Compares the chain with the trusted checkpoint of this size, if there is one.
    fn compare_trusted(&mut self) -> Result<()> {
        let size = self.frontier.size();
        let Some(checkpoint) = self.trusted.get(&size) else { return Ok(()) };
        if checkpoint.statement.root != self.frontier.root() {
            let reason = "or an earlier event does not match a trusted checkpoint: the chain was rewritten";
            return Err(chain_error::event(size, None, reason));
        }
        self.trusted_matched += 1;
        Ok(())
    }
}

/// The id of `next` if `next` is the changed event: the claimed hash of `before` comes from it, and its own hash is
/// not what the event after it claims.
fn tampered_successor(before: &ChainEntry, next: &ChainEntry) -> Option<String> {
    let header = serde_json::from_str::<RecordHeader<'_>>(&next.record).ok()?;
    let made_the_claim = header.prev_event_hash.as_deref() == Some(before.claimed_hash.to_string().as_str());
    let is_changed = Hash::compute(next.record.as_bytes()) != next.claimed_hash;
    (made_the_claim && is_changed && next.sequence == before.sequence + 1).then(|| header.id.into_owned())
}

/// Reads the lines of a file with a limit on their length, and hashes all bytes.
struct LineReader<R> {
    source: R,
    line_number: u64,
    digest: Context,
    line: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    fn next_line(&mut self) -> Result<Option<&str>> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{TestExport, TestKey};

    fn verify(bytes: &[u8], trusted: Option<TrustedCheckpoints>) -> Result<Report> {
        let mut verifier = Verifier::new(trusted);
        verifier.verify_file(bytes, |_| {})?;
        verifier.finish()
    }

    fn broken_event(bytes: &[u8]) -> Option<u64> {
        let error = verify(bytes, None).unwrap_err();
        assert_eq!(error.code(), chain_error::AUDIT_BROKEN, "{error}");
        error.detail("sequence").and_then(serde_json::Value::as_u64)
    }

    fn trusted_from(export: &TestExport) -> TrustedCheckpoints {
        let lines: String = export.checkpoints.iter().map(|checkpoint| checkpoint.to_line() + "\n").collect();
        TrustedCheckpoints::read(lines.as_bytes()).unwrap()
    }

    /// The event of a line, in a file with header, events and checkpoints, and last line.
    fn event_sequence(line: &str) -> Option<u64> {
        export_format::parse_event(line).map(|entry| entry.sequence)
    }

    #[test]
    fn valid_export_verifies() {
        let export = TestExport::new(23, 5, &TestKey::new(1));
        let report = verify(export.text().as_bytes(), None).unwrap();
        assert_eq!((report.first_sequence, report.last_sequence), (1, 23));
        assert_eq!((report.checkpoints, report.covered_to, report.keys.len()), (5, 23, 1));
        let report = verify(export.text().as_bytes(), Some(trusted_from(&export))).unwrap();
        assert_eq!((report.trusted_matched, report.trusted_before_start), (5, 0));
        assert_eq!(
            verify(TestExport::new(0, 5, &TestKey::new(1)).text().as_bytes(), None).unwrap().last_sequence,
            0
        );
    }

    #[test]
    fn every_changed_byte_is_detected_in_its_event() {
        let text = TestExport::new(4, 2, &TestKey::new(1)).text();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let expected = event_sequence(line.trim_end());
            for at in offset..offset + line.len() {
                for other in [b'0', b'7', b'f', b'"', b' ', b'\n', b'}', 0xff] {
                    let mut changed = text.clone().into_bytes();
                    if changed[at] == other {
                        continue;
                    }
                    changed[at] = other;
                    let found = broken_event(&changed);
                    if let Some(expected) = expected {
                        assert_eq!(found, Some(expected), "byte {at} to {other} in {line}");
                    }
                }
            }
            offset += line.len();
        }
    }

    #[test]
    fn detects_dropped_checkpoint_and_changed_file_kind() {
        let text = TestExport::new(9, 4, &TestKey::new(1)).text();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let checkpoints: Vec<usize> =
            (0..lines.len()).filter(|place| lines[*place].starts_with("{\"checkpoint\"")).collect();
        assert_eq!(checkpoints.len(), 3);
        for place in checkpoints {
            let dropped = [&lines[..place], &lines[place + 1..]].concat().concat();
            assert!(verify(dropped.as_bytes(), None).is_err(), "without line {}", place + 1);
        }
        let other = text.replacen("\"export\"", "\"archive\"", 1);
        assert!(verify(other.as_bytes(), None).unwrap_err().message().contains("another hash"));
    }

    #[test]
    fn file_truncated_at_any_byte_is_rejected() {
        let text = TestExport::new(6, 4, &TestKey::new(1)).text();
        for end in 0..text.len() {
            assert!(verify(&text.as_bytes()[..end], None).is_err(), "cut after {end}");
        }
        assert!(verify(format!("{text}\n").as_bytes(), None).is_err());
        assert!(verify(format!("{text}{text}").as_bytes(), None).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn dropped_repeated_or_swapped_event_is_detected(
            events in 2usize..40,
            every in 1usize..9,
            a in any::<prop::sample::Index>(),
            b in any::<prop::sample::Index>(),
        ) {
            let text = TestExport::new(events, every, &TestKey::new(1)).text();
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let event_lines: Vec<usize> =
                (0..lines.len()).filter(|place| event_sequence(lines[*place].trim_end()).is_some()).collect();
            let (a, b) = (a.index(events), b.index(events));
            let sequence = |index: usize| Some(index as u64 + 1);

            let mut dropped = lines.clone();
            dropped.remove(event_lines[a]);
            prop_assert_eq!(broken_event(dropped.concat().as_bytes()), sequence(a));

            let mut repeated = lines.clone();
            repeated.insert(event_lines[a], lines[event_lines[a]]);
            prop_assert_eq!(broken_event(repeated.concat().as_bytes()), sequence(a + 1));

            if a != b {
                let mut swapped = lines.clone();
                swapped.swap(event_lines[a], event_lines[b]);
                prop_assert_eq!(broken_event(swapped.concat().as_bytes()), sequence(a.min(b)));
            }
        }

        #[test]
        fn any_changed_byte_is_detected(
            events in 1usize..20,
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let text = TestExport::new(events, 6, &TestKey::new(1)).text();
            let mut changed = text.clone().into_bytes();
            let at = at.index(changed.len());
            prop_assume!(changed[at] != byte);
            // Searched as bytes: the position may be within a multi-byte character.
            let line = changed[..at].iter().filter(|byte| **byte == b'\n').count();
            let line = text.split('\n').nth(line).unwrap_or_default();
            changed[at] = byte;
            let found = broken_event(&changed);
            if let Some(expected) = event_sequence(line) {
                prop_assert_eq!(found, Some(expected));
            }
        }
    }

    #[test]
    fn names_the_changed_event_when_its_claimed_hash_is_forged() {
        let mut export = TestExport::new(9, 3, &TestKey::new(1));
        // As after a change in the database: event 5 claims the hash of event 4, and event 5 was changed.
        let forged = Hash::compute(b"forged");
        let record = &export.entries[4].record;
        export.entries[4].record =
            record.replace(&export.entries[3].claimed_hash.to_string(), &forged.to_string());
        export.entries[3].claimed_hash = forged;
        export.sign_trailer(&TestKey::new(1));
        assert_eq!(broken_event(export.text().as_bytes()), Some(5));
    }

    #[test]
    fn trusted_checkpoints_detect_resigned_chain() {
        let (original, resigned) =
            (TestExport::new(12, 4, &TestKey::new(1)), TestExport::new(12, 4, &TestKey::new(2)));
        let text = resigned.text();
        assert!(verify(text.as_bytes(), None).is_ok(), "nothing in the file itself is wrong");
        let error = verify(text.as_bytes(), Some(trusted_from(&original))).unwrap_err();
        assert!(error.message().contains("key that no trusted checkpoint has"), "{error}");
        assert!(error.hint_text().is_some());
        // With our key but another history: only trusted checkpoints detect it.
        let mut rewritten = TestExport::with_changed_event(12, 4, &TestKey::new(1), 6);
        rewritten.sign_trailer(&TestKey::new(1));
        assert!(verify(rewritten.text().as_bytes(), None).is_ok());
        let error = verify(rewritten.text().as_bytes(), Some(trusted_from(&original))).unwrap_err();
        assert_eq!(error.detail("sequence"), Some(&8.into()), "{error}");
        assert!(error.message().contains("rewritten"), "{error}");
    }

    #[test]
    fn trusted_checkpoints_detect_removed_tail() {
        let key = TestKey::new(1);
        let (whole, shorter) = (TestExport::new(12, 4, &key), TestExport::new(9, 4, &key));
        assert!(verify(shorter.text().as_bytes(), None).is_ok());
        let error = verify(shorter.text().as_bytes(), Some(trusted_from(&whole))).unwrap_err();
        assert_eq!(error.detail("sequence"), Some(&10.into()));
    }

    #[test]
    fn rejects_wrong_unlinked_or_unsigned_checkpoints() {
        let key = TestKey::new(1);
        let check = |change: &dyn Fn(&mut Vec<Checkpoint>), expect: &str| {
            let mut export = TestExport::new(12, 4, &key);
            change(&mut export.checkpoints);
            export.sign_trailer(&key);
            let error = verify(export.text().as_bytes(), None).unwrap_err();
            assert!(error.message().contains(expect), "{error}");
        };
        let resign = |checkpoint: &mut Checkpoint| *checkpoint = checkpoint.statement.clone().sign(&key);
        check(&|all| all[1].statement.time = quad_core::Timestamp(5), "bad signature");
        check(
            &|all| {
                all[1].statement.root = Hash::compute(b"other");
                resign(&mut all[1]);
            },
            "does not agree",
        );
        check(
            &|all| {
                all[1].statement.previous = None;
                resign(&mut all[1]);
            },
            "does not follow",
        );
        check(
            &|all| {
                all[1].statement.tenant = "tnt_other".to_owned();
                resign(&mut all[1]);
            },
            "another tenant",
        );
    }

    #[test]
    fn export_verifies_alone_and_after_its_archive() {
        let key = TestKey::new(1);
        let whole = TestExport::new(20, 4, &key);
        let (archive, remainder) = whole.split_at(10, &key);
        let report = verify(remainder.text().as_bytes(), None).unwrap();
        assert_eq!((report.first_sequence, report.last_sequence), (11, 20));
        let report = verify(remainder.text().as_bytes(), Some(trusted_from(&whole))).unwrap();
        assert_eq!((report.trusted_matched, report.trusted_before_start), (3, 2));

        let verify_both = |first: &str, second: &str| {
            let third = (3, whole.entries[2].record.clone());
            let id = serde_json::from_str::<RecordHeader<'_>>(&third.1).unwrap().id.into_owned();
            for selector in [EventSelector::Sequence(3), EventSelector::Id(id)] {
                let mut verifier = Verifier::new(Some(trusted_from(&whole))).select(selector);
                verifier.verify_file(first.as_bytes(), |_| {})?;
                verifier.verify_file(second.as_bytes(), |_| {})?;
                assert_eq!(verifier.take_selected(), Some(third.clone()));
            }
            let mut verifier = Verifier::new(Some(trusted_from(&whole)));
            verifier.verify_file(first.as_bytes(), |_| {})?;
            verifier.verify_file(second.as_bytes(), |_| {})?;
            verifier.finish()
        };
        let report = verify_both(&archive.text(), &remainder.text()).unwrap();
        assert_eq!((report.first_sequence, report.last_sequence, report.trusted_matched), (1, 20, 5));
        assert!(verify_both(&remainder.text(), &archive.text()).is_err(), "the wrong way round");
        assert!(
            verify_both(&archive.text(), &whole.text()).is_err(),
            "the second does not begin where the first ends"
        );
        let (_, later) = whole.split_at(12, &key);
        assert!(verify_both(&archive.text(), &later.text()).is_err(), "a gap between the two");
        // An anchor of a tree that never existed.
        let mut forged_export = remainder;
        let anchor = forged_export.anchor.as_mut().unwrap();
        anchor.frontier = Frontier::from_hashes(10, vec![Hash::compute(b"a"), Hash::compute(b"b")]).unwrap();
        forged_export.sign_trailer(&key);
        assert!(verify(forged_export.text().as_bytes(), None).is_err());
    }
}
