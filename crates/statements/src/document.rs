//! The result of parsing, in one shape for all formats: a document of statements, each of one account in one currency.

use std::borrow::Cow;

use jiff::civil::Date;
use serde::Serialize;

use crate::csv::Mapping;
use crate::{Amount, Currency, Diagnostic, Entry, Format};

/// A parsed file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// The format.
    pub format: Format,
    /// The statements, in the order of the file.
    pub statements: Vec<Statement>,
    /// The diagnostics, those of the whole file first, then by line.
    pub findings: Vec<Diagnostic>,
    /// The number of errors, with those that `findings` has no room for. Each stands for a line that was left out.
    #[serde(skip)]
    pub error_count: usize,
    /// The mapping of a table's columns. A caller shows it, overrides it and stores it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping: Option<Mapping>,
}

impl Document {
    /// Whether something in the file could not be parsed.
    pub fn has_errors(&self) -> bool {
        self.error_count > 0
    }

    /// The number of entries in all statements.
    pub fn entry_count(&self) -> usize {
        self.statements.iter().map(|statement| statement.entries.len()).sum()
    }
}

/// The statement of one account in one currency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Statement {
    /// What the file says about the account.
    pub account: AccountHint,
    /// The currency of all entries and balances.
    pub currency: Currency,
    /// The bank's number or id of this statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Box<str>>,
    /// The first day, as stated or else that of the first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// The last day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Date>,
    /// The booked balance before the first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<Balance>,
    /// The booked balance after the last entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<Balance>,
    /// The available balance, with pending entries and credit lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Balance>,
    /// The entries, in the order of the file.
    pub entries: Vec<Entry>,
}

/// A balance at the end of a day, or before the first entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Balance {
    /// The amount; negative is owed.
    pub amount: Amount,
    /// The day at whose end it applies, if the file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Date>,
}

/// What a file says about its account. Every field may be missing: a CSV file often names no account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct AccountHint {
    /// The IBAN, without spaces, in capitals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iban: Option<Box<str>>,
    /// Another account or card number, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<Box<str>>,
    /// The bank: BIC, routing number, sort code or name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<Box<str>>,
    /// A name: the account's name in a journal, the name of a product, or the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// The kind of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<AccountKind>,
}

/// The kinds of accounts that formats distinguish.
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
    /// Cash, or another kind of asset.
    Asset,
}

impl AccountHint {
    /// A key for [`Entry::fingerprint`] that is equal in all files that describe the account equally; empty if the file
    /// names no account. A caller with its own id for the account passes that instead.
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

    /// Whether nothing identifies the account.
    pub fn is_empty(&self) -> bool {
        self.iban.is_none() && self.number.is_none() && self.name.is_none()
    }
}

impl Statement {
    /// An empty statement of an account.
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
