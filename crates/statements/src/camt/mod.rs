//! ISO 20022 cash management: camt.053 statements, and with them camt.052 reports and camt.054 notifications, which hold
//! the same entries. All versions from .02 to .13 are read: what changed between them is where a name or a bank's code
//! stands, and both places are looked at.

mod entry;
mod tree;

use jiff::civil::Date;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::date::{self, DateOrder};
use crate::finding::{Findings, quoted};
use crate::number::{self, DecimalMark};
use crate::{
    AccountHint, AccountKind, Amount, Balance, Currency, Document, Format, Refusal, Statement, fingerprint,
    limits, reconcile, text,
};
use tree::{Broken, Node};

/// The line of a place in a text, counted once over the whole file.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl Lines<'_> {
    fn at(&mut self, place: u64) -> u32 {
        let to = usize::try_from(place).unwrap_or(self.text.len()).clamp(self.at, self.text.len());
        let passed = self.text.as_bytes().get(self.at..to).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', passed).count() as u32;
        self.at = to;
        self.line
    }
}

/// Reads a file.
pub(crate) fn read(text: &str, mut findings: Findings) -> Result<Document, Refusal> {
    let mut reader = Reader::from_str(text);
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut statements: Vec<Statement> = Vec::new();
    let mut sheet: Option<Sheet> = None;
    let mut count = 0;
    let broken = loop {
        let place = reader.buffer_position();
        match step(&mut reader, &mut lines, place, &mut sheet, &mut statements, &mut count, &mut findings) {
            Ok(Step::On) => {}
            Ok(Step::End) => break None,
            Ok(Step::Refused(refusal)) => return Err(refusal),
            Err(Broken(why)) => break Some(why),
        }
    };
    if let Some(why) = broken {
        let line = lines.at(reader.error_position().max(reader.buffer_position()));
        if statements.is_empty() && sheet.is_none() {
            return Err(Refusal::Damaged { line, why });
        }
        findings.error_at(
            line,
            format!("the file is damaged from here on, and nothing behind it was read: {why}"),
        );
    }
    if let Some(sheet) = sheet.take() {
        sheet.finish(&mut statements, &mut findings);
    }
    Ok(Document { format: Format::Camt, statements, findings: findings.into_vec(), mapping: None })
}

enum Step {
    On,
    End,
    Refused(Refusal),
}

/// A statement as its elements come. The currency may be known only from the first balance or entry.
struct Sheet {
    line: u32,
    statement: Statement,
    currency: Option<Currency>,
}

fn step(
    reader: &mut Reader<&[u8]>,
    lines: &mut Lines<'_>,
    place: u64,
    sheet: &mut Option<Sheet>,
    statements: &mut Vec<Statement>,
    count: &mut usize,
    findings: &mut Findings,
) -> Result<Step, Broken> {
    match reader.read_event()? {
        Event::Eof => return Ok(Step::End),
        Event::DocType(_) => {
            return Ok(Step::Refused(Refusal::Unsupported {
                what: "XML with a document type of its own",
                hint: "no bank writes one: download the statement again from the bank's site",
            }));
        }
        Event::End(end) => {
            if matches!(end.local_name().into_inner(), "Stmt" | "Rpt" | "Ntfctn")
                && let Some(sheet) = sheet.take()
            {
                sheet.finish(statements, findings);
            }
        }
        Event::Start(start) => {
            let line = lines.at(place);
            match (start.local_name().into_inner(), sheet.as_mut()) {
                ("Stmt" | "Rpt" | "Ntfctn", _) => {
                    if let Some(unfinished) = sheet.take() {
                        unfinished.finish(statements, findings);
                    }
                    if statements.len() == limits::STATEMENTS {
                        let what = "camt of too many accounts";
                        return Ok(Step::Refused(Refusal::Unsupported {
                            what,
                            hint: "ask for one account at a time",
                        }));
                    }
                    let statement = Statement::new(AccountHint::default(), Currency::EUR);
                    *sheet = Some(Sheet { line, statement, currency: None });
                }
                ("Id", Some(sheet)) => {
                    let node = tree::read(reader, &start)?;
                    // The first is the statement's own; other things within it have ids too.
                    sheet.statement.id = sheet.statement.id.take().or_else(|| text::some_line(&node.text));
                }
                ("FrToDt", Some(sheet)) => {
                    let node = tree::read(reader, &start)?;
                    let day = |names: [&str; 2]| names.iter().find_map(|name| day(node.text(&[name])?));
                    sheet.statement.from = day(["FrDtTm", "FrDt"]);
                    sheet.statement.to = day(["ToDtTm", "ToDt"]);
                }
                ("Acct", Some(sheet)) => {
                    let node = tree::read(reader, &start)?;
                    sheet.statement.account = account(&node);
                    sheet.currency = node.text(&["Ccy"]).and_then(Currency::recognise).or(sheet.currency);
                }
                ("Bal", Some(sheet)) => {
                    let node = tree::read(reader, &start)?;
                    sheet.balance(&node, line, findings);
                }
                ("Ntry", Some(sheet)) => {
                    let node = tree::read(reader, &start)?;
                    if *count == limits::ENTRIES {
                        findings.error_at(
                            line,
                            format!("more than {count} entries: the rest of the file is left out"),
                        );
                        return Ok(Step::End);
                    }
                    *count += 1;
                    sheet.entry(&node, line, findings);
                }
                // Totals, interest, related accounts and the like say nothing that the entries do not.
                ("TxsSummry" | "RltdAcct" | "Intrst" | "StmtPgntn" | "RptPgntn" | "NtfctnPgntn", Some(_)) => {
                    tree::read(reader, &start)?;
                }
                _ => {}
            }
        }
        _ => {}
    }
    Ok(Step::On)
}

impl Sheet {
    /// The currency of the statement, by the first amount that has one.
    fn settle_currency(&mut self, amount: &Node) -> Option<Currency> {
        let currency = amount.currency.as_deref().and_then(Currency::recognise);
        self.currency = self.currency.or(currency);
        currency.or(self.currency)
    }

    fn balance(&mut self, node: &Node, line: u32, findings: &mut Findings) {
        let kind = node.text(&["Tp", "CdOrPrtry", "Cd"]).unwrap_or_default();
        let Some(amount) = node.child("Amt") else { return };
        let currency = self.settle_currency(amount);
        let Some(value) = signed(amount, node) else {
            return findings.warning_at(line, format!("{} is not a balance", quoted(amount.text.trim())));
        };
        if currency != self.currency {
            return findings.notice_at(line, "a balance in another currency than the account's: not used");
        }
        let balance = Balance { amount: value, as_of: node.at(&["Dt"]).and_then(day_of) };
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

    fn entry(&mut self, node: &Node, line: u32, findings: &mut Findings) {
        let currency = node.child("Amt").and_then(|amount| self.settle_currency(amount));
        match entry::read(node, line, currency, findings) {
            Ok(Some(entry)) => {
                if Some(entry.currency) == self.currency {
                    self.statement.entries.push(entry);
                } else {
                    findings.error_at(line, "the entry is in another currency than its account: left out");
                }
            }
            Ok(None) => findings.notice_at(line, "the bank calls it information, not an entry: left out"),
            Err(message) => findings.error_at(line, message),
        }
    }

    fn finish(mut self, statements: &mut Vec<Statement>, findings: &mut Findings) {
        let Some(currency) = self.currency else {
            findings.warning_at(self.line, "the statement holds neither a currency nor an entry: left out");
            return;
        };
        self.statement.currency = currency;
        fingerprint::settle(&mut self.statement.entries, true, findings);
        reconcile::finish(&mut self.statement, findings);
        statements.push(self.statement);
    }
}

fn account(node: &Node) -> AccountHint {
    let servicer = ["BICFI", "BIC", "Nm"].iter().find_map(|name| node.text(&["Svcr", "FinInstnId", name]));
    let member = || node.text(&["Svcr", "FinInstnId", "ClrSysMmbId", "MmbId"]);
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
            .and_then(|value| text::iban(value).or_else(|| text::some_line(value))),
        number: node.text(&["Id", "Othr", "Id"]).and_then(text::some_line),
        bank: servicer.or_else(member).and_then(text::some_line),
        name: node.text(&["Nm"]).or_else(|| node.text(&["Ownr", "Nm"])).and_then(text::some_line),
        kind,
    }
}

/// An amount with the sign of the indicator beside it.
fn signed(amount: &Node, beside: &Node) -> Option<Amount> {
    let value = number::read(amount.text.trim(), DecimalMark::Point)?.amount;
    match beside.text(&["CdtDbtInd"]) {
        Some("DBIT") => value.checked_neg(),
        Some("CRDT") | None => Some(value),
        Some(_) => None,
    }
}

fn day(text: &str) -> Option<Date> {
    // `2024-01-15Z` and `2024-01-15+01:00` are dates of XML Schema.
    let start = text.get(..10)?;
    date::read(start, DateOrder::Dmy).map(|(day, _)| day)
}

/// The day of an element that holds a date or a date and time.
fn day_of(node: &Node) -> Option<Date> {
    day(node.text(&["Dt"]).or_else(|| node.text(&["DtTm"]))?)
}
