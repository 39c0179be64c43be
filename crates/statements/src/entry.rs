//! Entries: one movement on one account, with whatever the bank said about it.

use jiff::civil::Date;
use serde::Serialize;

use crate::fingerprint::{Fingerprint, IdentitySource};
use crate::{Amount, Currency};

/// One movement on an account.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The line it begins on, from one.
    pub line: u32,
    /// The day it was booked: the calendar day that the bank wrote, whatever its time zone.
    pub booked: Date,
    /// The day from which it bears interest, if another one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_date: Option<Date>,
    /// When exactly, if the file says so with a time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moment: Option<BankTime>,
    /// How much, from the account's view: negative is money out.
    pub amount: Amount,
    /// In which currency: that of the statement.
    pub currency: Currency,
    /// The amount before it was converted, if it was in another currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Money>,
    /// The account's balance after it, where each row has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<Amount>,
    /// Whether it is booked already.
    pub status: Status,
    /// Whether the bank takes back an earlier entry with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reversal: bool,
    /// From or to whom.
    #[serde(skip_serializing_if = "Counterparty::is_empty")]
    pub counterparty: Counterparty,
    /// What it is for, on one line.
    pub description: Box<str>,
    /// Ids and numbers that others gave it.
    #[serde(skip_serializing_if = "References::is_empty")]
    pub references: References,
    /// What kind of movement it seems to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// A category that the file names; in a journal, the account on the other side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Box<str>>,
    /// Its parts, if it has several; they add up to the amount unless a finding says otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<Split>,
    #[serde(skip)]
    pub(crate) identity: IdentitySource,
}

impl Entry {
    /// An entry that says nothing but when and how much.
    pub(crate) fn new(line: u32, booked: Date, amount: Amount, currency: Currency) -> Entry {
        Entry {
            line,
            booked,
            value_date: None,
            moment: None,
            amount,
            currency,
            original: None,
            balance: None,
            status: Status::Booked,
            reversal: false,
            counterparty: Counterparty::default(),
            description: Box::default(),
            references: References::default(),
            kind: None,
            category: None,
            splits: Vec::new(),
            identity: IdentitySource::default(),
        }
    }

    /// What tells this entry from all others of the account, the same in every file that holds it.
    ///
    /// `account` is any key that stands for the account: [`AccountHint::key`](crate::AccountHint::key), or the
    /// caller's own id of it, which also holds for files that name no account.
    pub fn fingerprint(&self, account: &str) -> Fingerprint {
        Fingerprint::compute(self, account)
    }

    /// Whether the fingerprint rests on the bank's own id rather than on date, amount and text.
    pub fn has_trusted_bank_id(&self) -> bool {
        self.identity.by_bank_id
    }
}

/// An amount in a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Money {
    /// How much.
    pub amount: Amount,
    /// Of what.
    pub currency: Currency,
}

/// A point in time, and the offset in which the bank wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BankTime {
    /// Milliseconds since the Unix epoch.
    pub utc_ms: i64,
    /// Minutes east of Greenwich.
    pub offset_minutes: i16,
}

/// Whether an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Part of the booked balance.
    Booked,
    /// Announced; it may change or vanish, and is not part of the booked balance.
    Pending,
}

/// Who is on the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counterparty {
    /// The name, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// The account: an IBAN without spaces, or whatever else the bank wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Box<str>>,
    /// The bank of that account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<Box<str>>,
}

impl Counterparty {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.account.is_none() && self.bank.is_none()
    }
}

/// Ids and numbers of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct References {
    /// The id that the account's bank gave it: `FITID`, `AcctSvcrRef`, a transaction id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_id: Option<Box<str>>,
    /// The id that the payer gave it and that travels to the payee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_to_end: Option<Box<str>>,
    /// The mandate of a direct debit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mandate: Option<Box<str>>,
    /// The payee's own reference: an invoice number, a structured creditor reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment: Option<Box<str>>,
    /// The number of a cheque.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<str>>,
}

impl References {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == References::default()
    }
}

/// One part of an entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// How much of it, from the account's view.
    pub amount: Amount,
    /// In which currency.
    pub currency: Currency,
    /// From or to whom.
    #[serde(skip_serializing_if = "Counterparty::is_empty")]
    pub counterparty: Counterparty,
    /// What for.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub description: Box<str>,
    /// Its own ids.
    #[serde(skip_serializing_if = "References::is_empty")]
    pub references: References,
    /// Its category; in a journal, the account that was posted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Box<str>>,
}

/// What kind of movement an entry seems to be: a hint from the bank's codes and words, never a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A purchase with a card.
    Card,
    /// Cash drawn or paid in.
    Cash,
    /// A cheque.
    Check,
    /// A credit transfer from or to somebody.
    Payment,
    /// A direct debit.
    DirectDebit,
    /// A standing order.
    StandingOrder,
    /// Between accounts of the same owner.
    Transfer,
    /// Money back: a returned purchase, a returned payment, a chargeback.
    Refund,
    /// What the bank charges.
    Fee,
    /// Interest, earned or paid.
    Interest,
    /// A dividend or coupon.
    Dividend,
    /// A tax that the bank withholds.
    Tax,
    /// A salary or pension.
    Salary,
    /// One currency for another.
    Exchange,
}
