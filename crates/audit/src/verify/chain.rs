//! The verified part of a chain: hash links, the recomputed tree, and the comparison with trusted checkpoints.

use std::borrow::Cow;
use std::collections::BTreeMap;

use quad_core::Result;
use serde::Deserialize;

use super::selector::Selection;
use crate::chain_reader::ChainEntry;
use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::Origin;
use crate::export_format::{ExportAnchor, Header};
use crate::hash::Hash;
use crate::merkle::Frontier;
use crate::{chain_error, tree_store};

/// The verified part of the chain.
pub(super) struct Chain {
    pub(super) tenant: String,
    pub(super) first_sequence: u64,
    pub(super) hash: Option<Hash>,
    pub(super) frontier: Frontier,
    /// An event is held back until the next one is known: only then it is clear which of the two was changed.
    pub(super) pending: Option<ChainEntry>,
    pub(super) trusted: BTreeMap<u64, Checkpoint>,
    pub(super) origin: Origin,
    pub(super) trusted_matched: u64,
    pub(super) trusted_before_start: u64,
    pub(super) last_checkpoint: Option<Hash>,
    pub(super) checkpoints: u64,
    pub(super) covered_to: u64,
}

/// The position fields of a record.
#[derive(Deserialize)]
pub(super) struct RecordHeader<'r> {
    #[serde(borrow)]
    pub(super) id: Cow<'r, str>,
    #[serde(borrow)]
    tenant_id: Cow<'r, str>,
    #[serde(borrow)]
    prev_event_hash: Option<Cow<'r, str>>,
}

impl Chain {
    pub(super) fn new(
        header: &Header,
        mut trusted: BTreeMap<u64, Checkpoint>,
        origin: Origin,
    ) -> Result<Chain> {
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
            origin,
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
    pub(super) fn check_pending(
        &mut self,
        next: Option<&ChainEntry>,
        selection: &mut Option<Selection>,
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
        if let Some(selection) = selection {
            selection.offer(expected, &header.id, &entry.record);
        }
        self.compare_trusted()
    }

    /// Compares the chain with the trusted checkpoint of this size, if there is one.
    fn compare_trusted(&mut self) -> Result<()> {
        let size = self.frontier.size();
        let Some(checkpoint) = self.trusted.get(&size) else { return Ok(()) };
        if checkpoint.statement.root != self.frontier.root() {
            let checkpoint = self.origin.checkpoint();
            let reason =
                format!("or an earlier event does not match a {checkpoint}: the chain was rewritten");
            return Err(chain_error::event(size, None, &reason));
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
