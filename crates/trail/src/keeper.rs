//! Making checkpoints: by whichever process gets there first.
//!
//! A process reads what is new in one snapshot, grows the tree, signs, and inserts the checkpoint under the next number.
//! If another has taken that number, it has done the same work for the same events, and nothing is lost but a signature.

use std::collections::HashSet;
use std::sync::Arc;

use quad_core::{Result, TenantId, Timestamp};
use quad_store::audit::checkpoint::{self, CheckpointRow};
use quad_store::audit::{block, checkpoint as rows};
use quad_store::{Sql, Store};

use crate::checkpoint::{Checkpoint, Statement};
use crate::checkpoint_file::CheckpointFile;
use crate::hash::Hash;
use crate::signer::Signer;
use crate::tree::{self, Growth};
use crate::{fault, limits};

/// Makes checkpoints. Cheap to clone.
#[derive(Clone)]
pub struct Keeper {
    store: Store,
    signer: Arc<dyn Signer>,
    file: CheckpointFile,
}

/// A checkpoint in the making.
struct Plan {
    number: i64,
    previous: Option<Hash>,
    event_hash: Hash,
    growth: Growth,
}

impl Keeper {
    /// A keeper that signs with `signer` and also writes to `file`.
    pub fn new(store: Store, signer: Arc<dyn Signer>, file: CheckpointFile) -> Keeper {
        Keeper { store, signer, file }
    }

    /// Who signs.
    pub fn signer(&self) -> &dyn Signer {
        self.signer.as_ref()
    }

    /// The store.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The file outside the database.
    pub fn file(&self) -> &CheckpointFile {
        &self.file
    }

    /// Brings a tenant's checkpoints up to where its chain ends now, and returns the newest; `None` for a chain without
    /// events.
    pub async fn checkpoint(&self, tenant: &TenantId) -> Result<Option<Checkpoint>> {
        let end = self.store.read(tenant, |sql| block::chain_end(sql)).await?.sequence;
        loop {
            let newest = self.store.read(tenant, |sql| rows::latest(sql)).await?;
            if newest.as_ref().map_or(0, |row| row.size) >= end {
                return newest.map(|row| Checkpoint::stored(&row.body)).transpose();
            }
            self.step(tenant).await?;
        }
    }

    /// Makes the checkpoints that are due, and says how many.
    pub async fn look(&self, complained: &mut HashSet<TenantId>) -> Result<usize> {
        let stale = Timestamp::now().plus_ms(-limits::CHECKPOINT_AGE_MS);
        let due = move |sql: &mut quad_store::Snapshot<'_>| rows::tenants_due(sql, limits::CHECKPOINT_EVENTS, stale);
        let mut made = 0;
        for tenant in self.store.read(&TenantId::system(), due).await? {
            match self.step(&tenant).await {
                Ok(true) => made += 1,
                Ok(false) => {}
                // Once a tenant: a broken chain stays broken, and the log should still be readable.
                Err(error) if complained.insert(tenant.clone()) => {
                    let (tenant, cause) = (tenant.as_str(), error.cause_chain());
                    tracing::error!(tenant, cause, "no checkpoint: {}", error.message());
                }
                Err(_) => {}
            }
        }
        Ok(made)
    }

    /// Looks for ever.
    pub async fn run(self) {
        let mut complained = HashSet::new();
        loop {
            if let Err(error) = self.look(&mut complained).await {
                tracing::debug!(cause = error.cause_chain(), "looking for due checkpoints failed");
            }
            tokio::time::sleep(limits::CHECKPOINT_LOOK).await;
        }
    }

    /// Makes one checkpoint. False if there is nothing new, or if somebody else made it.
    async fn step(&self, tenant: &TenantId) -> Result<bool> {
        let Some(plan) = self.store.read(tenant, |sql| plan(sql)).await? else { return Ok(false) };
        let made = Statement {
            tenant: tenant.as_str().to_owned(),
            size: plan.growth.frontier.size(),
            root: plan.growth.frontier.root(),
            event_hash: plan.event_hash,
            previous: plan.previous,
            time: Timestamp::now(),
        };
        let made = made.sign(self.signer.as_ref());
        let row = CheckpointRow {
            number: plan.number,
            size: made.statement.size as i64,
            frontier: plan.growth.frontier.to_bytes(),
            body: made.line(),
            created_at: made.statement.time,
        };
        let growth = plan.growth;
        let keep = move |tx: &mut quad_store::Tx<'_>| {
            let kept = checkpoint::insert(tx, &row)?;
            if kept {
                growth.store(tx)?;
            }
            Ok(kept)
        };
        let kept = self.store.write_unaudited(tenant, keep).await?;
        if kept {
            // It stands in the database whether or not the file can be written; without the file it is worth less.
            self.file.append(&made)?;
        }
        Ok(kept)
    }
}

/// What the next checkpoint covers. The links are checked on the way: a broken chain is not signed.
fn plan(sql: &mut dyn Sql) -> Result<Option<Plan>> {
    let end = block::chain_end(sql)?;
    let last = rows::latest(sql)?;
    let (number, previous, mut hash, frontier) = match &last {
        None => (1, None, None, Default::default()),
        Some(row) => {
            let last = Checkpoint::stored(&row.body)?;
            let frontier = tree::frontier(row.size, &row.frontier)?;
            (row.number + 1, Some(last.hash()), Some(last.statement.event_hash), frontier)
        }
    };
    let mut growth = Growth::from(frontier);
    let size_before = growth.frontier.size();
    let to = u64::try_from(end.sequence).unwrap_or(0);
    while growth.frontier.size() < to
        && growth.frontier.size() - size_before < limits::CHECKPOINT_EVENTS_MOST as u64
    {
        let place = growth.frontier.size() as i64;
        let blocks = block::blocks_after(sql, place, quad_store::limits::AUDIT_BLOCKS_PER_QUERY)?;
        if blocks.is_empty() {
            return Err(fault::event(growth.frontier.size() + 1, None, "is missing"));
        }
        for (sequence, record) in blocks.iter().flat_map(|block| block.records()) {
            let expected = growth.frontier.size() + 1;
            if sequence as u64 != expected {
                return Err(fault::event(expected, None, "is missing"));
            }
            if block::previous_hash(record).as_deref() != hash.map(|hash| hash.to_string()).as_deref() {
                let id = block::record_id(record).ok();
                return Err(fault::event(expected, id.as_deref(), "does not follow the one before it"));
            }
            let this = Hash::of(record.as_bytes());
            growth.add(&this);
            hash = Some(this);
        }
    }
    let Some(event_hash) = hash.filter(|_| growth.frontier.size() > size_before) else { return Ok(None) };
    if growth.frontier.size() == to && end.hash.as_deref() != Some(event_hash.to_string().as_str()) {
        return Err(fault::event(to, None, "is not the one that the head names"));
    }
    Ok(Some(Plan { number, previous, event_hash, growth }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::verify_stored;
    use crate::testing::{World, worlds};

    async fn sizes(world: &World) -> Vec<i64> {
        let rows =
            world.store().read(world.tenant(), |sql| rows::between(sql, 0, i64::MAX, 1_000)).await.unwrap();
        assert!(rows.iter().map(|row| row.number).eq(1..=rows.len() as i64), "numbered without a gap");
        rows.iter().map(|row| row.size).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_checkpoint_grows_from_the_one_before_and_stands_in_the_file_too() {
        for world in worlds().await {
            let mut expected = Vec::new();
            for events in [1, 300, 7] {
                world.write(events).await;
                let made = world.keeper.checkpoint(world.tenant()).await.unwrap().unwrap();
                expected.push(world.end().await);
                assert_eq!(made.statement.size as i64, world.end().await);
                assert_eq!(
                    world.keeper.checkpoint(world.tenant()).await.unwrap(),
                    Some(made),
                    "nothing is new"
                );
            }
            assert_eq!(sizes(&world).await, expected);
            // The verifier computes every root from the events alone, and compares with the file.
            let report =
                verify_stored(world.store(), world.tenant(), Some(world.pins()), |_, _| {}).await.unwrap();
            assert_eq!((report.checkpoints, report.pinned), (3, 3));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn processes_that_meet_make_each_checkpoint_once() {
        for world in worlds().await {
            let other = world.another_process().await;
            for _ in 0..4 {
                world.write(20).await;
                let (one, two) =
                    tokio::join!(world.keeper.checkpoint(world.tenant()), other.checkpoint(world.tenant()));
                assert_eq!(one.unwrap(), two.unwrap());
            }
            let sizes = sizes(&world).await;
            assert_eq!(sizes.len(), 4);
            let lines = std::fs::read_to_string(world.keeper.file().path()).unwrap();
            assert_eq!(lines.lines().count(), 4, "who lost wrote no line");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn due_is_who_has_many_new_events_or_any_since_long() {
        for world in worlds().await {
            let due = async |events: i64, stale: Timestamp| {
                let due = move |sql: &mut quad_store::Snapshot<'_>| rows::tenants_due(sql, events, stale);
                let due = world.store().read(&TenantId::system(), due).await.unwrap();
                due.contains(world.tenant())
            };
            let (long_ago, now) = (Timestamp(0), || Timestamp::now().plus_ms(1));
            assert!(due(1_000, long_ago).await, "never had one");
            let mut complained = HashSet::new();
            assert_eq!(world.keeper.look(&mut complained).await.unwrap(), 1);
            assert!(!due(1, now()).await, "nothing is new");
            assert_eq!(world.keeper.look(&mut complained).await.unwrap(), 0);
            world.write(5).await;
            assert!(!due(6, long_ago).await, "too few, too soon");
            assert!(due(5, long_ago).await, "enough");
            assert!(due(6, now()).await, "long enough ago");
            assert_eq!(
                world.keeper.look(&mut complained).await.unwrap(),
                0,
                "neither 1,000 events nor a minute"
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_broken_chain_is_not_signed() {
        for world in worlds().await {
            world.write(30).await;
            world.tamper_event(17, "resources/read", "resources/list").await;
            let error = world.keeper.checkpoint(world.tenant()).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&18.into()), "its successor no longer follows");
            assert!(sizes(&world).await.is_empty());
            let mut complained = HashSet::new();
            assert_eq!(world.keeper.look(&mut complained).await.unwrap(), 0);
            assert!(complained.contains(world.tenant()));
        }
    }
}
