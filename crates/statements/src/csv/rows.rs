//! Turns rows into entries with a known layout. A row that cannot be parsed is reported and skipped.

use std::collections::HashMap;

use crate::csv::Role;
use crate::csv::infer::{Layout, count_consistent, parse_debit_credit};
use crate::csv::records::{Record, RecordEvent};
use crate::csv::role::normalize_header;
use crate::csv::table::Table;
use crate::diagnostic::{Diagnostics, Severity, quote};
use crate::number::ParsedAmount;
use crate::{
    AccountHint, Amount, Balance, Counterparty, Currency, Entry, Kind, Money, ParseError, References,
    Statement, Status, date, fingerprint, kind, limits, number, reconcile, text,
};

/// Parses rows; knows the column of each role.
struct RowParser<'t> {
    layout: &'t Layout,
    /// The first column of each role, in the order of [`Role::ALL`].
    columns: [Option<usize>; Role::ALL.len()],
    /// Whether times without a zone are UTC, by the name of the date column.
    is_utc: bool,
    default_currency: Option<Currency>,
    /// Whether a row was skipped because it has no currency.
    currency_missing: bool,
    /// The movement kinds by text of the kind column, as a cache: few different texts, many rows.
    kinds: HashMap<Box<str>, Option<Kind>>,
}

/// Why a row produces no entry.
struct RowError {
    column: Option<usize>,
    severity: Severity,
    message: String,
}

impl RowError {
    fn error(column: Option<usize>, message: String) -> RowError {
        RowError { column, severity: Severity::Error, message }
    }

    fn too_short(record: &Record<'_>, width: usize) -> RowError {
        RowError::error(None, format!("the row has {} of {width} fields", record.len()))
    }
}

/// The meaning of a row's status.
enum RowStatus {
    Booked,
    Pending,
    Cancelled,
}

fn parse_row_status(status: &str) -> RowStatus {
    if status.is_empty() || status.len() > 40 {
        return RowStatus::Booked;
    }
    match normalize_header(status).as_str() {
        "pending" | "vorgemerkt" | "offen" | "enattente" | "pendiente" | "authorised" | "authorized"
        | "avenir" | "ausstehend" | "umsatzvorgemerkt" | "processing" | "reserved" | "inbehandeling" => {
            RowStatus::Pending
        }
        "reverted" | "declined" | "failed" | "cancelled" | "canceled" | "abgelehnt" | "abgebrochen"
        | "fehlgeschlagen" | "annule" | "rejected" | "denied" | "voided" | "expired" => RowStatus::Cancelled,
        _ => RowStatus::Booked,
    }
}

/// Parses all rows of a table into statements, one per account and currency.
pub(crate) fn parse_rows(
    table: &Table<'_>,
    layout: &Layout,
    default_currency: Option<Currency>,
    diagnostics: &mut Diagnostics,
) -> Result<Vec<Statement>, ParseError> {
    let date_header = layout.column(Role::Date).and_then(|index| table.header.names.get(index));
    let mut parser = RowParser {
        layout,
        columns: Role::ALL.map(|role| layout.column(role)),
        is_utc: date_header.is_some_and(|name| name.to_uppercase().contains("UTC")),
        default_currency: layout.currency.or(table.preamble.currency).or(default_currency),
        currency_missing: false,
        kinds: HashMap::new(),
    };
    let mut statement_set = StatementSet::default();
    let mut records = table.rows.clone();
    let mut record = Record::default();
    let mut count = 0;
    loop {
        match records.next(&mut record) {
            RecordEvent::End => break,
            RecordEvent::Malformed(reason) => {
                diagnostics.error_at(record.line, reason);
                continue;
            }
            RecordEvent::Record if record.is_blank() => continue,
            RecordEvent::Record => {}
        }
        match parser.parse_entry(&record, table.header.names.len()) {
            Ok(Some(entry)) => {
                if count == limits::ENTRIES {
                    diagnostics.error_at(
                        record.line,
                        format!("more than {count} entries: the rest of the file is left out"),
                    );
                    break;
                }
                count += 1;
                statement_set.push(&record, &parser, table, entry)?;
            }
            Ok(None) => diagnostics.info_at(record.line, "the bank did not execute it: left out"),
            Err(RowError { column, severity, message }) => {
                let column = column.map(|column| column as u32 + 1);
                diagnostics.push(Some(record.line), column, severity, message);
            }
        }
    }
    if parser.currency_missing && statement_set.statements.is_empty() {
        return Err(ParseError::CurrencyUnknown);
    }
    Ok(statement_set.finish(table, layout, diagnostics))
}

/// Whether a status means that money moved.
pub(crate) fn is_booked(status: &str) -> bool {
    matches!(parse_row_status(status), RowStatus::Booked)
}

impl RowParser<'_> {
    fn column(&self, role: Role) -> Option<usize> {
        self.columns.get(role as usize).copied().flatten()
    }

    fn cell<'r>(&self, record: &'r Record<'_>, role: Role) -> &'r str {
        record.get(self.column(role))
    }

    fn parse_entry(&mut self, record: &Record<'_>, width: usize) -> Result<Option<Entry>, RowError> {
        let (cell, column) = record.first_filled(self.layout.columns(Role::Date));
        let Some((booked, rest)) = date::parse_date(cell, self.layout.order) else {
            return Err(self.missing_date_error(record, cell, column, width));
        };
        let Some((amount, adjacent_currency)) = self.parse_amount(record)? else {
            if record.len() + 1 < width {
                return Err(RowError::too_short(record, width));
            }
            let message = "the row has no amount: left out".into();
            return Err(RowError { column: None, severity: Severity::Warning, message });
        };
        let status = match parse_row_status(self.cell(record, Role::Status)) {
            RowStatus::Cancelled => return Ok(None),
            RowStatus::Pending => Status::Pending,
            RowStatus::Booked => Status::Booked,
        };
        let cell = self.cell(record, Role::Currency);
        let currency = match Currency::from_code_or_symbol(cell).or(adjacent_currency) {
            Some(currency) => currency,
            None if !cell.is_empty() => {
                return Err(RowError::error(
                    self.column(Role::Currency),
                    format!("{} is not a currency", quote(cell)),
                ));
            }
            None => match self.default_currency {
                Some(currency) => currency,
                // Without a currency no row can be posted; the file is refused if no row has one.
                None => {
                    self.currency_missing = true;
                    let message = "the row has no currency";
                    return Err(RowError::error(None, message.into()));
                }
            },
        };
        let mut entry = Entry::new(record.line, booked, amount, currency);
        entry.status = status;
        entry.value_date = date::parse_date(self.cell(record, Role::ValueDate), self.layout.order)
            .map(|(day, _)| day)
            .filter(|day| *day != booked);
        let time = if rest.is_empty() { self.cell(record, Role::Time) } else { rest };
        if !time.is_empty() {
            entry.moment = date::parse_bank_time(booked, time)
                .or_else(|| self.is_utc.then(|| date::parse_bank_time(booked, &format!("{time}Z")))?);
        }
        entry.balance = number::parse_amount(self.cell(record, Role::Balance), self.layout.decimal_mark)
            .map(|reading| reading.amount);
        entry.original = self.parse_original(record, currency);
        entry.counterparty = self.parse_counterparty(record, amount);
        entry.description = self.parse_description(record);
        entry.references = self.parse_references(record);
        entry.category = text::non_empty_line(self.cell(record, Role::Category));
        entry.kind = self.classify(record, amount, &entry.description);
        Ok(Some(entry))
    }

    /// The error for a row without a date: a total, a remark, or a damaged row.
    fn missing_date_error(
        &self,
        record: &Record<'_>,
        cell: &str,
        column: Option<usize>,
        width: usize,
    ) -> RowError {
        const TOTALS: [&str; 6] = ["saldo", "total", "summe", "balance", "kontostand", "solde"];
        let first = record.iter().find(|cell| !cell.is_empty()).unwrap_or_default();
        let label = normalize_header(first);
        if TOTALS.iter().any(|word| label.contains(word)) {
            let message = format!("{} is no entry: left out", quote(first));
            return RowError { column: None, severity: Severity::Notice, message };
        }
        if record.len() + 1 < width {
            return RowError::too_short(record, width);
        }
        if cell.is_empty() {
            return RowError::error(column, "the row has no date".into());
        }
        RowError::error(column, format!("{} is not a date", quote(cell)))
    }

    /// The amount from the account's view, and the currency next to it; `None` if all its cells are empty.
    fn parse_amount(&self, record: &Record<'_>) -> Result<Option<(Amount, Option<Currency>)>, RowError> {
        let mark = self.layout.decimal_mark;
        let parse_cell = |index: Option<usize>| -> Result<Option<ParsedAmount>, RowError> {
            match record.get(index) {
                "" => Ok(None),
                cell => match number::parse_amount(cell, mark) {
                    Some(reading) => Ok(Some(reading)),
                    None => Err(RowError::error(index, format!("{} is not an amount", quote(cell)))),
                },
            }
        };
        let too_large = || RowError::error(self.column(Role::Amount), "the amount is too large".into());
        let (amount, currency) = if self.column(Role::Amount).is_some() {
            let Some(ParsedAmount { amount, currency, .. }) = parse_cell(self.column(Role::Amount))? else {
                return Ok(None);
            };
            let amount = match self.column(Role::Side) {
                None => amount,
                index => match parse_debit_credit(record.get(index)) {
                    Some(is_debit) => {
                        let size = amount.checked_abs().ok_or_else(too_large)?;
                        if is_debit { size.checked_neg().ok_or_else(too_large)? } else { size }
                    }
                    None => {
                        let message =
                            format!("{} means neither money in nor money out", quote(record.get(index)));
                        return Err(RowError::error(index, message));
                    }
                },
            };
            (amount, currency)
        } else {
            let (debit, credit) =
                (parse_cell(self.column(Role::Debit))?, parse_cell(self.column(Role::Credit))?);
            if debit.is_none() && credit.is_none() {
                return Ok(None);
            }
            let currency =
                debit.and_then(|reading| reading.currency).or(credit.and_then(|reading| reading.currency));
            let debited = debit.map_or(Some(Amount::ZERO), |reading| reading.amount.checked_abs());
            let credited = credit.map_or(Amount::ZERO, |reading| reading.amount);
            (debited.and_then(|debited| credited.checked_sub(debited)).ok_or_else(too_large)?, currency)
        };
        let amount = if self.layout.inverted { amount.checked_neg().ok_or_else(too_large)? } else { amount };
        let fee = parse_cell(self.column(Role::Fee))?
            .and_then(|reading| reading.amount.checked_abs())
            .unwrap_or_default();
        Ok(Some((amount.checked_sub(fee).ok_or_else(too_large)?, currency)))
    }

    fn parse_original(&self, record: &Record<'_>, account_currency: Currency) -> Option<Money> {
        let reading =
            number::parse_amount(self.cell(record, Role::OriginalAmount), self.layout.decimal_mark)?;
        let currency =
            Currency::from_code_or_symbol(self.cell(record, Role::OriginalCurrency)).or(reading.currency)?;
        (currency != account_currency).then_some(Money { amount: reading.amount, currency })
    }

    fn parse_counterparty(&self, record: &Record<'_>, amount: Amount) -> Counterparty {
        let cell = |role| self.cell(record, role);
        let (likely, other) =
            if amount.is_negative() { (Role::Payee, Role::Payer) } else { (Role::Payer, Role::Payee) };
        let name = [Role::Counterparty, likely].into_iter().find_map(|role| text::non_empty_line(cell(role)));
        // If there is only a payee column, it also contains payers.
        let only_party =
            || if self.column(likely).is_some() { None } else { text::non_empty_line(cell(other)) };
        let account = cell(Role::CounterpartyAccount);
        Counterparty {
            name: name.or_else(only_party),
            account: text::parse_iban(account).or_else(|| text::non_empty_line(account)),
            bank: text::non_empty_line(cell(Role::CounterpartyBank)),
        }
    }

    fn parse_description(&self, record: &Record<'_>) -> Box<str> {
        match self.layout.columns(Role::Description) {
            [] => text::collapse_whitespace(self.cell(record, Role::Kind)),
            [index] => text::collapse_whitespace(record.get(*index)),
            indexes => {
                let mut line = String::new();
                indexes.iter().for_each(|index| text::push_collapsed(&mut line, record.get(*index)));
                line.into()
            }
        }
    }

    fn parse_references(&self, record: &Record<'_>) -> References {
        let reference = |role| text::non_empty_line(self.cell(record, role));
        References {
            bank_id: reference(Role::Id),
            end_to_end: reference(Role::EndToEnd).filter(|id| fingerprint::is_meaningful_id(id)),
            mandate: reference(Role::Mandate),
            payment: reference(Role::Reference),
            check: reference(Role::Check),
        }
    }

    fn classify(&mut self, record: &Record<'_>, amount: Amount, description: &str) -> Option<Kind> {
        let word = self.cell(record, Role::Kind);
        if word.is_empty() {
            return kind::from_text(description);
        }
        // A refund often has the kind of a plain credit, and only the text shows it.
        if !amount.is_negative() && kind::from_text(description) == Some(Kind::Refund) {
            return Some(Kind::Refund);
        }
        if let Some(cached) = self.kinds.get(word) {
            return *cached;
        }
        let inferred = kind::from_text(word);
        // A column that does not contain kinds must not fill the memory.
        if self.kinds.len() < 1_000 {
            self.kinds.insert(word.into(), inferred);
        }
        inferred
    }
}

/// The statements by the account details of their rows.
#[derive(Default)]
struct StatementSet {
    statements: Vec<Statement>,
    index_by_account: HashMap<(Box<str>, Currency), usize>,
    /// The statement of the last row: rows of one account are usually consecutive.
    last_used: Option<(Box<str>, Currency, usize)>,
}

impl StatementSet {
    fn push(
        &mut self,
        record: &Record<'_>,
        rows: &RowParser<'_>,
        table: &Table<'_>,
        entry: Entry,
    ) -> Result<(), ParseError> {
        let (account, currency) = (rows.cell(record, Role::Account), entry.currency);
        let index = match &self.last_used {
            Some((last, last_currency, index)) if **last == *account && *last_currency == currency => *index,
            _ => {
                let key = (Box::from(account), currency);
                let next = self.statements.len();
                let index = *self.index_by_account.entry(key).or_insert(next);
                if index == next {
                    if next == limits::STATEMENTS {
                        return Err(ParseError::Unsupported {
                            description: "a table of more accounts than a statement can have",
                            hint: "name the column of the own account, for example account=IBAN, or none with account=",
                        });
                    }
                    let mut hint = table.preamble.account.clone();
                    if !account.is_empty() {
                        let iban = text::parse_iban(account);
                        let number = if iban.is_none() { text::non_empty_line(account) } else { None };
                        hint = AccountHint { iban, number, ..AccountHint::default() };
                    }
                    hint.name = text::non_empty_line(rows.cell(record, Role::AccountName)).or(hint.name);
                    self.statements.push(Statement::new(hint, currency));
                }
                self.last_used = Some((account.into(), currency, index));
                index
            }
        };
        if let Some(statement) = self.statements.get_mut(index) {
            statement.entries.push(entry);
        }
        Ok(())
    }

    fn finish(mut self, table: &Table<'_>, layout: &Layout, diagnostics: &mut Diagnostics) -> Vec<Statement> {
        let is_only_statement = self.statements.len() == 1;
        for statement in &mut self.statements {
            let ids_trusted = ids_are_unique(&statement.entries);
            if !ids_trusted {
                diagnostics
                    .warning("the column of ids has repeated values and does not identify entries: not used");
            }
            fingerprint::assign_occurrences(&mut statement.entries, ids_trusted, diagnostics);
            if layout.has(Role::Balance) {
                check_running_balance(statement, diagnostics);
            }
            if is_only_statement {
                let balance = |opening| {
                    let (amount, as_of) = table.preamble.balance(opening, layout.decimal_mark)?;
                    Some(Balance { amount, as_of })
                };
                statement.opening = statement.opening.or_else(|| balance(true));
                statement.closing = statement.closing.or_else(|| balance(false));
            }
            reconcile::check_balances(statement, diagnostics);
        }
        self.statements
    }
}

/// Whether a column contains ids: at most one in twenty repeats.
fn ids_are_unique(entries: &[Entry]) -> bool {
    let ids = entries.iter().filter_map(|entry| entry.references.bank_id.as_deref());
    let mut unique_ids = std::collections::HashSet::new();
    let (mut all, mut repeated) = (0, 0);
    for id in ids {
        all += 1;
        repeated += usize::from(!unique_ids.insert(id));
    }
    repeated < 2 || repeated * 20 <= all
}

/// Checks amounts against the balance of each row, and uses the first and last balance for the statement.
fn check_running_balance(statement: &mut Statement, diagnostics: &mut Diagnostics) {
    const MAX_REPORTED: usize = 5;
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
    let amounts_and_balances: Vec<(Amount, Amount)> =
        rows.iter().map(|(_, amount, balance)| (*amount, *balance)).collect();
    let (forwards, backwards) = count_consistent(&amounts_and_balances);
    let days = |entry: Option<&Entry>| entry.map(|entry| entry.booked);
    let reversed = backwards > forwards
        || (backwards == forwards && days(statement.entries.first()) > days(statement.entries.last()));
    let transitions = rows.len() - 1;
    if forwards.max(backwards) * 2 < transitions {
        diagnostics.info("the balances of the rows do not follow from the amounts: not used");
        return;
    }
    let mut mismatches = 0;
    for pair in rows.windows(2) {
        let [first, second] = pair else { continue };
        let (before, after) = if reversed { (second, first) } else { (first, second) };
        if before.2.checked_add(after.1) != Some(after.2) {
            mismatches += 1;
            if mismatches <= MAX_REPORTED {
                let expected = before.2.checked_add(after.1).unwrap_or_default();
                let currency = statement.currency;
                diagnostics.warning_at(
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
    if mismatches > MAX_REPORTED {
        diagnostics
            .warning(format!("{mismatches} of {transitions} balances do not follow from the row before"));
    }
    let (oldest, newest) = if reversed { (rows.last(), rows.first()) } else { (rows.first(), rows.last()) };
    let Some((oldest, newest)) = oldest.zip(newest) else { return };
    statement.opening = oldest.2.checked_sub(oldest.1).map(|amount| Balance { amount, as_of: None });
    let as_of = statement.entries.iter().map(|entry| entry.booked).max();
    statement.closing = Some(Balance { amount: newest.2, as_of });
}
