//! ISO 20022 cash management: camt.053 statements, and with them camt.052 reports and camt.054 notifications, which hold
//! the same entries. All versions from .02 to .13 are read: what changed between them is where a name or a bank's code
//! stands, and both places are looked at.

mod entry;
mod tree;

use jiff::civil::Date;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::date::{self, DateOrder};
use crate::diagnostic::{Diagnostics, quote};
use crate::number::{self, DecimalMark};
use crate::{
    AccountHint, AccountKind, Amount, Balance, Currency, Document, Format, ParseError, Statement,
    fingerprint, limits, reconcile, text,
};
use tree::{Node, XmlError};

/// The line of a place in a text, counted once over the whole file.
struct LineCounter<'a> {
    text: &'a str,
    position: usize,
    line: u32,
}

impl LineCounter<'_> {
    fn line_at(&mut self, offset: u64) -> u32 {
        let to = usize::try_from(offset).unwrap_or(self.text.len()).clamp(self.position, self.text.len());
        let skipped = self.text.as_bytes().get(self.position..to).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', skipped).count() as u32;
        self.position = to;
        self.line
    }
}

/// Reads a file.
pub(crate) fn read(text: &str, mut diagnostics: Diagnostics) -> Result<Document, ParseError> {
    let mut reader = Reader::from_str(text);
    let mut lines = LineCounter { text, position: 0, line: 1 };
    let mut statements: Vec<Statement> = Vec::new();
    let mut builder: Option<StatementBuilder> = None;
    let mut count = 0;
    let xml_error = loop {
        let offset = reader.buffer_position();
        match process_event(
            &mut reader,
            &mut lines,
            offset,
            &mut builder,
            &mut statements,
            &mut count,
            &mut diagnostics,
        ) {
            Ok(Step::Continue) => {}
            Ok(Step::End) => break None,
            Ok(Step::Failed(refusal)) => return Err(refusal),
            Err(XmlError(reason)) => break Some(reason),
        }
    };
    if let Some(reason) = xml_error {
        let line = lines.line_at(reader.error_position().max(reader.buffer_position()));
        if statements.is_empty() && builder.is_none() {
            return Err(ParseError::Corrupt { line, why: reason });
        }
        diagnostics.error_at(
            line,
            format!("the file is damaged from here on, and nothing behind it was read: {reason}"),
        );
    }
    if let Some(builder) = builder.take() {
        builder.finish(&mut statements, &mut diagnostics);
    }
    Ok(Document { format: Format::Camt, statements, findings: diagnostics.into_vec(), mapping: None })
}

enum Step {
    Continue,
    End,
    Failed(ParseError),
}

/// A statement as its elements come. The currency may be known only from the first balance or entry.
struct StatementBuilder {
    line: u32,
    statement: Statement,
    currency: Option<Currency>,
}

fn process_event(
    reader: &mut Reader<&[u8]>,
    lines: &mut LineCounter<'_>,
    offset: u64,
    builder: &mut Option<StatementBuilder>,
    statements: &mut Vec<Statement>,
    count: &mut usize,
    diagnostics: &mut Diagnostics,
) -> Result<Step, XmlError> {
    match reader.read_event()? {
        Event::Eof => return Ok(Step::End),
        Event::DocType(_) => {
            return Ok(Step::Failed(ParseError::Unsupported {
                what: "XML with a document type of its own",
                hint: "no bank writes one: download the statement again from the bank's site",
            }));
        }
        Event::End(end) => {
            if matches!(end.local_name().into_inner(), "Stmt" | "Rpt" | "Ntfctn")
                && let Some(builder) = builder.take()
            {
                builder.finish(statements, diagnostics);
            }
        }
        Event::Start(start) => {
            let line = lines.line_at(offset);
            match (start.local_name().into_inner(), builder.as_mut()) {
                ("Stmt" | "Rpt" | "Ntfctn", _) => {
                    if let Some(unfinished) = builder.take() {
                        unfinished.finish(statements, diagnostics);
                    }
                    if statements.len() == limits::STATEMENTS {
                        let what = "camt of too many accounts";
                        return Ok(Step::Failed(ParseError::Unsupported {
                            what,
                            hint: "ask for one account at a time",
                        }));
                    }
                    let statement = Statement::new(AccountHint::default(), Currency::EUR);
                    *builder = Some(StatementBuilder { line, statement, currency: None });
                }
                ("Id", Some(builder)) => {
                    let node = tree::read_element(reader, &start)?;
                    // The first is the statement's own; other things within it have ids too.
                    builder.statement.id =
                        builder.statement.id.take().or_else(|| text::non_empty_line(&node.text));
                }
                ("FrToDt", Some(builder)) => {
                    let node = tree::read_element(reader, &start)?;
                    let find_day =
                        |names: [&str; 2]| names.iter().find_map(|name| parse_day(node.text(&[name])?));
                    builder.statement.from = find_day(["FrDtTm", "FrDt"]);
                    builder.statement.to = find_day(["ToDtTm", "ToDt"]);
                }
                ("Acct", Some(builder)) => {
                    let node = tree::read_element(reader, &start)?;
                    builder.statement.account = parse_account(&node);
                    builder.currency =
                        node.text(&["Ccy"]).and_then(Currency::from_code_or_symbol).or(builder.currency);
                }
                ("Bal", Some(builder)) => {
                    let node = tree::read_element(reader, &start)?;
                    builder.add_balance(&node, line, diagnostics);
                }
                ("Ntry", Some(builder)) => {
                    let node = tree::read_element(reader, &start)?;
                    if *count == limits::ENTRIES {
                        diagnostics.error_at(
                            line,
                            format!("more than {count} entries: the rest of the file is left out"),
                        );
                        return Ok(Step::End);
                    }
                    *count += 1;
                    builder.add_entry(&node, line, diagnostics);
                }
                // Totals, interest, related accounts and the like say nothing that the entries do not.
                ("TxsSummry" | "RltdAcct" | "Intrst" | "StmtPgntn" | "RptPgntn" | "NtfctnPgntn", Some(_)) => {
                    tree::read_element(reader, &start)?;
                }
                _ => {}
            }
        }
        _ => {}
    }
    Ok(Step::Continue)
}

impl StatementBuilder {
    /// The currency of the statement, by the first amount that has one.
    fn infer_currency(&mut self, amount: &Node) -> Option<Currency> {
        let currency = amount.currency.as_deref().and_then(Currency::from_code_or_symbol);
        self.currency = self.currency.or(currency);
        currency.or(self.currency)
    }

    fn add_balance(&mut self, node: &Node, line: u32, diagnostics: &mut Diagnostics) {
        let kind = node.text(&["Tp", "CdOrPrtry", "Cd"]).unwrap_or_default();
        let Some(amount) = node.child("Amt") else { return };
        let currency = self.infer_currency(amount);
        let Some(value) = with_sign(amount, node) else {
            return diagnostics.warning_at(line, format!("{} is not a balance", quote(amount.text.trim())));
        };
        if currency != self.currency {
            return diagnostics.info_at(line, "a balance in another currency than the account's: not used");
        }
        let balance = Balance { amount: value, as_of: node.find_path(&["Dt"]).and_then(day_of_element) };
        let statement = &mut self.statement;
        match kind {
            "OPBD" => statement.opening = Some(balance),
            // The closing balance of the statement before; some banks send it instead of an opening one.
            "PRCD" if statement.opening.is_none() => statement.opening = Some(balance),
            "CLBD" => statement.closing = Some(balance),
            "CLAV" => statement.available = Some(balance),
            "ITAV" if statement.available.is_none() => statement.available = Some(balance),
            _ => {}
        }
    }

    fn add_entry(&mut self, node: &Node, line: u32, diagnostics: &mut Diagnostics) {
        let currency = node.child("Amt").and_then(|amount| self.infer_currency(amount));
        match entry::parse_entry(node, line, currency, diagnostics) {
            Ok(Some(entry)) => {
                if Some(entry.currency) == self.currency {
                    self.statement.entries.push(entry);
                } else {
                    diagnostics.error_at(line, "the entry is in another currency than its account: left out");
                }
            }
            Ok(None) => diagnostics.info_at(line, "the bank calls it information, not an entry: left out"),
            Err(message) => diagnostics.error_at(line, message),
        }
    }

    fn finish(mut self, statements: &mut Vec<Statement>, diagnostics: &mut Diagnostics) {
        let Some(currency) = self.currency else {
            diagnostics
                .warning_at(self.line, "the statement holds neither a currency nor an entry: left out");
            return;
        };
        self.statement.currency = currency;
        fingerprint::assign_occurrences(&mut self.statement.entries, true, diagnostics);
        reconcile::check_balances(&mut self.statement, diagnostics);
        statements.push(self.statement);
    }
}

fn parse_account(node: &Node) -> AccountHint {
    let servicer = ["BICFI", "BIC", "Nm"].iter().find_map(|name| node.text(&["Svcr", "FinInstnId", name]));
    let clearing_member_id = || node.text(&["Svcr", "FinInstnId", "ClrSysMmbId", "MmbId"]);
    let kind = match node.text(&["Tp", "Cd"]) {
        Some("CACC" | "TRAN") => Some(AccountKind::Checking),
        Some("SVGS" | "LLSV" | "ONDP" | "MOMA") => Some(AccountKind::Savings),
        Some("CARD") => Some(AccountKind::Card),
        Some("LOAN" | "MGLD") => Some(AccountKind::Loan),
        _ => None,
    };
    AccountHint {
        iban: node
            .text(&["Id", "IBAN"])
            .and_then(|value| text::parse_iban(value).or_else(|| text::non_empty_line(value))),
        number: node.text(&["Id", "Othr", "Id"]).and_then(text::non_empty_line),
        bank: servicer.or_else(clearing_member_id).and_then(text::non_empty_line),
        name: node.text(&["Nm"]).or_else(|| node.text(&["Ownr", "Nm"])).and_then(text::non_empty_line),
        kind,
    }
}

/// An amount with the sign of the indicator beside it.
fn with_sign(amount: &Node, indicator_parent: &Node) -> Option<Amount> {
    let value = number::parse_amount(amount.text.trim(), DecimalMark::Point)?.amount;
    match indicator_parent.text(&["CdtDbtInd"]) {
        Some("DBIT") => value.checked_neg(),
        Some("CRDT") | None => Some(value),
        Some(_) => None,
    }
}

fn parse_day(text: &str) -> Option<Date> {
    // `2024-01-15Z` and `2024-01-15+01:00` are dates of XML Schema.
    let start = text.get(..10)?;
    date::parse_date(start, DateOrder::Dmy).map(|(day, _)| day)
}

/// The day of an element that holds a date or a date and time.
fn day_of_element(node: &Node) -> Option<Date> {
    parse_day(node.text(&["Dt"]).or_else(|| node.text(&["DtTm"]))?)
}
