//! What a file says, in one shape for all formats: a document of statements, each of one account in one currency.

use std::borrow::Cow;

use jiff::civil::Date;
use serde::Serialize;

use crate::csv::Mapping;
use crate::{Amount, Currency, Diagnostic, Entry, Format, Severity};

/// One file, read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// What kind of file it was.
    pub format: Format,
    /// Its statements, in the file's order.
    pub statements: Vec<Statement>,
    /// What was noticed while reading, those of the whole file first, then by line.
    pub findings: Vec<Diagnostic>,
    /// How the columns of a table were understood; a caller shows it, overrides it and remembers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping: Option<Mapping>,
}

impl Document {
    /// Whether something of the file could not be read.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Entries of all statements.
    pub fn entry_count(&self) -> usize {
        self.statements.iter().map(|statement| statement.entries.len()).sum()
    }
}

/// What a file says of one account in one currency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// Whose it is, as far as the file says.
    pub account: AccountHint,
    /// The currency of all its entries and balances.
    pub currency: Currency,
    /// The bank's number or id of this statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Box<str>>,
    /// The first day it covers, by its own word or by its first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// The last day it covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Date>,
    /// The booked balance before the first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<Balance>,
    /// The booked balance after the last entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<Balance>,
    /// What could be spent, with pending entries and credit lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Balance>,
    /// What moved, in the file's order.
    pub entries: Vec<Entry>,
}

/// A balance at the end of a day, or before the first entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Balance {
    /// How much; negative is owed.
    pub amount: Amount,
    /// At the end of which day, where the file says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Date>,
}

/// What a file says about the account it is of. Everything may be missing: a CSV file often names none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct AccountHint {
    /// The IBAN, without spaces, in capitals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iban: Option<Box<str>>,
    /// Any other account or card number, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<Box<str>>,
    /// The bank: BIC, routing number, sort code or name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<Box<str>>,
    /// What people call it: the account's name in a journal, a product's name, or the owner's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// What kind of account it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<AccountKind>,
}

/// Kinds of accounts that formats tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// A current or checking account.
    Checking,
    /// A savings, deposit or money market account.
    Savings,
    /// A credit card.
    Card,
    /// A loan or another debt.
    Loan,
    /// A line of credit.
    CreditLine,
    /// Cash, or an asset of another kind.
    Asset,
}

impl AccountHint {
    /// A key that is equal wherever the same account is named in the same way, for [`Entry::fingerprint`]; empty if
    /// the file names none. A caller that knows the account better passes its own key.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            AccountHint { iban: Some(iban), .. } => Cow::Borrowed(iban),
            AccountHint { number: Some(number), bank: Some(bank), .. } => {
                Cow::Owned(format!("{bank}/{number}"))
            }
            AccountHint { number: Some(number), .. } => Cow::Borrowed(number),
            AccountHint { name: Some(name), .. } => Cow::Borrowed(name),
            _ => Cow::Borrowed(""),
        }
    }

    /// Whether the file says nothing that tells accounts apart.
    pub fn is_empty(&self) -> bool {
        self.iban.is_none() && self.number.is_none() && self.name.is_none()
    }
}

impl Statement {
    /// A statement of an account without anything in it.
    pub(crate) fn new(account: AccountHint, currency: Currency) -> Statement {
        Statement {
            account,
            currency,
            id: None,
            from: None,
            to: None,
            opening: None,
            closing: None,
            available: None,
            entries: Vec::new(),
        }
    }
}
