//! Which files and entries share a commit. Small files share one; a large file takes several.
//!
//! `job` does the steps of one file inside a transaction; this file only decides where transactions begin and end.

use std::sync::Arc;

use quad_core::{Error, Kind, Result};
use quad_store::{Store, Tx, WriteContext};
use tokio::task::spawn_blocking;

use super::commit_context::CommitContext;
use super::job::{ImportJob, Origin, day_range};
use super::parse::load_defaults;
use super::transactions::LookupCache;
use super::{FileReport, match_transfers};
use crate::raw::{self, ProjectionStatus};

/// Imports small files in one commit: all of them or none.
pub(super) async fn import_batch(
    store: &Store,
    writer: &WriteContext,
    jobs: Vec<Arc<ImportJob>>,
) -> Result<Vec<FileReport>> {
    let tx_jobs = jobs.clone();
    let work = move |tx: &mut Tx<'_>| {
        let mut context = CommitContext::begin(tx, LookupCache::default(), None)?;
        let mut reports = Vec::with_capacity(tx_jobs.len());
        for job in &tx_jobs {
            reports.push(job.import_in_tx(tx, &mut context)?);
        }
        let (_, own_accounts) = context.flush(tx)?;
        Ok((reports, own_accounts))
    };
    let (results, own_accounts) = store.write_with_events(writer, work).await?;
    let mut reports = Vec::with_capacity(results.len());
    for ((mut report, pending_days), job) in results.into_iter().zip(&jobs) {
        if let (Some(range), Some(own_accounts), Some(raw_id)) = (pending_days, &own_accounts, &report.raw_id)
        {
            report.transfers =
                match_transfers::match_in_batches(store, writer, &job.actor, raw_id, own_accounts, range)
                    .await?;
        }
        reports.push(report);
    }
    Ok(reports)
}

/// Imports small files in one commit. If the input of one of them is refused, imports them one by one up to that file.
/// Returns the reports of the imported files and the error of the next one.
///
/// An error that is not about the input, such as a full disk, is returned at once: a second try would meet it again.
pub(super) async fn import_batch_or_each(
    store: &Store,
    writer: &WriteContext,
    jobs: Vec<Arc<ImportJob>>,
) -> (Vec<FileReport>, Option<Error>) {
    let mut done = Vec::with_capacity(jobs.len());
    if jobs.len() > 1 {
        match import_batch(store, writer, jobs.clone()).await {
            Ok(reports) => return (reports, None),
            Err(error) if is_input_error(&error) => {}
            Err(error) => return (done, Some(error)),
        }
    }
    for job in jobs {
        match import_one(store, writer, job).await {
            Ok(report) => done.push(report),
            Err(error) => return (done, Some(error)),
        }
    }
    (done, None)
}

/// Whether an error is about what a file says, so that the other files may still be fine.
fn is_input_error(error: &Error) -> bool {
    matches!(error.kind(), Kind::BadInput | Kind::Conflict | Kind::NotFound)
}

/// Imports one small file in a commit of its own.
pub(super) async fn import_one(
    store: &Store,
    writer: &WriteContext,
    job: Arc<ImportJob>,
) -> Result<FileReport> {
    let mut reports = import_batch(store, writer, vec![job]).await?;
    reports.pop().ok_or_else(|| Error::internal("an import has no report"))
}

/// Imports a large file in several commits. `on_progress` gets the number of processed entries and of all.
pub(super) async fn import_chunked(
    store: &Store,
    writer: &WriteContext,
    job: Arc<ImportJob>,
    mut on_progress: impl FnMut(usize, usize),
) -> Result<FileReport> {
    if let Origin::Upload { upload, .. } = &job.origin {
        upload.store_bytes(store, writer).await?;
    }
    let account = job.options.account.clone();
    let defaults = store.read(&writer.tenant, move |sql| load_defaults(sql, account.as_deref())).await?;
    let parse_job = job.clone();
    let parsed =
        spawn_blocking(move || parse_job.reparse_if_changed(&defaults)).await.map_err(Error::internal)??;
    let (prepare_job, tx_parsed) = (job.clone(), parsed.clone());
    let work = move |tx: &mut Tx<'_>| {
        let mut context = CommitContext::begin(tx, LookupCache::default(), None)?;
        let prepared = prepare_job.prepare(tx, &tx_parsed, &mut context)?;
        let commits = prepare_job.remaining_chunks(&tx_parsed.document, &prepared);
        if commits.is_empty() {
            raw::set_status(tx, &prepared.raw_id, ProjectionStatus::Projected)?;
        }
        let own_accounts = context.own_accounts(tx)?;
        context.flush(tx)?;
        Ok((prepared, commits, own_accounts))
    };
    let (prepared, commits, own_accounts) = store.write_with_events(writer, work).await?;
    let document = &parsed.document;
    let mut report = prepared.report(document);
    let total = document.entry_count();
    let mut processed: usize = report.statements.iter().map(|statement| statement.posted.unchanged).sum();
    let last = commits.len().saturating_sub(1);
    let (prepared, mut cache) = (Arc::new(prepared), LookupCache::default());
    for (index, chunks) in commits.into_iter().enumerate() {
        let (post_job, tx_parsed, prepared) = (job.clone(), parsed.clone(), prepared.clone());
        let (tx_cache, tx_own_accounts, tx_chunks) = (cache, own_accounts.clone(), chunks.clone());
        let work = move |tx: &mut Tx<'_>| {
            let mut context = CommitContext::begin(tx, tx_cache.clone(), Some(tx_own_accounts.clone()))?;
            let mut posted = Vec::with_capacity(tx_chunks.len());
            for chunk in &tx_chunks {
                posted.push(post_job.post_chunk(tx, &tx_parsed.document, &prepared, chunk, &mut context)?);
            }
            if index == last {
                raw::set_status(tx, &prepared.raw_id, ProjectionStatus::Projected)?;
            }
            Ok((posted, context.flush(tx)?.0))
        };
        let (posted, updated_cache) = store.write_with_events(writer, work).await?;
        cache = updated_cache;
        for (chunk, posted) in chunks.iter().zip(posted) {
            report.statements[chunk.statement].posted += posted;
            processed += chunk.entries.len();
        }
        on_progress(processed, total);
    }
    if let (Some(range), Some(raw_id)) = (day_range(document), &report.raw_id) {
        report.transfers =
            match_transfers::match_in_batches(store, writer, &job.actor, raw_id, &own_accounts, range)
                .await?;
    }
    Ok(report)
}
