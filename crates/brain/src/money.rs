//! Amounts in JSON (decimal strings with at least two decimals) and in the database (two integer columns).
//!
//! An [`Amount`] field is never negative; a direction carries the sign. A [`Balance`] is signed. Neither knows its
//! currency; callers never add two different ones.

use quad_core::{Error, Result};
use quad_statements::{Amount, Currency};
use quad_store::{Row, Value as Cell};
use serde_json::Value;

use crate::errors::invalid;
use crate::field::{Field, next_column};

/// The decimal string of an amount: `61404.12`, `5.00`, `0.125`.
pub(crate) fn to_wire(amount: Amount) -> String {
    let text = amount.to_string();
    match text.split_once('.') {
        None => format!("{text}.00"),
        Some((_, fraction)) if fraction.len() == 1 => format!("{text}0"),
        Some(_) => text,
    }
}

/// An amount for people: with thousands separators and currency.
pub(crate) fn format_with_currency(amount: Amount, currency: Currency) -> String {
    let text = to_wire(amount);
    let (sign, magnitude) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (integer, fraction) = magnitude.split_once('.').unwrap_or((magnitude, "00"));
    let mut grouped = String::with_capacity(integer.len() + integer.len() / 3);
    for (index, digit) in integer.chars().enumerate() {
        if index > 0 && (integer.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}.{fraction} {currency}")
}

/// An amount from its two columns, or from sums of them, in which the nanos may exceed one unit.
pub(crate) fn from_columns(units: i64, nanos: i64) -> Result<Amount> {
    Amount::from_nanos(i128::from(units) * 1_000_000_000 + i128::from(nanos))
        .ok_or_else(|| Error::internal("a stored amount is out of range"))
}

/// The sum, or an error if it is out of range.
pub(crate) fn add(a: Amount, b: Amount) -> Result<Amount> {
    a.checked_add(b).ok_or_else(|| {
        crate::errors::limit("amount_out_of_range", "The sum is out of range")
            .hint("Use amounts of less than nine quintillion units")
    })
}

/// The difference, or an error if it is out of range.
pub(crate) fn subtract(a: Amount, b: Amount) -> Result<Amount> {
    let negated = b.checked_neg().ok_or_else(|| Error::internal("the amount cannot be negated"))?;
    add(a, negated)
}

/// Parses a non-negative amount: digits and at most one decimal point.
pub(crate) fn parse_unsigned(field: &str, text: &str) -> Result<Amount> {
    if text.starts_with('-') {
        return Err(invalid(field, "must not be negative; the direction carries the sign"));
    }
    Amount::parse(text).map_err(|error| invalid(field, error))
}

impl Field for Amount {
    const COLUMNS: usize = 2;

    fn columns(name: &str, columns: &mut Vec<String>) {
        columns.push(format!("{name}_units"));
        columns.push(format!("{name}_nanos"));
    }

    fn bind(&self, cells: &mut Vec<Cell>) {
        cells.push(self.units().into());
        cells.push(i64::from(self.nanos()).into());
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<Amount> {
        let (units, nanos) = (row.int(next_column(at))?, row.int(next_column(at))?);
        from_columns(units, nanos)
    }

    fn to_json(&self) -> Value {
        to_wire(*self).into()
    }

    fn from_json(field: &str, value: &Value) -> Result<Amount> {
        let text =
            value.as_str().ok_or_else(|| invalid(field, "must be a decimal string, such as \"12.50\""))?;
        parse_unsigned(field, text)
    }
}

/// A signed amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance(pub Amount);

impl Field for Balance {
    const COLUMNS: usize = 2;

    fn columns(name: &str, columns: &mut Vec<String>) {
        Amount::columns(name, columns);
    }

    fn bind(&self, cells: &mut Vec<Cell>) {
        self.0.bind(cells);
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<Balance> {
        Amount::from_row(row, at).map(Balance)
    }

    fn to_json(&self) -> Value {
        self.0.to_json()
    }

    fn from_json(field: &str, value: &Value) -> Result<Balance> {
        let text =
            value.as_str().ok_or_else(|| invalid(field, "must be a decimal string, such as \"-12.50\""))?;
        Amount::parse(text).map(Balance).map_err(|error| invalid(field, error))
    }
}

impl Field for Currency {
    fn bind(&self, cells: &mut Vec<Cell>) {
        cells.push(self.as_str().into());
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<Currency> {
        currency_from_db(row.text(next_column(at))?)
    }

    fn to_json(&self) -> Value {
        self.as_str().into()
    }

    fn from_json(field: &str, value: &Value) -> Result<Currency> {
        let text = value.as_str().ok_or_else(|| invalid(field, "must be a string"))?;
        Currency::parse(text).map_err(|error| invalid(field, error))
    }
}

/// Decodes a currency of the database.
pub(crate) fn currency_from_db(text: &str) -> Result<Currency> {
    Currency::parse(text).map_err(|error| Error::internal(format!("the stored currency {text}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_wire_keeps_at_least_two_decimals() {
        let check = |text: &str, expect: &str, formatted: &str| {
            let amount = Amount::parse(text).unwrap();
            assert_eq!(to_wire(amount), expect);
            assert_eq!(format_with_currency(amount, Currency::USD), formatted);
        };
        check("61404.12", "61404.12", "61,404.12 USD");
        check("5", "5.00", "5.00 USD");
        check("0.5", "0.50", "0.50 USD");
        check("-1234567.125", "-1234567.125", "-1,234,567.125 USD");
        check("0.00000001", "0.00000001", "0.00000001 USD");
    }

    #[test]
    fn parse_unsigned_rejects_sign_and_exponent() {
        for bad in ["-5", "1e3", "", ".5", "5.", "0x1", "1,5", "12345678901234567890"] {
            assert_eq!(
                parse_unsigned("amount", bad).unwrap_err().code(),
                crate::errors::PARAMS_INVALID,
                "{bad}"
            );
        }
        assert_eq!(to_wire(parse_unsigned("amount", "0.00").unwrap()), "0.00");
    }
}
