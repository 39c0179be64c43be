//! Amounts of money: an exact decimal of whole units and billionths, never a float.
//!
//! An amount has no currency; the caller must only add amounts of one currency. A sum outside the range is `None`,
//! never wrapped or rounded.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Currency;

/// Billionths per unit. Nine decimals are enough for every currency's minor unit and most on-chain tokens.
const NANOS_PER_UNIT: i128 = 1_000_000_000;

/// Maximum decimals of an amount.
pub const DECIMALS_MAX: usize = 9;

/// A signed, exact amount of `units` and billionths of a unit.
///
/// Both parts have the same sign and `nanos` is smaller than a unit, so every amount has one representation and the
/// derived order is the numeric order. The two parts can be summed separately, in columns of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount {
    units: i64,
    nanos: i32,
}

/// Why a text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// The text is empty.
    #[error("an amount is empty")]
    Empty,
    /// A character other than a digit, a leading minus or one decimal point between digits.
    #[error("an amount is an optional minus, digits and at most one decimal point between them")]
    Malformed,
    /// More decimals than an amount can have.
    #[error("an amount has at most nine decimals")]
    TooPrecise,
    /// Outside the range of 64-bit units.
    #[error("an amount is larger than can be stored")]
    OutOfRange,
}

impl Amount {
    /// Zero.
    pub const ZERO: Amount = Amount { units: 0, nanos: 0 };

    /// Creates an amount from its parts; `None` unless both have the same sign and `nanos` is less than a unit.
    pub const fn new(units: i64, nanos: i32) -> Option<Amount> {
        if nanos.unsigned_abs() as i128 >= NANOS_PER_UNIT {
            return None;
        }
        if (units > 0 && nanos < 0) || (units < 0 && nanos > 0) {
            return None;
        }
        Some(Amount { units, nanos })
    }

    /// Creates an amount from a number of smallest units of a currency with `decimals` decimals: `(1999, 2)` is 19.99.
    pub fn from_minor(minor: i64, decimals: u32) -> Option<Amount> {
        let scale = 10i128.checked_pow((DECIMALS_MAX as u32).checked_sub(decimals)?)?;
        Amount::from_nanos(i128::from(minor) * scale)
    }

    /// Creates an amount from billionths; `None` outside the range.
    pub fn from_nanos(total: i128) -> Option<Amount> {
        let units = i64::try_from(total / NANOS_PER_UNIT).ok()?;
        // The remainder has the sign of the total and is less than a unit, so it always fits.
        let nanos = i32::try_from(total % NANOS_PER_UNIT).ok()?;
        Some(Amount { units, nanos })
    }

    /// The amount in billionths.
    pub fn total_nanos(self) -> i128 {
        i128::from(self.units) * NANOS_PER_UNIT + i128::from(self.nanos)
    }

    /// The whole units, rounded towards zero.
    pub const fn units(self) -> i64 {
        self.units
    }

    /// The billionths after the whole units, with the same sign.
    pub const fn nanos(self) -> i32 {
        self.nanos
    }

    /// Parses a plain decimal: an optional minus, digits, at most nine decimals.
    pub fn parse(text: &str) -> Result<Amount, AmountError> {
        let (negative, magnitude) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if text.is_empty() {
            return Err(AmountError::Empty);
        }
        let (whole, fraction) = match magnitude.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(AmountError::Malformed),
            None => (magnitude, ""),
        };
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
            return Err(AmountError::Malformed);
        }
        if fraction.len() > DECIMALS_MAX {
            return Err(AmountError::TooPrecise);
        }
        Amount::from_digits(negative, whole.as_bytes(), fraction.as_bytes()).ok_or(AmountError::OutOfRange)
    }

    /// Creates an amount from the digits before and after the point. Both must be ASCII digits; the fraction has at
    /// most nine. `None` outside the range.
    pub(crate) fn from_digits(negative: bool, whole: &[u8], fraction: &[u8]) -> Option<Amount> {
        let mut units: u64 = 0;
        for digit in whole {
            units = units.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        }
        let mut nanos: i32 = 0;
        for index in 0..DECIMALS_MAX {
            nanos = nanos * 10 + fraction.get(index).map_or(0, |digit| i32::from(digit - b'0'));
        }
        Some(if negative {
            Amount { units: 0i64.checked_sub_unsigned(units)?, nanos: -nanos }
        } else {
            Amount { units: 0i64.checked_add_unsigned(units)?, nanos }
        })
    }

    /// The sum; `None` outside the range.
    pub fn checked_add(self, other: Amount) -> Option<Amount> {
        Amount::from_nanos(self.total_nanos() + other.total_nanos())
    }

    /// The difference; `None` outside the range.
    pub fn checked_sub(self, other: Amount) -> Option<Amount> {
        Amount::from_nanos(self.total_nanos() - other.total_nanos())
    }

    /// The negated amount; `None` for the minimum.
    pub fn checked_neg(self) -> Option<Amount> {
        Amount::from_nanos(-self.total_nanos())
    }

    /// The absolute amount; `None` for the minimum.
    pub fn checked_abs(self) -> Option<Amount> {
        if self.is_negative() { self.checked_neg() } else { Some(self) }
    }

    /// The product with an integer; `None` outside the range.
    pub fn checked_mul_int(self, times: i64) -> Option<Amount> {
        Amount::from_nanos(self.total_nanos().checked_mul(i128::from(times))?)
    }

    /// Whether it is less than zero.
    pub const fn is_negative(self) -> bool {
        self.units < 0 || self.nanos < 0
    }

    /// Whether it is zero.
    pub const fn is_zero(self) -> bool {
        self.units == 0 && self.nanos == 0
    }

    /// The number of decimals in its shortest form.
    pub fn decimals(self) -> usize {
        let mut nanos = self.nanos;
        let mut decimals = DECIMALS_MAX;
        while decimals > 0 && nanos % 10 == 0 {
            nanos /= 10;
            decimals -= 1;
        }
        decimals
    }

    /// The text with at least the decimals of a currency: `12.5` euros are `12.50`. Nothing is rounded.
    pub fn in_currency(self, currency: Currency) -> impl fmt::Display {
        Padded { amount: self, decimals_min: currency.minor_digits() }
    }

    /// The text with at least this many decimals, of at most nine.
    pub fn with_decimals(self, decimals_min: usize) -> impl fmt::Display {
        Padded { amount: self, decimals_min }
    }
}

struct Padded {
    amount: Amount,
    decimals_min: usize,
}

impl fmt::Display for Padded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Padded { amount, decimals_min } = *self;
        let decimals = amount.decimals().max(decimals_min.min(DECIMALS_MAX));
        let sign = if amount.is_negative() { "-" } else { "" };
        let units = amount.units.unsigned_abs();
        if decimals == 0 {
            return write!(f, "{sign}{units}");
        }
        // Each removed digit is a zero: `decimals` is at least what the amount needs.
        let divisor = 10u32.pow((DECIMALS_MAX - decimals) as u32);
        let fraction = amount.nanos.unsigned_abs() / divisor;
        write!(f, "{sign}{units}.{fraction:0decimals$}")
    }
}

/// Writes the shortest plain decimal: `-12.5`, `3`, `0.000000001`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Padded { amount: *self, decimals_min: 0 }.fmt(f)
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Amount, AmountError> {
        Amount::parse(text)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Amount::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amount(text: &str) -> Amount {
        Amount::parse(text).unwrap()
    }

    #[test]
    fn formats_shortest_decimal() {
        for (input, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.00", "0"),
            ("007.50", "7.5"),
            ("-12.000000001", "-12.000000001"),
            ("-0.5", "-0.5"),
            ("9223372036854775807.999999999", "9223372036854775807.999999999"),
            ("-9223372036854775808.999999999", "-9223372036854775808.999999999"),
        ] {
            assert_eq!(amount(input).to_string(), expected, "{input}");
        }
    }

    #[test]
    fn pads_to_currency_decimals_without_truncation() {
        let formatted =
            |text: &str, code: &str| amount(text).in_currency(Currency::parse(code).unwrap()).to_string();
        assert_eq!(formatted("1180", "EUR"), "1180.00");
        assert_eq!(formatted("-0.5", "USD"), "-0.50");
        assert_eq!(formatted("0.125", "EUR"), "0.125");
        assert_eq!(formatted("500", "JPY"), "500");
        assert_eq!(formatted("1.5", "KWD"), "1.500");
        assert_eq!(amount("3").with_decimals(400).to_string(), "3.000000000");
    }

    #[test]
    fn rejects_malformed_decimals() {
        use AmountError::*;
        for (text, error) in [
            ("", Empty),
            ("-", Malformed),
            (".5", Malformed),
            ("5.", Malformed),
            ("+5", Malformed),
            ("1e3", Malformed),
            ("1,000", Malformed),
            (" 1", Malformed),
            ("1.2.3", Malformed),
            ("--1", Malformed),
            ("٣", Malformed),
            ("0.1234567891", TooPrecise),
            ("9223372036854775808", OutOfRange),
            ("99999999999999999999999", OutOfRange),
        ] {
            assert_eq!(Amount::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn mixed_sign_parts_are_rejected() {
        assert_eq!(Amount::new(1, -1), None);
        assert_eq!(Amount::new(-1, 1), None);
        assert_eq!(Amount::new(0, 1_000_000_000), None);
        assert_eq!(Amount::new(0, i32::MIN), None);
        assert_eq!(Amount::new(0, -999_999_999).map(|a| a.to_string()).as_deref(), Some("-0.999999999"));
    }

    #[test]
    fn converts_minor_units() {
        assert_eq!(Amount::from_minor(-1999, 2), Some(amount("-19.99")));
        assert_eq!(Amount::from_minor(5, 0), Some(amount("5")));
        assert_eq!(Amount::from_minor(5, 9), Some(amount("0.000000005")));
        assert_eq!(Amount::from_minor(5, 10), None);
    }

    #[test]
    fn negating_min_overflows() {
        assert_eq!(amount("-9223372036854775808").checked_neg(), None);
        assert_eq!(amount("-9223372036854775807.5").checked_neg(), Some(amount("9223372036854775807.5")));
    }

    fn any_amount() -> impl Strategy<Value = Amount> {
        let nanos = prop_oneof![Just(0i32), 0..1_000_000_000i32, Just(999_999_999)];
        let units = prop_oneof![any::<i64>(), -1000..1000i64, Just(i64::MAX), Just(i64::MIN)];
        (units, nanos, any::<bool>()).prop_map(|(units, nanos, minus)| {
            let negative = units < 0 || (units == 0 && minus);
            Amount::new(units, if negative { -nanos } else { nanos }).unwrap()
        })
    }

    /// The model: billionths in 128 bits, with an explicit range check.
    fn in_range(total: i128) -> Option<i128> {
        let limit = (1i128 << 63) * 1_000_000_000;
        (total > -limit - 1_000_000_000 && total < limit).then_some(total)
    }

    proptest! {
        #[test]
        fn arithmetic_matches_i128_reference(a in any_amount(), b in any_amount(), times in any::<i32>()) {
            let nanos = |x: Option<Amount>| x.map(Amount::total_nanos);
            let (x, y) = (a.total_nanos(), b.total_nanos());
            prop_assert_eq!(nanos(a.checked_add(b)), in_range(x + y));
            prop_assert_eq!(nanos(a.checked_sub(b)), in_range(x - y));
            prop_assert_eq!(nanos(a.checked_neg()), in_range(-x));
            prop_assert_eq!(nanos(a.checked_mul_int(times.into())), in_range(x * i128::from(times)));
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
            prop_assert_eq!(a.is_negative(), x < 0);
            prop_assert_eq!(a.is_zero(), x == 0);
        }

        #[test]
        fn results_have_consistent_signs(a in any_amount(), b in any_amount()) {
            for sum in [a.checked_add(b), a.checked_sub(b), a.checked_neg()].into_iter().flatten() {
                prop_assert_eq!(Amount::new(sum.units(), sum.nanos()), Some(sum));
            }
        }

        #[test]
        fn format_parse_round_trip(a in any_amount(), decimals in 0..12usize) {
            prop_assert_eq!(Amount::parse(&a.to_string()), Ok(a));
            prop_assert_eq!(Amount::parse(&a.with_decimals(decimals).to_string()), Ok(a));
            let json = serde_json::to_string(&a).unwrap();
            prop_assert_eq!(serde_json::from_str::<Amount>(&json).unwrap(), a);
        }

        #[test]
        fn parse_never_panics(text in "[-+0-9.e, ]{0,40}") {
            if let Ok(read) = Amount::parse(&text) {
                prop_assert_eq!(Amount::parse(&read.to_string()), Ok(read));
            }
        }
    }
}
