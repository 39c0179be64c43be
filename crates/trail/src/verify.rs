//! Checking a chain: link by link, with the tree recomputed and every signature checked. Needs no database.
//!
//! What vouches for what: an event's hash vouches for all events before it; a checkpoint's signature for the events that it
//! covers; the last line's for the whole file. Who can sign can write all of these anew, so what vouches for the keys is
//! a file of checkpoints that lay elsewhere ([`Pins`]): with it, a chain that was cut off, or signed again with another
//! key, is found out as well.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read as _};

use quad_core::{Error, Result};
use ring::digest::{Context, SHA256};
use serde::Deserialize;

use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::Pins;
use crate::hash::Hash;
use crate::lines::{self, Header, Last, Start};
use crate::merkle::Frontier;
use crate::stream::Entry;
use crate::{fault, limits, tree};

/// What was found in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whose chain.
    pub tenant: String,
    /// The first event that was checked; those before it are vouched for by a signed anchor.
    pub first_sequence: u64,
    /// The last event.
    pub last_sequence: u64,
    /// Its hash.
    pub last_hash: Option<Hash>,
    /// Checkpoints that stand among the events and agree with them.
    pub checkpoints: u64,
    /// The last event that one of them covers.
    pub covered_to: u64,
    /// Checkpoints from elsewhere that agree.
    pub pinned: u64,
    /// Checkpoints from elsewhere about events before the first; nothing here can agree or disagree with them.
    pub pinned_before: u64,
    /// The names of the keys that signed.
    pub keys: BTreeSet<String>,
}

/// Checks one tenant's chain: in one file, in an archive and what follows it, or straight from the database.
pub struct Verifier {
    pins: Option<Pins>,
    /// The event whose record is wanted, and what was found.
    wanted: Option<(Wanted, Option<(u64, String)>)>,
    chain: Option<Chain>,
    keys: BTreeSet<String>,
}

/// The chain as far as it has been checked.
struct Chain {
    tenant: String,
    first_sequence: u64,
    hash: Option<Hash>,
    frontier: Frontier,
    /// An event waits until the next is seen, since only that tells which of the two was changed.
    held: Option<Entry>,
    pins: BTreeMap<u64, Checkpoint>,
    pinned: u64,
    pinned_before: u64,
    last_checkpoint: Option<Hash>,
    checkpoints: u64,
    covered_to: u64,
}

/// One event of a chain, by what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Its place.
    Place(u64),
    /// Its id.
    Id(String),
}

impl Wanted {
    /// Whether it is the one with this place and this id.
    pub fn is(&self, sequence: u64, id: &str) -> bool {
        match self {
            Wanted::Place(place) => *place == sequence,
            Wanted::Id(wanted) => wanted == id,
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wanted::Place(place) => place.fmt(f),
            Wanted::Id(id) => f.write_str(id),
        }
    }
}

/// What a record says of its place.
#[derive(Deserialize)]
struct Link<'r> {
    #[serde(borrow)]
    id: Cow<'r, str>,
    #[serde(borrow)]
    tenant_id: Cow<'r, str>,
    #[serde(borrow)]
    prev_event_hash: Option<Cow<'r, str>>,
}

impl Verifier {
    /// A verifier that trusts the keys it finds, or those of `pins` alone.
    pub fn new(pins: Option<Pins>) -> Verifier {
        Verifier { pins, wanted: None, chain: None, keys: BTreeSet::new() }
    }

    /// Also keeps the record of one event.
    pub fn wanting(mut self, event: Wanted) -> Verifier {
        self.wanted = Some((event, None));
        self
    }

    /// The place and the record of the wanted event, if it has come by.
    pub fn wanted(&mut self) -> Option<(u64, String)> {
        self.wanted.as_mut()?.1.take()
    }

    /// Checks an export or an archive, which continues what was checked before. `progress` hears of the bytes read.
    pub fn file(&mut self, source: impl BufRead, mut progress: impl FnMut(u64)) -> Result<()> {
        let mut lines = Lines { source, number: 0, digest: Context::new(&SHA256), line: Vec::new() };
        let Some(first) = lines.next()? else { return Err(fault::file(1, "is missing: the file is empty")) };
        let header = Header::parse(first).ok_or_else(|| {
            fault::file(1, "is not the first line of an export").hint("`quad audit export FILE` makes one")
        })?;
        self.begin(&header)?;
        loop {
            // The bytes before the last line, as its hash is over them.
            let before = lines.digest.clone();
            let Some(line) = lines.next()? else {
                let place = self.place()?;
                return Err(fault::event(place + 1, None, "is missing: the file ends without its last line"));
            };
            progress(line.len() as u64 + 1);
            if let Some(entry) = lines::parse_event(line) {
                self.event(entry)?;
            } else if let Some(checkpoint) = lines::parse_checkpoint(line) {
                self.checkpoint(&checkpoint)?;
            } else if let Some(last) = Last::parse(line) {
                let digest = Hash::from_slice(before.finish().as_ref());
                self.last(&last, digest, lines.number)?;
                break;
            } else {
                let place = self.place()?;
                let reason = format!("cannot be read: line {} is damaged", lines.number);
                return Err(fault::event(place + 1, None, &reason));
            }
        }
        match lines.next()? {
            None => Ok(()),
            Some(_) => Err(fault::file(lines.number, "follows the last line of the export")),
        }
    }

    /// Begins, or goes on where the file before ended.
    pub(crate) fn begin(&mut self, header: &Header) -> Result<()> {
        if let Some(Start { checkpoint, frontier }) = &header.start {
            let size = checkpoint.statement.size;
            self.trust(checkpoint, &header.tenant)?;
            if frontier.root() != checkpoint.statement.root {
                return Err(fault::checkpoint(size, "has another root than its tree's right edge"));
            }
        }
        let Some(chain) = &mut self.chain else {
            let pins = self.pins.as_ref().map(|pins| pins.of(&header.tenant)).unwrap_or_default();
            self.chain = Some(Chain::new(header, pins)?);
            return Ok(());
        };
        chain.settle(None, &mut self.wanted)?;
        let place = chain.frontier.size();
        let Some(start) = &header.start else {
            return Err(fault::file(1, "begins with the first event, but the file before ended later")
                .hint("Name archives in their order, oldest first, and the export last"));
        };
        let statement = &start.checkpoint.statement;
        if header.tenant != chain.tenant {
            return Err(fault::file(1, "is about another tenant than the file before"));
        }
        if statement.size != place || Some(statement.event_hash) != chain.hash {
            let reason =
                format!("begins after event {}, but the file before ended with {place}", statement.size);
            return Err(fault::file(1, &reason)
                .hint("Name archives in their order, oldest first, and the export last"));
        }
        if start.frontier != chain.frontier {
            return Err(fault::checkpoint(statement.size, "has another tree than the events before it"));
        }
        Ok(())
    }

    pub(crate) fn event(&mut self, entry: Entry) -> Result<()> {
        let chain = started(&mut self.chain)?;
        chain.settle(Some(&entry), &mut self.wanted)?;
        chain.held = Some(entry);
        Ok(())
    }

    pub(crate) fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let place = self.place()?;
        let chain = started(&mut self.chain)?;
        let (statement, size) = (&checkpoint.statement, checkpoint.statement.size);
        if size > place {
            return Err(fault::event(
                place + 1,
                None,
                &format!("is missing: a checkpoint covers {size} events"),
            ));
        }
        if size < place {
            return Err(fault::checkpoint(size, &format!("stands behind event {place}")));
        }
        if statement.root != chain.frontier.root() || Some(statement.event_hash) != chain.hash {
            return Err(fault::checkpoint(size, "does not agree with the events"));
        }
        if chain.last_checkpoint.is_some_and(|last| Some(last) != statement.previous) {
            return Err(fault::checkpoint(size, "does not follow the checkpoint before it"));
        }
        chain.last_checkpoint = Some(checkpoint.hash());
        chain.checkpoints += 1;
        chain.covered_to = size;
        let tenant = chain.tenant.clone();
        self.trust(checkpoint, &tenant)
    }

    /// The chain must end here.
    pub(crate) fn ends_at(&mut self, sequence: u64, hash: Option<Hash>) -> Result<()> {
        let place = self.place()?;
        let chain = started(&mut self.chain)?;
        if sequence > place {
            return Err(fault::event(
                place + 1,
                None,
                &format!("is missing: the chain ends with event {sequence}"),
            ));
        }
        if sequence < place || hash != chain.hash {
            return Err(fault::event(place, None, "is not the one that the chain ends with"));
        }
        Ok(())
    }

    fn last(&mut self, last: &Last, digest: Option<Hash>, line: u64) -> Result<()> {
        self.ends_at(last.sequence, last.event_hash)?;
        if digest != Some(last.file_sha256) {
            return Err(fault::file(line, "has another hash than the file before it"));
        }
        if !last.is_signed() {
            return Err(fault::file(line, "has a bad signature"));
        }
        if self.pins.as_ref().is_some_and(|pins| !pins.knows(&last.signed.public_key)) {
            return Err(unknown_key(fault::file(
                line,
                "is signed with a key that the checkpoints do not know",
            )));
        }
        self.keys.insert(crate::signer::kid(&last.signed.public_key));
        Ok(())
    }

    /// What was checked, provided that the checkpoints from elsewhere know of nothing more.
    pub fn finish(mut self) -> Result<Report> {
        let place = self.place()?;
        let chain = started(&mut self.chain)?;
        if let Some((size, _)) = chain.pins.iter().find(|(size, _)| **size > place) {
            let reason = format!("is missing: a checkpoint from elsewhere covers {size} events");
            return Err(fault::event(place + 1, None, &reason));
        }
        Ok(Report {
            tenant: chain.tenant.clone(),
            first_sequence: chain.first_sequence,
            last_sequence: place,
            last_hash: chain.hash,
            checkpoints: chain.checkpoints,
            covered_to: chain.covered_to,
            pinned: chain.pinned,
            pinned_before: chain.pinned_before,
            keys: self.keys,
        })
    }

    /// The right edge of the tree over everything that was checked.
    pub(crate) fn frontier(&mut self) -> Result<Frontier> {
        self.place()?;
        Ok(started(&mut self.chain)?.frontier.clone())
    }

    /// The last event that has been checked, none left waiting.
    fn place(&mut self) -> Result<u64> {
        let chain = started(&mut self.chain)?;
        chain.settle(None, &mut self.wanted)?;
        Ok(chain.frontier.size())
    }

    fn trust(&mut self, checkpoint: &Checkpoint, tenant: &str) -> Result<()> {
        let size = checkpoint.statement.size;
        if checkpoint.statement.tenant != tenant {
            return Err(fault::checkpoint(size, "is about another tenant"));
        }
        if !checkpoint.is_signed() {
            return Err(fault::checkpoint(size, "has a bad signature"));
        }
        check_key(self.pins.as_ref(), checkpoint)?;
        self.keys.insert(checkpoint.kid());
        Ok(())
    }
}

/// With pins, only their keys sign.
pub(crate) fn check_key(pins: Option<&Pins>, checkpoint: &Checkpoint) -> Result<()> {
    if pins.is_some_and(|pins| !pins.knows(&checkpoint.signed.public_key)) {
        let size = checkpoint.statement.size;
        return Err(unknown_key(fault::checkpoint(
            size,
            "is signed with a key that the checkpoints do not know",
        )));
    }
    Ok(())
}

fn unknown_key(error: Error) -> Error {
    error.hint("After a change of keys take a newer copy of the checkpoint file; otherwise the chain was signed anew")
}

fn started(chain: &mut Option<Chain>) -> Result<&mut Chain> {
    chain.as_mut().ok_or_else(|| Error::internal("nothing was checked"))
}

impl Chain {
    fn new(header: &Header, mut pins: BTreeMap<u64, Checkpoint>) -> Result<Chain> {
        let (hash, frontier, previous) = match &header.start {
            None => (None, Frontier::default(), None),
            Some(Start { checkpoint, frontier }) => {
                (Some(checkpoint.statement.event_hash), frontier.clone(), checkpoint.statement.previous)
            }
        };
        let place = frontier.size();
        let rest = pins.split_off(&place);
        let mut chain = Chain {
            tenant: header.tenant.clone(),
            first_sequence: place + 1,
            hash,
            frontier,
            held: None,
            pins: rest,
            pinned: 0,
            pinned_before: pins.len() as u64,
            last_checkpoint: previous,
            checkpoints: 0,
            covered_to: place,
        };
        chain.compare_pin()?;
        Ok(chain)
    }

    /// Checks the event that waits, if one does.
    fn settle(
        &mut self,
        next: Option<&Entry>,
        wanted: &mut Option<(Wanted, Option<(u64, String)>)>,
    ) -> Result<()> {
        let Some(entry) = self.held.take() else { return Ok(()) };
        let expected = self.frontier.size() + 1;
        let Ok(link) = serde_json::from_str::<Link<'_>>(&entry.record) else {
            return Err(fault::event(expected, None, "cannot be read"));
        };
        let hash = Hash::of(entry.record.as_bytes());
        if hash != entry.claimed {
            return Err(match next.and_then(|next| changed_claimant(&entry, next)) {
                Some(id) => fault::event(expected + 1, Some(&id), "was changed after it was written"),
                None => fault::event(expected, Some(&link.id), "was changed after it was written"),
            });
        }
        let follows = link.prev_event_hash.as_deref() == self.hash.map(|hash| hash.to_string()).as_deref();
        if entry.sequence != expected {
            let (sequence, id) = (entry.sequence, &link.id);
            return Err(match follows {
                true => fault::event(expected, Some(id), &format!("carries the number {sequence}")),
                false => {
                    let reason = format!("is missing: event {sequence} ({id}) stands in its place");
                    fault::event(expected, None, &reason)
                }
            });
        }
        if !follows {
            return Err(fault::event(expected, Some(&link.id), "does not follow the event before it"));
        }
        if link.tenant_id != self.tenant {
            return Err(fault::event(expected, Some(&link.id), "belongs to another tenant"));
        }
        self.hash = Some(hash);
        self.frontier.append(tree::leaf(&hash), |_| {});
        if let Some((event, found)) = wanted
            && event.is(expected, &link.id)
        {
            *found = Some((expected, entry.record));
        }
        self.compare_pin()
    }

    /// Compares with a checkpoint from elsewhere, where there is one of this size.
    fn compare_pin(&mut self) -> Result<()> {
        let size = self.frontier.size();
        let Some(pin) = self.pins.get(&size) else { return Ok(()) };
        if pin.statement.root != self.frontier.root() {
            let reason = "or one before it is not the one that a checkpoint from elsewhere covers: the chain was rewritten";
            return Err(fault::event(size, None, reason));
        }
        self.pinned += 1;
        Ok(())
    }
}

/// The id of `next` if it is the one that was changed: the claim about the event before was taken from it, and it is not
/// what the event after it says.
fn changed_claimant(before: &Entry, next: &Entry) -> Option<String> {
    let link = serde_json::from_str::<Link<'_>>(&next.record).ok()?;
    let made_the_claim = link.prev_event_hash.as_deref() == Some(before.claimed.to_string().as_str());
    let is_changed = Hash::of(next.record.as_bytes()) != next.claimed;
    (made_the_claim && is_changed && next.sequence == before.sequence + 1).then(|| link.id.into_owned())
}

/// The lines of a file, each ended and no longer than it may be, and the hash of all bytes so far.
struct Lines<R> {
    source: R,
    number: u64,
    digest: Context,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<&str>> {
        self.line.clear();
        let read = self.source.by_ref().take(limits::LINE_BYTES).read_until(b'\n', &mut self.line);
        if read.map_err(|error| Error::bad_input(format!("The file cannot be read: {error}")))? == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.digest.update(&self.line);
        // An unfinished line, or one in no encoding, is like any other that cannot be read.
        let text = self.line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        Ok(Some(text.unwrap_or("")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Export, Key};

    fn verify(bytes: &[u8], pins: Option<Pins>) -> Result<Report> {
        let mut verifier = Verifier::new(pins);
        verifier.file(bytes, |_| {})?;
        verifier.finish()
    }

    fn broken_event(bytes: &[u8]) -> Option<u64> {
        let error = verify(bytes, None).unwrap_err();
        assert_eq!(error.code(), fault::BROKEN, "{error}");
        error.detail("sequence").and_then(serde_json::Value::as_u64)
    }

    fn pins(export: &Export) -> Pins {
        let lines: String = export.checkpoints.iter().map(|checkpoint| checkpoint.line() + "\n").collect();
        Pins::read(lines.as_bytes()).unwrap()
    }

    /// The event that a line is about, in a file whose lines are the header, events and checkpoints, the end.
    fn event_of(line: &str) -> Option<u64> {
        lines::parse_event(line).map(|entry| entry.sequence)
    }

    #[test]
    fn a_whole_export_is_in_order() {
        let export = Export::new(23, 5, &Key::new(1));
        let report = verify(export.text().as_bytes(), None).unwrap();
        assert_eq!((report.first_sequence, report.last_sequence), (1, 23));
        assert_eq!((report.checkpoints, report.covered_to, report.keys.len()), (5, 23, 1));
        let report = verify(export.text().as_bytes(), Some(pins(&export))).unwrap();
        assert_eq!((report.pinned, report.pinned_before), (5, 0));
        assert_eq!(verify(Export::new(0, 5, &Key::new(1)).text().as_bytes(), None).unwrap().last_sequence, 0);
    }

    #[test]
    fn every_changed_byte_is_found_and_its_event_named() {
        let text = Export::new(4, 2, &Key::new(1)).text();
        let mut place = 0;
        for line in text.split_inclusive('\n') {
            let named = event_of(line.trim_end());
            for at in place..place + line.len() {
                for other in [b'0', b'7', b'f', b'"', b' ', b'\n', b'}', 0xff] {
                    let mut changed = text.clone().into_bytes();
                    if changed[at] == other {
                        continue;
                    }
                    changed[at] = other;
                    let found = broken_event(&changed);
                    if let Some(named) = named {
                        assert_eq!(found, Some(named), "byte {at} to {other} in {line}");
                    }
                }
            }
            place += line.len();
        }
    }

    #[test]
    fn a_dropped_checkpoint_and_another_kind_of_file_are_found() {
        let text = Export::new(9, 4, &Key::new(1)).text();
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
    fn a_file_that_is_cut_anywhere_is_found() {
        let text = Export::new(6, 4, &Key::new(1)).text();
        for end in 0..text.len() {
            assert!(verify(&text.as_bytes()[..end], None).is_err(), "cut after {end}");
        }
        assert!(verify(format!("{text}\n").as_bytes(), None).is_err());
        assert!(verify(format!("{text}{text}").as_bytes(), None).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_dropped_repeated_or_moved_event_is_found_and_named(
            events in 2usize..40,
            every in 1usize..9,
            one in any::<prop::sample::Index>(),
            other in any::<prop::sample::Index>(),
        ) {
            let text = Export::new(events, every, &Key::new(1)).text();
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let places: Vec<usize> =
                (0..lines.len()).filter(|place| event_of(lines[*place].trim_end()).is_some()).collect();
            let (one, other) = (one.index(events), other.index(events));
            let sequence = |index: usize| Some(index as u64 + 1);

            let mut dropped = lines.clone();
            dropped.remove(places[one]);
            prop_assert_eq!(broken_event(dropped.concat().as_bytes()), sequence(one));

            let mut repeated = lines.clone();
            repeated.insert(places[one], lines[places[one]]);
            prop_assert_eq!(broken_event(repeated.concat().as_bytes()), sequence(one + 1));

            if one != other {
                let mut swapped = lines.clone();
                swapped.swap(places[one], places[other]);
                prop_assert_eq!(broken_event(swapped.concat().as_bytes()), sequence(one.min(other)));
            }
        }

        #[test]
        fn a_changed_byte_is_found_wherever_it_is(
            events in 1usize..20,
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let text = Export::new(events, 6, &Key::new(1)).text();
            let mut changed = text.clone().into_bytes();
            let at = at.index(changed.len());
            prop_assume!(changed[at] != byte);
            // Found in the bytes: the place may lie within a letter of several.
            let line = changed[..at].iter().filter(|byte| **byte == b'\n').count();
            let line = text.split('\n').nth(line).unwrap_or_default();
            changed[at] = byte;
            let found = broken_event(&changed);
            if let Some(named) = event_of(line) {
                prop_assert_eq!(found, Some(named));
            }
        }
    }

    #[test]
    fn the_changed_one_of_two_is_named_even_if_the_claims_come_from_the_chain_itself() {
        let mut export = Export::new(9, 3, &Key::new(1));
        // As after a change in the database: the hash of event 4 is what event 5 says, and 5 says something new.
        let forged = Hash::of(b"forged");
        let record = &export.entries[4].record;
        export.entries[4].record =
            record.replace(&export.entries[3].claimed.to_string(), &forged.to_string());
        export.entries[3].claimed = forged;
        export.sign_end(&Key::new(1));
        assert_eq!(broken_event(export.text().as_bytes()), Some(5));
    }

    #[test]
    fn a_chain_signed_anew_is_found_by_the_checkpoints_from_elsewhere() {
        let (ours, theirs) = (Export::new(12, 4, &Key::new(1)), Export::new(12, 4, &Key::new(2)));
        let text = theirs.text();
        assert!(verify(text.as_bytes(), None).is_ok(), "nothing in the file itself is wrong");
        let error = verify(text.as_bytes(), Some(pins(&ours))).unwrap_err();
        assert!(error.message().contains("key that the checkpoints do not know"), "{error}");
        assert!(error.hint_text().is_some());
        // With our key but another past: only what was written down elsewhere tells.
        let mut rewritten = Export::rewritten(12, 4, &Key::new(1), 6);
        rewritten.sign_end(&Key::new(1));
        assert!(verify(rewritten.text().as_bytes(), None).is_ok());
        let error = verify(rewritten.text().as_bytes(), Some(pins(&ours))).unwrap_err();
        assert_eq!(error.detail("sequence"), Some(&8.into()), "{error}");
        assert!(error.message().contains("rewritten"), "{error}");
    }

    #[test]
    fn a_removed_tail_is_found_by_the_checkpoints_from_elsewhere() {
        let key = Key::new(1);
        let (whole, shorter) = (Export::new(12, 4, &key), Export::new(9, 4, &key));
        assert!(verify(shorter.text().as_bytes(), None).is_ok());
        let error = verify(shorter.text().as_bytes(), Some(pins(&whole))).unwrap_err();
        assert_eq!(error.detail("sequence"), Some(&10.into()));
    }

    #[test]
    fn checkpoints_must_agree_follow_each_other_and_be_signed() {
        let key = Key::new(1);
        let check = |change: &dyn Fn(&mut Vec<Checkpoint>), expect: &str| {
            let mut export = Export::new(12, 4, &key);
            change(&mut export.checkpoints);
            export.sign_end(&key);
            let error = verify(export.text().as_bytes(), None).unwrap_err();
            assert!(error.message().contains(expect), "{error}");
        };
        let resigned = |checkpoint: &mut Checkpoint| *checkpoint = checkpoint.statement.clone().sign(&key);
        check(&|all| all[1].statement.time = quad_core::Timestamp(5), "bad signature");
        check(
            &|all| {
                all[1].statement.root = Hash::of(b"other");
                resigned(&mut all[1]);
            },
            "does not agree",
        );
        check(
            &|all| {
                all[1].statement.previous = None;
                resigned(&mut all[1]);
            },
            "does not follow",
        );
        check(
            &|all| {
                all[1].statement.tenant = "tnt_other".to_owned();
                resigned(&mut all[1]);
            },
            "another tenant",
        );
    }

    #[test]
    fn the_rest_is_checked_alone_and_behind_its_archive() {
        let key = Key::new(1);
        let whole = Export::new(20, 4, &key);
        let (archive, rest) = whole.cut(10, &key);
        let report = verify(rest.text().as_bytes(), None).unwrap();
        assert_eq!((report.first_sequence, report.last_sequence), (11, 20));
        let report = verify(rest.text().as_bytes(), Some(pins(&whole))).unwrap();
        assert_eq!((report.pinned, report.pinned_before), (3, 2));

        let both = |first: &str, second: &str| {
            let third = (3, whole.entries[2].record.clone());
            let id = serde_json::from_str::<Link<'_>>(&third.1).unwrap().id.into_owned();
            for wanted in [Wanted::Place(3), Wanted::Id(id)] {
                let mut verifier = Verifier::new(Some(pins(&whole))).wanting(wanted);
                verifier.file(first.as_bytes(), |_| {})?;
                verifier.file(second.as_bytes(), |_| {})?;
                assert_eq!(verifier.wanted(), Some(third.clone()));
            }
            let mut verifier = Verifier::new(Some(pins(&whole)));
            verifier.file(first.as_bytes(), |_| {})?;
            verifier.file(second.as_bytes(), |_| {})?;
            verifier.finish()
        };
        let report = both(&archive.text(), &rest.text()).unwrap();
        assert_eq!((report.first_sequence, report.last_sequence, report.pinned), (1, 20, 5));
        assert!(both(&rest.text(), &archive.text()).is_err(), "the wrong way round");
        assert!(
            both(&archive.text(), &whole.text()).is_err(),
            "the second does not begin where the first ends"
        );
        let (_, later) = whole.cut(12, &key);
        assert!(both(&archive.text(), &later.text()).is_err(), "a gap between the two");
        // An anchor over a tree that never was.
        let mut forged = rest;
        let start = forged.start.as_mut().unwrap();
        start.frontier = Frontier::from_hashes(10, vec![Hash::of(b"a"), Hash::of(b"b")]).unwrap();
        forged.sign_end(&key);
        assert!(verify(forged.text().as_bytes(), None).is_err());
    }
}
