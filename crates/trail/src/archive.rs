//! Moving the older part of a chain into a file.
//!
//! The file is written first, read back and checked; then one transaction moves the beginning of the stored chain and
//! records that it did, in the chain itself; then the blocks leave, some at a time. What remains begins with a signed anchor, so it can
//! be checked alone, and together with the archive.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use quad_core::{Error, EventDraft, Kind, Result, TenantId, Timestamp};
use quad_store::audit::archive::{self as rows, ArchiveEnd};
use quad_store::audit::{checkpoint, time};
use quad_store::{Tx, WriteContext};

use crate::checkpoint::{Checkpoint, Statement};
use crate::export::{ExportFile, Exported, extent};
use crate::keeper::Keeper;
use crate::lines::{FileKind, Header};
use crate::stream::{Item, stream};
use crate::verify::Verifier;

/// Moves the whole blocks before `before` into a new file. `None` if there are none. `progress` hears how many events are
/// done, of how many.
pub async fn archive(
    keeper: &Keeper,
    tenant: &TenantId,
    before: Timestamp,
    to_file: &Path,
    actor: &str,
    mut progress: impl FnMut(u64, u64),
) -> Result<Option<Exported>> {
    let store = keeper.store();
    // What leaves must be covered by a checkpoint that stays.
    let newest = keeper.checkpoint(tenant).await?.map_or(0, |newest| newest.statement.size as i64);
    // An earlier archive may have been interrupted.
    prune(keeper, tenant).await?;
    let from = extent(store, tenant).await?;
    let cut = store.read(tenant, move |sql| time::last_sequence_before(sql, before)).await?.min(newest);
    if cut <= from.from {
        return Ok(None);
    }
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to_file);
    let file = file.map_err(|error| {
        let hint = format!("Choose a file that does not exist in a folder that does: {error}");
        Error::bad_input(format!("{} cannot be made", to_file.display())).hint(hint)
    })?;
    let header =
        Header { kind: FileKind::Archive, tenant: tenant.as_str().to_owned(), start: from.start.clone() };
    let mut out = BufWriter::new(&file);
    let mut written = ExportFile::new(&mut out, &header)?;
    let total = (cut - from.from) as u64;
    let mut done = 0;
    let sink = |item| {
        if let Item::Event(_) = &item {
            done += 1;
            progress(done, total);
        }
        written.item(&item)
    };
    stream(store, tenant, from.from, cut, sink).await?;
    let exported = written.end(keeper.signer())?;
    drop(out);
    file.sync_all().map_err(Error::internal)?;
    let anchor = check(keeper, tenant, to_file, cut).await?;
    move_beginning(keeper, tenant, from.from, anchor, before, actor, &exported).await?;
    prune(keeper, tenant).await?;
    Ok(Some(exported))
}

/// Reads the file back; nothing leaves the database that does not stand in it, whole. Returns where the rest begins.
async fn check(keeper: &Keeper, tenant: &TenantId, file: &Path, cut: i64) -> Result<ArchiveEnd> {
    let mut verifier = Verifier::new(None);
    verifier.file(BufReader::new(File::open(file).map_err(Error::internal)?), |_| {})?;
    let frontier = verifier.frontier()?;
    let report = verifier.finish()?;
    let event_hash = report.last_hash.filter(|_| report.last_sequence as i64 == cut);
    let event_hash = event_hash.ok_or_else(|| Error::internal("the archive does not end where it should"))?;
    let previous = keeper.store().read(tenant, move |sql| checkpoint::latest_within(sql, cut)).await?;
    let previous = previous.map(|row| Checkpoint::stored(&row.body)).transpose()?;
    let statement = Statement {
        tenant: tenant.as_str().to_owned(),
        size: frontier.size(),
        root: frontier.root(),
        event_hash,
        previous: previous.map(|previous| previous.hash()),
        time: Timestamp::now(),
    };
    let body = statement.sign(keeper.signer()).line();
    Ok(ArchiveEnd { last_sequence: cut, frontier: frontier.to_bytes(), body })
}

async fn move_beginning(
    keeper: &Keeper,
    tenant: &TenantId,
    from: i64,
    anchor: ArchiveEnd,
    before: Timestamp,
    actor: &str,
    exported: &Exported,
) -> Result<()> {
    let event = EventDraft::system("audit", "audit.archived", actor)
        .input("before", before.to_string())
        .output("first_sequence", exported.first_sequence)
        .output("last_sequence", exported.last_sequence)
        .output("file_sha256", exported.file_sha256.to_string());
    let advance = move |tx: &mut Tx<'_>| match rows::advance(tx, from, &anchor)? {
        true => Ok(()),
        false => {
            Err(Error::new(Kind::Conflict, "CONFLICT", "Somebody else archived this chain at the same time")
                .hint("Their file holds the events; this one is a copy and can go"))
        }
    };
    keeper.store().write(&WriteContext::from(tenant), event, advance).await?;
    Ok(())
}

/// Takes out what lies before the beginning of the stored chain.
async fn prune(keeper: &Keeper, tenant: &TenantId) -> Result<()> {
    while keeper.store().write_unaudited(tenant, rows::prune).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{export, verify_stored};
    use crate::testing::{World, worlds};
    use crate::verify::Report;
    use crate::{Pins, proof};

    /// Moves the times of everything so far into the past.
    async fn age(world: &World) {
        let age = "UPDATE audit_block SET created_at = created_at - $2 WHERE tenant_id = $1";
        world.tamper(age, vec![3_600_000.into()]).await;
    }

    async fn archive_old(world: &World, name: &str) -> Result<Option<Exported>> {
        let before = Timestamp::now().plus_ms(-1_800_000);
        archive(&world.keeper, world.tenant(), before, &world.folder.path().join(name), "tester", |_, _| {})
            .await
    }

    fn verify(world: &World, files: &[&str], pins: Option<Pins>) -> Result<Report> {
        let mut verifier = Verifier::new(pins);
        for file in files {
            verifier.file(std::fs::read(world.folder.path().join(file)).unwrap().as_slice(), |_| {})?;
        }
        verifier.finish()
    }

    async fn export_rest(world: &World, name: &str) {
        let mut file = File::create(world.folder.path().join(name)).unwrap();
        export(&world.keeper, world.tenant(), &mut file, |_, _| {}).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_chain_stays_verifiable_in_parts_and_as_a_whole() {
        for world in worlds().await {
            assert_eq!(archive_old(&world, "none").await.unwrap(), None);
            assert!(!world.folder.path().join("none").exists());
            world.write(100).await;
            world.keeper.checkpoint(world.tenant()).await.unwrap();
            world.write(300).await;
            let first_cut = world.end().await as u64;
            age(&world).await;
            world.write(50).await;
            let moved = archive_old(&world, "one").await.unwrap().unwrap();
            assert_eq!((moved.first_sequence, moved.last_sequence), (1, first_cut));
            world.write(30).await;
            let second_cut = world.end().await as u64;
            age(&world).await;
            world.write(400).await;
            let moved = archive_old(&world, "two").await.unwrap().unwrap();
            assert_eq!((moved.first_sequence, moved.last_sequence), (first_cut + 1, second_cut));
            export_rest(&world, "rest").await;
            let end = world.end().await as u64;

            let span = |report: Report| (report.first_sequence, report.last_sequence);
            let pins = || Some(world.pins());
            assert_eq!(span(verify(&world, &["one"], None).unwrap()), (1, first_cut));
            assert_eq!(span(verify(&world, &["rest"], pins()).unwrap()), (second_cut + 1, end));
            assert_eq!(span(verify(&world, &["one", "two", "rest"], pins()).unwrap()), (1, end));
            assert!(verify(&world, &["one", "rest"], None).is_err(), "a part is missing");
            let stored = verify_stored(world.store(), world.tenant(), pins(), |_, _| {}).await.unwrap();
            assert_eq!(span(stored), (second_cut + 1, end));
            // What was moved is gone, and its going stands in the chain.
            assert_eq!(world.record(first_cut as i64).await, None);
            let archived = format!("\"file_sha256\":\"{}\"", moved.file_sha256);
            assert!(std::fs::read_to_string(world.folder.path().join("rest")).unwrap().contains(&archived));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_remains_can_be_proven() {
        for world in worlds().await {
            world.write(300).await;
            age(&world).await;
            world.write(260).await;
            archive_old(&world, "old").await.unwrap().unwrap();
            world.keeper.checkpoint(world.tenant()).await.unwrap();
            // Its first event lies in the same tile as the last ones that have gone.
            let first = extent(world.store(), world.tenant()).await.unwrap().from + 1;
            for sequence in [first, first + 1, 511, 512, 513, world.end().await] {
                let record = world.record(sequence).await.unwrap();
                let id = quad_store::audit::block::record_id(&record).unwrap();
                let hash = quad_store::hash_record(&record);
                let event = quad_store::AuditEvent { id, sequence, record, hash };
                let document = world.store().read(world.tenant(), move |sql| proof::document(sql, &event));
                let proven = proof::verify(&document.await.unwrap(), Some(&world.pins())).unwrap();
                assert_eq!(proven.sequence as i64, sequence);
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_interrupted_archive_is_finished_by_the_next() {
        for world in worlds().await {
            world.write(120).await;
            age(&world).await;
            world.write(5).await;
            world.keeper.checkpoint(world.tenant()).await.unwrap();
            let cut = {
                let before = Timestamp::now().plus_ms(-1_800_000);
                world.store().read(world.tenant(), move |sql| time::last_sequence_before(sql, before)).await.unwrap()
            };
            // Killed after the beginning was moved, before the blocks left.
            let path = world.folder.path().join("first");
            let mut file = File::create(&path).unwrap();
            let header =
                Header { kind: FileKind::Archive, tenant: world.tenant().as_str().to_owned(), start: None };
            let mut writer = ExportFile::new(&mut file, &header).unwrap();
            stream(world.store(), world.tenant(), 0, cut, |item| writer.item(&item)).await.unwrap();
            let exported = writer.end(world.keeper.signer()).unwrap();
            let anchor = check(&world.keeper, world.tenant(), &path, cut).await.unwrap();
            let tenant = world.tenant();
            move_beginning(&world.keeper, tenant, 0, anchor.clone(), Timestamp(0), "tester", &exported)
                .await
                .unwrap();
            assert_eq!(world.record(cut).await, None, "nobody sees what is left of it");
            let stored = verify_stored(world.store(), tenant, None, |_, _| {}).await.unwrap();
            assert_eq!(stored.first_sequence as i64, cut + 1);
            // Whoever raced with it loses.
            let raced = move_beginning(&world.keeper, tenant, 0, anchor, Timestamp(0), "tester", &exported);
            assert_eq!(raced.await.unwrap_err().kind(), Kind::Conflict);

            assert_eq!(archive_old(&world, "second").await.unwrap(), None);
            let left = world.store().read(tenant, move |sql| {
                let tenant = quad_store::Sql::tenant(sql).as_str().to_owned();
                let count = "SELECT COUNT(*) FROM audit_block WHERE tenant_id = $1 AND first_sequence <= $2";
                Ok(quad_store::Sql::query_opt(sql, count, quad_store::params![tenant, cut])?
                    .unwrap()
                    .int(0)?)
            });
            assert_eq!(left.await.unwrap(), 0);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_that_exists_and_a_broken_chain_are_left_alone() {
        for world in worlds().await {
            world.write(40).await;
            age(&world).await;
            std::fs::write(world.folder.path().join("taken"), "mine").unwrap();
            assert_eq!(archive_old(&world, "taken").await.unwrap_err().kind(), Kind::BadInput);
            assert_eq!(std::fs::read(world.folder.path().join("taken")).unwrap(), b"mine");
            world.keeper.checkpoint(world.tenant()).await.unwrap();
            world.tamper_event(9, "resources/read", "resources/list").await;
            let error = archive_old(&world, "broken").await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&9.into()), "{error}");
            assert!(world.record(9).await.is_some(), "nothing left the database");
        }
    }
}
