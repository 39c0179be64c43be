//! Whether the database still has what the checkpoint file beside it covers.
//!
//! A checkpoint is committed to the database before its line is written to the file. So a line without its row means
//! that the database is older than the file, or another one: a backup was restored, or a person has put back an old
//! copy. A process refuses to start then, since its new events would silently take the place of the lost ones.

use std::path::PathBuf;

use quad_core::{Error, EventDraft, Kind, Result, TenantId, Timestamp};
use quad_store::audit::{archive, block, checkpoint as rows};
use quad_store::{Store, WriteContext, tenant};

use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::CheckpointFile;
use crate::limits;

/// A checkpoint of the file that the database does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingCheckpoint {
    /// The tenant of the chain.
    pub tenant: TenantId,
    /// The number of events that the checkpoint covers.
    pub size: u64,
    /// The number of events in the database; `None` if it does not have the tenant.
    pub events: Option<u64>,
}

impl MissingCheckpoint {
    fn to_error(&self) -> Error {
        let (tenant, size) = (self.tenant.as_str(), self.size);
        let message = match self.events {
            None => format!(
                "The database is older than checkpoints.jsonl: it does not have tenant {tenant}, of which the file \
                 covers {size} events"
            ),
            Some(events) if events < size => format!(
                "The database is older than checkpoints.jsonl: it has {events} events of tenant {tenant}, the file \
                 covers {size}"
            ),
            Some(_) => format!(
                "The database is not the one of checkpoints.jsonl: its first {size} events of tenant {tenant} are \
                 not those that the file covers"
            ),
        };
        Error::new(Kind::Conflict, "DATABASE_OLDER", message)
            .hint(
                "Restore the newest backup. If this database is the newest that is left, accept it with \
                 `quad audit accept-restore`",
            )
            .with_detail("tenant", tenant)
            .with_detail("checkpoint", size)
    }
}

/// What [`accept`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedDatabase {
    /// The checkpoints that the database does not have, the newest of each tenant.
    pub missing: Vec<MissingCheckpoint>,
    /// The former checkpoint file, which is evidence of what was lost.
    pub former_file: PathBuf,
}

/// Refuses a database that lacks one of the newest checkpoints of the file. Reads the end of the file only.
pub async fn check(store: &Store, file: &CheckpointFile) -> Result<()> {
    // First the file, then the database: other processes commit a checkpoint before they write its line.
    let newest = read_newest(file, Some(limits::CHECKPOINT_FILE_CHECKED_BYTES)).await?;
    match find_missing(store, newest).await?.first() {
        Some(missing) => Err(missing.to_error()),
        None => Ok(()),
    }
}

/// Accepts a database that is older than the file: records that in the chains, keeps the file under another name, and
/// writes a new one with the checkpoints of the database. `None` if the database lacks nothing.
pub async fn accept(store: &Store, file: &CheckpointFile, actor: &str) -> Result<Option<AcceptedDatabase>> {
    let missing = find_missing(store, read_newest(file, None).await?).await?;
    if missing.is_empty() {
        return Ok(None);
    }
    let former_name = format!("checkpoints-{}.jsonl", Timestamp::now().to_string().replace(':', "-"));
    // An interrupted run leaves the old file, so that the next start is refused again.
    for missing in &missing {
        let chain = missing.events.map_or_else(TenantId::system, |_| missing.tenant.clone());
        let event = EventDraft::system("audit", "audit.restore_accepted", actor)
            .input("tenant", missing.tenant.as_str())
            .input("checkpoint", missing.size)
            .input("former_file", former_name.as_str())
            .output("events", missing.events.unwrap_or(0));
        store.write(&WriteContext::from(&chain), event, |_| Ok(())).await?;
    }
    let former_file = file.path().with_file_name(&former_name);
    rewrite(store, file, Some(former_file.clone())).await?;
    Ok(Some(AcceptedDatabase { missing, former_file }))
}

/// Writes the file with all checkpoints of the database. The former file keeps its contents under the other name.
pub async fn rewrite(store: &Store, file: &CheckpointFile, former_file: Option<PathBuf>) -> Result<()> {
    let mut writer = file.replace(former_file)?;
    let mut tenants = vec![TenantId::system()];
    tenants.extend(tenant::list(store).await?.into_iter().map(|tenant| tenant.id));
    for tenant in tenants {
        let mut after = 0;
        loop {
            let page = move |sql: &mut quad_store::Snapshot<'_>| {
                rows::between(sql, after, i64::MAX, limits::CHECKPOINTS_PAGE)
            };
            let page = store.read(&tenant, page).await?;
            let Some(last) = page.last() else { break };
            after = last.size;
            page.iter().try_for_each(|row| writer.write_line(&row.body))?;
        }
    }
    writer.finish()
}

async fn read_newest(file: &CheckpointFile, tail_bytes: Option<u64>) -> Result<Vec<Checkpoint>> {
    let file = file.clone();
    tokio::task::spawn_blocking(move || file.newest_of_each_tenant(tail_bytes))
        .await
        .map_err(Error::internal)?
}

async fn find_missing(store: &Store, newest: Vec<Checkpoint>) -> Result<Vec<MissingCheckpoint>> {
    let mut missing = Vec::new();
    for checkpoint in newest {
        let tenant = TenantId::new(checkpoint.statement.tenant.as_str());
        let (size, line) = (checkpoint.statement.size, checkpoint.to_line());
        let compare = move |sql: &mut quad_store::Snapshot<'_>| compare(sql, size, &line);
        if let Comparison::Missing { events } = store.read(&tenant, compare).await? {
            missing.push(MissingCheckpoint { tenant, size, events });
        }
    }
    Ok(missing)
}

enum Comparison {
    Present,
    Missing { events: Option<u64> },
}

fn compare(sql: &mut quad_store::Snapshot<'_>, size: u64, line: &str) -> Result<Comparison> {
    let rows_size = i64::try_from(size).unwrap_or(i64::MAX);
    let row = rows::latest_within(sql, rows_size)?;
    // The row of a checkpoint over archived events may be deleted.
    if row.is_some_and(|row| row.body == line) || archive::last_sequence(sql)? >= rows_size {
        return Ok(Comparison::Present);
    }
    let is_known = block::has_chain(sql)?;
    let events = if is_known { u64::try_from(block::chain_end(sql)?.sequence).ok() } else { None };
    Ok(Comparison::Missing { events })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint_file::FileSync;
    use crate::export::verify_stored;
    use crate::testing::{ChainFixture, fixtures};

    /// A line for each of the checkpoints in the database, and one that is newer.
    async fn add_checkpoint_of_lost_events(fixture: &ChainFixture) {
        let newest = fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap().unwrap();
        let mut lost = newest.statement.clone();
        lost.size += 30;
        lost.previous = Some(newest.hash());
        let lost = lost.sign(fixture.checkpoint_signer.signer());
        fixture.checkpoint_signer.file().append(&[lost], FileSync::Now).unwrap();
    }

    async fn check_fixture(fixture: &ChainFixture) -> Result<()> {
        check(fixture.store(), fixture.checkpoint_signer.file()).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn database_with_every_checkpoint_of_the_file_passes() {
        for fixture in fixtures().await {
            check_fixture(&fixture).await.unwrap();
            for events in [1, 40, 7] {
                fixture.write(events).await;
                fixture.checkpoint_signer.finish().await.unwrap();
                fixture.write(3).await;
                check_fixture(&fixture).await.unwrap();
            }
            // A partial line, and one that is no checkpoint.
            let path = fixture.checkpoint_signer.file().path();
            let text = std::fs::read_to_string(path).unwrap() + "{}\n{\"event_hash\":\"12";
            std::fs::write(path, text).unwrap();
            check_fixture(&fixture).await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn database_older_than_the_file_is_refused_until_accepted() {
        for fixture in fixtures().await {
            fixture.write(20).await;
            add_checkpoint_of_lost_events(&fixture).await;
            let end = fixture.last_sequence().await;
            let error = check_fixture(&fixture).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (Kind::Conflict, "DATABASE_OLDER"));
            let expected = format!("it has {end} events of tenant {}", fixture.tenant().as_str());
            assert!(error.message().contains(&expected), "{error}");
            // Later events do not take the place of the lost ones.
            fixture.write(60).await;
            let error = check_fixture(&fixture).await.unwrap_err();
            assert!(error.message().contains("is not the one of checkpoints.jsonl"), "{error}");

            let file = fixture.checkpoint_signer.file();
            let before = std::fs::read(file.path()).unwrap();
            let accepted = accept(fixture.store(), file, "tester").await.unwrap().unwrap();
            assert_eq!(accepted.missing.len(), 1);
            assert_eq!(accepted.missing[0].size as i64, end + 30);
            assert_eq!(std::fs::read(&accepted.former_file).unwrap(), before, "the evidence is kept");
            check_fixture(&fixture).await.unwrap();
            let record = fixture.record(fixture.last_sequence().await).await.unwrap();
            assert!(record.contains("audit.restore_accepted") && record.contains("tester"), "{record}");
            fixture.checkpoint_signer.finish().await.unwrap();
            let trusted = Some(fixture.trusted_checkpoints());
            let report = verify_stored(fixture.store(), fixture.tenant(), trusted, |_, _| {}).await.unwrap();
            assert_eq!(report.trusted_matched, report.checkpoints);
            assert_eq!(accept(fixture.store(), file, "tester").await.unwrap(), None, "nothing is missing");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn checkpoint_of_unknown_tenant_is_refused_and_accepted_in_the_system_chain() {
        for fixture in fixtures().await {
            fixture.write(5).await;
            let mut other =
                fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap().unwrap().statement;
            other.tenant = "tnt_other".to_owned();
            let file = fixture.checkpoint_signer.file();
            file.append(&[other.sign(fixture.checkpoint_signer.signer())], FileSync::Now).unwrap();
            let error = check_fixture(&fixture).await.unwrap_err();
            assert!(error.message().contains("it does not have tenant tnt_other"), "{error}");
            let accepted = accept(fixture.store(), file, "tester").await.unwrap().unwrap();
            assert_eq!(accepted.missing[0].events, None);
            check_fixture(&fixture).await.unwrap();
            let system = TenantId::system();
            let record = fixture.store().read(&system, |sql| {
                let end = block::chain_end(sql)?.sequence;
                block::record_at(sql, end)
            });
            assert!(record.await.unwrap().unwrap().contains("audit.restore_accepted"));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn checkpoints_of_archived_events_pass() {
        for fixture in fixtures().await {
            fixture.write(50).await;
            fixture.checkpoint_signer.finish().await.unwrap();
            let age = "UPDATE audit_block SET created_at = created_at - $2 WHERE tenant_id = $1";
            fixture.tamper(age, vec![3_600_000.into()]).await;
            let before = Timestamp::now().plus_ms(-1_800_000);
            let archive_file = fixture.folder.path().join("old");
            let signer = &fixture.checkpoint_signer;
            crate::archive::archive(signer, fixture.tenant(), before, &archive_file, "tester", |_, _| {})
                .await
                .unwrap()
                .unwrap();
            fixture.write(3).await;
            fixture.checkpoint_signer.finish().await.unwrap();
            let lines = std::fs::read_to_string(fixture.checkpoint_signer.file().path()).unwrap();
            let archived_line = lines.lines().find(|line| line.contains(fixture.tenant().as_str())).unwrap();
            std::fs::write(fixture.checkpoint_signer.file().path(), format!("{archived_line}\n")).unwrap();
            check_fixture(&fixture).await.unwrap();
        }
    }
}
