//! Import of bank statements: a file becomes an artifact, a projection, and ledger rows that cite both.
//!
//! An import is idempotent, and an overlapping statement adds only new entries: every entry has a key that is equal in
//! each file that contains it. Small files share a commit. A large file takes several commits; each stores its
//! progress, so an interrupted import resumes. The next files are parsed while one is posted. At the end, transfers
//! between the tenant's own accounts are matched.

mod account_lookup;
#[cfg(test)]
mod batch_tests;
mod commit_context;
mod contribution;
mod job;
mod match_transfers;
mod parse;
mod prefetch;
mod progress;
mod schedule;
mod transactions;

use std::sync::Arc;

use quad_core::{Error, Result};
use quad_statements::{Diagnostic, Document, Severity, Statement};
use quad_store::{Store, WriteContext};

use crate::account::Account;
use crate::limits;
use crate::posting::{self, PostingCounts};
use crate::row_meta::Provenance;

use account_lookup::{account_name, find_account};
pub(crate) use contribution::{Extraction, extract, preview};
use job::ImportJob;
use prefetch::Prefetcher;
use transactions::dedup_key;

/// A file to import.
#[derive(Clone, Debug, Default)]
pub struct ImportFile {
    /// The file name.
    pub name: String,
    /// The content.
    pub bytes: Vec<u8>,
    /// The options.
    pub options: ImportOptions,
}

/// Options for one file.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The id of the account. Required if the file names none.
    pub account: Option<String>,
    /// The currency, if the file names none.
    pub currency: Option<String>,
    /// Column settings such as `date=Buchungstag`.
    pub settings: Vec<String>,
    /// Report what an import would do, and write nothing.
    pub dry_run: bool,
}

/// The result for one statement of a file.
#[derive(Clone, Debug)]
pub struct StatementReport {
    /// The account; `None` if a dry run would create it.
    pub account_id: Option<String>,
    /// The name of the account.
    pub account_name: String,
    /// The currency.
    pub currency: String,
    /// Whether the account was created, or would be.
    pub is_new_account: bool,
    /// The number of entries in the statement.
    pub entries: usize,
    /// How many of them are new, updated and unchanged.
    pub posted: PostingCounts,
}

/// The result for one file.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// The artifact; `None` in a dry run.
    pub raw_id: Option<String>,
    /// The detected format.
    pub format: &'static str,
    /// How the columns of a table were mapped, one setting per line.
    pub mapping: Option<String>,
    /// The statements.
    pub statements: Vec<StatementReport>,
    /// Findings of the parser, one sentence each, with line numbers.
    pub diagnostics: Vec<String>,
    /// Whether part of the file could not be parsed.
    pub has_errors: bool,
    /// The first errors and warnings of the parser, errors first.
    pub problems: Vec<String>,
    /// The number of errors. Each stands for a line or a part of the file that was left out.
    pub error_count: usize,
    /// Whether an earlier import of the file was completed.
    pub was_imported: bool,
    /// Whether this import resumed an interrupted one.
    pub is_resumed: bool,
    /// Matched transfers between the tenant's accounts.
    pub transfers: TransferReport,
}

/// An event during an import of several files.
#[derive(Clone, Debug)]
pub enum ImportEvent {
    /// Processed entries, and all entries.
    Progress(usize, usize),
    /// A file is imported.
    FileDone(Box<FileReport>),
}

/// The error that stopped an import of several files. The files before it are imported.
#[derive(Debug)]
pub struct ImportError {
    /// The index of the file.
    pub file_index: usize,
    /// The error.
    pub error: Error,
}

/// The result of matching transfers between the tenant's accounts.
#[derive(Clone, Debug, Default)]
pub struct TransferReport {
    /// Recorded transfers.
    pub paired: usize,
    /// Transactions with several possible other sides. They stay unmatched.
    pub ambiguous: usize,
    /// The first of these, one sentence each.
    pub messages: Vec<String>,
}

/// How far the importer of a file is trusted.
#[derive(Clone, Copy, Debug)]
struct SourceTrust {
    provenance: Provenance,
    confidence: f64,
    /// Whether closing balances of the file set the balances of accounts.
    trusts_balances: bool,
}

const OPERATOR: SourceTrust =
    SourceTrust { provenance: Provenance::Extracted, confidence: 0.95, trusts_balances: true };
const AGENT: SourceTrust =
    SourceTrust { provenance: Provenance::AgentContributed, confidence: 0.5, trusts_balances: false };

/// Imports files in order. `on_event` gets the index of the file and the event.
///
/// # Errors
///
/// The import stops at the first file that fails.
pub async fn import_all<S>(
    store: &Store,
    writer: &WriteContext,
    actor: &str,
    files: S,
    mut on_event: impl FnMut(usize, ImportEvent),
) -> Result<(), ImportError>
where
    S: IntoIterator<Item = Result<ImportFile>>,
    S::IntoIter: Send + 'static,
{
    let mut prefetcher = Prefetcher::start(store, writer, actor, files.into_iter());
    let mut file_index = 0;
    while let Some(next) = prefetcher.next().await {
        let import_error = |file_index: usize| move |error: Error| ImportError { file_index, error };
        let parsed_file = next.map_err(import_error(file_index))?;
        if parsed_file.job.options.dry_run {
            let report = dry_run(store, writer, parsed_file.job).await.map_err(import_error(file_index))?;
            on_event(file_index, ImportEvent::FileDone(Box::new(report)));
            file_index += 1;
        } else if parsed_file.job.fits_one_commit() {
            let batch = prefetcher.take_batch(parsed_file);
            let jobs = batch.iter().map(|parsed_file| parsed_file.job.clone()).collect();
            let (reports, failure) = schedule::import_batch_or_each(store, writer, jobs).await;
            for report in reports {
                let entries = report.statements.iter().map(|statement| statement.entries).sum();
                on_event(file_index, ImportEvent::Progress(entries, entries));
                on_event(file_index, ImportEvent::FileDone(Box::new(report)));
                file_index += 1;
            }
            if let Some(error) = failure {
                return Err(ImportError { file_index, error });
            }
        } else {
            let on_progress =
                |done: usize, total: usize| on_event(file_index, ImportEvent::Progress(done, total));
            let report = schedule::import_chunked(store, writer, parsed_file.job, on_progress).await;
            let report = report.map_err(import_error(file_index))?;
            on_event(file_index, ImportEvent::FileDone(Box::new(report)));
            file_index += 1;
        }
    }
    Ok(())
}

/// Reports what an import would do.
async fn dry_run(store: &Store, writer: &WriteContext, job: Arc<ImportJob>) -> Result<FileReport> {
    store
        .read(&writer.tenant, move |sql| {
            let document = &job.parsed.document;
            let mut report = file_report(document, None);
            for statement in &document.statements {
                let account = find_account(sql, (&statement.account, statement.currency), &job.options)?;
                let mut posted = PostingCounts { added: statement.entries.len(), ..PostingCounts::default() };
                if let Some(account) = &account {
                    let keys: Vec<String> =
                        statement.entries.iter().map(|entry| dedup_key(entry, account.id.as_str())).collect();
                    let existing = posting::existing_keys(sql, account.id.as_str(), &keys)?;
                    posted.unchanged = keys.iter().filter(|key| existing.contains(*key)).count();
                    posted.added -= posted.unchanged;
                }
                report.statements.push(statement_report(
                    statement,
                    account.as_ref(),
                    account.is_none(),
                    posted,
                ));
            }
            Ok(report)
        })
        .await
}

fn file_report(document: &Document, raw_id: Option<String>) -> FileReport {
    FileReport {
        raw_id,
        format: document.format.name(),
        mapping: document.mapping.as_ref().map(ToString::to_string),
        statements: Vec::new(),
        diagnostics: document.findings.iter().map(ToString::to_string).collect(),
        has_errors: document.has_errors(),
        problems: first_problems(document),
        error_count: document.error_count,
        was_imported: false,
        is_resumed: false,
        transfers: TransferReport::default(),
    }
}

/// The first errors and warnings, errors first.
fn first_problems(document: &Document) -> Vec<String> {
    let of_severity = |severity| document.findings.iter().filter(move |finding| finding.severity == severity);
    of_severity(Severity::Error)
        .chain(of_severity(Severity::Warning))
        .take(limits::MAX_PROBLEMS_REPORTED)
        .map(Diagnostic::to_string)
        .collect()
}

fn statement_report(
    statement: &Statement,
    account: Option<&Account>,
    is_new_account: bool,
    posted: PostingCounts,
) -> StatementReport {
    StatementReport {
        account_id: account.map(|account| account.id.as_str().to_owned()),
        account_name: account.map_or_else(
            || account_name(&statement.account, statement.currency),
            |account| account.name.clone(),
        ),
        currency: statement.currency.as_str().to_owned(),
        is_new_account,
        entries: statement.entries.len(),
        posted,
    }
}
