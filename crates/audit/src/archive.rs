//! Archives: moving the oldest part of a chain into a file.
//!
//! The file is written first, then read back and verified. Then one transaction advances the start of the stored
//! chain and records that in the chain itself. After that the blocks are deleted in batches. The remaining chain
//! begins with a signed anchor, so it can be verified alone or together with the archive.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use quad_core::{Error, EventDraft, Kind, Result, TenantId, Timestamp};
use quad_store::audit::archive::{self as rows, ArchiveEnd};
use quad_store::audit::{checkpoint, time_search};
use quad_store::{Tx, WriteContext};

use crate::chain_reader::{ChainItem, read_chain};
use crate::checkpoint::{Checkpoint, Statement};
use crate::checkpointer::CheckpointSigner;
use crate::export::{ExportSummary, ExportWriter, load_chain_range};
use crate::export_format::{FileKind, Header};
use crate::verify::Verifier;

/// Moves the whole blocks before `before` into a new file. `None` if there are none. `progress` gets the number of
/// finished events and their total.
pub async fn archive(
    checkpoint_signer: &CheckpointSigner,
    tenant: &TenantId,
    before: Timestamp,
    to_file: &Path,
    actor: &str,
    mut progress: impl FnMut(u64, u64),
) -> Result<Option<ExportSummary>> {
    let store = checkpoint_signer.store();
    // A checkpoint that stays must cover the events that are archived.
    let latest_size =
        checkpoint_signer.checkpoint(tenant).await?.map_or(0, |latest| latest.statement.size as i64);
    // Completes an earlier archive that was interrupted.
    prune_archived_blocks(checkpoint_signer, tenant).await?;
    let range = load_chain_range(store, tenant).await?;
    let cut =
        store.read(tenant, move |sql| time_search::last_sequence_before(sql, before)).await?.min(latest_size);
    if cut <= range.after {
        return Ok(None);
    }
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to_file);
    let file = file.map_err(|error| {
        let hint = format!("Choose a new file in an existing folder: {error}");
        Error::bad_input(format!("{} cannot be created", to_file.display())).hint(hint)
    })?;
    let header =
        Header { kind: FileKind::Archive, tenant: tenant.as_str().to_owned(), anchor: range.anchor.clone() };
    let mut out = BufWriter::new(&file);
    let mut export_writer = ExportWriter::new(&mut out, &header)?;
    let total = (cut - range.after) as u64;
    let mut done = 0;
    let sink = |item| {
        if let ChainItem::Event(_) = &item {
            done += 1;
            progress(done, total);
        }
        export_writer.write_item(&item)
    };
    read_chain(store, tenant, range.after, cut, sink).await?;
    let exported = export_writer.finish(checkpoint_signer.signer())?;
    drop(out);
    file.sync_all().map_err(Error::internal)?;
    let anchor = verify_archive(checkpoint_signer, tenant, to_file, cut).await?;
    advance_archive_start(checkpoint_signer, tenant, range.after, anchor, before, actor, &exported).await?;
    prune_archived_blocks(checkpoint_signer, tenant).await?;
    Ok(Some(exported))
}

/// Reads the file back and verifies it; only events that it contains are deleted from the database. Returns the
/// anchor of the remaining chain.
async fn verify_archive(
    checkpoint_signer: &CheckpointSigner,
    tenant: &TenantId,
    file: &Path,
    cut: i64,
) -> Result<ArchiveEnd> {
    let mut verifier = Verifier::new(None);
    verifier.verify_file(BufReader::new(File::open(file).map_err(Error::internal)?), |_| {})?;
    let frontier = verifier.frontier()?;
    let report = verifier.finish()?;
    let event_hash = report.last_hash.filter(|_| report.last_sequence as i64 == cut);
    let event_hash =
        event_hash.ok_or_else(|| Error::internal("the archive ends at another event than planned"))?;
    let previous =
        checkpoint_signer.store().read(tenant, move |sql| checkpoint::latest_within(sql, cut)).await?;
    let previous = previous.map(|row| Checkpoint::from_db(&row.body)).transpose()?;
    let statement = Statement {
        tenant: tenant.as_str().to_owned(),
        size: frontier.size(),
        root: frontier.root(),
        event_hash,
        previous: previous.map(|previous| previous.hash()),
        time: Timestamp::now(),
    };
    let body = statement.sign(checkpoint_signer.signer()).to_line();
    Ok(ArchiveEnd { last_sequence: cut, frontier: frontier.to_bytes(), body })
}

async fn advance_archive_start(
    checkpoint_signer: &CheckpointSigner,
    tenant: &TenantId,
    from: i64,
    anchor: ArchiveEnd,
    before: Timestamp,
    actor: &str,
    exported: &ExportSummary,
) -> Result<()> {
    let event = EventDraft::system("audit", "audit.archived", actor)
        .input("before", before.to_string())
        .output("first_sequence", exported.first_sequence)
        .output("last_sequence", exported.last_sequence)
        .output("file_sha256", exported.file_sha256.to_string());
    let advance = move |tx: &mut Tx<'_>| match rows::advance(tx, from, &anchor)? {
        true => Ok(()),
        false => Err(Error::new(
            Kind::Conflict,
            "CONFLICT",
            "Another process archived this chain at the same time",
        )
        .hint("Delete this file: the archive of the other process contains the events")),
    };
    checkpoint_signer.store().write(&WriteContext::from(tenant), event, advance).await?;
    Ok(())
}

/// Deletes the events before the start of the stored chain.
async fn prune_archived_blocks(checkpoint_signer: &CheckpointSigner, tenant: &TenantId) -> Result<()> {
    while checkpoint_signer.store().write_unaudited(tenant, rows::prune).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{export, verify_stored};
    use crate::testing::{ChainFixture, fixtures};
    use crate::verify::Report;
    use crate::{TrustedCheckpoints, proof};

    /// Moves the times of all blocks into the past.
    async fn age_blocks(fixture: &ChainFixture) {
        let age = "UPDATE audit_block SET created_at = created_at - $2 WHERE tenant_id = $1";
        fixture.tamper(age, vec![3_600_000.into()]).await;
    }

    async fn archive_old(fixture: &ChainFixture, name: &str) -> Result<Option<ExportSummary>> {
        let before = Timestamp::now().plus_ms(-1_800_000);
        archive(
            &fixture.checkpoint_signer,
            fixture.tenant(),
            before,
            &fixture.folder.path().join(name),
            "tester",
            |_, _| {},
        )
        .await
    }

    fn verify(fixture: &ChainFixture, files: &[&str], trusted: Option<TrustedCheckpoints>) -> Result<Report> {
        let mut verifier = Verifier::new(trusted);
        for file in files {
            verifier
                .verify_file(std::fs::read(fixture.folder.path().join(file)).unwrap().as_slice(), |_| {})?;
        }
        verifier.finish()
    }

    async fn export_remainder(fixture: &ChainFixture, name: &str) {
        let mut file = File::create(fixture.folder.path().join(name)).unwrap();
        export(&fixture.checkpoint_signer, fixture.tenant(), &mut file, |_, _| {}).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn archived_chain_verifies_in_parts_and_as_a_whole() {
        for fixture in fixtures().await {
            assert_eq!(archive_old(&fixture, "none").await.unwrap(), None);
            assert!(!fixture.folder.path().join("none").exists());
            fixture.write(100).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            fixture.write(300).await;
            let first_cut = fixture.last_sequence().await as u64;
            age_blocks(&fixture).await;
            fixture.write(50).await;
            let archived = archive_old(&fixture, "one").await.unwrap().unwrap();
            assert_eq!((archived.first_sequence, archived.last_sequence), (1, first_cut));
            fixture.write(30).await;
            let second_cut = fixture.last_sequence().await as u64;
            age_blocks(&fixture).await;
            fixture.write(400).await;
            let archived = archive_old(&fixture, "two").await.unwrap().unwrap();
            assert_eq!((archived.first_sequence, archived.last_sequence), (first_cut + 1, second_cut));
            export_remainder(&fixture, "rest").await;
            let end = fixture.last_sequence().await as u64;

            let span = |report: Report| (report.first_sequence, report.last_sequence);
            let trusted = || Some(fixture.trusted_checkpoints());
            assert_eq!(span(verify(&fixture, &["one"], None).unwrap()), (1, first_cut));
            assert_eq!(span(verify(&fixture, &["rest"], trusted()).unwrap()), (second_cut + 1, end));
            assert_eq!(span(verify(&fixture, &["one", "two", "rest"], trusted()).unwrap()), (1, end));
            assert!(verify(&fixture, &["one", "rest"], None).is_err(), "a part is missing");
            let stored =
                verify_stored(fixture.store(), fixture.tenant(), trusted(), |_, _| {}).await.unwrap();
            assert_eq!(span(stored), (second_cut + 1, end));
            // The archived events are deleted, and the archiving is recorded in the chain.
            assert_eq!(fixture.record(first_cut as i64).await, None);
            let archived_hash = format!("\"file_sha256\":\"{}\"", archived.file_sha256);
            assert!(
                std::fs::read_to_string(fixture.folder.path().join("rest")).unwrap().contains(&archived_hash)
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn events_after_archive_have_proofs() {
        for fixture in fixtures().await {
            fixture.write(300).await;
            age_blocks(&fixture).await;
            fixture.write(260).await;
            archive_old(&fixture, "old").await.unwrap().unwrap();
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            // The first remaining event is in the same tile as the last archived ones.
            let first = load_chain_range(fixture.store(), fixture.tenant()).await.unwrap().after + 1;
            for sequence in [first, first + 1, 511, 512, 513, fixture.last_sequence().await] {
                let record = fixture.record(sequence).await.unwrap();
                let id = quad_store::audit::block::record_id(&record).unwrap();
                let hash = quad_store::hash_record(&record);
                let event = quad_store::AuditEvent { id, sequence, record, hash };
                let document =
                    fixture.store().read(fixture.tenant(), move |sql| proof::document(sql, &event));
                let verified =
                    proof::verify(&document.await.unwrap(), Some(&fixture.trusted_checkpoints())).unwrap();
                assert_eq!(verified.sequence as i64, sequence);
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn interrupted_archive_is_completed_by_next_run() {
        for fixture in fixtures().await {
            fixture.write(120).await;
            age_blocks(&fixture).await;
            fixture.write(5).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            let cut = {
                let before = Timestamp::now().plus_ms(-1_800_000);
                fixture
                    .store()
                    .read(fixture.tenant(), move |sql| time_search::last_sequence_before(sql, before))
                    .await
                    .unwrap()
            };
            // Simulates a process that is killed after the start was advanced and before the blocks are deleted.
            let path = fixture.folder.path().join("first");
            let mut file = File::create(&path).unwrap();
            let header = Header {
                kind: FileKind::Archive,
                tenant: fixture.tenant().as_str().to_owned(),
                anchor: None,
            };
            let mut writer = ExportWriter::new(&mut file, &header).unwrap();
            read_chain(fixture.store(), fixture.tenant(), 0, cut, |item| writer.write_item(&item))
                .await
                .unwrap();
            let exported = writer.finish(fixture.checkpoint_signer.signer()).unwrap();
            let anchor =
                verify_archive(&fixture.checkpoint_signer, fixture.tenant(), &path, cut).await.unwrap();
            let tenant = fixture.tenant();
            advance_archive_start(
                &fixture.checkpoint_signer,
                tenant,
                0,
                anchor.clone(),
                Timestamp(0),
                "tester",
                &exported,
            )
            .await
            .unwrap();
            assert_eq!(fixture.record(cut).await, None, "the rest is not visible");
            let stored = verify_stored(fixture.store(), tenant, None, |_, _| {}).await.unwrap();
            assert_eq!(stored.first_sequence as i64, cut + 1);
            // A concurrent archive of the same events fails.
            let raced = advance_archive_start(
                &fixture.checkpoint_signer,
                tenant,
                0,
                anchor,
                Timestamp(0),
                "tester",
                &exported,
            );
            assert_eq!(raced.await.unwrap_err().kind(), Kind::Conflict);

            assert_eq!(archive_old(&fixture, "second").await.unwrap(), None);
            let remaining = fixture.store().read(tenant, move |sql| {
                let tenant = quad_store::Sql::tenant(sql).as_str().to_owned();
                let count = "SELECT COUNT(*) FROM audit_block WHERE tenant_id = $1 AND first_sequence <= $2";
                Ok(quad_store::Sql::query_opt(sql, count, quad_store::params![tenant, cut])?
                    .unwrap()
                    .int(0)?)
            });
            assert_eq!(remaining.await.unwrap(), 0);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn archive_rejects_existing_file_and_broken_chain() {
        for fixture in fixtures().await {
            fixture.write(40).await;
            age_blocks(&fixture).await;
            std::fs::write(fixture.folder.path().join("taken"), "mine").unwrap();
            assert_eq!(archive_old(&fixture, "taken").await.unwrap_err().kind(), Kind::BadInput);
            assert_eq!(std::fs::read(fixture.folder.path().join("taken")).unwrap(), b"mine");
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            fixture.tamper_event(9, "resources/read", "resources/list").await;
            let error = archive_old(&fixture, "broken").await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&9.into()), "{error}");
            assert!(fixture.record(9).await.is_some(), "nothing left the database");
        }
    }
}
