//! Shared test helpers: a key, and a chain on every available backend.

use std::sync::Arc;

use quad_core::{AuditLog as _, EventDraft, ReadSets, TenantId, Timestamp, canonical};
use quad_store::audit::block;
use quad_store::testing::{TestStore, stores};
use quad_store::{Store, Tx, Value};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use crate::chain_reader::{ChainEntry, ChainItem};
use crate::checkpoint::{Checkpoint, Statement};
use crate::checkpoint_file::{CheckpointFile, TrustedCheckpoints};
use crate::checkpointer::CheckpointSigner;
use crate::export::ExportWriter;
use crate::export_format::{ExportAnchor, FileKind, Header, Trailer};
use crate::hash::Hash;
use crate::merkle::Frontier;
use crate::signer::{SignatureWithKey, Signer};
use crate::tree_store;

/// A signing key for tests.
pub(crate) struct TestKey(Ed25519KeyPair);

impl TestKey {
    pub(crate) fn new(seed: u8) -> TestKey {
        TestKey(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }
}

impl Signer for TestKey {
    fn sign(&self, message: &[u8]) -> SignatureWithKey {
        SignatureWithKey {
            public_key: self.0.public_key().as_ref().to_vec(),
            signature: self.0.sign(message).as_ref().to_vec(),
        }
    }
}

/// A checkpoint signer on an empty database, with what must outlive it.
pub(crate) struct ChainFixture {
    pub(crate) test_store: TestStore,
    pub(crate) checkpoint_signer: CheckpointSigner,
    pub(crate) folder: tempfile::TempDir,
}

/// One fixture on each available backend.
pub(crate) async fn fixtures() -> Vec<ChainFixture> {
    let mut fixtures = Vec::new();
    for test_store in stores(&[]).await.unwrap() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint_signer = new_checkpoint_signer(test_store.store.clone(), &folder);
        fixtures.push(ChainFixture { test_store, checkpoint_signer, folder });
    }
    fixtures
}

fn new_checkpoint_signer(store: Store, folder: &tempfile::TempDir) -> CheckpointSigner {
    CheckpointSigner::new(store, Arc::new(TestKey::new(1)), CheckpointFile::in_folder(folder.path()))
}

impl ChainFixture {
    pub(crate) fn store(&self) -> &Store {
        &self.test_store.store
    }

    pub(crate) fn tenant(&self) -> &TenantId {
        &self.test_store.tenant
    }

    pub(crate) async fn write(&self, events: usize) {
        write_events(self.store(), self.tenant(), events).await;
    }

    pub(crate) async fn append(&self, event: EventDraft) {
        self.store().append(self.tenant(), event, ReadSets::new(), None).await.unwrap();
    }

    /// The checkpoint signer of another process on the same data.
    pub(crate) async fn open_second_process(&self) -> CheckpointSigner {
        new_checkpoint_signer(Store::open(self.test_store.location.clone(), &[]).await.unwrap(), &self.folder)
    }

    pub(crate) fn trusted_checkpoints(&self) -> TrustedCheckpoints {
        TrustedCheckpoints::read(std::fs::read(self.checkpoint_signer.file().path()).unwrap().as_slice())
            .unwrap()
    }

    /// The sequence of the last event.
    pub(crate) async fn last_sequence(&self) -> i64 {
        self.store().read(self.tenant(), |sql| block::chain_end(sql)).await.unwrap().sequence
    }

    pub(crate) async fn record(&self, sequence: i64) -> Option<String> {
        self.store().read(self.tenant(), move |sql| block::record_at(sql, sequence)).await.unwrap()
    }

    /// Changes rows without the store, as an attacker with access to the database would.
    pub(crate) async fn tamper(&self, sql: &str, more: Vec<Value>) {
        let (sql, tenant) = (sql.to_owned(), self.tenant().as_str().to_owned());
        let change = move |tx: &mut Tx<'_>| {
            let values = [vec![Value::from(tenant.as_str())], more.clone()].concat();
            assert!(tx.execute(&sql, &values)? > 0, "{sql}");
            Ok(())
        };
        self.store().write_unaudited(self.tenant(), change).await.unwrap();
    }

    /// Replaces a part of one event's record.
    pub(crate) async fn tamper_event(&self, sequence: i64, old: &str, new: &str) {
        let blocks =
            self.store().read(self.tenant(), move |sql| block::blocks_up_to(sql, sequence, 1)).await.unwrap();
        let mut records: Vec<String> = blocks[0].records().map(|(_, record)| record.to_owned()).collect();
        let record = &mut records[(sequence - blocks[0].first_sequence) as usize];
        assert!(record.contains(old), "{record}");
        *record = record.replace(old, new);
        self.tamper(
            "UPDATE audit_block SET body = $3, packed = NULL WHERE tenant_id = $1 AND first_sequence = $2",
            vec![Value::Int(blocks[0].first_sequence), records.join("\n").into()],
        )
        .await;
    }
}

/// The event of a read.
pub(crate) fn read_event(actor: &str, uri: &str) -> EventDraft {
    let draft = EventDraft::system("agent", quad_core::event::MCP_CALL, actor);
    let draft = draft.input("method", "resources/read").input("uri", uri).succeeded();
    draft.output("content_hash", quad_core::canonical::sha256_hex(uri.as_bytes())).output("version", 0_i64)
}

/// Writes `count` events, some concurrently, so that blocks have different sizes.
pub(crate) async fn write_events(store: &Store, tenant: &TenantId, count: usize) {
    let mut remaining = count;
    let mut batch = 1;
    while remaining > 0 {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..batch.min(remaining) {
            let (store, tenant) = (store.clone(), tenant.clone());
            tasks.spawn(async move {
                let event =
                    read_event(&format!("agent_{}", number % 3), &format!("bkend://orgs/org_{number}"));
                store.append(&tenant, event, ReadSets::new(), None).await.unwrap();
            });
        }
        remaining -= batch.min(remaining);
        batch = batch % 40 + 7;
        while let Some(result) = tasks.join_next().await {
            result.unwrap();
        }
    }
}

/// An export in memory that tests can modify, made without a database.
#[derive(Clone)]
pub(crate) struct TestExport {
    pub(crate) anchor: Option<ExportAnchor>,
    pub(crate) entries: Vec<ChainEntry>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    trailer: String,
}

impl TestExport {
    /// An export of `events` events, with a checkpoint after `every` events and after the last.
    pub(crate) fn new(events: usize, every: usize, key: &TestKey) -> TestExport {
        TestExport::with_changed_event(events, every, key, usize::MAX)
    }

    /// The same export with a different event at one index; everything after it is recomputed to match.
    pub(crate) fn with_changed_event(
        events: usize,
        every: usize,
        key: &TestKey,
        changed_index: usize,
    ) -> TestExport {
        let mut export =
            TestExport { anchor: None, entries: Vec::new(), checkpoints: Vec::new(), trailer: String::new() };
        let mut frontier = Frontier::default();
        let mut previous: Option<Hash> = None;
        for index in 0..events {
            let actor = if index == changed_index { "somebody else" } else { "agent_1" };
            let record = canonical::to_string(&json!({
                "id": format!("evt_{index:026}"),
                "tenant_id": "tnt_1",
                "actor": actor,
                "inputs": {"uri": format!("bkend://orgs/ö\"{index}")},
                "prev_event_hash": previous,
            }));
            let hash = Hash::compute(record.as_bytes());
            frontier.append(tree_store::event_leaf_hash(&hash), |_| {});
            previous = Some(hash);
            export.entries.push(ChainEntry { sequence: index as u64 + 1, claimed_hash: hash, record });
            if (index + 1) % every == 0 || index + 1 == events {
                let statement = Statement {
                    tenant: "tnt_1".to_owned(),
                    size: frontier.size(),
                    root: frontier.root(),
                    event_hash: hash,
                    previous: export.checkpoints.last().map(Checkpoint::hash),
                    time: Timestamp(0),
                };
                export.checkpoints.push(statement.sign(key));
            }
        }
        export.sign_trailer(key);
        export
    }

    /// The archive up to a sequence, and the remainder.
    pub(crate) fn split_at(&self, sequence: usize, key: &TestKey) -> (TestExport, TestExport) {
        let mut frontier = Frontier::default();
        self.entries[..sequence]
            .iter()
            .for_each(|entry| frontier.append(tree_store::event_leaf_hash(&entry.claimed_hash), |_| {}));
        let (before, after): (Vec<_>, Vec<_>) = self
            .checkpoints
            .iter()
            .cloned()
            .partition(|checkpoint| checkpoint.statement.size <= sequence as u64);
        let statement = Statement {
            tenant: "tnt_1".to_owned(),
            size: sequence as u64,
            root: frontier.root(),
            event_hash: self.entries[sequence - 1].claimed_hash,
            previous: before.last().map(Checkpoint::hash),
            time: Timestamp(0),
        };
        let anchor = ExportAnchor { checkpoint: statement.sign(key), frontier };
        let mut archive =
            TestExport { entries: self.entries[..sequence].to_vec(), checkpoints: before, ..self.clone() };
        let mut remainder = TestExport {
            anchor: Some(anchor),
            entries: self.entries[sequence..].to_vec(),
            checkpoints: after,
            trailer: String::new(),
        };
        archive.sign_trailer(key);
        remainder.sign_trailer(key);
        (archive, remainder)
    }

    /// Signs the last line again, over the current contents.
    pub(crate) fn sign_trailer(&mut self, key: &TestKey) {
        self.trailer.clear();
        let anchor = self.anchor.as_ref().map(|start| &start.checkpoint.statement);
        let (last, hash) = match self.entries.last() {
            Some(entry) => (entry.sequence, Some(entry.claimed_hash)),
            None => (anchor.map_or(0, |start| start.size), anchor.map(|start| start.event_hash)),
        };
        let line = Trailer::sign(last, hash, Hash::compute(self.text().as_bytes()), key).to_line();
        self.trailer = line + "\n";
    }

    pub(crate) fn text(&self) -> String {
        let header =
            Header { kind: FileKind::Export, tenant: "tnt_1".to_owned(), anchor: self.anchor.clone() };
        let mut out = Vec::new();
        let mut file = ExportWriter::new(&mut out, &header).unwrap();
        for entry in &self.entries {
            file.write_item(&ChainItem::Event(entry.clone())).unwrap();
            let checkpoints =
                self.checkpoints.iter().filter(|checkpoint| checkpoint.statement.size == entry.sequence);
            checkpoints
                .for_each(|checkpoint| file.write_item(&ChainItem::Checkpoint(checkpoint.clone())).unwrap());
        }
        String::from_utf8(out).unwrap() + &self.trailer
    }
}
