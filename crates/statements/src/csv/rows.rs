//! From rows to entries, with a layout that is settled. A row that cannot be read is reported and left out alone.

use std::collections::HashMap;

use crate::csv::Role;
use crate::csv::guess::{Layout, NONE, confirmed, side};
use crate::csv::records::{Next, Record};
use crate::csv::role::plain_name;
use crate::csv::table::Table;
use crate::finding::{Findings, Severity, quoted};
use crate::number::Reading;
use crate::{
    AccountHint, Amount, Balance, Counterparty, Currency, Entry, Kind, Money, References, Refusal, Statement,
    Status, date, fingerprint, kind, limits, number, reconcile, text,
};

/// Reads rows; knows the places of all roles.
struct Rows<'t> {
    layout: &'t Layout,
    /// The first column of each role, in the order of [`Role::ALL`].
    places: [usize; Role::ALL.len()],
    /// Whether times without a zone are universal time, by the name of the date's column.
    utc: bool,
    fallback: Option<Currency>,
    /// Whether a row was left out for want of a currency.
    without_currency: bool,
    /// The kinds of the texts of the kind's column: few texts, many rows.
    kinds: HashMap<Box<str>, Option<Kind>>,
}

/// Why a row gives no entry.
struct Problem {
    column: usize,
    severity: Severity,
    message: String,
}

impl Problem {
    fn error(column: usize, message: String) -> Problem {
        Problem { column, severity: Severity::Error, message }
    }

    fn too_short(record: &Record<'_>, width: usize) -> Problem {
        Problem::error(NONE, format!("the row has {} of {width} fields", record.len()))
    }
}

/// What a row's status says.
enum Standing {
    Booked,
    Pending,
    Void,
}

fn standing(status: &str) -> Standing {
    if status.is_empty() || status.len() > 40 {
        return Standing::Booked;
    }
    match plain_name(status).as_str() {
        "pending" | "vorgemerkt" | "offen" | "enattente" | "pendiente" | "authorised" | "authorized"
        | "avenir" | "ausstehend" | "umsatzvorgemerkt" | "processing" | "reserved" | "inbehandeling" => {
            Standing::Pending
        }
        "reverted" | "declined" | "failed" | "cancelled" | "canceled" | "abgelehnt" | "abgebrochen"
        | "fehlgeschlagen" | "annule" | "rejected" | "denied" | "voided" | "expired" => Standing::Void,
        _ => Standing::Booked,
    }
}

/// Reads all rows of a table into statements, one for each account and currency.
pub(crate) fn read(
    table: &Table<'_>,
    layout: &Layout,
    fallback: Option<Currency>,
    findings: &mut Findings,
) -> Result<Vec<Statement>, Refusal> {
    let day = table.header.names.get(layout.one(Role::Date));
    let mut rows = Rows {
        layout,
        places: Role::ALL.map(|role| layout.one(role)),
        utc: day.is_some_and(|name| name.to_uppercase().contains("UTC")),
        fallback: layout.currency.or(table.preamble.currency).or(fallback),
        without_currency: false,
        kinds: HashMap::new(),
    };
    let mut books = Books::default();
    let mut records = table.rows.clone();
    let mut record = Record::default();
    let mut count = 0;
    loop {
        match records.next(&mut record) {
            Next::End => break,
            Next::Malformed(why) => {
                findings.error_at(record.line, why);
                continue;
            }
            Next::Record if record.is_blank() => continue,
            Next::Record => {}
        }
        match rows.entry(&record, table.header.names.len()) {
            Ok(Some(entry)) => {
                if count == limits::ENTRIES {
                    findings.error_at(
                        record.line,
                        format!("more than {count} entries: the rest of the file is left out"),
                    );
                    break;
                }
                count += 1;
                books.post(&record, &rows, table, entry)?;
            }
            Ok(None) => findings.notice_at(record.line, "the bank did not carry it out: left out"),
            Err(Problem { column, severity, message }) => {
                let column = (column != NONE).then(|| column as u32 + 1);
                findings.push(Some(record.line), column, severity, message);
            }
        }
    }
    if rows.without_currency && books.statements.is_empty() {
        return Err(Refusal::CurrencyUnknown);
    }
    Ok(books.close(table, layout, findings))
}

/// Whether a status says that money moved.
pub(crate) fn is_booked(status: &str) -> bool {
    matches!(standing(status), Standing::Booked)
}

impl Rows<'_> {
    fn at(&self, role: Role) -> usize {
        self.places.get(role as usize).copied().unwrap_or(NONE)
    }

    fn cell<'r>(&self, record: &'r Record<'_>, role: Role) -> &'r str {
        record.get(self.at(role))
    }

    fn entry(&mut self, record: &Record<'_>, width: usize) -> Result<Option<Entry>, Problem> {
        let (cell, column) = record.first(self.layout.all(Role::Date));
        let Some((booked, rest)) = date::read(cell, self.layout.order) else {
            return Err(self.no_date(record, cell, column, width));
        };
        let Some((amount, beside)) = self.amount(record)? else {
            if record.len() + 1 < width {
                return Err(Problem::too_short(record, width));
            }
            let message = "the row has no amount: left out".into();
            return Err(Problem { column: NONE, severity: Severity::Warning, message });
        };
        let status = match standing(self.cell(record, Role::Status)) {
            Standing::Void => return Ok(None),
            Standing::Pending => Status::Pending,
            Standing::Booked => Status::Booked,
        };
        let cell = self.cell(record, Role::Currency);
        let currency = match Currency::recognise(cell).or(beside) {
            Some(currency) => currency,
            None if !cell.is_empty() => {
                return Err(Problem::error(
                    self.at(Role::Currency),
                    format!("{} is not a currency", quoted(cell)),
                ));
            }
            None => match self.fallback {
                Some(currency) => currency,
                // Without any currency nothing can be posted; the file is refused if no row has one.
                None => {
                    self.without_currency = true;
                    let message = "the row does not say in which currency its amount is";
                    return Err(Problem::error(NONE, message.into()));
                }
            },
        };
        let mut entry = Entry::new(record.line, booked, amount, currency);
        entry.status = status;
        entry.value_date = date::read(self.cell(record, Role::ValueDate), self.layout.order)
            .map(|(day, _)| day)
            .filter(|day| *day != booked);
        let time = if rest.is_empty() { self.cell(record, Role::Time) } else { rest };
        if !time.is_empty() {
            entry.moment = date::moment(booked, time)
                .or_else(|| self.utc.then(|| date::moment(booked, &format!("{time}Z")))?);
        }
        entry.balance =
            number::read(self.cell(record, Role::Balance), self.layout.mark).map(|reading| reading.amount);
        entry.original = self.original(record, currency);
        entry.counterparty = self.counterparty(record, amount);
        entry.description = self.description(record);
        entry.references = self.references(record);
        entry.category = text::some_line(self.cell(record, Role::Category));
        entry.kind = self.kind(record, amount, &entry.description);
        Ok(Some(entry))
    }

    /// A row without a date: a total, a remark, or one that is broken.
    fn no_date(&self, record: &Record<'_>, cell: &str, column: usize, width: usize) -> Problem {
        const TOTALS: [&str; 6] = ["saldo", "total", "summe", "balance", "kontostand", "solde"];
        let first = record.iter().find(|cell| !cell.is_empty()).unwrap_or_default();
        let label = plain_name(first);
        if TOTALS.iter().any(|word| label.contains(word)) {
            let message = format!("{} is no entry: left out", quoted(first));
            return Problem { column: NONE, severity: Severity::Notice, message };
        }
        if record.len() + 1 < width {
            return Problem::too_short(record, width);
        }
        if cell.is_empty() {
            return Problem::error(column, "the row has no date".into());
        }
        Problem::error(column, format!("{} is not a date", quoted(cell)))
    }

    /// The amount from the account's view, and the currency beside it; nothing if all its cells are empty.
    fn amount(&self, record: &Record<'_>) -> Result<Option<(Amount, Option<Currency>)>, Problem> {
        let mark = self.layout.mark;
        let read = |place: usize| -> Result<Option<Reading>, Problem> {
            match record.get(place) {
                "" => Ok(None),
                cell => match number::read(cell, mark) {
                    Some(reading) => Ok(Some(reading)),
                    None => Err(Problem::error(place, format!("{} is not an amount", quoted(cell)))),
                },
            }
        };
        let too_large = || Problem::error(self.at(Role::Amount), "the amount is too large".into());
        let (amount, currency) = if self.at(Role::Amount) != NONE {
            let Some(Reading { amount, currency, .. }) = read(self.at(Role::Amount))? else {
                return Ok(None);
            };
            let amount = match self.at(Role::Side) {
                NONE => amount,
                place => match side(record.get(place)) {
                    Some(out) => {
                        let size = amount.checked_abs().ok_or_else(too_large)?;
                        if out { size.checked_neg().ok_or_else(too_large)? } else { size }
                    }
                    None => {
                        let message =
                            format!("{} says neither money in nor money out", quoted(record.get(place)));
                        return Err(Problem::error(place, message));
                    }
                },
            };
            (amount, currency)
        } else {
            let (debit, credit) = (read(self.at(Role::Debit))?, read(self.at(Role::Credit))?);
            if debit.is_none() && credit.is_none() {
                return Ok(None);
            }
            let currency =
                debit.and_then(|reading| reading.currency).or(credit.and_then(|reading| reading.currency));
            let out = debit.map_or(Some(Amount::ZERO), |reading| reading.amount.checked_abs());
            let into = credit.map_or(Amount::ZERO, |reading| reading.amount);
            (out.and_then(|out| into.checked_sub(out)).ok_or_else(too_large)?, currency)
        };
        let amount = if self.layout.inverted { amount.checked_neg().ok_or_else(too_large)? } else { amount };
        let fee =
            read(self.at(Role::Fee))?.and_then(|reading| reading.amount.checked_abs()).unwrap_or_default();
        Ok(Some((amount.checked_sub(fee).ok_or_else(too_large)?, currency)))
    }

    fn original(&self, record: &Record<'_>, own: Currency) -> Option<Money> {
        let reading = number::read(self.cell(record, Role::OriginalAmount), self.layout.mark)?;
        let currency = Currency::recognise(self.cell(record, Role::OriginalCurrency)).or(reading.currency)?;
        (currency != own).then_some(Money { amount: reading.amount, currency })
    }

    fn counterparty(&self, record: &Record<'_>, amount: Amount) -> Counterparty {
        let cell = |role| self.cell(record, role);
        let (likely, other) =
            if amount.is_negative() { (Role::Payee, Role::Payer) } else { (Role::Payer, Role::Payee) };
        let name = [Role::Counterparty, likely].into_iter().find_map(|role| text::some_line(cell(role)));
        // A lone column of payees also names those who pay.
        let lone = || if self.at(likely) != NONE { None } else { text::some_line(cell(other)) };
        let account = cell(Role::CounterpartyAccount);
        Counterparty {
            name: name.or_else(lone),
            account: text::iban(account).or_else(|| text::some_line(account)),
            bank: text::some_line(cell(Role::CounterpartyBank)),
        }
    }

    fn description(&self, record: &Record<'_>) -> Box<str> {
        match self.layout.all(Role::Description) {
            [] => text::one_line(self.cell(record, Role::Kind)),
            [place] => text::one_line(record.get(*place)),
            places => {
                let mut line = String::new();
                places.iter().for_each(|place| text::push_one_line(&mut line, record.get(*place)));
                line.into()
            }
        }
    }

    fn references(&self, record: &Record<'_>) -> References {
        let some = |role| text::some_line(self.cell(record, role));
        References {
            bank_id: some(Role::Id),
            end_to_end: some(Role::EndToEnd).filter(|id| fingerprint::is_meaningful_id(id)),
            mandate: some(Role::Mandate),
            payment: some(Role::Reference),
            check: some(Role::Check),
        }
    }

    fn kind(&mut self, record: &Record<'_>, amount: Amount, description: &str) -> Option<Kind> {
        let word = self.cell(record, Role::Kind);
        if word.is_empty() {
            return kind::of_words(description);
        }
        // Money back often comes as a plain credit, and only the text says why.
        if !amount.is_negative() && kind::of_words(description) == Some(Kind::Refund) {
            return Some(Kind::Refund);
        }
        if let Some(known) = self.kinds.get(word) {
            return *known;
        }
        let found = kind::of_words(word);
        // A column that holds something else than kinds must not fill the memory.
        if self.kinds.len() < 1_000 {
            self.kinds.insert(word.into(), found);
        }
        found
    }
}

/// Statements, found by what their rows say about the account.
#[derive(Default)]
struct Books {
    statements: Vec<Statement>,
    found: HashMap<(Box<str>, Currency), usize>,
    /// Where the last row went: rows of one account follow each other.
    last: Option<(Box<str>, Currency, usize)>,
}

impl Books {
    fn post(
        &mut self,
        record: &Record<'_>,
        rows: &Rows<'_>,
        table: &Table<'_>,
        entry: Entry,
    ) -> Result<(), Refusal> {
        let (account, currency) = (rows.cell(record, Role::Account), entry.currency);
        let place = match &self.last {
            Some((last, of, place)) if **last == *account && *of == currency => *place,
            _ => {
                let key = (Box::from(account), currency);
                let next = self.statements.len();
                let place = *self.found.entry(key).or_insert(next);
                if place == next {
                    if next == limits::STATEMENTS {
                        return Err(Refusal::Unsupported {
                            what: "a table of more accounts than a statement can have",
                            hint: "name the column of the own account, for example account=IBAN, or none with account=",
                        });
                    }
                    let mut hint = table.preamble.account.clone();
                    if !account.is_empty() {
                        let iban = text::iban(account);
                        let number = if iban.is_none() { text::some_line(account) } else { None };
                        hint = AccountHint { iban, number, ..AccountHint::default() };
                    }
                    hint.name = text::some_line(rows.cell(record, Role::AccountName)).or(hint.name);
                    self.statements.push(Statement::new(hint, currency));
                }
                self.last = Some((account.into(), currency, place));
                place
            }
        };
        if let Some(statement) = self.statements.get_mut(place) {
            statement.entries.push(entry);
        }
        Ok(())
    }

    fn close(mut self, table: &Table<'_>, layout: &Layout, findings: &mut Findings) -> Vec<Statement> {
        let alone = self.statements.len() == 1;
        for statement in &mut self.statements {
            let trusted = ids_tell_apart(&statement.entries);
            if !trusted {
                findings.warning(
                    "the column of ids repeats itself and does not tell entries apart: not relied upon",
                );
            }
            fingerprint::settle(&mut statement.entries, trusted, findings);
            if layout.has(Role::Balance) {
                follow_balances(statement, findings);
            }
            if alone {
                let balance = |opening| {
                    let (amount, as_of) = table.preamble.balance(opening, layout.mark)?;
                    Some(Balance { amount, as_of })
                };
                statement.opening = statement.opening.or_else(|| balance(true));
                statement.closing = statement.closing.or_else(|| balance(false));
            }
            reconcile::finish(statement, findings);
        }
        self.statements
    }
}

/// Whether a column of ids is one: at most one in twenty repeats.
fn ids_tell_apart(entries: &[Entry]) -> bool {
    let ids = entries.iter().filter_map(|entry| entry.references.bank_id.as_deref());
    let mut seen = std::collections::HashSet::new();
    let (mut all, mut repeated) = (0, 0);
    for id in ids {
        all += 1;
        repeated += usize::from(!seen.insert(id));
    }
    repeated < 2 || repeated * 20 <= all
}

/// Checks the amounts against the balance of each row and takes the first and the last of them as the statement's own.
fn follow_balances(statement: &mut Statement, findings: &mut Findings) {
    const SHOWN: usize = 5;
    let rows: Vec<(u32, Amount, Amount)> = statement
        .entries
        .iter()
        .filter(|entry| entry.status == Status::Booked)
        .filter_map(|entry| Some((entry.line, entry.amount, entry.balance?)))
        .collect();
    let booked = statement.entries.iter().filter(|entry| entry.status == Status::Booked).count();
    if rows.len() != booked || rows.is_empty() {
        return;
    }
    let steps: Vec<(Amount, Amount)> = rows.iter().map(|(_, amount, balance)| (*amount, *balance)).collect();
    let (forwards, backwards) = confirmed(&steps);
    let days = |entry: Option<&Entry>| entry.map(|entry| entry.booked);
    let reversed = backwards > forwards
        || (backwards == forwards && days(statement.entries.first()) > days(statement.entries.last()));
    let possible = rows.len() - 1;
    if forwards.max(backwards) * 2 < possible {
        findings.notice("the balances of the rows do not follow from the amounts: not used");
        return;
    }
    let mut breaks = 0;
    for pair in rows.windows(2) {
        let [first, second] = pair else { continue };
        let (before, after) = if reversed { (second, first) } else { (first, second) };
        if before.2.checked_add(after.1) != Some(after.2) {
            breaks += 1;
            if breaks <= SHOWN {
                let expected = before.2.checked_add(after.1).unwrap_or_default();
                let currency = statement.currency;
                findings.warning_at(
                    after.0,
                    format!(
                        "the balance is {}, but the one before and this amount make {}",
                        after.2.in_currency(currency),
                        expected.in_currency(currency)
                    ),
                );
            }
        }
    }
    if breaks > SHOWN {
        findings.warning(format!("{breaks} of {possible} balances do not follow from the row before"));
    }
    let (oldest, newest) = if reversed { (rows.last(), rows.first()) } else { (rows.first(), rows.last()) };
    let Some((oldest, newest)) = oldest.zip(newest) else { return };
    statement.opening = oldest.2.checked_sub(oldest.1).map(|amount| Balance { amount, as_of: None });
    let as_of = statement.entries.iter().map(|entry| entry.booked).max();
    statement.closing = Some(Balance { amount: newest.2, as_of });
}
