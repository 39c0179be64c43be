//! The import of one file, as steps inside a transaction: store the artifact and its projection, find or create the
//! accounts, post the entries in chunks, record closing balances, match transfers.
//!
//! `schedule` decides which files and chunks share a transaction.

use std::ops::Range;
use std::sync::Arc;

use quad_core::{Error, EventDraft, Result, Timestamp, canonical};
use quad_statements::{Amount, Document, Statement};
use quad_store::Tx;

use super::account_lookup::{account_name, account_type, external_id, find_account};
use super::commit_context::CommitContext;
use super::parse::{AccountDefaults, ParsedDocument, load_defaults, parse, save_mapping};
use super::progress::StatementProgress;
use super::transactions;
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

/// The version of this conversion from statements to rows. Another version creates another projection.
const PARSER_VERSION: &str = "1";

/// Where the bytes of a file come from.
#[derive(Debug)]
pub(super) enum Origin {
    /// A new file. The import stores it as an artifact.
    Upload {
        /// The file.
        upload: Box<Upload>,
        /// The defaults that the file was parsed with. Another file may change them before this one is posted.
        defaults: AccountDefaults,
    },
    /// The id of an artifact that is stored already.
    Artifact(String),
}

/// One parsed file that is to be posted.
#[derive(Debug)]
pub(super) struct ImportJob {
    pub(super) origin: Origin,
    pub(super) parsed: Arc<ParsedDocument>,
    pub(super) options: ImportOptions,
    pub(super) trust: SourceTrust,
    pub(super) actor: String,
}

/// A file after its first step: its artifact and projection are written, and its accounts exist.
pub(super) struct PreparedImport {
    pub(super) raw_id: String,
    parsed_id: String,
    /// One for each statement of the document.
    statements: Vec<StatementProgress>,
    was_imported: bool,
    is_resumed: bool,
}

/// A range of the entries of one statement.
#[derive(Clone, Debug)]
pub(super) struct EntryChunk {
    pub(super) statement: usize,
    pub(super) entries: Range<usize>,
    /// Whether this is the last chunk of its statement.
    is_last: bool,
}

impl PreparedImport {
    /// The report before any entry is posted.
    pub(super) fn report(&self, document: &Document) -> FileReport {
        let mut report = FileReport {
            was_imported: self.was_imported,
            is_resumed: self.is_resumed,
            ..file_report(document, Some(self.raw_id.clone()))
        };
        for (statement, progress) in document.statements.iter().zip(&self.statements) {
            let posted = PostingCounts {
                unchanged: progress.posted_entries.min(statement.entries.len()),
                ..PostingCounts::default()
            };
            report.statements.push(statement_report(
                statement,
                Some(&progress.account),
                progress.is_new_account,
                posted,
            ));
        }
        report
    }
}

impl ImportJob {
    /// The number of entries.
    pub(super) fn entry_count(&self) -> usize {
        self.parsed.document.entry_count()
    }

    /// The number of bytes that the import writes; zero if the artifact exists.
    pub(super) fn byte_count(&self) -> usize {
        match &self.origin {
            Origin::Upload { upload, .. } => upload.bytes().len(),
            Origin::Artifact(_) => 0,
        }
    }

    /// Whether one commit can hold the whole file.
    pub(super) fn fits_one_commit(&self) -> bool {
        self.fits_with(0, 0)
    }

    /// Whether the file fits into a commit that has this many entries and bytes already.
    pub(super) fn fits_with(&self, entries: usize, bytes: usize) -> bool {
        !self.options.dry_run
            && entries + self.entry_count() <= limits::ROWS_PER_WRITE
            && bytes + self.byte_count() <= limits::BYTES_PER_WRITE
    }

    /// The document as parsed with these defaults. Parses the file again if it was parsed with other ones.
    pub(super) fn reparse_if_changed(&self, defaults: &AccountDefaults) -> Result<Arc<ParsedDocument>> {
        match &self.origin {
            Origin::Upload { upload, defaults: parsed_with } if parsed_with != defaults => {
                Ok(Arc::new(parse(upload.bytes(), &self.options, defaults)?))
            }
            _ => Ok(self.parsed.clone()),
        }
    }

    /// First step: stores the artifact and the projection, and finds or creates the accounts.
    pub(super) fn prepare(
        &self,
        tx: &mut Tx<'_>,
        parsed: &ParsedDocument,
        context: &mut CommitContext,
    ) -> Result<PreparedImport> {
        let document = &parsed.document;
        let raw_id = match &self.origin {
            Origin::Upload { upload, .. } => upload.register(tx)?,
            Origin::Artifact(raw_id) => raw_id.clone(),
        };
        let parser = format!("statements.{}", document.format.name());
        let version = match self.options.settings.is_empty() {
            true => PARSER_VERSION.to_owned(),
            // Other column settings create another projection.
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
            statements: Vec::with_capacity(document.statements.len()),
            was_imported: status_before == Some(ProjectionStatus::Projected),
            is_resumed: status_before == Some(ProjectionStatus::Projecting),
            raw_id,
        };
        for (index, statement) in document.statements.iter().enumerate() {
            let account = self.find_or_create_account(tx, statement, &prepared, context)?;
            if let Some(mapping) = &document.mapping {
                save_mapping(tx, account.0.id.as_str(), mapping)?;
            }
            let progress =
                StatementProgress::load(tx, (&prepared.raw_id, &prepared.parsed_id), index, account)?;
            prepared.statements.push(progress);
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
        Ok((created.ok_or_else(|| Error::internal("the id of a new account exists already"))?, true))
    }

    fn row_meta(&self, raw_id: &str, parsed_id: &str, now: Timestamp) -> RowMeta {
        RowMeta::from_artifact(raw_id, Some(parsed_id), self.trust.provenance, self.trust.confidence, now)
    }

    /// The chunks that are not posted yet, grouped by commit.
    pub(super) fn remaining_chunks(
        &self,
        document: &Document,
        prepared: &PreparedImport,
    ) -> Vec<Vec<EntryChunk>> {
        let mut commits: Vec<Vec<EntryChunk>> = vec![Vec::new()];
        let mut capacity = limits::ROWS_PER_WRITE;
        for (index, (statement, progress)) in document.statements.iter().zip(&prepared.statements).enumerate()
        {
            let mut from = progress.posted_entries.min(statement.entries.len());
            loop {
                let to = statement.entries.len().min(from + capacity);
                let is_last = to == statement.entries.len();
                if let Some(commit) = commits.last_mut()
                    && (from < to || (is_last && self.closing_balance(statement, progress).is_some()))
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
        commits.retain(|chunks| !chunks.is_empty());
        commits
    }

    /// The closing balance of a statement and its day, if the importer may set balances.
    fn closing_balance(
        &self,
        statement: &Statement,
        progress: &StatementProgress,
    ) -> Option<(Amount, Timestamp)> {
        let is_trusted =
            self.trust.trusts_balances || progress.account.meta.provenance == Provenance::AgentContributed;
        let closing = statement.closing.filter(|_| is_trusted)?;
        Some((closing.amount, calendar::midnight(closing.as_of.or(statement.to)?)))
    }

    /// Posts one chunk; after the last chunk of a statement, records its closing balance.
    pub(super) fn post_chunk(
        &self,
        tx: &mut Tx<'_>,
        document: &Document,
        prepared: &PreparedImport,
        chunk: &EntryChunk,
        context: &mut CommitContext,
    ) -> Result<PostingCounts> {
        let (statement, progress) =
            (&document.statements[chunk.statement], &prepared.statements[chunk.statement]);
        let mut posted = PostingCounts::default();
        if !chunk.entries.is_empty() {
            let entries = &statement.entries[chunk.entries.clone()];
            let meta = self.row_meta(&progress.raw_id, &progress.parsed_id, tx.now());
            posted = transactions::post_entries(tx, entries, progress, &meta, context)?;
            progress.save_posted(tx, chunk.entries.end)?;
            tx.audit_output("added", posted.added);
            tx.audit_output("known", posted.unchanged);
            tx.emit_event(
                EventDraft::system("ledger", "ledger.imported", &self.actor)
                    .input("raw_id", progress.raw_id.as_str())
                    .input("account_id", progress.account.id.as_str()),
            );
        }
        if chunk.is_last
            && let Some(closing) = self.closing_balance(statement, progress)
        {
            self.record_closing_balance(tx, statement, closing, progress, context)?;
        }
        Ok(posted)
    }

    /// Records the closing balance of a statement.
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
            account_id: progress.account.id.clone(),
            // The end of the day: the balance includes the entries of that day.
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
                .input("account_id", progress.account.id.as_str()),
        );
        Ok(())
    }

    /// All steps in one transaction. Also returns the range of days around which transfers are still to be matched, if
    /// this commit could not record all of them.
    pub(super) fn import_in_tx(
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

/// The first and the last day of the entries of a document.
pub(super) type DayRange = (Timestamp, Timestamp);

pub(super) fn day_range(document: &Document) -> Option<DayRange> {
    let mut booked =
        document.statements.iter().flat_map(|statement| &statement.entries).map(|entry| entry.booked);
    let first = booked.next()?;
    let (first, last) = booked.fold((first, first), |(first, last), day| (first.min(day), last.max(day)));
    Some((calendar::midnight(first), calendar::midnight(last)))
}
