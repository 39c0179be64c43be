//! The shape of a table: its delimiter, the lines before its header, and where its rows start.

use jiff::civil::Date;

use crate::csv::mapping::Header;
use crate::csv::records::{Record, RecordEvent, Records};
use crate::csv::role::{self, Role, normalize_header};
use crate::date::{self, DateOrder};
use crate::number::{self, DecimalMark};
use crate::text;
use crate::{AccountHint, Amount, Currency, limits};

/// Possible delimiters, most likely first.
const DELIMITERS: [u8; 4] = [b';', b',', b'\t', b'|'];

/// A table found in a text.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub delimiter: u8,
    pub header: Header,
    /// The rows after the header.
    pub rows: Records<'a>,
    pub preamble: Preamble,
}

/// Account details from the lines before the header.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Preamble {
    pub account: AccountHint,
    pub currency: Option<Currency>,
    /// Labelled balances, and whether the label means opening (`true`) or closing.
    pub balances: Vec<(bool, String, Option<Date>)>,
}

/// Finds the table of a text; `None` if no line has two fields and could be a row.
pub(crate) fn find(text: &str, delimiter: Option<char>) -> Option<Table<'_>> {
    let declared = delimiter.and_then(|c| u8::try_from(c).ok()).or_else(|| declared_delimiter(text));
    let candidates: Vec<u8> = declared.map_or_else(|| DELIMITERS.to_vec(), |delimiter| vec![delimiter]);
    let mut best: Option<(usize, Table<'_>)> = None;
    for delimiter in candidates {
        let Some((score, table)) = find_header(text, delimiter) else { continue };
        if best.as_ref().is_none_or(|(best_score, _)| score > *best_score) {
            best = Some((score, table));
        }
    }
    best.map(|(_, table)| table)
}

/// Whether a text contains a table.
pub(crate) fn has_table(text: &str) -> bool {
    DELIMITERS.iter().any(|delimiter| find_header(text, *delimiter).is_some())
}

/// The first line that Excel writes for itself: `sep=;`.
fn declared_delimiter(text: &str) -> Option<u8> {
    let line = text.lines().next()?.trim().trim_matches('"');
    let value = line.strip_prefix("sep=")?.as_bytes();
    value.first().copied().filter(|byte| DELIMITERS.contains(byte))
}

/// Finds the header in the first lines: the line with most known names. Without one, the table starts at the first
/// line with a date and an amount.
fn find_header(text: &str, delimiter: u8) -> Option<(usize, Table<'_>)> {
    let mut records = Records::new(text, delimiter);
    let mut record = Record::default();
    // Each with the number of lines before it.
    let mut best: Option<(usize, Header, Records<'_>, usize)> = None;
    let mut first_row: Option<(Header, Records<'_>, usize)> = None;
    let mut possible_header: Option<Header> = None;
    for line in 0..limits::PREAMBLE_LINES {
        let before = records.clone();
        match records.next(&mut record) {
            RecordEvent::End => break,
            RecordEvent::Malformed(_) => continue,
            RecordEvent::Record => {}
        }
        let known_count = count_known_roles(&record);
        let is_data_row = record.len() > 1 && is_row(&record);
        if known_count >= 2
            && best.as_ref().is_none_or(|(best_count, ..)| known_count > *best_count)
            && !is_data_row
        {
            best = Some((known_count, to_header(&record), records.clone(), line));
        }
        if first_row.is_none() && is_data_row {
            // A line of unknown names is a header if it is directly above the first row and has as many fields.
            let above = possible_header.take().filter(|names: &Header| names.names.len() == record.len());
            let header = above
                .unwrap_or_else(|| Header { names: vec![String::new(); record.len()], has_names: false });
            first_row = Some((header, before, line));
        }
        possible_header = (!is_data_row
            && record.iter().all(|cell| !cell.is_empty() && !number::is_amount(cell)))
        .then(|| to_header(&record));
    }
    let (score, header, rows, lines) = match (best, first_row) {
        // A header is stronger evidence than any number of fields.
        (Some((known, header, rows, lines)), _) => (1_000 + known, header, rows, lines),
        (None, Some((header, rows, lines))) => (header.names.len(), header, rows, lines),
        (None, None) => return None,
    };
    let preamble = Preamble::parse(Records::new(text, delimiter), lines);
    let rows = rows.with_width(header.names.len());
    Some((score, Table { delimiter, header, rows, preamble }))
}

fn to_header(record: &Record<'_>) -> Header {
    let names = record.iter().map(|name| text::collapse_whitespace(name).into_string()).collect();
    Header { names: trim_trailing_empty(names), has_names: true }
}

/// A header often ends with a delimiter that has no column after it.
fn trim_trailing_empty(mut names: Vec<String>) -> Vec<String> {
    while names.len() > 2 && names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    names
}

/// The number of different roles that the fields' names suggest.
fn count_known_roles(record: &Record<'_>) -> usize {
    let mut roles: Vec<Role> = record
        .iter()
        .filter_map(|name| Role::for_header(name).iter().min_by_key(|(_, rank)| *rank))
        .map(|(role, _)| *role)
        .collect();
    roles.sort();
    roles.dedup();
    roles.len()
}

/// Whether a record contains a date and an amount.
fn is_row(record: &Record<'_>) -> bool {
    let is_date = |cell: &str| {
        date::parse_date(cell, DateOrder::Dmy).or_else(|| date::parse_date(cell, DateOrder::Mdy)).is_some()
    };
    record.iter().any(is_date) && record.iter().any(|cell| !is_date(cell) && number::is_amount(cell))
}

impl Preamble {
    /// The account details in the first lines.
    fn parse(mut records: Records<'_>, lines: usize) -> Preamble {
        let (mut preamble, mut record) = (Preamble::default(), Record::default());
        for _ in 0..lines {
            if matches!(records.next(&mut record), RecordEvent::Record) {
                preamble.parse_line(&record);
            }
        }
        preamble
    }

    /// Finds an IBAN, a number, a currency and balances in a line before the header.
    fn parse_line(&mut self, record: &Record<'_>) {
        let mut label = String::new();
        let mut day = None;
        let previous_count = self.balances.len();
        for cell in record.iter().filter(|cell| !cell.is_empty()) {
            // `Kontostand vom 31.01.2024` has the day in its label.
            day = day.or_else(|| find_date(cell));
            self.parse_cell(&label, cell);
            // `Kontonummer: 12345` may be one cell or two.
            let (name, value) = cell.split_once(':').unwrap_or((cell, ""));
            label = normalize_header(name);
            if !value.trim().is_empty() {
                self.parse_cell(&label, value.trim());
            }
        }
        self.balances.iter_mut().skip(previous_count).for_each(|(.., as_of)| *as_of = day);
    }

    fn parse_cell(&mut self, label: &str, cell: &str) {
        if self.account.iban.is_none() {
            self.account.iban = find_iban(cell);
        }
        let label_contains = |words: &[&str]| words.iter().any(|word| label.contains(word));
        if label_contains(&[
            "kontonummer",
            "accountnumber",
            "rekeningnummer",
            "numerodecompte",
            "numerodecuenta",
            "kartennummer",
            "cardnumber",
        ]) && self.account.number.is_none()
            && cell.bytes().any(|byte| byte.is_ascii_digit())
            && text::parse_iban(cell).is_none()
        {
            self.account.number = text::non_empty_line(cell);
        }
        if label_contains(&["accountname", "kontoname"]) && self.account.name.is_none() {
            self.account.name = text::non_empty_line(cell);
        }
        if label_contains(&["wahrung", "currency", "devise", "moneda", "waluta"]) && self.currency.is_none() {
            self.currency = Currency::from_code_or_symbol(cell);
        }
        let opening = label_contains(&[
            "anfangssaldo",
            "openingbalance",
            "altersaldo",
            "startsaldo",
            "soldeinitial",
            "saldoinicial",
        ]);
        let closing = label_contains(&[
            "kontostand",
            "endsaldo",
            "closingbalance",
            "neuersaldo",
            "saldo",
            "balance",
            "solde",
        ]);
        if (opening || closing) && self.balances.len() < 8 {
            let reading = number::parse_amount(cell, DecimalMark::Comma)
                .or_else(|| number::parse_amount(cell, DecimalMark::Point));
            if let Some(reading) = reading {
                self.currency = self.currency.or(reading.currency);
                self.balances.push((opening, cell.into(), None));
            }
        }
    }

    /// The opening and closing balance, parsed with the table's decimal mark.
    pub fn balance(&self, opening: bool, mark: DecimalMark) -> Option<(Amount, Option<Date>)> {
        let (_, text, as_of) = self.balances.iter().find(|(first, ..)| *first == opening)?;
        Some((number::parse_amount(text, mark)?.amount, *as_of))
    }
}

fn find_date(cell: &str) -> Option<Date> {
    let words = cell.split(|c: char| c.is_whitespace() || matches!(c, ':' | '(' | ')'));
    words.filter_map(|word| date::parse_date(word, DateOrder::Dmy)).map(|(day, _)| day).next_back()
}

/// An IBAN within a text: the longest sequence of groups that is valid.
pub(crate) fn find_iban(text: &str) -> Option<Box<str>> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) || text.len() > 400 {
        return None;
    }
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    for start in 0..words.len() {
        let rest = words.get(start..).unwrap_or_default();
        if !rest
            .first()
            .is_some_and(|word| word.len() >= 4 && word.bytes().take(2).all(|b| b.is_ascii_alphabetic()))
        {
            continue;
        }
        for length in (1..=rest.len().min(9)).rev() {
            if let Some(iban) = text::parse_iban(&rest.get(..length).unwrap_or_default().concat()) {
                return Some(iban);
            }
        }
    }
    None
}

/// The currency in a column's name.
pub(crate) fn currency_of_column(header: &Header, index: usize) -> Option<Currency> {
    header.names.get(index).and_then(|name| role::currency_in_name(name))
}
