//! Filing: what becomes of a file that is read. A small one is done in one commit, with others if there are any; a large one
//! a piece at a time.

use std::ops::Range;
use std::sync::Arc;

use quad_core::{Error, EventDraft, Result, Timestamp, canonical};
use quad_statements::{Amount, Document, Statement};
use quad_store::{Store, Tx, Writer};
use tokio::task::spawn_blocking;

use super::desk::Desk;
use super::owner::{account_name, account_type, external_id, resolve};
use super::place::Place;
use super::reading::{Known, Read, known, parse, remember};
use super::rows::{self, Met, day};
use super::{Report, Request, Trust, outcome, report, transfers};
use crate::account::{self, Account, AccountStatus, NewAccount};
use crate::balance::{self, Snapshot};
use crate::evidence::Evidence;
use crate::ids::{AccountId, BalanceId};
use crate::money::Balance;
use crate::posting::Posted;
use crate::raw::{self, ProjectionStatus};
use crate::standing::{Provenance, Standing};
use crate::{civil, limits, projection};

/// The version of our way from statements to rows; another one makes another projection.
const PARSER_VERSION: &str = "1";

/// Where a document comes from.
#[derive(Debug)]
pub(super) enum Origin {
    /// Somebody brings it now.
    Brought(Box<Brought>),
    /// It is an artifact already.
    There(String),
}

/// What somebody brings.
#[derive(Debug)]
pub(super) struct Brought {
    pub(super) evidence: Evidence,
    /// What was known of its account when it was read.
    pub(super) known: Known,
}

/// A file that is read and waits to be posted.
#[derive(Debug)]
pub(super) struct Filing {
    pub(super) origin: Origin,
    pub(super) read: Arc<Read>,
    pub(super) request: Request,
    pub(super) trust: Trust,
    pub(super) actor: String,
}

/// What a file's projection has become.
struct Prepared {
    raw_id: String,
    parsed_id: String,
    /// The account of each statement.
    owners: Vec<Owner>,
    is_resumed: bool,
}

/// The account of a statement.
struct Owner {
    account: Account,
    /// Whether it was made for the statement.
    is_new: bool,
    /// Entries that an interrupted import has posted.
    done: usize,
}

/// Some entries of one statement.
#[derive(Clone, Debug)]
struct Piece {
    statement: usize,
    entries: Range<usize>,
    /// Whether the statement ends with it.
    is_end: bool,
}

impl Prepared {
    fn place(&self, statement: usize) -> Place {
        Place {
            raw_id: self.raw_id.clone(),
            parsed_id: self.parsed_id.clone(),
            statement: statement as i64,
            account: self.owners[statement].account.id.as_str().to_owned(),
        }
    }

    /// What became of a file, before anything of it is posted.
    fn report(&self, document: &Document) -> Report {
        let mut report =
            Report { is_resumed: self.is_resumed, ..report(document, Some(self.raw_id.clone())) };
        for (statement, owner) in document.statements.iter().zip(&self.owners) {
            let posted = Posted { known: owner.done.min(statement.entries.len()), ..Posted::default() };
            report.statements.push(outcome(statement, Some(&owner.account), owner.is_new, posted));
        }
        report
    }
}

impl Filing {
    /// How many entries it has.
    pub(super) fn entries(&self) -> usize {
        self.read.document.entry_count()
    }

    /// How many bytes it brings.
    pub(super) fn bytes(&self) -> usize {
        match &self.origin {
            Origin::Brought(brought) => brought.evidence.bytes().len(),
            Origin::There(_) => 0,
        }
    }

    /// Whether one commit can hold all of it.
    pub(super) fn is_small(&self) -> bool {
        self.shares(0, 0)
    }

    /// Whether it fits into a commit that has so many entries and bytes.
    pub(super) fn shares(&self, entries: usize, bytes: usize) -> bool {
        !self.request.dry_run
            && entries + self.entries() <= limits::ROWS_PER_WRITE
            && bytes + self.bytes() <= limits::BYTES_PER_WRITE
    }

    /// The file as it is read with what is known now: anew if that is another than it was.
    fn read_with(&self, now: &Known) -> Result<Arc<Read>> {
        match &self.origin {
            Origin::Brought(brought) if brought.known != *now => {
                Ok(Arc::new(parse(brought.evidence.bytes(), &self.request, now)?))
            }
            _ => Ok(self.read.clone()),
        }
    }

    /// Writes the artifact and the projection, and finds or makes the accounts.
    fn prepare(&self, tx: &mut Tx<'_>, read: &Read, desk: &mut Desk) -> Result<Prepared> {
        let document = &read.document;
        let raw_id = match &self.origin {
            Origin::Brought(brought) => brought.evidence.register(tx)?,
            Origin::There(raw_id) => raw_id.clone(),
        };
        let parser = format!("statements.{}", document.format.name());
        let version = match self.request.settings.is_empty() {
            true => PARSER_VERSION.to_owned(),
            // Other columns make another projection.
            false => {
                let mut hash = canonical::sha256_hex(self.request.settings.join("\n").as_bytes());
                hash.truncate(8);
                format!("{PARSER_VERSION}+{hash}")
            }
        };
        let parsed_id =
            projection::write(tx, &raw_id, (&parser, &version), &read.extracted, self.trust.confidence)?;
        let before = raw::find(tx, &raw_id)?.and_then(|artifact| artifact.projection_status);
        raw::set_status(tx, &raw_id, ProjectionStatus::Projecting)?;
        let mut prepared = Prepared {
            parsed_id: parsed_id.as_str().to_owned(),
            owners: Vec::with_capacity(document.statements.len()),
            is_resumed: before == Some(ProjectionStatus::Projecting),
            raw_id,
        };
        for (index, statement) in document.statements.iter().enumerate() {
            let (account, is_new) = self.owner(tx, statement, &prepared, desk)?;
            if let Some(mapping) = &document.mapping {
                remember(tx, account.id.as_str(), mapping)?;
            }
            prepared.owners.push(Owner { account, is_new, done: 0 });
            prepared.owners[index].done = prepared.place(index).posted(tx)?;
        }
        tx.output("parsed_id", prepared.parsed_id.as_str());
        tx.tell(
            EventDraft::system("raw", "raw.parsed.write", &self.actor)
                .input("raw_id", prepared.raw_id.as_str())
                .input("parser", parser),
        );
        Ok(prepared)
    }

    fn owner(
        &self,
        tx: &mut Tx<'_>,
        statement: &Statement,
        prepared: &Prepared,
        desk: &mut Desk,
    ) -> Result<(Account, bool)> {
        let (hint, currency) = (&statement.account, statement.currency);
        if let Some(account) = resolve(tx, (hint, currency), &self.request)? {
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
        let standing = self.standing(&prepared.raw_id, &prepared.parsed_id, tx.now());
        let made = account::create(tx, new, standing, &mut desk.touched)?;
        desk.own = None;
        Ok((made.ok_or_else(|| Error::internal("an account that was not there is there"))?, true))
    }

    fn standing(&self, raw_id: &str, parsed_id: &str, now: Timestamp) -> Standing {
        Standing::on(raw_id, Some(parsed_id), self.trust.provenance, self.trust.confidence, now)
    }

    /// What is left to post, a commit's worth each.
    fn left(&self, document: &Document, prepared: &Prepared) -> Vec<Vec<Piece>> {
        let mut commits: Vec<Vec<Piece>> = vec![Vec::new()];
        let mut room = limits::ROWS_PER_WRITE;
        for (index, (statement, owner)) in document.statements.iter().zip(&prepared.owners).enumerate() {
            let mut from = owner.done.min(statement.entries.len());
            loop {
                let to = statement.entries.len().min(from + room);
                let is_end = to == statement.entries.len();
                if let Some(commit) = commits.last_mut()
                    && (from < to || (is_end && self.closing(statement, owner).is_some()))
                {
                    commit.push(Piece { statement: index, entries: from..to, is_end });
                }
                room -= to - from;
                if is_end {
                    break;
                }
                from = to;
                commits.push(Vec::new());
                room = limits::ROWS_PER_WRITE;
            }
        }
        commits.retain(|pieces| !pieces.is_empty());
        commits
    }

    /// What a statement says that is left at its end, and on which day, if that is believed.
    fn closing(&self, statement: &Statement, owner: &Owner) -> Option<(Amount, Timestamp)> {
        let is_believed =
            self.trust.balances || owner.account.standing.provenance == Provenance::AgentContributed;
        let closing = statement.closing.filter(|_| is_believed)?;
        Some((closing.amount, day(closing.as_of.or(statement.to)?)))
    }

    /// Posts some entries, and what the statement says at its end.
    fn post(
        &self,
        tx: &mut Tx<'_>,
        document: &Document,
        prepared: &Prepared,
        piece: &Piece,
        desk: &mut Desk,
    ) -> Result<Posted> {
        let (statement, place) = (&document.statements[piece.statement], prepared.place(piece.statement));
        let mut posted = Posted::default();
        if !piece.entries.is_empty() {
            let entries = &statement.entries[piece.entries.clone()];
            let standing = self.standing(&place.raw_id, &place.parsed_id, tx.now());
            posted = rows::post(tx, entries, &place, &standing, desk)?;
            place.set_posted(tx, piece.entries.end)?;
            tx.output("added", posted.added);
            tx.output("known", posted.known);
            tx.tell(
                EventDraft::system("ledger", "ledger.imported", &self.actor)
                    .input("raw_id", place.raw_id.as_str())
                    .input("account_id", place.account.as_str()),
            );
        }
        if piece.is_end
            && let Some(closing) = self.closing(statement, &prepared.owners[piece.statement])
        {
            self.close(tx, statement, closing, &place, desk)?;
        }
        Ok(posted)
    }

    /// Records the balance at the end of a statement.
    fn close(
        &self,
        tx: &mut Tx<'_>,
        statement: &Statement,
        (amount, last): (Amount, Timestamp),
        place: &Place,
        desk: &mut Desk,
    ) -> Result<()> {
        desk.effects.write(tx)?;
        let snapshot = Snapshot {
            id: BalanceId::generate()?,
            account_id: AccountId::stored(place.account.as_str()),
            // The end of the day: what was booked on it is in the balance.
            as_of: last.plus_ms(civil::DAY_MS - 1),
            current_balance: Balance(amount),
            available_balance: statement.available.map(|available| Balance(available.amount)),
            pending_balance: None,
            currency: statement.currency,
            standing: self.standing(&place.raw_id, &place.parsed_id, tx.now()),
        };
        balance::record(tx, snapshot, &mut desk.touched)?;
        tx.tell(
            EventDraft::system("ledger", "ledger.balance.recorded", &self.actor)
                .input("account_id", place.account.as_str()),
        );
        Ok(())
    }

    /// All of it in one commit. Says the days around which transfers are still to be paired, if they were too many.
    fn whole(&self, tx: &mut Tx<'_>, desk: &mut Desk) -> Result<(Report, Option<Days>)> {
        let read = self.read_with(&known(tx, self.request.account.as_deref())?)?;
        let document = &read.document;
        let prepared = self.prepare(tx, &read, desk)?;
        let mut report = prepared.report(document);
        for piece in self.left(document, &prepared).iter().flatten() {
            report.statements[piece.statement].posted += self.post(tx, document, &prepared, piece, desk)?;
        }
        raw::set_status(tx, &prepared.raw_id, ProjectionStatus::Projected)?;
        let mut left = days(document);
        if let Some(days) = left
            && let Some(paired) = transfers::pair_now(tx, &self.actor, &prepared.raw_id, days, desk)?
        {
            report.transfers = paired;
            left = None;
        }
        Ok((report, left))
    }
}

/// The first and the last day of a document's entries.
pub(super) type Days = (Timestamp, Timestamp);

fn days(document: &Document) -> Option<Days> {
    let mut booked =
        document.statements.iter().flat_map(|statement| &statement.entries).map(|entry| entry.booked);
    let first = booked.next()?;
    let (first, last) = booked.fold((first, first), |(first, last), day| (first.min(day), last.max(day)));
    Some((day(first), day(last)))
}

/// Files small ones, all in one commit: all of them or none.
pub(super) async fn at_once(
    store: &Store,
    writer: &Writer,
    filings: Vec<Arc<Filing>>,
) -> Result<Vec<Report>> {
    let all = filings.clone();
    let work = move |tx: &mut Tx<'_>| {
        let mut desk = Desk::set_up(tx, Met::default(), None)?;
        let mut reports = Vec::with_capacity(all.len());
        for filing in &all {
            reports.push(filing.whole(tx, &mut desk)?);
        }
        let (_, own) = desk.clear(tx)?;
        Ok((reports, own))
    };
    let (done, own) = store.write_told(writer, work).await?;
    let mut reports = Vec::with_capacity(done.len());
    for ((mut report, left), filing) in done.into_iter().zip(&filings) {
        if let (Some(days), Some(own), Some(raw_id)) = (left, &own, &report.raw_id) {
            report.transfers = transfers::pair(store, writer, &filing.actor, raw_id, own, days).await?;
        }
        reports.push(report);
    }
    Ok(reports)
}

/// Files small ones as if one after the other: what became of those that are done, and why the next is not.
pub(super) async fn in_order(
    store: &Store,
    writer: &Writer,
    filings: Vec<Arc<Filing>>,
) -> (Vec<Report>, Option<Error>) {
    let mut done = Vec::with_capacity(filings.len());
    if filings.len() > 1
        && let Ok(reports) = at_once(store, writer, filings.clone()).await
    {
        return (reports, None);
    }
    // One of them does not fit; those before it do.
    for filing in filings {
        match alone(store, writer, filing).await {
            Ok(report) => done.push(report),
            Err(error) => return (done, Some(error)),
        }
    }
    (done, None)
}

/// Files a small one by itself.
pub(super) async fn alone(store: &Store, writer: &Writer, filing: Arc<Filing>) -> Result<Report> {
    let mut reports = at_once(store, writer, vec![filing]).await?;
    reports.pop().ok_or_else(|| Error::internal("a file was filed without a report"))
}

/// Files a large one, a piece a commit. `progress` hears how many entries of how many are behind.
pub(super) async fn in_parts(
    store: &Store,
    writer: &Writer,
    filing: Arc<Filing>,
    mut progress: impl FnMut(usize, usize),
) -> Result<Report> {
    if let Origin::Brought(brought) = &filing.origin {
        brought.evidence.store_bytes(store, writer).await?;
    }
    let account = filing.request.account.clone();
    let now = store.read(&writer.tenant, move |sql| known(sql, account.as_deref())).await?;
    let reading = filing.clone();
    let read = spawn_blocking(move || reading.read_with(&now)).await.map_err(Error::internal)??;
    let (preparing, of_file) = (filing.clone(), read.clone());
    let work = move |tx: &mut Tx<'_>| {
        let mut desk = Desk::set_up(tx, Met::default(), None)?;
        let prepared = preparing.prepare(tx, &of_file, &mut desk)?;
        let left = preparing.left(&of_file.document, &prepared);
        if left.is_empty() {
            raw::set_status(tx, &prepared.raw_id, ProjectionStatus::Projected)?;
        }
        let own = desk.own(tx)?;
        desk.clear(tx)?;
        Ok((prepared, left, own))
    };
    let (prepared, commits, own) = store.write_told(writer, work).await?;
    let document = &read.document;
    let mut report = prepared.report(document);
    let total = document.entry_count();
    let mut behind: usize = report.statements.iter().map(|statement| statement.posted.known).sum();
    let last = commits.len().saturating_sub(1);
    let (prepared, mut met) = (Arc::new(prepared), Met::default());
    for (index, pieces) in commits.into_iter().enumerate() {
        let (posting, of_file, prepared) = (filing.clone(), read.clone(), prepared.clone());
        let (known, own, of_commit) = (met, own.clone(), pieces.clone());
        let work = move |tx: &mut Tx<'_>| {
            let mut desk = Desk::set_up(tx, known.clone(), Some(own.clone()))?;
            let mut posted = Vec::with_capacity(of_commit.len());
            for piece in &of_commit {
                posted.push(posting.post(tx, &of_file.document, &prepared, piece, &mut desk)?);
            }
            if index == last {
                raw::set_status(tx, &prepared.raw_id, ProjectionStatus::Projected)?;
            }
            Ok((posted, desk.clear(tx)?.0))
        };
        let (posted, now_met) = store.write_told(writer, work).await?;
        met = now_met;
        for (piece, posted) in pieces.iter().zip(posted) {
            report.statements[piece.statement].posted += posted;
            behind += piece.entries.len();
        }
        progress(behind, total);
    }
    if let (Some(days), Some(raw_id)) = (days(document), &report.raw_id) {
        report.transfers = transfers::pair(store, writer, &filing.actor, raw_id, &own, days).await?;
    }
    Ok(report)
}
