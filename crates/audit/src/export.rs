//! Exporting a chain to a file, and verifying the stored chain.

use std::io::Write;

use quad_core::{Error, Result, TenantId};
use quad_store::SnapshotSource;
use quad_store::audit::{archive, block, checkpoint};
use ring::digest::{Context, SHA256};

use crate::chain_reader::{ChainItem, read_chain};
use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::TrustedCheckpoints;
use crate::checkpointer::CheckpointSigner;
use crate::export_format::{self, ExportAnchor, FileKind, Header, Trailer};
use crate::hash::Hash;
use crate::signer::Signer;
use crate::verify::{Report, Verifier};
use crate::{chain_error, tree_store};

/// The summary of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSummary {
    /// The sequence of the first event.
    pub first_sequence: u64,
    /// The sequence of the last event.
    pub last_sequence: u64,
    /// The SHA-256 of the file before its last line, which contains this hash.
    pub file_sha256: Hash,
}

/// The range of a stored chain.
#[derive(Clone, Debug)]
pub(crate) struct ChainRange {
    pub(crate) anchor: Option<ExportAnchor>,
    /// The sequence before the first stored event.
    pub(crate) after: i64,
    /// The last sequence.
    pub(crate) through: i64,
    /// The hash of the last event, from the head row.
    pub(crate) end_hash: Option<Hash>,
    /// The number of events that the newest checkpoint in the database covers.
    pub(crate) covered: i64,
}

/// Loads the current range of a tenant's stored chain.
pub(crate) async fn load_chain_range(store: &impl SnapshotSource, tenant: &TenantId) -> Result<ChainRange> {
    store
        .snapshot(tenant, |sql| {
            let end = block::chain_end(sql)?;
            let anchor = archive::archive_end(sql)?;
            let after = anchor.as_ref().map_or(0, |anchor| anchor.last_sequence);
            let anchor = anchor.map(|anchor| -> Result<ExportAnchor> {
                let frontier = tree_store::parse_frontier(anchor.last_sequence, &anchor.frontier)?;
                Ok(ExportAnchor { checkpoint: Checkpoint::from_db(&anchor.body)?, frontier })
            });
            let end_hash = end.hash.as_deref().and_then(Hash::parse);
            let covered = checkpoint::latest(sql)?.map_or(0, |row| row.size);
            Ok(ChainRange { anchor: anchor.transpose()?, after, through: end.sequence, end_hash, covered })
        })
        .await
}

/// Makes a checkpoint, then writes the tenant's stored chain with its checkpoints to `out`. `progress` gets the
/// number of finished events and their total.
pub async fn export(
    checkpoint_signer: &CheckpointSigner,
    tenant: &TenantId,
    out: &mut impl Write,
    mut progress: impl FnMut(u64, u64),
) -> Result<ExportSummary> {
    checkpoint_signer.checkpoint(tenant).await?;
    let ChainRange { anchor, after, through, end_hash, .. } =
        load_chain_range(checkpoint_signer.store(), tenant).await?;
    let header = Header { kind: FileKind::Export, tenant: tenant.as_str().to_owned(), anchor };
    let mut writer = ExportWriter::new(out, &header)?;
    let total = (through - after) as u64;
    let mut done = 0;
    let sink = |item| {
        if let ChainItem::Event(_) = &item {
            done += 1;
            progress(done, total);
        }
        writer.write_item(&item)
    };
    read_chain(checkpoint_signer.store(), tenant, after, through, sink).await?;
    // A file must not say that the chain ends earlier than it does.
    if (writer.last, writer.hash) != (through as u64, end_hash) {
        return Err(chain_error::event(
            writer.last + 1,
            None,
            "is missing or changed: the head names other events",
        ));
    }
    writer.finish(checkpoint_signer.signer())
}

/// Verifies a tenant's stored chain, in the store or in a copy of the database. `progress` gets the number of finished
/// events and their total.
pub async fn verify_stored(
    store: &impl SnapshotSource,
    tenant: &TenantId,
    trusted: Option<TrustedCheckpoints>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Report> {
    let ChainRange { anchor, after, through, end_hash, covered } = load_chain_range(store, tenant).await?;
    let mut verifier = Verifier::new(trusted);
    verifier.begin_file(&Header { kind: FileKind::Export, tenant: tenant.as_str().to_owned(), anchor })?;
    let total = (through - after) as u64;
    let mut done = 0;
    let sink = |item| match item {
        ChainItem::Event(entry) => {
            done += 1;
            progress(done, total);
            verifier.add_event(entry)
        }
        ChainItem::Checkpoint(checkpoint) => verifier.add_checkpoint(&checkpoint),
    };
    read_chain(store, tenant, after, through, sink).await?;
    verifier.check_end(through as u64, end_hash)?;
    if covered > through {
        let reason = format!("is missing: a checkpoint in the database covers {covered} events");
        return Err(chain_error::event(through as u64 + 1, None, &reason));
    }
    verifier.finish()
}

/// Writes an export or archive.
pub(crate) struct ExportWriter<'o, W> {
    out: &'o mut W,
    digest: Context,
    first: Option<u64>,
    last: u64,
    hash: Option<Hash>,
}

impl<'o, W: Write> ExportWriter<'o, W> {
    pub(crate) fn new(out: &'o mut W, header: &Header) -> Result<ExportWriter<'o, W>> {
        let anchor = header.anchor.as_ref().map(|start| &start.checkpoint.statement);
        let mut writer = ExportWriter {
            out,
            digest: Context::new(&SHA256),
            first: None,
            last: anchor.map_or(0, |start| start.size),
            hash: anchor.map(|start| start.event_hash),
        };
        writer.write_line(&header.to_line())?;
        Ok(writer)
    }

    pub(crate) fn write_item(&mut self, item: &ChainItem) -> Result<()> {
        match item {
            ChainItem::Event(entry) => {
                self.first.get_or_insert(entry.sequence);
                self.last = entry.sequence;
                self.hash = Some(entry.claimed_hash);
                self.write_line(&export_format::format_event(entry))
            }
            ChainItem::Checkpoint(checkpoint) => {
                self.write_line(&export_format::format_checkpoint(checkpoint))
            }
        }
    }

    pub(crate) fn finish(mut self, signer: &dyn Signer) -> Result<ExportSummary> {
        let digest = self.digest.clone().finish();
        let file_sha256 = Hash::from_slice(digest.as_ref())
            .ok_or_else(|| Error::internal("a SHA-256 digest does not have 32 bytes"))?;
        self.write_line(&Trailer::sign(self.last, self.hash, file_sha256, signer).to_line())?;
        self.out.flush().map_err(write_error)?;
        let first_sequence = self.first.unwrap_or(self.last + 1);
        Ok(ExportSummary { first_sequence, last_sequence: self.last, file_sha256 })
    }

    fn write_line(&mut self, line: &str) -> Result<()> {
        let line = format!("{line}\n");
        self.digest.update(line.as_bytes());
        self.out.write_all(line.as_bytes()).map_err(write_error)
    }
}

fn write_error(error: std::io::Error) -> Error {
    Error::bad_input(format!("The file cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ChainFixture, fixtures};

    async fn export_to_bytes(fixture: &ChainFixture) -> Vec<u8> {
        let mut out = Vec::new();
        export(&fixture.checkpoint_signer, fixture.tenant(), &mut out, |_, _| {}).await.unwrap();
        out
    }

    fn verify(file: &[u8], trusted: Option<TrustedCheckpoints>) -> Result<Report> {
        let mut verifier = Verifier::new(trusted);
        verifier.verify_file(file, |_| {})?;
        verifier.finish()
    }

    async fn verify_database(fixture: &ChainFixture, trusted: Option<TrustedCheckpoints>) -> Result<Report> {
        verify_stored(fixture.store(), fixture.tenant(), trusted, |_, _| {}).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn export_contains_stored_chain_and_verifies_offline() {
        for fixture in fixtures().await {
            fixture.write(90).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            fixture.write(60).await;
            let file = export_to_bytes(&fixture).await;
            let mut progress = Vec::new();
            let trusted = Some(fixture.trusted_checkpoints());
            let stored = verify_stored(fixture.store(), fixture.tenant(), trusted, |done, of| {
                progress.push((done, of))
            })
            .await;
            let (stored, offline) =
                (stored.unwrap(), verify(&file, Some(fixture.trusted_checkpoints())).unwrap());
            let end = fixture.last_sequence().await as u64;
            assert_eq!((offline.first_sequence, offline.last_sequence, offline.covered_to), (1, end, end));
            assert_eq!((offline.checkpoints, offline.trusted_matched), (2, 2));
            assert_eq!((stored.last_hash, stored.checkpoints), (offline.last_hash, 2));
            assert_eq!(progress.last(), Some(&(end, end)));
            // The events are the stored records, byte for byte.
            let text = String::from_utf8(file).unwrap();
            for sequence in [1, 57, end as i64] {
                assert!(text.contains(&fixture.record(sequence).await.unwrap()));
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn changed_event_is_detected_in_database_and_export() {
        for fixture in fixtures().await {
            fixture.write(80).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            fixture.tamper_event(33, "resources/read", "resources/list").await;
            let error = verify_database(&fixture, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&33.into()), "{error}");
            let record: serde_json::Value = serde_json::from_str(&fixture.record(33).await.unwrap()).unwrap();
            assert_eq!(error.detail("event"), Some(&record["id"]));
            let error = verify(&export_to_bytes(&fixture).await, None).unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&33.into()), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn damaged_compressed_block_names_its_first_event() {
        for fixture in fixtures().await {
            fixture.write(80).await;
            let blocks = fixture
                .store()
                .read(fixture.tenant(), |sql| quad_store::audit::block::blocks_up_to(sql, 33, 1));
            let first = blocks.await.unwrap()[0].first_sequence;
            let damage =
                "UPDATE audit_block SET body = '', packed = $3 WHERE tenant_id = $1 AND first_sequence = $2";
            fixture.tamper(damage, vec![first.into(), vec![9_u8, 0, 0, 0, 7, 7].into()]).await;
            let error = verify_database(&fixture, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&first.into()), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn changed_previous_hash_names_that_event() {
        for fixture in fixtures().await {
            fixture.write(40).await;
            let hash = quad_store::hash_record(&fixture.record(20).await.unwrap());
            fixture.tamper_event(21, &hash, &Hash::compute(b"other").to_string()).await;
            let error = verify_database(&fixture, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&21.into()), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn removed_middle_and_removed_tail_are_detected() {
        for fixture in fixtures().await {
            fixture.write(60).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            let last_sequence = fixture.last_sequence().await;
            let last_blocks = fixture.store().read(fixture.tenant(), move |sql| {
                quad_store::audit::block::blocks_up_to(sql, last_sequence, 2)
            });
            let last_blocks = last_blocks.await.unwrap();
            let (last, before) = (last_blocks[0].first_sequence, last_blocks[1].first_sequence);
            // Removes the tail and adapts the head row: only the checkpoint that covered the tail detects it.
            let hash = quad_store::hash_record(&fixture.record(last - 1).await.unwrap());
            let delete = "DELETE FROM audit_block WHERE tenant_id = $1 AND first_sequence = $2";
            fixture.tamper(delete, vec![last.into()]).await;
            let error = verify_database(&fixture, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&last.into()), "the head knows better: {error}");
            let mut file = Vec::new();
            let exported = export(&fixture.checkpoint_signer, fixture.tenant(), &mut file, |_, _| {}).await;
            let error = exported.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&last.into()), "no shorter chain is signed: {error}");
            let cut_head = "UPDATE head SET sequence = $2, hash = $3 WHERE tenant_id = $1";
            fixture.tamper(cut_head, vec![(last - 1).into(), hash.into()]).await;
            let error = verify_database(&fixture, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&last.into()), "a checkpoint is left: {error}");
            fixture
                .tamper("DELETE FROM audit_checkpoint WHERE tenant_id = $1 AND size >= $2", vec![last.into()])
                .await;
            assert!(verify_database(&fixture, None).await.is_ok());
            let error = verify_database(&fixture, Some(fixture.trusted_checkpoints())).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&last.into()), "{error}");
            // Removes events from the middle.
            fixture.write(1).await;
            fixture.tamper(delete, vec![before.into()]).await;
            let error = verify_database(&fixture, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&before.into()), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn export_contains_only_events_of_its_tenant() {
        for fixture in fixtures().await {
            let other_tenant = quad_store::tenant::create(fixture.store(), "other").await.unwrap();
            crate::testing::write_events(fixture.store(), &other_tenant.id, 20).await;
            fixture.write(20).await;
            let text = String::from_utf8(export_to_bytes(&fixture).await).unwrap();
            assert!(!text.contains(other_tenant.id.as_str()));
        }
    }
}
