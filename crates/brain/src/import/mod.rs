//! Importing: a bank statement becomes evidence, a projection, and rows of the ledger that cite both.
//!
//! Doing it twice is doing it once, and an overlapping statement adds only what is new: every entry has a key that is the
//! same in each file that holds it. Small files share a commit; the import of a large one is many, and each says how far it has
//! come, so one that was interrupted goes on from there. While one file is posted the next are read. Last an import pairs the two
//! sides of transfers between own accounts.

mod ahead;
mod desk;
mod filing;
mod owner;
mod place;
mod reading;
mod rows;
#[cfg(test)]
mod together;
mod transfers;

use std::sync::Arc;

use quad_core::{Error, EventDraft, Kind, Result};
use quad_statements::{Document, Statement};
use quad_store::{Store, Tx, Writer};

use crate::account::Account;
use crate::posting::{self, Posted};
use crate::raw::{self, ProjectionStatus};
use crate::standing::Provenance;

use ahead::Ahead;
use filing::{Filing, Origin};
use owner::{account_name, resolve};
use reading::{known, parse};
use rows::key;

/// A file to import.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// What is said about it.
    pub request: Request,
}

/// What an importer says about a file.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The account that it is of, by id; needed where the file names none.
    pub account: Option<String>,
    /// The currency, where the file names none.
    pub currency: Option<String>,
    /// Settings of columns, such as `date=Buchungstag`.
    pub settings: Vec<String>,
    /// Only look.
    pub dry_run: bool,
}

/// What became of one statement of a file.
#[derive(Clone, Debug)]
pub struct StatementReport {
    /// The account; `None` if a dry run would make it.
    pub account_id: Option<String>,
    /// What it is called.
    pub account_name: String,
    /// Its currency.
    pub currency: String,
    /// Whether it was, or would be, made.
    pub is_new_account: bool,
    /// Entries of the statement.
    pub entries: usize,
    /// What became of them.
    pub posted: Posted,
}

/// What became of a file.
#[derive(Clone, Debug)]
pub struct Report {
    /// The evidence; none in a dry run.
    pub raw_id: Option<String>,
    /// The format that was found.
    pub format: &'static str,
    /// How the columns of a table were read, a setting a line.
    pub mapping: Option<String>,
    /// Its statements.
    pub statements: Vec<StatementReport>,
    /// What was noticed, a sentence each, with lines.
    pub findings: Vec<String>,
    /// Whether something could not be read.
    pub has_errors: bool,
    /// Whether it went on where an earlier import of the file had been interrupted.
    pub is_resumed: bool,
    /// Transfers between own accounts.
    pub transfers: Transfers,
}

/// What an import of several files says on the way.
#[derive(Clone, Debug)]
pub enum Said {
    /// So many entries of so many are behind.
    Behind(usize, usize),
    /// A file is done.
    Done(Box<Report>),
}

/// Why an import of several files has stopped; those before are done.
#[derive(Debug)]
pub struct Stopped {
    /// The number of the file, from 0.
    pub file: usize,
    /// What is wrong with it.
    pub error: Error,
}

/// What an import has found out about transfers between own accounts.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// Pairs that were recorded.
    pub paired: usize,
    /// Transactions that could be the other side of several, and so stay unpaired.
    pub ambiguous: usize,
    /// The first of them, a sentence each.
    pub sentences: Vec<String>,
}

/// Somebody's word for what is imported.
#[derive(Clone, Copy, Debug)]
struct Trust {
    provenance: Provenance,
    confidence: f64,
    /// Whether balances that the file claims decide what accounts hold.
    balances: bool,
}

const BY_PERSON: Trust = Trust { provenance: Provenance::Extracted, confidence: 0.95, balances: true };
const BY_AGENT: Trust = Trust { provenance: Provenance::AgentContributed, confidence: 0.5, balances: false };

/// Imports a file. `progress` hears how many entries of how many are behind.
pub async fn import(
    store: &Store,
    writer: &Writer,
    actor: &str,
    name: &str,
    bytes: &[u8],
    request: &Request,
    mut progress: impl FnMut(usize, usize),
) -> Result<Report> {
    let source = Source { name: name.to_owned(), bytes: bytes.to_vec(), request: request.clone() };
    let mut report = None;
    let said = |_: usize, said: Said| match said {
        Said::Behind(done, total) => progress(done, total),
        Said::Done(done) => report = Some(*done),
    };
    import_all(store, writer, actor, [Ok(source)], said).await.map_err(|stopped| stopped.error)?;
    report.ok_or_else(|| Error::internal("an import has ended without a report"))
}

/// Imports files, one after the other in effect. `said` hears of each by its number.
///
/// # Errors
///
/// The first file that is refused ends it.
pub async fn import_all<S>(
    store: &Store,
    writer: &Writer,
    actor: &str,
    sources: S,
    mut said: impl FnMut(usize, Said),
) -> Result<(), Stopped>
where
    S: IntoIterator<Item = Result<Source>>,
    S::IntoIter: Send + 'static,
{
    let mut ahead = Ahead::start(store, writer, actor, sources.into_iter());
    let mut file = 0;
    while let Some(next) = ahead.next().await {
        let stopped = |file: usize| move |error: Error| Stopped { file, error };
        let opened = next.map_err(stopped(file))?;
        if opened.filing.request.dry_run {
            let report = look(store, writer, opened.filing).await.map_err(stopped(file))?;
            said(file, Said::Done(Box::new(report)));
            file += 1;
        } else if opened.filing.is_small() {
            let together = ahead.small_ones_behind(opened);
            let filings = together.iter().map(|opened| opened.filing.clone()).collect();
            let (reports, refused) = filing::in_order(store, writer, filings).await;
            for report in reports {
                let entries = report.statements.iter().map(|statement| statement.entries).sum();
                said(file, Said::Behind(entries, entries));
                said(file, Said::Done(Box::new(report)));
                file += 1;
            }
            if let Some(error) = refused {
                return Err(Stopped { file, error });
            }
        } else {
            let progress = |done: usize, total: usize| said(file, Said::Behind(done, total));
            let report = filing::in_parts(store, writer, opened.filing, progress).await;
            let report = report.map_err(stopped(file))?;
            said(file, Said::Done(Box::new(report)));
            file += 1;
        }
    }
    Ok(())
}

/// Makes what can be made of an artifact that an agent brought. `None` if it is no statement.
pub(crate) async fn extract(
    store: &Store,
    writer: &Writer,
    agent: &str,
    raw_id: &str,
    account: Option<String>,
) -> Result<Option<Report>> {
    let request = Request { account, ..Request::default() };
    let id = raw_id.to_owned();
    // On a thread that may block: the bytes are read, and parsed where they are.
    let (parsing, wanted) = (id.clone(), request.clone());
    let parsed = store.read(&writer.tenant, move |sql| {
        let artifact = raw::find(sql, &parsing)?.ok_or_else(|| raw::no_artifact(&parsing))?;
        if artifact.tombstoned_at.is_some() {
            return Err(raw::withdrawn(&parsing));
        }
        let known = known(sql, wanted.account.as_deref())?;
        let bytes = raw::read_bytes(sql, &artifact)?;
        Ok(parse(&bytes, &wanted, &known).ok())
    });
    let Some(read) = parsed.await? else { return Ok(None) };
    let filing = Arc::new(Filing {
        origin: Origin::There(id.clone()),
        read: Arc::new(read),
        request,
        trust: BY_AGENT,
        actor: agent.to_owned(),
    });
    let posted = match filing.is_small() {
        true => filing::alone(store, writer, filing).await,
        false => filing::in_parts(store, writer, filing, |_, _| {}).await,
    };
    match posted {
        Ok(report) => Ok(Some(report)),
        Err(error) if error.kind() == Kind::Internal => Err(error),
        // What the agent brought does not fit; it stays as evidence.
        Err(_) => {
            let event =
                EventDraft::system("raw", "raw.parsed.failed", agent).input("raw_id", raw_id).succeeded();
            let work = move |tx: &mut Tx<'_>| raw::set_status(tx, &id, ProjectionStatus::Failed);
            store.write(writer, event, work).await?;
            Ok(None)
        }
    }
}

/// What an import would do.
async fn look(store: &Store, writer: &Writer, filing: Arc<Filing>) -> Result<Report> {
    store
        .read(&writer.tenant, move |sql| {
            let document = &filing.read.document;
            let mut report = report(document, None);
            for statement in &document.statements {
                let account = resolve(sql, (&statement.account, statement.currency), &filing.request)?;
                let mut posted = Posted { added: statement.entries.len(), ..Posted::default() };
                if let Some(account) = &account {
                    let keys: Vec<String> =
                        statement.entries.iter().map(|entry| key(entry, account.id.as_str())).collect();
                    let known = posting::known_keys(sql, account.id.as_str(), &keys)?;
                    posted.known = keys.iter().filter(|key| known.contains(*key)).count();
                    posted.added -= posted.known;
                }
                report.statements.push(outcome(statement, account.as_ref(), account.is_none(), posted));
            }
            Ok(report)
        })
        .await
}

fn report(document: &Document, raw_id: Option<String>) -> Report {
    Report {
        raw_id,
        format: document.format.name(),
        mapping: document.mapping.as_ref().map(ToString::to_string),
        statements: Vec::new(),
        findings: document.findings.iter().map(ToString::to_string).collect(),
        has_errors: document.has_errors(),
        is_resumed: false,
        transfers: Transfers::default(),
    }
}

fn outcome(
    statement: &Statement,
    account: Option<&Account>,
    is_new_account: bool,
    posted: Posted,
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
