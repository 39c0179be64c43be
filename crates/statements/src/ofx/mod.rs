//! OFX and QFX, the formats of American banks and Quicken. Bank and credit card statements are parsed; of an investment
//! statement only the cash movements.

mod time;
mod tokens;

pub(crate) use tokens::decode_entity;

use jiff::civil::Date;

use crate::diagnostic::{Diagnostics, quote};
use crate::{
    AccountHint, AccountKind, Amount, Balance, Counterparty, Currency, Document, Entry, Format, Kind,
    Options, ParseError, Statement, fingerprint, kind, limits, number, reconcile, text,
};
use tokens::{Token, Tokens, unescape};

/// The aggregate of the current values. Other aggregates have values with the same names, which must not be mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aggregate {
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

/// A transaction while its values are parsed.
#[derive(Debug, Default)]
struct TransactionBuilder {
    line: u32,
    amount: Option<String>,
    posted: Option<String>,
    available: Option<String>,
    kind: Option<Kind>,
    /// The currency of the amount, if it differs from the account's.
    currency: Option<Currency>,
    texts: TextFields,
    counterparty: Counterparty,
    corrects_id: Option<String>,
}

#[derive(Debug, Default)]
struct TextFields {
    id: Option<Box<str>>,
    check: Option<Box<str>>,
    reference: Option<Box<str>>,
    name: Option<Box<str>>,
    memo: Option<Box<str>>,
}

/// A statement while its values are parsed.
#[derive(Debug, Default)]
struct StatementBuilder {
    line: u32,
    account: AccountHint,
    currency: Option<Currency>,
    from: Option<Date>,
    to: Option<Date>,
    closing: Option<(Amount, Option<Date>)>,
    available: Option<(Amount, Option<Date>)>,
    entries: Vec<(TransactionBuilder, Date, Amount)>,
    investment: bool,
    security_count: usize,
}

struct Reader<'o> {
    options: &'o Options,
    diagnostics: Diagnostics,
    statements: Vec<Statement>,
    statement: Option<StatementBuilder>,
    transaction: Option<TransactionBuilder>,
    aggregate: Aggregate,
    entry_count: usize,
    limit_reached: bool,
}

/// Parses a file.
pub(crate) fn read(text: &str, options: &Options, diagnostics: Diagnostics) -> Result<Document, ParseError> {
    let mut reader = Reader {
        options,
        diagnostics,
        statements: Vec::new(),
        statement: None,
        transaction: None,
        aggregate: Aggregate::Nothing,
        entry_count: 0,
        limit_reached: false,
    };
    let mut last_line = 1;
    let mut ended = false;
    for token in Tokens::new(text) {
        last_line = token.line;
        ended |= token.closing && token.name.eq_ignore_ascii_case("OFX");
        reader.handle_token(token)?;
    }
    reader.end_entry();
    reader.end_statement()?;
    if !ended {
        reader.diagnostics.error_at(last_line, "the file is cut off: entries may be missing");
    }
    if reader.statements.is_empty() && !reader.diagnostics.has_errors() {
        return Err(ParseError::Unsupported {
            description: "OFX without a bank or credit card statement",
            hint: "ask the bank for the account's transactions, not for its list of accounts or messages",
        });
    }
    Ok(Document {
        format: Format::Ofx,
        statements: reader.statements,
        error_count: reader.diagnostics.error_count(),
        findings: reader.diagnostics.into_vec(),
        mapping: None,
    })
}

impl Reader<'_> {
    fn handle_token(&mut self, token: Token<'_>) -> Result<(), ParseError> {
        let name = token.name.to_ascii_uppercase();
        if token.closing {
            match name.as_str() {
                "STMTTRN" => self.end_entry(),
                "STMTRS" | "CCSTMTRS" | "INVSTMTRS" => self.end_statement()?,
                "BANKTRANLIST" | "INVTRANLIST" | "BANKTRANLISTP" => self.end_entry(),
                "STATUS" | "BANKACCTFROM" | "CCACCTFROM" | "INVACCTFROM" | "BANKACCTTO" | "CCACCTTO"
                | "PAYEE" | "LEDGERBAL" | "AVAILBAL" | "CURRENCY" | "ORIGCURRENCY" => {
                    self.aggregate = Aggregate::Nothing
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
                self.statement = Some(StatementBuilder {
                    line: token.line,
                    account,
                    investment,
                    ..StatementBuilder::default()
                });
                self.aggregate = Aggregate::Nothing;
            }
            "STMTTRN" => {
                self.end_entry();
                self.aggregate = Aggregate::Nothing;
                if self.statement.is_some() {
                    self.transaction =
                        Some(TransactionBuilder { line: token.line, ..TransactionBuilder::default() });
                }
            }
            "STATUS" => self.aggregate = Aggregate::Status,
            "BANKACCTFROM" | "CCACCTFROM" | "INVACCTFROM" => self.aggregate = Aggregate::OwnAccount,
            "BANKACCTTO" | "CCACCTTO" => self.aggregate = Aggregate::OtherAccount,
            "PAYEE" => self.aggregate = Aggregate::Payee,
            "LEDGERBAL" => self.aggregate = Aggregate::LedgerBalance,
            "AVAILBAL" => self.aggregate = Aggregate::AvailableBalance,
            "CURRENCY" if token.value.is_empty() => self.aggregate = Aggregate::Converted,
            "ORIGCURRENCY" => self.aggregate = Aggregate::Original,
            "BUYSTOCK" | "SELLSTOCK" | "BUYMF" | "SELLMF" | "BUYDEBT" | "SELLDEBT" | "BUYOPT" | "SELLOPT"
            | "BUYOTHER" | "SELLOTHER" | "INCOME" | "REINVEST" | "INVEXPENSE" | "MARGININTEREST"
            | "RETOFCAP" | "SPLIT" | "CLOSUREOPT" | "JRNLFUND" | "JRNLSEC" | "INVTRANSFER" => {
                if let Some(statement) = &mut self.statement {
                    statement.security_count += 1;
                }
            }
            _ if !token.value.is_empty() => self.handle_value(&name, token),
            _ => {}
        }
        Ok(())
    }

    fn handle_value(&mut self, name: &str, token: Token<'_>) {
        let value = unescape(token.value);
        let line = || text::non_empty_line(&value);
        if self.aggregate == Aggregate::Status {
            if name == "MESSAGE" {
                let message = format!("the bank says: {}", text::collapse_whitespace(&value));
                self.diagnostics.info_at(token.line, message);
            } else if name == "SEVERITY" && value.eq_ignore_ascii_case("ERROR") {
                self.diagnostics
                    .warning_at(token.line, "the bank reports an error instead of a complete statement");
            }
            return;
        }
        if let Some(transaction) = &mut self.transaction {
            transaction.set_field(self.aggregate, name, &value);
            return;
        }
        let Some(statement) = &mut self.statement else { return };
        match (self.aggregate, name) {
            (_, "CURDEF") => {
                statement.currency = Currency::from_code_or_symbol(&value);
                if statement.currency.is_none() {
                    self.diagnostics.warning_at(token.line, format!("{} is not a currency", quote(&value)));
                }
            }
            (Aggregate::OwnAccount, "ACCTID") => {
                statement.account.iban = text::parse_iban(&value);
                if statement.account.iban.is_none() {
                    statement.account.number = line();
                }
            }
            (Aggregate::OwnAccount, "BANKID" | "BROKERID") => statement.account.bank = line(),
            (Aggregate::OwnAccount, "ACCTTYPE") => {
                statement.account.kind = match value.to_ascii_uppercase().as_str() {
                    "CHECKING" => Some(AccountKind::Checking),
                    "SAVINGS" | "MONEYMRKT" | "CD" => Some(AccountKind::Savings),
                    "CREDITLINE" => Some(AccountKind::CreditLine),
                    _ => statement.account.kind,
                };
            }
            (Aggregate::LedgerBalance | Aggregate::AvailableBalance, _) => {
                let ledger = self.aggregate == Aggregate::LedgerBalance;
                let balance = if ledger { &mut statement.closing } else { &mut statement.available };
                match name {
                    "BALAMT" => match number::parse_standalone(&value) {
                        Some((reading, _)) => {
                            *balance = Some((reading.amount, balance.and_then(|(_, day)| day)))
                        }
                        None => self
                            .diagnostics
                            .warning_at(token.line, format!("{} is not a balance", quote(&value))),
                    },
                    "DTASOF" => {
                        if let (Some((_, as_of)), Some((day, _))) = (balance, time::parse_date_time(&value)) {
                            *as_of = Some(day);
                        }
                    }
                    _ => {}
                }
            }
            (_, "DTSTART") => statement.from = time::parse_date_time(&value).map(|(day, _)| day),
            (_, "DTEND") => statement.to = time::parse_date_time(&value).map(|(day, _)| day),
            _ => {}
        }
    }

    fn end_entry(&mut self) {
        let Some(transaction) = self.transaction.take() else { return };
        let Some(statement) = &mut self.statement else { return };
        if self.limit_reached {
            return;
        }
        if self.entry_count == limits::ENTRIES {
            self.limit_reached = true;
            let message = format!("more than {} entries: the rest of the file is left out", limits::ENTRIES);
            self.diagnostics.error_at(transaction.line, message);
            return;
        }
        let posted = transaction.posted.as_deref();
        let Some((day, _)) = posted.and_then(time::parse_date_time) else {
            let message = match posted {
                Some(text) => format!("{} is not a date: the entry is left out", quote(text)),
                None => "the entry has no date: left out".into(),
            };
            return self.diagnostics.error_at(transaction.line, message);
        };
        let amount = transaction.amount.as_deref();
        let Some((reading, unclear)) = amount.and_then(number::parse_standalone) else {
            let message = match amount {
                Some(text) => format!("{} is not an amount: the entry is left out", quote(text)),
                None => "the entry has no amount: left out".into(),
            };
            return self.diagnostics.error_at(transaction.line, message);
        };
        let mut value = reading.amount;
        let digits = statement.currency.map_or(2, |currency| currency.minor_digits());
        if unclear && digits < 3 {
            // The standard has no thousands separators, and this currency has no three decimals; the bank wrote a
            // separator.
            let text = amount.unwrap_or_default();
            let whole = text.replace([',', '.'], "");
            if let Some((reading, _)) = number::parse_standalone(&whole) {
                value = reading.amount;
                self.diagnostics.warning_at(transaction.line, format!("{} is read as {value}", quote(text)));
            }
        }
        if let Some(corrected_id) = &transaction.corrects_id {
            let message = format!(
                "the bank says that this entry corrects {}: check whether both are present",
                quote(corrected_id)
            );
            self.diagnostics.warning_at(transaction.line, message);
        }
        self.entry_count += 1;
        statement.entries.push((transaction, day, value));
    }

    fn end_statement(&mut self) -> Result<(), ParseError> {
        self.end_entry();
        let Some(builder) = self.statement.take() else { return Ok(()) };
        if builder.investment {
            self.diagnostics.warning_at(
                builder.line,
                format!(
                    "an investment statement: only its cash is read, {} movements of securities are not",
                    builder.security_count
                ),
            );
            if builder.entries.is_empty() {
                return Ok(());
            }
        }
        let currency = builder.currency.or(self.options.overrides.currency).or(self.options.currency);
        let currency = currency.ok_or(ParseError::CurrencyUnknown)?;
        if self.statements.len() == limits::STATEMENTS {
            return Err(ParseError::Unsupported {
                description: "OFX of too many accounts",
                hint: "download one account at a time",
            });
        }
        let mut statement = Statement::new(builder.account, currency);
        statement.from = builder.from;
        statement.to = builder.to;
        let balance = |(amount, as_of)| Balance { amount, as_of };
        statement.closing = builder.closing.map(balance);
        statement.available = builder.available.map(balance);
        statement.entries.reserve_exact(builder.entries.len());
        for (transaction, day, amount) in builder.entries {
            if let Some(entry_currency) = transaction.currency.filter(|candidate| *candidate != currency) {
                let message =
                    format!("the amount is in {entry_currency}, the account in {currency}: left out");
                self.diagnostics.error_at(transaction.line, message);
                continue;
            }
            statement.entries.push(transaction.into_entry(day, amount, currency));
        }
        fingerprint::assign_occurrences(&mut statement.entries, true, &mut self.diagnostics);
        reconcile::check_balances(&mut statement, &mut self.diagnostics);
        self.statements.push(statement);
        Ok(())
    }
}

impl TransactionBuilder {
    fn set_field(&mut self, aggregate: Aggregate, name: &str, value: &str) {
        let line = || text::non_empty_line(value);
        match (aggregate, name) {
            (Aggregate::OtherAccount, "ACCTID") => {
                self.counterparty.account = text::parse_iban(value).or_else(line);
            }
            (Aggregate::OtherAccount, "BANKID") => self.counterparty.bank = line(),
            (Aggregate::OtherAccount, _) => {}
            (Aggregate::Payee, "NAME") => self.counterparty.name = line(),
            (Aggregate::Payee, _) => {}
            (Aggregate::Converted, "CURSYM") => self.currency = Currency::from_code_or_symbol(value),
            (Aggregate::Converted | Aggregate::Original, _) => {}
            (_, "TRNAMT") => self.amount = Some(value.into()),
            (_, "DTPOSTED") => self.posted = Some(value.into()),
            (_, "DTAVAIL") => self.available = Some(value.into()),
            (_, "TRNTYPE") => self.kind = kind_from_code(value),
            (_, "FITID") => self.texts.id = line(),
            (_, "CHECKNUM") => self.texts.check = line(),
            (_, "REFNUM") => self.texts.reference = line(),
            (_, "NAME") => self.texts.name = line(),
            (_, "EXTDNAME") => self.counterparty.name = line(),
            (_, "MEMO") => self.texts.memo = line(),
            (_, "CORRECTFITID") => self.corrects_id = Some(value.into()),
            _ => {}
        }
    }

    fn into_entry(self, day: Date, amount: Amount, currency: Currency) -> Entry {
        let mut entry = Entry::new(self.line, day, amount, currency);
        let TextFields { id, check, reference, name, memo } = self.texts;
        entry.moment = self.posted.as_deref().and_then(time::parse_date_time).and_then(|(_, moment)| moment);
        entry.value_date = self
            .available
            .as_deref()
            .and_then(time::parse_date_time)
            .map(|(day, _)| day)
            .filter(|other| *other != day);
        entry.counterparty = self.counterparty;
        if entry.counterparty.name.is_none() {
            entry.counterparty.name = name.clone();
        }
        // A memo has more details. If it is missing or repeats the name, the name is the description.
        entry.description = memo.or(name).unwrap_or_default();
        entry.references.bank_id = id;
        entry.references.check = check;
        entry.references.payment = reference;
        entry.kind = self.kind.or_else(|| kind::from_text(&entry.description));
        entry
    }
}

fn kind_from_code(code: &str) -> Option<Kind> {
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
