//! The stored chain from front to back, event by event, with the checkpoints where they belong.

use std::borrow::Cow;
use std::collections::VecDeque;

use quad_core::{Result, TenantId};
use quad_store::Store;
use quad_store::audit::{Block, block, checkpoint};

use crate::checkpoint::Checkpoint;
use crate::hash::Hash;
use crate::limits;

/// One event of a chain, and the hash that the event after it says it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) sequence: u64,
    pub(crate) claimed: Hash,
    pub(crate) record: String,
}

/// What the stream gives.
pub(crate) enum Item {
    Event(Entry),
    Checkpoint(Checkpoint),
}

/// Hands the events after place `from` up to place `to`, and the checkpoints among them, to `sink`. What is missing is left
/// out; finding that is the sink's business.
pub(crate) async fn stream(
    store: &Store,
    tenant: &TenantId,
    from: i64,
    to: i64,
    mut sink: impl FnMut(Item) -> Result<()>,
) -> Result<()> {
    let mut checkpoints = Checkpoints { after: from, to, waiting: VecDeque::new(), is_done: false };
    let mut held: Option<(i64, String)> = None;
    let mut place = from;
    while place < to {
        let page = move |sql: &mut quad_store::Snapshot<'_>| -> Result<Vec<Block>> {
            block::blocks_after(sql, place, quad_store::limits::AUDIT_BLOCKS_PER_QUERY)
        };
        let blocks = store.read(tenant, page).await?;
        let Some(last) = blocks.last() else { break };
        // A block that says it has no events would otherwise be read for ever.
        place = last.last_sequence().max(last.first_sequence);
        for (sequence, record) in blocks.iter().flat_map(Block::records).filter(|(place, _)| *place <= to) {
            if let Some((before, held)) = held.replace((sequence, record.to_owned())) {
                // Across a gap the next event says nothing about this one.
                let claimed = block::previous_hash(record).filter(|_| sequence == before + 1);
                let claimed = claimed.map(Cow::into_owned);
                emit(before, held, claimed, &mut sink)?;
                checkpoints.emit(store, tenant, before, &mut sink).await?;
            }
        }
    }
    let Some((last, record)) = held else { return Ok(()) };
    let claim = move |sql: &mut quad_store::Snapshot<'_>| {
        let end = block::chain_end(sql)?;
        if end.sequence == last {
            return Ok(end.hash);
        }
        Ok(block::record_at(sql, last + 1)?
            .and_then(|record| block::previous_hash(&record).map(Cow::into_owned)))
    };
    emit(last, record, store.read(tenant, claim).await?, &mut sink)?;
    checkpoints.emit(store, tenant, last, &mut sink).await
}

fn emit(
    sequence: i64,
    record: String,
    claimed: Option<String>,
    sink: &mut impl FnMut(Item) -> Result<()>,
) -> Result<()> {
    // Where nobody says what the hash should be, it is what it is.
    let claimed = claimed.and_then(|hash| Hash::parse(&hash)).unwrap_or_else(|| Hash::of(record.as_bytes()));
    sink(Item::Event(Entry { sequence: u64::try_from(sequence).unwrap_or(0), claimed, record }))
}

/// The checkpoints that come next, read a page at a time.
struct Checkpoints {
    after: i64,
    to: i64,
    waiting: VecDeque<Checkpoint>,
    is_done: bool,
}

impl Checkpoints {
    /// Hands out those of a size up to `place`.
    async fn emit(
        &mut self,
        store: &Store,
        tenant: &TenantId,
        place: i64,
        sink: &mut impl FnMut(Item) -> Result<()>,
    ) -> Result<()> {
        loop {
            if self.waiting.is_empty() && !self.is_done {
                let (after, to) = (self.after, self.to);
                let page = move |sql: &mut quad_store::Snapshot<'_>| {
                    checkpoint::between(sql, after, to, limits::CHECKPOINTS_READ)
                };
                let rows = store.read(tenant, page).await?;
                self.is_done = rows.is_empty();
                self.after = rows.last().map_or(self.after, |row| row.size);
                for row in rows {
                    self.waiting.push_back(Checkpoint::stored(&row.body)?);
                }
            }
            match self.waiting.pop_front_if(|next| next.statement.size as i64 <= place) {
                Some(next) => sink(Item::Checkpoint(next))?,
                None => return Ok(()),
            }
        }
    }
}
