//! Entries: one movement on one account, with everything that the bank said about it.

use jiff::civil::Date;
use serde::Serialize;

use crate::fingerprint::{Fingerprint, IdentitySource};
use crate::{Amount, Currency};

/// One movement on an account.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The line on which it starts, from one.
    pub line: u32,
    /// The booking day: the calendar day that the bank wrote, in the bank's time zone.
    pub booked: Date,
    /// The value date, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_date: Option<Date>,
    /// The exact time, if the file has it with a time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moment: Option<BankTime>,
    /// The amount from the account's view: negative is money out.
    pub amount: Amount,
    /// The currency, which is that of the statement.
    pub currency: Currency,
    /// The amount before conversion, if it was in another currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<Money>,
    /// The account's balance after it, if each row has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<Amount>,
    /// Whether it is booked or pending.
    pub status: Status,
    /// Whether it reverses an earlier entry.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reversal: bool,
    /// The payer or payee.
    #[serde(skip_serializing_if = "Counterparty::is_empty")]
    pub counterparty: Counterparty,
    /// The description, on one line.
    pub description: Box<str>,
    /// Ids and numbers from other parties.
    #[serde(skip_serializing_if = "References::is_empty")]
    pub references: References,
    /// The likely kind of movement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// A category in the file; in a journal, the account on the other side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Box<str>>,
    /// Its parts, if it has several. They add up to the amount unless a diagnostic says otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<Split>,
    #[serde(skip)]
    pub(crate) identity: IdentitySource,
}

impl Entry {
    /// An entry with only a date and an amount.
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

    /// Identifies this entry among all entries of the account; equal in every file that contains it.
    ///
    /// `account` is any key of the account: [`AccountHint::key`](crate::AccountHint::key), or the caller's own id, which
    /// also works for files that name no account.
    pub fn fingerprint(&self, account: &str) -> Fingerprint {
        Fingerprint::compute(self, account)
    }

    /// Whether the fingerprint uses the bank's own id instead of date, amount and text.
    pub fn has_trusted_bank_id(&self) -> bool {
        self.identity.by_bank_id
    }
}

/// An amount in a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Money {
    /// The amount.
    pub amount: Amount,
    /// The currency.
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

/// Whether an entry is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Part of the booked balance.
    Booked,
    /// Announced: it may change or disappear, and is not part of the booked balance.
    Pending,
}

/// The counterparty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counterparty {
    /// The name, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// The account: an IBAN without spaces, or the number as the bank wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Box<str>>,
    /// The bank of that account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<Box<str>>,
}

impl Counterparty {
    /// Whether all fields are empty.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.account.is_none() && self.bank.is_none()
    }
}

/// Ids and numbers of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct References {
    /// The id from the account's bank: `FITID`, `AcctSvcrRef`, a transaction id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_id: Option<Box<str>>,
    /// The id from the payer that is transmitted to the payee.
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
    /// Whether all fields are empty.
    pub fn is_empty(&self) -> bool {
        *self == References::default()
    }
}

/// One part of an entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// The amount of the part, from the account's view.
    pub amount: Amount,
    /// The currency.
    pub currency: Currency,
    /// The payer or payee.
    #[serde(skip_serializing_if = "Counterparty::is_empty")]
    pub counterparty: Counterparty,
    /// The description.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub description: Box<str>,
    /// Its own ids.
    #[serde(skip_serializing_if = "References::is_empty")]
    pub references: References,
    /// The category; in a journal, the account that was posted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Box<str>>,
}

/// The likely kind of movement: a hint from the bank's codes and words, never a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A purchase with a card.
    Card,
    /// Cash that was withdrawn or deposited.
    Cash,
    /// A cheque.
    Check,
    /// A credit transfer.
    Payment,
    /// A direct debit.
    DirectDebit,
    /// A standing order.
    StandingOrder,
    /// Between accounts of the same owner.
    Transfer,
    /// A refund: a returned purchase, a returned payment, a chargeback.
    Refund,
    /// A fee of the bank.
    Fee,
    /// Interest, earned or paid.
    Interest,
    /// A dividend or coupon.
    Dividend,
    /// A tax that the bank withholds.
    Tax,
    /// A salary or pension.
    Salary,
    /// A currency exchange.
    Exchange,
}
