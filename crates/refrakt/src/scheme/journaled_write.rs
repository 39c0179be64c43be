//! Writes to the plan's files, recorded in the audit chain: stage the new text beside the file, commit an intent event,
//! rename, commit the event of the call.
//!
//! A process that ends between the two commits leaves its intent in the database. The next process that holds the write
//! lock finds it, and the file's hash tells whether the rename happened. Intents are written and deleted under the write
//! lock, so an intent that is found under the lock belongs to a process that has ended.

use std::path::PathBuf;

use quad_core::tool::ToolCall;
use quad_core::{Error, EventDraft, Kind, Receipt, Result, TenantId};
use quad_store::{Sql, Tx, WriteContext, params};

use super::{Refrakt, errors, query};
use crate::blocking::run_blocking;
use crate::project::atomic_write::{CommitError, StagedFile, WriteLock, file_hash, stage};
use crate::project::project_dir::ProjectDir;
use crate::project_cache::change_poller::{FolderChange, FolderSnapshot, LAYER};
use crate::project_cache::{PlanSnapshot, ProjectCache};

/// A new text for one file.
#[derive(Clone, Debug)]
pub(super) struct FileWrite {
    /// Path below the plan folder.
    pub file: String,
    /// SHA-256 of the text that it replaces; `None` for a new file.
    pub before_hash: Option<String>,
    /// The new text.
    pub text: String,
    /// The id of the entity, for errors.
    pub id: String,
}

/// The files that a call writes, and the answer of the call.
pub(super) struct PlannedWrite<T> {
    pub files: Vec<FileWrite>,
    pub value: T,
}

/// Runs `plan_write` on the plan under the write lock, writes its files and returns its value. Without files nothing is
/// written and there is no receipt.
pub(super) async fn write<T: Send + 'static>(
    refrakt: &Refrakt,
    call: &ToolCall<'_>,
    plan_write: impl FnOnce(&PlanSnapshot) -> Result<PlannedWrite<T>> + Send + 'static,
) -> Result<(T, Option<Receipt>)> {
    let project = refrakt.project_for(call.caller).ok_or_else(|| errors::plan_missing(None))?;
    let _write_guard = refrakt.write_mutex.lock().await;
    let task_project = project.clone();
    let (lock, folder) = run_blocking(move || lock_plan(&task_project)).await?;
    recover_intents(refrakt, &call.caller.tenant, &project, &folder).await?;
    let task_project = project.clone();
    let (before, staged, value) = run_blocking(move || {
        let snapshot_before = FolderSnapshot::capture(&task_project);
        let plan = query::require_plan(&task_project)?;
        let PlannedWrite { files, value } = plan_write(&plan)?;
        Ok((snapshot_before, stage_all(&plan.dir, &files)?, value))
    })
    .await?;
    if staged.is_empty() {
        return Ok((value, None));
    }
    let receipt = commit_files(refrakt, call, &project, before, staged).await?;
    drop(lock);
    Ok((value, Some(receipt)))
}

fn lock_plan(project: &ProjectCache) -> Result<(WriteLock, ProjectDir)> {
    let folder = query::require_plan(project)?.dir.clone();
    let lock = WriteLock::acquire(&folder).map_err(errors::io_error)?;
    let lock = lock.ok_or_else(|| Error::busy("Another process is writing to the plan"))?;
    Ok((lock, folder))
}

fn stage_all(folder: &ProjectDir, files: &[FileWrite]) -> Result<Vec<StagedFile>> {
    let mut staged: Vec<StagedFile> = Vec::with_capacity(files.len());
    for file_write in files {
        match stage(folder, &file_write.file, file_write.before_hash.as_deref(), &file_write.text) {
            Ok(staged_file) => staged.push(staged_file),
            Err(error) => {
                staged.iter().for_each(StagedFile::discard);
                return Err(match error.kind() {
                    std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                        Error::new(
                            Kind::Conflict,
                            "PLAN_READ_ONLY",
                            format!("{} cannot be written", file_write.file),
                        )
                        .hint("Give the server's user write permission for the plan folder")
                        .with_cause(error)
                    }
                    _ => errors::io_error(error).with_detail("entity", file_write.id.as_str()),
                });
            }
        }
    }
    Ok(staged)
}

/// Commits the intent, renames the files and commits the event of the call.
async fn commit_files(
    refrakt: &Refrakt,
    call: &ToolCall<'_>,
    project: &std::sync::Arc<ProjectCache>,
    before: FolderSnapshot,
    staged: Vec<StagedFile>,
) -> Result<Receipt> {
    let project_tags = project.tags();
    let intents = match record_intents(refrakt, call, project_tags.as_str(), &staged).await {
        Ok(intents) => intents,
        Err(error) => {
            staged.iter().for_each(StagedFile::discard);
            return Err(error);
        }
    };
    // Keeps the poller from publishing this change before the commit below does.
    let mut published = refrakt.poller.lock_published().await;
    let before = published.clone().unwrap_or(before);
    let task_project = project.clone();
    let (committed, failed, current, staged) = run_blocking(move || {
        let (committed, failed) = rename_all(&staged);
        Ok((committed, failed, FolderSnapshot::capture(&task_project), staged))
    })
    .await?;
    let change = FolderChange::diff(&before, &current, project_tags);
    let files: Vec<String> =
        staged.iter().take(committed).map(|staged_file| staged_file.file.clone()).collect();
    let event = match &failed {
        None => call.event.clone().succeeded(),
        Some(_) => EventDraft::system(LAYER, "project.write.abandoned", &call.caller.subject).succeeded(),
    };
    let event = event.output("files", serde_json::json!(files));
    let finish = move |tx: &mut Tx<'_>| {
        intents.iter().try_for_each(|id| delete_intent(tx, id))?;
        change.publish_in(tx)
    };
    let ((), receipt) = refrakt.store.write(&WriteContext::from(call.caller), event, finish).await?;
    *published = Some(current);
    match failed {
        None => Ok(receipt),
        Some(error) => Err(error),
    }
}

/// Renames the files up to the first that fails. Returns how many were renamed.
fn rename_all(staged: &[StagedFile]) -> (usize, Option<Error>) {
    for (committed, staged_file) in staged.iter().enumerate() {
        let error = match staged_file.commit() {
            Ok(()) => continue,
            Err(CommitError::Changed) => errors::entity_changed(&staged_file.file, &staged_file.file, None),
            Err(CommitError::Failed(error)) => errors::io_error(error),
        };
        staged.iter().skip(committed).for_each(StagedFile::discard);
        let written: Vec<&str> =
            staged.iter().take(committed).map(|staged_file| staged_file.file.as_str()).collect();
        return (committed, Some(error.with_detail("written", written)));
    }
    (staged.len(), None)
}

/// Commits an intent for every file, before the first rename.
async fn record_intents(
    refrakt: &Refrakt,
    call: &ToolCall<'_>,
    root: &str,
    staged: &[StagedFile],
) -> Result<Vec<String>> {
    let mut rows = Vec::with_capacity(staged.len());
    for staged_file in staged {
        rows.push((quad_core::id::ulid()?, staged_file.clone()));
    }
    let ids: Vec<String> = rows.iter().map(|(id, _)| id.clone()).collect();
    let hashes: Vec<_> = staged
        .iter()
        .map(|staged_file| serde_json::json!({"file": staged_file.file, "before": staged_file.before_hash, "after": staged_file.after_hash}))
        .collect();
    let event = EventDraft::system(LAYER, "project.write.intended", &call.caller.subject)
        .input("tool", call.tool.name)
        .input("files", serde_json::Value::from(hashes))
        .succeeded();
    let root = root.to_owned();
    let insert = move |tx: &mut Tx<'_>| {
        let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
        for (id, staged_file) in &rows {
            let temp_path = staged_file.temp_path.to_string_lossy().into_owned();
            tx.execute(
                "INSERT INTO refrakt_intent (tenant_id, id, root, file, waiting, before_hash, after_hash, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                params![
                    tenant.as_str(),
                    id.as_str(),
                    root.as_str(),
                    staged_file.file.as_str(),
                    temp_path,
                    staged_file.before_hash.clone(),
                    staged_file.after_hash.as_str(),
                    now
                ],
            )?;
        }
        Ok(())
    };
    refrakt.store.write(&WriteContext::from(call.caller), event, insert).await?;
    Ok(ids)
}

fn delete_intent(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute("DELETE FROM refrakt_intent WHERE tenant_id = $1 AND id = $2", params![tenant, id])?;
    Ok(())
}

/// Recovers the intents of earlier processes, unless another process holds the write lock.
pub(super) async fn try_recover_intents(refrakt: &Refrakt) -> Result<()> {
    let task_project = refrakt.project.clone();
    let locked = run_blocking(move || {
        let Some(plan) = task_project.plan().map_err(errors::io_error)? else { return Ok(None) };
        let folder = plan.dir.clone();
        Ok(WriteLock::try_acquire(&folder).map_err(errors::io_error)?.map(|lock| (lock, folder)))
    })
    .await?;
    let Some((lock, folder)) = locked else { return Ok(()) };
    recover_intents(refrakt, &refrakt.tenant, &refrakt.project, &folder).await?;
    drop(lock);
    Ok(())
}

/// Decides and deletes all open intents. The caller holds the write lock.
async fn recover_intents(
    refrakt: &Refrakt,
    tenant: &TenantId,
    project: &ProjectCache,
    folder: &ProjectDir,
) -> Result<()> {
    let root = project.tags().as_str().to_owned();
    let select_intents = move |sql: &mut quad_store::Snapshot<'_>| {
        let tenant = sql.tenant().as_str().to_owned();
        let rows = sql.query(
            "SELECT id, file, waiting, after_hash FROM refrakt_intent WHERE tenant_id = $1 AND root = $2 ORDER BY id",
            params![tenant, root.as_str()],
        )?;
        let text = |row: &quad_store::Row, column| Ok::<_, Error>(row.text(column)?.to_owned());
        rows.iter()
            .map(|row| Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?, text(row, 3)?)))
            .collect::<Result<Vec<_>>>()
    };
    for (id, file, temp_path, after_hash) in refrakt.store.read(tenant, select_intents).await? {
        let target = folder.join_checked(&file);
        let was_written = run_blocking(move || {
            let _ = std::fs::remove_file(PathBuf::from(temp_path));
            let hash = target.map(|path| file_hash(&path)).transpose().map_err(errors::io_error)?.flatten();
            Ok(hash.as_deref() == Some(after_hash.as_str()))
        })
        .await?;
        let event = EventDraft::system(LAYER, "project.write.settled", "quad")
            .input("file", file)
            .output("written", was_written)
            .succeeded();
        refrakt.store.write(&WriteContext::from(tenant), event, move |tx| delete_intent(tx, &id)).await?;
    }
    Ok(())
}
