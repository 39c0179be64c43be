//! Import of an artifact that an agent has contributed.

use std::sync::Arc;

use quad_core::{Error, EventDraft, Kind, Result};
use quad_statements::{Document, ParseError};
use quad_store::{Snapshot, Sql, Store, Tx, WriteContext};

use super::account_lookup::ACCOUNT_UNKNOWN;
use super::job::{ImportJob, Origin};
use super::parse::{ParsedDocument, STATEMENT_UNREADABLE, load_defaults, statement_options};
use super::{AGENT, FileReport, ImportOptions, dry_run, schedule};
use crate::account::Account;
use crate::entity::Entity as _;
use crate::raw::{self, ProjectionStatus};
use crate::{errors, reference};

/// What became of an artifact.
#[derive(Debug)]
pub(crate) enum Extraction {
    /// It is a statement; its entries are in the ledger.
    Imported(Box<FileReport>),
    /// It is not a statement. The error says what it is instead.
    NotAStatement(Error),
    /// It is a statement that cannot be imported. It stays as evidence.
    Refused(Error),
}

/// A statement that can be imported, or why there is none.
enum Parsing {
    Statement(Box<(ParsedDocument, ImportOptions)>),
    NotAStatement(Error),
    Refused(Error),
}

/// Imports an artifact into the ledger. `account` is the id or the name of its account, if the agent has named one.
///
/// # Errors
///
/// Errors that are not about the artifact, such as a busy database. A later call may succeed.
pub(crate) async fn extract(
    store: &Store,
    writer: &WriteContext,
    agent: &str,
    raw_id: &str,
    account: Option<String>,
) -> Result<Extraction> {
    let (parsed, options) = match parse_artifact(store, writer, raw_id, account).await? {
        Parsing::Statement(statement) => *statement,
        Parsing::NotAStatement(error) => return Ok(Extraction::NotAStatement(error)),
        Parsing::Refused(error) => return refuse(store, writer, agent, raw_id, error).await,
    };
    let job = new_job(agent, raw_id, parsed, options);
    let result = match job.fits_one_commit() {
        true => schedule::import_one(store, writer, job).await,
        false => schedule::import_chunked(store, writer, job, |_, _| {}).await,
    };
    match result {
        Ok(report) => Ok(Extraction::Imported(Box::new(report))),
        Err(error) if is_about_artifact(&error) => refuse(store, writer, agent, raw_id, error).await,
        Err(error) => Err(error),
    }
}

/// What would become of an artifact if it was imported now. Writes nothing.
///
/// # Errors
///
/// As for [`extract`].
pub(crate) async fn preview(
    store: &Store,
    writer: &WriteContext,
    agent: &str,
    raw_id: &str,
    account: Option<String>,
) -> Result<Extraction> {
    let (parsed, options) = match parse_artifact(store, writer, raw_id, account).await? {
        Parsing::Statement(statement) => *statement,
        Parsing::NotAStatement(error) => return Ok(Extraction::NotAStatement(error)),
        Parsing::Refused(error) => return Ok(Extraction::Refused(for_agent(error))),
    };
    match dry_run(store, writer, new_job(agent, raw_id, parsed, options)).await {
        Ok(report) => Ok(Extraction::Imported(Box::new(report))),
        Err(error) if is_about_artifact(&error) => Ok(Extraction::Refused(for_agent(error))),
        Err(error) => Err(error),
    }
}

fn new_job(agent: &str, raw_id: &str, parsed: ParsedDocument, options: ImportOptions) -> Arc<ImportJob> {
    Arc::new(ImportJob {
        origin: Origin::Artifact(raw_id.to_owned()),
        parsed: Arc::new(parsed),
        options,
        trust: AGENT,
        actor: agent.to_owned(),
    })
}

/// Reads and parses the bytes of an artifact. Runs on a blocking thread.
async fn parse_artifact(
    store: &Store,
    writer: &WriteContext,
    raw_id: &str,
    account: Option<String>,
) -> Result<Parsing> {
    let id = raw_id.to_owned();
    let work = move |sql: &mut Snapshot<'_>| {
        let artifact = raw::find(sql, &id)?.ok_or_else(|| raw::artifact_not_found(&id))?;
        if artifact.tombstoned_at.is_some() {
            return Ok(Parsing::Refused(raw::artifact_tombstoned(&id)));
        }
        let account = match find_account_id(sql, account.as_deref()) {
            Err(error) if !is_about_artifact(&error) => return Err(error),
            account => account,
        };
        let options =
            ImportOptions { account: account.as_ref().ok().cloned().flatten(), ..ImportOptions::default() };
        let defaults = load_defaults(sql, options.account.as_deref())?;
        let statement_options = statement_options(&options, &defaults)?;
        let bytes = raw::read_bytes(sql, &artifact)?;
        Ok(match (quad_statements::parse(&bytes, &statement_options), account) {
            (Err(error), _) if is_other_document(&error) => Parsing::NotAStatement(other_document(&error)),
            // Without its account a file may also lack its currency: the account is the problem to solve.
            (_, Err(error)) => Parsing::Refused(error),
            (Err(error), _) => Parsing::Refused(unreadable_statement(&error)),
            (Ok(document), _) if document.statements.is_empty() => {
                Parsing::Refused(without_statement(&document))
            }
            (Ok(document), _) => Parsing::Statement(Box::new((ParsedDocument::new(document), options))),
        })
    };
    store.read(&writer.tenant, work).await
}

/// The id of the account that an agent has named by its id, its address or its name.
fn find_account_id(sql: &mut dyn Sql, account: Option<&str>) -> Result<Option<String>> {
    let Some(text) = account else { return Ok(None) };
    match reference::find_account(sql, text)? {
        Some(account) => Ok(Some(account.id.as_str().to_owned())),
        None => Err(errors::row_not_found(Account::KIND, text)
            .hint(format!("{}, then {ACCOUNT_HINT}", errors::rows_hint(Account::KIND)))),
    }
}

/// Marks a refused statement. One that was imported before stays marked as imported.
async fn refuse(
    store: &Store,
    writer: &WriteContext,
    agent: &str,
    raw_id: &str,
    error: Error,
) -> Result<Extraction> {
    let event = EventDraft::system("raw", "raw.parsed.failed", agent).input("raw_id", raw_id).succeeded();
    let id = raw_id.to_owned();
    let work = move |tx: &mut Tx<'_>| {
        let status = raw::find(tx, &id)?.and_then(|artifact| artifact.projection_status);
        if status == Some(ProjectionStatus::Projected) {
            return Ok(());
        }
        raw::set_status(tx, &id, ProjectionStatus::Failed)
    };
    store.write(writer, event, work).await?;
    Ok(Extraction::Refused(for_agent(error)))
}

/// The error of an import with a hint for an agent. That of the import itself names options of the command line.
fn for_agent(error: Error) -> Error {
    match error.code() == ACCOUNT_UNKNOWN {
        true => error.hint(sentence(ACCOUNT_HINT)),
        false => error,
    }
}

/// How an agent names the account of a statement.
const ACCOUNT_HINT: &str =
    "contribute the same file again with source_ref {\"account_id\": the id or the name of its account}";

/// Whether an error is about the artifact, so that a later try would meet it again.
fn is_about_artifact(error: &Error) -> bool {
    !error.may_pass()
}

/// Whether a file that cannot be parsed is another document than a statement.
fn is_other_document(error: &ParseError) -> bool {
    matches!(error, ParseError::Empty | ParseError::Unsupported { .. } | ParseError::Unrecognised)
}

fn other_document(error: &ParseError) -> Error {
    Error::new(Kind::BadInput, STATEMENT_UNREADABLE, sentence(&error.to_string()))
        .hint(format!("Contribute it in another form if it is a statement: {}", error.hint()))
}

fn unreadable_statement(error: &ParseError) -> Error {
    let hint = match error {
        ParseError::CurrencyUnknown => sentence(ACCOUNT_HINT),
        ParseError::ColumnMissing { .. } => {
            "Contribute it with columns that are named Date, Amount, Currency, \
            Payee and Description, or as OFX or camt.053"
                .to_owned()
        }
        _ => sentence(error.hint()),
    };
    Error::new(Kind::BadInput, STATEMENT_UNREADABLE, sentence(&error.to_string())).hint(hint)
}

/// The error of a file in which no statement could be read.
fn without_statement(document: &Document) -> Error {
    let problems = super::first_problems(document);
    let reason = problems.first().map_or_else(String::new, |problem| format!(": {problem}"));
    let message = format!("The file has no statement that can be read{reason}");
    Error::new(Kind::BadInput, STATEMENT_UNREADABLE, message)
        .hint("Download it again and contribute it unchanged")
}

/// A text with a capital letter first.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
