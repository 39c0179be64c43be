//! Filing: what becomes of a file that is read. A small one is done in one commit, with others if there are any; a large one
//! a piece at a time.

use std::ops::Range;
use std::sync::Arc;

use quad_core::{Error, EventDraft, Kind, Result, Timestamp, canonical};
use quad_statements::{Amount, Document, Statement};
use quad_store::{Store, Tx, WriteContext};
use tokio::task::spawn_blocking;

use super::account_lookup::{account_name, account_type, external_id, find_account};
use super::commit_context::CommitContext;
use super::parse::{AccountDefaults, ParsedDocument, load_defaults, parse, save_mapping};
use super::progress::StatementProgress;
use super::transactions::{self, LookupCache, start_of_day};
use super::{FileReport, ImportOptions, SourceTrust, file_report, match_transfers, statement_report};
use crate::account::{self, Account, AccountStatus, NewAccount};
use crate::balance::{self, Snapshot};
use crate::ids::{AccountId, BalanceId};
use crate::money::Balance;
use crate::posting::PostingCounts;
use crate::raw::{self, ProjectionStatus};
use crate::row_meta::{Provenance, RowMeta};
use crate::upload::Upload;
use crate::{calendar, limits, projection};

/// The version of our way from statements to rows; another one makes another projection.
const PARSER_VERSION: &str = "1";

/// Where a document comes from.
#[derive(Debug)]
pub(super) enum Origin {
    /// Somebody brings it now.
    Upload(Box<ParsedUpload>),
    /// It is an artifact already.
    Artifact(String),
}

/// What somebody brings.
#[derive(Debug)]
pub(super) struct ParsedUpload {
    pub(super) upload: Upload,
    /// What was known of its account when it was read.
    pub(super) defaults: AccountDefaults,
}

/// A file that is read and waits to be posted.
#[derive(Debug)]
pub(super) struct ImportJob {
    pub(super) origin: Origin,
    pub(super) parsed: Arc<ParsedDocument>,
    pub(super) options: ImportOptions,
    pub(super) trust: SourceTrust,
    pub(super) actor: String,
}

/// What a file's projection has become.
struct PreparedImport {
    raw_id: String,
    parsed_id: String,
    /// The account of each statement.
    accounts: Vec<StatementAccount>,
    is_resumed: bool,
}

/// The account of a statement.
struct StatementAccount {
    account: Account,
    /// Whether it was made for the statement.
    is_new: bool,
    /// Entries that an interrupted import has posted.
    posted_entries: usize,
}

/// Some entries of one statement.
#[derive(Clone, Debug)]
struct EntryChunk {
    statement: usize,
    entries: Range<usize>,
    /// Whether the statement ends with it.
    is_last: bool,
}

impl PreparedImport {
    fn progress(&self, statement: usize) -> StatementProgress {
        StatementProgress {
            raw_id: self.raw_id.clone(),
            parsed_id: self.parsed_id.clone(),
            statement: statement as i64,
            account: self.accounts[statement].account.id.as_str().to_owned(),
        }
    }

    /// What became of a file, before anything of it is posted.
    fn report(&self, document: &Document) -> FileReport {
        let mut report =
            FileReport { is_resumed: self.is_resumed, ..file_report(document, Some(self.raw_id.clone())) };
        for (statement, statement_account) in document.statements.iter().zip(&self.accounts) {
            let posted = PostingCounts {
                unchanged: statement_account.posted_entries.min(statement.entries.len()),
                ..PostingCounts::default()
            };
            report.statements.push(statement_report(
                statement,
                Some(&statement_account.account),
                statement_account.is_new,
                posted,
            ));
        }
        report
    }
}

impl ImportJob {
    /// How many entries it has.
    pub(super) fn entry_count(&self) -> usize {
        self.parsed.document.entry_count()
    }

    /// How many bytes it brings.
    pub(super) fn byte_count(&self) -> usize {
        match &self.origin {
            Origin::Upload(upload) => upload.upload.bytes().len(),
            Origin::Artifact(_) => 0,
        }
    }

    /// Whether one commit can hold all of it.
    pub(super) fn fits_one_commit(&self) -> bool {
        self.fits_with(0, 0)
    }

    /// Whether it fits into a commit that has so many entries and bytes.
    pub(super) fn fits_with(&self, entries: usize, bytes: usize) -> bool {
        !self.options.dry_run
            && entries + self.entry_count() <= limits::ROWS_PER_WRITE
            && bytes + self.byte_count() <= limits::BYTES_PER_WRITE
    }

    /// The file as it is read with what is known now: anew if that is another than it was.
    fn reparse_if_changed(&self, defaults: &AccountDefaults) -> Result<Arc<ParsedDocument>> {
        match &self.origin {
            Origin::Upload(upload) if upload.defaults != *defaults => {
                Ok(Arc::new(parse(upload.upload.bytes(), &self.options, defaults)?))
            }
            _ => Ok(self.parsed.clone()),
        }
    }

    /// Writes the artifact and the projection, and finds or makes the accounts.
    fn prepare(
        &self,
        tx: &mut Tx<'_>,
        parsed: &ParsedDocument,
        context: &mut CommitContext,
    ) -> Result<PreparedImport> {
        let document = &parsed.document;
        let raw_id = match &self.origin {
            Origin::Upload(upload) => upload.upload.register(tx)?,
            Origin::Artifact(raw_id) => raw_id.clone(),
        };
        let parser = format!("statements.{}", document.format.name());
        let version = match self.options.settings.is_empty() {
            true => PARSER_VERSION.to_owned(),
            // Other columns make another projection.
            false => {
                let mut hash = canonical::sha256_hex(self.options.settings.join("\n").as_bytes());
                hash.truncate(8);
                format!("{PARSER_VERSION}+{hash}")
            }
        };
        let parsed_id = projection::get_or_insert(
            tx,
            &raw_id,
            (&parser, &version),
            &parsed.extracted,
            self.trust.confidence,
        )?;
        let status_before = raw::find(tx, &raw_id)?.and_then(|artifact| artifact.projection_status);
        raw::set_status(tx, &raw_id, ProjectionStatus::Projecting)?;
        let mut prepared = PreparedImport {
            parsed_id: parsed_id.as_str().to_owned(),
            accounts: Vec::with_capacity(document.statements.len()),
            is_resumed: status_before == Some(ProjectionStatus::Projecting),
            raw_id,
        };
        for (index, statement) in document.statements.iter().enumerate() {
            let (account, is_new) = self.find_or_create_account(tx, statement, &prepared, context)?;
            if let Some(mapping) = &document.mapping {
                save_mapping(tx, account.id.as_str(), mapping)?;
            }
            prepared.accounts.push(StatementAccount { account, is_new, posted_entries: 0 });
            prepared.accounts[index].posted_entries = prepared.progress(index).load_posted(tx)?;
        }
        tx.audit_output("parsed_id", prepared.parsed_id.as_str());
        tx.emit_event(
            EventDraft::system("raw", "raw.parsed.write", &self.actor)
                .input("raw_id", prepared.raw_id.as_str())
                .input("parser", parser),
        );
        Ok(prepared)
    }

    fn find_or_create_account(
        &self,
        tx: &mut Tx<'_>,
        statement: &Statement,
        prepared: &PreparedImport,
        context: &mut CommitContext,
    ) -> Result<(Account, bool)> {
        let (hint, currency) = (&statement.account, statement.currency);
        if let Some(account) = find_account(tx, (hint, currency), &self.options)? {
            return Ok((account, false));
        }
        let new = NewAccount {
            id: AccountId::generate()?,
            name: account_name(hint, currency),
            account_type: account_type(hint.kind),
            institution: hint.bank.as_deref().map(str::to_owned),
            external_account_id: external_id(hint, currency),
            currency,
            status: AccountStatus::Active,
        };
        let meta = self.row_meta(&prepared.raw_id, &prepared.parsed_id, tx.now());
        let created = account::create(tx, new, meta, &mut context.touched)?;
        context.own_accounts = None;
        Ok((created.ok_or_else(|| Error::internal("an account that was not there is there"))?, true))
    }

    fn row_meta(&self, raw_id: &str, parsed_id: &str, now: Timestamp) -> RowMeta {
        RowMeta::from_artifact(raw_id, Some(parsed_id), self.trust.provenance, self.trust.confidence, now)
    }

    /// What is left to post, a commit's worth each.
    fn remaining_chunks(&self, document: &Document, prepared: &PreparedImport) -> Vec<Vec<EntryChunk>> {
        let mut commits: Vec<Vec<EntryChunk>> = vec![Vec::new()];
        let mut capacity = limits::ROWS_PER_WRITE;
        for (index, (statement, statement_account)) in
            document.statements.iter().zip(&prepared.accounts).enumerate()
        {
            let mut from = statement_account.posted_entries.min(statement.entries.len());
            loop {
                let to = statement.entries.len().min(from + capacity);
                let is_last = to == statement.entries.len();
                if let Some(commit) = commits.last_mut()
                    && (from < to
                        || (is_last && self.closing_balance(statement, statement_account).is_some()))
                {
                    commit.push(EntryChunk { statement: index, entries: from..to, is_last });
                }
                capacity -= to - from;
                if is_last {
                    break;
                }
                from = to;
                commits.push(Vec::new());
                capacity = limits::ROWS_PER_WRITE;
            }
        }
        commits.retain(|pieces| !pieces.is_empty());
        commits
    }

    /// What a statement says that is left at its end, and on which day, if that is believed.
    fn closing_balance(
        &self,
        statement: &Statement,
        statement_account: &StatementAccount,
    ) -> Option<(Amount, Timestamp)> {
        let is_trusted = self.trust.trusts_balances
            || statement_account.account.meta.provenance == Provenance::AgentContributed;
        let closing = statement.closing.filter(|_| is_trusted)?;
        Some((closing.amount, start_of_day(closing.as_of.or(statement.to)?)))
    }

    /// Posts some entries, and what the statement says at its end.
    fn post_chunk(
        &self,
        tx: &mut Tx<'_>,
        document: &Document,
        prepared: &PreparedImport,
        chunk: &EntryChunk,
        context: &mut CommitContext,
    ) -> Result<PostingCounts> {
        let (statement, progress) =
            (&document.statements[chunk.statement], prepared.progress(chunk.statement));
        let mut posted = PostingCounts::default();
        if !chunk.entries.is_empty() {
            let entries = &statement.entries[chunk.entries.clone()];
            let meta = self.row_meta(&progress.raw_id, &progress.parsed_id, tx.now());
            posted = transactions::post_entries(tx, entries, &progress, &meta, context)?;
            progress.save_posted(tx, chunk.entries.end)?;
            tx.audit_output("added", posted.added);
            tx.audit_output("known", posted.unchanged);
            tx.emit_event(
                EventDraft::system("ledger", "ledger.imported", &self.actor)
                    .input("raw_id", progress.raw_id.as_str())
                    .input("account_id", progress.account.as_str()),
            );
        }
        if chunk.is_last
            && let Some(closing) = self.closing_balance(statement, &prepared.accounts[chunk.statement])
        {
            self.record_closing_balance(tx, statement, closing, &progress, context)?;
        }
        Ok(posted)
    }

    /// Records the balance at the end of a statement.
    fn record_closing_balance(
        &self,
        tx: &mut Tx<'_>,
        statement: &Statement,
        (amount, last): (Amount, Timestamp),
        progress: &StatementProgress,
        context: &mut CommitContext,
    ) -> Result<()> {
        context.batch.flush(tx)?;
        let snapshot = Snapshot {
            id: BalanceId::generate()?,
            account_id: AccountId::from_db(progress.account.as_str()),
            // The end of the day: what was booked on it is in the balance.
            as_of: last.plus_ms(calendar::DAY_MS - 1),
            current_balance: Balance(amount),
            available_balance: statement.available.map(|available| Balance(available.amount)),
            pending_balance: None,
            currency: statement.currency,
            meta: self.row_meta(&progress.raw_id, &progress.parsed_id, tx.now()),
        };
        balance::record(tx, snapshot, &mut context.touched)?;
        tx.emit_event(
            EventDraft::system("ledger", "ledger.balance.recorded", &self.actor)
                .input("account_id", progress.account.as_str()),
        );
        Ok(())
    }

    /// All of it in one commit. Says the days around which transfers are still to be paired, if they were too many.
    fn import_in_tx(
        &self,
        tx: &mut Tx<'_>,
        context: &mut CommitContext,
    ) -> Result<(FileReport, Option<DayRange>)> {
        let parsed = self.reparse_if_changed(&load_defaults(tx, self.options.account.as_deref())?)?;
        let document = &parsed.document;
        let prepared = self.prepare(tx, &parsed, context)?;
        let mut report = prepared.report(document);
        for chunk in self.remaining_chunks(document, &prepared).iter().flatten() {
            report.statements[chunk.statement].posted +=
                self.post_chunk(tx, document, &prepared, chunk, context)?;
        }
        raw::set_status(tx, &prepared.raw_id, ProjectionStatus::Projected)?;
        let mut pending_days = day_range(document);
        if let Some(range) = pending_days
            && let Some(matched) =
                match_transfers::match_in_tx(tx, &self.actor, &prepared.raw_id, range, context)?
        {
            report.transfers = matched;
            pending_days = None;
        }
        Ok((report, pending_days))
    }
}

/// The first and the last day of a document's entries.
pub(super) type DayRange = (Timestamp, Timestamp);

fn day_range(document: &Document) -> Option<DayRange> {
    let mut booked =
        document.statements.iter().flat_map(|statement| &statement.entries).map(|entry| entry.booked);
    let first = booked.next()?;
    let (first, last) = booked.fold((first, first), |(first, last), day| (first.min(day), last.max(day)));
    Some((start_of_day(first), start_of_day(last)))
}

/// Files small ones, all in one commit: all of them or none.
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

/// Files small ones as if one after the other: what became of those that are done, and why the next is not.
pub(super) async fn import_batch_or_each(
    store: &Store,
    writer: &WriteContext,
    jobs: Vec<Arc<ImportJob>>,
) -> (Vec<FileReport>, Option<Error>) {
    let mut done = Vec::with_capacity(jobs.len());
    if jobs.len() > 1 {
        match import_batch(store, writer, jobs.clone()).await {
            Ok(reports) => return (reports, None),
            // The input of one of them is refused; those before it are imported.
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

/// Files a small one by itself.
pub(super) async fn import_one(
    store: &Store,
    writer: &WriteContext,
    job: Arc<ImportJob>,
) -> Result<FileReport> {
    let mut reports = import_batch(store, writer, vec![job]).await?;
    reports.pop().ok_or_else(|| Error::internal("a file was filed without a report"))
}

/// Files a large one, a piece a commit. `progress` hears how many entries of how many are behind.
pub(super) async fn import_chunked(
    store: &Store,
    writer: &WriteContext,
    job: Arc<ImportJob>,
    mut on_progress: impl FnMut(usize, usize),
) -> Result<FileReport> {
    if let Origin::Upload(upload) = &job.origin {
        upload.upload.store_bytes(store, writer).await?;
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
