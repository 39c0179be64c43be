//! Making checkpoints, in any serving process.
//!
//! A process reads the new events in one snapshot, extends the tree, signs, and inserts the checkpoint under the next
//! number. If another process has inserted that number first, it has signed the same events, and only the signature
//! was wasted. [`checkpoint_schedule`](crate::checkpoint_schedule) decides when.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::{Error, Result, TenantId, Timestamp};
use quad_store::audit::checkpoint::{self, CheckpointRow};
use quad_store::audit::{block, checkpoint as rows};
use quad_store::{Sql, Store};

use crate::checkpoint::{Checkpoint, Statement};
use crate::checkpoint_file::{CheckpointFile, FileSync};
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
    /// Held while checkpoints are made and written to the file, so that the lines keep the order of the checkpoints.
    round: Arc<tokio::sync::Mutex<()>>,
}

/// When a checkpoint is due: after so many events, or if the last one is from this time or earlier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueRule {
    pub(crate) events: i64,
    pub(crate) made_before: Timestamp,
}

impl DueRule {
    /// Any new event is enough.
    pub(crate) const ALWAYS: DueRule = DueRule { events: 1, made_before: Timestamp(i64::MAX) };
}

/// The outcome of an attempt at a checkpoint.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// It was made. It must still be written to the file.
    Made(Checkpoint),
    /// None is due.
    NotDue,
    /// Another process has made it.
    MadeByOther,
}

/// What a snapshot says about the next checkpoint.
enum Draft {
    /// It is not due. The last one covers `size` events and was made at this time.
    NotDue { size: i64, made_at: Timestamp },
    /// It is due.
    Due(Box<CheckpointDraft>),
}

/// An unsigned checkpoint with its tree nodes.
struct CheckpointDraft {
    number: i64,
    previous: Option<Hash>,
    event_hash: Hash,
    tree: TreeAppender,
    /// Whether it covers every event of the snapshot.
    is_complete: bool,
}

impl CheckpointSigner {
    /// Creates a checkpoint signer that signs with `signer` and also appends to `file`.
    pub fn new(store: Store, signer: Arc<dyn Signer>, file: CheckpointFile) -> CheckpointSigner {
        CheckpointSigner { store, signer, file, round: Arc::default() }
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
            let _round = self.begin_round().await;
            if let Attempt::Made(checkpoint) = self.attempt(tenant, DueRule::ALWAYS).await? {
                self.write_to_file(vec![checkpoint], FileSync::Now).await?;
            }
        }
    }

    /// Waits until no other task of this process makes checkpoints.
    pub(crate) async fn begin_round(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.round.lock().await
    }

    /// Makes one checkpoint, if it is due. The caller writes it to the file.
    pub(crate) async fn attempt(&self, tenant: &TenantId, rule: DueRule) -> Result<Attempt> {
        let ends = self.store.chain_ends();
        let started = Instant::now();
        let draft = match self.store.read(tenant, move |sql| draft_checkpoint(sql, rule)).await? {
            Draft::NotDue { size, made_at } => {
                let age = u64::try_from(Timestamp::now().0 - made_at.0).unwrap_or(0);
                ends.record_checkpoint(tenant, size, started.checked_sub(Duration::from_millis(age)));
                return Ok(Attempt::NotDue);
            }
            Draft::Due(draft) => draft,
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
        let size = checkpoint.statement.size as i64;
        let row = CheckpointRow {
            number: draft.number,
            size,
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
        if !self.store.write_unaudited(tenant, insert).await? {
            return Ok(Attempt::MadeByOther);
        }
        ends.record_checkpoint(tenant, size, draft.is_complete.then_some(started));
        Ok(Attempt::Made(checkpoint))
    }

    /// Appends checkpoints to the file. They are in the database even if that fails; without the file they prove less.
    pub(crate) async fn write_to_file(&self, checkpoints: Vec<Checkpoint>, sync: FileSync) -> Result<()> {
        if checkpoints.is_empty() && (sync == FileSync::Later || !self.file.path().exists()) {
            return Ok(());
        }
        let file = self.file.clone();
        tokio::task::spawn_blocking(move || file.append(&checkpoints, sync)).await.map_err(Error::internal)?
    }
}

/// Computes the next checkpoint. Verifies the hash links of the new events: a broken chain is not signed.
fn draft_checkpoint(sql: &mut dyn Sql, rule: DueRule) -> Result<Draft> {
    let end = block::chain_end(sql)?;
    let last = rows::latest(sql)?;
    let (size, made_at) = last.as_ref().map_or((0, Timestamp(0)), |last| (last.size, last.created_at));
    // A time in the future is that of another node, whose clock is wrong.
    let is_recent = made_at > rule.made_before && made_at <= Timestamp::now();
    if end.sequence <= size || (end.sequence - size < rule.events && is_recent) {
        return Ok(Draft::NotDue { size, made_at });
    }
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
            let follows = match (&hash, block::previous_hash(record)) {
                (Some(hash), Some(text)) => hash.is_written_as(&text),
                (hash, text) => hash.is_none() && text.is_none(),
            };
            if !follows {
                let id = block::record_id(record).ok();
                return Err(chain_error::event(expected, id.as_deref(), "does not follow the one before it"));
            }
            let record_hash = Hash::compute(record.as_bytes());
            tree.add(&record_hash);
            hash = Some(record_hash);
        }
    }
    let event_hash = hash.ok_or_else(|| chain_error::event(to, None, "is missing"))?;
    let is_complete = tree.frontier.size() >= to;
    if tree.frontier.size() == to && end.hash.as_deref() != Some(event_hash.to_string().as_str()) {
        return Err(chain_error::event(to, None, "is not the one that the head names"));
    }
    Ok(Draft::Due(Box::new(CheckpointDraft { number, previous, event_hash, tree, is_complete })))
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
    async fn broken_chain_is_not_signed() {
        for fixture in fixtures().await {
            fixture.write(30).await;
            fixture.tamper_event(17, "resources/read", "resources/list").await;
            let error = fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&18.into()), "its successor no longer follows");
            assert!(checkpoint_sizes(&fixture).await.is_empty());
        }
    }
}
