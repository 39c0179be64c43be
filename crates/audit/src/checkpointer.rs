//! Making checkpoints, in any serving process.
//!
//! A process reads the new events in one snapshot, extends the tree, signs, and inserts the checkpoint under the next
//! number. If another process has inserted that number first, it has signed the same events, and only the signature
//! was wasted.

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
use crate::tree_store::{self, TreeAppender};
use crate::{chain_error, limits};

/// Makes checkpoints. Cheap to clone.
#[derive(Clone)]
pub struct CheckpointSigner {
    store: Store,
    signer: Arc<dyn Signer>,
    file: CheckpointFile,
}

/// An unsigned checkpoint with its tree nodes.
struct CheckpointDraft {
    number: i64,
    previous: Option<Hash>,
    event_hash: Hash,
    tree: TreeAppender,
}

impl CheckpointSigner {
    /// Creates a checkpoint signer that signs with `signer` and also appends to `file`.
    pub fn new(store: Store, signer: Arc<dyn Signer>, file: CheckpointFile) -> CheckpointSigner {
        CheckpointSigner { store, signer, file }
    }

    /// The signer.
    pub fn signer(&self) -> &dyn Signer {
        self.signer.as_ref()
    }

    /// The store.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The checkpoint file outside the database.
    pub fn file(&self) -> &CheckpointFile {
        &self.file
    }

    /// Makes checkpoints up to the current end of the tenant's chain and returns the newest; `None` for a chain
    /// without events.
    pub async fn checkpoint(&self, tenant: &TenantId) -> Result<Option<Checkpoint>> {
        let end = self.store.read(tenant, |sql| block::chain_end(sql)).await?.sequence;
        loop {
            let latest = self.store.read(tenant, |sql| rows::latest(sql)).await?;
            if latest.as_ref().map_or(0, |row| row.size) >= end {
                return latest.map(|row| Checkpoint::from_db(&row.body)).transpose();
            }
            self.sign_next(tenant).await?;
        }
    }

    /// Makes the checkpoints that are due and returns their number.
    pub async fn sign_due(&self, logged: &mut HashSet<TenantId>) -> Result<usize> {
        let stale = Timestamp::now().plus_ms(-limits::CHECKPOINT_DUE_AGE_MS);
        let due = move |sql: &mut quad_store::Snapshot<'_>| {
            rows::tenants_due(sql, limits::CHECKPOINT_DUE_EVENTS, stale)
        };
        let mut signed_count = 0;
        for tenant in self.store.read(&TenantId::system(), due).await? {
            match self.sign_next(&tenant).await {
                Ok(true) => signed_count += 1,
                Ok(false) => {}
                // Once per tenant: a broken chain stays broken, and repeated lines would fill the log.
                Err(error) if logged.insert(tenant.clone()) => {
                    let (tenant, cause) = (tenant.as_str(), error.cause_chain());
                    tracing::error!(tenant, cause, "checkpoint not made: {}", error.message());
                }
                Err(_) => {}
            }
        }
        Ok(signed_count)
    }

    /// Makes due checkpoints periodically. Never returns.
    pub async fn run(self) {
        let mut logged = HashSet::new();
        loop {
            if let Err(error) = self.sign_due(&mut logged).await {
                tracing::debug!(cause = error.cause_chain(), "the check for due checkpoints failed");
            }
            tokio::time::sleep(limits::CHECKPOINT_POLL_INTERVAL).await;
        }
    }

    /// Makes one checkpoint. False if there is nothing new, or if another process made it.
    async fn sign_next(&self, tenant: &TenantId) -> Result<bool> {
        let Some(draft) = self.store.read(tenant, |sql| draft_checkpoint(sql)).await? else {
            return Ok(false);
        };
        let statement = Statement {
            tenant: tenant.as_str().to_owned(),
            size: draft.tree.frontier.size(),
            root: draft.tree.frontier.root(),
            event_hash: draft.event_hash,
            previous: draft.previous,
            time: Timestamp::now(),
        };
        let checkpoint = statement.sign(self.signer.as_ref());
        let row = CheckpointRow {
            number: draft.number,
            size: checkpoint.statement.size as i64,
            frontier: draft.tree.frontier.to_bytes(),
            body: checkpoint.to_line(),
            created_at: checkpoint.statement.time,
        };
        let tree = draft.tree;
        let insert = move |tx: &mut quad_store::Tx<'_>| {
            let inserted = checkpoint::insert(tx, &row)?;
            if inserted {
                tree.store(tx)?;
            }
            Ok(inserted)
        };
        let inserted = self.store.write_unaudited(tenant, insert).await?;
        if inserted {
            // The checkpoint is in the database even if the file cannot be written; without the file it proves less.
            self.file.append(&checkpoint)?;
        }
        Ok(inserted)
    }
}

/// Computes the next checkpoint. Verifies the hash links of the new events: a broken chain is not signed.
fn draft_checkpoint(sql: &mut dyn Sql) -> Result<Option<CheckpointDraft>> {
    let end = block::chain_end(sql)?;
    let last = rows::latest(sql)?;
    let (number, previous, mut hash, frontier) = match &last {
        None => (1, None, None, Default::default()),
        Some(row) => {
            let last = Checkpoint::from_db(&row.body)?;
            let frontier = tree_store::parse_frontier(row.size, &row.frontier)?;
            (row.number + 1, Some(last.hash()), Some(last.statement.event_hash), frontier)
        }
    };
    let mut tree = TreeAppender::from(frontier);
    let size_before = tree.frontier.size();
    let to = u64::try_from(end.sequence).unwrap_or(0);
    while tree.frontier.size() < to
        && tree.frontier.size() - size_before < limits::CHECKPOINT_EVENTS_MAX as u64
    {
        let sequence = tree.frontier.size() as i64;
        let blocks = block::blocks_after(sql, sequence, quad_store::limits::AUDIT_BLOCKS_PER_QUERY)?;
        if blocks.is_empty() {
            return Err(chain_error::event(tree.frontier.size() + 1, None, "is missing"));
        }
        for (sequence, record) in blocks.iter().flat_map(|block| block.records()) {
            let expected = tree.frontier.size() + 1;
            if sequence as u64 != expected {
                return Err(chain_error::event(expected, None, "is missing"));
            }
            if block::previous_hash(record).as_deref() != hash.map(|hash| hash.to_string()).as_deref() {
                let id = block::record_id(record).ok();
                return Err(chain_error::event(expected, id.as_deref(), "does not follow the one before it"));
            }
            let record_hash = Hash::compute(record.as_bytes());
            tree.add(&record_hash);
            hash = Some(record_hash);
        }
    }
    let Some(event_hash) = hash.filter(|_| tree.frontier.size() > size_before) else { return Ok(None) };
    if tree.frontier.size() == to && end.hash.as_deref() != Some(event_hash.to_string().as_str()) {
        return Err(chain_error::event(to, None, "is not the one that the head names"));
    }
    Ok(Some(CheckpointDraft { number, previous, event_hash, tree }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::verify_stored;
    use crate::testing::{ChainFixture, fixtures};

    async fn checkpoint_sizes(fixture: &ChainFixture) -> Vec<i64> {
        let rows = fixture
            .store()
            .read(fixture.tenant(), |sql| rows::between(sql, 0, i64::MAX, 1_000))
            .await
            .unwrap();
        assert!(rows.iter().map(|row| row.number).eq(1..=rows.len() as i64), "numbered without a gap");
        rows.iter().map(|row| row.size).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn checkpoint_extends_previous_and_is_written_to_file() {
        for fixture in fixtures().await {
            let mut expected = Vec::new();
            for events in [1, 300, 7] {
                fixture.write(events).await;
                let checkpoint =
                    fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap().unwrap();
                expected.push(fixture.last_sequence().await);
                assert_eq!(checkpoint.statement.size as i64, fixture.last_sequence().await);
                assert_eq!(
                    fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap(),
                    Some(checkpoint),
                    "nothing is new"
                );
            }
            assert_eq!(checkpoint_sizes(&fixture).await, expected);
            // The verifier computes every root from the events alone and compares them with the file.
            let report = verify_stored(
                fixture.store(),
                fixture.tenant(),
                Some(fixture.trusted_checkpoints()),
                |_, _| {},
            )
            .await
            .unwrap();
            assert_eq!((report.checkpoints, report.trusted_matched), (3, 3));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_processes_sign_each_checkpoint_once() {
        for fixture in fixtures().await {
            let other_process = fixture.open_second_process().await;
            for _ in 0..4 {
                fixture.write(20).await;
                let (first, second) = tokio::join!(
                    fixture.checkpoint_signer.checkpoint(fixture.tenant()),
                    other_process.checkpoint(fixture.tenant())
                );
                assert_eq!(first.unwrap(), second.unwrap());
            }
            let sizes = checkpoint_sizes(&fixture).await;
            assert_eq!(sizes.len(), 4);
            let lines = std::fs::read_to_string(fixture.checkpoint_signer.file().path()).unwrap();
            assert_eq!(lines.lines().count(), 4, "who lost wrote no line");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn checkpoint_is_due_after_event_limit_or_age() {
        for fixture in fixtures().await {
            let due = async |events: i64, stale: Timestamp| {
                let due = move |sql: &mut quad_store::Snapshot<'_>| rows::tenants_due(sql, events, stale);
                let due = fixture.store().read(&TenantId::system(), due).await.unwrap();
                due.contains(fixture.tenant())
            };
            let (long_ago, now) = (Timestamp(0), || Timestamp::now().plus_ms(1));
            assert!(due(1_000, long_ago).await, "no checkpoint yet");
            let mut logged = HashSet::new();
            assert_eq!(fixture.checkpoint_signer.sign_due(&mut logged).await.unwrap(), 1);
            assert!(!due(1, now()).await, "nothing is new");
            assert_eq!(fixture.checkpoint_signer.sign_due(&mut logged).await.unwrap(), 0);
            fixture.write(5).await;
            assert!(!due(6, long_ago).await, "too few, too soon");
            assert!(due(5, long_ago).await, "enough");
            assert!(due(6, now()).await, "long enough ago");
            assert_eq!(
                fixture.checkpoint_signer.sign_due(&mut logged).await.unwrap(),
                0,
                "neither 1,000 events nor a minute"
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn broken_chain_is_not_signed() {
        for fixture in fixtures().await {
            fixture.write(30).await;
            fixture.tamper_event(17, "resources/read", "resources/list").await;
            let error = fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&18.into()), "its successor no longer follows");
            assert!(checkpoint_sizes(&fixture).await.is_empty());
            let mut logged = HashSet::new();
            assert_eq!(fixture.checkpoint_signer.sign_due(&mut logged).await.unwrap(), 0);
            assert!(logged.contains(fixture.tenant()));
        }
    }
}
