//! OFX and QFX: what American banks and Quicken speak. Bank and credit card statements are read; of an investment
//! statement only the movements of its cash.

mod time;
mod tokens;

pub(crate) use tokens::character;

use jiff::civil::Date;

use crate::finding::{Findings, quoted};
use crate::{
    AccountHint, AccountKind, Amount, Balance, Counterparty, Currency, Document, Entry, Format, Kind,
    Options, Refusal, Statement, fingerprint, kind, limits, number, reconcile, text,
};
use tokens::{Token, Tokens, unescape};

/// The aggregate whose values come now; values of others with the same names must not mix in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Nothing,
    Status,
    OwnAccount,
    OtherAccount,
    Payee,
    LedgerBalance,
    AvailableBalance,
    Converted,
    Original,
}

/// A transaction as its values come.
#[derive(Debug, Default)]
struct Draft {
    line: u32,
    amount: Option<String>,
    posted: Option<String>,
    available: Option<String>,
    kind: Option<Kind>,
    /// The currency of the amount, if it is not the account's.
    currency: Option<Currency>,
    entry_texts: Texts,
    counterparty: Counterparty,
    corrects: Option<String>,
}

#[derive(Debug, Default)]
struct Texts {
    id: Option<Box<str>>,
    check: Option<Box<str>>,
    reference: Option<Box<str>>,
    name: Option<Box<str>>,
    memo: Option<Box<str>>,
}

/// A statement as its values come.
#[derive(Debug, Default)]
struct Sheet {
    line: u32,
    account: AccountHint,
    currency: Option<Currency>,
    from: Option<Date>,
    to: Option<Date>,
    closing: Option<(Amount, Option<Date>)>,
    available: Option<(Amount, Option<Date>)>,
    entries: Vec<(Draft, Date, Amount)>,
    investment: bool,
    securities: usize,
}

struct Reader<'o> {
    options: &'o Options,
    findings: Findings,
    statements: Vec<Statement>,
    sheet: Option<Sheet>,
    draft: Option<Draft>,
    within: Within,
    entry_count: usize,
    full: bool,
}

/// Reads a file.
pub(crate) fn read(text: &str, options: &Options, findings: Findings) -> Result<Document, Refusal> {
    let mut reader = Reader {
        options,
        findings,
        statements: Vec::new(),
        sheet: None,
        draft: None,
        within: Within::Nothing,
        entry_count: 0,
        full: false,
    };
    let mut last = 1;
    let mut ended = false;
    for token in Tokens::new(text) {
        last = token.line;
        ended |= token.closing && token.name.eq_ignore_ascii_case("OFX");
        reader.token(token)?;
    }
    reader.end_entry();
    reader.end_statement()?;
    if !ended {
        reader.findings.error_at(last, "the file breaks off before its end: entries may be missing");
    }
    if reader.statements.is_empty() && !reader.findings.has_errors() {
        return Err(Refusal::Unsupported {
            what: "OFX without a bank or credit card statement",
            hint: "ask the bank for the account's transactions, not for its list of accounts or messages",
        });
    }
    Ok(Document {
        format: Format::Ofx,
        statements: reader.statements,
        findings: reader.findings.into_vec(),
        mapping: None,
    })
}

impl Reader<'_> {
    fn token(&mut self, token: Token<'_>) -> Result<(), Refusal> {
        let name = token.name.to_ascii_uppercase();
        if token.closing {
            match name.as_str() {
                "STMTTRN" => self.end_entry(),
                "STMTRS" | "CCSTMTRS" | "INVSTMTRS" => self.end_statement()?,
                "BANKTRANLIST" | "INVTRANLIST" | "BANKTRANLISTP" => self.end_entry(),
                "STATUS" | "BANKACCTFROM" | "CCACCTFROM" | "INVACCTFROM" | "BANKACCTTO" | "CCACCTTO"
                | "PAYEE" | "LEDGERBAL" | "AVAILBAL" | "CURRENCY" | "ORIGCURRENCY" => {
                    self.within = Within::Nothing
                }
                _ => {}
            }
            return Ok(());
        }
        match name.as_str() {
            "STMTRS" | "CCSTMTRS" | "INVSTMTRS" => {
                self.end_entry();
                self.end_statement()?;
                let kind = (name == "CCSTMTRS").then_some(AccountKind::Card);
                let account = AccountHint { kind, ..AccountHint::default() };
                let investment = name == "INVSTMTRS";
                self.sheet = Some(Sheet { line: token.line, account, investment, ..Sheet::default() });
                self.within = Within::Nothing;
            }
            "STMTTRN" => {
                self.end_entry();
                self.within = Within::Nothing;
                if self.sheet.is_some() {
                    self.draft = Some(Draft { line: token.line, ..Draft::default() });
                }
            }
            "STATUS" => self.within = Within::Status,
            "BANKACCTFROM" | "CCACCTFROM" | "INVACCTFROM" => self.within = Within::OwnAccount,
            "BANKACCTTO" | "CCACCTTO" => self.within = Within::OtherAccount,
            "PAYEE" => self.within = Within::Payee,
            "LEDGERBAL" => self.within = Within::LedgerBalance,
            "AVAILBAL" => self.within = Within::AvailableBalance,
            "CURRENCY" if token.value.is_empty() => self.within = Within::Converted,
            "ORIGCURRENCY" => self.within = Within::Original,
            "BUYSTOCK" | "SELLSTOCK" | "BUYMF" | "SELLMF" | "BUYDEBT" | "SELLDEBT" | "BUYOPT" | "SELLOPT"
            | "BUYOTHER" | "SELLOTHER" | "INCOME" | "REINVEST" | "INVEXPENSE" | "MARGININTEREST"
            | "RETOFCAP" | "SPLIT" | "CLOSUREOPT" | "JRNLFUND" | "JRNLSEC" | "INVTRANSFER" => {
                if let Some(sheet) = &mut self.sheet {
                    sheet.securities += 1;
                }
            }
            _ if !token.value.is_empty() => self.value(&name, token),
            _ => {}
        }
        Ok(())
    }

    fn value(&mut self, name: &str, token: Token<'_>) {
        let value = unescape(token.value);
        let line = || text::some_line(&value);
        if self.within == Within::Status {
            if name == "MESSAGE" {
                let message = format!("the bank says: {}", text::one_line(&value));
                self.findings.notice_at(token.line, message);
            } else if name == "SEVERITY" && value.eq_ignore_ascii_case("ERROR") {
                self.findings
                    .warning_at(token.line, "the bank reports an error instead of a complete statement");
            }
            return;
        }
        if let Some(draft) = &mut self.draft {
            draft.value(self.within, name, &value);
            return;
        }
        let Some(sheet) = &mut self.sheet else { return };
        match (self.within, name) {
            (_, "CURDEF") => {
                sheet.currency = Currency::recognise(&value);
                if sheet.currency.is_none() {
                    self.findings.warning_at(token.line, format!("{} is not a currency", quoted(&value)));
                }
            }
            (Within::OwnAccount, "ACCTID") => {
                sheet.account.iban = text::iban(&value);
                if sheet.account.iban.is_none() {
                    sheet.account.number = line();
                }
            }
            (Within::OwnAccount, "BANKID" | "BROKERID") => sheet.account.bank = line(),
            (Within::OwnAccount, "ACCTTYPE") => {
                sheet.account.kind = match value.to_ascii_uppercase().as_str() {
                    "CHECKING" => Some(AccountKind::Checking),
                    "SAVINGS" | "MONEYMRKT" | "CD" => Some(AccountKind::Savings),
                    "CREDITLINE" => Some(AccountKind::CreditLine),
                    _ => sheet.account.kind,
                };
            }
            (Within::LedgerBalance | Within::AvailableBalance, _) => {
                let ledger = self.within == Within::LedgerBalance;
                let balance = if ledger { &mut sheet.closing } else { &mut sheet.available };
                match name {
                    "BALAMT" => match number::read_alone(&value) {
                        Some((reading, _)) => {
                            *balance = Some((reading.amount, balance.and_then(|(_, day)| day)))
                        }
                        None => self
                            .findings
                            .warning_at(token.line, format!("{} is not a balance", quoted(&value))),
                    },
                    "DTASOF" => {
                        if let (Some((_, as_of)), Some((day, _))) = (balance, time::read(&value)) {
                            *as_of = Some(day);
                        }
                    }
                    _ => {}
                }
            }
            (_, "DTSTART") => sheet.from = time::read(&value).map(|(day, _)| day),
            (_, "DTEND") => sheet.to = time::read(&value).map(|(day, _)| day),
            _ => {}
        }
    }

    fn end_entry(&mut self) {
        let Some(draft) = self.draft.take() else { return };
        let Some(sheet) = &mut self.sheet else { return };
        if self.full {
            return;
        }
        if self.entry_count == limits::ENTRIES {
            self.full = true;
            let message = format!("more than {} entries: the rest of the file is left out", limits::ENTRIES);
            self.findings.error_at(draft.line, message);
            return;
        }
        let posted = draft.posted.as_deref();
        let Some((day, _)) = posted.and_then(time::read) else {
            let message = match posted {
                Some(text) => format!("{} is not a date: the entry is left out", quoted(text)),
                None => "the entry has no date: left out".into(),
            };
            return self.findings.error_at(draft.line, message);
        };
        let amount = draft.amount.as_deref();
        let Some((reading, unclear)) = amount.and_then(number::read_alone) else {
            let message = match amount {
                Some(text) => format!("{} is not an amount: the entry is left out", quoted(text)),
                None => "the entry has no amount: left out".into(),
            };
            return self.findings.error_at(draft.line, message);
        };
        let mut value = reading.amount;
        let digits = sheet.currency.map_or(2, |currency| currency.minor_digits());
        if unclear && digits < 3 {
            // The standard knows no separators of thousands, and no such currency three decimals; the bank knows better.
            let text = amount.unwrap_or_default();
            let whole = text.replace([',', '.'], "");
            if let Some((reading, _)) = number::read_alone(&whole) {
                value = reading.amount;
                self.findings.warning_at(draft.line, format!("{} is read as {value}", quoted(text)));
            }
        }
        if let Some(corrected) = &draft.corrects {
            let message = format!(
                "the bank says that this entry corrects {}: look whether both stand",
                quoted(corrected)
            );
            self.findings.warning_at(draft.line, message);
        }
        self.entry_count += 1;
        sheet.entries.push((draft, day, value));
    }

    fn end_statement(&mut self) -> Result<(), Refusal> {
        self.end_entry();
        let Some(sheet) = self.sheet.take() else { return Ok(()) };
        if sheet.investment {
            self.findings.warning_at(
                sheet.line,
                format!(
                    "an investment statement: only its cash is read, {} movements of securities are not",
                    sheet.securities
                ),
            );
            if sheet.entries.is_empty() {
                return Ok(());
            }
        }
        let currency = sheet.currency.or(self.options.overrides.currency).or(self.options.currency);
        let currency = currency.ok_or(Refusal::CurrencyUnknown)?;
        if self.statements.len() == limits::STATEMENTS {
            return Err(Refusal::Unsupported {
                what: "OFX of too many accounts",
                hint: "download one account at a time",
            });
        }
        let mut statement = Statement::new(sheet.account, currency);
        statement.from = sheet.from;
        statement.to = sheet.to;
        let balance = |(amount, as_of)| Balance { amount, as_of };
        statement.closing = sheet.closing.map(balance);
        statement.available = sheet.available.map(balance);
        statement.entries.reserve_exact(sheet.entries.len());
        for (draft, day, amount) in sheet.entries {
            if let Some(other) = draft.currency.filter(|other| *other != currency) {
                let message = format!("the amount is in {other}, the account in {currency}: left out");
                self.findings.error_at(draft.line, message);
                continue;
            }
            statement.entries.push(draft.entry(day, amount, currency));
        }
        fingerprint::settle(&mut statement.entries, true, &mut self.findings);
        reconcile::finish(&mut statement, &mut self.findings);
        self.statements.push(statement);
        Ok(())
    }
}

impl Draft {
    fn value(&mut self, within: Within, name: &str, value: &str) {
        let line = || text::some_line(value);
        match (within, name) {
            (Within::OtherAccount, "ACCTID") => {
                self.counterparty.account = text::iban(value).or_else(line);
            }
            (Within::OtherAccount, "BANKID") => self.counterparty.bank = line(),
            (Within::OtherAccount, _) => {}
            (Within::Payee, "NAME") => self.counterparty.name = line(),
            (Within::Payee, _) => {}
            (Within::Converted, "CURSYM") => self.currency = Currency::recognise(value),
            (Within::Converted | Within::Original, _) => {}
            (_, "TRNAMT") => self.amount = Some(value.into()),
            (_, "DTPOSTED") => self.posted = Some(value.into()),
            (_, "DTAVAIL") => self.available = Some(value.into()),
            (_, "TRNTYPE") => self.kind = kind_of(value),
            (_, "FITID") => self.entry_texts.id = line(),
            (_, "CHECKNUM") => self.entry_texts.check = line(),
            (_, "REFNUM") => self.entry_texts.reference = line(),
            (_, "NAME") => self.entry_texts.name = line(),
            (_, "EXTDNAME") => self.counterparty.name = line(),
            (_, "MEMO") => self.entry_texts.memo = line(),
            (_, "CORRECTFITID") => self.corrects = Some(value.into()),
            _ => {}
        }
    }

    fn entry(self, day: Date, amount: Amount, currency: Currency) -> Entry {
        let mut entry = Entry::new(self.line, day, amount, currency);
        let Texts { id, check, reference, name, memo } = self.entry_texts;
        entry.moment = self.posted.as_deref().and_then(time::read).and_then(|(_, moment)| moment);
        entry.value_date =
            self.available.as_deref().and_then(time::read).map(|(day, _)| day).filter(|other| *other != day);
        entry.counterparty = self.counterparty;
        if entry.counterparty.name.is_none() {
            entry.counterparty.name = name.clone();
        }
        // A memo says more; where it only repeats the name, or there is none, the name is all there is.
        entry.description = memo.or(name).unwrap_or_default();
        entry.references.bank_id = id;
        entry.references.check = check;
        entry.references.payment = reference;
        entry.kind = self.kind.or_else(|| kind::of_words(&entry.description));
        entry
    }
}

fn kind_of(code: &str) -> Option<Kind> {
    Some(match code.to_ascii_uppercase().as_str() {
        "INT" => Kind::Interest,
        "DIV" => Kind::Dividend,
        "FEE" | "SRVCHG" => Kind::Fee,
        "ATM" | "CASH" => Kind::Cash,
        "POS" => Kind::Card,
        "XFER" => Kind::Transfer,
        "CHECK" => Kind::Check,
        "PAYMENT" => Kind::Payment,
        "DIRECTDEP" => Kind::Salary,
        "DIRECTDEBIT" => Kind::DirectDebit,
        "REPEATPMT" => Kind::StandingOrder,
        _ => return None,
    })
}
