//! What this crate's tests share: a key, and a chain on every backend that this machine offers.

use std::sync::Arc;

use quad_core::{EventDraft, AuditLog as _, TenantId, Timestamp, canonical};
use quad_store::audit::block;
use quad_store::testing::{TestStore, stores};
use quad_store::{Store, Tx, Value};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use crate::checkpoint::{Checkpoint, Statement};
use crate::checkpoint_file::{CheckpointFile, Pins};
use crate::export::ExportFile;
use crate::hash::Hash;
use crate::keeper::Keeper;
use crate::lines::{FileKind, Header, Last, Start};
use crate::merkle::Frontier;
use crate::signer::{Signed, Signer};
use crate::stream::{Entry, Item};
use crate::tree;

/// A key of the tests' own.
pub(crate) struct Key(Ed25519KeyPair);

impl Key {
    pub(crate) fn new(seed: u8) -> Key {
        Key(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }
}

impl Signer for Key {
    fn sign(&self, message: &[u8]) -> Signed {
        Signed {
            public_key: self.0.public_key().as_ref().to_vec(),
            signature: self.0.sign(message).as_ref().to_vec(),
        }
    }
}

/// A keeper on an empty database, and what must outlive it.
pub(crate) struct World {
    pub(crate) test: TestStore,
    pub(crate) keeper: Keeper,
    pub(crate) folder: tempfile::TempDir,
}

/// One on each backend that this machine offers.
pub(crate) async fn worlds() -> Vec<World> {
    let mut worlds = Vec::new();
    for test in stores(&[]).await.unwrap() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(test.store.clone(), &folder);
        worlds.push(World { test, keeper, folder });
    }
    worlds
}

fn keeper(store: Store, folder: &tempfile::TempDir) -> Keeper {
    Keeper::new(store, Arc::new(Key::new(1)), CheckpointFile::in_folder(folder.path()))
}

impl World {
    pub(crate) fn store(&self) -> &Store {
        &self.test.store
    }

    pub(crate) fn tenant(&self) -> &TenantId {
        &self.test.tenant
    }

    pub(crate) async fn write(&self, events: usize) {
        write_events(self.store(), self.tenant(), events).await;
    }

    /// The keeper of another process on the same data.
    pub(crate) async fn another_process(&self) -> Keeper {
        keeper(Store::open(self.test.location.clone(), &[]).await.unwrap(), &self.folder)
    }

    pub(crate) fn pins(&self) -> Pins {
        Pins::read(std::fs::read(self.keeper.file().path()).unwrap().as_slice()).unwrap()
    }

    /// How many events the chain has.
    pub(crate) async fn end(&self) -> i64 {
        self.store().read(self.tenant(), |sql| block::chain_end(sql)).await.unwrap().sequence
    }

    pub(crate) async fn record(&self, sequence: i64) -> Option<String> {
        self.store().read(self.tenant(), move |sql| block::record_at(sql, sequence)).await.unwrap()
    }

    /// Does to the database what nobody should.
    pub(crate) async fn tamper(&self, sql: &str, more: Vec<Value>) {
        let (sql, tenant) = (sql.to_owned(), self.tenant().as_str().to_owned());
        let change = move |tx: &mut Tx<'_>| {
            let values = [vec![Value::from(tenant.as_str())], more.clone()].concat();
            assert!(tx.execute(&sql, &values)? > 0, "{sql}");
            Ok(())
        };
        self.store().write_unaudited(self.tenant(), change).await.unwrap();
    }

    /// Replaces a piece of one event's record.
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

/// An event as a read leaves it.
pub(crate) fn reading(actor: &str, uri: &str) -> EventDraft {
    let draft = EventDraft::system("agent", quad_core::event::MCP_CALL, actor);
    let draft = draft.input("method", "resources/read").input("uri", uri).succeeded();
    draft.output("content_hash", quad_core::canonical::sha256_hex(uri.as_bytes())).output("version", 0_i64)
}

/// Writes so many events, several at once, so that blocks have different sizes.
pub(crate) async fn write_events(store: &Store, tenant: &TenantId, count: usize) {
    let mut left = count;
    let mut group = 1;
    while left > 0 {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..group.min(left) {
            let (store, tenant) = (store.clone(), tenant.clone());
            tasks.spawn(async move {
                let event = reading(&format!("agent_{}", number % 3), &format!("bkend://orgs/org_{number}"));
                store.append(&tenant, event, Vec::new()).await.unwrap();
            });
        }
        left -= group.min(left);
        group = group % 40 + 7;
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    }
}

/// An export in memory, without a database, that tests can bend.
#[derive(Clone)]
pub(crate) struct Export {
    pub(crate) start: Option<Start>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    end: String,
}

impl Export {
    /// So many events, with a checkpoint after every few and after the last.
    pub(crate) fn new(events: usize, every: usize, key: &Key) -> Export {
        Export::rewritten(events, every, key, usize::MAX)
    }

    /// The same with another event at one place, and everything after it made to fit.
    pub(crate) fn rewritten(events: usize, every: usize, key: &Key, changed: usize) -> Export {
        let mut export =
            Export { start: None, entries: Vec::new(), checkpoints: Vec::new(), end: String::new() };
        let mut frontier = Frontier::default();
        let mut previous: Option<Hash> = None;
        for index in 0..events {
            let actor = if index == changed { "somebody else" } else { "agent_1" };
            let record = canonical::to_string(&json!({
                "id": format!("evt_{index:026}"),
                "tenant_id": "tnt_1",
                "actor": actor,
                "inputs": {"uri": format!("bkend://orgs/ö\"{index}")},
                "prev_event_hash": previous,
            }));
            let hash = Hash::of(record.as_bytes());
            frontier.append(tree::leaf(&hash), |_| {});
            previous = Some(hash);
            export.entries.push(Entry { sequence: index as u64 + 1, claimed: hash, record });
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
        export.sign_end(key);
        export
    }

    /// The archive up to a place, and the rest behind it.
    pub(crate) fn cut(&self, place: usize, key: &Key) -> (Export, Export) {
        let mut frontier = Frontier::default();
        self.entries[..place].iter().for_each(|entry| frontier.append(tree::leaf(&entry.claimed), |_| {}));
        let (before, after): (Vec<_>, Vec<_>) = self
            .checkpoints
            .iter()
            .cloned()
            .partition(|checkpoint| checkpoint.statement.size <= place as u64);
        let anchor = Statement {
            tenant: "tnt_1".to_owned(),
            size: place as u64,
            root: frontier.root(),
            event_hash: self.entries[place - 1].claimed,
            previous: before.last().map(Checkpoint::hash),
            time: Timestamp(0),
        };
        let start = Start { checkpoint: anchor.sign(key), frontier };
        let mut archive =
            Export { entries: self.entries[..place].to_vec(), checkpoints: before, ..self.clone() };
        let mut rest = Export {
            start: Some(start),
            entries: self.entries[place..].to_vec(),
            checkpoints: after,
            end: String::new(),
        };
        archive.sign_end(key);
        rest.sign_end(key);
        (archive, rest)
    }

    /// Writes the last line anew, over the rest as it is now.
    pub(crate) fn sign_end(&mut self, key: &Key) {
        self.end.clear();
        let start = self.start.as_ref().map(|start| &start.checkpoint.statement);
        let (last, hash) = match self.entries.last() {
            Some(entry) => (entry.sequence, Some(entry.claimed)),
            None => (start.map_or(0, |start| start.size), start.map(|start| start.event_hash)),
        };
        let line = Last::sign(last, hash, Hash::of(self.text().as_bytes()), key).line();
        self.end = line + "\n";
    }

    pub(crate) fn text(&self) -> String {
        let header = Header { kind: FileKind::Export, tenant: "tnt_1".to_owned(), start: self.start.clone() };
        let mut out = Vec::new();
        let mut file = ExportFile::new(&mut out, &header).unwrap();
        for entry in &self.entries {
            file.item(&Item::Event(entry.clone())).unwrap();
            let here =
                self.checkpoints.iter().filter(|checkpoint| checkpoint.statement.size == entry.sequence);
            here.for_each(|checkpoint| file.item(&Item::Checkpoint(checkpoint.clone())).unwrap());
        }
        String::from_utf8(out).unwrap() + &self.end
    }
}
