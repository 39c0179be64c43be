//! Writes to the plan's files, as the audit trail wants them: the new text on disk beside the old one, a word of what is about to
//! happen, the exchange, a word that it has happened.
//!
//! A process that ends in between leaves its intent in the database. Whoever next has the right to write finds it and says from the
//! file's hash which way it went. Only the holder of the folder's lock has open intents, so an intent that is seen under the lock
//! belongs to nobody who lives.

use std::path::PathBuf;

use quad_core::tool::Call;
use quad_core::{Error, EventDraft, Kind, Receipt, Result, TenantId};
use quad_store::{Sql, Tx, Writer, params};

use super::telling::{LAYER, Look, Step};
use super::{Refrakt, blocking, question, refusal};
use crate::live::{Live, Plan};
use crate::project::folder::Folder;
use crate::project::writing::{NotPlaced, Prepared, WriteLock, hash_at, prepare};

/// A text that a file is to have.
#[derive(Clone, Debug)]
pub(super) struct NewText {
    /// Path below the plan folder.
    pub file: String,
    /// SHA-256 of what it replaces; none for a file that is new.
    pub before: Option<String>,
    /// What it is to hold.
    pub text: String,
    /// What the file is about, for refusals.
    pub id: String,
}

/// What a call wants to write, and what it says when that is done.
pub(super) struct Wish<T> {
    pub texts: Vec<NewText>,
    pub value: T,
}

/// Writes what `wish` makes of the plan, which it sees under the lock, and hands back its value. A wish for nothing writes nothing
/// and gives no receipt.
pub(super) async fn write<T: Send + 'static>(
    refrakt: &Refrakt,
    call: &Call<'_>,
    wish: impl FnOnce(&Plan) -> Result<Wish<T>> + Send + 'static,
) -> Result<(T, Option<Receipt>)> {
    let live = refrakt.live_of(call.caller).ok_or_else(|| refusal::no_plan(None))?;
    let _turn = refrakt.turn.lock().await;
    let looking = live.clone();
    let (lock, folder) = blocking(move || lock_of(&looking)).await?;
    settle(refrakt, &call.caller.tenant, &live, &folder).await?;
    let looking = live.clone();
    let (before, prepared, value) = blocking(move || {
        let before = Look::take(&looking);
        let plan = question::plan(&looking)?;
        let Wish { texts, value } = wish(&plan)?;
        Ok((before, prepare_all(&plan.folder, &texts)?, value))
    })
    .await?;
    if prepared.is_empty() {
        return Ok((value, None));
    }
    let receipt = exchange(refrakt, call, &live, before, prepared).await?;
    drop(lock);
    Ok((value, Some(receipt)))
}

fn lock_of(live: &Live) -> Result<(WriteLock, Folder)> {
    let folder = question::plan(live)?.folder.clone();
    let lock = WriteLock::take(&folder).map_err(refusal::disk)?;
    let lock = lock.ok_or_else(|| {
        Error::new(Kind::Limit, "BUSY", "Another process is writing to the plan").hint("Try again")
    })?;
    Ok((lock, folder))
}

fn prepare_all(folder: &Folder, texts: &[NewText]) -> Result<Vec<Prepared>> {
    let mut prepared: Vec<Prepared> = Vec::with_capacity(texts.len());
    for new in texts {
        match prepare(folder, &new.file, new.before.as_deref(), &new.text) {
            Ok(one) => prepared.push(one),
            Err(error) => {
                prepared.iter().for_each(Prepared::discard);
                return Err(match error.kind() {
                    std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                        Error::new(
                            Kind::Conflict,
                            "PLAN_READ_ONLY",
                            format!("{} cannot be written", new.file),
                        )
                        .hint("The server's user needs the right to write in the plan folder")
                        .because(error)
                    }
                    _ => refusal::disk(error).fact("entity", new.id.as_str()),
                });
            }
        }
    }
    Ok(prepared)
}

/// The intent, the exchange, and the word that it is done.
async fn exchange(
    refrakt: &Refrakt,
    call: &Call<'_>,
    live: &std::sync::Arc<Live>,
    before: Look,
    prepared: Vec<Prepared>,
) -> Result<Receipt> {
    let root = super::Root::of(live.root());
    let intents = match intend(refrakt, call, root.as_str(), &prepared).await {
        Ok(intents) => intents,
        Err(error) => {
            prepared.iter().for_each(Prepared::discard);
            return Err(error);
        }
    };
    // Nobody else tells of what happens here before we do.
    let mut told = refrakt.told.lock().await;
    let before = told.clone().unwrap_or(before);
    let looking = live.clone();
    let (placed, failed, now, prepared) = blocking(move || {
        let (placed, failed) = place_all(&prepared);
        Ok((placed, failed, Look::take(&looking), prepared))
    })
    .await?;
    let step = Step::between(&before, &now, &root);
    let files: Vec<String> = prepared.iter().take(placed).map(|one| one.file.clone()).collect();
    let event = match &failed {
        None => call.event.clone().succeeded(),
        Some(_) => EventDraft::system(LAYER, "project.write.abandoned", &call.caller.subject).succeeded(),
    };
    let event = event.output("files", serde_json::json!(files));
    let done = move |tx: &mut Tx<'_>| {
        intents.iter().try_for_each(|id| forget(tx, id))?;
        step.tell(tx)
    };
    let ((), receipt) = refrakt.store.write(&Writer::from(call.caller), event, done).await?;
    *told = Some(now);
    match failed {
        None => Ok(receipt),
        Some(error) => Err(error),
    }
}

/// Puts each in its place, up to the first that fails; says how many are.
fn place_all(prepared: &[Prepared]) -> (usize, Option<Error>) {
    for (placed, one) in prepared.iter().enumerate() {
        let error = match one.place() {
            Ok(()) => continue,
            Err(NotPlaced::Changed) => refusal::changed(&one.file, &one.file, None),
            Err(NotPlaced::Failed(error)) => refusal::disk(error),
        };
        prepared.iter().skip(placed).for_each(Prepared::discard);
        let written: Vec<&str> = prepared.iter().take(placed).map(|one| one.file.as_str()).collect();
        return (placed, Some(error.fact("written", written)));
    }
    (prepared.len(), None)
}

/// Writes down what is about to happen.
async fn intend(
    refrakt: &Refrakt,
    call: &Call<'_>,
    root: &str,
    prepared: &[Prepared],
) -> Result<Vec<String>> {
    let mut rows = Vec::with_capacity(prepared.len());
    for one in prepared {
        rows.push((quad_core::id::ulid()?, one.clone()));
    }
    let ids: Vec<String> = rows.iter().map(|(id, _)| id.clone()).collect();
    let hashes: Vec<_> = prepared
        .iter()
        .map(|one| serde_json::json!({"file": one.file, "before": one.before, "after": one.after}))
        .collect();
    let event = EventDraft::system(LAYER, "project.write.intended", &call.caller.subject)
        .input("tool", call.tool.name)
        .input("files", serde_json::Value::from(hashes))
        .succeeded();
    let root = root.to_owned();
    let insert = move |tx: &mut Tx<'_>| {
        let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
        for (id, one) in &rows {
            let waiting = one.waiting.to_string_lossy().into_owned();
            tx.execute(
                "INSERT INTO refrakt_intent (tenant_id, id, root, file, waiting, before_hash, after_hash, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                params![
                    tenant.as_str(),
                    id.as_str(),
                    root.as_str(),
                    one.file.as_str(),
                    waiting,
                    one.before.clone(),
                    one.after.as_str(),
                    now
                ],
            )?;
        }
        Ok(())
    };
    refrakt.store.write(&Writer::from(call.caller), event, insert).await?;
    Ok(ids)
}

fn forget(tx: &mut Tx<'_>, id: &str) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute("DELETE FROM refrakt_intent WHERE tenant_id = $1 AND id = $2", params![tenant, id])?;
    Ok(())
}

/// Settles what an earlier process left open, unless one that lives is writing.
pub(super) async fn settle_now(refrakt: &Refrakt) -> Result<()> {
    let Some((tenant, live)) = refrakt.owned() else { return Ok(()) };
    let looking = live.clone();
    let locked = blocking(move || {
        let Some(plan) = looking.plan().map_err(refusal::disk)? else { return Ok(None) };
        let folder = plan.folder.clone();
        Ok(WriteLock::take_now(&folder).map_err(refusal::disk)?.map(|lock| (lock, folder)))
    })
    .await?;
    let Some((lock, folder)) = locked else { return Ok(()) };
    settle(refrakt, &tenant, &live, &folder).await?;
    drop(lock);
    Ok(())
}

/// Settles open intents; the caller holds the lock.
async fn settle(refrakt: &Refrakt, tenant: &TenantId, live: &Live, folder: &Folder) -> Result<()> {
    let root = super::Root::of(live.root()).as_str().to_owned();
    let find = move |sql: &mut quad_store::Snapshot<'_>| {
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
    for (id, file, waiting, after) in refrakt.store.read(tenant, find).await? {
        let target = folder.inside(&file);
        let happened = blocking(move || {
            let _ = std::fs::remove_file(PathBuf::from(waiting));
            let hash = target.map(|path| hash_at(&path)).transpose().map_err(refusal::disk)?.flatten();
            Ok(hash.as_deref() == Some(after.as_str()))
        })
        .await?;
        let event = EventDraft::system(LAYER, "project.write.settled", "quad")
            .input("file", file)
            .output("written", happened)
            .succeeded();
        refrakt.store.write(&Writer::from(tenant), event, move |tx| forget(tx, &id)).await?;
    }
    Ok(())
}
