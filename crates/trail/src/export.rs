//! Writing a chain into a file, and checking it where it is.

use std::io::Write;

use quad_core::{Error, Result, TenantId};
use quad_store::Store;
use quad_store::audit::{archive, block};
use ring::digest::{Context, SHA256};

use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::Pins;
use crate::hash::Hash;
use crate::keeper::Keeper;
use crate::lines::{self, FileKind, Header, Last, Start};
use crate::signer::Signer;
use crate::stream::{Item, stream};
use crate::tree;
use crate::verify::{Report, Verifier};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The first event.
    pub first_sequence: u64,
    /// The last event.
    pub last_sequence: u64,
    /// The SHA-256 of the file up to its last line, which holds it.
    pub file_sha256: Hash,
}

/// Where a stored chain begins and ends.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    pub(crate) start: Option<Start>,
    /// The last place before it.
    pub(crate) from: i64,
    /// Its last place.
    pub(crate) to: i64,
    /// The hash at its last place, as the head names it.
    pub(crate) hash: Option<Hash>,
}

/// Where a tenant's stored chain begins and ends now.
pub(crate) async fn extent(store: &Store, tenant: &TenantId) -> Result<Extent> {
    store
        .read(tenant, |sql| {
            let end = block::chain_end(sql)?;
            let anchor = archive::archive_end(sql)?;
            let from = anchor.as_ref().map_or(0, |anchor| anchor.last_sequence);
            let start = anchor.map(|anchor| -> Result<Start> {
                let frontier = tree::frontier(anchor.last_sequence, &anchor.frontier)?;
                Ok(Start { checkpoint: Checkpoint::stored(&anchor.body)?, frontier })
            });
            let hash = end.hash.as_deref().and_then(Hash::parse);
            Ok(Extent { start: start.transpose()?, from, to: end.sequence, hash })
        })
        .await
}

/// Writes a tenant's stored chain with its checkpoints, the newest of which is made for this, into `out`. `progress` hears how
/// many events are done, of how many.
pub async fn export(
    keeper: &Keeper,
    tenant: &TenantId,
    out: &mut impl Write,
    mut progress: impl FnMut(u64, u64),
) -> Result<Exported> {
    keeper.checkpoint(tenant).await?;
    let Extent { start, from, to, .. } = extent(keeper.store(), tenant).await?;
    let header = Header { kind: FileKind::Export, tenant: tenant.as_str().to_owned(), start };
    let mut file = ExportFile::new(out, &header)?;
    let total = (to - from) as u64;
    let mut done = 0;
    let sink = |item| {
        if let Item::Event(_) = &item {
            done += 1;
            progress(done, total);
        }
        file.item(&item)
    };
    stream(keeper.store(), tenant, from, to, sink).await?;
    file.end(keeper.signer())
}

/// Checks a tenant's chain where it is. `progress` hears how many events are done, of how many.
pub async fn verify_stored(
    store: &Store,
    tenant: &TenantId,
    pins: Option<Pins>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Report> {
    let Extent { start, from, to, hash } = extent(store, tenant).await?;
    let mut verifier = Verifier::new(pins);
    verifier.begin(&Header { kind: FileKind::Export, tenant: tenant.as_str().to_owned(), start })?;
    let total = (to - from) as u64;
    let mut done = 0;
    let sink = |item| match item {
        Item::Event(entry) => {
            done += 1;
            progress(done, total);
            verifier.event(entry)
        }
        Item::Checkpoint(checkpoint) => verifier.checkpoint(&checkpoint),
    };
    stream(store, tenant, from, to, sink).await?;
    verifier.ends_at(to as u64, hash)?;
    verifier.finish()
}

/// An export or archive in the making.
pub(crate) struct ExportFile<'o, W> {
    out: &'o mut W,
    digest: Context,
    first: Option<u64>,
    last: u64,
    hash: Option<Hash>,
}

impl<'o, W: Write> ExportFile<'o, W> {
    pub(crate) fn new(out: &'o mut W, header: &Header) -> Result<ExportFile<'o, W>> {
        let start = header.start.as_ref().map(|start| &start.checkpoint.statement);
        let mut file = ExportFile {
            out,
            digest: Context::new(&SHA256),
            first: None,
            last: start.map_or(0, |start| start.size),
            hash: start.map(|start| start.event_hash),
        };
        file.line(&header.line())?;
        Ok(file)
    }

    pub(crate) fn item(&mut self, item: &Item) -> Result<()> {
        match item {
            Item::Event(entry) => {
                self.first.get_or_insert(entry.sequence);
                self.last = entry.sequence;
                self.hash = Some(entry.claimed);
                self.line(&lines::event(entry))
            }
            Item::Checkpoint(checkpoint) => self.line(&lines::checkpoint(checkpoint)),
        }
    }

    pub(crate) fn end(mut self, signer: &dyn Signer) -> Result<Exported> {
        let digest = self.digest.clone().finish();
        let file_sha256 =
            Hash::from_slice(digest.as_ref()).ok_or_else(|| Error::internal("a hash of 32 bytes"))?;
        self.line(&Last::sign(self.last, self.hash, file_sha256, signer).line())?;
        self.out.flush().map_err(unwritable)?;
        let first_sequence = self.first.unwrap_or(self.last + 1);
        Ok(Exported { first_sequence, last_sequence: self.last, file_sha256 })
    }

    fn line(&mut self, line: &str) -> Result<()> {
        let line = format!("{line}\n");
        self.digest.update(line.as_bytes());
        self.out.write_all(line.as_bytes()).map_err(unwritable)
    }
}

fn unwritable(error: std::io::Error) -> Error {
    Error::bad_input(format!("The file cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, worlds};

    async fn exported(world: &World) -> Vec<u8> {
        let mut out = Vec::new();
        export(&world.keeper, world.tenant(), &mut out, |_, _| {}).await.unwrap();
        out
    }

    fn verify(file: &[u8], pins: Option<Pins>) -> Result<Report> {
        let mut verifier = Verifier::new(pins);
        verifier.file(file, |_| {})?;
        verifier.finish()
    }

    async fn verify_in_place(world: &World, pins: Option<Pins>) -> Result<Report> {
        verify_stored(world.store(), world.tenant(), pins, |_, _| {}).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_export_is_the_stored_chain_and_verifies_without_it() {
        for world in worlds().await {
            world.write(90).await;
            world.keeper.checkpoint(world.tenant()).await.unwrap();
            world.write(60).await;
            let file = exported(&world).await;
            let mut heard = Vec::new();
            let pins = Some(world.pins());
            let stored =
                verify_stored(world.store(), world.tenant(), pins, |done, of| heard.push((done, of))).await;
            let (stored, offline) = (stored.unwrap(), verify(&file, Some(world.pins())).unwrap());
            let end = world.end().await as u64;
            assert_eq!((offline.first_sequence, offline.last_sequence, offline.covered_to), (1, end, end));
            assert_eq!((offline.checkpoints, offline.pinned), (2, 2));
            assert_eq!((stored.last_hash, stored.checkpoints), (offline.last_hash, 2));
            assert_eq!(heard.last(), Some(&(end, end)));
            // Its events are the stored records, byte for byte.
            let text = String::from_utf8(file).unwrap();
            for sequence in [1, 57, end as i64] {
                assert!(text.contains(&world.record(sequence).await.unwrap()));
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_changed_event_is_named_in_place_and_in_an_export_of_it() {
        for world in worlds().await {
            world.write(80).await;
            world.keeper.checkpoint(world.tenant()).await.unwrap();
            world.tamper_event(33, "resources/read", "resources/list").await;
            let error = verify_in_place(&world, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&33.into()), "{error}");
            let record: serde_json::Value = serde_json::from_str(&world.record(33).await.unwrap()).unwrap();
            assert_eq!(error.detail("event"), Some(&record["id"]));
            let error = verify(&exported(&world).await, None).unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&33.into()), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_packed_block_that_is_damaged_is_named_by_its_first_event() {
        for world in worlds().await {
            world.write(80).await;
            let found = world.store().read(world.tenant(), |sql| quad_store::audit::block::blocks_up_to(sql, 33, 1));
            let first = found.await.unwrap()[0].first_sequence;
            let damage =
                "UPDATE audit_block SET body = '', packed = $3 WHERE tenant_id = $1 AND first_sequence = $2";
            world.tamper(damage, vec![first.into(), vec![9_u8, 0, 0, 0, 7, 7].into()]).await;
            let error = verify_in_place(&world, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&first.into()), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_event_whose_link_was_changed_is_named_and_not_the_one_before() {
        for world in worlds().await {
            world.write(40).await;
            let hash = quad_store::hash_record(&world.record(20).await.unwrap());
            world.tamper_event(21, &hash, &Hash::of(b"other").to_string()).await;
            let error = verify_in_place(&world, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&21.into()), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_removed_middle_and_a_removed_tail_are_found() {
        for world in worlds().await {
            world.write(60).await;
            world.keeper.checkpoint(world.tenant()).await.unwrap();
            let whole = world.end().await;
            let last =
                world.store().read(world.tenant(), move |sql| quad_store::audit::block::blocks_up_to(sql, whole, 2));
            let last = last.await.unwrap();
            let (last, before) = (last[0].first_sequence, last[1].first_sequence);
            // The tail, with a head that says so: nothing inside can tell but the checkpoint that covered it.
            let hash = quad_store::hash_record(&world.record(last - 1).await.unwrap());
            let delete = "DELETE FROM audit_block WHERE tenant_id = $1 AND first_sequence = $2";
            world.tamper(delete, vec![last.into()]).await;
            let error = verify_in_place(&world, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&last.into()), "the head knows better: {error}");
            let cut_head = "UPDATE head SET sequence = $2, hash = $3 WHERE tenant_id = $1";
            world.tamper(cut_head, vec![(last - 1).into(), hash.into()]).await;
            world
                .tamper("DELETE FROM audit_checkpoint WHERE tenant_id = $1 AND size >= $2", vec![last.into()])
                .await;
            assert!(verify_in_place(&world, None).await.is_ok());
            let error = verify_in_place(&world, Some(world.pins())).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&last.into()), "{error}");
            // A middle.
            world.write(1).await;
            world.tamper(delete, vec![before.into()]).await;
            let error = verify_in_place(&world, None).await.unwrap_err();
            assert_eq!(error.detail("sequence"), Some(&before.into()), "{error}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_tenants_export_holds_nobody_elses_events() {
        for world in worlds().await {
            let other = quad_store::tenant::create(world.store(), "other").await.unwrap();
            crate::testing::write_events(world.store(), &other.id, 20).await;
            world.write(20).await;
            let text = String::from_utf8(exported(&world).await).unwrap();
            assert!(!text.contains(other.id.as_str()));
        }
    }
}
