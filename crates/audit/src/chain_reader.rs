//! Reads the stored chain in order: the events, with the checkpoints at their positions.

use std::borrow::Cow;
use std::collections::VecDeque;

use quad_core::{Result, TenantId};
use quad_store::SnapshotSource;
use quad_store::audit::{Block, block, checkpoint};

use crate::checkpoint::Checkpoint;
use crate::hash::Hash;
use crate::limits;

/// An event of a chain, with the hash that the following event claims for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChainEntry {
    pub(crate) sequence: u64,
    pub(crate) claimed_hash: Hash,
    pub(crate) record: String,
}

/// An item of the chain.
pub(crate) enum ChainItem {
    Event(ChainEntry),
    Checkpoint(Checkpoint),
}

/// Sends the events after sequence `from` up to `to`, with the checkpoints among them, to `sink`. Missing events are
/// skipped; detecting them is the task of the sink.
pub(crate) async fn read_chain(
    store: &impl SnapshotSource,
    tenant: &TenantId,
    from: i64,
    to: i64,
    mut sink: impl FnMut(ChainItem) -> Result<()>,
) -> Result<()> {
    let mut checkpoints = CheckpointQueue { after: from, to, waiting: VecDeque::new(), is_done: false };
    let mut pending: Option<(i64, String)> = None;
    let mut last_read = from;
    while last_read < to {
        let page = move |sql: &mut quad_store::Snapshot<'_>| -> Result<Vec<Block>> {
            block::blocks_after(sql, last_read, quad_store::limits::AUDIT_BLOCKS_PER_QUERY)
        };
        let blocks = store.snapshot(tenant, page).await?;
        let Some(last) = blocks.last() else { break };
        // A block without events would otherwise be read again without end.
        last_read = last.last_sequence().max(last.first_sequence);
        for (sequence, record) in
            blocks.iter().flat_map(Block::records).filter(|(sequence, _)| *sequence <= to)
        {
            if let Some((previous_sequence, previous_record)) = pending.replace((sequence, record.to_owned()))
            {
                // After a gap the next event makes no claim about this one.
                let claimed_hash = block::previous_hash(record).filter(|_| sequence == previous_sequence + 1);
                let claimed_hash = claimed_hash.map(Cow::into_owned);
                emit_event(previous_sequence, previous_record, claimed_hash, &mut sink)?;
                checkpoints.emit_up_to(store, tenant, previous_sequence, &mut sink).await?;
            }
        }
    }
    let Some((last, record)) = pending else { return Ok(()) };
    let load_claimed_hash = move |sql: &mut quad_store::Snapshot<'_>| {
        let end = block::chain_end(sql)?;
        if end.sequence == last {
            return Ok(end.hash);
        }
        Ok(block::record_at(sql, last + 1)?
            .and_then(|record| block::previous_hash(&record).map(Cow::into_owned)))
    };
    emit_event(last, record, store.snapshot(tenant, load_claimed_hash).await?, &mut sink)?;
    checkpoints.emit_up_to(store, tenant, last, &mut sink).await
}

fn emit_event(
    sequence: i64,
    record: String,
    claimed_hash: Option<String>,
    sink: &mut impl FnMut(ChainItem) -> Result<()>,
) -> Result<()> {
    // Without a claim the computed hash is used.
    let claimed_hash =
        claimed_hash.and_then(|hash| Hash::parse(&hash)).unwrap_or_else(|| Hash::compute(record.as_bytes()));
    sink(ChainItem::Event(ChainEntry {
        sequence: u64::try_from(sequence).unwrap_or(0),
        claimed_hash,
        record,
    }))
}

/// The next checkpoints, read in pages.
struct CheckpointQueue {
    after: i64,
    to: i64,
    waiting: VecDeque<Checkpoint>,
    is_done: bool,
}

impl CheckpointQueue {
    /// Emits the checkpoints of size `place` or less.
    async fn emit_up_to(
        &mut self,
        store: &impl SnapshotSource,
        tenant: &TenantId,
        sequence: i64,
        sink: &mut impl FnMut(ChainItem) -> Result<()>,
    ) -> Result<()> {
        loop {
            if self.waiting.is_empty() && !self.is_done {
                let (after, to) = (self.after, self.to);
                let page = move |sql: &mut quad_store::Snapshot<'_>| {
                    checkpoint::between(sql, after, to, limits::CHECKPOINTS_PAGE)
                };
                let rows = store.snapshot(tenant, page).await?;
                self.is_done = rows.is_empty();
                self.after = rows.last().map_or(self.after, |row| row.size);
                for row in rows {
                    self.waiting.push_back(Checkpoint::from_db(&row.body)?);
                }
            }
            match self.waiting.pop_front_if(|next| next.statement.size as i64 <= sequence) {
                Some(next) => sink(ChainItem::Checkpoint(next))?,
                None => return Ok(()),
            }
        }
    }
}
