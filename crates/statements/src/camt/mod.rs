//! ISO 20022 cash management: camt.053 statements, camt.052 reports and camt.054 notifications, which have the same
//! entries. All versions from .02 to .13 are parsed. Versions differ in the position of names and bank codes; both
//! positions are checked.

mod entry;
mod tree;

use jiff::civil::Date;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::date::{self, DateOrder};
use crate::diagnostic::{Diagnostics, quote};
use crate::number::{self, DecimalMark};
use crate::{
    AccountHint, AccountKind, Amount, Balance, Currency, Document, Format, ParseError, Statement,
    fingerprint, limits, reconcile, text,
};
use tree::{Node, XmlError};

/// Converts a byte position to a line number. Lines are counted once over the whole file.
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

/// Parses a file.
pub(crate) fn read(text: &str, diagnostics: Diagnostics) -> Result<Document, ParseError> {
    let mut camt = CamtReader {
        xml: Reader::from_str(text),
        lines: LineCounter { text, position: 0, line: 1 },
        statements: Vec::new(),
        builder: None,
        entry_count: 0,
        open_elements: 0,
        diagnostics,
    };
    let xml_error = loop {
        match camt.step() {
            Ok(Step::Continue) => {}
            Ok(Step::End) => break None,
            Ok(Step::Failed(error)) => return Err(error),
            Err(XmlError(reason)) => break Some(reason),
        }
    };
    if let Some(reason) = xml_error {
        let line = camt.lines.line_at(camt.xml.error_position().max(camt.xml.buffer_position()));
        if camt.statements.is_empty() && camt.builder.is_none() {
            return Err(ParseError::Corrupt { line, reason });
        }
        camt.diagnostics.error_at(
            line,
            format!("the file is damaged from here on, and nothing after it was parsed: {reason}"),
        );
    }
    camt.finish_statement();
    Ok(Document {
        format: Format::Camt,
        statements: camt.statements,
        error_count: camt.diagnostics.error_count(),
        findings: camt.diagnostics.into_vec(),
        mapping: None,
    })
}

enum Step {
    Continue,
    End,
    Failed(ParseError),
}

/// The state of a parse: the position in the file and what was found so far.
struct CamtReader<'a> {
    xml: Reader<&'a [u8]>,
    lines: LineCounter<'a>,
    statements: Vec<Statement>,
    builder: Option<StatementBuilder>,
    entry_count: usize,
    /// Elements around the position, whose end tags are still to come.
    open_elements: usize,
    diagnostics: Diagnostics,
}

/// A statement while its elements are parsed. The currency may be known only after the first balance or entry.
struct StatementBuilder {
    line: u32,
    statement: Statement,
    currency: Option<Currency>,
}

impl CamtReader<'_> {
    /// Handles the next XML event.
    fn step(&mut self) -> Result<Step, XmlError> {
        let offset = self.xml.buffer_position();
        match self.xml.read_event()? {
            Event::Eof if self.open_elements > 0 => {
                return Err(XmlError("the file ends within an element".into()));
            }
            Event::Eof => return Ok(Step::End),
            Event::DocType(_) => {
                return Ok(Step::Failed(ParseError::Unsupported {
                    description: "XML with a document type of its own",
                    hint: "download the statement again from the bank's site",
                }));
            }
            Event::End(end) => {
                self.open_elements = self.open_elements.saturating_sub(1);
                if is_statement(end.local_name().into_inner()) {
                    self.finish_statement();
                }
            }
            Event::Start(start) => return self.start_element(&start, offset),
            _ => {}
        }
        Ok(Step::Continue)
    }

    /// Handles a start tag. Elements of a statement are read to their end.
    fn start_element(&mut self, start: &BytesStart<'_>, offset: u64) -> Result<Step, XmlError> {
        let line = self.lines.line_at(offset);
        match (start.local_name().into_inner(), self.builder.as_mut()) {
            (name, _) if is_statement(name) => {
                self.open_elements += 1;
                return Ok(self.start_statement(line));
            }
            ("Id", Some(builder)) => {
                let node = tree::read_element(&mut self.xml, start)?;
                // The first id is that of the statement; nested elements have ids too.
                builder.statement.id =
                    builder.statement.id.take().or_else(|| text::non_empty_line(&node.text));
            }
            ("FrToDt", Some(builder)) => {
                let node = tree::read_element(&mut self.xml, start)?;
                let find_day =
                    |names: [&str; 2]| names.iter().find_map(|name| parse_day(node.text(&[name])?));
                builder.statement.from = find_day(["FrDtTm", "FrDt"]);
                builder.statement.to = find_day(["ToDtTm", "ToDt"]);
            }
            ("Acct", Some(builder)) => {
                let node = tree::read_element(&mut self.xml, start)?;
                builder.statement.account = parse_account(&node);
                builder.currency =
                    node.text(&["Ccy"]).and_then(Currency::from_code_or_symbol).or(builder.currency);
            }
            ("Bal", Some(builder)) => {
                let node = tree::read_element(&mut self.xml, start)?;
                builder.add_balance(&node, line, &mut self.diagnostics);
            }
            ("Ntry", Some(builder)) => {
                let node = tree::read_element(&mut self.xml, start)?;
                if self.entry_count == limits::ENTRIES {
                    let message =
                        format!("more than {} entries: the rest of the file is left out", limits::ENTRIES);
                    self.diagnostics.error_at(line, message);
                    return Ok(Step::End);
                }
                self.entry_count += 1;
                builder.add_entry(&node, line, &mut self.diagnostics);
            }
            // Totals, interest, related accounts and so on repeat what the entries contain.
            ("TxsSummry" | "RltdAcct" | "Intrst" | "StmtPgntn" | "RptPgntn" | "NtfctnPgntn", Some(_)) => {
                tree::read_element(&mut self.xml, start)?;
            }
            _ => self.open_elements += 1,
        }
        Ok(Step::Continue)
    }

    fn start_statement(&mut self, line: u32) -> Step {
        self.finish_statement();
        if self.statements.len() == limits::STATEMENTS {
            return Step::Failed(ParseError::Unsupported {
                description: "camt of too many accounts",
                hint: "ask for one account at a time",
            });
        }
        let statement = Statement::new(AccountHint::default(), Currency::EUR);
        self.builder = Some(StatementBuilder { line, statement, currency: None });
        Step::Continue
    }

    fn finish_statement(&mut self) {
        if let Some(builder) = self.builder.take() {
            builder.finish(&mut self.statements, &mut self.diagnostics);
        }
    }
}

/// Whether an element is a statement, a report or a notification.
fn is_statement(name: &str) -> bool {
    matches!(name, "Stmt" | "Rpt" | "Ntfctn")
}

impl StatementBuilder {
    /// The currency of the statement: that of the first amount that has one.
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
            // The closing balance of the previous statement. Some banks send it instead of an opening balance.
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
            Ok(None) => {
                diagnostics.info_at(line, "the bank marks it as information, not as an entry: left out")
            }
            Err(message) => diagnostics.error_at(line, message),
        }
    }

    fn finish(mut self, statements: &mut Vec<Statement>, diagnostics: &mut Diagnostics) {
        let Some(currency) = self.currency else {
            diagnostics
                .warning_at(self.line, "the statement contains neither a currency nor an entry: left out");
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

/// An amount with the sign of the indicator next to it.
fn with_sign(amount: &Node, indicator_parent: &Node) -> Option<Amount> {
    let value = number::parse_amount(amount.text.trim(), DecimalMark::Point)?.amount;
    match indicator_parent.text(&["CdtDbtInd"]) {
        Some("DBIT") => value.checked_neg(),
        Some("CRDT") | None => Some(value),
        Some(_) => None,
    }
}

fn parse_day(text: &str) -> Option<Date> {
    // `2024-01-15Z` and `2024-01-15+01:00` are valid dates in XML Schema.
    let start = text.get(..10)?;
    date::parse_date(start, DateOrder::Dmy).map(|(day, _)| day)
}

/// The day of an element that contains a date or a date and time.
fn day_of_element(node: &Node) -> Option<Date> {
    parse_day(node.text(&["Dt"]).or_else(|| node.text(&["DtTm"]))?)
}
