//! Importing: a bank statement becomes evidence, a projection, and rows of the ledger that cite both.
//!
//! Doing it twice is doing it once, and an overlapping statement adds only what is new: every entry has a key that is the
//! same in each file that holds it. An import is many commits; each says how far it has come, so one that was interrupted
//! goes on from there. Last it pairs the two sides of transfers between own accounts.

mod owner;
mod reading;
mod rows;
mod transfers;

use std::sync::Arc;

use quad_core::{Error, EventDraft, Kind, Result, Timestamp, canonical};
use quad_statements::{AccountHint, Currency, Document, Statement};
use quad_store::{Sql, Store, Tx, Writer, params};

use crate::account::{self, Account, AccountStatus, NewAccount};
use crate::balance::{self, Snapshot};
use crate::ids::{AccountId, BalanceId};
use crate::money::Balance;
use crate::own::OwnAccounts;
use crate::posting::{self, Posted};
use crate::raw::{self, ProjectionStatus};
use crate::standing::{Provenance, Standing};
use crate::tags::Touched;
use crate::{civil, limits, load, projection};

use owner::{account_name, account_type, external_id, resolve};
use reading::{extracted, known, mime_type, parse, read, remember};
use rows::{Met, commit, day, key};

/// The version of our way from statements to rows; another one makes another projection.
const PARSER_VERSION: &str = "1";

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
    let document = read(store, writer, bytes, request).await?;
    if request.dry_run {
        return look(store, writer, document, request).await;
    }
    let raw_id = load::evidence(store, writer, actor, name, mime_type(&document), bytes).await?;
    post(store, writer, actor, &raw_id, document, request, BY_PERSON, &mut progress).await
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
        Ok(parse(&bytes, &wanted, known).ok())
    });
    let Some(document) = parsed.await? else { return Ok(None) };
    let posted = post(store, writer, agent, raw_id, document, &request, BY_AGENT, &mut |_, _| {}).await;
    match posted {
        Ok(report) => Ok(Some(report)),
        Err(error) if error.kind() == Kind::Internal => Err(error),
        // What the agent brought does not fit; it stays as evidence.
        Err(_) => {
            store.jot(&writer.tenant, move |tx| raw::set_status(tx, &id, ProjectionStatus::Failed)).await?;
            Ok(None)
        }
    }
}

/// What an import would do.
async fn look(store: &Store, writer: &Writer, document: Document, request: &Request) -> Result<Report> {
    let request = request.clone();
    store
        .read(&writer.tenant, move |sql| {
            let mut report = report(&document, None);
            for statement in &document.statements {
                let account = resolve(sql, (&statement.account, statement.currency), &request)?;
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

#[allow(clippy::too_many_arguments)]
async fn post(
    store: &Store,
    writer: &Writer,
    actor: &str,
    raw_id: &str,
    document: Document,
    request: &Request,
    trust: Trust,
    progress: &mut impl FnMut(usize, usize),
) -> Result<Report> {
    let Prepared { parsed_id, accounts, is_resumed } =
        prepare(store, writer, actor, raw_id, &document, request, trust).await?;
    let total = document.entry_count();
    let mut report = Report { is_resumed, ..report(&document, Some(raw_id.to_owned())) };
    let own = Arc::new(store.read(&writer.tenant, |sql| OwnAccounts::load(sql)).await?);
    let mut met = Met::default();
    let mut behind = 0;
    // The last commit of rows says that it is; an import that has nothing to post says it by itself.
    let mut is_done = false;
    for (index, (statement, (account, is_new))) in document.statements.iter().zip(&accounts).enumerate() {
        let place = Place {
            raw_id: raw_id.to_owned(),
            parsed_id: parsed_id.clone(),
            statement: index as i64,
            account: account.id.as_str().to_owned(),
        };
        let before = place.clone();
        let done =
            store.read(&writer.tenant, move |sql| before.posted(sql)).await?.min(statement.entries.len());
        let mut posted = Posted { known: done, ..Posted::default() };
        behind += done;
        for piece in statement.entries[done..].chunks(limits::ROWS_PER_WRITE) {
            let event = EventDraft::system("ledger", "ledger.imported", actor)
                .input("raw_id", raw_id)
                .input("account_id", place.account.as_str())
                .succeeded();
            let (entries, at, known, own) = (piece.to_vec(), place.clone(), met.clone(), own.clone());
            let from = (posted.added + posted.known + posted.updated) as i64;
            is_done = behind + piece.len() == total;
            let work =
                move |tx: &mut Tx<'_>| commit(tx, &entries, &at, from, known.clone(), &own, trust, is_done);
            let ((of_piece, now_met), _) = store.write(writer, event, work).await?;
            met = now_met;
            posted += of_piece;
            behind += piece.len();
            progress(behind, total);
        }
        if trust.balances || account.standing.provenance == Provenance::AgentContributed {
            close(store, writer, actor, statement, &place, trust).await?;
        }
        let is_new = *is_new;
        report.statements.push(outcome(statement, Some(account), is_new, posted));
    }
    if let Some(days) = days(&document) {
        report.transfers = transfers::pair(store, writer, actor, raw_id, &own, days).await?;
    }
    if !is_done {
        let id = raw_id.to_owned();
        store.jot(&writer.tenant, move |tx| raw::set_status(tx, &id, ProjectionStatus::Projected)).await?;
    }
    Ok(report)
}

/// The first and the last day of a document's entries.
fn days(document: &Document) -> Option<(Timestamp, Timestamp)> {
    let mut booked =
        document.statements.iter().flat_map(|statement| &statement.entries).map(|entry| entry.booked);
    let first = booked.next()?;
    let (first, last) = booked.fold((first, first), |(first, last), day| (first.min(day), last.max(day)));
    Some((day(first), day(last)))
}

/// What an import knows before it posts.
struct Prepared {
    parsed_id: String,
    /// The account of each statement, and whether it was made for it.
    accounts: Vec<(Account, bool)>,
    is_resumed: bool,
}

/// Writes the projection and finds or makes the accounts, in one commit.
async fn prepare(
    store: &Store,
    writer: &Writer,
    actor: &str,
    raw_id: &str,
    document: &Document,
    request: &Request,
    trust: Trust,
) -> Result<Prepared> {
    let parser = format!("statements.{}", document.format.name());
    let version = match request.settings.is_empty() {
        true => PARSER_VERSION.to_owned(),
        // Other columns make another projection.
        false => {
            let mut hash = canonical::sha256_hex(request.settings.join("\n").as_bytes());
            hash.truncate(8);
            format!("{PARSER_VERSION}+{hash}")
        }
    };
    let event = EventDraft::system("raw", "raw.parsed.write", actor)
        .input("raw_id", raw_id)
        .input("parser", parser.as_str())
        .succeeded();
    let shape: Vec<(AccountHint, Currency)> =
        document.statements.iter().map(|statement| (statement.account.clone(), statement.currency)).collect();
    let (raw_id, request, extracted) = (raw_id.to_owned(), request.clone(), extracted(document));
    let mapping = document.mapping.clone();
    let work = move |tx: &mut Tx<'_>| {
        tx.lock("brain")?;
        let (projection, _) =
            projection::write(tx, &raw_id, &parser, &version, &extracted, Some(trust.confidence))?;
        tx.output("parsed_id", projection.id.as_str());
        let before = raw::find(tx, &raw_id)?.and_then(|artifact| artifact.projection_status);
        raw::set_status(tx, &raw_id, ProjectionStatus::Projecting)?;
        let mut touched = Touched::default();
        let mut accounts = Vec::with_capacity(shape.len());
        for (hint, currency) in &shape {
            let found = resolve(tx, (hint, *currency), &request)?;
            let (account, is_new) = match found {
                Some(account) => (account, false),
                None => {
                    let new = NewAccount {
                        id: AccountId::generate()?,
                        name: account_name(hint, *currency),
                        account_type: account_type(hint.kind),
                        institution: hint.bank.as_deref().map(str::to_owned),
                        external_account_id: external_id(hint, *currency),
                        currency: *currency,
                        status: AccountStatus::Active,
                    };
                    let standing = Standing::on(
                        &raw_id,
                        Some(projection.id.as_str()),
                        trust.provenance,
                        trust.confidence,
                        tx.now(),
                    );
                    let made = account::create(tx, new, standing, &mut touched)?;
                    (made.ok_or_else(|| Error::internal("an account that was not there is there"))?, true)
                }
            };
            if let Some(mapping) = &mapping {
                remember(tx, account.id.as_str(), mapping)?;
            }
            accounts.push((account, is_new));
        }
        touched.touch(tx);
        let is_resumed = before == Some(ProjectionStatus::Projecting);
        Ok(Prepared { parsed_id: projection.id.as_str().to_owned(), accounts, is_resumed })
    };
    Ok(store.write(writer, event, work).await?.0)
}

/// Which statement of which projection goes to which account.
#[derive(Clone, Debug)]
struct Place {
    raw_id: String,
    parsed_id: String,
    statement: i64,
    account: String,
}

impl Place {
    /// How many of its entries are posted.
    fn posted(&self, sql: &mut dyn Sql) -> Result<usize> {
        let tenant = sql.tenant().as_str().to_owned();
        let row = sql.query_opt(
            "SELECT posted FROM brain_import WHERE tenant_id = $1 AND parsed_id = $2 AND statement = $3 AND account_id = $4",
            params![tenant, self.parsed_id.as_str(), self.statement, self.account.as_str()],
        )?;
        row.map_or(Ok(0), |row| Ok(usize::try_from(row.int(0)?).unwrap_or_default()))
    }

    fn set_posted(&self, tx: &mut Tx<'_>, posted: i64) -> Result<()> {
        let tenant = tx.tenant().as_str().to_owned();
        tx.execute(
            "INSERT INTO brain_import (tenant_id, parsed_id, statement, account_id, posted) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant_id, parsed_id, statement, account_id) DO UPDATE SET posted = excluded.posted",
            params![tenant, self.parsed_id.as_str(), self.statement, self.account.as_str(), posted],
        )?;
        Ok(())
    }
}

/// Records the balance at the end of a statement.
async fn close(
    store: &Store,
    writer: &Writer,
    actor: &str,
    statement: &Statement,
    place: &Place,
    trust: Trust,
) -> Result<()> {
    let Some(closing) = statement.closing else { return Ok(()) };
    let Some(last) = closing.as_of.or(statement.to) else { return Ok(()) };
    let event = EventDraft::system("ledger", "ledger.balance.recorded", actor)
        .input("account_id", place.account.as_str())
        .succeeded();
    let (currency, available, place) = (statement.currency, statement.available, place.clone());
    let work = move |tx: &mut Tx<'_>| {
        tx.lock("brain")?;
        let mut touched = Touched::default();
        let snapshot = Snapshot {
            id: BalanceId::generate()?,
            account_id: AccountId::stored(place.account.as_str()),
            // The end of the day: what was booked on it is in the balance.
            as_of: day(last).plus_ms(civil::DAY_MS - 1),
            current_balance: Balance(closing.amount),
            available_balance: available.map(|available| Balance(available.amount)),
            pending_balance: None,
            currency,
            standing: Standing::on(
                &place.raw_id,
                Some(&place.parsed_id),
                trust.provenance,
                trust.confidence,
                tx.now(),
            ),
        };
        balance::record(tx, snapshot, &mut touched)?;
        touched.touch(tx);
        Ok(())
    };
    store.write(writer, event, work).await?;
    Ok(())
}
