//! Writes hledger journals, for export to other programs of plain text accounting.
//!
//! The output is a valid journal for every text: characters with a special meaning are replaced.

use std::fmt::{self, Write};

use jiff::civil::Date;

use crate::{Amount, Status};

/// One transaction of a journal.
#[derive(Clone, Debug)]
pub struct JournalTransaction<'a> {
    /// The day.
    pub date: Date,
    /// A second day, such as the value date.
    pub second_date: Option<Date>,
    /// Booked is written as cleared (`*`), pending as `!`.
    pub status: Status,
    /// A number or id, in parentheses; empty for none.
    pub code: &'a str,
    /// The payer or payee; empty for none.
    pub payee: &'a str,
    /// The description; empty for none.
    pub note: &'a str,
    /// Tags, in the comment after it.
    pub tags: &'a [(&'a str, &'a str)],
    /// Two or more postings.
    pub postings: &'a [JournalPosting<'a>],
}

/// One posting of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct JournalPosting<'a> {
    /// The account, with colons between its levels.
    pub account: &'a str,
    /// The amount; one posting of a transaction may omit it.
    pub amount: Option<(Amount, &'a str)>,
    /// The asserted balance of the account after it.
    pub assertion: Option<(Amount, &'a str)>,
}

/// Writes the declarations of the used accounts and commodities, then the transactions.
///
/// Commodities are declared with a decimal point, so that no parser takes a point for a thousands separator.
pub fn write_journal<'a>(
    out: &mut impl Write,
    transactions: impl IntoIterator<Item = JournalTransaction<'a>>,
    accounts: &[&str],
    commodities: &[&str],
) -> fmt::Result {
    writeln!(out, "decimal-mark .")?;
    for commodity in commodities {
        let decimals = crate::Currency::parse(commodity).map_or(2, |currency| currency.minor_digits());
        // A declared format needs a mark, also for currencies without decimals.
        let zeros = "0".repeat(decimals);
        writeln!(out, "commodity 1000.{zeros} {}", Commodity(commodity))?;
    }
    for account in accounts {
        writeln!(out, "account {}", Account(account))?;
    }
    transactions.into_iter().try_for_each(|transaction| write_transaction(out, &transaction))
}

fn write_transaction(out: &mut impl Write, transaction: &JournalTransaction<'_>) -> fmt::Result {
    write!(out, "\n{}", transaction.date)?;
    if let Some(second) = transaction.second_date.filter(|second| *second != transaction.date) {
        write!(out, "={second}")?;
    }
    out.write_str(if transaction.status == Status::Pending { " !" } else { " *" })?;
    let code = Sanitized(transaction.code, "();|").to_string();
    if !code.is_empty() {
        write!(out, " ({code})")?;
    }
    let (payee, note) =
        (Sanitized(transaction.payee, ";|").to_string(), Sanitized(transaction.note, ";|").to_string());
    match (payee.is_empty(), note.is_empty() || note == payee) {
        (true, _) if note.is_empty() => {}
        // Without a code before it, a text in parentheses would be parsed as one.
        (true, _) => write!(out, " | {note}")?,
        (false, true) => write!(out, " {}", escape_payee(&payee))?,
        (false, false) => write!(out, " {} | {note}", escape_payee(&payee))?,
    }
    for (index, (name, value)) in transaction.tags.iter().enumerate() {
        let (name, value) = (Sanitized(name, ":,;| ").to_string(), Sanitized(value, ",;").to_string());
        out.write_str(if index == 0 { "  ; " } else { ", " })?;
        write!(out, "{}:{value}", name.replace(' ', "-"))?;
    }
    out.write_char('\n')?;
    for posting in transaction.postings {
        write!(out, "    {}", Account(posting.account))?;
        if let Some((amount, commodity)) = posting.amount {
            write!(out, "  {}", Quantity(amount, commodity))?;
        }
        if let Some((amount, commodity)) = posting.assertion {
            write!(out, "  = {}", Quantity(amount, commodity))?;
        }
        out.write_char('\n')?;
    }
    Ok(())
}

fn escape_payee(payee: &str) -> String {
    match payee.strip_prefix(['(', '*', '!']) {
        Some(rest) => format!("'{rest}"),
        None => payee.into(),
    }
}

/// A text on one line with single spaces, without control characters; the given characters become commas.
struct Sanitized<'a>(&'a str, &'static str);

impl fmt::Display for Sanitized<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for word in
            self.0.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
        {
            if !first {
                f.write_char(' ')?;
            }
            first = false;
            for letter in word.chars() {
                f.write_char(if self.1.contains(letter) { ',' } else { letter })?;
            }
        }
        Ok(())
    }
}

/// An account's name: single spaces, no empty level, nothing that would make it virtual or a comment.
struct Account<'a>(&'a str);

impl fmt::Display for Account<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for level in self.0.split(':') {
            let level = Sanitized(level, ";").to_string();
            let level = level.trim_matches(['(', ')', '[', ']', '*', '!', ' ', '=', '~', '#', '"']);
            if level.is_empty() {
                continue;
            }
            if !first {
                f.write_char(':')?;
            }
            first = false;
            f.write_str(level)?;
        }
        // An account must have a name.
        if first { f.write_str("unnamed") } else { Ok(()) }
    }
}

/// A commodity, in quotes unless it is only letters or a single symbol.
struct Commodity<'a>(&'a str);

impl fmt::Display for Commodity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = !self.0.is_empty()
            && self.0.chars().all(|c| c.is_alphabetic() || matches!(c, '€' | '$' | '£' | '¥'));
        if plain {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for letter in self.0.chars() {
            f.write_char(if letter == '"' || letter == ';' || letter.is_control() { '\'' } else { letter })?;
        }
        f.write_char('"')
    }
}

/// An amount with at least the decimals of its currency, followed by the commodity.
struct Quantity<'a>(Amount, &'a str);

impl fmt::Display for Quantity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = crate::Currency::parse(self.1).map_or(0, |currency| currency.minor_digits());
        write!(f, "{} {}", self.0.with_decimals(decimals), Commodity(self.1))
    }
}
